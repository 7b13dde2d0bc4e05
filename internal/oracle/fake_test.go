package oracle

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/oracle/sqltext"
	"github.com/nfsbench/nfsbench/test/kit/sqlname"
)

// row is a row of a view by the names of its columns.
type row map[string]any

// fake is a database that answers texts by name. It refuses, as Oracle does,
// texts that are not for its release, and hands out columns in the order in which
// the text asks for them, so that a reader that mixes them up is found out.
type fake struct {
	mu       sync.Mutex
	release  sqltext.Release
	rows     map[string][]row
	next     map[string][]row // after the first time
	errs     map[string]error
	then     func()  // after rows were read
	outs     []int64 // of OUT binds, in order
	asked    []string
	executed []string
	binds    []any
}

// admin returns an Admin on a fake of a release with what every database has.
func admin(t *testing.T, release sqltext.Release, rows map[string][]row) (*Admin, *fake) {
	t.Helper()
	f := &fake{release: release, rows: map[string][]row{
		"instances": {{
			"INST_ID": 1, "INSTANCE_NAME": "ORCLCDB", "HOST_NAME": "db1", "VERSION": release.String() + ".0.2.0",
			"STARTUP_TIME": time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC), "STATUS": "OPEN",
		}},
	}, errs: map[string]error{}}
	maps.Copy(f.rows, rows)
	db := sql.OpenDB(f)
	t.Cleanup(func() { _ = db.Close() })
	clock := time.Date(2026, 11, 22, 7, 0, 0, 0, time.UTC)
	a := NewAdmin(db, func() time.Time {
		clock = clock.Add(time.Minute)
		return clock
	})
	a.pause = 0
	return a, f
}

func (f *fake) Connect(context.Context) (driver.Conn, error) { return fakeConn{f}, nil }
func (f *fake) Driver() driver.Driver                        { return nil }

type fakeConn struct{ f *fake }

func (fakeConn) Prepare(string) (driver.Stmt, error)      { return nil, driver.ErrSkip }
func (fakeConn) Close() error                             { return nil }
func (fakeConn) Begin() (driver.Tx, error)                { return nil, driver.ErrSkip }
func (fakeConn) CheckNamedValue(*driver.NamedValue) error { return nil }

func (c fakeConn) QueryContext(_ context.Context, text string, _ []driver.NamedValue) (driver.Rows, error) {
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	name, _ := sqlname.Of(text)
	c.f.asked = append(c.f.asked, name)
	if next := c.f.next[name]; next != nil {
		defer func() { c.f.rows[name] = next }()
	}
	if err := c.f.errs[name]; err != nil {
		return nil, err
	}
	if !covers(text, c.f.release) {
		return nil, fmt.Errorf("ORA-00904: invalid identifier: %s is not for release %s", name, c.f.release)
	}
	return &fakeRows{columns: selected(text), rows: slices.Clone(c.f.rows[name]), then: c.f.then}, nil
}

func (c fakeConn) ExecContext(_ context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	name, _ := sqlname.Of(text)
	if err := c.f.errs[name]; err != nil {
		return nil, err
	}
	c.f.executed = append(c.f.executed, text[strings.LastIndex(text, "--")+len("-- releases: all\n"):])
	outs := c.f.outs
	for _, a := range args {
		if out, ok := a.Value.(sql.Out); ok {
			*out.Dest.(*int64), outs = outs[0], outs[1:]
			continue
		}
		c.f.binds = append(c.f.binds, a.Value)
	}
	return driver.RowsAffected(0), nil
}

// covers says whether a text is for a release, by its line of releases: all, from R, or to R. The tests
// of test/lab/oraclesql prove that a text names only what these have.
func covers(text string, r sqltext.Release) bool {
	m := regexp.MustCompile(`-- releases: (all|from|to) ?(\S*)\n`).FindStringSubmatch(text)
	switch m[1] {
	case "from":
		return m[2] <= r.String()
	case "to":
		return r.String() <= m[2]
	}
	return true
}

// selected returns the names of the columns that a text selects, of the first
// query of a set.
func selected(text string) []string {
	list := regexp.MustCompile(`(?s)\bSELECT\s+(?:DISTINCT\s+)?(.*?)\bFROM\b`).FindStringSubmatch(text)[1]
	list = regexp.MustCompile(`\([^)]*\)`).ReplaceAllString(list, "")
	var names []string
	for column := range strings.SplitSeq(list, ",") {
		words := strings.FieldsFunc(column, func(r rune) bool { return strings.ContainsRune(" \n.", r) })
		names = append(names, strings.ToUpper(words[len(words)-1]))
	}
	return names
}

type fakeRows struct {
	columns []string
	rows    []row
	then    func()
}

func (r *fakeRows) Columns() []string { return r.columns }
func (r *fakeRows) Close() error {
	if r.then != nil {
		r.then()
	}
	return nil
}

func (r *fakeRows) Next(dest []driver.Value) error {
	if len(r.rows) == 0 {
		return io.EOF
	}
	for i, c := range r.columns {
		value, ok := r.rows[0][c]
		switch v := value.(type) {
		case int:
			dest[i] = fmt.Sprint(v) // as godror gives a NUMBER
		case int64:
			dest[i] = fmt.Sprint(v)
		default:
			dest[i] = v
		}
		if !ok {
			return fmt.Errorf("the test gives no %s", c)
		}
	}
	r.rows = r.rows[1:]
	return nil
}
