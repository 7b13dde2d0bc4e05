package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Run makes the comparison that the request describes.
func Run(q Request) Table {
	f := &finder{}
	t := Table{}
	switch {
	case q.Accepted != nil:
		f.runs(q, &t)
	case q.Run != nil:
		f.within(*q.Run, &t)
	default:
		f.sides(q, &t)
	}
	t.Message = cmp.Or(t.Message, answer(t.Comparisons))
	f.saturated(t)
	t.Findings = f.findings
	return t
}

// within compares the cells of a run, finished or not.
func (f *finder) within(run runfile.SuiteRun, t *Table) {
	f.results(run)
	all, byName := allSeries(run)
	t.add(all, suiteMetrics(run.Settings))
	f.cells(all)
	if c := run.Settings.Compare; c != nil {
		t.Comparisons = f.comparisons(run, all, byName, *c)
	}
}

// add adds the numbers of cells.
func (t *Table) add(all []*series, metrics []string) {
	for _, s := range all {
		t.Cells = append(t.Cells, s.cells(metrics)...)
	}
}

// Declared returns the rules of a run for significant differences; nil if the run has none.
func Declared(run runfile.SuiteRun) *runfile.SuiteSignificance {
	if c := run.Settings.Compare; c != nil && run.Settings.Regression == nil {
		return &c.SuiteSignificance
	}
	return run.Settings.Regression
}

// suiteMetrics returns the metrics of the suite's comparison or regression check, or the defaults.
func suiteMetrics(s runfile.SuiteSettings) []string {
	switch {
	case s.Compare != nil:
		return Metrics(s.Compare.Metrics)
	case s.Regression != nil:
		return Metrics(s.Regression.Metrics)
	default:
		return Metrics[string](nil)
	}
}

func (f *finder) comparisons(
	run runfile.SuiteRun, all []*series, byName map[string]*series, c runfile.SuiteCompare,
) []Line {
	var pairs []pairing
	baselines, alone := Baselines(run.Cells, c.Baseline)
	for _, s := range all {
		if base, ok := byName[baselines[s.name]]; ok {
			pairs = append(pairs, pairing{base, s, c.ImpactOf, c.SuiteSignificance})
		}
	}
	axes := make([]string, 0, len(c.Baseline))
	for _, axis := range slices.Sorted(maps.Keys(c.Baseline)) {
		axes = append(axes, axis+"="+c.Baseline[axis])
	}
	f.about(alone, NoBaseline, bench.SeverityWarning, "no cell has %s and is otherwise like %s: not compared",
		strings.Join(axes, ", "))
	lines, _ := f.compare(pairs, all, c.SuiteSignificance, nil)
	return lines
}

// Baselines returns the name of the baseline of each cell, and the cells without a baseline. The baseline of a cell
// has the values of baseline on its axes, and the values of the cell on all other axes. Baselines themselves are in
// neither result.
func Baselines[S ~string](cells []runfile.SuiteCell, baseline map[string]S) (names map[string]string, alone []string) {
	at := map[string]string{}
	for _, c := range cells {
		// The first cell wins: an extra cell with the same values is no baseline.
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

// isBaseline reports whether a cell is a baseline, and returns its values on the other axes as one string.
func isBaseline[S ~string](c runfile.SuiteCell, baseline map[string]S) (is bool, others string) {
	found := 0
	for _, v := range c.Values {
		switch want, ok := baseline[v.Axis]; {
		case !ok:
			others += v.Axis + "=" + v.Value + "\x00"
		case v.Value == string(want):
			found++
		}
	}
	return found == len(baseline), others
}

// sides compares two results, repetition by repetition. For two searches for capacity it compares
// the capacity if no metric is named, because their other numbers belong to different loads.
func (f *finder) sides(q Request, t *Table) {
	if len(q.Sides) != 2 {
		return
	}
	baseline, candidate := q.Sides[0], q.Sides[1]
	if len(q.Metrics) == 0 && baseline.searched() && candidate.searched() {
		q.Metrics = []string{bench.MetricCapacity}
	}
	p := pairing{base: baseline.series(), candidate: candidate.series(), SuiteSignificance: q.SuiteSignificance}
	both := []*series{p.base, p.candidate}
	t.add(both, Metrics(q.Metrics))
	f.cells(both)
	t.Comparisons, _ = f.compare([]pairing{p}, both, q.SuiteSignificance, nil)
	t.Warnings = slices.Concat(baseline.doubts(), candidate.doubts(),
		conditionWarnings(baseline.Judgement.Facts, candidate.Judgement.Facts, q.Vary))
}

// doubts returns a warning if the numbers of a side may not be believed.
func (s Side) doubts() []string {
	if s.Judgement.Validity == bench.ValidityValid || s.Judgement.Validity == "" {
		return nil
	}
	var codes []string
	for _, f := range s.Judgement.Findings {
		if f.Severity != bench.SeverityInfo {
			codes = append(codes, f.Code)
		}
	}
	return []string{fmt.Sprintf("the numbers of %s are %s (%s): its report says why", s.Name, s.Judgement.Validity,
		cmp.Or(strings.Join(codes, ", "), "none"))}
}

// searched reports whether a side has a capacity.
func (s Side) searched() bool {
	return slices.ContainsFunc(s.Points, func(points []runfile.SuitePoint) bool {
		return slices.ContainsFunc(points, func(p runfile.SuitePoint) bool {
			_, ok := p.Metrics[bench.MetricCapacity]
			return ok
		})
	})
}

func (s Side) series() *series {
	out := newSeries(s.Name)
	for i, points := range s.Points {
		out.add(int32(i+1), points) //nolint:gosec // repetitions are few
	}
	return out
}
