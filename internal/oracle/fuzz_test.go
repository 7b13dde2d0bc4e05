package oracle

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/oracle/sqltext"
	"github.com/nfsbench/nfsbench/test/kit/memory"
	"github.com/nfsbench/nfsbench/test/kit/sqlname"
)

// FuzzAnswers reads the answers of a database that is an image of a tenant: the lines of a
// text are the rows of every view, with | between the columns.
func FuzzAnswers(f *testing.F) {
	f.Add("1|1|1|1|1|1|1|1|1|1|1|1|1|1|1|1|1|1\n1|2|3||4|5\n")
	f.Add("1|physical reads|7|9|8\n1|1|x|4\n-9223372036854775808|a|1e308|NaN\n")
	f.Add("1|_hidden|TRUE|FALSE|MODIFIED\n2|_hidden|FALSE|FALSE|MODIFIED\n")
	f.Add("1|10.0.1.61|10.0.1.62|1|2|3|4|5|6|7\n1|10.0.1.61|10.0.1.62|9|9|9|9|9|9|9\n")
	f.Fuzz(func(t *testing.T, text string) {
		db := sql.OpenDB(stranger(text))
		defer func() { _ = db.Close() }()
		a := NewAdmin(db, func() time.Time { return time.Unix(1, 0) })
		memory.Bound(t, 1<<20+4096*len(text), func() {
			ctx := t.Context()
			_, _ = a.Describe(ctx)
			_, _ = a.Parameters(ctx, []string{"db_block_size"})
			_, _ = a.activeSessions(ctx)
			before, err := a.Snapshot(ctx)
			if err != nil {
				return
			}
			if w := Window(before, before); len(w.Files) > maxFiles {
				t.Errorf("%d files", len(w.Files))
			}
			w := a.Watch()
			_, _ = w.Look(ctx), w.Look(ctx)
			w.Result()
		})
	})
}

// stranger is a database that gives the same rows to every question, but for the instances.
type stranger string

func (s stranger) Connect(context.Context) (driver.Conn, error) {
	return strangerConn{text: string(s)}, nil
}
func (stranger) Driver() driver.Driver { return nil }

type strangerConn struct {
	fakeConn
	text string
}

func (c strangerConn) QueryContext(_ context.Context, text string, _ []driver.NamedValue) (driver.Rows, error) {
	columns := selected(text)
	if name, _ := sqlname.Of(text); name == "instances" {
		return &fakeRows{columns: columns, rows: []row{{
			"INST_ID": 1, "INSTANCE_NAME": "A", "HOST_NAME": "a", "VERSION": "19.0.0.0.0", "STARTUP_TIME": time.Unix(0, 0), "STATUS": "OPEN",
		}}}, nil
	}
	return &strangerRows{columns: columns, lines: strings.Split(c.text, "\n")}, nil
}

type strangerRows struct{ columns, lines []string }

func (r *strangerRows) Columns() []string { return r.columns }
func (r *strangerRows) Close() error      { return nil }

func (r *strangerRows) Next(to []driver.Value) error {
	if len(r.lines) == 0 || r.lines[0] == "" {
		return io.EOF
	}
	clear(to)
	for i, field := range strings.SplitN(r.lines[0], "|", len(to)) {
		if field != "" {
			to[i] = field
		}
	}
	r.lines = r.lines[1:]
	return nil
}

func TestAnAnswerThatDoesNotEndIsNotReadForever(t *testing.T) {
	db := sql.OpenDB(stranger(strings.Repeat("1|a\n", maxRows+1)))
	t.Cleanup(func() { _ = db.Close() })
	n := 0
	err := Rows(t.Context(), db, sqltext.Text("sysstat"), nil, func(*sql.Rows) error { n++; return nil })
	if err == nil || !strings.Contains(err.Error(), "more than 1000000 rows") || n != maxRows {
		t.Errorf("%d rows, %v", n, err)
	}
}
