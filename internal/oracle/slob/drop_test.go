package slob

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/oracle/sqltext"
)

// lingering is a database with the schema NFSBENCH1, which cannot be dropped
// while a session of it lives on.
type lingering struct {
	until   time.Time
	dropped bool
	tries   int
}

func (l *lingering) Connect(context.Context) (driver.Conn, error) { return l, nil }
func (l *lingering) Driver() driver.Driver                        { return nil }
func (l *lingering) Prepare(string) (driver.Stmt, error)          { return nil, errors.ErrUnsupported }
func (l *lingering) Close() error                                 { return nil }
func (l *lingering) Begin() (driver.Tx, error)                    { return nil, errors.ErrUnsupported }

func (l *lingering) ExecContext(_ context.Context, text string, _ []driver.NamedValue) (driver.Result, error) {
	if name, _ := sqltext.NameOf(text); name != "slob_schema_drop" {
		return nil, errors.ErrUnsupported
	}
	l.tries++
	if time.Now().Before(l.until) {
		return nil, errors.New("ORA-01940: cannot drop a user that is currently connected")
	}
	l.dropped = true
	return driver.RowsAffected(0), nil
}

func (l *lingering) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return &oneUser{}, nil
}

type oneUser struct{ told bool }

func (*oneUser) Columns() []string { return []string{"USERNAME", "MARKED"} }
func (*oneUser) Close() error      { return nil }

func (u *oneUser) Next(into []driver.Value) error {
	if u.told {
		return io.EOF
	}
	u.told = true
	into[0], into[1] = "NFSBENCH1", int64(1)
	return nil
}

func TestDroppingWaitsForSessionsThatLiveOn(t *testing.T) {
	for wait, want := range map[time.Duration]bool{0: true, 5 * time.Second: true, time.Hour: false} {
		synctest.Test(t, func(t *testing.T) {
			l := &lingering{until: time.Now().Add(wait)}
			db := sql.OpenDB(l)
			defer func() { _ = db.Close() }()
			s := &Schemas{db: db, spec: Spec{SLOB: bench.SLOBWorkload{Schemas: 1}}, schemas: []schema{{name: "NFSBENCH1", exists: true}, {name: "NFSBENCH2"}}}
			err := s.Drop(t.Context())
			if l.dropped != want || (err == nil) != want || l.tries > dropTries {
				t.Errorf("after %v: dropped %v in %d tries, %v", wait, l.dropped, l.tries, err)
			}
		})
	}
}
