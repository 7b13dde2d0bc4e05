package ontap

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/nfsbench/nfsbench/internal/storage/rest"
)

const (
	// refusedFor is the pause after a refusal: an array may lock an account that fails each second.
	refusedFor = 30 * time.Second
	// freshFor is the time after a renewal in which a 401 is attributed to a request with the old credentials.
	freshFor = 5 * time.Second
)

// session holds the account for ONTAP.
type session struct {
	now func() time.Time

	mu      sync.Mutex
	cred    rest.Credentials
	old     []rest.Credentials // an answer may still contain them
	renewed time.Time
	// forbidden holds the endpoints and fields that these credentials may not read, and the end of each refusal;
	// a zero time has no end.
	forbidden map[string]time.Time
	refusal   error
	refusedAt time.Time
}

func (s *session) authorize(r *http.Request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.SetBasicAuth(s.cred.Username, s.cred.Password)
	return nil
}

func (s *session) redact(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.old {
		text = c.Redact(text)
	}
	return s.cred.Redact(text)
}

// mayNot reports whether ONTAP has refused request to the current credentials.
func (s *session) mayNot(request string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	until, is := s.forbidden[request]
	return is && (until.IsZero() || s.now().Before(until))
}

// forbid remembers that ONTAP refused request, for good or for refusedFor.
func (s *session) forbid(request string, forGood bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.forbidden == nil {
		s.forbidden = map[string]time.Time{}
	}
	s.forbidden[request] = time.Time{}
	if !forGood {
		s.forbidden[request] = s.now().Add(refusedFor)
	}
}

// renew reads the Secret again and reports whether a request is worth a retry.
func (s *session) renew(context.Context) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed, err := s.reload()
	if changed || err != nil {
		return changed, err
	}
	return !s.renewed.IsZero() && s.now().Sub(s.renewed) < freshFor, nil
}

// reload replaces the credentials if the Secret has changed. The caller holds mu.
func (s *session) reload() (bool, error) {
	n, changed, err := s.cred.Reload()
	if !changed || err != nil {
		return false, err
	}
	s.old = append(s.old, s.cred)
	s.cred, s.renewed, s.refusal, s.forbidden = n, s.now(), nil, nil
	return true, nil
}

// refuse remembers that ONTAP refused the credentials with err.
func (s *session) refuse(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusal, s.refusedAt = err, s.now()
}

// gate returns the error of refused credentials while a request is useless, nil otherwise.
func (s *session) gate() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refusal == nil {
		return nil
	}
	// A Secret that cannot be read counts as unchanged.
	if changed, err := s.reload(); err == nil && changed {
		return nil
	}
	if s.now().Sub(s.refusedAt) < refusedFor {
		return s.refusal
	}
	s.refusal = nil
	return nil
}
