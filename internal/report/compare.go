package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/report/chart"
	"github.com/nfsbench/nfsbench/internal/report/doc"
)

// tableDocument returns the comparisons of a table for a terminal.
func tableDocument(t compare.Table) doc.Document {
	d := doc.Document{Answer: capital(t.Message)}
	groups := byMetric(t.Comparisons)
	for _, lines := range groups {
		against := cmp.Or(commonBaseline(lines), "the baseline of each")
		title := measure.MetricOf(lines[0].Metric).Label + " against " + against
		d.Terminal = append(d.Terminal, doc.Block{Apart: true, Text: title}, doc.Block{Table: lineTable(lines)})
	}
	saturated := slices.ContainsFunc(t.Comparisons, func(l compare.Line) bool { return l.Saturated })
	if len(groups) == 0 {
		d.Terminal = append(d.Terminal, doc.Block{Table: cellsTable(t.Cells)}, doc.Block{Apart: true})
		saturated = slices.ContainsFunc(t.Cells, func(c compare.Cell) bool { return c.Saturated })
	} else {
		d.Terminal = append(d.Terminal, doc.Block{
			Apart: true,
			Text: "CHANGE is the shift in percent of the baseline's median, CI its confidence interval, P is after the " +
				"correction. ~ is no significant difference, = is one too small to matter." + noiseWords(t.Comparisons),
		})
	}
	if saturated {
		d.Terminal = append(d.Terminal, doc.Block{Text: "* was limited by the wire: of that line, not of what is compared."})
	}
	d.Terminal = append(d.Terminal, Findings(t.Findings))
	return d
}

// noiseWords says how large the noise floor is; empty if it is unknown.
func noiseWords(lines []compare.Line) string {
	low, high := math.Inf(1), 0.0
	for _, l := range lines {
		if l.NoiseFloor != nil {
			low, high = min(low, *l.NoiseFloor), max(high, *l.NoiseFloor)
		}
	}
	switch {
	case low > high:
		return ""
	case len(lines) == 1:
		return fmt.Sprintf(" The noise floor is %.1f %%: less does not matter.", high*100)
	default:
		return fmt.Sprintf(" The noise floor of a line is %.1f to %.1f %%: less does not matter.", low*100, high*100)
	}
}

// outcome describes how an outcome is shown.
type outcome struct {
	word, symbol string
	mark         string // in a narrow column
	tone         doc.Tone
	shape        int    // in the forest plot
	class        string // in the forest plot
}

func outcomeOf(answer bench.Outcome) outcome {
	switch answer {
	case bench.OutcomeBetter:
		return outcome{"better", "▲ ", "better", doc.Good, chart.MarkUp, "better"}
	case bench.OutcomeWorse:
		return outcome{"worse", "▼ ", "worse", doc.Bad, chart.MarkDown, "worse"}
	case bench.OutcomeNoDifference:
		return outcome{"no difference", "~ ", "~", doc.None, chart.MarkRing, "same"}
	case bench.OutcomeNegligible:
		return outcome{"negligible", "◇ ", "=", doc.None, chart.MarkHollowDiamond, "same"}
	default:
		return outcome{"unknown", "", "?", doc.None, chart.MarkCross, "same"}
	}
}

// tallyOf counts the outcomes of lines. The chips are the outcomes that occur, worst first.
func tallyOf(lines []compare.Line) (counts map[bench.Outcome]int, chips []doc.Chip) {
	counts = map[bench.Outcome]int{}
	for _, l := range lines {
		counts[l.Outcome]++
	}
	for _, o := range []bench.Outcome{
		bench.OutcomeWorse, bench.OutcomeBetter, bench.OutcomeNegligible, bench.OutcomeNoDifference, bench.OutcomeUnknown,
	} {
		if n := counts[o]; n > 0 {
			shown := outcomeOf(o)
			chips = append(chips, doc.Chip{Text: fmt.Sprintf("%d %s", n, shown.word), Tone: shown.tone})
		}
	}
	return counts, chips
}

