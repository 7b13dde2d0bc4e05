package faults

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/nfstest"
)

// wantUntouched fails if the result reports any path as lost.
func wantUntouched(t *testing.T, l *runfile.Load) {
	t.Helper()
	for _, c := range channels(l) {
		if c.State != "Up" || c.Reconnects != 0 || c.Retransmits != 0 || c.DownMilliseconds != 0 {
			t.Errorf("a path is taken for lost: %+v", c)
		}
	}
}

func isData(c nfstest.Call) bool { return c.IsRead() || c.IsWrite() }

func TestAServerThatTakesTwoSecondsForEachIOIsSlowAndNotLost(t *testing.T) {
	for name, kind := range map[string]string{"reads": runfile.PatternRandomRead, "writes": runfile.PatternRandomWrite} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var slow atomic.Bool
			s := &nfstest.Server{Delay: func(c nfstest.Call) time.Duration {
				if isData(c) && slow.Load() {
					return 2 * time.Second
				}
				return 0
			}}
			s.Start(t, "127.0.0.2", "127.0.0.3")
			r := start(t, plan(twoPaths(s), 8, pattern(kind)))
			r.await(runfile.SpanMeasure)
			slow.Store(true)
			r.awaitEnd()
			slow.Store(false)
			l := r.finish()
			wantClean(t, l)
			wantUntouched(t, l)
		})
	}
}

func TestAServerThatReadsNothingForAMomentIsNotLost(t *testing.T) {
	t.Parallel()
	s := &nfstest.Server{}
	s.Start(t, "127.0.0.2", "127.0.0.3")
	r := start(t, plan(twoPaths(s), 8))
	r.await(runfile.SpanMeasure)
	pass(time.Second)
	resume := s.Stall()
	pass(3 * time.Second)
	resume()
	l := r.finish()
	wantClean(t, l)
	wantUntouched(t, l)
}

func TestIOsOutstandingAtASlowServerOverlap(t *testing.T) {
	t.Parallel()
	const latency, depth, jobs, seconds = 50 * time.Millisecond, 4, 4, 5
	var slow atomic.Bool
	s := &nfstest.Server{Delay: func(c nfstest.Call) time.Duration {
		if isData(c) && slow.Load() {
			return latency
		}
		return 0
	}}
	s.Start(t, "127.0.0.2", "127.0.0.3")
	r := start(t, plan(twoPaths(s), seconds, load(8192, depth, jobs), pattern(runfile.PatternRandomRead)))
	r.await(runfile.SpanMeasure)
	slow.Store(true)
	l := r.finish()
	wantClean(t, l)
	// One after the other on each path would be 2 x 5 s / 50 ms.
	const alone = 2 * int64(seconds*time.Second/latency)
	if got := l.Repetitions[0].Read.Count; got < 3*alone {
		t.Errorf("%d reads of %v with %d outstanding on two paths, not much more than %d one by one",
			got, latency, depth*jobs, alone)
	}
}
