// Package awr reads the wait events of AWR and Statspack reports in text form:
// awr.txt and statspack.txt of a SLOB kit, or single lines that grep found.
//
// Releases differ in columns and units, so columns are found by their titles
// above the line of hyphens. Reports print total times in whole seconds up to
// 12.1, so averages of few waits are coarse.
package awr

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// maxLineBytes is far above any line of a report, and maxRows above the number
// of wait events that there are.
const (
	maxLineBytes = 1 << 16
	maxRows      = 4096
	headLines    = 4 // above the hyphens, that hold titles of columns
)

// ErrNoEvents says that a text has no table of wait events.
var ErrNoEvents = errors.New("there is no table of wait events in it, so it is no AWR or Statspack report in text form")

// Parse reads the foreground wait events of a report, in its order, each once.
// Events of background processes are left out.
func Parse(in io.Reader) ([]runfile.AWRRow, error) {
	p := parser{found: map[string]bool{}}
	scan := bufio.NewScanner(in)
	scan.Buffer(nil, maxLineBytes)
	for line := 1; scan.Scan(); line++ {
		if err := p.line(strings.TrimRight(scan.Text(), " \r\f")); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
	if err := scan.Err(); err != nil {
		return nil, err
	}
	if len(p.rows) == 0 {
		return nil, ErrNoEvents
	}
	return p.rows, nil
}

// parser finds tables of wait events and reads their rows.
type parser struct {
	rows       []runfile.AWRRow
	found      map[string]bool
	head       []string // the lines since the last blank one
	table      *table   // the one that is being read
	background bool     // the last heading was one of background processes
}

// table says in which columns, counted in bytes, what stands.
type table struct{ event, waits, seconds column }

type column struct{ from, to int } // to is exclusive

func (p *parser) line(line string) error {
	switch {
	case strings.Contains(line, "Background Wait Events"):
		p.background = true
	case strings.Contains(line, "Foreground") || strings.Contains(line, "Timed Events"):
		p.background = false
	}
	switch {
	case line == "":
		p.head, p.table = nil, nil
	case strings.Trim(line, "- ") == "":
		p.table = tableBelow(p.head, line)
		p.head = nil
	case p.table != nil:
		return p.row(line)
	default:
		p.head = append(p.head, line)
		if len(p.head) > headLines {
			p.head = p.head[1:]
		}
	}
	return nil
}

func (p *parser) row(line string) error {
	if p.background {
		return nil
	}
	event := p.table.event.of(line)
	waits, okWaits := number(p.table.waits.of(line))
	seconds, okSeconds := number(p.table.seconds.of(line))
	if event == "" || !okWaits || !okSeconds || p.found[event] { // DB CPU has no waits
		return nil
	}
	if len(p.rows) == maxRows {
		return errors.New("more wait events than Oracle has")
	}
	p.found[event] = true
	p.rows = append(p.rows, runfile.AWRRow{Event: event, Waits: int64(waits), Seconds: seconds})
	return nil
}

// tableBelow finds the columns by the titles above the hyphens that underline
// them, or returns nil where the table is another.
func tableBelow(head []string, hyphens string) *table {
	var t table
	for _, at := range regexp.MustCompile("-+").FindAllStringIndex(hyphens, -1) {
		c := column{at[0], at[1]}
		switch title := c.title(head); {
		case strings.HasSuffix(title, "event"):
			t.event = c
		case strings.HasSuffix(title, "waits") && t.waits == (column{}):
			t.waits = c
		case strings.Contains(title, "time") && (strings.Contains(title, "(s)") || strings.Contains(title, "(sec)")):
			t.seconds = c
		}
	}
	if t.event == (column{}) || t.waits == (column{}) || t.seconds == (column{}) {
		return nil
	}
	return &t
}

// title joins what stands in the column, without blanks and in lower case. Words
// of the line above a table may reach into the columns.
func (c column) title(head []string) string {
	var b strings.Builder
	for _, line := range head {
		b.WriteString(strings.Join(strings.Fields(c.of(line)), ""))
	}
	return strings.ToLower(b.String())
}

func (c column) of(line string) string {
	if c.from >= len(line) {
		return ""
	}
	return strings.TrimSpace(line[c.from:min(c.to, len(line))])
}

// number reads 32,032 and 823.4, and the short forms of recent releases, 12.3K.
func number(word string) (float64, bool) {
	factor := 1.0
	if n := len(word) - 1; n > 0 && strings.Contains("KMG", word[n:]) {
		factor = map[byte]float64{'K': 1e3, 'M': 1e6, 'G': 1e9}[word[n]]
		word = word[:n]
	}
	if strings.Trim(word, "0123456789,.") != "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(word, ",", ""), 64)
	if err != nil || v > 1e15 {
		return 0, false
	}
	return v * factor, true
}
