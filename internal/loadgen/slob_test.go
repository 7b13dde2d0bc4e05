package loadgen

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
	"github.com/nfsbench/nfsbench/test/targettest"
)

const (
	slobBlock = 4096
	slobLarge = 8 * slobBlock
)

func slobPlan(access bench.SLOBAccess, users ...int32) runfile.Plan {
	plan := testPlan(bench.PatternRead)
	plan.Workload = bench.Workload{SLOB: &bench.SLOBWorkload{
		Access: access, Users: users, Schemas: 2, Scale: *bench.Bytes(1 << 20), ScanTableSize: *bench.Bytes(1 << 20), WorkUnit: 3,
	}}
	plan.BlockBytes, plan.LargeReadBytes = slobBlock, slobLarge
	if access == bench.SLOBFullTableScan {
		plan.Workload.SLOB.ReadAhead = 2
	}
	return plan
}

// meanOf gives the mean latency of what was counted, as the result file has it.
func meanOf(t *testing.T, ops *runfile.Ops) time.Duration {
	t.Helper()
	h, err := stats.DecodeHistogram(ops.Histogram)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(h.Latency().MeanMicroseconds) * time.Microsecond
}

func checkMean(t *testing.T, name string, ops *runfile.Ops, want time.Duration) {
	t.Helper()
	if got := meanOf(t, ops); got < want*99/100 || got > want*101/100 {
		t.Errorf("%s: mean %v, want %v", name, got, want)
	}
}

func TestEachStepHasItsUsersWithOneReadOutstanding(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t bubble) {
		plan := slobPlan(bench.SLOBRandomRead, 1, 4, 2)
		load, _ := t.run(t.Context(), t.T, plan, &targettest.Memory{Delay: 40 * time.Millisecond})
		if load.Failure != nil {
			t.Fatalf("failure %+v", load.Failure)
		}
		var steps []runfile.Step
		for i, rep := range load.Repetitions {
			steps = append(steps, *rep.Step)
			if rep.Index != int32(i+1) {
				t.Errorf("repetition %d has index %d", i+1, rep.Index)
			}
			// 25 a second and user, for ten seconds.
			if want := 250 * int64(rep.Step.Users); rep.Read.Count < want-int64(rep.Step.Users) || rep.Read.Count > want+int64(rep.Step.Users) {
				t.Errorf("%+v: %d reads, want %d", *rep.Step, rep.Read.Count, want)
			}
			if rep.Read.Bytes != rep.Read.Count*slobBlock || rep.Write != nil {
				t.Errorf("%+v: %d bytes by %d reads, writes %+v", *rep.Step, rep.Read.Bytes, rep.Read.Count, rep.Write)
			}
			checkMean(t.T, "a read", rep.Read, 40*time.Millisecond)
			if first, last := time.Duration(rep.FirstDoneNanoseconds), time.Duration(rep.LastDoneNanoseconds); first < 9900*time.Millisecond || last > 10*time.Second {
				t.Errorf("%+v: users ended after %v to %v", *rep.Step, first, last)
			}
		}
		step := func(users, round int32) runfile.Step {
			return runfile.Step{Kind: runfile.StepUsers, Users: users, Round: round}
		}
		want := []runfile.Step{step(1, 1), step(4, 1), step(2, 1), step(1, 2), step(4, 2), step(2, 2)}
		if diff := cmp.Diff(want, steps); diff != "" {
			t.Errorf("steps (-want +got):\n%s", diff)
		}
	})
}

