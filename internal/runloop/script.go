package runloop

import (
	"context"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Level is one measured window that has not started.
type Level struct {
	Step           *runfile.Step // nil in a run without steps
	Warmup, Window int           // seconds
	// Note is the text about the level in its events.
	Note string
	// Left is the most levels that may follow in the same round.
	Left int
}

// length returns how long the level lasts.
func (l Level) length() time.Duration { return time.Duration(l.Warmup+l.Window) * time.Second }

// Outcome is the part of a level's result that decides the next level.
type Outcome struct {
	PerSecond float64       // operations or bytes, whichever the run maximizes
	Mean      time.Duration // latency; 0 if nothing was counted
	// Level is the report for the search for capacity; only steps of kind Rate.
	Level *runfile.LevelReport
}

// Next returns the next level of a round, or false if the round has no more. Rounds count from 0. last is the outcome
// of the previous level; nil for the first level of a round.
type Next func(ctx context.Context, round int, last *Outcome) (Level, bool, error)

// Script describes the part of a run between filling and verifying: rounds, each with a baseline and one or more
// levels.
type Script struct {
	Schedule     runfile.Schedule
	Rounds       int
	Next         Next
	Waits        bool          // Next waits for others, who decide the level
	Most         int           // most levels of a round or, in a search for capacity, the usual number
	Each         time.Duration // of one level
	PauseSeconds int32         // idle between the levels of a round

	levels []int         // levels from Next, for each round so far
	left   int           // levels that may follow the last one in the current round
	begun  int           // levels that run or have run
	idled  time.Duration // duration of idle spans that have begun
}

// Total returns the known duration of all timed spans. If levels depend on earlier results, Total counts Most levels in
// the first round, and in later rounds the number of levels of the previous round.
func (s *Script) Total() time.Duration {
	seconds := (s.Rounds - 1) * int(s.Schedule.CooldownSeconds)
	levels := 0
	for round := range s.Rounds {
		n := s.expected(round)
		levels += n
		seconds += int(s.Schedule.BaselineSeconds) + max(n-1, 0)*int(s.PauseSeconds)
	}
	return time.Duration(seconds)*time.Second + time.Duration(levels)*s.Each
}

// ahead returns the part of Total that has not begun.
func (s *Script) ahead() time.Duration {
	return s.Total() - s.idled - time.Duration(s.begun)*s.Each
}

// expected returns the number of levels that a round had, or will have.
func (s *Script) expected(round int) int {
	present := len(s.levels) - 1
	switch {
	case round < present:
		return s.levels[round]
	case present < 0:
		return s.Most
	case round == 0:
		return s.levels[0] + s.left
	case round > present:
		return s.expected(round - 1)
	}
	so := s.levels[round]
	return so + min(s.left, max(s.levels[round-1]-so, min(s.left, 1)))
}

// RoundStep returns the step of a round. Warm-up rounds come first, and each kind is numbered from 1.
func RoundStep(round, warmups int) runfile.Step {
	if round < warmups {
		return runfile.Step{Round: int32(round + 1), Warmup: true}
	}
	return runfile.Step{Round: int32(round - warmups + 1)}
}

// Fixed returns a Next for rounds whose levels are known in advance.
func Fixed(levels func(round int) []Level) Next {
	var ahead []Level
	return func(_ context.Context, round int, last *Outcome) (l Level, more bool, err error) {
		if last == nil {
			ahead = levels(round)
		}
		if len(ahead) == 0 {
			return l, false, nil
		}
		l, ahead = ahead[0], ahead[1:]
		l.Left = len(ahead)
		return l, true, nil
	}
}
