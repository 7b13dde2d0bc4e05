package awr

import (
	"errors"
	"strings"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// headLines is how many lines above the hyphens hold titles of columns.
const headLines = 4

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
	r, ok := row(p.table.event.of(line), p.table.waits.of(line), p.table.seconds.of(line))
	if !ok || p.found[r.Event] { // DB CPU has no waits
		return nil
	}
	if len(p.rows) == maxRows {
		return errors.New("more wait events than Oracle has")
	}
	p.found[r.Event] = true
	p.rows = append(p.rows, r)
	return nil
}

// tableBelow finds the columns by the titles above the hyphens that underline
// them, or returns nil where the table is another.
func tableBelow(head []string, hyphens string) *table {
	var t table
	for _, c := range columnsOf(hyphens) {
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

func columnsOf(hyphens string) []column {
	var out []column
	for at := 0; at < len(hyphens); {
		if hyphens[at] == ' ' {
			at++
			continue
		}
		end := at
		for end < len(hyphens) && hyphens[end] == '-' {
			end++
		}
		out = append(out, column{at, end})
		at = end
	}
	return out
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
