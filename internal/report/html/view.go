package html

import (
	"html/template"

	"github.com/nfsbench/nfsbench/internal/report/chart"
)

// page is what the template shows, in this order.
type page struct {
	Kind      string // what it is a report of
	Title     string
	Subtitle  string
	Stamps    []string // SIMULATED and why
	Cards     []card
	Tiles     []tile
	Facts     []fact
	Sections  []section
	Notes     []string // at the end, such as the reminder of disclosure
	Generated string
	Version   string
	Style     template.CSS
}

// The tones of what is good or bad. A tone is always beside a word and a symbol.
const (
	toneGood = "good"
	toneBad  = "bad"
	toneWarn = "warn"
	toneNote = "note"
	toneNone = "none"
)

// card is one answer: what was asked, one word, and what it means.
type card struct {
	Label, Word, Text string
	Tone              string
	List              []chip
	Link              string // ID of the section that says more
}

// chip is a short label with a tone.
type chip struct{ Text, Tone string }

// tile is one headline number.
type tile struct{ Value, Unit, Label string }

// fact is a label with its text; Code texts are shown as they are typed.
type fact struct {
	Label, Text string
	Code        bool
}

// section is a heading with what stands below it.
type section struct {
	ID, Title, Lead string
	Blocks          []block
}

// block is exactly one kind of content.
type block struct {
	Figure   *figure
	Table    *table
	Findings []finding
	Facts    []fact
	Code     *code
	Text     string
	Open     bool // of a table: shown, not folded
}

// figure is one picture in two widths, of which the page shows the one that fits.
type figure struct {
	Wide, Narrow template.HTML
	Caption      string
	Table        *table // the same in numbers
}

// table is numbers; columns whose head is Number are aligned as such.
type table struct {
	Caption string
	Heads   []head
	Rows    [][]cell
	Note    string
}

type head struct {
	Text   string
	Number bool
}

type cell struct {
	Text   string
	Number bool
	Tone   string
	Strong bool
}

type finding struct {
	Code, Severity, Message string
	Tone                    string
}

// code is text to copy.
type code struct{ Label, Text string }

// The widths that figures are drawn for.
const (
	wideFigure   = 860
	narrowFigure = 350
)

// figureOf draws a figure in both widths. What chart gives is escaped already.
func figureOf(id, title, description string, draw func(chart.Frame) string) *figure {
	f := chart.Frame{ID: id + "-w", Title: title, Description: description, Width: wideFigure}
	wide := draw(f)
	f.ID, f.Width = id+"-n", narrowFigure
	return &figure{Wide: template.HTML(wide), Narrow: template.HTML(draw(f))} //nolint:gosec // chart escapes every text that it writes
}

func (f *figure) with(caption string, t *table) block {
	f.Caption, f.Table = caption, t
	return block{Figure: f}
}

// heads makes the heads of a table: the first texts are names, the others
// numbers.
func heads(names int, all ...string) []head {
	out := make([]head, 0, len(all))
	for i, h := range all {
		out = append(out, head{Text: h, Number: i >= names})
	}
	return out
}

// row makes the cells of a row under its heads.
func (t *table) row(texts ...string) {
	cells := make([]cell, 0, len(texts))
	for i, s := range texts {
		cells = append(cells, cell{Text: s, Number: i < len(t.Heads) && t.Heads[i].Number})
	}
	t.Rows = append(t.Rows, cells)
}

// last is the row added last.
func (t *table) last() []cell { return t.Rows[len(t.Rows)-1] }

// add appends the blocks that have something to show.
func (s *section) add(blocks ...block) {
	for _, b := range blocks {
		if b.Figure != nil || b.Table != nil && len(b.Table.Rows) > 0 || len(b.Findings) > 0 || len(b.Facts) > 0 || b.Code != nil || b.Text != "" {
			s.Blocks = append(s.Blocks, b)
		}
	}
}

// section appends a section that has something to show.
func (p *page) section(s section) {
	if len(s.Blocks) > 0 {
		p.Sections = append(p.Sections, s)
	}
}
