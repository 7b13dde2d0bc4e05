package loadgen

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

func calibrateScript() *script {
	return newScript(&runfile.Plan{
		Workload: runfile.Workload{Calibrate: &runfile.Calibrate{PhysicalDisks: 1, MaxLatencyMilliseconds: 20, WarmupRuns: 1}},
		Schedule: runfile.Schedule{BaselineSeconds: 3, WarmupSeconds: 5, DurationSeconds: 8, CooldownSeconds: 10, Repetitions: 2},
	})
}

func TestARampIsAsLongAsItsSteps(t *testing.T) {
	s := newScript(&runfile.Plan{
		Workload: runfile.Workload{SLOB: &runfile.SLOB{Users: []int32{1, 4}}},
		Schedule: runfile.Schedule{BaselineSeconds: 3, WarmupSeconds: 5, DurationSeconds: 10, CooldownSeconds: 7, Repetitions: 3},
	})
	// Three rounds of a baseline and two steps with a pause of 2 s between them.
	want := 3*(3+2*15+2)*time.Second + 2*7*time.Second
	if got := s.total(); got != want {
		t.Errorf("%v, want %v", got, want)
	}
	var seen []runfile.Step
	for s.more() {
		for l, ok := s.next(); ok; l, ok = s.next() {
			seen = append(seen, *l.step)
			if l.warmup != 5 || l.window != 10 {
				t.Errorf("a level of %d and %d s", l.warmup, l.window)
			}
			s.sequence.note(outcome{})
			if got := s.total(); got != want {
				t.Errorf("during the run it is %v", got)
			}
		}
	}
	users := func(n, round int32) runfile.Step {
		return runfile.Step{Kind: runfile.StepUsers, Users: n, Round: round}
	}
	if diff := cmp.Diff([]runfile.Step{users(1, 1), users(4, 1), users(1, 2), users(4, 2), users(1, 3), users(4, 3)}, seen); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// climbAll goes through a script; storage saturates at so many reads outstanding.
func climbAll(s *script, saturated func(round int) int32, at func()) (steps []runfile.Step) {
	for round := 0; s.more(); round++ {
		for l, ok := s.next(); ok; l, ok = s.next() {
			steps = append(steps, *l.step)
			if at != nil {
				at()
			}
			s.sequence.note(outcome{perSecond: float64(min(l.step.Users, saturated(round))), mean: time.Millisecond})
		}
	}
	return steps
}

func TestACalibrationClimbsBothLaddersInEachRound(t *testing.T) {
	steps := climbAll(calibrateScript(), func(int) int32 { return 1 }, nil)
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
	if want := 3*round(11) + 20*time.Second; s.total() != want {
		t.Errorf("before: %v, want %v", s.total(), want)
	}
	last := s.total()
	climbAll(s, func(int) int32 { return 1 }, func() {
		if now := s.total(); now > last {
			t.Errorf("after %v levels it became longer, %v and not %v", s.levels, now, last)
		}
		last = s.total()
	})
	if want := 3*round(6) + 20*time.Second; s.total() != want {
		t.Errorf("after: %v, want %v", s.total(), want)
	}
}

func TestARoundThatClimbsHigherThanTheOneBeforeIsCountedInFull(t *testing.T) {
	s := calibrateScript()
	climbAll(s, func(round int) int32 { return []int32{1, 16, 1}[round] }, nil)
	if diff := cmp.Diff([]int{6, 8, 6}, s.levels); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if want := time.Duration(3*3+20*10+20) * time.Second; s.total() != want {
		t.Errorf("in all %v, want %v", s.total(), want)
	}
}

func TestCeilings(t *testing.T) {
	for disks, want := range map[int32][2]int32{1: {16, 4}, 10: {160, 40}, 100: {1024, 128}, 1 << 30: {1024, 128}} {
		small, large := ceilings(&runfile.Calibrate{PhysicalDisks: disks})
		if small != want[0] || large != want[1] {
			t.Errorf("%d disks: %d single-block and %d large reads, want %v", disks, small, large, want)
		}
	}
}

func TestARunIsAsLongAsItsPlanSays(t *testing.T) {
	schedule := runfile.Schedule{BaselineSeconds: 3, WarmupSeconds: 5, DurationSeconds: 8, CooldownSeconds: 7, Repetitions: 3}
	calibrate := func(disks int32) runfile.Workload {
		return runfile.Workload{Calibrate: &runfile.Calibrate{PhysicalDisks: disks, MaxLatencyMilliseconds: 20, WarmupRuns: 1}}
	}
	for name, w := range map[string]runfile.Workload{
		"raw": {Raw: &runfile.Raw{}}, "ramp": {SLOB: &runfile.SLOB{Users: []int32{1, 4, 2}}},
		"one step": {SLOB: &runfile.SLOB{Users: []int32{4}}}, "one disk": calibrate(1), "all disks": calibrate(1 << 30),
	} {
		plan := runfile.Plan{Workload: w, Schedule: schedule}
		s, says := newScript(&plan), plan.ScheduledSteps()
		count, total := int64(s.rounds*s.most), int64(s.total()/time.Second)
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
	c := newCalibration(runfile.Calibrate{PhysicalDisks: 1 << 30, MaxLatencyMilliseconds: 20}, runfile.Step{}, 1, 1)
	n := 0
	for l, more := c.next(); more; l, more = c.next() {
		n++
		o := outcome{perSecond: float64(l.step.Users), mean: time.Millisecond}
		if c.small.unlikely(outcome{mean: time.Hour}) && l.step.Kind == runfile.StepSmallReads {
			o.mean = time.Hour
		}
		c.note(o)
	}
	if n < 28 || n > runfile.MaxCalibrateSteps {
		t.Errorf("%d levels, and a plan says at most %d", n, runfile.MaxCalibrateSteps)
	}
}
