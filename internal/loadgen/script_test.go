package loadgen

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/runloop"
)

func calibrateScript() *runloop.Script {
	return newScript(&runfile.Plan{
		Workload: bench.Workload{Calibrate: &bench.CalibrateWorkload{PhysicalDisks: 1, MaxLatencyMilliseconds: 20, WarmupRuns: new(int32(1))}},
		Schedule: runfile.Schedule{BaselineSeconds: 3, WarmupSeconds: 5, DurationSeconds: 8, CooldownSeconds: 10, Repetitions: 2},
	})
}

func TestARampIsAsLongAsItsSteps(t *testing.T) {
	s := newScript(&runfile.Plan{
		Workload: bench.Workload{SLOB: &bench.SLOBWorkload{Users: []int32{1, 4}}},
		Schedule: runfile.Schedule{BaselineSeconds: 3, WarmupSeconds: 5, DurationSeconds: 10, CooldownSeconds: 7, Repetitions: 3},
	})
	// Three rounds of a baseline and two steps with a pause of 2 s between them.
	want := 3*(3+2*15+2)*time.Second + 2*7*time.Second
	if got := s.Total(); got != want {
		t.Errorf("%v, want %v", got, want)
	}
	var seen []runfile.Step
	walk(t, s, func(_, at int, l runloop.Level) (o runloop.Outcome) {
		seen = append(seen, *l.Step)
		if l.Warmup != 5 || l.Window != 10 || at+l.Left != 2 {
			t.Errorf("level %d is of %d and %d s, and %d may follow", at, l.Warmup, l.Window, l.Left)
		}
		return o
	})
	users := func(n, round int32) runfile.Step {
		return runfile.Step{Kind: runfile.StepUsers, Users: n, Round: round}
	}
	if diff := cmp.Diff([]runfile.Step{users(1, 1), users(4, 1), users(1, 2), users(4, 2), users(1, 3), users(4, 3)}, seen); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// walk goes through a script. Levels count from 1 in each round.
func walk(t *testing.T, s *runloop.Script, level func(round, at int, l runloop.Level) runloop.Outcome) {
	t.Helper()
	for round := range s.Rounds {
		var last *runloop.Outcome
		for at := 1; ; at++ {
			l, more, err := s.Next(t.Context(), round, last)
			if err != nil {
				t.Fatal(err)
			}
			if !more {
				break
			}
			o := level(round, at, l)
			last = &o
		}
	}
}

// climbAll goes through a script; storage saturates at so many reads outstanding.
func climbAll(t *testing.T, s *runloop.Script, saturated func(round int) int32) (steps []runfile.Step) {
	t.Helper()
	walk(t, s, func(round, _ int, l runloop.Level) runloop.Outcome {
		steps = append(steps, *l.Step)
		return runloop.Outcome{PerSecond: float64(min(l.Step.Users, saturated(round))), Mean: time.Millisecond}
	})
	return steps
}

func TestACalibrationClimbsBothLaddersInEachRound(t *testing.T) {
	steps := climbAll(t, calibrateScript(), func(int) int32 { return 1 })
	var want []runfile.Step
	for _, round := range []runfile.Step{{Round: 1, Warmup: true}, {Round: 1}, {Round: 2}} {
		for _, n := range []int32{1, 2, 4} { // of at most 16
			round.Kind, round.Users = runfile.StepSmallReads, n
			want = append(want, round)
		}
		for _, n := range []int32{1, 2, 4} { // which is the ceiling of one disk
			round.Kind, round.Users = runfile.StepLargeReads, n
			want = append(want, round)
		}
	}
	if diff := cmp.Diff(want, steps); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestACalibrationIsNeverLongerThanItSays(t *testing.T) {
	s := calibrateScript()
	const level = 10 // a warm-up of a quarter, and 8 s
	round := func(levels int) time.Duration { return time.Duration(3+levels*level) * time.Second }
	// 1 2 4 8 16, three between the last two, and 1 2 4.
	if want := 3*round(11) + 20*time.Second; s.Total() != want {
		t.Errorf("before: %v, want %v", s.Total(), want)
	}
	most := 11
	walk(t, s, func(_, at int, l runloop.Level) runloop.Outcome {
		if at == 1 {
			most = 11
		}
		if at+l.Left > most {
			t.Errorf("it became longer at level %d, which %d may follow", at, l.Left)
		}
		most = at + l.Left
		return runloop.Outcome{PerSecond: 1, Mean: time.Millisecond}
	})
	if most != 6 {
		t.Errorf("the last round had %d levels, want 6", most)
	}
}

func TestARoundThatClimbsHigherThanTheOneBeforeIsCountedInFull(t *testing.T) {
	s := calibrateScript()
	levels := map[int32]int{}
	for _, step := range climbAll(t, s, func(round int) int32 { return []int32{1, 16, 1}[round] }) {
		if step.Warmup {
			step.Round = 0
		}
		levels[step.Round]++
	}
	if diff := cmp.Diff(map[int32]int{0: 6, 1: 8, 2: 6}, levels); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCeilings(t *testing.T) {
	for disks, want := range map[int32][2]int32{1: {16, 4}, 10: {160, 40}, 100: {1024, 128}, 1 << 30: {1024, 128}} {
		small, large := ceilings(&bench.CalibrateWorkload{PhysicalDisks: disks})
		if small != want[0] || large != want[1] {
			t.Errorf("%d disks: %d single-block and %d large reads, want %v", disks, small, large, want)
		}
	}
}

func TestARunIsAsLongAsItsPlanSays(t *testing.T) {
	schedule := runfile.Schedule{BaselineSeconds: 3, WarmupSeconds: 5, DurationSeconds: 8, CooldownSeconds: 7, Repetitions: 3}
	calibrate := func(disks int32) bench.Workload {
		return bench.Workload{Calibrate: &bench.CalibrateWorkload{PhysicalDisks: disks, MaxLatencyMilliseconds: 20, WarmupRuns: new(int32(1))}}
	}
	for name, w := range map[string]bench.Workload{
		"raw": {Raw: &bench.RawWorkload{}}, "ramp": {SLOB: &bench.SLOBWorkload{Users: []int32{1, 4, 2}}},
		"one step": {SLOB: &bench.SLOBWorkload{Users: []int32{4}}}, "one disk": calibrate(1), "all disks": calibrate(1 << 30),
	} {
		plan := runfile.Plan{Workload: w, Schedule: schedule}
		s, says := newScript(&plan), plan.ScheduledSteps()
		count, total := int64(s.Rounds*s.Most), int64(s.Total()/time.Second)
		if says.Exact && (count != says.Count || total != says.Seconds) || count > says.Count || total > says.Seconds {
			t.Errorf("%s: %d windows in %d s, and the plan says %+v", name, count, total, says)
		}
		if says.Exact == (w.Calibrate != nil) {
			t.Errorf("%s: exact is %v", name, says.Exact)
		}
	}
}

// A storage that is slower by leaps is looked at twice at each level.
func TestNoCalibrationHasMoreLevelsThanItsPlanSays(t *testing.T) {
	c := newCalibration(bench.CalibrateWorkload{PhysicalDisks: 1 << 30, MaxLatencyMilliseconds: 20}, runfile.Step{}, 1, 1)
	n := 0
	for l, more := c.next(); more; l, more = c.next() {
		n++
		o := runloop.Outcome{PerSecond: float64(l.Step.Users), Mean: time.Millisecond}
		if c.small.unlikely(runloop.Outcome{Mean: time.Hour}) && l.Step.Kind == runfile.StepSmallReads {
			o.Mean = time.Hour
		}
		c.note(o)
	}
	if n < 28 || n > runfile.MaxCalibrateSteps {
		t.Errorf("%d levels, and a plan says at most %d", n, runfile.MaxCalibrateSteps)
	}
}
