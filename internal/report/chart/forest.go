package chart

import (
	"fmt"
	"math"
)

// Interval is one row of a forest plot: a difference in percent with its
// confidence interval. NaN is not known.
type Interval struct {
	Label      string
	Value      float64
	Low, High  float64
	Text       string // the numbers, written beside it
	Mark       int    // by outcome
	Class      string // of the outcome: better, worse or same
	Tooltip    string
	StartGroup string // heading before this row
}

// Forest is intervals below each other around zero.
type Forest struct {
	Rows        []Interval
	Band        float64 // within which a difference does not matter, in percent
	Left, Right string  // what the sides mean
}

const forestRow = 24.0

// forestPlot is where the parts of a row are.
type forestPlot struct {
	*canvas
	Forest
	x             scale
	label, figure float64 // widths of what is written on both sides; 0 = above
	height        float64 // of a row
}

// SVG draws the forest plot. On a narrow page what is written stands above each
// interval.
func (fo Forest) SVG(f Frame) string {
	p := &forestPlot{canvas: newCanvas(f), Forest: fo, height: forestRow}
	for _, r := range fo.Rows {
		p.label, p.figure = max(p.label, width(r.Label)), max(p.figure, width(r.Text))
	}
	p.label = min(p.label+12, f.Width*.3)
	p.figure = min(p.figure+14, f.Width*.36)
	if f.narrow() {
		p.label, p.figure, p.height = 0, 0, forestRow+16
	}
	low, high := fo.extent()
	var ticks []float64
	p.x, ticks = linear(low, high, int(max((f.Width-p.label-p.figure)/90, 3)), p.label+14, f.Width-p.figure-22)
	top := p.sides()
	bottom := top + fo.rowsHeight(p.height)
	p.grid(ticks, top, bottom)
	y := top
	for _, r := range fo.Rows {
		y = p.row(r, y)
	}
	return p.done(bottom + 20)
}

// extent holds all intervals, zero and the band, and some room.
func (fo Forest) extent() (low, high float64) {
	low, high = -fo.Band*1.6, fo.Band*1.6
	for _, r := range fo.Rows {
		for _, v := range []float64{r.Value, r.Low, r.High} {
			if finite(v) {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	// One wild interval must not make all others a dot.
	return math.Max(low, -300), math.Min(max(high, low+.1), 300)
}

func (fo Forest) rowsHeight(row float64) float64 {
	h := 8.0
	for _, r := range fo.Rows {
		h += row
		if r.StartGroup != "" {
			h += 22
		}
	}
	return h
}

// sides says above the rows which way is which.
func (p *forestPlot) sides() float64 {
	zero := p.x.at(0)
	room := width(p.Left)
	if zero-room-14 >= 0 {
		p.text(zero-10, 12, end, "mute", "◄ "+p.Left)
	}
	if right := width(p.Right); zero+right+24 <= p.frame.Width {
		p.text(zero+10, 12, start, "mute", p.Right+" ►")
	}
	return 20
}

func (p *forestPlot) grid(ticks []float64, top, bottom float64) {
	if p.Band > 0 {
		p.rect(p.x.at(-p.Band), top, p.x.at(p.Band)-p.x.at(-p.Band), bottom-top, "negligible",
			fmt.Sprintf("within %s %% it does not matter", digits(p.Band)))
	}
	text := tickText(ticks)
	for _, t := range ticks {
		class := "grid"
		if t == 0 {
			class = "zero"
		}
		p.line(p.x.at(t), top, p.x.at(t), bottom, class)
		p.text(p.x.at(t), bottom+15, middle, "tick", signed(text(t), t)+"%")
	}
}

func (p *forestPlot) row(r Interval, y float64) float64 {
	if r.StartGroup != "" {
		p.text(0, y+16, start, "head halo", short(r.StartGroup, p.frame.Width))
		y += 22
	}
	middleY := y + p.height/2 + 2
	if p.label == 0 {
		middleY = y + 26
		room := p.frame.Width - width(r.Text) - 12
		p.text(0, y+12, start, "note halo", short(r.Label, room))
		p.text(p.frame.Width, y+12, end, "fig halo", r.Text)
	} else {
		p.text(0, middleY+4, start, "note", short(r.Label, p.label))
		p.text(p.frame.Width, middleY+4, end, "fig", r.Text)
	}
	if finite(r.Low) && finite(r.High) {
		x1, x2 := p.x.at(r.Low), p.x.at(r.High)
		p.path("M"+num(x1)+" "+num(middleY)+"H"+num(x2)+"M"+num(x1)+" "+num(middleY-4)+"v8M"+num(x2)+" "+num(middleY-4)+"v8",
			"interval "+r.Class, r.Tooltip)
	}
	if finite(r.Value) {
		p.mark(p.x.at(r.Value), middleY, 5, r.Mark, "dot "+r.Class, r.Tooltip)
	}
	return y + p.height
}
