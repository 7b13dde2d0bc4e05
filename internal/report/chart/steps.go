package chart

import (
	"fmt"
	"math"
)

// Steps is panels below each other over the same levels of load.
type Steps struct {
	Levels []string // in order, such as numbers of users
	Axis   string   // what the levels are
	Panels []StepPanel
	Knee   int // index of the level at the knee; -1 = none
}

// StepPanel is one figure by level.
type StepPanel struct {
	Title, Unit string
	Lines       []StepLine
	Limits      []Limit
}

// StepLine is one line over the levels.
type StepLine struct {
	Name   string
	Values []Spread // one for each level
}

// Spread is a value with how far the repetitions lie apart. A value that is not
// a number is a gap; without repetitions Low and High are as Value.
type Spread struct{ Value, Low, High float64 }

// SVG draws the panels.
func (s Steps) SVG(f Frame) string {
	p := &plot{canvas: newCanvas(f), left: 52, right: f.Width - 10}
	p.x = scale{low: -.5, high: float64(len(s.Levels)) - .5, from: p.left, to: p.right}
	y := 0.0
	for _, panel := range s.Panels {
		y = s.panel(p, panel, y) + 12
	}
	y -= 12
	return p.done(s.axis(p, y))
}

const stepHeight = 150.0

func (s Steps) panel(p *plot, n StepPanel, y float64) float64 {
	named := Panel{Title: n.Title}
	top := 0.0
	for _, l := range n.Lines {
		line := Line{Name: l.Name}
		for i, v := range l.Values {
			line.Points = append(line.Points, Point{float64(i), v.Value}, Point{float64(i), v.High})
		}
		named.Lines = append(named.Lines, line)
	}
	named.Limits = n.Limits
	y = p.heading(named, y)
	bottom := y + stepHeight
	top = highest(named.Lines) * 1.05
	limits := shownLimits(named)
	for _, l := range limits {
		top = max(top, l.Value*1.1)
	}
	ys, ticks := linear(0, top, 4, bottom, y)
	text := tickText(ticks)
	for _, t := range ticks {
		p.line(p.left, ys.at(t), p.right, ys.at(t), gridClass(t))
		p.text(p.left-6, ys.at(t)+4, end, "tick", text(t))
	}
	if s.Knee >= 0 && s.Knee < len(s.Levels) {
		x := p.x.at(float64(s.Knee))
		p.line(x, y, x, bottom, "mark")
		p.text(x+5, bottom-6, start, "note", "knee")
	}
	for i, l := range n.Lines {
		s.line(p, n, l, i, ys)
	}
	for _, l := range limits {
		p.line(p.left, ys.at(l.Value), p.right, ys.at(l.Value), "limit")
		p.text(p.right, ys.at(l.Value)-4, end, "note", short(l.Label, p.right-p.left))
	}
	return bottom
}

func (s Steps) line(p *plot, n StepPanel, l StepLine, i int, ys scale) {
	var points []Point
	for k, v := range l.Values {
		points = append(points, Point{float64(k), v.Value})
	}
	p.path(p.polyline(runs(points), ys), lineClass(i), "")
	for k, v := range l.Values {
		if !finite(v.Value) || k >= len(s.Levels) {
			continue
		}
		x := p.x.at(float64(k))
		title := fmt.Sprintf("%s %s, %s: %s %s", s.Levels[k], s.Axis, l.Name, digits(v.Value), n.Unit)
		if v.High > v.Low {
			title += fmt.Sprintf(" (%s to %s)", digits(v.Low), digits(v.High))
			p.path(whisker(x, ys.at(v.Low), ys.at(v.High)), "whisker", "")
		}
		p.mark(x, ys.at(v.Value), 3.6, i%4, fmt.Sprintf("pt p%d", i%4), title)
	}
}

func whisker(x, low, high float64) string {
	return "M" + num(x) + " " + num(low) + "V" + num(high) + "M" + num(x-4) + " " + num(low) + "h8M" + num(x-4) + " " +
		num(high) + "h8"
}

