package faults

import (
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/lab/ganesha"
)

// array starts NFS-Ganesha with two links, which need not be as fast as this
// machine is busy.
func array(t *testing.T, name string) (ganesha.Array, site) {
	t.Helper()
	a := ganesha.Start(t, name, []string{"10.245.1.0/24", "10.245.2.0/24"}, "--rate", "100mbit")
	return a, site{paths: a.LIFs, export: a.Export}
}

func TestAPathThatFallsSilentCostsNothing(t *testing.T) {
	for name, kind := range map[string]bench.RawPattern{"reads": bench.PatternRandomRead, "writes": bench.PatternRandomWrite} {
		t.Run(name, func(t *testing.T) {
			a, at := array(t, "silent")
			r := start(t, plan(at, 3, pattern(kind)))
			r.underLoad()
			cut := time.Now()
			a.Cut(t, 2)
			r.watch.down(t, 1)
			// The call timeout is two minutes: it is the silence that must be noticed.
			took(t, "until the silence is noticed", cut, 6*time.Second)
			r.watch.carries(t, 0)
			before := r.watch.now(1)
			a.Heal(t, 2)
			r.watch.inUse(t, 1, before)
			back := time.Now()
			l := r.finish()
			wantClean(t, l)
			wantLost(t, l, 1)
			r.watch.pause(t, 0, cut, back)
		})
	}
}

func TestAnArrayThatIsSilentForLessThanTheTimeoutIsWaitedFor(t *testing.T) {
	a, at := array(t, "hush")
	r := start(t, plan(at, 3, callTimeout(60)))
	r.underLoad()
	a.Cut(t, 1)
	a.Cut(t, 2)
	r.watch.down(t, 0)
	r.watch.down(t, 1)
	a.Heal(t, 1)
	a.Heal(t, 2)
	l := r.finish()
	wantClean(t, l)
	for _, c := range channels(l) {
		if c.State != "Up" || c.Reconnects == 0 || c.DownMilliseconds == 0 {
			t.Errorf("the result does not tell of the loss: %+v", c)
		}
	}
}

func TestAnArrayThatStaysSilentEndsTheRunInTime(t *testing.T) {
	a, at := array(t, "gone")
	const timeout = 6
	r := start(t, plan(at, 120, callTimeout(timeout)))
	r.underLoad()
	a.Cut(t, 1)
	a.Cut(t, 2)
	cut := time.Now()
	r.awaitEnd()
	took(t, "until the run is given up", cut, (timeout+5)*time.Second)
	l := r.finish()
	wantFailure(t, l, runfile.FailureUnreachable, a.LIFs[0], a.LIFs[1], "6s")
	took(t, "until the run ends", cut, time.Minute)
}

func TestGaneshaKilledInMidRunLosesNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		span   string
		change func(*runfile.Plan)
	}{
		// 256 MiB over two links of 100 Mbit/s take ten seconds.
		"in the fill":          {runfile.SpanFill, load(2<<20, 4, 2)},
		"while it is measured": {runfile.SpanMeasure, load(8192, 8, 2)},
	} {
		t.Run(name, func(t *testing.T) {
			a, at := array(t, "crash")
			r := start(t, plan(at, 3, tc.change, callTimeout(60)))
			r.await(tc.span)
			for range 3 {
				r.watch.carries(t, 0)
				if now := r.in(); now != tc.span {
					t.Fatalf("the run is in %s already", now)
				}
				a.Crash(t)
				r.watch.down(t, 0)
				a.Revive(t)
			}
			l := r.finish()
			wantClean(t, l)
			for _, c := range channels(l) {
				if tc.span == runfile.SpanMeasure && (c.Reconnects == 0 || c.DownMilliseconds == 0) {
					t.Errorf("the result does not tell of the crashes: %+v", c)
				}
			}
		})
	}
}
