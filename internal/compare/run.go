package compare

import (
	"maps"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Run computes the table of a suite's run, finished or not.
func Run(run runfile.SuiteRun) Table {
	f := &finder{}
	f.results(run)
	all, byName := allSeries(run)
	metrics := suiteMetrics(run.Settings)
	var t Table
	for _, s := range all {
		t.Cells = append(t.Cells, s.cells(metrics)...)
	}
	f.cells(all)
	if c := run.Settings.Compare; c != nil {
		t.Comparisons = f.comparisons(run, all, byName, *c)
	}
	f.saturated(t)
	t.Findings = f.findings
	return t
}

// suiteMetrics are those that anything in the suite is asked about.
func suiteMetrics(s runfile.SuiteSettings) []string {
	switch {
	case s.Compare != nil:
		return orDefault(s.Compare.Metrics)
	case s.Regression != nil:
		return orDefault(s.Regression.Metrics)
	default:
		return orDefault(nil)
	}
}

func (f *finder) comparisons(
	run runfile.SuiteRun, all []*series, byName map[string]*series, c runfile.SuiteCompare,
) []Line {
	var pairs []pairing
	baselines, alone := baselinesOf(run.Cells, c.Baseline)
	for _, s := range all {
		if base, ok := byName[baselines[s.name]]; ok {
			pairs = append(pairs, pairing{base, s, c.ImpactOf, c.SuiteSignificance})
		}
	}
	axes := make([]string, 0, len(c.Baseline))
	for _, axis := range slices.Sorted(maps.Keys(c.Baseline)) {
		axes = append(axes, axis+"="+c.Baseline[axis])
	}
	f.about(alone, NoBaseline, severityWarning, "no cell has %s and is otherwise like %s: not compared",
		strings.Join(axes, ", "))
	return f.compare(pairs, all, c.SuiteSignificance)
}

// baselinesOf names the baseline of each cell that has one, and the cells that
// should have one and have none: a baseline has the same value on all axes but
// those of the baseline, and on these the baseline's.
func baselinesOf(cells []runfile.SuiteCell, baseline map[string]string) (names map[string]string, alone []string) {
	at := map[string]string{}
	for _, c := range cells {
		// The first one: an extra cell with the values of a combination is none.
		if is, others := isBaseline(c, baseline); is && at[others] == "" {
			at[others] = c.Name
		}
	}
	names = map[string]string{}
	for _, c := range cells {
		is, others := isBaseline(c, baseline)
		name, ok := at[others]
		switch {
		case is:
		case ok:
			names[c.Name] = name
		default:
			alone = append(alone, c.Name)
		}
	}
	return names, alone
}

// isBaseline also returns the values of a cell on the other axes, as one string.
func isBaseline(c runfile.SuiteCell, baseline map[string]string) (is bool, others string) {
	found := 0
	for _, v := range c.Values {
		switch want, ok := baseline[v.Axis]; {
		case !ok:
			others += v.Axis + "=" + v.Value + "\x00"
		case v.Value == want:
			found++
		}
	}
	return found == len(baseline), others
}

// Results compares two results, repetition by repetition, as Run compares two cells. The
// repetitions of each are its samples. For two searches for capacity it compares the capacity if no
// metric is named, because their other numbers belong to different loads.
func Results(baseline, candidate Sample, s runfile.SuiteSignificance) Table {
	f := &finder{}
	if len(s.Metrics) == 0 && baseline.searched() && candidate.searched() {
		s.Metrics = []string{runfile.MetricCapacity}
	}
	p := pairing{base: baseline.series(), candidate: candidate.series(), SuiteSignificance: s}
	both := []*series{p.base, p.candidate}
	var t Table
	for _, side := range both {
		t.Cells = append(t.Cells, side.cells(orDefault(s.Metrics))...)
	}
	f.cells(both)
	t.Comparisons = f.compare([]pairing{p}, both, s)
	f.saturated(t)
	t.Findings = f.findings
	return t
}

// Sample is one side of Results: points by repetition, as of
// runfile.SuiteResult, with a name for people.
type Sample struct {
	Name   string
	Points [][]runfile.SuitePoint // of each repetition
}

// searched reports whether a sample has a capacity.
func (s Sample) searched() bool {
	return slices.ContainsFunc(s.Points, func(points []runfile.SuitePoint) bool {
		return slices.ContainsFunc(points, func(p runfile.SuitePoint) bool {
			_, ok := p.Metrics[runfile.MetricCapacity]
			return ok
		})
	})
}

func (s Sample) series() *series {
	out := newSeries(s.Name)
	for i, points := range s.Points {
		out.add(int32(i+1), points) //nolint:gosec // repetitions are few
	}
	return out
}
