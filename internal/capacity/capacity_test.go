package capacity

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// level returns a level whose outcome is certain.
func level(rate int64, seconds int32, share float64) runfile.CapacityLevel {
	due := rate * int64(seconds)
	return runfile.CapacityLevel{
		Round: 1, OperationsPerSecond: rate, Seconds: seconds,
		Outcome: &runfile.CapacityOutcome{
			Due: due, Done: due, Bounds: []runfile.BoundOutcome{{Share: share, Low: 0.99 * share, High: 1.01 * share}},
		},
	}
}

// searched goes through a whole search. measure gives the outcome of each level.
func searched(p Params, measure func(runfile.CapacityLevel) *runfile.CapacityOutcome) (levels []runfile.CapacityLevel) {
	for {
		l, more := Next(p, levels)
		if !more {
			return levels
		}
		l.Outcome = measure(l)
		levels = append(levels, l)
	}
}

// sharp simulates a server that holds every bound up to a rate, and no bound above it.
func sharp(p Params, capacity float64) (levels []runfile.CapacityLevel) {
	return searched(p, func(l runfile.CapacityLevel) *runfile.CapacityOutcome {
		share := 0.0
		if float64(l.OperationsPerSecond) > capacity {
			share = 1
		}
		o := level(l.OperationsPerSecond, l.Seconds, share).Outcome
		o.Bounds = slices.Repeat(o.Bounds, len(p.Bounds))
		return o
	})
}

func params() Params {
	return Params{Bounds: p99(1000), Clients: 1, Rounds: 1, WarmupSeconds: 10, LongestSeconds: 60}
}

func TestNextGoesOnFromWhateverWasMeasured(t *testing.T) {
	levels := sharp(params(), 12_345)
	for at := range levels {
		l, more := Next(params(), levels[:at])
		want := levels[at]
		want.Outcome = nil
		if diff := cmp.Diff(want, l); diff != "" || !more {
			t.Fatalf("level %d is another after a restart (-want +got):\n%s", at+1, diff)
		}
		if again, _ := Next(params(), append(levels[:at:at], l)); !cmp.Equal(l, again) {
			t.Fatalf("level %d has no outcome yet, but %+v follows", at+1, again)
		}
	}
}

func TestEachRoundIsAWholeSearchWithItsOwnWarmup(t *testing.T) {
	p := params()
	once := sharp(p, 12_345)
	p.Rounds = 3
	all := sharp(p, 12_345)
	if len(all) != 3*len(once) {
		t.Fatalf("%d levels in 3 rounds, %d in one", len(all), len(once))
	}
	for i, l := range all {
		of := i % len(once)
		want := int32(1)
		if of == 0 {
			want = 10
		}
		if l.Index != int32(i+1) || l.Round != int32(i/len(once)+1) || l.WarmupSeconds != want ||
			l.OperationsPerSecond != once[of].OperationsPerSecond {
			t.Errorf("level %d is %+v, want round %d, warm-up %d s and the rate of %+v", i+1, l, i/len(once)+1, want, once[of])
		}
	}
}

func TestTheCapacityIsFoundWhereverItIs(t *testing.T) {
	for _, capacity := range []float64{0.5, 1, 3, 40, 64, 100, 5000, 1e6, 1e9, 1e12} {
		p := params()
		p.Clients = 1
		levels := sharp(p, capacity)
		if len(levels) >= runfile.MaxCapacityLevels {
			t.Errorf("capacity %g takes %d levels", capacity, len(levels))
		}
		e := Estimates(p.Bounds, levels)[0]
		switch {
		case capacity < 1:
			if e.OperationsPerSecond != 0 || e.StillHeld || e.Low != 0 || e.High < 1 {
				t.Errorf("capacity %g: %+v, want none", capacity, e)
			}
		case capacity > mostRate:
			if !e.StillHeld || e.High != 0 || e.OperationsPerSecond != mostRate {
				t.Errorf("capacity %g: %+v, want at least the highest rate", capacity, e)
			}
		default:
			off := math.Abs(float64(e.OperationsPerSecond) - capacity)
			if off > max(0.02*capacity, 1) || float64(e.Low) > capacity || float64(e.High) < capacity || e.StillHeld {
				t.Errorf("capacity %g: %+v", capacity, e)
			}
		}
	}
}

