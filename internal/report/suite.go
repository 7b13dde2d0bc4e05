package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/report/chart"
	"github.com/nfsbench/nfsbench/internal/report/doc"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
)

func suiteDocument(run runfile.SuiteRun, t compare.Table, g *compare.Table, o PageOptions) doc.Document {
	d := doc.Document{
		Kind: "suite report", Title: strings.TrimPrefix(run.Namespace+"/"+run.Suite, "/"), Subtitle: "Run " + run.Run,
		Answer: strings.TrimSpace(capital(t.Message) + " " + runsTrusted(run)), Facts: suiteFacts(run),
	}
	if run.Simulated {
		d.Stamps = []doc.Stamp{{Text: "Stand-ins took part: no number here is one of real storage or of Oracle."}}
	}
	if g != nil {
		d.Answer = capital(g.Message) + " " + d.Answer
		d.Cards = append(d.Cards, regressionCard(*g))
		d.Sections = append(d.Sections, regressionSection(run, *g))
	}
	minimum := 0.0
	if c := run.Settings.Compare; c != nil {
		minimum = c.MinimumEffect
	}
	if run.Settings.Compare != nil || len(t.Comparisons) > 0 {
		d.Cards = append(d.Cards, answerCard(t.Comparisons))
	}
	d.Cards = append(d.Cards, runCard(run))
	found := t.Findings
	if len(d.Cards) < 3 {
		d.Cards = append(d.Cards, findingsCard(found))
	}
	d.Sections = append(d.Sections,
		comparisonSection("comparison", "Against the baseline", t.Comparisons, minimum),
		curveSection(run, t),
		doc.Section{ID: "cells", Title: "All cells", Blocks: []doc.Block{{Table: cellsTable(t.Cells)}}},
		orderSection(run),
		doc.Section{ID: "findings", Title: "Findings, and what to do", Blocks: []doc.Block{Findings(found)}},
		resultSection(run),
		suiteRepeat(run, o))
	return d
}

// runsTrusted says how many of the results can be believed.
func runsTrusted(run runfile.SuiteRun) string {
	n := map[string]int{}
	for _, r := range run.Results {
		n[r.Validity]++
	}
	var doubts []string
	for _, v := range []bench.Validity{bench.ValiditySuspect, bench.ValidityInvalid} {
		if n[string(v)] > 0 {
			doubts = append(doubts, fmt.Sprintf("%d are %s", n[string(v)], v))
		}
	}
	switch {
	case len(run.Results) == 0:
		return ""
	case len(doubts) > 0:
		all := human.Count(len(run.Results), "result")
		return fmt.Sprintf("Trust: limited, of %s %s.", all, strings.Join(doubts, " and "))
	default:
		return "Trust: yes, nothing speaks against the results."
	}
}

// regressionCard shows the result of the comparison with the accepted run.
func regressionCard(g compare.Table) doc.Card {
	_, chips := tallyOf(g.Changes())
	c := doc.Card{
		Label: "Regression", Word: "Not regressed", Text: "Against the accepted run " + g.Baseline + ".",
		Tone: doc.Good, List: chips,
	}
	if g.Regressed {
		c.Word, c.Tone, c.Link = "Regressed", doc.Bad, "regression"
	}
	return c
}

// runCard shows the outcome of the run itself.
func runCard(run runfile.SuiteRun) doc.Card {
	done, wanted := 0, len(run.Cells)*int(run.Settings.Repetitions)
	failed, validity := 0, map[string]int{}
	for _, r := range run.Results {
		validity[r.Validity]++
		if r.Phase == "Succeeded" {
			done++
		} else {
			failed++
		}
	}
	tones := map[string]doc.Tone{"Succeeded": doc.Good, "Failed": doc.Bad, "Cancelled": doc.Warn}
	c := doc.Card{
		Label: "Run", Word: cmp.Or(run.Phase, "Under way"), Tone: cmp.Or(tones[run.Phase], doc.None),
		Text: run.Message,
	}
	all := doc.Chip{Text: fmt.Sprintf("%d of %d benchmarks", done, wanted), Tone: doc.Warn}
	if done >= wanted {
		all.Tone = doc.Good
	}
	c.List = append(c.List, all)
	if failed > 0 {
		c.List = append(c.List, doc.Chip{Text: fmt.Sprintf("%d did not succeed", failed), Tone: doc.Bad})
	}
	if run.Retried > 0 {
		c.List = append(c.List, doc.Chip{Text: fmt.Sprintf("%d retried", run.Retried), Tone: doc.None})
	}
	for _, v := range []bench.Validity{bench.ValiditySuspect, bench.ValidityInvalid} {
		if n := validity[string(v)]; n > 0 {
			c.List = append(c.List, doc.Chip{Text: fmt.Sprintf("%d %s", n, strings.ToLower(string(v))), Tone: doc.Warn})
		}
	}
	return c
}

