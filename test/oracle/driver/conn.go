package driver

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/nfsbench/nfsbench/test/oracle/wire"
)

// breakGrace is how long a cancelled statement may take to end.
const breakGrace = 10 * time.Second

type conn struct {
	nc      net.Conn
	codec   *wire.Codec
	answers chan answer
	broken  atomic.Bool
}

type answer struct {
	response *wire.Response
	err      error
}

// listen hands on what the server answers, until the connection ends.
func (c *conn) listen() {
	for {
		r := new(wire.Response)
		err := c.codec.Receive(r)
		c.answers <- answer{r, err}
		if err != nil {
			close(c.answers)
			return
		}
	}
}

// call makes one request. When the context ends first the statement is
// cancelled, and the answer is then ORA-01013.
func (c *conn) call(ctx context.Context, r *wire.Request) (*wire.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := c.codec.Send(r); err != nil {
		return nil, c.lost()
	}
	select {
	case a := <-c.answers:
		return c.take(a)
	case <-ctx.Done():
	}
	if err := c.codec.Send(&wire.Request{Kind: wire.Cancel}); err != nil {
		return nil, c.lost()
	}
	timer := time.NewTimer(breakGrace)
	defer timer.Stop()
	select {
	case a := <-c.answers:
		return c.take(a)
	case <-timer.C:
		c.broken.Store(true)
		_ = c.nc.Close()
		return nil, context.Cause(ctx)
	}
}

func (c *conn) take(a answer) (*wire.Response, error) {
	if a.err != nil || a.response == nil {
		return nil, c.lost()
	}
	if a.response.Failure != nil {
		return nil, a.response.Failure
	}
	return a.response, nil
}

func (c *conn) lost() error {
	c.broken.Store(true)
	return &wire.Failure{Code: 3113, Message: "end-of-file on communication channel"}
}

// ExecContext implements driver.ExecerContext.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	r, err := c.call(ctx, &wire.Request{Kind: wire.Exec, SQL: query, Args: bind(args)})
	if err != nil {
		return nil, err
	}
	for i, a := range args {
		if out, ok := a.Value.(sql.Out); ok {
			if err := assign(out.Dest, r.Out[i]); err != nil {
				return nil, err
			}
		}
	}
	return driver.RowsAffected(r.Affected), nil
}

// QueryContext implements driver.QueryerContext.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	r, err := c.call(ctx, &wire.Request{Kind: wire.Query, SQL: query, Args: bind(args)})
	if err != nil {
		return nil, err
	}
	return &rows{columns: r.Columns, rows: r.Rows}, nil
}

func bind(args []driver.NamedValue) []wire.Arg {
	out := make([]wire.Arg, len(args))
	for i, a := range args {
		o, isOut := a.Value.(sql.Out)
		out[i] = wire.Arg{Name: a.Name, Out: isOut, Value: wire.Value(a.Value)}
		if isOut {
			out[i].Value = wire.Null{}
			if o.In {
				out[i].Value = wire.Value(dereference(o.Dest))
			}
		}
	}
	return out
}

// CheckNamedValue implements driver.NamedValueChecker: it lets OUT binds pass.
func (c *conn) CheckNamedValue(v *driver.NamedValue) error {
	if _, ok := v.Value.(sql.Out); ok {
		return nil
	}
	value, err := driver.DefaultParameterConverter.ConvertValue(v.Value)
	v.Value = value
	return err
}

// Ping implements driver.Pinger.
func (c *conn) Ping(context.Context) error {
	if c.broken.Load() {
		return driver.ErrBadConn
	}
	return nil
}

// IsValid implements driver.Validator.
func (c *conn) IsValid() bool { return !c.broken.Load() }

// Prepare implements driver.Conn.
func (c *conn) Prepare(query string) (driver.Stmt, error) { return &stmt{c, query}, nil }

// Begin implements driver.Conn.
func (c *conn) Begin() (driver.Tx, error) { return tx{c}, nil }

// BeginTx implements driver.ConnBeginTx.
func (c *conn) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) { return tx{c}, nil }

// Close implements driver.Conn.
func (c *conn) Close() error {
	c.broken.Store(true)
	return c.nc.Close()
}

type tx struct{ c *conn }

// Commit implements driver.Tx.
func (t tx) Commit() error { return t.end(wire.Commit) }

// Rollback implements driver.Tx.
func (t tx) Rollback() error { return t.end(wire.Rollback) }

func (t tx) end(kind string) error {
	_, err := t.c.call(context.WithoutCancel(context.TODO()), &wire.Request{Kind: kind})
	return err
}

type stmt struct {
	c     *conn
	query string
}

// Close implements driver.Stmt.
func (s *stmt) Close() error { return nil }

// NumInput implements driver.Stmt: the server counts.
func (s *stmt) NumInput() int { return -1 }

// CheckNamedValue implements driver.NamedValueChecker.
func (s *stmt) CheckNamedValue(v *driver.NamedValue) error { return s.c.CheckNamedValue(v) }

// Exec implements driver.Stmt; database/sql calls ExecContext instead.
func (s *stmt) Exec([]driver.Value) (driver.Result, error) { return nil, driver.ErrSkip }

// Query implements driver.Stmt; database/sql calls QueryContext instead.
func (s *stmt) Query([]driver.Value) (driver.Rows, error) { return nil, driver.ErrSkip }

// ExecContext implements driver.StmtExecContext.
func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return s.c.ExecContext(ctx, s.query, args)
}

// QueryContext implements driver.StmtQueryContext.
func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.c.QueryContext(ctx, s.query, args)
}

type rows struct {
	columns []string
	rows    [][]any
}

// Columns implements driver.Rows.
func (r *rows) Columns() []string { return r.columns }

// Close implements driver.Rows.
func (r *rows) Close() error { return nil }

// Next implements driver.Rows.
func (r *rows) Next(dest []driver.Value) error {
	if len(r.rows) == 0 {
		return io.EOF
	}
	for i, v := range r.rows[0] {
		if _, null := v.(wire.Null); null {
			v = nil
		}
		dest[i] = v
	}
	r.rows = r.rows[1:]
	return nil
}
