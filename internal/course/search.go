package course

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
	// ordered is what await read. Next takes it over, because Left may use levels at any time.
	ordered []runfile.CapacityLevel
}

// Orders returns the controller's search for capacity when it has more than have levels or is over.
type Orders func(ctx context.Context, have int) (runfile.CapacitySearch, error)

// SearchScript returns the script of a plan with a search for capacity. Orders may be nil if the
// plan has one client.
func SearchScript(plan *runfile.Plan, p capacity.Params, orders Orders) *Script {
	s := &search{params: p}
	levels, seconds := capacity.Typical(p)
	script := &Script{
		Schedule: plan.Schedule, Rounds: int(plan.Schedule.Repetitions), Most: levels,
		Each:  time.Duration(seconds) * time.Second,
		Begin: func(round int) Levels { return searchRound{s, int32(round + 1)} },
	}
	if plan.Clients > 1 {
		s.orders, script.Await = orders, s.await
	}
	return script
}

// searchRound implements Levels for one round.
type searchRound struct {
	*search

	round int32
}

// await waits for the next level of one of several clients.
func (r *search) await(ctx context.Context) error {
	found, err := r.orders(ctx, r.begun)
	if err != nil {
		return err
	}
	if len(found.Levels) > r.begun {
		l := found.Levels[r.begun]
		if int(l.Index) != r.begun+1 || l.OperationsPerSecond < 1 || l.OperationsPerSecond > math.MaxInt32 ||
			l.Seconds < 1 || l.Seconds > r.params.LongestSeconds ||
			l.WarmupSeconds < 0 ||
			l.WarmupSeconds > max(r.params.WarmupSeconds, runfile.LaterWarmupSeconds(r.params.Bounds, r.params.Clients)) {
			return fmt.Errorf("level %d of the search for capacity was ordered as %+v, which its plan does not allow",
				r.begun+1, l)
		}
	}
	r.ordered = found.Levels
	return nil
}

// Next implements Levels.
func (r searchRound) Next() (Level, bool) {
	if r.orders != nil {
		r.levels = r.ordered
	} else if l, more := capacity.Next(r.params, r.levels); more {
		r.levels = append(r.levels[:r.begun], l) // the level may exist already, from the previous round
	}
	if r.begun >= len(r.levels) || r.levels[r.begun].Round != r.round {
		return Level{}, false
	}
	l := r.levels[r.begun]
	r.begun++
	return Level{
		Step:   &runfile.Step{Kind: runfile.StepRate, OperationsPerSecond: l.OperationsPerSecond, Round: l.Round},
		Warmup: int(l.WarmupSeconds), Window: int(l.Seconds),
		Note: fmt.Sprintf("%d operations/s are due", l.OperationsPerSecond),
	}, true
}

// Note implements Levels.
func (r searchRound) Note(o Outcome) {
	if r.orders != nil {
		return
	}
	var reports []runfile.LevelReport
	if o.Level != nil {
		reports = append(reports, *o.Level)
	}
	merged := capacity.Merge(r.params.Bounds, reports)
	r.levels[r.begun-1].Outcome = &merged
}

// Left implements Levels. After a round, levels already has the first level of the next one.
func (r searchRound) Left() int {
	if n := len(r.levels); n > r.begun && r.levels[n-1].Round != r.round {
		return 0
	}
	return capacity.Left(r.params, r.levels)
}
