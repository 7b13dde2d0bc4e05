package publish

import (
	"net/http"
	"sync"
	"time"
)

// dateStep is what the Date of an answer leaves out: it has whole seconds.
const dateStep = time.Second

// serverClock learns from the answers of the API server how far its clock is
// ahead of ours. It is safe for several goroutines.
type serverClock struct {
	mu    sync.Mutex
	known bool
	took  time.Duration // of the question whose answer was used: the shorter, the surer
	ahead time.Duration
}

// learn takes in one answer to a question that was asked at that time and took
// so long.
func (c *serverClock) learn(answer http.Header, asked time.Time, took time.Duration) {
	date, err := http.ParseTime(answer.Get("Date"))
	if err != nil {
		return // a proxy that leaves it out
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known && took > c.took {
		return
	}
	// Between clocks only wall times can be compared.
	c.known, c.took = true, took
	c.ahead = date.Add(dateStep / 2).Sub(asked.Add(took / 2).Round(0))
}

// ClockOffset is how far the clock of the API server is ahead of this client's,
// to about a second, and false while that is not known.
func (c *ConfigMap) ClockOffset() (time.Duration, bool) {
	clock := &c.api.clock
	clock.mu.Lock()
	defer clock.mu.Unlock()
	return clock.ahead, clock.known
}