func TestManyClientsHaveAnOperationEach(t *testing.T) {
	p := params()
	p.Clients = 500
	for _, l := range sharp(p, 10) {
		if l.OperationsPerSecond < 500 {
			t.Errorf("%d operations a second for 500 clients", l.OperationsPerSecond)
		}
	}
}

func TestAHiccupAtALowRateDoesNotEndTheSearchThere(t *testing.T) {
	p := params()
	levels := searched(p, func(l runfile.CapacityLevel) *runfile.CapacityOutcome {
		share := 0.0
		if l.OperationsPerSecond > 10_000 || l.Index == 3 { // the third level had a hiccup
			share = 0.3
		}
		return level(l.OperationsPerSecond, l.Seconds, share).Outcome
	})
	if e := Estimates(p.Bounds, levels)[0]; e.OperationsPerSecond < 9700 || e.OperationsPerSecond > 10_300 {
		t.Errorf("capacity %+v, want 10000", e)
	}
}

func TestALevelThatFallsBehindHoldsNoBound(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*runfile.CapacityOutcome)
		want   bool
	}{
		"all done":   {"nothing is slow", func(*runfile.CapacityOutcome) {}, true},
		"behind":     {"operations are due that do not end", func(o *runfile.CapacityOutcome) { o.Done -= o.Done / 20 }, false},
		"in flight":  {"a few are on the way at the end of a window", func(o *runfile.CapacityOutcome) { o.Done -= 100 }, true},
		"one failed": {"a rate with errors is no capacity", func(o *runfile.CapacityOutcome) { o.Errors = 1 }, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := level(1000, 20, 0)
			tc.change(l.Outcome)
			if got := Estimates(p99(1000), []runfile.CapacityLevel{l})[0].StillHeld; got != tc.want {
				t.Errorf("%s: held %v", tc.reason, got)
			}
		})
	}
}

func TestAStallAtTheEndOfALevelIsMeasuredAgain(t *testing.T) {
	p, stalled := params(), false
	levels := searched(p, func(l runfile.CapacityLevel) *runfile.CapacityOutcome {
		share := 0.0
		if l.OperationsPerSecond > 10_500 {
			share = 0.9
		}
		o := level(l.OperationsPerSecond, l.Seconds, share).Outcome
		if !stalled && l.Seconds >= 15 && share == 0 { // operations that were due in the last moment did not end
			o.Done -= o.Due / 30
			stalled = true
		}
		return o
	})
	if e := Estimates(p.Bounds, levels)[0]; e.OperationsPerSecond < 10_200 || e.High < 10_500 {
		t.Errorf("capacity %+v, want 10500", e)
	}
}

func TestLevelsWithoutOperationsEndARound(t *testing.T) {
	p := params()
	p.Rounds = 2
	levels := searched(p, func(runfile.CapacityLevel) *runfile.CapacityOutcome { return new(Merge(p.Bounds, nil)) })
	if len(levels) != 4 {
		t.Errorf("%d levels, want 2 in each of 2 rounds", len(levels))
	}
	if e := Estimates(p.Bounds, levels[:2])[0]; e.OperationsPerSecond != 0 || e.StillHeld || e.High != 0 {
		t.Errorf("%+v of a load without operations, want nothing", e)
	}
}

