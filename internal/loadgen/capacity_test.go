package loadgen

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/capacity"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
	"github.com/nfsbench/nfsbench/test/targettest"
)

// capacityPlan is a search on storage that 6 workers share.
func capacityPlan(pattern bench.RawPattern, arrivals bench.Arrivals, bounds ...runfile.LatencyBound) runfile.Plan {
	plan := testPlan(pattern)
	if strings.HasSuffix(string(pattern), "Mixed") {
		plan.Workload.Raw.ReadPercent = new(int32(70))
	}
	plan.Workload.Raw.Capacity = gen.CapacityWithin(arrivals, bounds...)
	plan.Schedule = runfile.Schedule{WarmupSeconds: 2, DurationSeconds: 20, Repetitions: 1}
	return plan
}

func p99(d time.Duration) runfile.LatencyBound {
	return runfile.LatencyBound{Percentile: "p99", Microseconds: d.Microseconds()}
}

// estimate returns the estimates from the levels of a load.
func estimate(t *testing.T, plan runfile.Plan, load *runfile.Load) []capacity.Estimate {
	t.Helper()
	var levels []runfile.CapacityLevel
	bounds := runfile.Bounds(plan.Workload.Capacity())
	for _, rep := range load.Repetitions {
		if rep.Level == nil || rep.Step == nil || rep.Step.Kind != runfile.StepRate || rep.Level.Index != rep.Index {
			t.Fatalf("repetition %d has step %+v and report %+v", rep.Index, rep.Step, rep.Level)
		}
		l, _ := capacity.Level(bounds, rep)
		if lasted := rep.End.Sub(rep.Start).Round(time.Second); lasted != time.Duration(l.Seconds)*time.Second {
			t.Errorf("level %d lasted %v and its report is of %d s", rep.Index, lasted, l.Seconds)
		}
		levels = append(levels, l)
	}
	return capacity.Estimates(bounds, levels)
}

func TestASearchFindsTheCapacityOfAStorage(t *testing.T) {
	t.Parallel()
	const each = 40 * time.Millisecond // with 6 workers: 150 I/Os a second
	slob := func(access bench.SLOBAccess, update int32) runfile.Plan {
		p := slobPlan(access, 6)
		p.Workload.SLOB.ReadAhead = min(p.Workload.SLOB.ReadAhead, 1)
		p.Workload.SLOB.UpdatePercent = update
		p.Workload.SLOB.Capacity = gen.CapacityWithin(bench.ArrivalsFixed, p99(60*time.Millisecond))
		p.Schedule = runfile.Schedule{WarmupSeconds: 2, DurationSeconds: 20, Repetitions: 1}
		return p
	}
	const fixed = bench.ArrivalsFixed
	cases := map[string]runfile.Plan{
		"random reads": capacityPlan(bench.PatternRandomRead, fixed, p99(60*time.Millisecond)),
		"mixed":        capacityPlan(bench.PatternRandomMixed, fixed, p99(60*time.Millisecond)),
		"two bounds":   capacityPlan(bench.PatternRead, fixed, p99(20*time.Millisecond), p99(60*time.Millisecond)),
		"SLOB":         slob(bench.SLOBRandomRead, 0),
		"SLOB updates": slob(bench.SLOBRandomRead, 50),
		"SLOB scans":   slob(bench.SLOBFullTableScan, 0),
	}
	for name, plan := range cases {
		t.Run(name, func(t *testing.T) {
			eachWay(t, func(t bubble) {
				load, sink := t.run(t.Context(), t.T, plan, &targettest.Memory{Delay: each})
				if load.Failure != nil || load.LoopMode != "open" {
					t.Fatalf("loop %s, failure %+v", load.LoopMode, load.Failure)
				}
				found := estimate(t.T, plan, load)
				e := found[len(found)-1]
				if math.Abs(float64(e.OperationsPerSecond)-150) > 4 || e.Low > 150 || e.High < 150 {
					t.Errorf("capacity %+v, want 150", e)
				}
				if len(found) > 1 && (found[0].OperationsPerSecond != 0 || found[0].StillHeld) {
					t.Errorf("capacity %+v, although nothing is so fast", found[0])
				}
				checkProgress(t.T, sink.events)
			})
		})
	}
}

// checkProgress checks the percentages of a search, whose length is not known in advance.
func checkProgress(t *testing.T, events []runfile.Event) {
	t.Helper()
	before, told := int32(0), false
	for _, e := range events {
		if e.Percent < before || e.Percent == 100 && e.Span != runfile.SpanDone {
			t.Fatalf("%d %% after %d %% in %+v", e.Percent, before, e)
		}
		before = e.Percent
		told = told || e.Span == runfile.SpanMeasure && strings.HasSuffix(e.Message, "operations/s are due")
	}
	if !told {
		t.Error("no event tells the rate of its level")
	}
}