func suiteFacts(run runfile.SuiteRun) []doc.Fact {
	var out []doc.Fact
	order, axes := run.Axes()
	for _, a := range order {
		out = append(out, doc.Fact{Label: a, Text: joined(axes[a])})
	}
	s := run.Settings
	text := fmt.Sprintf("%s, %s of each, seed %d", human.Count(len(run.Cells), "cell"),
		human.Count(int(s.Repetitions), "repetition"), s.Seed)
	out = append(out, doc.Fact{Label: "Matrix", Text: text},
		doc.Fact{Label: "Order", Text: strings.TrimSpace(s.Order + " " + s.Blocks)})
	if c := s.Compare; c != nil {
		var metrics, baseline []string
		for _, m := range c.Metrics {
			metrics = append(metrics, measure.MetricOf(m).Label)
		}
		for _, k := range slices.Sorted(maps.Keys(c.Baseline)) {
			baseline = append(baseline, k+" = "+c.Baseline[k])
		}
		out = append(out, doc.Fact{Label: "Compared", Text: fmt.Sprintf("%s; alpha %g, correction %s, at least %g %% matters",
			joined(metrics), c.Alpha, cmp.Or(c.Correction, "None"), c.MinimumEffect*100)},
			doc.Fact{Label: "Baseline", Text: joined(baseline)})
	}
	when := moment(run.Started)
	if !run.Ended.IsZero() {
		when += " to " + moment(run.Ended) + " (" + run.Ended.Sub(run.Started).Round(time.Second).String() + ")"
	}
	return append(out, doc.Fact{Label: "When", Text: when})
}

// regressionSection compares with the accepted run.
func regressionSection(run runfile.SuiteRun, g compare.Table) doc.Section {
	minimum := 0.0
	if r := run.Settings.Regression; r != nil {
		minimum = r.MinimumEffect
	}
	s := comparisonSection("regression", "Against the accepted run", g.Changes(), minimum)
	s.Lead = capital(g.Message)
	floor := "The noise floor is not known: there are too few runs before this one."
	if v := g.NoiseFloor; v != nil {
		floor = fmt.Sprintf("Runs before it lay apart by up to %.1f %% by themselves; only what is larger counts.", *v*100)
	}
	s.Blocks = append([]doc.Block{{Facts: []doc.Fact{
		{Label: "Accepted run", Text: g.Baseline},
		{Label: "This run", Text: g.Run},
		{Label: "Noise floor", Text: floor},
	}}}, s.Blocks...)
	s.Add(Findings(g.Findings))
	return s
}

// resultSection lists the benchmarks in the order in which they ran.
func resultSection(run runfile.SuiteRun) doc.Section {
	s := doc.Section{ID: "benchmarks", Title: "Benchmarks"}
	t := &doc.Table{Columns: doc.Columns(8, 0, "#", "Cell", "Rep.", "Phase", "Verdict", "Validity", "Findings", "Started")}
	t.Columns[0].Number, t.Columns[2].Number = true, true
	for _, r := range run.Results {
		phase := r.Phase
		if r.Reason != "" {
			phase += ": " + r.Reason
		}
		started := doc.Unknown
		if !r.Started.IsZero() {
			started = r.Started.UTC().Format("01-02 15:04:05")
		}
		row := t.Row(fmt.Sprint(r.Position), r.Cell, fmt.Sprint(r.Repetition), phase, cmp.Or(r.Verdict, doc.Unknown),
			cmp.Or(r.Validity, doc.Unknown), cmp.Or(joined(r.Findings), doc.Unknown), started)
		if r.Phase != "Succeeded" {
			row.Cells[3].Tone = doc.Bad
		}
	}
	s.Add(doc.Block{Table: t})
	return s
}

