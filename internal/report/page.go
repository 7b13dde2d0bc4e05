package report

import (
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

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

// nbsp holds a number and its unit together when lines are wrapped; line
// writes it as a space.
const nbsp = "\u00a0"

func together(s string) string { return strings.ReplaceAll(s, " ", nbsp) }

// page writes lines of a width and keeps the first error.
type page struct {
	w     io.Writer
	width int
	color bool
	ascii bool
	blank bool // the last line was empty
	err   error
}

func newPage(w io.Writer, o Options) *page {
	width := o.Width
	if width == 0 {
		width = defaultWidth
	}
	return &page{w: w, width: min(max(width, minWidth), maxWidth), color: o.Color, ascii: o.ASCII}
}

// line writes one line. Of empty lines that follow each other it writes one:
// what leaves room below does not know what leaves room above.
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

// clean makes text of a result file fit for a terminal: what could move the
// cursor or change colours is a question mark, and in ASCII mode so is what is
// not ASCII.
func (p *page) clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case p.ascii && r == 'µ':
			return 'u'
		case p.ascii && r == '→':
			return '>'
		case string(r) == nbsp:
			return r
		case !unicode.IsPrint(r), p.ascii && r > unicode.MaxASCII:
			return '?'
		default:
			return r
		}
	}, s)
}

// fact is a label and text that wraps beside it.
func (p *page) fact(label, text string) {
	indent := strings.Repeat(" ", labelWidth)
	for i, l := range wrap(p.clean(text), p.width-labelWidth) {
		if i == 0 {
			p.line(p.paint(dim, padded(label, labelWidth)) + l)
			continue
		}
		p.line(indent + l)
	}
}

// plainFact is fact for text that is one line and clean.
func (p *page) plainFact(label, text string) {
	p.line(p.paint(dim, padded(label, labelWidth)) + text)
}

func (p *page) wrapped(indent, text string) {
	for _, l := range wrap(p.clean(text), p.width-columns(indent)) {
		p.line(indent + l)
	}
}

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
