package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// The axes of two runs put into one.
const (
	axisCell = "cell"
	axisRun  = "run"
)

// joinRuns puts two runs into one matrix, whose axes are the cell and the run, so
// that each cell is compared with itself in the baseline run, and the correction
// is over all cells.
func joinRuns(baseline, candidate runfile.SuiteRun, s runfile.SuiteSignificance) runfile.SuiteRun {
	joined := runfile.SuiteRun{
		Version: runfile.SuiteRunVersion, Suite: candidate.Suite, Namespace: candidate.Namespace,
		Run: candidate.Run + " against " +
			baseline.Run, Started: candidate.Started, Ended: candidate.Ended, Phase: candidate.Phase,
		Settings: candidate.Settings, Simulated: baseline.Simulated || candidate.Simulated,
	}
	joined.Settings.Regression = nil
	joined.Settings.Compare = &runfile.SuiteCompare{
		SuiteSignificance: s, Baseline: map[string]string{axisRun: baseline.Run},
		ImpactOf: string(v1alpha1.DenominatorBaseline),
	}
	for _, run := range []runfile.SuiteRun{baseline, candidate} {
		for _, cell := range run.Cells {
			joined.Cells = append(joined.Cells, runfile.SuiteCell{
				Name:   cellIn(cell.Name, run),
				Values: []runfile.SuiteAxis{{Axis: axisCell, Value: cell.Name}, {Axis: axisRun, Value: run.Run}},
			})
		}
		for _, r := range run.Results {
			r.Cell = cellIn(r.Cell, run)
			joined.Results = append(joined.Results, r)
		}
	}
	return joined
}

// plainNames names cells as both runs do, and the baseline by its run, so that a
// text has one table for each metric and not one for each cell.
func plainNames(t compare.Table, baseline, candidate runfile.SuiteRun) *compare.Table {
	t.Comparisons = slices.Clone(t.Comparisons)
	for i := range t.Comparisons {
		t.Comparisons[i].Cell = strings.TrimSuffix(t.Comparisons[i].Cell, cellIn("", candidate))
		t.Comparisons[i].Baseline = baseline.Run
	}
	return &t
}

func cellIn(cell string, run runfile.SuiteRun) string { return cell + "@" + run.Run }

// baselineOf reads AXIS=VALUE, and holds it against the cells.
func baselineOf(pairs []string, cells []runfile.SuiteCell) (map[string]string, error) {
	have := axisValues(cells)
	baseline := map[string]string{}
	for _, pair := range pairs {
		axis, value, ok := strings.Cut(pair, "=")
		switch {
		case !ok:
			return nil, fmt.Errorf("--baseline is %q; for a suite write AXIS=VALUE, one of %s", pair, listed(axesOf(cells)))
		case have[axis] == nil:
			return nil, fmt.Errorf("--baseline is %q and the suite has no axis %q; it has %s", pair, axis, listed(axesOf(cells)))
		case !slices.Contains(have[axis], value):
			return nil, fmt.Errorf("--baseline is %q; axis %q has %s", pair, axis, listed(have[axis]))
		}
		baseline[axis] = value
	}
	return baseline, nil
}

// axisValues are the values of each axis, in the order of the cells.
func axisValues(cells []runfile.SuiteCell) map[string][]string {
	have := map[string][]string{}
	for _, c := range cells {
		for _, v := range c.Values {
			if !slices.Contains(have[v.Axis], v.Value) {
				have[v.Axis] = append(have[v.Axis], v.Value)
			}
		}
	}
	return have
}

// axesOf names the axes with a value each, as --baseline takes them.
func axesOf(cells []runfile.SuiteCell) []string {
	have := axisValues(cells)
	var axes []string
	for _, axis := range slices.Sorted(maps.Keys(have)) {
		axes = append(axes, axis+"="+strings.Join(have[axis], "|"))
	}
	return axes
}

// listed joins names for a sentence.
func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