func TestTheReportOfALevelCountsWhatWasDueAndHadNotEnded(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		hang   time.Duration // no I/O ends for so long from the start of the window
		slow   int64         // out of 300 that are due in 3 s
		done   int64
	}{
		"fast":                    {"nothing is slow", 0, 0, 300},
		"stops until the end":     {"what waits longer than 100 ms at the end is slow, started or not", 3 * time.Second, 290, 0},
		"stops for half a second": {"what waited longer than 100 ms is slow", 500 * time.Millisecond, 40, 300},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			eachWay(t, func(t bubble) {
				plan := capacityPlan(bench.PatternRandomRead, bench.ArrivalsFixed, p99(100*time.Millisecond))
				plan.Clients = 2 // these follow orders: one level
				start := time.Now()
				tgt := &targettest.Memory{BeforeIO: func(op, _ string, _ int64) error {
					if at := time.Since(start); op == "read" && at >= time.Second && at < time.Second+tc.hang {
						time.Sleep(time.Second + tc.hang - at)
					}
					return nil
				}}
				load, _ := t.run(t.Context(), t.T, plan, tgt, func(o *Options) {
					o.Release = func(context.Context) error { start = time.Now(); return nil }
					o.Levels = func(_ context.Context, have int) (runfile.CapacitySearch, error) {
						return runfile.CapacitySearch{Ended: have == 1, Levels: []runfile.CapacityLevel{
							{Index: 1, Round: 1, OperationsPerSecond: 200, WarmupSeconds: 1, Seconds: 3},
						}}, nil
					}
				})
				if load.Failure != nil || len(load.Repetitions) != 1 {
					t.Fatalf("failure %+v, %d levels", load.Failure, len(load.Repetitions))
				}
				r := load.Repetitions[0].Level
				if diff := cmp.Diff([]int64{100, 100, 100}, r.Due); diff != "" {
					t.Errorf("due (-want +got):\n%s", diff)
				}
				var done, slow int64
				for i := range r.Done {
					done, slow = done+r.Done[i], slow+r.Slow[0][i]
				}
				if abs(done-tc.done) > 2 || abs(slow-tc.slow) > 2 {
					t.Errorf("%s: %d done, %d slow; want %d and %d\n%+v", tc.reason, done, slow, tc.done, tc.slow, r)
				}
			})
		})
	}
}

func abs(n int64) int64 { return max(n, -n) }

func TestClientsShareTheRateAndFollowTheOrders(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t bubble) {
		plan := capacityPlan(bench.PatternRandomRead, bench.ArrivalsPoisson, p99(100*time.Millisecond))
		plan.Clients, plan.Schedule.Repetitions, plan.Schedule.DurationSeconds = 3, 2, 40
		levels := []runfile.CapacityLevel{
			{Index: 1, Round: 1, OperationsPerSecond: 301, WarmupSeconds: 1, Seconds: 10},
			{Index: 2, Round: 1, OperationsPerSecond: 62, Seconds: 40},
			{Index: 3, Round: 2, OperationsPerSecond: 90, WarmupSeconds: 1, Seconds: 10},
		}
		var asked []int
		load, sink := t.run(t.Context(), t.T, plan, &targettest.Memory{Delay: time.Millisecond}, func(o *Options) {
			o.Client, o.Release = 1, func(context.Context) error { return nil }
			o.Levels = func(_ context.Context, have int) (runfile.CapacitySearch, error) {
				asked = append(asked, have)
				time.Sleep(3 * time.Second) // time for the slowest client
				return runfile.CapacitySearch{Levels: levels[:min(have+1, 3)], Ended: have == 3}, nil
			}
		})
		if load.Failure != nil || len(load.Repetitions) != 3 {
			t.Fatalf("failure %+v, %d levels, asked for %v", load.Failure, len(load.Repetitions), asked)
		}
		for i, want := range [][2]int64{{1000, 10}, {840, 32}, {300, 10}} {
			rep := load.Repetitions[i]
			want, parts := want[0], int(want[1])
			if got := rep.Level; len(got.Due) != parts || len(got.Done) != parts || len(got.Slow[0]) != parts {
				t.Errorf("level %d: %+v, want %d parts", i+1, got, parts)
			}
			due := int64(0)
			for _, n := range rep.Level.Due {
				due += n
			}
			if diff := cmp.Diff(&runfile.Step{Kind: runfile.StepRate, OperationsPerSecond: levels[i].OperationsPerSecond, Round: levels[i].Round}, rep.Step); diff != "" {
				t.Errorf("step (-want +got):\n%s", diff)
			}
			if abs(due-want) > want/6 {
				t.Errorf("level %d: %d operations were due, want %d", i+1, due, want)
			}
		}
		if sink.last.Repetitions[2].Level == nil {
			t.Error("the last report was not saved")
		}
		checkProgress(t.T, sink.events)
	})
}

