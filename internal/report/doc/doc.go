// Package doc holds a report as a document: answers, headline numbers, facts, tables, figures and findings. It has
// two outputs, a terminal and an HTML page. It knows nothing of benchmarks.
//
// Texts of a document come unchanged from result files. Each output makes them safe in one place: page.clean for a
// terminal; html/template and human.Printable for a page.
package doc

import (
	"slices"

	"github.com/nfsbench/nfsbench/internal/report/chart"
)

// Output says where an element of a document is shown.
type Output int

// The outputs. The zero value is both.
const (
	Both Output = iota
	HTMLOnly
	TextOnly
	Nowhere // such as a column that says the same in every row
)

// Tone says whether something is good or bad. A tone is always beside a word.
type Tone string

// The tones.
const (
	Good Tone = "good"
	Bad  Tone = "bad"
	Warn Tone = "warn"
	Note Tone = "note"
	None Tone = "none"
)

// Unknown stands for an unknown number.
const Unknown = "-"

// Document is one report. HTML shows its fields in this order. A terminal shows
// title, stamps, subtitle and tiles, and then Terminal.
type Document struct {
	Kind     string // such as "benchmark report"; if empty, a terminal shows no title
	Title    string
	Answer   string  // in sentences, for people who read nothing else
	Subtitle string  // without the full stop
	Stamps   []Stamp // SIMULATED and why
	Cards    []Card
	Tiles    []Tile
	Facts    []Fact
	Sections []Section
	Notes    []string // at the end of the page, such as the reminder of disclosure
	// Terminal holds the blocks of the sections in the order of a terminal, where the answer comes last: people see it
	// when the program ends.
	Terminal []Block
}

// Stamp is the reason why a document is marked as simulated.
type Stamp struct {
	Text string
	In   Output
}

// Card is one answer: the question, one word, and what it means.
type Card struct {
	Label, Word, Text string
	Tone              Tone
	List              []Chip
	Link              string // ID of the section that says more
}

// Chip is a short label with a tone.
type Chip struct {
	Text string
	Tone Tone
}

// Tile is one headline number.
type Tile struct {
	Value, Unit, Label string
	Short              string // unit and quantity, in a terminal
	AtMost             bool   // the value is an upper bound
	Interval           string // 95 %, with its unit; a terminal shows it as a fact
}

// Fact is a label with its text; Code is shown as it is typed. A terminal cuts
// labels after 10 columns.
type Fact struct {
	Label, Text string
	Code        bool
	In          Output
}

// Section is a heading with the blocks below it. A terminal shows no headings.
type Section struct {
	ID, Title, Lead string
	Blocks          []Block
}

// Block is exactly one kind of content. Figure and Code are only for a page; Cards and
// Trend only for a terminal.
type Block struct {
	In       Output
	Apart    bool // an empty line before it in a terminal
	Text     string
	Figure   *Figure
	Table    *Table
	Findings []Finding
	Facts    []Fact
	Code     *Code
	Cards    []Card
	Trend    *Trend
}

// Figure is a picture, with a table of its numbers.
type Figure struct {
	ID, Title, Description string
	Draw                   func(chart.Frame) string // returns SVG with every text escaped
	Caption                string
	Table                  *Table
}

// Trend is a series as one line of text.
type Trend struct {
	Label  string
	Values []float64
	Scale  string
}

// Finding is a code with what it means here. Severity is Error, Warning or Info.
type Finding struct {
	Code, Severity, Message string
	Tone                    Tone
}

// Code is text to copy.
type Code struct{ Label, Text string }

// Table is rows under typed columns.
type Table struct {
	Caption string
	Columns []Column
	Rows    []*Row
	Note    string
	// Stacked gives the names of a row a line of their own in a terminal if they do not fit beside the numbers.
	Stacked bool
}

// Column is the type of a column: a name, or a number, which is aligned to the right.
type Column struct {
	Head   string
	Short  string // the head in a terminal; empty is Head in capitals
	Narrow string // the head in a terminal below 80 columns; empty is Short
	Number bool
	Width  int // in a terminal, at least
	In     Output
}

// Row is one line of a table.
type Row struct {
	Cells []Cell
	Bar   *float64 // a share of 0 to 1 that a terminal draws behind the row
	Mark  string   // a word behind the bar
}

// Cell is a value with its unit.
type Cell struct {
	Text   string
	Short  string // in a terminal; empty is Text
	Tone   Tone
	Strong bool
}

// Columns returns columns of names first, and then of numbers with a least width in a terminal.
func Columns(names, width int, heads ...string) []Column {
	out := make([]Column, 0, len(heads))
	for i, h := range heads {
		c := Column{Head: h}
		if i >= names {
			c.Number, c.Width = true, width
		}
		out = append(out, c)
	}
	return out
}

// Row adds a row with a text for each column.
func (t *Table) Row(texts ...string) *Row {
	row := &Row{}
	for _, s := range texts {
		row.Cells = append(row.Cells, Cell{Text: s})
	}
	t.Rows = append(t.Rows, row)
	return row
}

// of removes the columns of the other output.
func (t *Table) of(o Output) *Table {
	if t == nil {
		return nil
	}
	out := &Table{Caption: t.Caption, Note: t.Note, Stacked: t.Stacked}
	for _, c := range t.Columns {
		if c.In == Both || c.In == o {
			out.Columns = append(out.Columns, c)
		}
	}
	for _, r := range t.Rows {
		row := &Row{Bar: r.Bar, Mark: r.Mark}
		for i, c := range r.Cells {
			if in := t.Columns[i].In; in == Both || in == o {
				row.Cells = append(row.Cells, c)
			}
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// of returns the block for one output; ok reports whether it has any content there.
func (b Block) of(o Output) (_ Block, ok bool) {
	b.Table = b.Table.of(o)
	b.Facts = slices.DeleteFunc(slices.Clone(b.Facts), func(f Fact) bool { return f.In != Both && f.In != o })
	shown := b.Text != "" || b.Table != nil && len(b.Table.Rows) > 0 || len(b.Findings) > 0 || len(b.Facts) > 0
	if o == HTMLOnly {
		shown = shown || b.Figure != nil || b.Code != nil
	} else {
		shown = shown || b.Apart || len(b.Cards) > 0 || b.Trend != nil
	}
	return b, shown && (b.In == Both || b.In == o)
}

// Add appends blocks.
func (s *Section) Add(blocks ...Block) { s.Blocks = append(s.Blocks, blocks...) }

// AddTerminal appends the blocks of sections.
func (d *Document) AddTerminal(sections ...Section) {
	for _, s := range sections {
		d.Terminal = append(d.Terminal, s.Blocks...)
	}
}
