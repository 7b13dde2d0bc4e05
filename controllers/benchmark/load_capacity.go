package benchmark

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/capacity"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// levelPoll is the interval between checks for reports at the end of a level. All clients are idle
// until the operator sees the last report.
const levelPoll = time.Second

// untilReports returns the time until the next check for the reports of a level. A check reads the
// results of all clients, and no event announces a report (see unlessMeasuring). Before the first
// report the level may still run: the storage is then idle for at most an eighth of the level.
func untilReports(l runfile.CapacityLevel, missing, clients int) time.Duration {
	if missing < clients {
		return levelPoll
	}
	return min(max(time.Duration(l.Seconds)*time.Second/8, levelPoll), soon)
}

// searches reports whether several clients search for a capacity and go to each level together. A
// single client decides alone.
func (s *scope) searches() bool {
	return s.plan != nil && s.plan.Clients > 1 && s.plan.Workload.Capacity() != nil
}

// nextLevel starts the next level when all clients have reported the current one. Only the ConfigMap stores
// the search, and the next level follows from it: a restarted manager continues where the last one stopped.
func (r *Reconciler) nextLevel(ctx context.Context, s *scope) (next, error) {
	if !s.searches() || !s.released {
		return waitFor(soon), nil
	}
	search, err := runfile.ReadCapacitySearch(s.levels)
	if err != nil {
		// The current level is unknown, and clients may be in different levels.
		return r.endWithResults(ctx, s, outcome{
			phase: v1alpha1.PhaseFailed, reason: runfile.FailureInternal,
			message: fmt.Sprintf("key %q of ConfigMap %s is damaged: %v; create a new NFSBenchmark to run it again",
				runfile.KeyLevels, s.names.Result, err),
		})
	}
	if search.Ended {
		return waitFor(soon), nil
	}
	if missing := len(s.missing(search)); missing > 0 {
		return waitFor(untilReports(search.Levels[len(search.Levels)-1], missing, len(s.reports))), nil
	}
	reports := make([]runfile.LevelReport, 0, len(s.reports))
	for _, report := range s.reports {
		reports = append(reports, *report)
	}
	merged := capacity.Merge(runfile.Bounds(s.plan.Workload.Capacity()), reports)
	search.Levels[len(search.Levels)-1].Outcome = &merged
	text, err := levelsText(*s.plan, search.Levels)
	if err != nil {
		return next{}, err
	}
	return waitFor(levelPoll), r.patchResult(ctx, s, map[string]any{"data": map[string]string{runfile.KeyLevels: text}})
}

// levelsText encodes the search after the finished levels, for the ConfigMap. It omits the outcomes
// of finished repetitions, because nothing depends on them.
func levelsText(p runfile.Plan, done []runfile.CapacityLevel) (string, error) {
	params, ok := capacity.ParamsOf(p)
	if !ok {
		return "", fmt.Errorf("plan %q has no search for capacity", p.Run.Name)
	}
	search := runfile.CapacitySearch{Levels: slices.Clone(done)}
	level, more := capacity.Next(params, done)
	search.Ended = !more
	if more {
		for i := range search.Levels {
			if search.Levels[i].Round != level.Round {
				search.Levels[i].Outcome = nil
			}
		}
		search.Levels = append(search.Levels, level)
	}
	text, err := json.Marshal(search)
	if err != nil {
		return "", fmt.Errorf("encode the levels of load: %w", err)
	}
	return string(text), nil
}

// missing returns the clients that have not reported the current level of a search.
func (s *scope) missing(search runfile.CapacitySearch) []int {
	var out []int
	for i, report := range s.reports {
		if report == nil || report.Index != search.Levels[len(search.Levels)-1].Index {
			out = append(out, i)
		}
	}
	return out
}

// notReported names the clients that the others waited for, for the message of an unfinished search.
func (s *scope) notReported() string {
	if !s.searches() || !s.released {
		return ""
	}
	search, err := runfile.ReadCapacitySearch(s.levels)
	if err != nil || search.Ended {
		return ""
	}
	missing := s.missing(search)
	if len(missing) == 0 || len(missing) == len(s.reports) {
		return ""
	}
	const most = 8
	names := strings.ReplaceAll(strings.Trim(fmt.Sprint(missing[:min(len(missing), most)]), "[]"), " ", ", ")
	if len(missing) > most {
		names += " and others"
	}
	level := search.Levels[len(search.Levels)-1]
	return fmt.Sprintf("; level %d of %d operations/s was not reported by client %s, and the others waited for it: see "+
		"the log of its pod", level.Index, level.OperationsPerSecond, names)
}
