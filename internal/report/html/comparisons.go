package html

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/report"
	"github.com/nfsbench/nfsbench/internal/report/chart"
)

// tally counts the outcomes of lines.
type tally map[string]int

func tallyOf(lines []compare.Line) tally {
	t := tally{}
	for _, l := range lines {
		t[l.Outcome]++
	}
	return t
}

// chips are the outcomes that there are, worst first.
func (t tally) chips() []chip {
	var out []chip
	for _, o := range []string{compare.Worse, compare.Better, compare.Negligible, compare.NoDifference, compare.Unknown} {
		if n := t[o]; n > 0 {
			out = append(out, chip{Text: fmt.Sprintf("%d %s", n, report.OutcomeWord(o)), Tone: outcomeTone(o)})
		}
	}
	return out
}

func outcomeTone(outcome string) string {
	switch outcome {
	case compare.Better:
		return toneGood
	case compare.Worse:
		return toneBad
	default:
		return toneNone
	}
}

// answerCard is what came out of all comparisons.
func answerCard(lines []compare.Line) card {
	t := tallyOf(lines)
	c := card{Label: "Comparison", Tone: toneNone, List: t.chips()}
	switch {
	case len(lines) == 0:
		c.Word, c.Text = "None", "Nothing was compared."
	case t[compare.Better] > 0 && t[compare.Worse] > 0:
		c.Word, c.Text, c.Tone = "Mixed", "Better in some, worse in others.", toneWarn
	case t[compare.Better] > 0:
		c.Word, c.Text, c.Tone = "Better", "Than the baseline, where it differs at all.", toneGood
	case t[compare.Worse] > 0:
		c.Word, c.Text, c.Tone = "Worse", "Than the baseline, where it differs at all.", toneBad
	case t[compare.Unknown] == len(lines):
		c.Word, c.Text, c.Tone = "Unknown", "Too few repetitions to tell.", toneWarn
	default:
		c.Word, c.Text = "No difference", "None that is significant and large enough to matter."
	}
	return c
}

// byMetric groups lines by metric, in the order in which they come.
func byMetric(lines []compare.Line) [][]compare.Line {
	var out [][]compare.Line
	for _, l := range lines {
		i := slices.IndexFunc(out, func(g []compare.Line) bool { return g[0].Metric == l.Metric })
		if i < 0 {
			out = append(out, []compare.Line{l})
			continue
		}
		out[i] = append(out[i], l)
	}
	return out
}

// maxForest is how many lines one figure has; the tables hold all.
const maxForest = 60

// comparisonSection is a forest plot of all metrics, and a table of each.
func comparisonSection(id, title string, lines []compare.Line, minimum float64) section {
	s := section{ID: id, Title: title}
	if len(lines) == 0 {
		return s
	}
	s.Lead = "In percent of the baseline, positive is better whatever the metric. Where the confidence interval crosses zero, chance could have done it."
	groups := byMetric(lines)
	s.add(forestFigure(id, groups, minimum))
	for i, group := range groups {
		t := lineTable(group)
		t.Caption = report.MetricName(group[0].Metric)
		if i < len(groups)-1 {
			t.Note = ""
		}
		s.add(block{Table: t})
	}
	return s
}

func forestFigure(id string, groups [][]compare.Line, minimum float64) block {
	f := chart.Forest{Band: minimum * 100, Left: "worse", Right: "better"}
	each, left := max(maxForest/len(groups), 3), 0
	for _, lines := range groups {
		for i, l := range lines[:min(len(lines), each)] {
			row := interval(l)
			if i == 0 {
				row.StartGroup = report.MetricName(l.Metric)
				if b := commonBaseline(lines); b != "" {
					row.StartGroup += " against " + b
				}
			}
			f.Rows = append(f.Rows, row)
		}
		left += max(len(lines)-each, 0)
	}
	caption := "▲ better, ▼ worse, ○ no significant difference, ◇ significant and too small to matter, × too few repetitions to tell."
	if minimum > 0 {
		caption += fmt.Sprintf(" Grey: within %g %%, too small to matter.", minimum*100)
	}
	if left > 0 {
		caption += fmt.Sprintf(" %d more are in the tables.", left)
	}
	description := fmt.Sprintf("%s in percent of the baseline, with confidence intervals.", report.Count(len(f.Rows), "difference"))
	return figureOf(id+"-forest", "Differences from the baseline", description, f.SVG).with(caption, nil)
}

// commonBaseline is that of all lines; empty where they differ.
func commonBaseline(lines []compare.Line) string {
	for _, l := range lines {
		if l.Baseline != lines[0].Baseline {
			return ""
		}
	}
	return lines[0].Baseline
}