func TestAnOrderThatThePlanDoesNotAllowEndsTheRun(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]string{
		"another index": `{"index": 7, "round": 1, "operationsPerSecond": 100, "seconds": 5}`,
		"no rate":       `{"index": 1, "round": 1, "operationsPerSecond": 0, "seconds": 5}`,
		"negative":      `{"index": 1, "round": 1, "operationsPerSecond": 100, "seconds": -5}`,
		"too long":      `{"index": 1, "round": 1, "operationsPerSecond": 100, "seconds": 21}`,
		"long warm-up":  `{"index": 1, "round": 1, "operationsPerSecond": 100, "seconds": 5, "warmupSeconds": 3}`,
	} {
		t.Run(name, func(t *testing.T) {
			eachWay(t, func(t bubble) {
				plan := capacityPlan(bench.PatternRandomRead, bench.ArrivalsFixed, p99(time.Millisecond))
				plan.Clients = 2
				var level runfile.CapacityLevel
				if err := json.Unmarshal([]byte(l), &level); err != nil {
					t.Fatal(err)
				}
				load, _ := t.run(t.Context(), t.T, plan, &targettest.Memory{}, func(o *Options) {
					o.Release = func(context.Context) error { return nil }
					o.Levels = func(context.Context, int) (runfile.CapacitySearch, error) {
						return runfile.CapacitySearch{Levels: []runfile.CapacityLevel{level}}, nil
					}
				})
				if load.Failure == nil || !strings.Contains(load.Failure.Message, "does not allow") || len(load.Repetitions) > 0 {
					t.Errorf("failure %+v, %d levels", load.Failure, len(load.Repetitions))
				}
			})
		})
	}
}

func TestAClientWithoutOrdersGivesUp(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t bubble) {
		plan := capacityPlan(bench.PatternRandomRead, bench.ArrivalsFixed, p99(time.Millisecond))
		plan.Clients = 2
		load, _ := t.run(t.Context(), t.T, plan, &targettest.Memory{}, func(o *Options) {
			o.Release = func(context.Context) error { return nil }
			o.Levels = func(ctx context.Context, _ int) (runfile.CapacitySearch, error) {
				<-ctx.Done()
				return runfile.CapacitySearch{}, context.Cause(ctx)
			}
		})
		if load.Failure == nil || load.Failure.Code != runfile.FailureTimeout {
			t.Errorf("failure %+v, want a timeout", load.Failure)
		}
	})
}

func TestMixedPatternsReadAndOverwriteWholeBlocks(t *testing.T) {
	t.Parallel()
	for _, pattern := range []bench.RawPattern{bench.PatternMixed, bench.PatternRandomMixed} {
		for _, block := range []int64{4096, 64 << 10} {
			t.Run(string(pattern), func(t *testing.T) {
				eachWay(t, func(t bubble) {
					plan := testPlan(pattern)
					plan.Workload.Raw.ReadPercent, plan.Workload.Raw.BlockSize = new(int32(70)), bench.Bytes(block)
					plan.Workload.Raw.FileSize = *bench.Bytes(64 * block)
					var reads, writes atomic.Int64
					tgt := &targettest.Memory{Delay: 40 * time.Millisecond, BeforeIO: func(op, name string, _ int64) error {
						if strings.HasSuffix(name, ".dat") {
							map[string]*atomic.Int64{"read": &reads, "write": &writes}[op].Add(1)
						}
						return nil
					}}
					load, _ := t.run(t.Context(), t.T, plan, tgt)
					if load.Failure != nil || load.Verification == nil || load.Verification.BlocksWrong != 0 {
						t.Fatalf("failure %+v, verification %+v", load.Failure, load.Verification)
					}
					rep := load.Repetitions[0]
					if rep.Read == nil || rep.Write == nil || rep.Read.Count+rep.Write.Count != 1500 ||
						rep.Write.Bytes != rep.Write.Count*block {
						t.Fatalf("read %+v, wrote %+v; want 1500 I/Os", rep.Read, rep.Write)
					}
					if share := float64(rep.Read.Count) / 1500; math.Abs(share-0.7) > 0.04 {
						t.Errorf("%.3f of the I/Os were reads, want 0.7", share)
					}
				})
			})
		}
	}
}

func TestAVerificationFindsWritesThatAMixedPatternLost(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t bubble) {
		plan := testPlan(bench.PatternRandomMixed)
		plan.Workload.Raw.ReadPercent = new(int32(50))
		start := time.Now()
		tgt := &targettest.Memory{Delay: 50 * time.Millisecond}
		tgt.LoseWrite = func(_ string, off int64) bool { return time.Since(start) > 10*time.Second && off == 4096 }
		load, _ := t.run(t.Context(), t.T, plan, tgt)
		if load.Failure == nil || load.Failure.Code != runfile.FailureVerify {
			t.Errorf("failure %+v, verification %+v", load.Failure, load.Verification)
		}
	})
}