// axis writes the levels, as many as have room.
func (s Steps) axis(p *plot, y float64) float64 {
	widest := 0.0
	for _, l := range s.Levels {
		widest = max(widest, width(l))
	}
	every := 1
	for len(s.Levels) > 0 && float64(every)*(p.right-p.left)/float64(len(s.Levels)) < widest+6 {
		every++
	}
	for i, l := range s.Levels {
		x := p.x.at(float64(i))
		p.line(x, y, x, y+4, "axis")
		if i%every == 0 {
			p.text(x, y+17, middle, "tick", l)
		}
	}
	p.text(p.left, y+33, start, "mute", s.Axis)
	return y + 38
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
		class := "bar b0"
		if !r.Shown {
			class = "bar b4"
		}
		c.text(label, y+14, end, "tick", short(r.Label, label))
		c.rect(x.from, y+3, x.at(r.Value)-x.from, 15, class, fmt.Sprintf("repetition %d: %s %s", i+1, digits(r.Value), unit))
		c.text(x.at(r.Value)+6, y+14, start, "note", r.Text+shownText(r.Shown))
		y += 22
	}
	c.line(x.from, 0, x.from, y, "axis")
	return c.done(y + 2)
}

func shownText(shown bool) string {
	if shown {
		return " ◄ median"
	}
	return ""
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
	p := &plot{canvas: newCanvas(f), left: 52, right: f.Width - 10}
	last, spread := 1.0, .5
	for _, pt := range o.Points {
		if finite(pt.Position) && finite(pt.Percent) {
			last, spread = bounded(pt.Position, last, 1e6), max(spread, math.Abs(pt.Percent))
		}
	}
	y := o.legend(p, title)
	bottom := y + 170
	p.x = scale{low: .5, high: last + .5, from: p.left, to: p.right}
	ys, ticks := linear(-spread, spread, 5, bottom, y)
	text := tickText(ticks)
	for _, t := range ticks {
		p.line(p.left, ys.at(t), p.right, ys.at(t), gridClass(t))
		p.text(p.left-6, ys.at(t)+4, end, "tick", signed(text(t), t)+"%")
	}
	for _, pt := range o.Points {
		if finite(pt.Percent) {
			p.mark(p.x.at(pt.Position), ys.at(pt.Percent), 4, o.shape(pt.Group), "pt "+o.class(pt.Group), pt.Text)
		}
	}
	d := max(step(last, int(max(f.Width/60, 2))), 1)
	for t := d; t <= last; t += d {
		p.line(p.x.at(t), bottom, p.x.at(t), bottom+4, "axis")
		p.text(p.x.at(t), bottom+17, middle, "tick", num(t))
	}
	p.text(p.left, bottom+33, start, "mute", short("position in the order of the run", p.right-p.left))
	return p.done(bottom + 38)
}

func signed(text string, v float64) string {
	if v > 0 {
		return "+" + text
	}
	return text
}

// maxShapes is how many groups can be told apart.
const maxShapes = 6

func (o Order) shape(group int) int {
	if len(o.Groups) > maxShapes {
		return MarkCircle
	}
	return group
}

func (o Order) class(group int) string {
	if len(o.Groups) > maxShapes {
		return "p0"
	}
	return fmt.Sprintf("p%d", group%4)
}

// legend names the groups by their marks, where they can be told apart.
func (o Order) legend(p *plot, title string) float64 {
	p.text(0, 12, start, "head", short(title, p.right))
	if len(o.Groups) > maxShapes || len(o.Groups) < 2 {
		return rowHeight + 4
	}
	x, y := 0.0, rowHeight
	for i, g := range o.Groups {
		g = short(g, p.right-20)
		if w := width(g) + 36; x > 0 && x+w > p.right {
			x, y = 0, y+rowHeight
		}
		p.mark(x+6, y+8, 4, o.shape(i), "pt "+o.class(i), "")
		p.text(x+16, y+12, start, "note", g)
		x += width(g) + 36
	}
	return y + rowHeight + 4
}
