package collect

import (
	"fmt"
	"net/http"
	"time"
)

// shortestPatience is for how long a client may not be sampled before the
// collector counts as hung.
const shortestPatience = 30 * time.Second

// Health answers 200 while the client is sampled and after Finish, and 503 when
// there was no sample for ten intervals and half a minute.
func (s *Session) Health() http.Handler {
	patience := max(10*s.opt.interval(), shortestPatience)
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		age := s.wallTime().Sub(s.LastSample())
		if age > patience && !s.isFinished() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		// The reader going away is no concern of ours.
		_, _ = fmt.Fprintf(w, "last sample %.0f s ago\n", age.Seconds())
	})
}

func (s *Session) isFinished() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.finished
}
