package faults

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/faulty"
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

func isData(c faulty.Call) bool { return c.IsRead() || c.IsWrite() }

func TestAServerThatTakesTwoSecondsForEachIOIsSlowAndNotLost(t *testing.T) {
	for name, kind := range map[string]bench.RawPattern{"reads": bench.PatternRandomRead, "writes": bench.PatternRandomWrite} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var slow atomic.Bool
			s := &faulty.Server{Delay: func(c faulty.Call) time.Duration {
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
	s := &faulty.Server{}
	s.Start(t, "127.0.0.2", "127.0.0.3")
	r := start(t, plan(twoPaths(s), 8))
	r.underLoad()
	resume := s.Stall()
	pass(3 * time.Second)
	resume()
	l := r.finish()
	wantClean(t, l)
	wantUntouched(t, l)
}

func TestIOsOutstandingAtASlowServerOverlap(t *testing.T) {
	t.Parallel()
	const latency, depth, jobs = 10 * time.Second, 4, 4
	var slow, all atomic.Bool
	var outstanding atomic.Int64
	s := &faulty.Server{Delay: func(c faulty.Call) time.Duration {
		if !isData(c) || !slow.Load() {
			return 0
		}
		if outstanding.Add(1) == depth*jobs {
			all.Store(true)
		}
		time.AfterFunc(latency, func() { outstanding.Add(-1) })
		return latency
	}}
	s.Start(t, "127.0.0.2", "127.0.0.3")
	r := start(t, plan(twoPaths(s), 1, load(8192, depth, jobs), pattern(bench.PatternRandomRead)))
	r.await(runfile.SpanMeasure)
	slow.Store(true)
	waitFor(t, "all I/Os are outstanding at once", all.Load)
	slow.Store(false)
	r.watch.carries(t, 0)
	wantClean(t, r.finish())
}
