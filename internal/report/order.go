package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/report/chart"
	"github.com/nfsbench/nfsbench/internal/report/doc"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
)

// orderMetrics are drawn by position where a suite compares nothing.
func orderMetrics(run runfile.SuiteRun) []string {
	if c := run.Settings.Compare; c != nil && len(c.Metrics) > 0 {
		return c.Metrics[:min(len(c.Metrics), 2)]
	}
	return []string{runfile.MetricThroughput, runfile.MetricMeanLatency}
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
		title := MetricName(metric) + ": distance from the median of the cell, %"
		s.Add(doc.Block{Figure: &doc.Figure{
			ID: fmt.Sprintf("order-%d", i), Title: title, Description: fmt.Sprintf("%d values by their position.",
				len(o.Points)),
			Draw: func(f chart.Frame) string { return o.SVG(f, title) },
		}})
	}
	return s
}

// orderOf are the values of a metric by position. A cell with one value has no
// distance from itself and is left out.
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
				Figure(v, runfile.SuiteMetricUnit(metric)), (v/m-1)*100),
		})
	})
	return o
}

// maxCurves is how many lines can be told apart.
const maxCurves = 4

// curveSection draws a metric against the levels of load: the steps of the
// benchmarks, or an axis of numbers.
func curveSection(run runfile.SuiteRun, t compare.Table) doc.Section {
	s := doc.Section{ID: "curves", Title: "Against the load"}
	levels, axis, place := levelsOf(run, t)
	if len(levels) < 3 {
		return s
	}
	f := chart.Steps{Levels: levels, Axis: axis, Knee: -1}
	for _, metric := range orderMetrics(run) {
		if p := curvePanel(t, metric, len(levels), place); len(p.Lines) > 0 && len(p.Lines) <= maxCurves {
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

// curvePanel is one line for each group of cells.
func curvePanel(t compare.Table, metric string, levels int, place func(compare.Cell) (string, int)) chart.StepPanel {
	unit, by := "MB/s", 1e6
	switch runfile.SuiteMetricUnit(metric) {
	case "us":
		unit, by = "ms", 1e3
	case "us/MiB":
		unit, by = "ms/MiB", 1e3
	case "1/s":
		unit, by = "1/s", 1
	}
	p := chart.StepPanel{Title: MetricName(metric) + ", " + unit, Unit: unit}
	for _, c := range t.Cells {
		name, at := place(c)
		if c.Metric != metric || at < 0 {
			continue
		}
		i := slices.IndexFunc(p.Lines, func(l chart.StepLine) bool { return l.Name == name })
		if i < 0 {
			i = len(p.Lines)
			p.Lines = append(p.Lines, chart.StepLine{
				Name:   name,
				Values: slices.Repeat([]chart.Spread{{Value: math.NaN()}}, levels),
			})
		}
		p.Lines[i].Values[at] = chart.Spread{Value: c.Median / by, Low: c.Minimum / by, High: c.Maximum / by}
	}
	return p
}

// levelsOf finds what the load is, and where a cell belongs: to which line, and
// at which level.
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

// numberAxis is the axis whose values are all numbers, at least three of them.
func numberAxis(run runfile.SuiteRun) (string, []string) {
	order, values := axesOf(run)
	for _, a := range order {
		numbers := !slices.ContainsFunc(values[a],
			func(v string) bool { _, err := strconv.ParseFloat(v, 64); return err != nil })
		if numbers && len(values[a]) >= 3 {
			return a, values[a]
		}
	}
	return "", nil
}
