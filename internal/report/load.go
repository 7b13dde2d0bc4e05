package report

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/report/chart"
	"github.com/nfsbench/nfsbench/internal/report/doc"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// stepsSection shows throughput and latency against the level of load: all levels in one table on a terminal, and a
// figure for each kind on a page.
func stepsSection(j judge.Judgement) doc.Section {
	s := doc.Section{ID: "steps", Title: "Levels of load"}
	if len(j.Steps) > 1 {
		s.Add(doc.Block{In: doc.TextOnly, Table: stepTable(j.Steps, "load")})
	}
	kinds := []struct{ kind, axis string }{
		{runfile.StepUsers, "users"},
		{runfile.StepSmallReads, "small reads at once"},
		{runfile.StepLargeReads, "large reads at once"},
	}
	for _, k := range kinds {
		var levels []measure.StepSummary
		for _, step := range j.Steps {
			if step.Kind == k.kind {
				levels = append(levels, step)
			}
		}
		if len(levels) > 1 {
			s.Add(stepFigure(j.Wire, levels, k.axis))
		}
	}
	return s
}

func stepTable(levels []measure.StepSummary, axis string) *doc.Table {
	t := &doc.Table{Columns: []doc.Column{
		{Head: upperFirst(axis), Width: 10},
		{Head: "MB/s", Number: true, Width: 8},
		{Head: "IOPS", Number: true, Width: 8},
		{Head: "Mean", Number: true, Width: 8},
		{Head: "p99", Number: true, Width: 10},
		{Head: "Wire", Short: "WIRE %", Number: true, Width: 6},
		{Number: true, In: doc.HTMLOnly}, // a terminal marks the knee behind the bar
	}}
	most := int64(1)
	for _, l := range levels {
		most = max(most, l.Summary.Total.BytesPerSecond)
	}
	for _, l := range levels {
		total := l.Summary.Total
		mark := ""
		if l.Knee {
			mark = "knee"
		}
		cells := latencyCells(total.Latency)
		row := t.Row(fmt.Sprint(l.Users), human.Megabytes(total.BytesPerSecond), fmt.Sprint(total.OperationsPerSecond),
			cells[0], cells[3], known(l.WirePermille, human.Share), mark)
		row.Cells[0].Short = cmp.Or(map[string]string{
			runfile.StepUsers:      human.Count(int(l.Users), "user"),
			runfile.StepSmallReads: fmt.Sprintf("%d small", l.Users),
			runfile.StepLargeReads: fmt.Sprintf("%d large", l.Users),
		}[l.Kind], l.Kind) // fits into ten columns
		row.Cells[5].Short = strings.TrimSuffix(row.Cells[5].Text, " %")
		row.Bar, row.Mark = new(float64(total.BytesPerSecond)/float64(most)), mark
	}
	return t
}

