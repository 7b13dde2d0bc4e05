package compare

import (
	"strings"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Run computes the table of a suite's run, finished or not.
func Run(run runfile.SuiteRun) Table {
	f := &finder{}
	f.results(run)
	all := allSeries(run)
	metrics := suiteMetrics(run.Settings)
	var t Table
	for _, s := range all {
		t.Cells = append(t.Cells, s.cells(metrics)...)
	}
	f.cells(all)
	if c := run.Settings.Compare; c != nil {
		t.Comparisons = f.comparisons(run, all, *c)
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

func (f *finder) comparisons(run runfile.SuiteRun, all []*series, c runfile.SuiteCompare) []Line {
	byName := map[string]*series{}
	for _, s := range all {
		byName[s.name] = s
	}
	var pairs []pairing
	var lines []Line
	baselines, alone := baselinesOf(run.Cells, c.Baseline)
	for _, s := range all {
		base, ok := byName[baselines[s.name]]
		if !ok {
			continue
		}
		p := pairing{base: base, candidate: s, impactOf: c.ImpactOf, SuiteSignificance: c.SuiteSignificance}
		pairs, lines = append(pairs, p), append(lines, p.lines()...)
	}
	decide(lines, c.SuiteSignificance)
	f.noBaseline(alone, c.Baseline)
	f.pairs(pairs)
	f.metrics(all, orDefault(c.Metrics))
	f.tooFew(lines, c.SuiteSignificance)
	return lines
}

// baselinesOf names the baseline of each cell that has one, and the cells that
// should have one and have none: a baseline has the same value on all axes but
// those of the baseline, and on these the baseline's.
func baselinesOf(cells []runfile.SuiteCell, baseline map[string]string) (names map[string]string, alone []string) {
	at := map[string]string{}
	for _, c := range cells {
		// The first one: an extra cell with the values of a combination is none.
		if key := others(c, baseline); isBaseline(c, baseline) && at[key] == "" {
			at[key] = c.Name
		}
	}
	names = map[string]string{}
	for _, c := range cells {
		if isBaseline(c, baseline) {
			continue
		}
		if name, ok := at[others(c, baseline)]; ok {
			names[c.Name] = name
		} else {
			alone = append(alone, c.Name)
		}
	}
	return names, alone
}

func isBaseline(c runfile.SuiteCell, baseline map[string]string) bool {
	found := 0
	for _, v := range c.Values {
		if want, ok := baseline[v.Axis]; ok {
			if v.Value != want {
				return false
			}
			found++
		}
	}
	return found == len(baseline)
}

// others are the values of a cell on the other axes, as one string.
func others(c runfile.SuiteCell, baseline map[string]string) string {
	var b strings.Builder
	for _, v := range c.Values {
		if _, ok := baseline[v.Axis]; !ok {
			b.WriteString(v.Axis + "=" + v.Value + "\x00")
		}
	}
	return b.String()
}

// Results compares two results, repetition by repetition, as Run compares two
// cells. The repetitions of each are its samples.
func Results(baseline, candidate Sample, s runfile.SuiteSignificance) Table {
	f := &finder{}
	p := pairing{base: baseline.series(), candidate: candidate.series(), SuiteSignificance: s}
	both := []*series{p.base, p.candidate}
	var t Table
	for _, side := range both {
		t.Cells = append(t.Cells, side.cells(orDefault(s.Metrics))...)
	}
	t.Comparisons = p.lines()
	decide(t.Comparisons, s)
	f.cells(both)
	f.pairs([]pairing{p})
	f.metrics(both, orDefault(s.Metrics))
	f.tooFew(t.Comparisons, s)
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

func (s Sample) series() *series {
	out := newSeries(s.Name)
	for i, points := range s.Points {
		out.add(int32(i+1), points) //nolint:gosec // repetitions are few
	}
	return out
}
