package html

import (
	"fmt"
	"math"

	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/report"
	"github.com/nfsbench/nfsbench/internal/report/chart"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// stepsSection is throughput and latency against the level of load.
func stepsSection(r runfile.Result, j judge.Judgement) section {
	s := section{ID: "steps", Title: "Levels of load"}
	kinds := []struct{ kind, axis string }{
		{runfile.StepUsers, "users"}, {runfile.StepSmallReads, "small reads at once"}, {runfile.StepLargeReads, "large reads at once"},
	}
	for _, k := range kinds {
		var levels []judge.StepSummary
		for _, step := range j.Steps {
			if step.Kind == k.kind {
				levels = append(levels, step)
			}
		}
		if len(levels) > 1 {
			s.add(stepFigure(r, j, levels, k.axis))
		}
	}
	return s
}

func stepFigure(r runfile.Result, j judge.Judgement, levels []judge.StepSummary, axis string) block {
	f := chart.Steps{Axis: axis, Knee: -1}
	rate := chart.StepPanel{Title: "Throughput, MB/s", Unit: "MB/s", Lines: []chart.StepLine{{Name: "median"}}}
	mean, p99 := chart.StepLine{Name: "mean"}, chart.StepLine{Name: "99th percentile"}
	t := &table{Heads: heads(1, capital(axis)[:len(axis)], "MB/s", "IOPS", "Mean", "p99", "Wire", "")}
	if j.Wire != nil {
		rate.Limits = []chart.Limit{{Label: "wire limit " + report.Rate(j.Wire.ReadBytesPerSecond) + " MB/s", Value: float64(j.Wire.ReadBytesPerSecond) / 1e6}}
	}
	if l := levels[0].Summary.Total.Latency; l != nil && l.Bucketed {
		p99.Name += ", at most"
	}
	for i, l := range levels {
		f.Levels = append(f.Levels, fmt.Sprint(l.Users))
		low, high := stepRange(r, l)
		v := float64(l.Summary.Total.BytesPerSecond) / 1e6
		rate.Lines[0].Values = append(rate.Lines[0].Values, chart.Spread{Value: v, Low: min(low, v), High: max(high, v)})
		m, p := stepLatency(l)
		mean.Values, p99.Values = append(mean.Values, m), append(p99.Values, p)
		mark := ""
		if l.Knee {
			f.Knee, mark = i, "knee"
		}
		cells := latencyCells(l.Summary.Total.Latency)
		t.row(fmt.Sprint(l.Users), report.Rate(l.Summary.Total.BytesPerSecond), fmt.Sprint(l.Summary.Total.OperationsPerSecond), cells[0], cells[3], percentText(l.WirePermille), mark)
	}
	f.Panels = []chart.StepPanel{rate, {Title: "Latency, ms", Unit: "ms", Lines: []chart.StepLine{mean, p99}}}
	caption := "Points are medians of the rounds, lines over them go from the lowest to the highest."
	if f.Knee >= 0 {
		caption += " Beyond the knee more load gives latency and hardly throughput."
	}
	fig := figureOf("steps-"+levels[0].Kind, "Throughput and latency by "+axis, fmt.Sprintf("Throughput, mean latency and 99th percentile at %d levels of load.", len(levels)), f.SVG)
	return fig.with(caption, t)
}

func stepLatency(l judge.StepSummary) (mean, p99 chart.Spread) {
	none := chart.Spread{Value: math.NaN()}
	mean, p99 = none, none
	if t := l.Summary.Total.Latency; t != nil {
		v := float64(t.MeanMicroseconds) / 1000
		mean = chart.Spread{Value: v, Low: v, High: v}
		if !t.MeanOnly {
			v := float64(t.P99Microseconds) / 1000
			p99 = chart.Spread{Value: v, Low: v, High: v}
		}
	}
	return mean, p99
}

// stepRange is the lowest and the highest throughput of the rounds of a level, in
// MB/s.
func stepRange(r runfile.Result, l judge.StepSummary) (low, high float64) {
	rates := map[int32]float64{}
	for _, cl := range r.Clients {
		for _, rep := range cl.Load.Repetitions {
			s := rep.Step
			seconds := rep.End.Sub(rep.Start).Seconds()
			if s == nil || s.Warmup || s.Kind != l.Kind || s.Users != l.Users || seconds <= 0 {
				continue
			}
			for _, o := range []*runfile.Ops{rep.Read, rep.Write} {
				if o != nil {
					rates[rep.Index] += float64(o.Bytes) / seconds / 1e6
				}
			}
		}
	}
	low = math.Inf(1)
	for _, v := range rates {
		low, high = min(low, v), max(high, v)
	}
	return low, high
}

// repetitionSection is how much the repetitions differ.
func repetitionSection(j judge.Judgement) section {
	s := section{ID: "repetitions", Title: "Repetitions"}
	if len(j.Repetitions) < 2 {
		return s
	}
	iops := len(j.Calibrations) > 0
	unit := "MB/s"
	if iops {
		unit = "IOPS"
	}
	bars := make([]chart.Repetition, 0, len(j.Repetitions))
	t := &table{Heads: heads(1, "Repetition", "MB/s", "IOPS", "Mean", "p50", "p95", "p99", "p99.9", "Max", "Steady")}
	for _, sum := range j.Repetitions {
		v, text := float64(sum.Total.BytesPerSecond)/1e6, report.Rate(sum.Total.BytesPerSecond)
		if iops {
			v, text = float64(sum.Total.OperationsPerSecond), fmt.Sprint(sum.Total.OperationsPerSecond)
		}
		bars = append(bars, chart.Repetition{Label: fmt.Sprint(sum.Repetition), Value: v, Text: text + " " + unit, Shown: sum.Repetition == j.Summary.Repetition})
		cells := append([]string{fmt.Sprint(sum.Repetition), report.Rate(sum.Total.BytesPerSecond), fmt.Sprint(sum.Total.OperationsPerSecond)}, latencyCells(sum.Total.Latency)...)
		t.row(append(cells, steadyText(sum.Steadiness))...)
	}
	if v := j.VariationPermille; v != nil {
		s.Lead = "They vary by " + report.Tenths(*v) + " % (coefficient of variation). The median stands for all; it was really measured, not averaged."
	}
	f := figureOf("repetitions", "Throughput of each repetition", fmt.Sprintf("%d repetitions, from zero.", len(bars)), func(f chart.Frame) string { return chart.Repetitions(f, bars, unit) })
	s.add(f.with("", nil), block{Table: t})
	return s
}

func steadyText(f judge.SteadinessFact) string {
	switch {
	case !f.Known:
		return unknown
	case f.Steady:
		return "yes"
	default:
		return "no"
	}
}
