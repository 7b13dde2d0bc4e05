package chart

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Timeline is panels below each other on one time axis, in seconds.
type Timeline struct {
	Panels   []Panel
	Bands    []Band
	From, To float64
}

// Panel is one plot of a timeline, from zero upwards.
type Panel struct {
	Title  string // what, and in which unit
	Unit   string // for tooltips
	Lines  []Line
	Limits []Limit
	Height float64 // of the plot
	Max    float64 // end of the axis; 0 = a round number above the lines
}

// Line is one line. Its number in the panel gives its dashes and its colour.
type Line struct {
	Name   string
	Points []Point
}

// Limit is a level to compare with.
type Limit struct {
	Label string
	Value float64
}

// Band is a part of the time axis.
type Band struct {
	From, To float64
	Label    string // written where there is room
	Shaded   bool   // is not counted, such as a warm-up
}

// columnPixels is the width of a column that points are reduced to.
const columnPixels = 1.5

// plot is where the panels of a timeline are.
type plot struct {
	*canvas
	t           Timeline
	x           scale
	left, right float64
}

// SVG draws the timeline. Two timelines of one width and one From and To have
// their time at the same place.
func (t Timeline) SVG(f Frame) string {
	const longest = 1e9 // seconds, 30 years
	t.From = bounded(t.From, 0, longest)
	t.To = bounded(t.To, t.From+1, t.From+1+longest)
	p := &plot{canvas: newCanvas(f), t: t, left: 52, right: f.Width - 10}
	p.x = scale{low: t.From, high: t.To, from: p.left, to: p.right}
	y := p.bandLabels(2)
	for _, panel := range t.Panels {
		y = p.panel(panel, y) + 10
	}
	return p.done(p.timeAxis(y - 10))
}

// bandLabels writes the names of the bands in one row. What has no room is left
// out.
func (p *plot) bandLabels(y float64) float64 {
	free, written := p.left, false
	for _, b := range p.t.Bands {
		x1, x2 := p.x.at(b.From), p.x.at(b.To)
		if w := width(b.Label); b.Label != "" && x2-x1 > w && (x1+x2-w)/2 >= free {
			p.text((x1+x2)/2, y+11, middle, "mute", b.Label)
			free, written = (x1+x2+w)/2+4, true
		}
	}
	if !written {
		return y
	}
	return y + 20
}

func (p *plot) panel(n Panel, y float64) float64 {
	y = p.heading(n, y)
	bottom := y + n.Height
	top := n.Max
	limits := shownLimits(n)
	if top == 0 {
		top = highest(n.Lines)
		for _, l := range limits {
			top = max(top, l.Value*1.1)
		}
	}
	ys, ticks := linear(0, top, int(max(n.Height/34, 2)), bottom, y)
	if n.Max > 0 {
		ys.high = n.Max
		ticks = slices.DeleteFunc(ticks, func(t float64) bool { return t > n.Max })
	}
	p.bands(y, bottom)
	text := tickText(ticks)
	for _, t := range ticks {
		p.line(p.left, ys.at(t), p.right, ys.at(t), gridClass(t))
		p.text(p.left-6, ys.at(t)+4, end, "tick", text(t))
	}
	for i, l := range n.Lines {
		p.series(l, i, ys)
	}
	for _, l := range limits {
		p.line(p.left, ys.at(l.Value), p.right, ys.at(l.Value), "limit")
		p.text(p.right, ys.at(l.Value)-4, end, "note", short(l.Label, p.right-p.left))
	}
	p.hits(n, y)
	return bottom
}

func gridClass(t float64) string {
	if t == 0 {
		return "axis"
	}
	return "grid"
}

// shownLimits are those that are not far above the lines: a limit at ten times
// the load would make the load flat.
func shownLimits(n Panel) []Limit {
	var out []Limit
	for _, l := range n.Limits {
		if l.Value > 0 && l.Value <= 3*highest(n.Lines) {
			out = append(out, l)
		}
	}
	return out
}

// tickRoom is above the plot for the label of its highest tick.
const tickRoom = 7.0

// heading is the title of a panel, and the names of its lines where there are
// several, in a row of their own where one is too short.
func (p *plot) heading(n Panel, y float64) float64 {
	title := short(n.Title, p.right)
	p.text(0, y+12, start, "head", title)
	if len(n.Lines) < 2 {
		return y + rowHeight + tickRoom
	}
	x, need := width(title)*1.08+16, 0.0
	for _, l := range n.Lines {
		need += width(l.Name) + 44
	}
	if x+need > p.right {
		x, y = 0, y+rowHeight
	}
	for i, l := range n.Lines {
		p.line(x, y+8, x+24, y+8, lineClass(i))
		p.text(x+29, y+12, start, "note", l.Name)
		x += width(l.Name) + 44
	}
	return y + rowHeight + tickRoom
}

