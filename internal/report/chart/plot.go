package chart

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Panel is one plot with an axis from zero upwards.
type Panel struct {
	Title  string // what, and in which unit
	Unit   string // for tooltips
	Lines  []Line
	Limits []Mark
	Height float64 // of the plot
	Max    float64 // end of the axis; 0 = a round number above the lines
}

// Line is one line. Its index in the panel selects its dashes and its colour.
type Line struct {
	Name   string
	Points []Point
	Ranges []Range // in Steps, the range of the repetitions of each point; can be empty
}

// Range holds the lowest and the highest value.
type Range struct{ Low, High float64 }

// Point is one value of a line. A Y that is not a number is a gap.
type Point struct{ X, Y float64 }

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Mark is a value with a name, such as a limit or a percentile.
type Mark struct {
	Label string
	Value float64
}

// plot is a canvas with a horizontal axis, which all its panels share.
type plot struct {
	*canvas
	x scale
}

// newPlot leaves room for the labels of the vertical axes.
func newPlot(f Frame, low, high float64) *plot {
	return &plot{newCanvas(f), scale{low: low, high: high, from: 52, to: f.Width - 10}}
}

// tickRoom is the space above the plot for the label of its highest tick.
const tickRoom = 7.0

// heading draws the title of a panel and, if there are several lines, their names, in further rows if they do not
// fit. It returns the top of the plot.
func (p *plot) heading(n Panel, y float64) float64 {
	title := short(n.Title, p.x.to)
	p.text(0, y+12, start, "head", title)
	if len(n.Lines) < 2 {
		return y + rowHeight + tickRoom
	}
	names := make([]string, 0, len(n.Lines))
	for _, l := range n.Lines {
		names = append(names, l.Name)
	}
	y = p.legend(width(title)*1.08+16, y, names, func(i int, x, y float64) { p.line(x, y, x+24, y, lineClass(i)) })
	return y + rowHeight + tickRoom
}

// legend draws names of lines or groups behind their samples, from x on and in further rows if they do not fit. It
// returns the last row.
func (p *plot) legend(x, y float64, names []string, sample func(i int, x, y float64)) float64 {
	const room = 44
	need := 0.0
	for _, name := range names {
		need += width(name) + room
	}
	if x > 0 && x+need > p.x.to {
		x, y = 0, y+rowHeight
	}
	for i, name := range names {
		name = short(name, p.x.to-room)
		if x > 0 && x+width(name)+room > p.x.to {
			x, y = 0, y+rowHeight
		}
		sample(i, x, y+8)
		p.text(x+29, y+12, start, "note", name)
		x += width(name) + room
	}
	return y
}

// axis returns the vertical axis of a panel with its ticks. It ends at headroom times the highest line.
func (n Panel) axis(top, bottom, headroom float64) (scale, []float64) {
	most := n.Max
	if most == 0 {
		most = Highest(n.Lines) * headroom
		for _, l := range n.shownLimits() {
			most = max(most, l.Value*1.1)
		}
	}
	ys, ticks := linear(0, most, int(max(n.Height/34, 2)), bottom, top)
	if n.Max > 0 {
		ys.high = n.Max
		ticks = slices.DeleteFunc(ticks, func(t float64) bool { return t > n.Max })
	}
	return ys, ticks
}

// grid draws a line across the plot at each tick of its vertical axis, with its
// label.
func (p *plot) grid(ys scale, ticks []float64, label func(float64) string) {
	for _, t := range ticks {
		class := "grid"
		if t == 0 {
			class = "axis"
		}
		p.line(p.x.from, ys.at(t), p.x.to, ys.at(t), class)
		p.text(p.x.from-6, ys.at(t)+4, end, "tick", label(t))
	}
}

// shownLimits returns the limits that are not far above the lines: a limit at ten times the load would flatten the
// lines.
func (n Panel) shownLimits() []Mark {
	var out []Mark
	for _, l := range n.Limits {
		if l.Value > 0 && l.Value <= 3*Highest(n.Lines) {
			out = append(out, l)
		}
	}
	return out
}

func (p *plot) limits(n Panel, ys scale) {
	for _, l := range n.shownLimits() {
		p.line(p.x.from, ys.at(l.Value), p.x.to, ys.at(l.Value), "limit")
		p.text(p.x.to, ys.at(l.Value)-4, end, "note", short(l.Label, p.x.to-p.x.from))
	}
}

// across ends a figure with its horizontal axis at y: the ticks, the labels that fit, and the caption.
func (p *plot) across(y float64, ticks []float64, label func(float64) string, caption string) string {
	free := 0.0
	for _, t := range ticks {
		x, half := p.x.at(t), width(label(t))/2
		p.line(x, y, x, y+4, "axis")
		if at := min(max(x, half), p.x.to+8-half); at-half >= free {
			p.text(at, y+17, middle, "tick", label(t))
			free = at + half + 4
		}
	}
	if caption == "" {
		return p.done(y + 24)
	}
	p.text(p.x.from, y+33, start, "mute", short(caption, p.x.to-p.x.from))
	return p.done(y + 38)
}

// curves draws lines with a mark at each point that has a tooltip.
func (p *plot) curves(lines []Line, ys scale, tooltip func(Line, Point) string) {
	for i, l := range lines {
		if len(l.Points) == 0 {
			continue
		}
		p.path("M"+p.through(l.Points, ys), lineClass(i), "")
		for _, pt := range l.Points {
			if title := tooltip(l, pt); title != "" {
				p.mark(p.x.at(pt.X), ys.at(pt.Y), 3.3, i%4, pointClass(i), title)
			}
		}
	}
}

// knee marks the level from which more load hardly adds throughput.
func (p *plot) knee(at, top, bottom float64) {
	x := p.x.at(at)
	p.line(x, top, x, bottom, "mark")
	p.text(x+5, bottom-6, start, "note", "knee")
}

// lineClass is the style of the i-th line: s0 solid, s1 dashed, ...
func lineClass(i int) string { return fmt.Sprintf("ln s%d", i%4) }

// pointClass is the style of the points of the i-th line or group.
func pointClass(i int) string { return fmt.Sprintf("pt p%d", i%4) }

func (p *plot) polyline(parts [][]Point, ys scale) string {
	var b strings.Builder
	for _, part := range parts {
		b.WriteString("M" + p.through(part, ys))
		if len(part) == 1 { // a line of no length has a round end: a dot
			b.WriteString("h.1")
		}
	}
	return b.String()
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

// runs splits points at gaps.
func runs(points []Point) [][]Point {
	var out [][]Point
	begin := 0
	for i := range len(points) + 1 {
		if i < len(points) && finite(points[i].Y) {
			continue
		}
		if i > begin {
			out = append(out, points[begin:i])
		}
		begin = i + 1
	}
	return out
}

// Highest returns the highest of all values that are numbers; 0 if there is none.
func Highest(lines []Line) float64 {
	most := 0.0
	for _, l := range lines {
		for _, p := range l.Points {
			if finite(p.Y) {
				most = max(most, p.Y)
			}
		}
		for _, r := range l.Ranges {
			if finite(r.High) {
				most = max(most, r.High)
			}
		}
	}
	return most
}
