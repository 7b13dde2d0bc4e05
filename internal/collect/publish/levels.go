package publish

import (
	"slices"

	"github.com/nfsbench/nfsbench/internal/capacity"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// latencies reports whether to drop the histograms of one level. round has the repetitions of one
// round in order; capacities are estimated from the measurements of this client.
type latencies func(round []runfile.Repetition, at int, capacities []capacity.Estimate) bool

// replaced reports whether a later level of the round has the same rate.
func replaced(round []runfile.Repetition, at int, _ []capacity.Estimate) bool {
	return slices.ContainsFunc(round[at+1:], func(later runfile.Repetition) bool {
		return later.Step.OperationsPerSecond == round[at].Step.OperationsPerSecond
	})
}

// farther reports whether the rate of a level differs from every capacity by more than a factor.
func farther(factor float64) latencies {
	return func(round []runfile.Repetition, at int, capacities []capacity.Estimate) bool {
		rate := float64(round[at].Step.OperationsPerSecond)
		return !slices.ContainsFunc(capacities, func(e capacity.Estimate) bool {
			found := float64(e.OperationsPerSecond)
			return rate <= found*factor && rate*factor >= found
		})
	}
}

func all([]runfile.Repetition, int, []capacity.Estimate) bool { return true }

// without returns a copy of a search without some latencies. It returns any other result unchanged.
func without(result runfile.Result, drop latencies) runfile.Result {
	search := result.Plan.Workload.Capacity()
	if search == nil {
		return result
	}
	result.Clients = slices.Clone(result.Clients)
	for c := range result.Clients {
		var kept []runfile.Repetition
		for _, round := range rounds(result.Clients[c].Load.Repetitions) {
			found := capacities(runfile.Bounds(search), round)
			for i, rep := range round {
				if rep.Level != nil && rep.Step != nil && drop(round, i, found) {
					rep = withoutLatencies(rep)
				}
				kept = append(kept, rep)
			}
		}
		result.Clients[c].Load.Repetitions = kept
	}
	return result
}

// rounds groups the levels of a load by round.
func rounds(levels []runfile.Repetition) [][]runfile.Repetition {
	var out [][]runfile.Repetition
	for i, rep := range levels {
		if i == 0 || rep.Step == nil || levels[i-1].Step == nil || rep.Step.Round != levels[i-1].Step.Round {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], rep)
	}
	return out
}

// capacities estimates the capacities of a round. The reports of the other clients are not known here.
func capacities(bounds []runfile.LatencyBound, round []runfile.Repetition) []capacity.Estimate {
	var levels []runfile.CapacityLevel
	for _, rep := range round {
		if l, ok := capacity.Level(bounds, rep); ok {
			levels = append(levels, l)
		}
	}
	return capacity.Estimates(bounds, levels)
}

func withoutLatencies(rep runfile.Repetition) runfile.Repetition {
	for _, ops := range []**runfile.Ops{&rep.Read, &rep.Write} {
		if *ops != nil {
			less := **ops
			less.Histogram = ""
			*ops = &less
		}
	}
	level := *rep.Level
	level.Histogram = ""
	rep.Level = &level
	return rep
}
