package faults

import (
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/faulty"
)

// twoPaths leads to a server in this process. It may listen on 127.0.0.1 alone,
// with proxies on these two.
func twoPaths(s *faulty.Server) site {
	return site{paths: []string{"127.0.0.2", "127.0.0.3"}, port: s.Port()}
}

func TestAPathThatIsResetInMidRunCostsNothing(t *testing.T) {
	for name, p := range map[string]bench.RawPattern{"reads": bench.PatternRandomRead, "writes": bench.PatternRandomWrite, "copies": bench.PatternCopy} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &faulty.Server{}
			s.Start(t, "127.0.0.2", "127.0.0.3")
			r := start(t, plan(twoPaths(s), 2, pattern(p)))
			r.underLoad()
			cut := time.Now()
			s.Kill("127.0.0.3")
			r.watch.down(t, 1)
			r.watch.carries(t, 0)
			before := r.watch.now(1)
			if err := s.Listen("127.0.0.3"); err != nil {
				t.Fatal(err)
			}
			r.watch.inUse(t, 1, before)
			healed := time.Now()
			l := r.finish()
			wantClean(t, l)
			wantLost(t, l, 1)
			r.watch.pause(t, 0, cut, healed)
		})
	}
}

// wantLost fails unless the result names channel n, and no other, as the one
// that was away.
func wantLost(t *testing.T, l *runfile.Load, n int) {
	t.Helper()
	for i, c := range channels(l) {
		if i == n {
			if c.State != "Up" || c.Reconnects == 0 || c.DownMilliseconds == 0 {
				t.Errorf("the result does not tell of the path that was lost: %+v", c)
			}
			continue
		}
		if c.State != "Up" || c.Reconnects != 0 || c.DownMilliseconds != 0 {
			t.Errorf("the result blames a path that was never lost: %+v", c)
		}
	}
}

func TestAPathThatStaysAwayIsNamed(t *testing.T) {
	t.Parallel()
	s := &faulty.Server{}
	s.Start(t, "127.0.0.2", "127.0.0.3")
	r := start(t, plan(twoPaths(s), 2))
	r.underLoad()
	cut := time.Now()
	s.Kill("127.0.0.2")
	r.watch.down(t, 0)
	r.watch.carries(t, 1)
	r.awaitEnd()
	r.watch.pause(t, 1, cut, time.Now())
	l := r.finish()
	wantClean(t, l)
	c := channels(l)
	if c[0].State != "Down" || c[0].DownMilliseconds == 0 || c[1].State != "Up" {
		t.Errorf("channels are %+v", c)
	}
}

func TestAPathThatAcknowledgesAndNeverAnswersIsLeftInTime(t *testing.T) {
	t.Parallel()
	s := &faulty.Server{}
	s.Start(t, "127.0.0.1")
	proxies := through(t, "127.0.0.1", s.Port(), "127.0.0.2", "127.0.0.3")
	const timeout = 12
	r := start(t, plan(twoPaths(s), 2, callTimeout(timeout)))
	r.underLoad()
	cut := time.Now()
	resume := proxies[1].hold()
	r.watch.until(t, 1, "the path is given up", func(c runfile.Channel) bool { return c.State == "Down" || c.Reconnects > 0 })
	took(t, "until a path without answers is given up", cut, timeout/2*time.Second+8*time.Second)
	r.watch.carries(t, 0)
	proxies[1].reset()
	resume()
	proxies[1].heal()
	before := r.watch.now(1).BytesWritten
	r.watch.until(t, 1, "the path is in use again", func(c runfile.Channel) bool { return c.BytesWritten > before })
	healed := time.Now()
	l := r.finish()
	wantClean(t, l)
	wantLost(t, l, 1)
	r.watch.pause(t, 0, cut, healed)
}

func TestBothPathsMayBeAwayForLessThanTheTimeout(t *testing.T) {
	t.Parallel()
	s := &faulty.Server{}
	s.Start(t, "127.0.0.2", "127.0.0.3")
	r := start(t, plan(twoPaths(s), 2))
	r.underLoad()
	s.Kill("127.0.0.2")
	s.Kill("127.0.0.3")
	r.watch.down(t, 0)
	r.watch.down(t, 1)
	if err := s.Recover(); err != nil {
		t.Fatal(err)
	}
	l := r.finish()
	wantClean(t, l)
	for _, c := range channels(l) {
		if c.State != "Up" || c.Reconnects == 0 || c.DownMilliseconds == 0 {
			t.Errorf("the result does not tell of the loss: %+v", c)
		}
	}
}

func TestBothPathsAwayForLongerThanTheTimeoutEndTheRunInTime(t *testing.T) {
	t.Parallel()
	s := &faulty.Server{}
	s.Start(t, "127.0.0.2", "127.0.0.3")
	const timeout = 10
	r := start(t, plan(twoPaths(s), 60, callTimeout(timeout)))
	r.underLoad()
	cut := time.Now()
	s.Kill("127.0.0.2")
	s.Kill("127.0.0.3")
	r.awaitEnd()
	if after := time.Since(cut); after < timeout*time.Second {
		t.Errorf("the run was given up after %v, with a call timeout of %d s", after, timeout)
	}
	took(t, "until the run is given up", cut, (timeout+5)*time.Second)
	l := r.finish()
	wantFailure(t, l, runfile.FailureUnreachable, "127.0.0.2", "127.0.0.3", "10s", "timeout")
	if len(l.Repetitions) == 0 || l.Repetitions[0].Write.Count == 0 {
		t.Error("what was measured before is lost")
	}
}
