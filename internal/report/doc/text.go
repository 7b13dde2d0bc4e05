package doc

import (
	"cmp"
	"io"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// TextOptions describes the reader's terminal.
type TextOptions struct {
	Width int  // columns; 0 = 80. Between 60 and 120 are used.
	Color bool // ANSI colours
	ASCII bool // nothing but ASCII: for terminals and files that are not UTF-8
}

// The ANSI sequences in use.
const (
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	cyan   = "\x1b[36m"
	reset  = "\x1b[0m"
)

const (
	defaultWidth = 80
	minWidth     = 60
	maxWidth     = 120
	labelWidth   = 10
)

// nbsp keeps a number and its unit on one line; line writes it as a space.
const nbsp = "\u00a0"

// Together keeps s on one line.
func Together(s string) string { return strings.ReplaceAll(s, " ", nbsp) }

// Whole keeps each part on one line if it is short enough.
func Whole(parts []string) []string {
	out := make([]string, 0, len(parts))
	for _, s := range parts {
		if columns(s) <= minWidth-labelWidth-2 {
			s = Together(s)
		}
		out = append(out, s)
	}
	return out
}

// Text writes a document for a terminal. It returns the first error of w.
func Text(w io.Writer, d Document, o TextOptions) error {
	p := newPage(w, o)
	if d.Kind != "" {
		head := "nfsbench  " + p.clean(d.Title)
		if len(d.Stamps) > 0 {
			head += "  " + p.paint(yellow, "SIMULATED")
		}
		p.line(p.paint(bold, head))
		for _, s := range d.Stamps {
			if s.In != HTMLOnly {
				p.wrapped(s.Text)
			}
		}
		p.wrapped(d.Subtitle)
		p.rule()
	}
	if d.Answer != "" {
		p.wrapped(d.Answer)
	}
	if len(d.Tiles) > 0 {
		p.line("")
		p.tiles(d.Tiles)
		p.line("")
	}
	for _, b := range d.Terminal {
		if b, ok := b.of(TextOnly); ok {
			p.block(b)
		}
	}
	return p.err
}

func (p *page) block(b Block) {
	if b.Apart {
		p.line("")
	}
	if b.Text != "" {
		p.wrapped(b.Text)
	}
	for _, f := range b.Facts {
		p.hanging(p.label(strings.ToLower(f.Label)), labelWidth, f.Text)
	}
	if t := b.Trend; t != nil {
		line := p.spark(t.Values, p.width-labelWidth-columns(t.Scale)-1) + " " + p.clean(t.Scale)
		p.line(p.label(t.Label) + line)
	}
	if b.Table != nil {
		p.table(b.Table)
	}
	if len(b.Cards) > 0 {
		p.rule()
	}
	for _, c := range b.Cards {
		p.card(c)
	}
	if len(b.Findings) > 0 {
		p.line("")
	}
	cut := false
	for _, f := range b.Findings {
		severity := padded(p.clean(strings.ToUpper(f.Severity)), labelWidth)
		if f.Tone == Note { // a page has the rest
			first, _, more := strings.Cut(f.Message, ". ")
			cut = cut || more
			p.hanging(p.paint(colour(f.Tone), severity), labelWidth, f.Code+": "+strings.TrimSuffix(first, ".")+".")
			continue
		}
		p.line(p.paint(colour(f.Tone), severity) + p.paint(bold, p.clean(f.Code)))
		p.hanging(strings.Repeat(" ", labelWidth), labelWidth, f.Message)
	}
	if cut {
		p.wrapped("The report as a page (-o FILE.html) has all of each INFO, with what to do.")
	}
}

// card writes an answer in one word, for which scripts can search, and its meaning.
func (p *page) card(c Card) {
	const wordWidth = 14
	word := padded(strings.ToUpper(strings.ReplaceAll(p.clean(c.Word), " ", "")), wordWidth)
	text := strings.TrimSuffix(c.Text, ".")
	if text != "" {
		text = strings.ToLower(text[:1]) + text[1:]
	}
	p.hanging(p.label(strings.ToLower(c.Label))+p.paint(colour(c.Tone), word), labelWidth+wordWidth, text)
}

func colour(t Tone) string {
	return map[Tone]string{Good: green, Bad: red, Warn: yellow, Note: cyan, None: dim}[t]
}

// barRoom is the least room for the bar of a row.
const barRoom = 4

// table writes a table with an empty line before and after.
func (p *page) table(t *Table) {
	p.terminalTexts(t)
	room, marks := p.width, 0
	for _, r := range t.Rows {
		if r.Mark != "" {
			marks = max(marks, 1+columns(r.Mark))
		}
		if r.Bar != nil {
			room = min(room, p.width-max(barRoom, 1+columns(r.Mark)))
		}
	}
	widths, total := t.widths()
	p.line("")
	defer p.line("")
	if t.Stacked && total > room {
		p.stacked(t)
		return
	}
	t.shrink(widths, total-room)
	p.heads(t, widths)
	for _, r := range t.Rows {
		line, wide := p.row(t, widths, r.Cells)
		if r.Bar != nil {
			line += " "
			if bar := p.bar(*r.Bar, p.width-marks-wide-1); bar != "" {
				line += p.paint(cyan, bar) + " "
			}
			line += p.paint(yellow, p.clean(r.Mark))
		}
		p.line(line)
	}
}

// terminalTexts replaces the cells and heads of t by their cleaned texts for a terminal.
func (p *page) terminalTexts(t *Table) {
	for _, r := range t.Rows {
		for i, c := range r.Cells {
			r.Cells[i].Text = p.clean(cmp.Or(c.Short, c.Text))
		}
	}
	for i, c := range t.Columns {
		head := cmp.Or(c.Short, strings.ReplaceAll(strings.ToUpper(c.Head), "B/S", "B/s"))
		if p.width < defaultWidth {
			head = cmp.Or(c.Narrow, head)
		}
		t.Columns[i].Head = p.clean(head)
	}
}

func (p *page) heads(t *Table, widths []int) {
	heads := make([]Cell, 0, len(t.Columns))
	for _, c := range t.Columns {
		heads = append(heads, Cell{Text: c.Head})
	}
	line, _ := p.row(t, widths, heads)
	p.line(p.paint(dim, line))
}

// row returns a row and its width. Two spaces separate a number from a name after it.
func (p *page) row(t *Table, widths []int, cells []Cell) (line string, wide int) {
	for i, c := range cells {
		gap := ""
		if i > 0 {
			gap = " "
		}
		text := padded(c.Text, widths[i])
		if t.Columns[i].Number {
			text = strings.Repeat(" ", max(widths[i]-columns(c.Text), 0)) + c.Text
		} else if i > 0 && t.Columns[i-1].Number {
			gap = "  "
		}
		line += gap + p.paint(colour(c.Tone), text)
		wide += columns(gap) + columns(text)
	}
	return line, wide
}

func (t *Table) widths() (widths []int, total int) {
	widths = make([]int, len(t.Columns))
	for i, c := range t.Columns {
		widths[i] = max(columns(c.Head), c.Width)
		for _, r := range t.Rows {
			widths[i] = max(widths[i], columns(r.Cells[i].Text))
		}
		total += widths[i]
		if i > 0 {
			total++
		}
		if i > 0 && !c.Number && t.Columns[i-1].Number {
			total++
		}
	}
	return widths, total
}

// shrink reduces the widths of the names by excess, the widest first.
func (t *Table) shrink(widths []int, excess int) {
	for ; excess > 0; excess-- {
		widest := -1
		for i, w := range widths {
			if !t.Columns[i].Number && w > 1 && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}

// stacked writes the names of each row on a line of their own.
func (p *page) stacked(t *Table) {
	names := 0
	for names < len(t.Columns) && !t.Columns[names].Number {
		names++
	}
	var heads []string
	for _, c := range t.Columns[:names] {
		heads = append(heads, c.Head)
	}
	flat := &Table{Columns: append([]Column{{}}, t.Columns[names:]...)}
	for _, r := range t.Rows {
		flat.Rows = append(flat.Rows, &Row{Cells: append([]Cell{{}}, r.Cells[names:]...)})
	}
	widths, _ := flat.widths()
	p.line(p.paint(dim, strings.Join(heads, ", ")))
	p.heads(flat, widths)
	for i, r := range t.Rows {
		var texts []string
		for _, c := range r.Cells[:names] {
			texts = append(texts, c.Text)
		}
		p.wrapped(strings.Join(texts, ", "))
		line, _ := p.row(flat, widths, flat.Rows[i].Cells)
		p.line(line)
	}
}

// page writes lines of a width and keeps the first error.
type page struct {
	w     io.Writer
	width int
	color bool
	ascii bool
	blank bool // the last line was empty
	err   error
}

func newPage(w io.Writer, o TextOptions) *page {
	width := min(max(cmp.Or(o.Width, defaultWidth), minWidth), maxWidth)
	return &page{w: w, width: width, color: o.Color, ascii: o.ASCII}
}

// line writes one line. Of consecutive empty lines it writes one, because blocks add empty lines before and after
// their content.
func (p *page) line(s string) {
	s = strings.TrimRight(strings.ReplaceAll(s, nbsp, " "), " ")
	if p.err == nil && (s != "" || !p.blank) {
		_, p.err = io.WriteString(p.w, s+"\n")
	}
	p.blank = s == ""
}

func (p *page) paint(code, s string) string {
	if !p.color || code == "" || s == "" {
		return s
	}
	return code + s + reset
}

func (p *page) rule() {
	dash := "─"
	if p.ascii {
		dash = "-"
	}
	p.line(p.paint(dim, strings.Repeat(dash, p.width)))
}

// clean makes text of a result file safe for a terminal: a question mark replaces each character that is not
// printable, and in ASCII mode each that is not ASCII.
func (p *page) clean(s string) string {
	s = strings.NewReplacer("→", "->", "≤", "<=").Replace(s)
	return strings.Map(func(r rune) rune {
		switch {
		case p.ascii && r == 'µ':
			return 'u'
		case string(r) == nbsp:
			return r
		case !unicode.IsPrint(r), p.ascii && r > unicode.MaxASCII:
			return '?'
		default:
			return r
		}
	}, s)
}

// hanging writes text that wraps beside a head of some columns.
func (p *page) hanging(head string, indent int, text string) {
	for _, l := range wrap(p.clean(text), p.width-indent) {
		p.line(head + l)
		head = strings.Repeat(" ", indent)
	}
}

func (p *page) wrapped(text string) { p.hanging("", 0, text) }

// label formats the label before the text of a line.
func (p *page) label(s string) string { return p.paint(dim, padded(p.clean(s), labelWidth)) }

// wrap breaks at spaces. A word longer than a line stays whole: half an address
// is worse than a long line. Two spaces between figures are kept.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.SplitSeq(text, " ") {
		switch {
		case line == "":
			line = word
		case columns(line)+1+columns(word) > width:
			lines = append(lines, strings.TrimRight(line, " "))
			line = word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

func columns(s string) int { return utf8.RuneCountInString(s) }

// padded fills s with spaces to n columns, or cuts it there.
func padded(s string, n int) string {
	if over := columns(s) - n; over > 0 {
		return string([]rune(s)[:max(n-1, 0)]) + "~"
	}
	return s + strings.Repeat(" ", n-columns(s))
}

// tiles writes the headline numbers.
func (p *page) tiles(all []Tile) {
	parts := make([]string, 0, len(all))
	for _, t := range all {
		parts = append(parts, Together(t.Value+" "+t.Short))
	}
	for _, l := range wrap(p.clean(strings.Join(parts, "   ")), p.width) {
		p.line(p.paint(bold, strings.TrimLeft(l, " ")))
	}
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
