package faults

import (
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/nfstest"
)

// twoPaths leads to a server in this process. It may listen on 127.0.0.1 alone,
// with proxies on these two.
func twoPaths(s *nfstest.Server) site {
	return site{paths: []string{"127.0.0.2", "127.0.0.3"}, port: s.Port()}
}

// unpaused is how long the surviving path may be without a byte.
const unpaused = 2 * time.Second

func TestAPathThatIsResetInMidRunCostsNothing(t *testing.T) {
	for name, p := range map[string]string{"reads": runfile.PatternRandomRead, "writes": runfile.PatternRandomWrite, "copies": runfile.PatternCopy} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &nfstest.Server{}
			s.Start(t, "127.0.0.2", "127.0.0.3")
			r := start(t, plan(twoPaths(s), 6, pattern(p)))
			r.await(runfile.SpanMeasure)
			pass(time.Second)
			cut := time.Now()
			s.Kill("127.0.0.3")
			pass(1500 * time.Millisecond)
			before := r.watch.now(1)
			if err := s.Listen("127.0.0.3"); err != nil {
				t.Fatal(err)
			}
			r.watch.until(t, 1, "the path is in use again", func(c runfile.Channel) bool {
				return c.State == "Up" && c.BytesRead+c.BytesWritten > before.BytesRead+before.BytesWritten
			})
			healed := time.Now()
			l := r.finish()
			wantClean(t, l)
			wantLost(t, l, 1)
			if got := r.watch.pause(t, 0, cut, healed); got >= unpaused {
				t.Errorf("the other path did nothing for %v", got)
			}
		})
	}
}

// wantLost fails unless the result names channel n, and no other, as the one
// that was away.
func wantLost(t *testing.T, l *runfile.Load, n int) {
	t.Helper()
	for i, c := range channels(l) {
		if i == n {
			if c.State != "Up" || c.Reconnects == 0 || c.DownMilliseconds < 500 {
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
	s := &nfstest.Server{}
	s.Start(t, "127.0.0.2", "127.0.0.3")
	r := start(t, plan(twoPaths(s), 4))
	r.await(runfile.SpanMeasure)
	pass(time.Second)
	cut := time.Now()
	s.Kill("127.0.0.2")
	r.watch.until(t, 0, "the path is given up", func(c runfile.Channel) bool { return c.State == "Down" })
	r.awaitEnd()
	if got := r.watch.pause(t, 1, cut, time.Now()); got >= unpaused {
		t.Errorf("the other path did nothing for %v", got)
	}
	l := r.finish()
	wantClean(t, l)
	c := channels(l)
	if c[0].State != "Down" || c[0].DownMilliseconds < 2000 || c[1].State != "Up" {
		t.Errorf("channels are %+v", c)
	}
}

func TestAPathThatAcknowledgesAndNeverAnswersIsLeftInTime(t *testing.T) {
	t.Parallel()
	s := &nfstest.Server{}
	s.Start(t, "127.0.0.1")
	proxies := through(t, "127.0.0.1", s.Port(), "127.0.0.2", "127.0.0.3")
	const timeout = 4
	r := start(t, plan(twoPaths(s), 8, callTimeout(timeout)))
	r.await(runfile.SpanMeasure)
	pass(time.Second)
	cut := time.Now()
	resume := proxies[1].hold()
	r.watch.until(t, 1, "the path is given up", func(c runfile.Channel) bool { return c.State == "Down" || c.Reconnects > 0 })
	if took := time.Since(cut); took > 10*time.Second {
		t.Errorf("given up after %v, with a call timeout of %d s", took, timeout)
	}
	proxies[1].reset()
	resume()
	proxies[1].heal()
	before := r.watch.now(1).BytesWritten
	r.watch.until(t, 1, "the path is in use again", func(c runfile.Channel) bool { return c.BytesWritten > before })
	healed := time.Now()
	l := r.finish()
	wantClean(t, l)
	wantLost(t, l, 1)
	if got := r.watch.pause(t, 0, cut, healed); got >= unpaused {
		t.Errorf("the other path did nothing for %v", got)
	}
}

func TestBothPathsMayBeAwayForLessThanTheTimeout(t *testing.T) {
	t.Parallel()
	s := &nfstest.Server{}
	s.Start(t, "127.0.0.2", "127.0.0.3")
	r := start(t, plan(twoPaths(s), 8, callTimeout(20)))
	r.await(runfile.SpanMeasure)
	pass(time.Second)
	s.Kill("127.0.0.2")
	s.Kill("127.0.0.3")
	pass(4 * time.Second)
	if err := s.Recover(); err != nil {
		t.Fatal(err)
	}
	l := r.finish()
	wantClean(t, l)
	for _, c := range channels(l) {
		if c.State != "Up" || c.Reconnects == 0 || c.DownMilliseconds < 3000 {
			t.Errorf("the result does not tell of the loss: %+v", c)
		}
	}
}

func TestBothPathsAwayForLongerThanTheTimeoutEndTheRunInTime(t *testing.T) {
	t.Parallel()
	s := &nfstest.Server{}
	s.Start(t, "127.0.0.2", "127.0.0.3")
	const timeout = 3
	r := start(t, plan(twoPaths(s), 60, callTimeout(timeout)))
	r.await(runfile.SpanMeasure)
	pass(time.Second)
	cut := time.Now()
	s.Kill("127.0.0.2")
	s.Kill("127.0.0.3")
	r.awaitEnd()
	if took := time.Since(cut); took < timeout*time.Second || took > (timeout+5)*time.Second {
		t.Errorf("the run was given up after %v, with a call timeout of %d s", took, timeout)
	}
	l := r.finish()
	wantFailure(t, l, runfile.FailureUnreachable, "127.0.0.2", "127.0.0.3", "3s", "timeout")
	if len(l.Repetitions) == 0 || l.Repetitions[0].Write.Count == 0 {
		t.Error("what was measured before is lost")
	}
}