// interval is a line as a row of the forest plot: the shift, or the mean impact
// where there is none.
func interval(l compare.Line) chart.Interval {
	marks := map[string]int{
		compare.Better: chart.MarkUp, compare.Worse: chart.MarkDown, compare.NoDifference: chart.MarkRing,
		compare.Negligible: chart.MarkHollowDiamond,
	}
	classes := map[string]string{compare.Better: "better", compare.Worse: "worse"}
	shape, known := marks[l.Outcome]
	if !known {
		shape = chart.MarkCross
	}
	v := l.Impact * 100
	if l.Shift != nil {
		v = *l.Shift * 100
	}
	text := fmt.Sprintf("%+.1f%%", v)
	if l.ShiftLow != nil {
		text += " (" + report.Interval(l) + ")"
	}
	text += "  p " + report.Probability(l)
	name := report.LineName(l.Cell, l.Step)
	if l.Saturated {
		name += " *"
	}
	return chart.Interval{
		Label: name, Value: v, Low: percentOr(l.ShiftLow), High: percentOr(l.ShiftHigh), Text: text, Mark: shape,
		Class: cmp.Or(classes[l.Outcome], "same"), Tooltip: name + ": " + text + ", " + report.OutcomeWord(l.Outcome),
	}
}

func percentOr(share *float64) float64 {
	if share == nil {
		return math.NaN()
	}
	return *share * 100
}

// lineTable is the table of seed 002: average, percent impact of the pairs with
// its deviation, minimum and maximum, and what the test of significance says.
func lineTable(lines []compare.Line) *table {
	names, own := []string{"Cell"}, commonBaseline(lines) == ""
	if own {
		names = append(names, "Baseline")
	}
	t := &table{Heads: heads(len(names), append(names, "Average", "% impact", "Stdev", "Min", "Max", "CI of the shift, %", "p", "n")...)}
	t.Heads = append(t.Heads, head{Text: "Result"})
	saturated := false
	for _, l := range lines {
		name := report.LineName(l.Cell, l.Step)
		if l.Saturated {
			name, saturated = name+" *", true
		}
		cells := []string{name}
		if own {
			cells = append(cells, l.Baseline)
		}
		deviation := unknown
		if l.ImpactDeviation != nil {
			deviation = strings.TrimPrefix(report.Percent(*l.ImpactDeviation), "+")
		}
		t.row(append(cells, report.Figure(l.Mean, l.Unit), report.Percent(l.Impact), deviation, report.Percent(l.ImpactMinimum), report.Percent(l.ImpactMaximum),
			report.Interval(l), report.Probability(l), fmt.Sprintf("%d+%d", len(l.Base), len(l.Candidate)), outcomeText(l.Outcome))...)
		end := &t.last()[len(t.Heads)-1]
		end.Tone, end.Strong = outcomeTone(l.Outcome), l.Outcome == compare.Better || l.Outcome == compare.Worse
	}
	t.Note = "Average is of both sides; impact is of pairs of repetitions; p is after the correction."
	if saturated {
		t.Note += " * was limited by the wire: the line was compared, not what is behind it."
	}
	return t
}

// outcomeText is the answer with its symbol.
func outcomeText(outcome string) string {
	symbols := map[string]string{compare.Better: "▲ ", compare.Worse: "▼ ", compare.NoDifference: "~ ", compare.Negligible: "◇ "}
	return symbols[outcome] + report.OutcomeWord(outcome)
}

// cellsTable is the numbers of all cells.
func cellsTable(cells []compare.Cell) *table {
	t := &table{Heads: heads(2, "Cell", "Metric", "n", "Mean", "Median", "CI of the median", "Min", "Max", "CV, %")}
	saturated := false
	for _, c := range cells {
		name, interval, variation := report.LineName(c.Cell, c.Step), unknown, unknown
		if c.Saturated {
			name, saturated = name+" *", true
		}
		if c.MedianLow != nil && c.MedianHigh != nil {
			interval = report.Figure(*c.MedianLow, c.Unit) + " to " + report.Figure(*c.MedianHigh, c.Unit)
		}
		if c.Variation != nil {
			variation = fmt.Sprintf("%.1f", *c.Variation*100)
		}
		t.row(name, report.MetricName(c.Metric), fmt.Sprint(len(c.Values)), report.Figure(c.Mean, c.Unit), report.Figure(c.Median, c.Unit), interval, report.Figure(c.Minimum, c.Unit), report.Figure(c.Maximum, c.Unit), variation)
	}
	if saturated {
		t.Note = "* was limited by the wire."
	}
	return t
}

// comparedFindings are those of a table, as those of a result.
func comparedFindings(all []compare.Finding) section {
	s := section{ID: "findings", Title: "Findings, and what to do"}
	words := map[string]string{"Info": "Note"}
	tones := map[string]string{"Error": toneBad, "Warning": toneWarn, "Info": toneNote}
	b := block{}
	for _, f := range all {
		b.Findings = append(b.Findings, finding{Code: f.Code, Severity: cmp.Or(words[f.Severity], f.Severity), Message: f.Message, Tone: cmp.Or(tones[f.Severity], toneNote)})
	}
	s.add(b)
	return s
}
