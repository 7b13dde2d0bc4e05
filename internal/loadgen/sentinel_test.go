package loadgen

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/targettest"
)

// lateNap returns a sleep that is late by some time in each twentieth call, and when it was called.
func lateNap(late time.Duration) (nap func(time.Duration), called *[]time.Time) {
	called = new([]time.Time)
	return func(d time.Duration) {
		*called = append(*called, time.Now())
		if len(*called)%20 == 0 {
			d += late
		}
		time.Sleep(d)
	}, called
}

func TestTheWakeUpsOfEachWindowAreInTheLoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		nap, called := lateNap(30 * time.Millisecond)
		load, _ := runMem(t.Context(), t, testPlan(bench.PatternRead), &targettest.Memory{Delay: time.Millisecond}, func(o *Options) { o.Nap = nap })
		if load.Failure != nil || len(load.Repetitions) != 2 {
			t.Fatalf("failure %+v, %d repetitions", load.Failure, len(load.Repetitions))
		}
		for _, rep := range load.Repetitions {
			// 20 wake-ups take 130 ms: 19 are on time, and 7 times fall due in the last sleep, 30 to 0 ms before its end.
			w := rep.WakeUps
			if w == nil || w.Count < 1_990 || w.Count > 2_010 || w.P50Microseconds != 0 || w.P90Microseconds < 19_900 ||
				w.P90Microseconds > 20_100 || w.P99Microseconds < 29_900 || w.MaxMicroseconds > 30_100 {
				t.Errorf("repetition %d: %+v", rep.Index, w)
			}
		}
		for _, at := range *called {
			first, second := load.Repetitions[0], load.Repetitions[1]
			if at.Before(first.Start) || at.After(second.End) || at.After(first.End) && at.Before(second.Start) {
				t.Fatalf("the thread slept at %v, outside of the windows", at)
			}
		}
	})
}

func TestAStandstillAtTheEndOfAWindowCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		plan := testPlan(bench.PatternRead)
		plan.Schedule.Repetitions = 1
		var from time.Time
		load, _ := runMem(t.Context(), t, plan, &targettest.Memory{Delay: 50 * time.Millisecond}, func(o *Options) {
			o.Nap = func(d time.Duration) {
				if from.IsZero() {
					from = time.Now()
				}
				if time.Since(from) > 9900*time.Millisecond { // of 10 s
					d += time.Second
				}
				time.Sleep(d)
			}
		})
		if w := load.Repetitions[0].WakeUps; w == nil || w.MaxMicroseconds < 999_000 || w.P99Microseconds < 800_000 {
			t.Errorf("%+v; the thread woke 1 s late", w)
		}
	})
}

func TestALevelOfASearchHasItsWakeUps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		plan := capacityPlan(bench.PatternRandomRead, bench.ArrivalsFixed, p99(60*time.Millisecond))
		load, _ := runMem(t.Context(), t, plan, &targettest.Memory{Delay: 40 * time.Millisecond}, func(o *Options) { o.Nap = time.Sleep })
		for _, rep := range load.Repetitions {
			if w := rep.WakeUps; w == nil || w.MaxMicroseconds != 0 || w.Count < 200*int64(rep.Level.WindowSeconds())-1 {
				t.Errorf("level %d: %+v", rep.Index, w)
			}
		}
	})
}

func TestWakeUpsAreUnknownWithoutASleep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		load, _ := runMem(t.Context(), t, testPlan(bench.PatternRead), &targettest.Memory{Delay: time.Millisecond})
		for _, rep := range load.Repetitions {
			if rep.WakeUps != nil {
				t.Errorf("%+v", rep.WakeUps)
			}
		}
		if (*sentinel)(nil).wakeUps() != (*runfile.WakeUps)(nil) {
			t.Error("nothing is not unknown")
		}
	})
}
