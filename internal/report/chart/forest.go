package chart

import (
	"fmt"

	"github.com/nfsbench/nfsbench/internal/human"
)

// Interval is one row of a forest plot: a difference in percent with its confidence interval. NaN means unknown.
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

// Forest draws intervals below each other around zero.
type Forest struct {
	Rows        []Interval
	Band        float64 // within which a difference does not matter, in percent
	Left, Right string  // what the sides mean
}

// SVG draws the forest plot. On a narrow page the texts are above each interval.
func (fo Forest) SVG(f Frame) string {
	p := &plot{canvas: newCanvas(f)}
	height := 24.0
	if f.Width < narrowWidth {
		height = 40
	}
	const top, groupHeight = 20.0, 22.0
	label, figure, bottom := 0.0, 0.0, top+8 // widths of the texts on both sides
	low, high := -fo.Band*1.6, fo.Band*1.6
	for _, r := range fo.Rows {
		label, figure, bottom = max(label, width(r.Label)), max(figure, width(r.Text)), bottom+height
		if r.StartGroup != "" {
			bottom += groupHeight
		}
		for _, v := range []float64{r.Value, r.Low, r.High} {
			if finite(v) {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	// One extreme interval must not compress all others.
	low, high = max(low, -300), min(max(high, low+.1), 300)
	label, figure = min(label+12, f.Width*.3), min(figure+14, f.Width*.36)
	if f.Width < narrowWidth {
		label, figure = 0, 0
	}
	var ticks []float64
	p.x, ticks = linear(low, high, int(max((f.Width-label-figure)/90, 3)), label+14, f.Width-figure-22)
	fo.background(p, ticks, top, bottom)
	y := top
	for _, r := range fo.Rows {
		if r.StartGroup != "" {
			p.text(0, y+16, start, "head halo", short(r.StartGroup, f.Width))
			y += groupHeight
		}
		p.interval(r, y, height, label)
		y += height
	}
	return p.done(bottom + 20)
}

// background labels the sides above the rows, and draws the band and the grid behind the rows.
func (fo Forest) background(p *plot, ticks []float64, top, bottom float64) {
	zero := p.x.at(0)
	if zero-width(fo.Left)-14 >= 0 {
		p.text(zero-10, 12, end, "mute", "◄ "+fo.Left)
	}
	if zero+width(fo.Right)+24 <= p.frame.Width {
		p.text(zero+10, 12, start, "mute", fo.Right+" ►")
	}
	if fo.Band > 0 {
		p.rect(p.x.at(-fo.Band), top, p.x.at(fo.Band)-p.x.at(-fo.Band), bottom-top, "negligible",
			fmt.Sprintf("within %s %% it does not matter", human.Digits(fo.Band)))
	}
	text := percentText(ticks)
	for _, t := range ticks {
		class := "grid"
		if t == 0 {
			class = "zero"
		}
		p.line(p.x.at(t), top, p.x.at(t), bottom, class)
		p.text(p.x.at(t), bottom+15, middle, "tick", text(t))
	}
}

// interval draws a row. Its texts are beside the interval, or above it if label is 0.
func (p *plot) interval(r Interval, y, height, label float64) {
	at := y + height/2 + 2
	if label == 0 {
		at = y + 26
		p.text(0, y+12, start, "note halo", short(r.Label, p.frame.Width-width(r.Text)-12))
		p.text(p.frame.Width, y+12, end, "fig halo", r.Text)
	} else {
		p.text(0, at+4, start, "note", short(r.Label, label))
		p.text(p.frame.Width, at+4, end, "fig", r.Text)
	}
	if finite(r.Low) && finite(r.High) {
		x1, x2, top := num(p.x.at(r.Low)), num(p.x.at(r.High)), num(at-4)
		p.path("M"+x1+" "+num(at)+"H"+x2+"M"+x1+" "+top+"v8M"+x2+" "+top+"v8", "interval "+r.Class, r.Tooltip)
	}
	if finite(r.Value) {
		p.mark(p.x.at(r.Value), at, 5, r.Mark, "dot "+r.Class, r.Tooltip)
	}
}
