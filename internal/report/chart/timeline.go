package chart

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/internal/human"
)

// Timeline draws panels below each other on one time axis, in seconds.
type Timeline struct {
	Panels   []Panel
	Bands    []Band
	Pauses   []Band // times without an answer; the label is the tooltip
	From, To float64
}

// Band is a part of the time axis.
type Band struct {
	From, To float64
	Label    string // written if there is room
	Shaded   bool   // is not counted, such as a warm-up
}

// SVG draws the timeline. Timelines with the same width, From and To have the same time axis.
func (t Timeline) SVG(f Frame) string {
	const longest = 1e9 // seconds, 30 years
	t.From = bounded(t.From, 0, longest)
	t.To = bounded(t.To, t.From+1, t.From+1+longest)
	p := newPlot(f, t.From, t.To)
	y, free := 2.0, p.x.from
	for _, b := range t.Bands {
		x1, x2, w := p.x.at(b.From), p.x.at(b.To), width(b.Label)
		if b.Label != "" && x2-x1 > w && (x1+x2-w)/2 >= free {
			p.text((x1+x2)/2, 13, middle, "mute", b.Label)
			y, free = 22, (x1+x2+w)/2+4
		}
	}
	for _, panel := range t.Panels {
		y = t.panel(p, panel, y) + 10
	}
	y -= 10
	d := timeStep(t.To-t.From, int(max((p.x.to-p.x.from)/90, 2)))
	var ticks []float64
	for at := math.Ceil(t.From/d) * d; at <= t.To+d/1e6; at += d {
		ticks = append(ticks, at)
	}
	caption := "since the start, minutes:seconds"
	if t.To >= 3600 {
		caption = "since the start, hours:minutes:seconds"
	}
	return p.across(y, ticks, Clock, caption)
}

func (t Timeline) panel(p *plot, n Panel, y float64) float64 {
	y = p.heading(n, y)
	bottom := y + n.Height
	ys, ticks := n.axis(y, bottom, 1)
	for _, b := range t.Bands {
		if x1, x2 := p.x.at(b.From), p.x.at(b.To); b.Shaded {
			p.rect(x1, y, x2-x1, bottom-y, "warm", "")
			p.line(x2, y, x2, bottom, "warm-end")
		}
	}
	for _, b := range t.Pauses {
		x1, x2 := p.x.at(bounded(b.From, t.From, t.To)), p.x.at(bounded(b.To, t.From, t.To))
		p.rect(x1, y, max(x2-x1, columnPixels), bottom-y, "pause", b.Label)
	}
	p.grid(ys, ticks, tickText(ticks))
	for i, l := range n.Lines {
		t.series(p, l, i, ys)
	}
	p.limits(n, ys)
	t.tooltips(p, n, y)
	return bottom
}

// columnPixels is the width of a column that points are reduced to.
const columnPixels = 1.5

// series draws a line. With more points than columns, it draws the mean of each column over an area from the lowest
// to the highest value.
func (t Timeline) series(p *plot, l Line, i int, ys scale) {
	n := int((p.x.to - p.x.from) / columnPixels)
	if len(l.Points) <= n {
		p.path(p.polyline(runs(l.Points), ys), lineClass(i), "")
		return
	}
	var means [][]Point
	var area strings.Builder
	for _, part := range columnRuns(reduce(l.Points, t.From, t.To, n), t.From, t.To) {
		means = append(means, part[0])
		slices.Reverse(part[1]) // along the highest, and back along the lowest
		area.WriteString("M" + p.through(part[2], ys) + "L" + p.through(part[1], ys) + "Z")
	}
	p.path(area.String(), fmt.Sprintf("env e%d", i%4), "")
	p.path(p.polyline(means, ys), lineClass(i), "")
}

// column summarizes all points of one pixel column.
type column struct {
	count          int
	low, high, sum float64
	gap            bool // something is missing here
}

func (c column) mean() float64 { return c.sum / float64(c.count) }

// reduce puts points into n columns between two ends and keeps the lowest and the highest of each, so that a dip of
// one second is visible in a figure of an hour.
func reduce(points []Point, from, to float64, n int) []column {
	columns := make([]column, n)
	for _, p := range points {
		i := int((p.X - from) / (to - from) * float64(n))
		if i == n && p.X <= to {
			i = n - 1
		}
		if i < 0 || i >= n || math.IsNaN(p.X) {
			continue
		}
		c := &columns[i]
		switch {
		case !finite(p.Y):
			c.gap = true
		case c.count == 0:
			*c = column{count: 1, low: p.Y, high: p.Y, sum: p.Y, gap: c.gap}
		default:
			c.count++
			c.sum += p.Y
			c.low, c.high = min(c.low, p.Y), max(c.high, p.Y)
		}
	}
	return columns
}

// columnRuns splits columns at gaps, and returns the mean, lowest and highest at the middle of each column.
func columnRuns(columns []column, from, to float64) [][3][]Point {
	var out [][3][]Point
	open := false
	for i, c := range columns {
		if c.count == 0 {
			open = open && !c.gap
			continue
		}
		if !open {
			out, open = append(out, [3][]Point{}), true
		}
		x := from + (float64(i)+.5)/float64(len(columns))*(to-from)
		for k, y := range []float64{c.mean(), c.low, c.high} {
			part := &out[len(out)-1][k]
			*part = append(*part, Point{x, y})
		}
	}
	return out
}

// tooltips draws invisible columns, whose tooltips show the values of each line.
func (t Timeline) tooltips(p *plot, n Panel, top float64) {
	const columns = 60
	texts := make([][]string, columns)
	for _, l := range n.Lines {
		for k, c := range reduce(l.Points, t.From, t.To, columns) {
			if c.count == 0 {
				continue
			}
			s := fmt.Sprintf("%s %s %s", l.Name, human.Digits(c.mean()), n.Unit)
			if c.high > c.low {
				s += fmt.Sprintf(" (%s to %s)", human.Digits(c.low), human.Digits(c.high))
			}
			texts[k] = append(texts[k], s)
		}
	}
	w, span := (p.x.to-p.x.from)/columns, (t.To-t.From)/columns
	for k, parts := range texts {
		if len(parts) > 0 {
			from := t.From + float64(k)*span
			p.rect(p.x.from+float64(k)*w, top, w, n.Height, "hit",
				Clock(from)+" to "+Clock(from+span)+": "+strings.Join(parts, ", "))
		}
	}
}
