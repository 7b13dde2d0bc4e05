package loadgen

import (
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// level is one measured window to come.
type level struct {
	step   *runfile.Step // nil in a run without steps
	warmup int           // seconds
	window int           // seconds
}

// levelSequence gives the levels of load of one round. What a level gave may decide
// which one follows.
type levelSequence interface {
	// next gives the next level, or false when the round has no more. After each
	// level comes note.
	next() (level, bool)
	note(o outcome)
	// left is how many levels may come after the present one.
	left() int
}

// script says what a run goes through between filling and verifying: rounds,
// each with a baseline and one or more levels.
//
// In a raw load each repetition is a round of one level. A SLOB load goes
// through its numbers of users in each; a calibration climbs its ladders.
type script struct {
	schedule runfile.Schedule
	rounds   int
	begin    func(round int) levelSequence // from 0
	pause    int                           // idle seconds between the levels of a round
	each     int                           // seconds of one level
	most     int                           // levels that a round may have

	sequence levelSequence // of the present round
	levels   []int         // begun, in the rounds so far
}

// newScript makes that of a plan.
func newScript(p *runfile.Plan) *script {
	s := &script{schedule: p.Schedule, rounds: int(p.Schedule.Repetitions)}
	warmup, window := int(p.Schedule.WarmupSeconds), int(p.Schedule.DurationSeconds)
	switch w := p.Workload; {
	case w.Calibrate != nil:
		warmup = int(p.Schedule.LevelWarmupSeconds())
		first := int(w.Calibrate.WarmupRuns)
		s.rounds += first
		s.begin = func(round int) levelSequence {
			return newCalibration(*w.Calibrate, roundStep(round, first), warmup, window)
		}
	case w.SLOB != nil:
		s.pause = int(p.Schedule.PauseSeconds())
		s.begin = func(round int) levelSequence { return ramp(w.SLOB.Users, roundStep(round, 0), warmup, window) }
	default:
		s.begin = func(int) levelSequence { return &fixed{levels: []level{{warmup: warmup, window: window}}} }
	}
	s.each = warmup + window
	first := s.begin(0)
	if _, ok := first.next(); ok {
		s.most = 1 + first.left()
	}
	return s
}

// roundStep names a round. Those that do not count come first, and each kind is
// numbered from 1.
func roundStep(round, warmups int) runfile.Step {
	if round < warmups {
		return runfile.Step{Round: int32(round + 1), Warmup: true}
	}
	return runfile.Step{Round: int32(round - warmups + 1)}
}

// more begins the next round, or says that there is none.
func (s *script) more() bool {
	if len(s.levels) == s.rounds {
		return false
	}
	s.sequence = s.begin(len(s.levels))
	s.levels = append(s.levels, 0)
	return true
}

// last says whether the present round is the last one.
func (s *script) last() bool { return len(s.levels) == s.rounds }

// next gives the next level of the present round.
func (s *script) next() (level, bool) {
	l, ok := s.sequence.next()
	if ok {
		s.levels[len(s.levels)-1]++
	}
	return l, ok
}

// total is how long all timed spans take together, as far as it can be known:
// where levels depend on what others gave, at most in the first round, and as
// many as in the round before from then on.
func (s *script) total() time.Duration {
	seconds := (s.rounds - 1) * int(s.schedule.CooldownSeconds)
	for round := range s.rounds {
		n := s.expected(round)
		seconds += int(s.schedule.BaselineSeconds) + n*s.each + max(n-1, 0)*s.pause
	}
	return time.Duration(seconds) * time.Second
}

// expected is how many levels a round had, or will have.
func (s *script) expected(round int) int {
	present := len(s.levels) - 1
	switch {
	case round < present:
		return s.levels[round]
	case present < 0:
		return s.most
	case round == 0:
		return s.levels[0] + s.sequence.left()
	case round > present:
		return s.expected(round - 1)
	}
	so, left := s.levels[round], s.sequence.left()
	return so + min(left, max(s.levels[round-1]-so, min(left, 1)))
}

// fixed is a sequence whose levels are known before.
type fixed struct {
	levels []level
	at     int
}

// ramp has one level for each number of users.
func ramp(users []int32, round runfile.Step, warmup, window int) *fixed {
	f := &fixed{}
	for _, n := range users {
		step := round
		step.Kind, step.Users = runfile.StepUsers, n
		f.levels = append(f.levels, level{step: &step, warmup: warmup, window: window})
	}
	return f
}

func (f *fixed) next() (level, bool) {
	if f.at == len(f.levels) {
		return level{}, false
	}
	f.at++
	return f.levels[f.at-1], true
}

func (f *fixed) note(outcome) {}
func (f *fixed) left() int    { return len(f.levels) - f.at }