// suiteRepeat shows what is needed to run the suite again.
func suiteRepeat(run runfile.SuiteRun, o PageOptions) doc.Section {
	s := doc.Section{
		ID: "repeat", Title: "Run it again",
		Lead: "Each benchmark has a report of its own with its plan, oranfstab and mount options; the record of this run " +
			"holds all numbers on this page.",
	}
	s.Add(doc.Block{Facts: []doc.Fact{
		{Label: "Run", Text: run.Run, Code: true},
		{Label: "Workflow", Text: cmp.Or(run.Workflow, doc.Unknown), Code: true},
		{Label: "Seed of the order", Text: fmt.Sprint(run.Settings.Seed), Code: true},
	}})
	if o.Reproduce != "" {
		s.Add(doc.Block{Code: &doc.Code{Label: "YAML of the suite", Text: o.Reproduce}})
	}
	if data, err := json.MarshalIndent(run.Settings, "", "  "); err == nil {
		s.Add(doc.Block{Code: &doc.Code{Label: "Settings", Text: string(data)}})
	}
	return s
}

// orderMetrics returns the metrics that are drawn by position: the first two of the comparison, or the defaults.
func orderMetrics(run runfile.SuiteRun) []string {
	if c := run.Settings.Compare; c != nil && len(c.Metrics) > 0 {
		return c.Metrics[:min(len(c.Metrics), 2)]
	}
	return compare.Metrics[string](nil)
}

// orderSection shows whether the numbers drifted while the suite ran.
func orderSection(run runfile.SuiteRun) doc.Section {
	s := doc.Section{
		ID: "order", Title: "In the order of the run",
		Lead: "Each value as its distance from the median of its cell. A drift of all of them is one of the storage or of " +
			"the time of day, and not of what is compared.",
	}
	for i, metric := range orderMetrics(run) {
		o := orderOf(run, metric)
		if len(o.Points) < 3 {
			continue
		}
		title := measure.MetricOf(metric).Label + ": distance from the median of the cell, %"
		s.Add(doc.Block{Figure: &doc.Figure{
			ID: fmt.Sprintf("order-%d", i), Title: title, Draw: func(f chart.Frame) string { return o.SVG(f, title) },
			Description: fmt.Sprintf("%d values by their position.", len(o.Points)),
		}})
	}
	return s
}

// orderOf returns the values of a metric by position. It omits cells with one value, which is always the median.
func orderOf(run runfile.SuiteRun, metric string) chart.Order {
	values := map[string][]float64{}
	each := func(do func(r runfile.SuiteResult, key string, v float64)) {
		for _, r := range run.Results {
			for _, p := range r.Points {
				if v, ok := p.Metrics[metric]; ok && v > 0 {
					do(r, compare.Label(r.Cell, p.Step), v)
				}
			}
		}
	}
	each(func(_ runfile.SuiteResult, key string, v float64) { values[key] = append(values[key], v) })
	var o chart.Order
	for _, c := range run.Cells {
		o.Groups = append(o.Groups, c.Name)
	}
	each(func(r runfile.SuiteResult, key string, v float64) {
		m := stats.Median(values[key])
		if len(values[key]) < 2 || m <= 0 {
			return
		}
		o.Points = append(o.Points, chart.OrderPoint{
			Position: float64(r.Position), Group: max(slices.Index(o.Groups, r.Cell), 0), Percent: (v/m - 1) * 100,
			Text: fmt.Sprintf("%d: %s, repetition %d: %s (%+.1f %%)", r.Position, key, r.Repetition,
				measure.MetricOf(metric).Text(v), (v/m-1)*100),
		})
	})
	return o
}

