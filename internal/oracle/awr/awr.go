// Package awr reads the wait events of AWR and Statspack reports in text form:
// awr.txt and statspack.txt of a SLOB kit, or single lines that grep found.
//
// Releases differ in columns and units, so columns are found by their titles
// above the line of hyphens. Reports print total times in whole seconds up to
// 12.1, so averages of few waits are coarse; later ones print an average with
// its unit, from which the total is computed where that is finer.
package awr

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
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
	p := parser{}
	scan := bufio.NewScanner(in)
	scan.Buffer(nil, maxLineBytes)
	for line := 1; scan.Scan(); line++ {
		if err := p.line(strings.TrimRight(strings.Trim(scan.Text(), "\r\f"), " \r\f")); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
	if err := scan.Err(); err != nil {
		return nil, err
	}
	if len(p.rows) == 0 {
		return nil, ErrNoEvents
	}
	rows := make([]runfile.AWRRow, 0, len(p.rows))
	for _, r := range p.rows {
		rows = append(rows, r.AWRRow)
	}
	return rows, nil
}

// parser finds tables of wait events and reads their rows.
type parser struct {
	rows       []row
	head       []string // the lines since the last blank one
	table      *table   // the one that is being read
	gap        bool     // a blank line stood in it, which may be that of a page
	left       *table   // the one that a line has ended that is none of its rows
	near       bool     // no blank line stood between
	background bool     // the last heading was one of background processes
}

// row is one of the report.
type row struct {
	runfile.AWRRow
	full bool // the name fills its column, so it may go on
}

// table says in which columns, counted in bytes, what stands.
type table struct {
	event, waits, seconds, average column
	all                            []column
}

type column struct{ from, to int } // to is exclusive

// heading notes whose events the tables below a line are.
func (p *parser) heading(line string) {
	switch {
	case strings.Contains(line, "Background Wait Events"):
		p.background = true
	case strings.Contains(line, "Foreground") || strings.Contains(line, "Timed Events"):
		p.background = false
	}
}

func (p *parser) line(line string) error {
	p.heading(line)
	hyphens := strings.Trim(line, "- ") == ""
	rule := hyphens && len(strings.Fields(line)) == 1
	switch {
	case line == "":
		p.head, p.gap, p.near = nil, true, false
	case p.left != nil && (rule && p.near || p.left.holds(line) && p.left.numbers(line)):
		return errors.New("the table of wait events goes on here, but a line above is none of its rows: make the report " +
			"anew with wider columns and SET PAGESIZE 0")
	case p.table != nil && (isPageTitle(line) || hyphens && len(p.head) == 1 && isPageTitle(p.head[0])):
		p.head = []string{line} // SQL*Plus begins a page
	case rule && line[0] == '-': // it may underline the title of a page; that of the end is indented
		p.leave(false)
		p.head = nil
	case hyphens:
		p.table, p.left = tableBelow(p.head, line), nil
		p.head, p.gap = nil, false
	case p.table != nil && p.table.holds(line) && (!p.gap || p.table.numbers(line)):
		p.head, p.gap = nil, false
		return p.row(line)
	case p.table != nil && !p.background && p.table.begun(line):
		return errors.New("a row of wait events is not below the titles of its columns: make the report anew with wider " +
			"columns")
	default:
		p.leave(!p.gap)
		p.head = append(p.head, line)
		if len(p.head) > headLines {
			p.head = p.head[1:]
		}
	}
	return nil
}

// leave ends the table, which may go on below.
func (p *parser) leave(near bool) {
	if p.table != nil && !p.background {
		p.left, p.near = p.table, near
	}
	p.table = nil
}

// isPageTitle says whether a line is the title that SQL*Plus writes above each page of a report that was selected
// from DBMS_WORKLOAD_REPOSITORY. With another alias of the column, or with TTITLE, it is another one.
func isPageTitle(line string) bool { return strings.EqualFold(strings.TrimSpace(line), "OUTPUT") }