func stepFigure(wire *measure.WireLimit, levels []measure.StepSummary, axis string) doc.Block {
	f := chart.Steps{Axis: axis, Knee: -1}
	rate := chart.Panel{Title: "Throughput, MB/s", Unit: "MB/s"}
	median, mean, p99 := chart.Line{Name: "median"}, chart.Line{Name: "mean"}, chart.Line{Name: "99th percentile"}
	if wire != nil {
		rate.Limits = []chart.Mark{wireMark(wire.ReadBytesPerSecond)}
	}
	if l := levels[0].Summary.Total.Latency; l != nil && l.Bucketed {
		p99.Name += ", at most"
	}
	for i, l := range levels {
		f.Levels = append(f.Levels, fmt.Sprint(l.Users))
		x, v := float64(i), float64(l.Summary.Total.BytesPerSecond)/1e6
		between := chart.Range{Low: v, High: v}
		for _, round := range l.Rounds {
			rate := float64(round.Total.BytesPerSecond) / 1e6
			between.Low, between.High = min(between.Low, rate), max(between.High, rate)
		}
		median.Points = append(median.Points, chart.Point{X: x, Y: v})
		median.Ranges = append(median.Ranges, between)
		m, p := math.NaN(), math.NaN()
		if t := l.Summary.Total.Latency; t != nil {
			m = float64(t.MeanMicroseconds) / 1000
			if !t.MeanOnly {
				p = float64(t.P99Microseconds) / 1000
			}
		}
		mean.Points, p99.Points = append(mean.Points, chart.Point{X: x, Y: m}), append(p99.Points, chart.Point{X: x, Y: p})
		if l.Knee {
			f.Knee = i
		}
	}
	rate.Lines = []chart.Line{median}
	f.Panels = []chart.Panel{rate, {Title: "Latency, ms", Unit: "ms", Lines: []chart.Line{mean, p99}}}
	caption := "Points are medians of the rounds, lines over them go from the lowest to the highest."
	if f.Knee >= 0 {
		caption += " Beyond the knee more load gives latency and hardly throughput."
	}
	return doc.Block{Figure: &doc.Figure{
		ID: "steps-" + levels[0].Kind, Title: "Throughput and latency by " + axis, Draw: f.SVG,
		Description: fmt.Sprintf("Throughput, mean latency and 99th percentile at %d levels of load.", len(levels)),
		Caption:     caption, Table: stepTable(levels, axis),
	}}
}

// repetitionSection shows how much the repetitions differ.
func repetitionSection(j judge.Judgement) doc.Section {
	s := doc.Section{ID: "repetitions", Title: "Repetitions"}
	if len(j.Repetitions) < 2 {
		return s
	}
	iops := len(j.Calibrations) > 0 || j.Capacity != nil
	unit := "MB/s"
	if iops {
		unit = "IOPS"
	}
	points := chart.Line{Name: "repetition"}
	f := chart.Steps{Axis: "repetition", Knee: -1}
	t := &doc.Table{Columns: doc.Columns(1, 0,
		"Repetition", "MB/s", "IOPS", "Mean", "p50", "p95", "p99", "p99.9", "Max", "Steady")}
	var rates []string
	for i, sum := range j.Repetitions {
		v, text := float64(sum.Total.BytesPerSecond)/1e6, human.Megabytes(sum.Total.BytesPerSecond)
		if iops {
			v, text = float64(sum.Total.OperationsPerSecond), fmt.Sprint(sum.Total.OperationsPerSecond)
		}
		rates = append(rates, text)
		f.Levels = append(f.Levels, fmt.Sprint(sum.Repetition))
		points.Points = append(points.Points, chart.Point{X: float64(i), Y: v})
		steady := doc.Unknown
		if sum.Steadiness.Known {
			steady = map[bool]string{true: "yes", false: "no"}[sum.Steadiness.Steady]
		}
		t.Row(append(directionCells(fmt.Sprint(sum.Repetition), sum.Total), steady)...)
	}
	f.Panels = []chart.Panel{{Title: "Each repetition, " + unit, Unit: unit, Lines: []chart.Line{points}}}
	line := strings.Join(rates, "  ") + " " + unit
	if v := j.VariationPermille; v != nil {
		line += ", variation " + human.Share(*v)
		s.Lead = "They vary by " + human.Share(*v) + " (coefficient of variation)." +
			" The median stands for all; it was really measured, not averaged."
	}
	line += fmt.Sprintf("; shown is the median, number %d", j.Summary.Repetition)
	s.Add(doc.Block{In: doc.TextOnly, Facts: []doc.Fact{{Label: "repeated", Text: line}}},
		doc.Block{Figure: &doc.Figure{
			ID: "repetitions", Title: "Throughput of each repetition", Draw: f.SVG,
			Description: fmt.Sprintf("%d repetitions, from zero.", len(f.Levels)),
			Caption:     fmt.Sprintf("Repetition %d is the median, which stands for all.", j.Summary.Repetition),
		}}, doc.Block{In: doc.HTMLOnly, Table: t})
	return s
}
