package chart

import (
	"fmt"
	"math"

	"github.com/nfsbench/nfsbench/internal/human"
)

// Steps draws panels below each other over the same levels of load: X of a point is the index of its level.
type Steps struct {
	Levels []string // in order, such as numbers of users
	Axis   string   // what the levels are
	Panels []Panel
	Knee   int // index of the level at the knee; -1 = none
}

// SVG draws the panels.
func (s Steps) SVG(f Frame) string {
	p := newPlot(f, -.5, float64(len(s.Levels))-.5)
	y := 0.0
	for _, panel := range s.Panels {
		y = s.panel(p, panel, y) + 12
	}
	ticks := make([]float64, len(s.Levels))
	for i := range ticks {
		ticks[i] = float64(i)
	}
	return p.across(y-12, ticks, func(i float64) string { return s.Levels[int(i)] }, s.Axis)
}

func (s Steps) panel(p *plot, n Panel, y float64) float64 {
	n.Height = 150
	y = p.heading(n, y)
	bottom := y + n.Height
	ys, ticks := n.axis(y, bottom, 1.05)
	p.grid(ys, ticks, tickText(ticks))
	if s.Knee >= 0 && s.Knee < len(s.Levels) {
		p.knee(float64(s.Knee), y, bottom)
	}
	for i, l := range n.Lines {
		s.line(p, n.Unit, l, i, ys)
	}
	p.limits(n, ys)
	return bottom
}

func (s Steps) line(p *plot, unit string, l Line, i int, ys scale) {
	p.path(p.polyline(runs(l.Points), ys), lineClass(i), "")
	for k, pt := range l.Points {
		if !finite(pt.Y) || k >= len(s.Levels) {
			continue
		}
		x := p.x.at(pt.X)
		title := fmt.Sprintf("%s %s, %s: %s %s", s.Levels[k], s.Axis, l.Name, human.Digits(pt.Y), unit)
		if k < len(l.Ranges) && l.Ranges[k].High > l.Ranges[k].Low {
			r := l.Ranges[k]
			title += fmt.Sprintf(" (%s to %s)", human.Digits(r.Low), human.Digits(r.High))
			left, low, high := num(x-4), num(ys.at(r.Low)), num(ys.at(r.High))
			p.path("M"+num(x)+" "+low+"V"+high+"M"+left+" "+low+"h8M"+left+" "+high+"h8", "whisker", "")
		}
		p.mark(x, ys.at(pt.Y), 3.6, i%4, pointClass(i), title)
	}
}

// Order shows values by the position at which they were measured, as their distance from the usual value of their
// group, in percent: a drift over time is visible, however the groups differ.
type Order struct {
	Groups []string
	Points []OrderPoint
}

// OrderPoint is one measurement.
type OrderPoint struct {
	Position float64 // from 1
	Group    int     // index of Groups
	Percent  float64
	Text     string // for its tooltip
}

// SVG draws the order plot.
func (o Order) SVG(f Frame, title string) string {
	last, spread := 1.0, .5
	for _, pt := range o.Points {
		if finite(pt.Position) && finite(pt.Percent) {
			last, spread = bounded(pt.Position, last, 1e6), max(spread, math.Abs(pt.Percent))
		}
	}
	p := newPlot(f, .5, last+.5)
	p.text(0, 12, start, "head", short(title, p.x.to))
	const maxShapes = 6 // more groups cannot be told apart
	y := rowHeight
	if len(o.Groups) > 1 && len(o.Groups) <= maxShapes {
		y = rowHeight + p.legend(0, y, o.Groups, func(i int, x, y float64) { p.mark(x+16, y, 4, i, pointClass(i), "") })
	}
	y += 4
	bottom := y + 170
	ys, ticks := linear(-spread, spread, 5, bottom, y)
	p.grid(ys, ticks, percentText(ticks))
	for _, pt := range o.Points {
		if finite(pt.Percent) {
			shape := pt.Group
			if len(o.Groups) > maxShapes {
				shape = 0
			}
			p.mark(p.x.at(pt.Position), ys.at(pt.Percent), 4, shape, pointClass(shape), pt.Text)
		}
	}
	d := max(step(last, int(max(f.Width/60, 2))), 1)
	var positions []float64
	for t := d; t <= last; t += d {
		positions = append(positions, t)
	}
	return p.across(bottom, positions, num, "position in the order of the run")
}