func (p *parser) row(line string) error {
	event := p.table.event.of(line)
	waits, seconds := p.table.waits.of(line), p.table.seconds.of(line)
	if p.background || event == "" || waits == "" { // DB CPU has no waits
		return nil
	}
	n, off, okWaits := number(waits)
	total, rounding, okSeconds := number(seconds)
	if !okWaits || !okSeconds {
		return fmt.Errorf("event %q has %q waits and %q seconds, of which one is no number: make the report anew with wider "+
			"columns, or of a shorter time", event, waits, seconds)
	}
	if len(p.rows) == maxRows {
		return errors.New("more wait events than Oracle has")
	}
	if mean, off, ok := duration(p.table.average.of(line)); ok && off*n < rounding && rounding > total/100 {
		total, rounding = mean*n, off*n
	}
	p.add(row{
		AWRRow: runfile.AWRRow{
			Event: event, Waits: int64(n), WaitsRounding: int64(off), Seconds: total, SecondsRounding: rounding,
		},
		full: len(event) >= p.table.event.to-p.table.event.from,
	})
	return nil
}

// add keeps each event once: tables of one report cut its name at different lengths, and
// round differently.
func (p *parser) add(r row) {
	for i := range p.rows {
		have := &p.rows[i]
		cut := have.full && strings.HasPrefix(r.Event, have.Event) || r.full && strings.HasPrefix(have.Event, r.Event)
		if have.Event != r.Event && (!cut || have.Waits != r.Waits) {
			continue
		}
		if len(r.Event) > len(have.Event) {
			have.Event, have.full = r.Event, r.full
		}
		if have.Waits == r.Waits && r.SecondsRounding < have.SecondsRounding {
			have.Seconds, have.SecondsRounding = r.Seconds, r.SecondsRounding
		}
		return
	}
	p.rows = append(p.rows, r)
}

// holds says whether a line has the columns of the table: what stands between them is blank.
func (t *table) holds(line string) bool {
	for i, c := range t.all[1:] {
		if (column{t.all[i].to, c.from}).of(line) != "" {
			return false
		}
	}
	return true
}

// begun says whether what stands behind the column of the event begins with the numbers of a row.
func (t *table) begun(line string) bool {
	numbers := strings.Fields(column{t.event.to, len(line)}.of(line))
	return t.event.of(line) != "" && len(numbers) > 1 && isNumber(numbers[0]) && isNumber(numbers[1])
}

func isNumber(word string) bool {
	_, _, ok := number(word)
	return ok || strings.Trim(word, "#") == ""
}

// numbers says whether a line has what may be numbers where they belong.
func (t *table) numbers(line string) bool {
	waits, seconds := t.waits.of(line), t.seconds.of(line)
	return t.event.of(line) != "" && seconds != "" && strings.Trim(waits+seconds, "0123456789.,#KMGT") == ""
}

// tableBelow finds the columns by the titles above the hyphens that underline
// them, or returns nil where the table is another.
func tableBelow(head []string, hyphens string) *table {
	var t table
	for _, at := range regexp.MustCompile("-+").FindAllStringIndex(hyphens, -1) {
		c := column{at[0], at[1]}
		t.all = append(t.all, c)
		switch title := c.title(head); {
		case strings.HasSuffix(title, "event"):
			t.event = c
		case strings.HasSuffix(title, "waits") && t.waits == (column{}):
			t.waits = c
		case strings.Contains(title, "time") && (strings.Contains(title, "(s)") || strings.Contains(title, "(sec)")):
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

// number reads 32,032 and 823.4, and the short forms of recent releases, 12.3K. It is off by
// half of its last digit.
func number(word string) (value, off float64, ok bool) {
	m := regexp.MustCompile(`^([0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,15})?(?:\.([0-9]{1,6}))?([KMGT]?)$`).FindStringSubmatch(word)
	if m == nil || m[1]+m[2] == "" {
		return 0, 0, false
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(m[1], ",", "")+"."+m[2], 64)
	factor := map[string]float64{"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}[m[3]]
	if err != nil || v*factor > 1e15 {
		return 0, 0, false
	}
	return v * factor, 0.5 * math.Pow10(-len(m[2])) * factor, true
}

// duration reads 450.00us and 10.25 ms, in seconds.
func duration(word string) (value, off float64, ok bool) {
	m := regexp.MustCompile(`^([0-9.,]+) ?(ns|us|ms|s)$`).FindStringSubmatch(word)
	if m == nil {
		return 0, 0, false
	}
	v, off, ok := number(m[1])
	unit := map[string]float64{"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}[m[2]]
	return v * unit, off * unit, ok
}
