// Package awr reads the wait events of AWR and Statspack reports in text form:
// awr.txt and statspack.txt of a SLOB kit.
//
// The parser first drops the lines that SQL*Plus writes between the pages of a report. Releases differ in columns and
// units, so it finds columns by their titles above the line of hyphens. A line that may be a row of such a table but
// cannot be read is an error. It reads the numbers last, because only the numbers of the whole report show which
// character groups digits.
//
// Up to 12.1, reports print total times in whole seconds, so averages of few waits are coarse. Later reports print an
// average with its unit; the total is computed from it if that is more precise.
package awr

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// maxLineBytes is far above the length of any line of a report, and maxRows
// above the number of rows in all its tables of wait events.
const (
	maxLineBytes = 1 << 16
	maxRows      = 4096
	headLines    = 16 // lines above the hyphens that hold the titles of columns, even if these are wrapped
	tabColumns   = 8  // of SQL*Plus
)

// ErrNoEvents reports that a text has no table of wait events.
var ErrNoEvents = errors.New("there is no table of wait events in it, so it is no AWR or Statspack report in text form")

// numeric matches a number of a row, or the signs that replace a number that is too wide.
const numeric = "[0-9.,#KMGT]*[0-9#][0-9.,#KMGT]*"

const anew = ": make the report anew with SET PAGESIZE 0 and SET LINESIZE 200"

var (
	pageNumber = regexp.MustCompile(`(?i)^ *page:? *[0-9]+$`)
	message    = regexp.MustCompile(`^ *[A-Z][A-Z0-9]{2,3}-[0-9]{4,5}\b`)
	run        = regexp.MustCompile("-+")
	numbered   = regexp.MustCompile("^" + numeric + "$")
	// torn matches a line that may be a row, or the rest of one, with other columns: two numbers follow each other.
	torn = regexp.MustCompile("(^| )" + numeric + " +" + numeric + "( |$)")
	// titled matches the titles of a table of wait events, without blanks.
	titled = regexp.MustCompile(`eventwaits[a-z%-]{0,20}time`)
)

