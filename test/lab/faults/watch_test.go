package faults

import (
	"sync"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
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
	waitFor(t, time.Minute, what, func() bool { return ok(w.now(channel)) })
}

// pause returns the longest stretch between from and to without any byte on a
// channel. It is counted in looks and not in time, so that a machine on which
// nothing at all runs for a while is not taken for a network.
func (w *watch) pause(t *testing.T, channel int, from, to time.Time) time.Duration {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	var longest, stretch, seen int
	before := int64(-1)
	for _, l := range w.looks {
		if l.at.Before(from) || l.at.After(to) {
			continue
		}
		seen++
		c := l.channels[channel]
		if moved := c.BytesRead + c.BytesWritten; moved != before {
			before, stretch = moved, 0
		} else {
			stretch++
		}
		longest = max(longest, stretch)
	}
	if seen < int(to.Sub(from)/tick)/4 {
		t.Fatalf("the counters were looked at %d times in %v: this machine is too busy to tell anything", seen, to.Sub(from))
	}
	return time.Duration(longest) * tick
}

// waitFor waits for something that happens by itself.
func waitFor(t *testing.T, limit time.Duration, what string, done func() bool) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(limit); !done(); <-ticker.C {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, limit)
		}
	}
}

// pass lets time go by while a fault lasts.
func pass(d time.Duration) { time.Sleep(d) }