// lineClass is the style of the i-th line: s0 solid, s1 dashed, ...
func lineClass(i int) string { return fmt.Sprintf("ln s%d", i%4) }

func (p *plot) bands(top, bottom float64) {
	for _, b := range p.t.Bands {
		x1, x2 := p.x.at(b.From), p.x.at(b.To)
		if b.Shaded {
			p.rect(x1, top, x2-x1, bottom-top, "warm", "")
			p.line(x2, top, x2, bottom, "warm-end")
		}
	}
}

// series draws a line, or where there are more points than columns the mean of
// each column, with all that lay between its lowest and its highest behind it.
func (p *plot) series(l Line, i int, ys scale) {
	n := int((p.right - p.left) / columnPixels)
	if len(l.Points) <= n {
		p.path(p.polyline(runs(l.Points), ys), lineClass(i), "")
		return
	}
	parts := columnRuns(reduce(l.Points, p.t.From, p.t.To, n), p.t.From, p.t.To)
	means, area := make([][]Point, 0, len(parts)), strings.Builder{}
	for _, part := range parts {
		means = append(means, part[0])
		area.WriteString(p.outline(part[1], part[2], ys))
	}
	p.path(area.String(), fmt.Sprintf("env e%d", i%4), "")
	p.path(p.polyline(means, ys), lineClass(i), "")
}

func (p *plot) polyline(parts [][]Point, ys scale) string {
	var b strings.Builder
	for _, part := range parts {
		if len(part) == 1 { // a line of no length has a round end: a dot
			b.WriteString("M" + num(p.x.at(part[0].X)) + " " + num(ys.at(part[0].Y)) + "h.1")
			continue
		}
		b.WriteString("M" + p.through(part, ys))
	}
	return b.String()
}

// outline goes along the highest and back along the lowest.
func (p *plot) outline(low, high []Point, ys scale) string {
	back := make([]Point, 0, len(low))
	for _, pt := range slices.Backward(low) {
		back = append(back, pt)
	}
	return "M" + p.through(high, ys) + "L" + p.through(back, ys) + "Z"
}

func (p *plot) through(points []Point, ys scale) string {
	var b strings.Builder
	for i, pt := range points {
		if i > 0 {
			b.WriteString(" ")
		}
		b.WriteString(num(p.x.at(pt.X)) + " " + num(ys.at(pt.Y)))
	}
	return b.String()
}

// hitColumns is how many parts of the time tell their values when pointed at.
const hitColumns = 60

// hits are tooltips: invisible columns with what each line did in them.
func (p *plot) hits(n Panel, top float64) {
	all := make([][]column, len(n.Lines))
	for i, l := range n.Lines {
		all[i] = reduce(l.Points, p.t.From, p.t.To, hitColumns)
	}
	w := (p.right - p.left) / hitColumns
	span := (p.t.To - p.t.From) / hitColumns
	for k := range hitColumns {
		var parts []string
		for i, columns := range all {
			c := columns[k]
			if c.count == 0 {
				continue
			}
			s := fmt.Sprintf("%s %s %s", n.Lines[i].Name, digits(c.mean()), n.Unit)
			if c.high > c.low {
				s += fmt.Sprintf(" (%s to %s)", digits(c.low), digits(c.high))
			}
			parts = append(parts, s)
		}
		if len(parts) > 0 {
			from := p.t.From + float64(k)*span
			p.rect(p.left+float64(k)*w, top, w, n.Height, "hit",
				Clock(from)+" to "+Clock(from+span)+": "+strings.Join(parts, ", "))
		}
	}
}

// timeAxis writes the times below the last panel.
func (p *plot) timeAxis(y float64) float64 {
	d := timeStep(p.t.To-p.t.From, int(max((p.right-p.left)/90, 2)))
	last := p.right
	caption := "since the start, minutes:seconds"
	if p.t.To >= 3600 {
		caption = "since the start, hours:minutes:seconds"
	}
	for t := math.Ceil(p.t.From/d) * d; t <= p.t.To+d/1e6; t += d {
		x, label := p.x.at(t), Clock(t)
		if t == 0 {
			label = "0"
		}
		p.line(x, y, x, y+4, "axis")
		p.text(min(x, last-width(label)/2+8), y+17, middle, "tick", label)
	}
	p.text(p.left, y+33, start, "mute", short(caption, p.right-p.left))
	return y + 38
}