// answerCard shows the result of all comparisons.
func answerCard(lines []compare.Line) doc.Card {
	t, chips := tallyOf(lines)
	c := doc.Card{Label: "Comparison", Tone: doc.None, List: chips}
	switch {
	case len(lines) == 0:
		c.Word, c.Text = "None", "Nothing was compared."
	case t[bench.OutcomeBetter] > 0 && t[bench.OutcomeWorse] > 0:
		c.Word, c.Text, c.Tone = "Mixed", "Better in some, worse in others.", doc.Warn
	case t[bench.OutcomeBetter] > 0:
		c.Word, c.Tone = "Better", doc.Good
	case t[bench.OutcomeWorse] > 0:
		c.Word, c.Tone = "Worse", doc.Bad
	case t[bench.OutcomeUnknown] == len(lines):
		c.Word, c.Text, c.Tone = "Unknown", "Too few repetitions to tell.", doc.Warn
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

// maxForest bounds the lines of one figure; the tables hold all.
const maxForest = 60

// comparisonSection shows a forest plot of all metrics, and a table of each.
func comparisonSection(id, title string, lines []compare.Line, minimum float64) doc.Section {
	s := doc.Section{ID: id, Title: title}
	if len(lines) == 0 {
		return s
	}
	s.Lead = "In percent of the baseline, positive is better whatever the metric." +
		" Where the confidence interval crosses zero, chance could have done it."
	groups := byMetric(lines)
	s.Add(forestFigure(id, groups, minimum))
	for i, group := range groups {
		t := lineTable(group)
		t.Caption = measure.MetricOf(group[0].Metric).Label
		if i < len(groups)-1 {
			t.Note = ""
		}
		s.Add(doc.Block{Table: t})
	}
	return s
}

func forestFigure(id string, groups [][]compare.Line, minimum float64) doc.Block {
	f := chart.Forest{Band: minimum * 100, Left: "worse", Right: "better"}
	each, left := max(maxForest/len(groups), 3), 0
	for _, lines := range groups {
		for i, l := range lines[:min(len(lines), each)] {
			row := interval(l)
			if i == 0 {
				row.StartGroup = measure.MetricOf(l.Metric).Label
				if b := commonBaseline(lines); b != "" {
					row.StartGroup += " against " + b
				}
			}
			f.Rows = append(f.Rows, row)
		}
		left += max(len(lines)-each, 0)
	}
	caption := "▲ better, ▼ worse, ○ no significant difference, ◇ significant and too small to matter, × too few " +
		"repetitions to tell."
	if minimum > 0 {
		caption += fmt.Sprintf(" Grey: within %g %%, too small to matter.", minimum*100)
	}
	if left > 0 {
		caption += fmt.Sprintf(" %d more are in the tables.", left)
	}
	description := fmt.Sprintf("%s in percent of the baseline, with confidence intervals.",
		human.Count(len(f.Rows), "difference"))
	return doc.Block{Figure: &doc.Figure{
		ID: id + "-forest", Title: "Differences from the baseline", Description: description, Draw: f.SVG, Caption: caption,
	}}
}

// commonBaseline returns the baseline of all lines; empty if they differ.
func commonBaseline(lines []compare.Line) string {
	for _, l := range lines {
		if l.Baseline != lines[0].Baseline {
			return ""
		}
	}
	return lines[0].Baseline
}

// interval returns a line as a row of the forest plot: the shift, or the mean impact if there is no shift.
func interval(l compare.Line) chart.Interval {
	v := l.Impact * 100
	if l.Shift != nil {
		v = *l.Shift * 100
	}
	text := fmt.Sprintf("%+.1f%%", v)
	if l.ShiftLow != nil {
		text += fmt.Sprintf(" (%+.1f to %+.1f)", *l.ShiftLow*100, *l.ShiftHigh*100)
	}
	text += "  p " + probability(l)
	name, o := compare.Label(l.Cell, l.Step), outcomeOf(l.Outcome)
	if l.Saturated {
		name += " *"
	}
	return chart.Interval{
		Label: name, Value: v, Low: percentOr(l.ShiftLow), High: percentOr(l.ShiftHigh), Text: text, Mark: o.shape,
		Class: o.class, Tooltip: name + ": " + text + ", " + o.word,
	}
}

func percentOr(share *float64) float64 {
	if share == nil {
		return math.NaN()
	}
	return *share * 100
}

// lineTable shows both sides, their difference and the result of the significance test. The page also has the columns
// of seed 002: average, percent impact of the pairs with its deviation, minimum and maximum.
func lineTable(lines []compare.Line) *doc.Table {
	own := doc.Both // each line has a baseline of its own
	if commonBaseline(lines) != "" {
		own = doc.Nowhere
	}
	t := &doc.Table{Stacked: true, Columns: []doc.Column{
		{Head: "Cell"},
		{Head: "Baseline", In: own},
		{Head: "Baseline's median", Short: "BASE", Number: true},
		{Head: "Median", Number: true},
		{Head: "Change, %", Short: "CHANGE %", Number: true},
		{Head: "CI of the change, %", Short: "CI", Number: true},
		{Head: "p", Number: true},
		{Head: "Average of both", Number: true, In: doc.HTMLOnly},
		{Head: "% impact", Number: true, In: doc.HTMLOnly},
		{Head: "Stdev", Number: true, In: doc.HTMLOnly},
		{Head: "Min", Number: true, In: doc.HTMLOnly},
		{Head: "Max", Number: true, In: doc.HTMLOnly},
		{Head: "n", Number: true, In: doc.HTMLOnly},
		{Head: "Result", In: doc.HTMLOnly},
		{Head: "Result", Number: true, In: doc.TextOnly}, // a mark, at the right
	}}
	saturated := false
	for _, l := range lines {
		name, o := compare.Label(l.Cell, l.Step), outcomeOf(l.Outcome)
		if l.Saturated {
			name, saturated = name+" *", true
		}
		m := measure.MetricOf(l.Metric)
		base, candidate := l.Medians()
		deviation := known(l.ImpactDeviation, func(v float64) string { return strings.TrimPrefix(percent(v), "+") })
		row := t.Row(name, l.Baseline, m.Text(base), m.Text(candidate), change(l), changeInterval(l, " to "), probability(l),
			m.Text(l.Mean), percent(l.Impact), deviation, percent(l.ImpactMinimum), percent(l.ImpactMaximum),
			fmt.Sprintf("%d+%d", len(l.Base), len(l.Candidate)), o.symbol+o.word, o.mark)
		row.Cells[5].Short = changeInterval(l, "..")
		row.Cells[13].Tone, row.Cells[13].Strong = o.tone, o.tone != doc.None
	}
	t.Note = "Change is the shift in percent of the baseline's median. The p-value includes the correction. Impact is " +
		"the mean over pairs of repetitions; positive is better."
	if saturated {
		t.Note += " * was limited by the wire: the line was compared, not what is behind it."
	}
	return t
}

// cellsTable lists the numbers of all cells.
func cellsTable(cells []compare.Cell) *doc.Table {
	t := &doc.Table{
		Columns: doc.Columns(2, 0, "Cell", "Metric", "n", "Mean", "Median", "CI of the median", "Min", "Max", "CV, %"),
	}
	t.Columns[5].In, t.Columns[8].Short = doc.HTMLOnly, "CV %"
	for _, c := range cells {
		m, name, interval := measure.MetricOf(c.Metric), compare.Label(c.Cell, c.Step), doc.Unknown
		if c.Saturated {
			name, t.Note = name+" *", "* was limited by the wire."
		}
		if c.MedianLow != nil && c.MedianHigh != nil {
			interval = m.Text(*c.MedianLow) + " to " + m.Text(*c.MedianHigh)
		}
		variation := known(c.Variation, func(v float64) string { return fmt.Sprintf("%.2f", v*100) })
		row := t.Row(name, m.Label, fmt.Sprint(len(c.Values)), m.Text(c.Mean),
			m.Text(c.Median), interval, m.Text(c.Minimum), m.Text(c.Maximum), variation)
		row.Cells[1].Short = c.Metric
	}
	return t
}

func comparisonDocument(a, b compare.Side, t compare.Table, o PageOptions) doc.Document {
	d := doc.Document{
		Kind: "comparison", Title: sideName(b) + " against " + sideName(a),
		Answer:   strings.TrimSpace(capital(t.Message) + " " + bothTrusted(a, b)),
		Subtitle: "Baseline: " + sideName(a) + ". " + whatRan(a.Judgement),
		Cards:    []doc.Card{answerCard(t.Comparisons), sideCard("Baseline", a), sideCard("Candidate", b)},
		Notes:    notes(a.Judgement, b.Judgement),
	}
	findings := doc.Section{ID: "findings", Title: "Findings, and what to do"}
	findings.Add(Findings(t.Findings))
	var repeats []doc.Section
	for i, s := range []compare.Side{a, b} {
		for _, stamp := range stamps(s.Judgement) {
			stamp.Text = sideName(s) + ": " + stamp.Text
			if !slices.Contains(d.Stamps, stamp) {
				d.Stamps = append(d.Stamps, stamp)
			}
		}
		if all := s.Judgement.Findings; len(all) > 0 {
			findings.Add(doc.Block{Text: "Of " + sideName(s) + ":"}, Findings(all))
		}
		r := repeatSection(s.Judgement.Facts, PageOptions{})
		r.ID, r.Title = fmt.Sprintf("repeat-%d", i), "Run "+sideName(s)+" again"
		repeats = append(repeats, r)
	}
	if o.Reproduce != "" {
		repeats[1].Add(doc.Block{Code: &doc.Code{Label: "YAML", Text: o.Reproduce}})
	}
	cells := doc.Section{ID: "cells", Title: "Repetitions in numbers", Blocks: []doc.Block{{Table: cellsTable(t.Cells)}}}
	d.Sections = append([]doc.Section{
		comparisonSection("comparison", "The difference", t.Comparisons, o.MinimumEffect),
		besideSection(a, b), overlaySection(a, b), cells, findings,
	}, repeats...)
	return d
}

// bothTrusted says whether the numbers of both sides can be believed.
func bothTrusted(a, b compare.Side) string {
	of, against := b.Judgement.Answer.Trust, a.Judgement.Answer.Trust
	if of == against {
		return "Trust: " + of + "."
	}
	return "Trust in " + sideName(a) + ": " + against + ". Trust in " + sideName(b) + ": " + of + "."
}

func sideName(s compare.Side) string { return cmp.Or(s.Name, nameOf(s.Judgement), "unnamed") }

// sideCard shows verdict and validity of one side.
func sideCard(label string, s compare.Side) doc.Card {
	v, ok := verdictCard(s.Judgement), validityCard(s.Judgement)
	c := doc.Card{
		Label: label, Word: ok.Word, Text: sideName(s), Tone: ok.Tone,
		List: []doc.Chip{{Text: "verdict: " + v.Word, Tone: v.Tone}},
	}
	if t, ok := capacityTile(s.Judgement.Capacity); ok {
		c.List = append(c.List, doc.Chip{Text: t.Label + ": " + t.Value + t.Unit, Tone: doc.None})
	} else if sum := s.Judgement.Summary; sum != nil {
		c.List = append(c.List, doc.Chip{Text: human.Throughput(sum.Total.BytesPerSecond), Tone: doc.None})
	}
	return c
}

// besideSection holds what differs between both sides: a comparison of two things that differ in several
// ways proves nothing about one of them.
func besideSection(a, b compare.Side) doc.Section {
	s := doc.Section{ID: "sides", Title: "What differs between the two"}
	t := &doc.Table{Columns: doc.Columns(4, 0, "", "Condition", sideName(a), sideName(b))}
	for _, d := range compare.Differences(a.Judgement.Facts, b.Judgement.Facts) {
		t.Row(d.Group, d.Field, d.A, d.B)
	}
	if len(t.Rows) == 0 {
		s.Add(doc.Block{Text: "Nothing that was recorded."})
		return s
	}
	s.Add(doc.Block{Table: t})
	return s
}

// overlaySection draws both sides over each other: latency over load of two searches, latencies by percentile, and
// throughput over time on one axis.
func overlaySection(a, b compare.Side) doc.Section {
	s := doc.Section{ID: "both", Title: "Both in one picture", Blocks: capacityOverlay(a, b)}
	if len(s.Blocks) > 0 {
		return s // two searches reach different loads by different levels
	}
	curves := make([]chart.Line, 0, 2)
	for _, side := range []compare.Side{a, b} {
		if side.Judgement.Summary == nil {
			continue
		}
		if all := spreads(*side.Judgement.Summary); len(all) > 0 && !all[0].latency.Bucketed {
			curves = append(curves, all[0].curve(sideName(side)+", "+all[0].name))
		}
	}
	if len(curves) == 2 {
		s.Add(percentileFigure("Latency by percentile of both sides", curves, "The lower line is the faster one."))
	}
	var t chart.Timeline
	for _, side := range []compare.Side{a, b} {
		if c := (axis{side.Judgement.Facts.History()}); len(c.Slots) > 1 {
			t.To = max(t.To, c.End())
			t.Panels = append(t.Panels, chart.Panel{
				Title: sideName(side) + ": throughput, MB/s", Unit: "MB/s", Height: 110,
				Lines: []chart.Line{c.line("both directions",
					func(s measure.Slot) float64 { return (s.Read.Bytes + s.Write.Bytes) / c.Interval / 1e6 })},
			})
		}
	}
	if len(t.Panels) == 2 {
		oneScale(t.Panels)
		s.Add(doc.Block{Figure: &doc.Figure{
			ID: "time", Title: "Throughput over time of both sides", Description: "One panel for each side, of one scale.",
			Draw: t.SVG, Caption: "One panel for each, of one scale.",
		}})
	}
	return s
}