func TestTheSpansOfARampSayWhichStepTheyAreOf(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		plan := slobPlan(bench.SLOBRandomRead, 1, 2)
		plan.Schedule.CooldownSeconds = 5
		load, sink := runMem(t.Context(), t, plan, &targettest.Memory{Delay: 10 * time.Millisecond})
		type span struct {
			Kind    string
			Rep     int32
			Seconds float64
		}
		var got []span
		for _, s := range load.Spans {
			switch s.Kind {
			case runfile.SpanBaseline, runfile.SpanWarmup, runfile.SpanMeasure, runfile.SpanCooldown:
				got = append(got, span{s.Kind, s.Repetition, s.End.Sub(s.Start).Round(10 * time.Millisecond).Seconds()})
			}
		}
		want := []span{
			{"Baseline", 1, 2},
			{"Warmup", 1, 3},
			{"Measure", 1, 10},
			{"Cooldown", 1, 2},
			{"Warmup", 2, 3},
			{"Measure", 2, 10},
			{"Cooldown", 2, 5},
			{"Baseline", 3, 2},
			{"Warmup", 3, 3},
			{"Measure", 3, 10},
			{"Cooldown", 3, 2},
			{"Warmup", 4, 3},
			{"Measure", 4, 10},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		checkEstimates(t, sink.events, 0)
	})
}

// checkEstimates compares what was said of the time left with what it was.
func checkEstimates(t *testing.T, events []runfile.Event, tooMuch time.Duration) {
	t.Helper()
	end := events[len(events)-1].Time
	percent := int32(0)
	for _, e := range events {
		if e.Percent < percent {
			t.Errorf("in %s %d progress went back from %d to %d", e.Span, e.Repetition, percent, e.Percent)
		}
		percent = e.Percent
		if e.ETASeconds == nil {
			continue
		}
		left, said := end.Sub(e.Time), time.Duration(*e.ETASeconds)*time.Second
		// Draining each step takes some milliseconds that nobody plans.
		if said < left-2*time.Second || said > left+2*time.Second+tooMuch {
			t.Errorf("in %s %d: %v left, and %v were told", e.Span, e.Repetition, left, said)
		}
	}
	if percent != 100 {
		t.Errorf("it ended at %d %%", percent)
	}
}

// trace is of reads under load: which file, which block, how many at once.
type trace struct {
	memory
	mu          sync.Mutex
	loading     bool
	offsets     map[string][]int64
	outstanding int
	most        int
}

// Event tells load from verification, which reads too.
func (tr *trace) Event(e runfile.Event) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.loading = e.Span == runfile.SpanMeasure || e.Span == runfile.SpanFill
}

func (tr *trace) follow(o *Options) { o.Sink = tr }

func (tr *trace) target(service time.Duration) *targettest.Memory {
	tr.offsets = map[string][]int64{}
	return &targettest.Memory{BeforeIO: func(op, name string, off int64) error {
		if op != "read" || !strings.HasSuffix(name, ".dat") {
			return nil
		}
		tr.mu.Lock()
		tr.outstanding++
		if tr.loading {
			tr.offsets[name] = append(tr.offsets[name], off)
			tr.most = max(tr.most, tr.outstanding)
		}
		tr.mu.Unlock()
		time.Sleep(service) // of the bubble
		tr.mu.Lock()
		tr.outstanding--
		tr.mu.Unlock()
		return nil
	}}
}

func TestAUserReadsItsSchemaOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for users, want := range map[int32][]string{1: {"c0-j0.dat"}, 3: {"c0-j0.dat", "c0-j1.dat"}} {
			var tr trace
			plan := slobPlan(bench.SLOBRandomRead, users)
			plan.Schedule = runfile.Schedule{DurationSeconds: 60, Repetitions: 1}
			plan.BlockBytes = 16 << 10
			load, _ := runMem(t.Context(), t, plan, tr.target(10*time.Millisecond), tr.follow)
			if tr.most != int(users) {
				t.Errorf("%d users had %d reads outstanding", users, tr.most)
			}
			files := slices.DeleteFunc([]string{"c0-j0.dat", "c0-j1.dat"}, func(name string) bool { return len(tr.offsets[name]) == 0 })
			if diff := cmp.Diff(want, files); diff != "" {
				t.Errorf("%d users read (-want +got):\n%s", users, diff)
			}
			// Two of three users have the first schema.
			if a, b := len(tr.offsets["c0-j0.dat"]), len(tr.offsets["c0-j1.dat"]); users == 3 && (a < 2*b-200 || a > 2*b+200) {
				t.Errorf("%d reads of the first schema, %d of the second", a, b)
			}
			hit := map[int64]int{}
			for _, off := range tr.offsets["c0-j0.dat"] {
				if off%slobBlock != 0 {
					t.Fatalf("a read at %d", off)
				}
				hit[off]++
			}
			if len(hit) != 64 {
				t.Errorf("%d of 64 blocks were drawn (failure %+v)", len(hit), load.Failure)
			}
		}
	})
}

