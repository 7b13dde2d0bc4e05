// Package chart draws figures as SVG without a script: time series on shared
// axes, curves over a logarithmic axis, and intervals.
//
// No figure depends on colour: lines differ by their dashes and points by their shape, and each has its name beside
// it. The package is pure: values go in, text goes out.
package chart

import (
	"html"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Frame holds the properties that all figures share.
type Frame struct {
	ID          string  // unique on the page
	Title       string  // for screen readers, and as the tooltip
	Description string  // what it shows, in words
	Width       float64 // in pixels of unscaled text; a figure below narrowWidth has less text
}

const (
	narrowWidth = 600
	rowHeight   = 18.0
	// glyph is a generous mean width of a character of 12 pixels, so that texts do not touch.
	glyph = 7.2
)

// canvas collects the elements of one SVG.
type canvas struct {
	strings.Builder
	frame Frame
}

func newCanvas(f Frame) *canvas { return &canvas{frame: f} }

// done returns the figure with its height.
func (c *canvas) done(height float64) string {
	id := identifier(c.frame.ID)
	head := `<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" viewBox="0 0 ` + num(c.frame.Width) + " " +
		num(height) +
		`" aria-labelledby="` + id + `-t ` + id + `-d"><title id="` + id + `-t">` + html.EscapeString(c.frame.Title) +
		`</title><desc id="` + id + `-d">` + html.EscapeString(c.frame.Description) + "</desc>"
	return head + c.String() + "</svg>"
}

// identifier replaces the characters that an ID may not contain.
func identifier(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '-'
	}, s)
}

// num writes a coordinate with at most one decimal. NaN and infinity become 0, so that a broken value cannot break
// the figure.
func num(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "0"
	}
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
}

func (c *canvas) add(parts ...string) {
	for _, p := range parts {
		c.WriteString(p)
	}
}

// The anchors of a text.
const (
	start  = "start"
	middle = "middle"
	end    = "end"
)

func (c *canvas) text(x, y float64, anchor, class, s string) {
	c.add(`<text x="`, num(x), `" y="`, num(y), `"`)
	if anchor != start {
		c.add(` text-anchor="`, anchor, `"`)
	}
	if class != "" {
		c.add(` class="`, class, `"`)
	}
	c.add(">", html.EscapeString(s), "</text>")
}

func (c *canvas) line(x1, y1, x2, y2 float64, class string) {
	c.add(`<path class="`, class, `" d="M`, num(x1), " ", num(y1), "L", num(x2), " ", num(y2), `"/>`)
}

func (c *canvas) rect(x, y, w, h float64, class, title string) {
	c.add(`<rect x="`, num(x), `" y="`, num(y), `" width="`, num(max(w, 0)), `" height="`, num(max(h, 0)),
		`" class="`, class, `"`)
	c.closed("rect", title)
}

// closed ends an element, with a tooltip if title is not empty.
func (c *canvas) closed(element, title string) {
	if title == "" {
		c.add("/>")
		return
	}
	c.add("><title>", html.EscapeString(title), "</title></", element, ">")
}

func (c *canvas) path(d, class, title string) {
	c.add(`<path class="`, class, `" d="`, d, `"`)
	c.closed("path", title)
}

// The marks of points. They differ by shape, not by colour alone.
const (
	MarkCircle = iota
	MarkSquare
	MarkDiamond
	MarkUp
	MarkDown
	MarkCross
	MarkRing
	MarkHollowDiamond
)

// mark draws a point of a radius with its tooltip.
func (c *canvas) mark(x, y, r float64, shape int, class, title string) {
	at := func(px, py float64) string { return num(x+px*r) + " " + num(y+py*r) }
	if shape == MarkCross || shape == MarkRing || shape == MarkHollowDiamond {
		class += " hollow"
	}
	switch shape {
	case MarkSquare:
		c.path("M"+at(-.9, -.9)+"L"+at(.9, -.9)+"L"+at(.9, .9)+"L"+at(-.9, .9)+"Z", class, title)
	case MarkDiamond, MarkHollowDiamond:
		c.path("M"+at(0, -1.2)+"L"+at(1.2, 0)+"L"+at(0, 1.2)+"L"+at(-1.2, 0)+"Z", class, title)
	case MarkUp:
		c.path("M"+at(0, -1.2)+"L"+at(1.1, .9)+"L"+at(-1.1, .9)+"Z", class, title)
	case MarkDown:
		c.path("M"+at(0, 1.2)+"L"+at(1.1, -.9)+"L"+at(-1.1, -.9)+"Z", class, title)
	case MarkCross:
		c.path("M"+at(-1, -1)+"L"+at(1, 1)+"M"+at(1, -1)+"L"+at(-1, 1), class, title)
	default:
		c.add(`<circle cx="`, num(x), `" cy="`, num(y), `" r="`, num(r), `" class="`, class, `"`)
		c.closed("circle", title)
	}
}

// width estimates the width of a text from above.
func width(s string) float64 { return glyph * float64(utf8.RuneCountInString(s)) }

// short cuts a text to a width. The full text belongs into a tooltip or table.
func short(s string, room float64) string {
	n := max(int(room/glyph), 1)
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	return string(r[:max(n-1, 0)]) + "…"
}
