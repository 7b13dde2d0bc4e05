package loadgen

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
	"github.com/nfsbench/nfsbench/test/targettest"
)

// traced runs a plan and returns the blocks of each file in the order in which they were
// read or, if the plan overwrites them, written.
func traced(t *testing.T, run runFunc, plan runfile.Plan, delay time.Duration) map[string][]int64 {
	t.Helper()
	var mu sync.Mutex
	seen := map[string][]int64{}
	want := "read"
	if overwrites, _, _ := patternOf(plan.Workload.Raw); overwrites {
		want = "write"
	}
	tgt := &targettest.Memory{Delay: delay, BeforeIO: func(op, name string, off int64) error {
		mu.Lock()
		defer mu.Unlock()
		if op == want && strings.HasSuffix(name, ".dat") {
			seen[name] = append(seen[name], off/4096)
		}
		return nil
	}}
	load, _ := run(t.Context(), t, plan, tgt)
	if load.Failure != nil {
		t.Fatalf("failure %+v", load.Failure)
	}
	return seen
}

func shortPlan(pattern bench.RawPattern) runfile.Plan {
	plan := testPlan(pattern)
	plan.Schedule = runfile.Schedule{DurationSeconds: 1, Repetitions: 1}
	return plan
}

func TestSequentialJobsWalkTheirOwnFileAndGoAround(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t bubble) {
		seen := traced(t.T, t.run, shortPlan(bench.PatternRead), 10*time.Millisecond)
		if len(seen) != 2 {
			t.Fatalf("%d files were read, want one for each job", len(seen))
		}
		for name, blocks := range seen {
			// The three workers of a job take the next three blocks at a time.
			for at := 0; at+3 <= 150; at += 3 {
				three := slices.Sorted(slices.Values(blocks[at : at+3]))
				want := []int64{int64(at) % 64, int64(at+1) % 64, int64(at+2) % 64}
				slices.Sort(want)
				if !slices.Equal(three, want) {
					t.Fatalf("%s: I/Os %d to %d were of blocks %v, want %v", name, at, at+2, three, want)
				}
			}
			count := map[int64]int{}
			for _, b := range blocks[:64*3] { // a multiple of three
				count[b]++
			}
			for b := range int64(64) {
				if count[b] != 3 {
					t.Fatalf("%s: block %d was read %d times in three rounds", name, b, count[b])
				}
			}
		}
	})
}

func TestARerunDrawsTheSameOffsets(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t bubble) {
		plan := shortPlan(bench.PatternRandomRead)
		plan.Workload.Raw.Depth = 1
		one, two := traced(t.T, t.run, plan, 10*time.Millisecond), traced(t.T, t.run, plan, 10*time.Millisecond)
		if diff := cmp.Diff(one["c0-j0.dat"][:90], two["c0-j0.dat"][:90]); diff != "" {
			t.Errorf("the second run read elsewhere:\n%s", diff)
		}
		if cmp.Equal(one["c0-j0.dat"][:90], one["c0-j1.dat"][:90]) {
			t.Error("both jobs read the same blocks")
		}
		plan.Seed++
		if cmp.Equal(one["c0-j0.dat"][:90], traced(t.T, t.run, plan, 10*time.Millisecond)["c0-j0.dat"][:90]) {
			t.Error("another seed reads the same blocks")
		}
	})
}

func TestRandomOffsetsAreSpreadOverTheWholeFile(t *testing.T) {
	t.Parallel()
	for _, pattern := range []bench.RawPattern{bench.PatternRandomRead, bench.PatternRandomWrite} {
		t.Run(string(pattern), func(t *testing.T) {
			eachWay(t, func(t bubble) {
				plan := shortPlan(pattern)
				plan.Workload.Raw.Depth = 16
				for name, blocks := range traced(t.T, t.run, plan, time.Millisecond) {
					hit := map[int64]int{}
					for _, b := range blocks {
						hit[b]++
					}
					// 16000 draws of 64 blocks: 250 each.
					least, most := len(blocks), 0
					for b := range int64(64) {
						if hit[b] < 180 || hit[b] > 320 {
							t.Errorf("%s: block %d was drawn %d times of %d", name, b, hit[b], len(blocks))
						}
						least, most = min(least, hit[b]), max(most, hit[b])
					}
					if most-least <= 1 {
						t.Errorf("%s: all blocks come equally often, as one behind the other", name)
					}
				}
			})
		})
	}
}

