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

// Levels gives the levels of load of one round. What a level gave may decide
// which one follows.
type Levels interface {
	// Next gives the next level, or false when the round has no more. After each
	// level comes Note.
	Next() (Level, bool)
	Note(o Outcome)
	// Left is how many levels may come after the present one.
	Left() int
}

// Script says what a run goes through between filling and verifying: rounds,
// each with a baseline and one or more levels.
type Script struct {
	Schedule     runfile.Schedule
	Rounds       int
	Begin        func(round int) Levels // from 0
	Most         int                    // levels that a round has at most or, in a search for capacity, usually
	Each         time.Duration          // of one level
	PauseSeconds int32                  // idle between the levels of a round
	// Await, if not nil, returns when Next knows the level, which is decided elsewhere. Levels.Left may be
	// called meanwhile.
	Await func(ctx context.Context) error

	present Levels        // of the present round
	levels  []int         // given by Next, in the rounds so far
	begun   int           // levels that run or have run
	idled   time.Duration // of idle spans that have begun
}

// More begins the next round, or says that there is none.
func (s *Script) More() bool {
	if s.last() {
		return false
	}
	s.present = s.Begin(len(s.levels))
	s.levels = append(s.levels, 0)
	return true
}

// Next gives the next level of the present round, or false when it has no more.
func (s *Script) Next() (Level, bool) {
	l, ok := s.present.Next()
	if ok {
		s.levels[len(s.levels)-1]++
	}
	return l, ok
}

// Note takes the outcome of the level that Next gave.
func (s *Script) Note(o Outcome) { s.present.Note(o) }

// last says whether the present round is the last one.
func (s *Script) last() bool { return len(s.levels) == s.Rounds }

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
		return s.levels[0] + s.present.Left()
	case round > present:
		return s.expected(round - 1)
	}
	so, left := s.levels[round], s.present.Left()
	return so + min(left, max(s.levels[round-1]-so, min(left, 1)))
}

// RoundStep names a round. Those that do not count come first, and each kind is
// numbered from 1.
func RoundStep(round, warmups int) runfile.Step {
	if round < warmups {
		return runfile.Step{Round: int32(round + 1), Warmup: true}
	}
	return runfile.Step{Round: int32(round - warmups + 1)}
}

// Fixed is a round whose levels are known in advance.
func Fixed(levels ...Level) Levels { return &fixed{levels: levels} }

type fixed struct {
	levels []Level
	at     int
}

func (f *fixed) Next() (Level, bool) {
	if f.at == len(f.levels) {
		return Level{}, false
	}
	f.at++
	return f.levels[f.at-1], true
}

func (f *fixed) Note(Outcome) {}
func (f *fixed) Left() int    { return len(f.levels) - f.at }