// curveSection draws a metric against the levels of load: the steps of the
// benchmarks, or an axis of numbers.
func curveSection(run runfile.SuiteRun, t compare.Table) doc.Section {
	s := doc.Section{ID: "curves", Title: "Against the load"}
	levels, axis, place := levelsOf(run, t)
	if len(levels) < 3 {
		return s
	}
	const most = 4 // more lines cannot be distinguished
	f := chart.Steps{Levels: levels, Axis: axis, Knee: -1}
	for _, metric := range orderMetrics(run) {
		if p := curvePanel(t, metric, len(levels), place); len(p.Lines) > 0 && len(p.Lines) <= most {
			f.Panels = append(f.Panels, p)
		}
	}
	if len(f.Panels) > 0 {
		s.Add(doc.Block{Figure: &doc.Figure{
			ID: "curves", Title: "Metrics by " + axis, Description: fmt.Sprintf("%d levels.", len(levels)), Draw: f.SVG,
			Caption: "Points are medians of the repetitions, lines over them go from the lowest to the highest.",
		}})
	}
	return s
}

// curvePanel returns a panel with one line for each group of cells.
func curvePanel(t compare.Table, metric string, levels int, place func(compare.Cell) (string, int)) chart.Panel {
	m := measure.MetricOf(metric)
	unit, by := "MB/s", 1e6
	switch m.Unit {
	case measure.UnitTime:
		unit, by = "ms", 1e3
	case measure.UnitCost:
		unit, by = "ms/MiB", 1e3
	case measure.UnitPermille:
		unit, by = "%", 10
	case measure.UnitRate:
		unit, by = m.Unit, 1
	}
	p := chart.Panel{Title: m.Label + ", " + unit, Unit: unit}
	for _, c := range t.Cells {
		name, at := place(c)
		if c.Metric != metric || at < 0 {
			continue
		}
		i := slices.IndexFunc(p.Lines, func(l chart.Line) bool { return l.Name == name })
		if i < 0 {
			i = len(p.Lines)
			line := chart.Line{Name: name, Ranges: make([]chart.Range, levels)}
			for x := range levels {
				line.Points = append(line.Points, chart.Point{X: float64(x), Y: math.NaN()})
			}
			p.Lines = append(p.Lines, line)
		}
		p.Lines[i].Points[at].Y = c.Median / by
		p.Lines[i].Ranges[at] = chart.Range{Low: c.Minimum / by, High: c.Maximum / by}
	}
	return p
}

// levelsOf returns the levels of load, the name of their axis, and a function that returns the line and the level
// index of a cell.
func levelsOf(run runfile.SuiteRun, t compare.Table) (levels []string, axis string,
	place func(compare.Cell) (string, int),
) {
	for _, c := range t.Cells {
		if c.Step != "" && !slices.Contains(levels, c.Step) {
			levels = append(levels, c.Step)
		}
	}
	if len(levels) > 0 {
		var short []string // without Users=, as the axis has one kind of step
		for _, l := range levels {
			short = append(short, l[strings.LastIndexByte(l, '=')+1:])
		}
		return short, "step", func(c compare.Cell) (string, int) { return c.Cell, slices.Index(levels, c.Step) }
	}
	axis, levels = numberAxis(run)
	values := map[string][]runfile.SuiteAxis{}
	for _, c := range run.Cells {
		values[c.Name] = c.Values
	}
	return levels, axis, func(c compare.Cell) (string, int) {
		name, at := "", -1
		for _, v := range values[c.Cell] {
			if v.Axis == axis {
				at = slices.Index(levels, v.Value)
				continue
			}
			name = compare.Label(name, v.Value)
		}
		return name, at
	}
}

// numberAxis returns the first axis that has at least three values, all of them numbers.
func numberAxis(run runfile.SuiteRun) (string, []string) {
	order, values := run.Axes()
	for _, a := range order {
		numbers := !slices.ContainsFunc(values[a],
			func(v string) bool { _, err := strconv.ParseFloat(v, 64); return err != nil })
		if numbers && len(values[a]) >= 3 {
			return a, values[a]
		}
	}
	return "", nil
}
