package run

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"slices"

	"github.com/nfsbench/nfsbench/internal/oracle"
)

type (
	connectOptions = oracle.ConnectOptions
	db             = *sql.DB
)

// open is the Opener of the database in memory.
func (d *database) open(ctx context.Context, o oracle.ConnectOptions) (*sql.DB, error) {
	if err := d.login(o); err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector{d, o})
	db.SetMaxOpenConns(max(1, o.Sessions))
	return db, db.PingContext(ctx)
}

type connector struct {
	d *database
	o oracle.ConnectOptions
}

func (c connector) Connect(context.Context) (driver.Conn, error) {
	if err := c.d.login(c.o); err != nil {
		return nil, err
	}
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	c.d.sessions[c.o.User+"@"+c.o.Connect]++
	c.d.most[c.o.User+"@"+c.o.Connect] = max(c.d.most[c.o.User+"@"+c.o.Connect], c.d.sessions[c.o.User+"@"+c.o.Connect])
	return &conn{d: c.d, o: c.o, generation: c.d.generation}, nil
}

func (c connector) Driver() driver.Driver { return nil }

// conn is one session.
type conn struct {
	d          *database
	o          oracle.ConnectOptions
	generation int
	direct     bool
}

func (c *conn) Prepare(text string) (driver.Stmt, error) { return &stmt{c, text}, nil }

func (c *conn) Close() error {
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	c.d.sessions[c.o.User+"@"+c.o.Connect]--
	return nil
}

func (c *conn) Begin() (driver.Tx, error) { return nil, errors.New("no transactions here") }

// CheckNamedValue lets sql.Out pass.
func (c *conn) CheckNamedValue(v *driver.NamedValue) error {
	if _, out := v.Value.(sql.Out); out {
		return nil
	}
	value, err := driver.DefaultParameterConverter.ConvertValue(v.Value)
	v.Value = value
	return err
}

func (c *conn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	_, err := c.d.execute(ctx, c, text, args)
	return driver.RowsAffected(0), err
}

func (c *conn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	found, err := c.d.execute(ctx, c, text, args)
	if err != nil {
		return nil, err
	}
	return &resultRows{found}, nil
}

type stmt struct {
	c    *conn
	text string
}

func (s *stmt) Close() error  { return nil }
func (s *stmt) NumInput() int { return -1 }

func (s *stmt) Exec([]driver.Value) (driver.Result, error) { return nil, errors.ErrUnsupported }
func (s *stmt) Query([]driver.Value) (driver.Rows, error)  { return nil, errors.ErrUnsupported }

func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return s.c.ExecContext(ctx, s.text, args)
}

func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.c.QueryContext(ctx, s.text, args)
}

// resultRows have as many columns as their first row.
type resultRows struct{ left [][]any }

func (r *resultRows) Columns() []string {
	if len(r.left) == 0 {
		return nil
	}
	return slices.Repeat([]string{"C"}, len(r.left[0]))
}

func (r *resultRows) Close() error { return nil }

func (r *resultRows) Next(into []driver.Value) error {
	if len(r.left) == 0 {
		return io.EOF
	}
	for i, v := range r.left[0] {
		into[i] = v
	}
	r.left = r.left[1:]
	return nil
}
