package faults

import (
	"sync"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/kit/measure"
)

// tick is how often the counters of the channels are looked at.
const tick = 100 * time.Millisecond

// look is what the channels had counted at one moment.
type look struct {
	at       time.Time
	channels []runfile.Channel
}

// watch follows the counters of a target from its opening to its end.
type watch struct {
	ended chan struct{}
	once  sync.Once

	mu    sync.Mutex
	looks []look
}

func newWatch() *watch { return &watch{ended: make(chan struct{})} }

func (w *watch) stop() { w.once.Do(func() { close(w.ended) }) }

func (w *watch) follow(tgt target.Target) {
	go func() {
		ticker := time.NewTicker(tick)
		defer ticker.Stop()
		for {
			select {
			case <-w.ended:
				return
			case now := <-ticker.C:
				l := look{at: now, channels: tgt.Channels()}
				w.mu.Lock()
				w.looks = append(w.looks, l)
				w.mu.Unlock()
			}
		}
	}()
}

// now returns the newest counters of a channel.
func (w *watch) now(channel int) runfile.Channel {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.looks) == 0 {
		return runfile.Channel{}
	}
	return w.looks[len(w.looks)-1].channels[channel]
}

// until waits for counters of a channel that please ok.
func (w *watch) until(t *testing.T, channel int, what string, ok func(runfile.Channel) bool) {
	t.Helper()
	waitFor(t, what, func() bool { return ok(w.now(channel)) })
}

// moved is what a channel has carried.
func moved(c runfile.Channel) int64 { return c.BytesRead + c.BytesWritten }

// carries waits until a channel has carried more than now.
func (w *watch) carries(t *testing.T, channel int) {
	t.Helper()
	asked := time.Now()
	waitFor(t, "a look at the counters", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.looks) > 0 && w.looks[len(w.looks)-1].at.After(asked)
	})
	before := moved(w.now(channel))
	w.until(t, channel, "the path carries bytes", func(c runfile.Channel) bool { return moved(c) > before })
}

// down waits until a channel is given up.
func (w *watch) down(t *testing.T, channel int) {
	t.Helper()
	w.until(t, channel, "the path is given up", func(c runfile.Channel) bool { return c.State == "Down" })
}

// inUse waits until a channel that was away carries bytes again.
func (w *watch) inUse(t *testing.T, channel int, before runfile.Channel) {
	t.Helper()
	w.until(t, channel, "the path is in use again", func(c runfile.Channel) bool {
		return c.State == "Up" && moved(c) > moved(before)
	})
}

// pause records the longest stretch between from and to without any byte on the path that
// stays. It is counted in looks and not in time, so that a machine on which nothing at all
// runs for a while is not taken for a network.
func (w *watch) pause(t *testing.T, channel int, from, to time.Time) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	var longest, stretch int
	before := int64(-1)
	for _, l := range w.looks {
		if l.at.Before(from) || l.at.After(to) {
			continue
		}
		if m := moved(l.channels[channel]); m != before {
			before, stretch = m, 0
		} else {
			stretch++
		}
		longest = max(longest, stretch)
	}
	measure.Expect(t, "the other path carries nothing", "s", measure.AtMost(2), (time.Duration(longest) * tick).Seconds())
}

// took records how long something lasted that is to last no longer than most.
func took(t *testing.T, what string, since time.Time, most time.Duration) {
	t.Helper()
	measure.Expect(t, what, "s", measure.AtMost(most.Seconds()), time.Since(since).Seconds())
}

// waitFor waits for something that happens by itself.
func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(patience); !done(); <-ticker.C {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// pass lets time go by while a fault lasts. No outcome may depend on how long that is.
func pass(d time.Duration) { time.Sleep(d) }
