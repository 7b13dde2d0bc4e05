package report

import (
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/nfsbench/nfsbench/internal/compare"
)

// group is the lines of one metric.
type group struct {
	metric   string
	baseline string // of all lines; empty where they differ
	lines    []compare.Line
}

// groups keeps the order in which metrics come first.
func groups(t compare.Table) []group {
	var out []group
	for _, l := range t.Comparisons {
		i := slices.IndexFunc(out, func(g group) bool { return g.metric == l.Metric })
		if i < 0 {
			out, i = append(out, group{metric: l.Metric, baseline: l.Baseline}), len(out)
		}
		if out[i].baseline != l.Baseline {
			out[i].baseline = ""
		}
		out[i].lines = append(out[i].lines, l)
	}
	return out
}

// CompareText writes the comparisons of a table: for each metric and baseline the
// average of both, the percent impact with its deviation, minimum and maximum
// over the pairs, the confidence interval of the shift and p. What is not
// significant ends with ~, and what was saturated with *. Without comparisons it
// writes the cells. It returns the first error of w.
func CompareText(w io.Writer, t compare.Table, o Options) error {
	p := newPage(w, o)
	saturated := false
	for _, g := range groups(t) {
		p.line("")
		p.wrapped("", MetricName(g.metric)+" against "+cmp.Or(g.baseline, "the baseline of each")+", positive is better")
		saturated = g.write(p) || saturated
	}
	if len(t.Comparisons) == 0 {
		saturated = cellTable(p, t)
	}
	p.line("")
	if len(t.Comparisons) > 0 {
		p.wrapped("", "CI is the confidence interval of the shift in percent of the baseline's median, P is after the correction. ~ is no significant difference, = is one too small to matter.")
	}
	if saturated {
		p.wrapped("", "* was limited by the wire: of that line, not of what is compared.")
	}
	for _, f := range t.Findings {
		p.line("")
		p.line(p.paint(bold, p.clean(f.Severity+" "+f.Code)))
		p.wrapped("  ", f.Message)
	}
	return p.err
}

// write tells whether any line was saturated.
func (g group) write(p *page) (saturated bool) {
	out := table{heads: []string{"CELL", "AVG", "IMPACT%", "STDEV", "MIN", "MAX", "CI", "P", "RESULT"}, text: 1}
	if g.baseline == "" {
		out.heads, out.text = slices.Insert(out.heads, 1, "BASE"), 2
	}
	for _, l := range g.lines {
		row := comparedRow(l)
		if g.baseline == "" {
			row = slices.Insert(row, 1, l.Baseline)
		}
		out.rows = append(out.rows, row)
		saturated = saturated || l.Saturated
	}
	out.stacked(p)
	return saturated
}

// stacked writes a table whose names do not fit beside the figures with each name
// on a line of its own.
func (t table) stacked(p *page) {
	need := 0
	widths := make([]int, len(t.heads))
	for _, row := range append([][]string{t.heads}, t.rows...) {
		for i, c := range row {
			widths[i] = max(widths[i], columns(c))
		}
	}
	for _, w := range widths {
		need += w + 1
	}
	if need <= p.width+1 {
		t.write(p)
		return
	}
	flat := table{heads: append([]string{""}, t.heads[t.text:]...), text: 1}
	for _, row := range t.rows {
		flat.rows = append(flat.rows, append([]string{""}, row[t.text:]...))
	}
	w := flat.widths(p)
	p.line("")
	p.line(p.paint(dim, strings.Join(t.heads[:t.text], ", ")))
	p.line(p.paint(dim, flat.line(w, flat.heads)))
	for i, row := range t.rows {
		p.wrapped("", strings.Join(row[:t.text], ", "))
		p.line(flat.line(w, flat.rows[i]))
	}
}

func comparedRow(l compare.Line) []string {
	name := LineName(l.Cell, l.Step)
	if l.Saturated {
		name += " *"
	}
	deviation := unknown
	if l.ImpactDeviation != nil {
		deviation = Percent(*l.ImpactDeviation)[1:]
	}
	return []string{
		name, Figure(l.Mean, l.Unit), Percent(l.Impact), deviation, Percent(l.ImpactMinimum), Percent(l.ImpactMaximum),
		strings.ReplaceAll(Interval(l), " to ", ".."), Probability(l), resultMark(l.Outcome),
	}
}

// resultMark is the answer in a column.
func resultMark(outcome string) string {
	switch outcome {
	case compare.Better:
		return "better"
	case compare.Worse:
		return "worse"
	case compare.NoDifference:
		return "~"
	case compare.Negligible:
		return "="
	default:
		return "?"
	}
}

// cellTable is what a table without comparisons has to show.
func cellTable(p *page, t compare.Table) (saturated bool) {
	out := table{heads: []string{"CELL", "METRIC", "N", "MEAN", "MEDIAN", "MIN", "MAX", "CV %"}, text: 2}
	for _, c := range t.Cells {
		name, variation := LineName(c.Cell, c.Step), unknown
		if c.Saturated {
			name, saturated = name+" *", true
		}
		if c.Variation != nil {
			variation = Percent(*c.Variation)[1:]
		}
		out.rows = append(out.rows, []string{
			name, c.Metric, strconv.Itoa(len(c.Values)), Figure(c.Mean, c.Unit), Figure(c.Median, c.Unit), Figure(c.Minimum, c.Unit), Figure(c.Maximum, c.Unit), variation,
		})
	}
	out.write(p)
	return saturated
}