func TestAnOpenLoopHidesNoOverload(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason        string
		rate          int64
		delay         time.Duration
		count         int64
		late, dropped bool
		p50atMost     int64
		p50atLeast    int64
	}{
		"a rate that the storage can do": {
			reason: "I/Os start when they are due", rate: 100, delay: 10 * time.Millisecond,
			count: 1000, p50atLeast: 10_000, p50atMost: 10_010,
		},
		"twice the rate that the storage can do": {
			reason: "waiting is latency, and what was never started is counted", rate: 1200, delay: 10 * time.Millisecond,
			count: 6000, late: true, dropped: true, p50atLeast: 2_500_000, p50atMost: 6_000_000,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			eachWay(t, func(t bubble) {
				plan := testPlan(bench.PatternRandomRead) // 6 workers
				plan.Workload.Raw.OperationsPerSecond = new(tc.rate)
				plan.Schedule = runfile.Schedule{WarmupSeconds: 1, DurationSeconds: 10, Repetitions: 1}
				load, _ := t.run(t.Context(), t.T, plan, &targettest.Memory{Delay: tc.delay})
				if load.Failure != nil || load.LoopMode != "open" {
					t.Fatalf("loop %s, failure %+v", load.LoopMode, load.Failure)
				}
				rep := load.Repetitions[0]
				if d := rep.Read.Count - tc.count; d < -10 || d > 10 {
					t.Errorf("%s: %d reads, want %d", tc.reason, rep.Read.Count, tc.count)
				}
				if (rep.LateOps > 0) != tc.late || (rep.DroppedOps > 0) != tc.dropped {
					t.Errorf("%s: %d late, %d dropped", tc.reason, rep.LateOps, rep.DroppedOps)
				}
				h, err := stats.DecodeHistogram(rep.Read.Histogram)
				if err != nil {
					t.Fatal(err)
				}
				if p := h.Percentile(50); p < tc.p50atLeast || p > tc.p50atMost {
					t.Errorf("%s: median %d us, want %d to %d", tc.reason, p, tc.p50atLeast, tc.p50atMost)
				}
			})
		})
	}
}

// stopping is a server that answers at once, except in one second of every ten.
func stopping(delay time.Duration) *targettest.Memory {
	begun := time.Now()
	return &targettest.Memory{Delay: delay, BeforeIO: func(string, string, int64) error {
		if at := time.Since(begun) % (10 * time.Second); at < time.Second {
			time.Sleep(time.Second - at) // time of the synctest bubble
		}
		return nil
	}}
}

// Operations are due at even distances. A tenth of them meets the stop and waits for 0 to 1 s,
// evenly: 99 % wait for at most 0.9 s, and 99.9 % for at most 0.99 s.
func TestAnOpenLoopCountsWhatAServerThatStopsDelays(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t bubble) {
		plan := testPlan(bench.PatternRandomRead) // 6 workers
		plan.Workload.Raw.OperationsPerSecond = new(int64(1000))
		plan.Schedule = runfile.Schedule{WarmupSeconds: 1, DurationSeconds: 100, Repetitions: 1}
		load, _ := t.run(t.Context(), t.T, plan, stopping(0))
		if load.Failure != nil {
			t.Fatal(load.Failure)
		}
		h, err := stats.DecodeHistogram(load.Repetitions[0].Read.Histogram)
		if err != nil {
			t.Fatal(err)
		}
		for percent, want := range map[float64]float64{50: 0, 95: 500_000, 99: 900_000, 99.9: 990_000} {
			if got := float64(h.Percentile(percent)); math.Abs(got-want) > 3000 {
				t.Errorf("p%g is %.0f us, want %.0f", percent, got, want)
			}
		}
	})
}

