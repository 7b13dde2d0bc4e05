package report

import (
	"fmt"
	"math"

	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/report/chart"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// axis draws on the time axis of a history.
type axis struct{ *measure.History }

// line returns a line with the value of each interval; NaN is a gap.
func (c axis) line(name string, of func(measure.Slot) float64) chart.Line {
	l := chart.Line{Name: name, Points: make([]chart.Point, 0, len(c.Slots))}
	for i, s := range c.Slots {
		y := math.NaN()
		if s.Clients > 0 {
			y = of(s)
		}
		l.Points = append(l.Points, chart.Point{X: (float64(i) + .5) * c.Interval, Y: y})
	}
	return l
}

// directions returns a line of each direction in use.
func (c axis) directions(of func(measure.SlotOps) float64) []chart.Line {
	var out []chart.Line
	if !c.Writes {
		out = append(out, c.line("read", func(s measure.Slot) float64 { return of(s.Read) }))
	}
	if c.Both || c.Writes {
		out = append(out, c.line("write", func(s measure.Slot) float64 { return of(s.Write) }))
	}
	return out
}

// bands returns the windows with their names.
func (c axis) bands() []chart.Band {
	var out []chart.Band
	levels := map[string]bool{}
	for _, step := range c.Steps {
		if step != nil {
			levels[levelName(step)] = true
		}
	}
	at := 0.0
	for _, w := range c.Windows() {
		if w[0].Clients > 0 {
			out = append(out, chart.Band{
				From: at * c.Interval, To: (at + float64(len(w))) * c.Interval,
				Label: c.windowName(w[0].Span, w[0].Repetition, len(levels)), Shaded: w[0].Span == runfile.SpanWarmup,
			})
		}
		at += float64(len(w))
	}
	return out
}

// windowName names a window by its number, or by its level of load if there are several.
func (c axis) windowName(span string, repetition int32, levels int) string {
	switch step := c.Steps[repetition]; {
	case span == runfile.SpanWarmup:
		return "warm-up"
	case step != nil && levels > 1:
		return levelName(step)
	case len(c.Steps) < 2:
		return "measured"
	default:
		return fmt.Sprintf("repetition %d", repetition)
	}
}

// levelName names a level of load as briefly as possible.
func levelName(s *runfile.Step) string {
	if s.Kind == runfile.StepRate {
		return human.Operations(float64(s.OperationsPerSecond)) + "/s"
	}
	return fmt.Sprint(s.Users)
}