func TestMergeAddsUpTheClients(t *testing.T) {
	steady := func(due, slow int64) runfile.LevelReport {
		r := runfile.LevelReport{Slow: [][]int64{nil}}
		for range 20 {
			r.Due, r.Done, r.Slow[0] = append(r.Due, due), append(r.Done, due), append(r.Slow[0], slow)
		}
		return r
	}
	o := Merge(p99(1000), []runfile.LevelReport{steady(1000, 10), steady(3000, 0)})
	b := o.Bounds[0]
	if o.Due != 80_000 || o.Done != 80_000 || b.Share != 0.0025 || b.Low < 0.001 || b.Low > b.Share || b.High > 0.005 || b.High < b.Share {
		t.Errorf("outcome %+v, want 80000 operations, of which 0.25 %% slow", o)
	}
}

func TestNoReportBreaksMergeOrTheSearch(t *testing.T) {
	huge := make([]int64, 100_000)
	cases := map[string]struct {
		reason string
		report runfile.LevelReport
		holds  bool
	}{
		"empty":          {"nothing ended", runfile.LevelReport{}, false},
		"negative":       {"counts below nothing are none", runfile.LevelReport{Done: []int64{-5}, Due: []int64{-5}, Slow: [][]int64{{-5}}, Errors: -1}, false},
		"larger than it": {"more slow than done", runfile.LevelReport{Done: []int64{1}, Slow: [][]int64{{1 << 62, 1 << 62}}}, false},
		"too long":       {"more seconds than a level has", runfile.LevelReport{Done: huge, Due: huge, Slow: [][]int64{huge}}, false},
		"overflowing": {"sums stay sums", runfile.LevelReport{
			Done: []int64{math.MaxInt64, math.MaxInt64}, Due: []int64{math.MaxInt64, math.MaxInt64}, Slow: [][]int64{{0, 0}},
		}, true},
		"no bounds": {"who does not say how many were slow may have had only such", runfile.LevelReport{Done: []int64{100}, Due: []int64{100}}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := Merge(p99(1000), []runfile.LevelReport{tc.report, tc.report})
			if holds, _ := Sure(p99(1000)[0], runfile.CapacityLevel{Seconds: 10, Outcome: &o}); holds != tc.holds {
				t.Errorf("%s: holds %v", tc.reason, holds)
			}
			b := o.Bounds[0]
			if o.Due < 0 || o.Done < 0 || o.Errors < 0 || !(b.Low >= 0 && b.Low <= b.Share && b.Share <= b.High && b.High <= 1) {
				t.Errorf("%s: %+v", tc.reason, o)
			}
			l := level(64, 10, 0)
			l.Outcome = &o
			if _, more := Next(params(), []runfile.CapacityLevel{l}); !more {
				t.Errorf("%s: the search is over", tc.reason)
			}
		})
	}
}

func TestNoHistoryBreaksNext(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	odd := []int64{math.MinInt64, -1, 0, 1, 64, 1000, math.MaxInt64}
	share := []float64{math.NaN(), -1, 0, 0.01, 1, math.Inf(1)}
	for range 2000 {
		var levels []runfile.CapacityLevel
		for range random.IntN(60) {
			pick := func() int64 { return odd[random.IntN(len(odd))] }
			l := runfile.CapacityLevel{OperationsPerSecond: pick(), Round: int32(random.IntN(3)), Seconds: int32(pick())}
			o := runfile.CapacityOutcome{Due: pick(), Done: pick(), Errors: pick()}
			for range random.IntN(3) {
				s := share[random.IntN(len(share))]
				o.Bounds = append(o.Bounds, runfile.BoundOutcome{Share: s, Low: s, High: s})
			}
			l.Outcome = &o
			levels = append(levels, l)
		}
		p := params()
		if l, more := Next(p, levels); more && (l.Seconds < 1 || l.Seconds > p.LongestSeconds || l.OperationsPerSecond < 1 || l.OperationsPerSecond > mostRate) {
			t.Fatalf("level %+v after %+v", l, levels)
		}
		Estimates(p.Bounds, levels)
		Left(p, levels)
	}
}

