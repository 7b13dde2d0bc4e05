package chart

import (
	"fmt"
	"math"
)

// Steps is panels below each other over the same levels of load: X of a point is
// the index of its level.
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
	y -= 12
	widest, every := 0.0, 1 // of so many levels one has room for its label
	for _, l := range s.Levels {
		widest = max(widest, width(l))
	}
	for len(s.Levels) > 0 && float64(every)*(p.x.to-p.x.from)/float64(len(s.Levels)) < widest+6 {
		every++
	}
	for i, l := range s.Levels {
		x := p.x.at(float64(i))
		p.line(x, y, x, y+4, "axis")
		if i%every == 0 {
			p.text(x, y+17, middle, "tick", l)
		}
	}
	return p.done(p.caption(y, s.Axis))
}

func (s Steps) panel(p *plot, n Panel, y float64) float64 {
	n.Height = 150
	y = p.heading(n, y)
	bottom := y + n.Height
	ys, ticks := n.axis(y, bottom, 1.05)
	p.grid(ys, ticks, tickText(ticks))
	if s.Knee >= 0 && s.Knee < len(s.Levels) {
		x := p.x.at(float64(s.Knee))
		p.line(x, y, x, bottom, "mark")
		p.text(x+5, bottom-6, start, "note", "knee")
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
		title := fmt.Sprintf("%s %s, %s: %s %s", s.Levels[k], s.Axis, l.Name, digits(pt.Y), unit)
		if k < len(l.Ranges) && l.Ranges[k].High > l.Ranges[k].Low {
			r := l.Ranges[k]
			title += fmt.Sprintf(" (%s to %s)", digits(r.Low), digits(r.High))
			left, low, high := num(x-4), num(ys.at(r.Low)), num(ys.at(r.High))
			p.path("M"+num(x)+" "+low+"V"+high+"M"+left+" "+low+"h8M"+left+" "+high+"h8", "whisker", "")
		}
		p.mark(x, ys.at(pt.Y), 3.6, i%4, pointClass(i), title)
	}
}

// Repetition is one bar of Repetitions.
type Repetition struct {
	Label string
	Value float64
	Text  string // the value with its unit
	Shown bool   // the one that stands for all
}

// Repetitions draws bars that lie, each with its value, from zero.
func Repetitions(f Frame, all []Repetition, unit string) string {
	c := newCanvas(f)
	label, value, most := 0.0, 0.0, 0.0
	for _, r := range all {
		label, value = max(label, width(r.Label)), max(value, width(r.Text))
		if finite(r.Value) {
			most = max(most, r.Value)
		}
	}
	label = min(label, f.Width/3)
	x := scale{low: 0, high: max(most, 1e-9), from: label + 10, to: f.Width - value - 90}
	y := 0.0
	for i, r := range all {
		class, note := "bar b4", ""
		if r.Shown {
			class, note = "bar b0", " ◄ median"
		}
		c.text(label, y+14, end, "tick", short(r.Label, label))
		c.rect(x.from, y+3, x.at(r.Value)-x.from, 15, class, fmt.Sprintf("repetition %d: %s %s", i+1, digits(r.Value), unit))
		c.text(x.at(r.Value)+6, y+14, start, "note", r.Text+note)
		y += 22
	}
	c.line(x.from, 0, x.from, y, "axis")
	return c.done(y + 2)
}

// Order is values by the position at which they were measured, as their distance
// from what is usual for their group, in percent: what drifts with time is seen
// whatever the groups differ in.
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
		y = o.legend(p)
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
	for t := d; t <= last; t += d {
		p.line(p.x.at(t), bottom, p.x.at(t), bottom+4, "axis")
		p.text(p.x.at(t), bottom+17, middle, "tick", num(t))
	}
	return p.done(p.caption(bottom, short("position in the order of the run", p.x.to-p.x.from)))
}

// legend names the groups by their marks.
func (o Order) legend(p *plot) float64 {
	x, y := 0.0, rowHeight
	for i, g := range o.Groups {
		g = short(g, p.x.to-20)
		if w := width(g) + 36; x > 0 && x+w > p.x.to {
			x, y = 0, y+rowHeight
		}
		p.mark(x+6, y+8, 4, i, pointClass(i), "")
		p.text(x+16, y+12, start, "note", g)
		x += width(g) + 36
	}
	return y + rowHeight
}
