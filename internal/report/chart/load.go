package chart

import (
	"cmp"
	"slices"

	"github.com/nfsbench/nfsbench/internal/human"
)

// LoadCurves draws latency over load. X of a point is operations a second. Y is microseconds, on a
// logarithmic axis.
type LoadCurves struct {
	Axis       string // label of the X axis
	Lines      []Line
	Bounds     []Mark // horizontal lines at latencies
	Capacities []CapacityMark
	Knee       float64 // at a value of X; 0 = none
}

// CapacityMark is a capacity with its interval. An unknown end of the interval is NaN.
type CapacityMark struct {
	Label            string
	Value, Low, High float64
}

// beyondCapacity is the end of the axis relative to the highest capacity. Levels far above it would
// compress those near it.
const beyondCapacity = 1.6

// SVG draws the curves.
func (l LoadCurves) SVG(f Frame) string {
	last := l.last()
	lines, low, high := l.shown(last)
	p := newPlot(f, 0, last)
	var xs []float64
	p.x, xs = linear(0, last, int(max(f.Width/90, 2)), p.x.from, p.x.to)
	y := p.heading(Panel{Title: "Latency over load", Lines: lines}, 0)
	top := y + rowHeight*float64(len(l.Capacities))
	bottom := top + 240
	ys, ticks := logarithmic(low, high, bottom, top)
	l.capacities(p, y, bottom)
	p.grid(ys, ticks, human.Latency[float64])
	p.line(p.x.from, bottom, p.x.to, bottom, "axis")
	for _, b := range l.Bounds {
		p.line(p.x.from, ys.at(b.Value), p.x.to, ys.at(b.Value), "limit")
		p.text(p.x.from+6, ys.at(b.Value)-4, start, "note", short(b.Label, p.x.to-p.x.from))
	}
	p.curves(lines, ys, func(k Line, pt Point) string {
		return k.Name + " at " + human.Operations(pt.X) + " operations/s: " + human.Latency(pt.Y)
	})
	if l.Knee > 0 && l.Knee <= last {
		p.knee(l.Knee, bottom-34, bottom)
	}
	return p.across(bottom, xs, human.Operations, l.Axis)
}

// shown returns the finite points within the axis, and the range of all latencies.
func (l LoadCurves) shown(last float64) (lines []Line, low, high float64) {
	for _, b := range l.Bounds {
		low, high = min(cmp.Or(low, b.Value), b.Value), max(high, b.Value*1.2)
	}
	for _, k := range l.Lines {
		shown := Line{Name: k.Name}
		for _, pt := range k.Points {
			if finite(pt.X) && finite(pt.Y) && pt.Y > 0 && pt.X <= last {
				shown.Points = append(shown.Points, pt)
				low, high = min(cmp.Or(low, pt.Y), pt.Y), max(high, pt.Y)
			}
		}
		lines = append(lines, shown)
	}
	return lines, low, high
}

// last returns the end of the load axis.
func (l LoadCurves) last() float64 {
	most, known := 1.0, 0.0
	for _, k := range l.Lines {
		for _, pt := range k.Points {
			if finite(pt.X) {
				most = max(most, pt.X)
			}
		}
	}
	for _, c := range l.Capacities {
		if finite(c.Value) {
			known = max(known, c.Value)
		}
	}
	if known > 0 {
		most = min(most, known*beyondCapacity)
	}
	return bounded(most, 1, 1e12)
}

// capacities draws the band of each interval, with each label in its own row. The highest capacity
// is at the top, so that no label crosses the line of a lower one.
func (l LoadCurves) capacities(p *plot, y, bottom float64) {
	descending := slices.SortedStableFunc(slices.Values(l.Capacities),
		func(a, b CapacityMark) int { return cmp.Compare(b.Value, a.Value) })
	for i, c := range descending {
		if !finite(c.Value) || c.Value <= 0 {
			continue
		}
		row := y + rowHeight*float64(i)
		x := p.x.at(c.Value)
		if finite(c.Low) && finite(c.High) && c.High > c.Low {
			from, to := p.x.at(c.Low), p.x.at(c.High)
			p.rect(from, row+4, max(to-from, 1), bottom-row-4, "warm", c.Label)
		}
		p.line(x, row+4, x, bottom, "mark")
		if width(c.Label)+8 > x {
			p.text(x+5, row+12, start, "note", short(c.Label, p.x.to-x))
		} else {
			p.text(x-5, row+12, end, "note", short(c.Label, x))
		}
	}
}