// noise simulates a server that holds every bound up to a rate. Its operations are slow
// independently of each other.
func noise(p Params, capacity float64, seed uint64) (levels []runfile.CapacityLevel) {
	random := rand.New(rand.NewPCG(seed, 1))
	return searched(p, func(l runfile.CapacityLevel) *runfile.CapacityOutcome {
		slow := p.Bounds[0].SlowShare() * math.Pow(float64(l.OperationsPerSecond)/capacity, 8)
		r := runfile.LevelReport{Slow: [][]int64{nil}}
		for range l.Seconds {
			var n int64
			for range l.OperationsPerSecond {
				if random.Float64() < slow {
					n++
				}
			}
			r.Due, r.Done = append(r.Due, l.OperationsPerSecond), append(r.Done, l.OperationsPerSecond)
			r.Slow[0] = append(r.Slow[0], n)
		}
		return new(Merge(p.Bounds, []runfile.LevelReport{r}))
	})
}

func TestNoRateIsMeasuredMoreThanTwice(t *testing.T) {
	for _, percentile := range []bench.LatencyPercentile{"p99", "p999"} {
		for seed := range uint64(200) {
			p := params()
			p.Bounds[0].Percentile = percentile
			capacity := 1 + float64(seed%100)
			times := map[int64]int{}
			for _, l := range noise(p, capacity, seed) {
				times[l.OperationsPerSecond]++
				if times[l.OperationsPerSecond] > 2 {
					t.Fatalf("%s, capacity %g, seed %d: %d operations a second are measured again and again", percentile, capacity, seed, l.OperationsPerSecond)
				}
			}
		}
	}
}

func TestABoundLeavesLevelsToTheOthers(t *testing.T) {
	p := params()
	p.Bounds = append(p.Bounds, runfile.LatencyBound{Percentile: "p99", Microseconds: 5000})
	// The first bound lies between 1000 and 2000, and most levels do not narrow it. The second bound
	// lies above these levels.
	var levels []runfile.CapacityLevel
	add := func(rate int64, share float64) {
		l := level(rate, 60, share)
		l.Index = int32(len(levels) + 1)
		l.Outcome.Bounds = append(l.Outcome.Bounds, runfile.BoundOutcome{})
		levels = append(levels, l)
	}
	add(2000, 1)
	for len(levels) < runfile.MaxCapacityLevels-ownLevels {
		if l, _ := Next(p, levels); l.OperationsPerSecond > 2000 {
			t.Fatalf("after %d levels, %d operations a second are for the second bound", len(levels), l.OperationsPerSecond)
		}
		add(1000-int64(len(levels)), 0)
	}
	if l, _ := Next(p, levels); l.OperationsPerSecond <= 2000 {
		t.Errorf("after %d levels, %d operations a second are for the first bound", len(levels), l.OperationsPerSecond)
	}
	p.Bounds[1] = p.Bounds[0] // which needs no further levels
	if _, more := Next(p, levels); !more {
		t.Error("what the second bound does not need is not left to the first")
	}
}

func TestLevelsWarmUpForAsLongAsOperationsMayTake(t *testing.T) {
	p := Params{Bounds: p99(2_000_000), Clients: 1, Rounds: 1, WarmupSeconds: 3, LongestSeconds: longest}
	random := rand.New(rand.NewPCG(1, 1))
	levels := searched(p, func(l runfile.CapacityLevel) *runfile.CapacityOutcome {
		// Each operation takes 1.5 s.
		report := measure(&queue{service: 1. / 3000, base: 1.5}, bench.ArrivalsFixed, p.Bounds, l, random)
		return new(Merge(p.Bounds, []runfile.LevelReport{report}))
	})
	for _, l := range levels {
		if holds, _ := Sure(p.Bounds[0], l); holds != (l.OperationsPerSecond <= 3000) && l.Seconds < 60 {
			t.Errorf("%d operations a second, %d s after %d s: holds %v", l.OperationsPerSecond, l.Seconds, l.WarmupSeconds, holds)
		}
	}
	if e := Estimates(p.Bounds, levels)[0]; math.Abs(float64(e.OperationsPerSecond)/3000-1) > 0.05 {
		t.Errorf("%+v, want 3000", e)
	}
}
