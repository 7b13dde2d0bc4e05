package course

import (
	"context"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Level is one measured window to come.
type Level struct {
	Step           *runfile.Step // nil in a run without steps
	Warmup, Window int           // seconds
	// Note is the text about the level in its events.
	Note string
	// Left is how many levels may come after it in its round.
	Left int
}

// length returns how long the level lasts.
func (l Level) length() time.Duration { return time.Duration(l.Warmup+l.Window) * time.Second }

// Outcome is the part of a level's result that decides the next level.
type Outcome struct {
	PerSecond float64       // operations or bytes, whichever is to grow
	Mean      time.Duration // latency; 0 when nothing was counted
	// Level is the report for the search for capacity; only steps of kind Rate.
	Level *runfile.LevelReport
}

// Next gives the next level of a round, or false when the round has no more. Rounds count from 0.
// The outcome is that of the level before; nil at the first of a round.
type Next func(ctx context.Context, round int, last *Outcome) (Level, bool, error)

// Script says what a run goes through between filling and verifying: rounds,
// each with a baseline and one or more levels.
type Script struct {
	Schedule     runfile.Schedule
	Rounds       int
	Next         Next
	Waits        bool          // Next waits for others, who decide the level
	Most         int           // levels that a round has at most or, in a search for capacity, usually
	Each         time.Duration // of one level
	PauseSeconds int32         // idle between the levels of a round

	levels []int         // given by Next, in the rounds so far
	left   int           // levels that may come after the last one in the present round
	begun  int           // levels that run or have run
	idled  time.Duration // of idle spans that have begun
}

// Total is the duration of all timed spans together, as far as it is known. If levels depend on earlier
// results, it is Most in the first round, and then the number of levels of the previous round.
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

// ahead is the part of Total that has not begun.
func (s *Script) ahead() time.Duration {
	return s.Total() - s.idled - time.Duration(s.begun)*s.Each
}

// expected is how many levels a round had, or will have.
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

// RoundStep names a round. Those that do not count come first, and each kind is
// numbered from 1.
func RoundStep(round, warmups int) runfile.Step {
	if round < warmups {
		return runfile.Step{Round: int32(round + 1), Warmup: true}
	}
	return runfile.Step{Round: int32(round - warmups + 1)}
}

// Fixed is for rounds whose levels are known in advance.
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