// Parse returns the foreground wait events of a report, each once, in the order
// of the report. It leaves out the events of background processes.
func Parse(in io.Reader) ([]runfile.AWRRow, error) {
	p := parser{}
	scan := bufio.NewScanner(in)
	scan.Buffer(nil, maxLineBytes)
	for n := 1; scan.Scan(); n++ {
		line := strings.TrimRight(untabbed(strings.Trim(scan.Text(), "\r\f")), " \r\f")
		if p.isBetweenPages(line) {
			p.gap = true
		} else if err := p.line(n, line); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := scan.Err(); err != nil {
		return nil, err
	}
	if len(p.rows) == 0 {
		return nil, ErrNoEvents
	}
	events, err := figures(p.rows)
	if err != nil {
		return nil, err
	}
	return each(events), nil
}

// untabbed replaces the tabs that SQL*Plus writes without SET TAB OFF by blanks.
func untabbed(line string) string {
	var b strings.Builder
	for i, part := range strings.Split(line, "\t") {
		if i > 0 {
			b.WriteString(strings.Repeat(" ", tabColumns-b.Len()%tabColumns))
		}
		b.WriteString(part)
	}
	return b.String()
}

// parser finds tables of wait events and their rows.
type parser struct {
	rows       []row
	tables     int      // number of tables so far
	head       []string // the last lines that are not rows, since the last hyphens
	table      *table   // of foreground events
	begins     bool     // the previous line is the hyphens of the table
	left       bool     // a line that is not a row of the table was seen
	gap        bool     // a blank line, or lines between pages, follow the last row
	page       bool     // the previous line is the title of a page
	background bool     // the last heading announced background processes
}

// row is one row of the report as printed. Its average is empty if it has no unit.
type row struct {
	line, table                    int
	event, waits, seconds, average string
	full                           bool // the event fills its column, so its name may be cut
}

// table holds the columns of a table, counted in bytes.
type table struct {
	event, waits, seconds, average column
	all                            []column
}

type column struct{ from, to int } // to is exclusive

// isBetweenPages reports whether a line is blank, or one that SQL*Plus writes above each page of a report that was
// selected from DBMS_WORKLOAD_REPOSITORY: a number, or the title of the column, or the hyphens below it. The title
// depends on the alias of the column and on TTITLE.
func (p *parser) isBetweenPages(line string) bool {
	if line == "" || pageNumber.MatchString(line) {
		return true
	}
	below := p.page
	p.page = strings.EqualFold(strings.TrimSpace(line), "OUTPUT")
	return p.page || below && strings.Trim(line, "-") == ""
}

func (p *parser) line(n int, line string) error {
	switch {
	case strings.Contains(line, "Background Wait Events"):
		p.background = true
	case strings.Contains(line, "Foreground") || strings.Contains(line, "Timed Events"):
		p.background = false
	}
	begins := p.begins
	p.begins = false
	switch t := p.table; {
	case strings.Trim(line, "- ") == "":
		return p.hyphens(line, begins)
	case t == nil:
	case message.MatchString(line):
		return errors.New("a message of Oracle stands in the table of wait events: make the report anew without this error")
	case p.left && t.goesOn(line):
		return errors.New("the table of wait events goes on here, but a line above is none of its rows" + anew)
	case !p.left && t.isRow(line):
		p.gap = false
		return p.row(n, line)
	case (!p.left || !p.gap) && torn.MatchString(line):
		return errors.New("a row of wait events is not below the titles of its columns" + anew + " and wider columns")
	default:
		p.left = true
	}
	p.head = append(p.head, line)
	p.head = p.head[max(0, len(p.head)-headLines):]
	return nil
}

// hyphens handles a line of hyphens, which begins or ends a table.
func (p *parser) hyphens(line string, begins bool) error {
	head, t := p.head, tableBelow(p.head, line)
	p.head = nil
	one := !strings.Contains(strings.TrimSpace(line), " ")
	end := one && strings.HasPrefix(line, "  ")
	switch {
	case p.background:
		p.table = nil
	case t == nil && titled.MatchString(column{0, math.MaxInt}.title(head)):
		return errors.New("the titles of wait events are not above their hyphens: lines are wrapped, or others stand " +
			"between" + anew)
	case begins && !end:
		return errors.New("the hyphens below the titles of wait events are wrapped" + anew)
	case end:
		p.table = nil
	case !one: // a single group may underline the title of a page
		p.table, p.begins, p.left, p.gap = t, t != nil, false, false
		p.tables++
	}
	return nil
}

func (p *parser) row(n int, line string) error {
	t := p.table
	event, waits, average := t.event.of(line), t.waits.of(line), t.average.of(line)
	if waits == "" { // DB CPU has none
		return nil
	}
	if len(line) < t.seconds.to { // numbers are right-aligned in their columns
		return fmt.Errorf("the row of event %q ends in the middle of a column%s", event, anew)
	}
	if len(p.rows) == maxRows {
		return errors.New("the tables of wait events have more rows than Oracle has events")
	}
	if !duration.MatchString(average) {
		average = ""
	}
	full := len(event) >= t.event.to-t.event.from-1 // the cut may have left a trailing blank
	p.rows = append(p.rows, row{n, p.tables, event, waits, t.seconds.of(line), average, full})
	return nil
}

// isRow reports whether a line has an event and numbers in the columns of the table, and blanks between them.
func (t *table) isRow(line string) bool {
	for i, c := range t.all[1:] {
		if (column{t.all[i].to, c.from}).of(line) != "" {
			return false
		}
	}
	return t.event.of(line) != "" && (numbered.MatchString(t.waits.of(line)) || numbered.MatchString(t.seconds.of(line)))
}

// goesOn reports whether a line is a row that no other table could have.
func (t *table) goesOn(line string) bool {
	waits := t.waits.of(line)
	return t.isRow(line) && numbered.MatchString(t.seconds.of(line)) && (waits == "" || numbered.MatchString(waits))
}

// tableBelow finds the columns by the titles above the hyphens that underline
// them. It returns nil if the table is a different one.
func tableBelow(head []string, hyphens string) *table {
	var t table
	for _, at := range run.FindAllStringIndex(hyphens, -1) {
		c := column{at[0], at[1]}
		t.all = append(t.all, c)
		switch title := c.title(head); {
		case strings.HasSuffix(title, "event"):
			t.event = c
		case strings.HasSuffix(title, "waits") && t.waits == (column{}):
			t.waits = c
		case strings.HasSuffix(title, "time(s)") || strings.HasSuffix(title, "time(sec)"):
			t.seconds = c
		case strings.HasSuffix(title, "avgwait"):
			t.average = c
		}
	}
	if t.event == (column{}) || t.waits == (column{}) || t.seconds == (column{}) {
		return nil
	}
	return &t
}

// title joins the words of a column's title, without blanks and in lower case.
// Words from lines above a table may reach into the columns.
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