func TestUpdatesAreReadAndThenOverwritten(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		percent int32
		share   float64
	}{"a quarter": {25, 0.25}, "all": {100, 1}} {
		t.Run(name, func(t *testing.T) {
			eachWay(t, func(t bubble) {
				plan := slobPlan(bench.SLOBRandomRead, 4)
				plan.Workload.SLOB.UpdatePercent = tc.percent
				plan.BlockBytes = 16 << 10 // so few that most are written
				plan.Schedule = runfile.Schedule{DurationSeconds: 10, Repetitions: 1}
				var mu sync.Mutex
				read := map[string]map[int64]int{}
				wrong := 0
				tgt := &targettest.Memory{Delay: 10 * time.Millisecond, BeforeIO: func(op, name string, off int64) error {
					mu.Lock()
					defer mu.Unlock()
					if read[name] == nil {
						read[name] = map[int64]int{}
					}
					if op == "read" {
						read[name][off]++
					} else if strings.HasSuffix(name, ".dat") && len(read[name]) > 0 && read[name][off] == 0 {
						wrong++
					}
					return nil
				}}
				load, _ := t.run(t.Context(), t.T, plan, tgt)
				if load.Failure != nil || load.Verification == nil {
					t.Fatalf("failure %+v, verification %+v", load.Failure, load.Verification)
				}
				rep := load.Repetitions[0]
				v := load.Verification
				if v.BlocksChecked < 100 || v.BlocksChecked > 128 || v.BlocksChecked != v.BlocksWritten || v.Wrong() > 0 || v.Cut ||
					v.ReadsChecked < rep.Read.Count || v.WritesAcknowledged < rep.Write.Count {
					t.Errorf("verification %+v", v)
				}
				share := float64(rep.Write.Count) / float64(rep.Read.Count)
				if share < tc.share*0.9 || share > tc.share*1.1 {
					t.Errorf("%d reads and %d writes", rep.Read.Count, rep.Write.Count)
				}
				if all := rep.Read.Count + rep.Write.Count; all < 3990 || all > 4010 {
					t.Errorf("%d operations of 10 ms by 4 users in 10 s", all)
				}
				checkMean(t.T, "a write", rep.Write, 10*time.Millisecond)
				if wrong > 0 {
					t.Errorf("%d blocks were written that had not been read", wrong)
				}
			})
		})
	}
}

func TestALostUpdateIsFound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		plan := slobPlan(bench.SLOBRandomRead, 2)
		plan.Workload.SLOB.UpdatePercent = 100
		plan.BlockBytes = 16 << 10
		filled := map[int64]bool{}
		tgt := &targettest.Memory{Delay: 10 * time.Millisecond, LoseWrite: func(name string, off int64) bool {
			if name != "c0-j0.dat" || off != 5*16<<10 {
				return false
			}
			lost := filled[off]
			filled[off] = true
			return lost
		}}
		load, _ := runMem(t.Context(), t, plan, tgt)
		if load.Failure == nil || load.Failure.Code != runfile.FailureVerify {
			t.Errorf("failure %+v", load.Failure)
		}
	})
}

