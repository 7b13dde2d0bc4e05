package runloop

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/nfsbench/nfsbench/internal/capacity"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// search is a search for capacity, over all its rounds. A single client decides its own levels.
// Several clients take them from the controller, so that all go to the next level together.
type search struct {
	params capacity.Params
	orders Orders // nil = single client
	levels []runfile.CapacityLevel
	begun  int // number of levels begun
}

// Orders returns the controller's search for capacity when it has more than have levels or is over.
type Orders func(ctx context.Context, have int) (runfile.CapacitySearch, error)

// SearchScript returns the script of a plan with a search for capacity. Orders may be nil if the
// plan has one client.
func SearchScript(plan *runfile.Plan, p capacity.Params, orders Orders) *Script {
	s := &search{params: p}
	if plan.Clients > 1 {
		s.orders = orders
	}
	levels, seconds := capacity.Typical(p)
	return &Script{
		Schedule: plan.Schedule, Rounds: int(plan.Schedule.Repetitions), Most: levels,
		Each: time.Duration(seconds) * time.Second, Next: s.next, Waits: s.orders != nil,
	}
}

func (s *search) next(ctx context.Context, round int, last *Outcome) (Level, bool, error) {
	if s.orders == nil {
		s.decide(last)
	} else if err := s.follow(ctx); err != nil {
		return Level{}, false, err
	}
	if s.begun >= len(s.levels) || int(s.levels[s.begun].Round) != round+1 {
		return Level{}, false, nil
	}
	l := s.levels[s.begun]
	s.begun++
	return Level{
		Step:   &runfile.Step{Kind: runfile.StepRate, OperationsPerSecond: l.OperationsPerSecond, Round: l.Round},
		Warmup: int(l.WarmupSeconds), Window: int(l.Seconds),
		Note: fmt.Sprintf("%d operations/s are due", l.OperationsPerSecond),
		Left: capacity.Left(s.params, s.levels),
	}, true, nil
}

// decide adds the next level, which may already be known from the end of the previous round.
func (s *search) decide(last *Outcome) {
	if last != nil {
		var reports []runfile.LevelReport
		if last.Level != nil {
			reports = append(reports, *last.Level)
		}
		merged := capacity.Merge(s.params.Bounds, reports)
		s.levels[s.begun-1].Outcome = &merged
	}
	if l, more := capacity.Next(s.params, s.levels); more {
		s.levels = append(s.levels[:s.begun], l)
	}
}

// follow waits for the next level of one of several clients.
func (s *search) follow(ctx context.Context) error {
	found, err := s.orders(ctx, s.begun)
	if err != nil {
		return err
	}
	if len(found.Levels) > s.begun {
		l := found.Levels[s.begun]
		if int(l.Index) != s.begun+1 || l.OperationsPerSecond < 1 || l.OperationsPerSecond > math.MaxInt32 ||
			l.Seconds < 1 || l.Seconds > s.params.LongestSeconds ||
			l.WarmupSeconds < 0 ||
			l.WarmupSeconds > max(s.params.WarmupSeconds, runfile.LaterWarmupSeconds(s.params.Bounds, s.params.Clients)) {
			return fmt.Errorf("level %d of the search for capacity was ordered as %+v, which its plan does not allow",
				s.begun+1, l)
		}
	}
	s.levels = found.Levels
	return nil
}
