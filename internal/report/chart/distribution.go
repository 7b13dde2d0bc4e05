package chart

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Distribution is how values spread over a logarithmic axis, in microseconds.
type Distribution struct {
	Name  string
	Bars  []Bar
	Marks []Mark // such as percentiles
}

// Bar is the part of all values between two bounds.
type Bar struct {
	From, To float64
	Share    float64 // of all, 0 to 1
}

// Mark is a value with a name.
type Mark struct {
	Label string
	Value float64
}

// Distributions draws histograms below each other on one latency axis.
func Distributions(f Frame, all []Distribution) string {
	c := newCanvas(f)
	left, right := 44.0, f.Width-10
	low, high := bounds(all)
	x, ticks := logarithmic(low, high, left, right)
	y := 0.0
	for i, d := range all {
		c.text(0, y+12, start, "head", short(d.Name, right))
		y = c.distribution(d, i, x, ticks, y+rowHeight) + 12
	}
	y -= 12
	latencyAxis(c, x, ticks, y)
	return c.done(y + 24)
}

func bounds(all []Distribution) (low, high float64) {
	for _, d := range all {
		for _, b := range d.Bars {
			if b.Share > 0 && b.From > 0 {
				low, high = min(cmp.Or(low, b.From), b.From), max(high, b.To)
			}
		}
		for _, m := range d.Marks {
			high = max(high, m.Value)
		}
	}
	return low, high
}

func latencyAxis(c *canvas, x scale, ticks []float64, y float64) {
	free := -1.0
	for _, t := range ticks {
		px, label := x.at(t), Microseconds(t)
		w := width(label)
		at := min(max(px, w/2), c.frame.Width-w/2)
		if at-w/2 < free {
			continue
		}
		c.line(px, y, px, y+4, "axis")
		c.text(at, y+17, middle, "tick", label)
		free = at + w/2 + 6
	}
}

const distributionHeight = 120.0

func (c *canvas) distribution(d Distribution, i int, x scale, ticks []float64, y float64) float64 {
	marks := slices.SortedFunc(slices.Values(d.Marks), func(a, b Mark) int { return cmp.Compare(a.Value, b.Value) })
	places, rows := placeMarks(marks, x), 0
	for _, p := range places {
		rows = max(rows, p.row+1)
	}
	top := y + 14*float64(rows) + 2
	bottom := top + distributionHeight
	most := 0.0
	for _, b := range d.Bars {
		most = max(most, b.Share)
	}
	ys, shares := linear(0, most*100, 3, bottom, top+4)
	text := tickText(shares)
	for _, s := range shares {
		c.line(x.from, ys.at(s), x.to, ys.at(s), gridClass(s))
		c.text(x.from-6, ys.at(s)+4, end, "tick", text(s)+"%")
	}
	for _, t := range ticks {
		c.line(x.at(t), top, x.at(t), bottom, "grid")
	}
	for _, b := range d.Bars {
		if b.Share > 0 {
			x1, x2 := x.at(b.From), x.at(b.To)
			c.rect(x1, min(ys.at(b.Share*100), bottom-.6), max(x2-x1-.6, .6), max(bottom-ys.at(b.Share*100), .6),
				fmt.Sprintf("bar b%d", i%4),
				fmt.Sprintf("%s to %s: %.3g %%", Microseconds(b.From), Microseconds(b.To), b.Share*100))
		}
	}
	for k, m := range marks {
		px, ly := x.at(m.Value), y+14*float64(places[k].row)
		c.line(px, ly+2, px, bottom, "mark")
		gap := 4.0
		if places[k].anchor == end {
			gap = -4
		}
		c.text(px+gap, ly+11, places[k].anchor, "note", markText(m))
	}
	return bottom
}

// placed is where the label of a mark stands: in which row, from which x on.
type placed struct {
	row      int
	from, to float64
	anchor   string
}

// placeMarks gives each label a row in which neither its text nor the line of
// another stands in its way. marks ascend. A label stands to the right of its
// line; where there is no room, or the line of such a label would go through it,
// it stands to the left.
func placeMarks(marks []Mark, x scale) []placed {
	out := make([]placed, len(marks))
	edge := x.to + 6
	for i := len(marks) - 1; i >= 0; i-- {
		px, w := x.at(marks[i].Value), width(markText(marks[i]))
		out[i] = placed{from: px, to: px + 4 + w, anchor: start}
		if out[i].to > edge {
			out[i] = placed{from: px - 4 - w, to: px, anchor: end}
			edge = min(edge, px)
		}
	}
	top := 0
	for i := range out {
		out[i].row = rowOf(out[:i], out[i])
		top = min(top, out[i].row)
	}
	for i := range out {
		out[i].row -= top
	}
	return out
}

