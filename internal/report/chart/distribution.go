package chart

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/nfsbench/nfsbench/internal/human"
)

// Distribution is a histogram of latencies over a logarithmic axis, in microseconds.
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

// Distributions draws histograms below each other on one latency axis.
func Distributions(f Frame, all []Distribution) string {
	p := &plot{canvas: newCanvas(f)}
	low, high := 0.0, 0.0
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
	var ticks []float64
	p.x, ticks = logarithmic(low, high, 44, f.Width-10)
	y := 0.0
	for i, d := range all {
		p.text(0, y+12, start, "head", short(d.Name, p.x.to))
		y = p.distribution(d, i, ticks, y+rowHeight) + 12
	}
	return p.across(y-12, ticks, human.Latency[float64], "")
}

func (p *plot) distribution(d Distribution, i int, ticks []float64, y float64) float64 {
	marks := slices.SortedFunc(slices.Values(d.Marks), func(a, b Mark) int { return cmp.Compare(a.Value, b.Value) })
	top := y + markRow*float64(len(marks)) + 2
	bottom, most := top+120, 0.0
	for _, b := range d.Bars {
		most = max(most, b.Share)
	}
	ys, shares := linear(0, most*100, 3, bottom, top+4)
	text := tickText(shares)
	p.grid(ys, shares, func(s float64) string { return text(s) + "%" })
	for _, t := range ticks {
		p.line(p.x.at(t), top, p.x.at(t), bottom, "grid")
	}
	for _, b := range d.Bars {
		if b.Share > 0 {
			x1, x2 := p.x.at(b.From), p.x.at(b.To)
			p.rect(x1, min(ys.at(b.Share*100), bottom-.6), max(x2-x1-.6, .6), max(bottom-ys.at(b.Share*100), .6),
				fmt.Sprintf("bar b%d", i%4),
				fmt.Sprintf("%s to %s: %.3g %%", human.Latency(b.From), human.Latency(b.To), b.Share*100))
		}
	}
	// Each label has a row, the lowest value at the top, so that the lines of the other labels begin below it.
	for i, m := range marks {
		px, row, label := p.x.at(m.Value), y+markRow*float64(i), m.Label+" "+human.Latency(m.Value)
		p.line(px, row+2, px, bottom, "mark")
		p.text(max(min(px+4, p.x.to+8-width(label)), 0), row+11, start, "note halo", label)
	}
	return bottom
}

// markRow is the height of the row of a label.
const markRow = 14.0

// nines maps shares to an axis on which 90 %, 99 % and 99.9 % are at equal distances.
func nines(share float64) float64 { return 1 / max(1-share, 1e-7) }

// Percentiles draws the latency that a share of all operations does not exceed: X of a point is the share, from 0 to
// 1, and Y the latency in microseconds. Both axes are logarithmic, the axis of the shares in nines.
func Percentiles(f Frame, curves []Line) string {
	low, high, last := 0.0, 0.0, 10.0
	for _, k := range curves {
		for _, q := range k.Points {
			low, high, last = min(cmp.Or(low, q.Y), q.Y), max(high, q.Y), max(last, nines(q.X))
		}
	}
	p := newPlot(f, 1, last)
	p.x.log = true
	y := p.heading(Panel{Title: "Latency by percentile", Lines: curves}, 0)
	bottom := y + 210
	ys, ticks := logarithmic(low, high, bottom, y+6)
	p.grid(ys, ticks, human.Latency[float64])
	shares, ticks := []float64{0, .5, .9, .99, .999, .9999, .99999}, nil
	for _, share := range shares {
		if !(nines(share) <= last*1.001) { // also true for NaN
			break
		}
		p.line(p.x.at(nines(share)), y+6, p.x.at(nines(share)), bottom, "grid")
		ticks = append(ticks, nines(share))
	}
	p.line(p.x.from, bottom, p.x.to, bottom, "axis")
	percent := func(at float64) string { return fmt.Sprintf("%.6g%%", 100-100/at) }
	lines := make([]Line, len(curves))
	for i, k := range curves {
		lines[i].Name = k.Name
		for _, q := range k.Points {
			lines[i].Points = append(lines[i].Points, Point{nines(q.X), q.Y})
		}
	}
	p.curves(lines, ys, func(k Line, pt Point) string {
		if !slices.ContainsFunc(shares[1:], func(share float64) bool { return nines(share) == pt.X }) {
			return ""
		}
		return k.Name + ": " + percent(pt.X) + " within " + human.Latency(pt.Y)
	})
	return p.across(bottom, ticks, percent, "")
}
