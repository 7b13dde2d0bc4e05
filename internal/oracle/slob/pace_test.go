package slob

import (
	"context"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/nanosleep"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
	"github.com/nfsbench/nfsbench/test/gen"
)

// work lets sessions take statements until ctx ends. execute says whether the statement ended well, and whether the
// session comes back from it.
func work(ctx context.Context, p *Pace, sessions int, execute func(session int) (whole, back bool)) *sync.WaitGroup {
	var all sync.WaitGroup
	for i := range sessions {
		all.Go(func() {
			for ctx.Err() == nil {
				due, more := p.take()
				if !more {
					return
				}
				err := p.wait(ctx, due)
				whole, back := execute(i)
				if !back {
					return
				}
				p.ended(due, err == nil && whole)
			}
		})
	}
	return &all
}

// level lets sessions keep a rate for a warm-up of 1 s and a window of 4 s. Their statements take
// 10 ms each, so each can execute 100 a second. The sessions are ready after a minute.
func level(t *testing.T, users int, perSecond int64, arrivals bench.Arrivals) runfile.LevelReport {
	t.Helper()
	var report *runfile.LevelReport
	synctest.Test(t, func(t *testing.T) {
		p := NewPace(*gen.CapacityWithin(arrivals, runfile.LatencyBound{Percentile: "p99", Microseconds: 50_000}), perSecond, 7, time.Now)
		p.nap = time.Sleep      // time of the synctest bubble
		time.Sleep(time.Minute) // the sessions log in
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		sessions := work(ctx, p, users, func(int) (whole, back bool) {
			time.Sleep(10 * time.Millisecond)
			return true, true
		})
		time.Sleep(time.Second)
		p.Window(4)
		time.Sleep(4 * time.Second)
		cancel()
		sessions.Wait()
		var err error
		if report, err = p.Report(3, 32); err != nil {
			t.Fatal(err)
		}
	})
	return *report
}

func sum(of []int64) (n int64) {
	for _, v := range of {
		n += v
	}
	return n
}

// At twice the capacity, 400 statements are overdue when the window begins. The 1,600 that end in
// it are slow, as are 1,960 that were due in it and overdue by more than the bound at its end.
func TestStatementsAreDueAtTheRateWhateverTheSessionsDo(t *testing.T) {
	cases := map[string]struct {
		perSecond int64
		arrivals  bench.Arrivals
		done      [2]int64 // in 4 s
		slow      [2]int64
	}{
		"half of what the sessions can do":      {200, bench.ArrivalsFixed, [2]int64{796, 800}, [2]int64{0, 0}},
		"the same, as from independent users":   {200, bench.ArrivalsPoisson, [2]int64{740, 860}, [2]int64{0, 4}},
		"twice what they can do: a queue grows": {800, bench.ArrivalsFixed, [2]int64{1590, 1600}, [2]int64{3540, 3570}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := level(t, 4, tc.perSecond, tc.arrivals)
			if r.Index != 3 || len(r.Due) != 4 || len(r.Done) != 4 || len(r.Slow) != 1 || len(r.Slow[0]) != 4 {
				t.Fatalf("got %+v, want 4 seconds and one bound", r)
			}
			due, done, slow := sum(r.Due), sum(r.Done), sum(r.Slow[0])
			if tc.arrivals == bench.ArrivalsFixed && due != 4*tc.perSecond {
				t.Errorf("%d statements were due, want %d", due, 4*tc.perSecond)
			}
			if done < tc.done[0] || done > tc.done[1] || slow < tc.slow[0] || slow > tc.slow[1] {
				t.Errorf("%d statements ended and %d were slow, want %v and %v", done, slow, tc.done, tc.slow)
			}
			if r.Histogram == "" {
				t.Error("the report has no latencies")
			}
		})
	}
}

// The storage stands still for the last 2 s of a window of 4 s. Half of the statements wait for it: those that
// sessions execute, and those that no session can take.
func TestAStandstillAtTheEndIsInTheLatencies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPace(*gen.CapacityWithin(bench.ArrivalsFixed, runfile.LatencyBound{Percentile: "p99", Microseconds: 50_000}), 200, 7, time.Now)
		p.nap = time.Sleep
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stands := p.now().Add(2 * time.Second)
		sessions := work(ctx, p, 4, func(session int) (whole, back bool) {
			time.Sleep(10 * time.Millisecond)
			if time.Now().Before(stands) {
				return true, true
			}
			<-ctx.Done()
			return false, session > 0 // the first one does not come back
		})
		p.Window(4)
		time.Sleep(4 * time.Second)
		cancel()
		sessions.Wait()
		r, err := p.Report(3, 32)
		if err != nil {
			t.Fatal(err)
		}
		h, err := stats.DecodeHistogram(r.Histogram)
		if err != nil {
			t.Fatal(err)
		}
		if h.Count() != sum(r.Due) || sum(r.Slow[0]) < 380 || sum(r.Slow[0]) > 400 {
			t.Errorf("%d latencies, %d slow of %d statements", h.Count(), sum(r.Slow[0]), sum(r.Due))
		}
		if p50, p75, p99 := h.Percentile(49), h.Percentile(75), h.Percentile(99); p50 > 20_000 || p75 < 980_000 || p75 > 1_020_000 || p99 < 1_950_000 || p99 > 2_000_000 {
			t.Errorf("latencies of %d, %d and %d us", p50, p75, p99)
		}
	})
}

// When the window begins, idle sessions already wait for statements that are due long after it.
func TestManySessionsWaitForAFewStatements(t *testing.T) {
	for name, arrivals := range map[string]bench.Arrivals{"fixed": bench.ArrivalsFixed, "Poisson": bench.ArrivalsPoisson} {
		t.Run(name, func(t *testing.T) {
			if r := level(t, 64, 4, arrivals); arrivals == bench.ArrivalsFixed && sum(r.Due) != 16 {
				t.Errorf("%d statements were due in 4 s, want 16", sum(r.Due))
			}
		})
	}
}

// The plan allows any rate. The report of an impossible rate must not take for ever.
func TestARateThatNobodyCanKeepIsReported(t *testing.T) {
	r := level(t, 1, math.MaxInt32, bench.ArrivalsFixed)
	if due := sum(r.Due); due < 4*math.MaxInt32-4 || due > 4*math.MaxInt32+4 {
		t.Errorf("%d statements were due in 4 s at %d/s", due, math.MaxInt32)
	}
}

// Go timers are too coarse for latencies that count from the due time.
func TestASessionNapsBeforeItsStatementIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPace(bench.Capacity{Arrivals: bench.ArrivalsFixed}, 100, 7, time.Now)
		var naps []time.Duration
		p.nap = func(d time.Duration) {
			naps = append(naps, d)
			time.Sleep(d/2 + 1) // as if a signal ends it early
		}
		for range 2 {
			due, _ := p.take()
			if err := p.wait(t.Context(), due); err != nil || p.elapsed() < due {
				t.Errorf("%v after the start, error %v, for a statement that is due after %v", p.elapsed(), err, due)
			}
		}
		if len(naps) < 2 || naps[0] != nanosleep.Margin {
			t.Errorf("naps of %v", naps)
		}
	})
}