// rowOf puts a label below those on its left that reach over its line, or, where
// it stands to the left of its line itself, above all whose lines it reaches over.
func rowOf(before []placed, p placed) int {
	row := 0
	for _, o := range before {
		if p.from >= o.to+3 || o.from >= p.to+3 {
			continue
		}
		if p.anchor == start {
			row = max(row, o.row+1)
		} else {
			row = min(row, o.row-1)
		}
	}
	return row
}

func markText(m Mark) string { return m.Label + " " + Microseconds(m.Value) }

// Curve is a latency by its percentile.
type Curve struct {
	Name   string
	Points []Quantile
}

// Quantile says that a share of all values is not above Value.
type Quantile struct {
	Share float64 // 0 to 1
	Value float64 // microseconds
}

// nines is where a share lies: 90 %, 99 %, 99.9 % are at equal distances.
func nines(share float64) float64 { return 1 / max(1-share, 1e-7) }

// Percentiles draws the latency that a share of all operations does not exceed.
// Both axes are logarithmic, that of the shares in nines.
func Percentiles(f Frame, curves []Curve) string {
	c := newCanvas(f)
	left, right, height := 52.0, f.Width-10, 210.0
	low, high, last := 0.0, 0.0, 10.0
	for _, k := range curves {
		for _, q := range k.Points {
			low, high, last = min(cmp.Or(low, q.Value), q.Value), max(high, q.Value), max(last, nines(q.Share))
		}
	}
	p := &plot{canvas: c, left: left, right: right, x: scale{low: 1, high: last, from: left, to: right, log: true}}
	y := p.heading(Panel{Title: "Latency by percentile", Lines: linesOf(curves)}, 0)
	bottom := y + height
	ys, ticks := logarithmic(low, high, bottom, y+6)
	for _, t := range ticks {
		c.line(left, ys.at(t), right, ys.at(t), "grid")
		c.text(left-6, ys.at(t)+4, end, "tick", Microseconds(t))
	}
	free := 0.0
	for _, t := range percentileTicks(last) {
		px, half := p.x.at(nines(t.Value)), width(t.Label)/2
		c.line(px, y+6, px, bottom+4, "grid")
		if at := min(max(px, half), right+8-half); at-half >= free {
			c.text(at, bottom+17, middle, "tick", t.Label)
			free = at + half + 4
		}
	}
	c.line(left, bottom, right, bottom, "axis")
	for i, k := range curves {
		c.curve(k, i, p.x, ys)
	}
	return c.done(bottom + 24)
}

func linesOf(curves []Curve) []Line {
	var lines []Line
	for _, k := range curves {
		lines = append(lines, Line{Name: k.Name})
	}
	return lines
}

func percentileTicks(last float64) []Mark {
	var out []Mark
	for _, m := range []Mark{
		{"0%", 0},
		{"50%", .5},
		{"90%", .9},
		{"99%", .99},
		{"99.9%", .999},
		{"99.99%", .9999},
		{"99.999%", .99999},
	} {
		if nines(m.Value) <= last*1.001 {
			out = append(out, m)
		}
	}
	return out
}

func (c *canvas) curve(k Curve, i int, x, ys scale) {
	if len(k.Points) == 0 {
		return
	}
	var d strings.Builder
	for _, q := range k.Points {
		d.WriteString(" " + num(x.at(nines(q.Share))) + " " + num(ys.at(q.Value)))
	}
	c.path("M"+strings.TrimSpace(d.String()), lineClass(i), "")
	for _, q := range k.Points {
		switch q.Share {
		case .5, .9, .99, .999, .9999, .99999:
			c.mark(x.at(nines(q.Share)), ys.at(q.Value), 3.2, i%4, fmt.Sprintf("pt p%d", i%4),
				fmt.Sprintf("%s: %g %% within %s", k.Name, q.Share*100, Microseconds(q.Value)))
		}
	}
}
