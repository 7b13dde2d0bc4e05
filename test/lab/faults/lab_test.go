package faults

import (
	"testing"
	"time"

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
	for name, kind := range map[string]string{"reads": runfile.PatternRandomRead, "writes": runfile.PatternRandomWrite} {
		t.Run(name, func(t *testing.T) {
			a, at := array(t, "silent")
			r := start(t, plan(at, 20, pattern(kind)))
			r.await(runfile.SpanMeasure)
			pass(2 * time.Second)
			cut := time.Now()
			a.Cut(t, 2)
			r.watch.until(t, 1, "the path is given up", func(c runfile.Channel) bool { return c.State == "Down" })
			// The call timeout is 30 s: it is the silence that must be noticed.
			if took := time.Since(cut); took > 6*time.Second {
				t.Errorf("the silence was noticed after %v", took)
			}
			pass(3 * time.Second)
			before := r.watch.now(1)
			a.Heal(t, 2)
			r.watch.until(t, 1, "the path is in use again", func(c runfile.Channel) bool {
				return c.State == "Up" && c.BytesRead+c.BytesWritten > before.BytesRead+before.BytesWritten
			})
			back := time.Now()
			l := r.finish()
			wantClean(t, l)
			wantLost(t, l, 1)
			got := r.watch.pause(t, 0, cut, back)
			t.Logf("the other path was without a byte for %v at most", got)
			if got >= unpaused {
				t.Errorf("the other path did nothing for %v", got)
			}
		})
	}
}

func TestAnArrayThatIsSilentForLessThanTheTimeoutIsWaitedFor(t *testing.T) {
	a, at := array(t, "hush")
	r := start(t, plan(at, 20, callTimeout(30)))
	r.await(runfile.SpanMeasure)
	pass(time.Second)
	a.Cut(t, 1)
	a.Cut(t, 2)
	pass(6 * time.Second)
	a.Heal(t, 1)
	a.Heal(t, 2)
	l := r.finish()
	wantClean(t, l)
	for _, c := range channels(l) {
		if c.State != "Up" || c.Reconnects == 0 || c.DownMilliseconds < 4000 {
			t.Errorf("the result does not tell of the loss: %+v", c)
		}
	}
}

func TestAnArrayThatStaysSilentEndsTheRunInTime(t *testing.T) {
	a, at := array(t, "gone")
	const timeout = 6
	r := start(t, plan(at, 120, callTimeout(timeout)))
	r.await(runfile.SpanMeasure)
	pass(time.Second)
	a.Cut(t, 1)
	a.Cut(t, 2)
	cut := time.Now()
	r.awaitEnd()
	if took := time.Since(cut); took > (timeout+5)*time.Second {
		t.Errorf("the run was given up after %v, with a call timeout of %d s", took, timeout)
	}
	l := r.finish()
	wantFailure(t, l, runfile.FailureUnreachable, a.LIFs[0], a.LIFs[1], "6s")
	if took := time.Since(cut); took > time.Minute {
		t.Errorf("the run ended after %v", took)
	}
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
			r := start(t, plan(at, 20, tc.change, callTimeout(60)))
			r.await(tc.span)
			for range 3 {
				pass(1500 * time.Millisecond)
				if now := r.in(); now != tc.span {
					t.Fatalf("the run is in %s already", now)
				}
				a.Crash(t)
				pass(300 * time.Millisecond)
				a.Revive(t)
			}
			l := r.finish()
			wantClean(t, l)
			for _, c := range channels(l) {
				if tc.span == runfile.SpanMeasure && (c.Reconnects < 3 || c.DownMilliseconds < 900) {
					t.Errorf("the result does not tell of the crashes: %+v", c)
				}
			}
		})
	}
}