// The 6 workers of a closed loop wait once per stop, so p99 misses the stops. The correction restores them.
func TestAClosedLoopIsCorrectedForAServerThatStops(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t bubble) {
		plan := testPlan(bench.PatternRandomRead)
		plan.Schedule = runfile.Schedule{WarmupSeconds: 1, DurationSeconds: 100, Repetitions: 1}
		load, _ := t.run(t.Context(), t.T, plan, stopping(time.Millisecond))
		ops := load.Repetitions[0].Read
		h, err := stats.DecodeHistogram(ops.Histogram)
		if err != nil {
			t.Fatal(err)
		}
		if p := h.Percentile(99); p > 1010 {
			t.Errorf("p99 is %d us: the closed loop has seen the stop", p)
		}
		if p := h.OpenLoopP99(6 * 100e6 / float64(ops.Count)); math.Abs(float64(p)-900_000) > 20_000 {
			t.Errorf("p99 of an open loop is %d us, want 0.9 s", p)
		}
		if share := h.TimeAbove(10 * h.Percentile(99)); math.Abs(share-0.1) > 0.005 {
			t.Errorf("stalled for %.3f of the time, want 0.1", share)
		}
	})
}

func TestEachWindowHasBatches(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t bubble) {
		plan := testPlan(bench.PatternCopy)
		plan.Schedule = runfile.Schedule{WarmupSeconds: 3, DurationSeconds: 40, Repetitions: 2}
		load, _ := t.run(t.Context(), t.T, plan, &targettest.Memory{Delay: 10 * time.Millisecond})
		for _, rep := range load.Repetitions {
			for _, ops := range []*runfile.Ops{rep.Read, rep.Write} {
				count := int64(0)
				for _, b := range ops.Batches {
					counts, err := b.Counts()
					if err != nil || b.Milliseconds != 2000 || counts[runfile.BatchBucket(10_000)] != b.Count {
						t.Fatalf("repetition %d: batch %+v, %v; want 2 s with latencies of 10 ms", rep.Index, b, err)
					}
					count += b.Count
				}
				if len(ops.Batches) != 20 || count < ops.Count-12 || count > ops.Count+12 {
					t.Errorf("repetition %d: %d batches with %d of %d operations", rep.Index, len(ops.Batches), count, ops.Count)
				}
			}
		}
	})
}

func TestStonewallTellsASlowJobFromAFastOne(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t bubble) {
		plan := testPlan(bench.PatternRead)
		plan.Schedule = runfile.Schedule{DurationSeconds: 10, Repetitions: 1}
		tgt := &targettest.Memory{Delay: time.Millisecond, BeforeIO: func(op, name string, _ int64) error {
			if op == "read" && name == "c0-j1.dat" {
				time.Sleep(3 * time.Second) // of the bubble
			}
			return nil
		}}
		load, _ := t.run(t.Context(), t.T, plan, tgt)
		rep := load.Repetitions[0]
		if first, last := time.Duration(rep.FirstDoneNanoseconds), time.Duration(rep.LastDoneNanoseconds); first.Round(10*time.Millisecond) != 9*time.Second || last < 9990*time.Millisecond {
			t.Errorf("the slow job ended after %v, the fast one after %v", first, last)
		}
	})
}

func TestCopyCountsBothDirections(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t bubble) {
		plan := testPlan(bench.PatternCopy)
		plan.Workload.Raw.Depth = 1
		plan.Schedule = runfile.Schedule{DurationSeconds: 10, Repetitions: 1}
		load, _ := t.run(t.Context(), t.T, plan, &targettest.Memory{Delay: 10 * time.Millisecond})
		rep := load.Repetitions[0]
		got := fmt.Sprintf("%d reads, %d writes", rep.Read.Count, rep.Write.Count)
		// One after the other, 20 ms for both, by two jobs.
		if want := "1000 reads, 999 writes"; got != want && got != "1000 reads, 998 writes" && got != "1000 reads, 1000 writes" {
			t.Errorf("%s, want %s", got, want)
		}
	})
}