func TestThinkingIsNoLatency(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t bubble) {
		plan := slobPlan(bench.SLOBRandomRead, 3)
		// 30 blocks, which take 0.3 s, and then 0.1 to 0.7 s of nothing: 0.7 s on average.
		plan.Workload.SLOB.Think = &bench.SLOBThink{Frequency: 10, MinimumMilliseconds: 100, MaximumMilliseconds: 700}
		plan.Schedule = runfile.Schedule{DurationSeconds: 210, Repetitions: 1}
		load, _ := t.run(t.Context(), t.T, plan, &targettest.Memory{Delay: 10 * time.Millisecond})
		if load.Failure != nil {
			t.Fatalf("failure %+v", load.Failure)
		}
		rep := load.Repetitions[0]
		if want := int64(3 * 30 * 300); rep.Read.Count < want*95/100 || rep.Read.Count > want*105/100 {
			t.Errorf("%d reads, want about %d", rep.Read.Count, want)
		}
		h, err := stats.DecodeHistogram(rep.Read.Histogram)
		if err != nil {
			t.Fatal(err)
		}
		if h.Percentile(100) > 10_010 {
			t.Errorf("the slowest read took %d us", h.Percentile(100))
		}
	})
}

func TestAUserThatThinksHearsOfTheEnd(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t bubble) {
		plan := slobPlan(bench.SLOBRandomRead, 2, 2)
		plan.Workload.SLOB.Think = &bench.SLOBThink{Frequency: 1, MinimumMilliseconds: 60_000, MaximumMilliseconds: 60_000}
		plan.Schedule = runfile.Schedule{DurationSeconds: 10, Repetitions: 1}
		load, _ := t.run(t.Context(), t.T, plan, &targettest.Memory{Delay: 10 * time.Millisecond})
		if load.Failure != nil {
			t.Fatalf("failure %+v", load.Failure)
		}
		for _, rep := range load.Repetitions {
			if rep.Read == nil || rep.Read.Count != 6 {
				t.Errorf("two users with a statement of three blocks each: %+v", rep.Read)
			}
		}
		if took := load.Spans[len(load.Spans)-1].End.Sub(load.Spans[0].Start); took > 22*time.Second {
			t.Errorf("20 s of load took %v", took)
		}
	})
}

func TestAScanWalksItsSchemaFromAPlaceOfItsOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var tr trace
		plan := slobPlan(bench.SLOBFullTableScan, 4)
		plan.Schedule = runfile.Schedule{DurationSeconds: 1, Repetitions: 1}
		load, _ := runMem(t.Context(), t, plan, tr.target(100*time.Millisecond), tr.follow)
		if load.Failure != nil || tr.most != 8 {
			t.Fatalf("failure %+v, %d reads outstanding", load.Failure, tr.most)
		}
		rep := load.Repetitions[0]
		if rep.Read.Bytes != rep.Read.Count*slobLarge || rep.Read.Count < 72 || rep.Read.Count > 80 {
			t.Errorf("%d bytes by %d reads; want 4 users with 2 reads of 0.1 s each", rep.Read.Bytes, rep.Read.Count)
		}
		// 32 pieces, users at 0 and 16, each with 20 reads in the window and
		// 2 more that end behind it: all but the last few are seen twice or less.
		for _, name := range []string{"c0-j0.dat", "c0-j1.dat"} {
			first := slices.Sorted(slices.Values(tr.offsets[name][:8]))
			var pieces []int64
			for _, off := range first {
				pieces = append(pieces, off/slobLarge)
			}
			if diff := cmp.Diff([]int64{0, 1, 2, 3, 16, 17, 18, 19}, pieces); diff != "" {
				t.Errorf("%s: the first reads (-want +got):\n%s", name, diff)
			}
			seen := map[int64]int{}
			for _, off := range tr.offsets[name][:40] {
				seen[off/slobLarge]++
			}
			for piece := range int64(32) {
				if want := 1 + btoi(piece%16 < 4); seen[piece] != want {
					t.Errorf("%s: piece %d was read %d times by two scans of 20, want %d", name, piece, seen[piece], want)
				}
			}
		}
	})
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
