package report

import (
	"math"
	"strings"
)

// figure is one number of the headline.
type figure struct{ value, unit string }

// figureGap is the room between figures, beside that between their digits.
const figureGap = 3

// big writes the figures three lines high, with room between the digits where
// there is enough, or plainly: without UTF-8, or when they do not fit.
func (p *page) big(figures []figure) {
	for _, spacing := range []string{" ", ""} {
		if widths, total := figureWidths(figures, spacing); !p.ascii && total <= p.width {
			p.drawn(figures, widths, spacing)
			return
		}
	}
	parts := make([]string, 0, len(figures))
	for _, f := range figures {
		parts = append(parts, together(f.value+" "+f.unit))
	}
	for _, l := range wrap(p.clean(strings.Join(parts, "   ")), p.width) {
		p.line(p.paint(bold, strings.TrimLeft(l, " ")))
	}
}

func figureWidths(figures []figure, spacing string) (widths []int, total int) {
	gap := figureGap + 2*len(spacing)
	total = -gap
	for _, f := range figures {
		w := max(columns(glyphs(f.value, spacing)[0]), columns(f.unit))
		widths = append(widths, w)
		total += w + gap
	}
	return widths, total
}

func (p *page) drawn(figures []figure, widths []int, spacing string) {
	gap := strings.Repeat(" ", figureGap) + strings.Repeat(spacing, 2)
	for row := range 3 {
		cells := make([]string, 0, len(figures))
		for i, f := range figures {
			cells = append(cells, padded(glyphs(f.value, spacing)[row], widths[i]))
		}
		p.line(p.paint(bold+cyan, strings.TrimRight(strings.Join(cells, gap), " ")))
	}
	units := make([]string, 0, len(figures))
	for i, f := range figures {
		units = append(units, padded(f.unit, widths[i]))
	}
	p.line(p.paint(dim, strings.TrimRight(strings.Join(units, gap), " ")))
}

// glyphs draws a number three lines high. What has no glyph is left out.
func glyphs(number, spacing string) [3]string {
	shapes := map[rune][3]string{
		'0': {"┏━┓", "┃ ┃", "┗━┛"},
		'1': {"╺┓ ", " ┃ ", "╺┻╸"},
		'2': {"╺━┓", "┏━┛", "┗━╸"},
		'3': {"╺━┓", "╺━┫", "╺━┛"},
		'4': {"╻ ╻", "┗━┫", "  ╹"},
		'5': {"┏━╸", "┗━┓", "╺━┛"},
		'6': {"┏━╸", "┣━┓", "┗━┛"},
		'7': {"╺━┓", "  ┃", "  ╹"},
		'8': {"┏━┓", "┣━┫", "┗━┛"},
		'9': {"┏━┓", "┗━┫", "╺━┛"},
		'.': {" ", " ", "▪"},
	}
	var out [3]string
	last := '.'
	for _, r := range number {
		for i, s := range shapes[r] {
			if r != '.' && last != '.' && s != "" {
				out[i] += spacing
			}
			out[i] += s
		}
		last = r
	}
	return out
}

// bar draws a share of 0 to 1.
func (p *page) bar(share float64, width int) string {
	if width < 4 {
		return ""
	}
	full, empty := "█", "░"
	if p.ascii {
		full, empty = "#", "."
	}
	n := int(math.Round(min(max(share, 0), 1) * float64(width)))
	return strings.Repeat(full, n) + strings.Repeat(empty, width-n)
}

// spark draws values as a line of small columns from zero to their maximum, so
// that a steady run looks flat and a dip looks as deep as it was. More values
// than columns are averaged.
func (p *page) spark(values []float64, width int) string {
	levels := []rune(" ▁▂▃▄▅▆▇█")
	if p.ascii {
		levels = []rune(" _.-=+*#@")
	}
	values = resampled(values, max(width, 1))
	highest := 0.0
	for _, v := range values {
		highest = max(highest, v)
	}
	var b strings.Builder
	for _, v := range values {
		i := 0
		if highest > 0 && v > 0 {
			i = max(int(math.Round(v/highest*float64(len(levels)-1))), 1)
		}
		b.WriteRune(levels[i])
	}
	return p.paint(cyan, b.String())
}

func resampled(values []float64, n int) []float64 {
	if len(values) <= n {
		return values
	}
	out := make([]float64, n)
	for i := range out {
		from, to := i*len(values)/n, (i+1)*len(values)/n
		for _, v := range values[from:to] {
			out[i] += v / float64(to-from)
		}
	}
	return out
}
