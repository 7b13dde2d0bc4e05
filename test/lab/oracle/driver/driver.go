// Package driver is a database/sql driver for the stand-in for Oracle, and the
// Opener that the loader of test builds is made with. Errors have the texts that
// godror gives: "ORA-01017: ...".
package driver

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/test/lab/oracle/wire"
)

// Open connects to a stand-in; it is an oracle.Opener.
func Open(ctx context.Context, o oracle.ConnectOptions) (*sql.DB, error) {
	address, service, err := split(o.Connect)
	if err != nil {
		return nil, oracle.Explain(err)
	}
	db := sql.OpenDB(&connector{address: address, login: wire.Request{
		Kind: wire.Login, User: o.User, Password: o.Password, Role: o.Role, Service: service, Program: "oraload",
	}})
	sessions := max(o.Sessions, 1)
	db.SetMaxOpenConns(sessions)
	db.SetMaxIdleConns(sessions)
	if err := db.PingContext(ctx); err != nil {
		_ = db.Close()
		return nil, oracle.Explain(err)
	}
	return db, nil
}

// split takes an EZConnect string apart: [//]host[:port]/service[?options], or a connect
// descriptor, of which it reads the first address. The stand-in has no TLS.
func split(connect string) (address, service string, err error) {
	if strings.HasPrefix(connect, "(") {
		value := func(key string) string {
			m := regexp.MustCompile(`(?i)\(` + key + `=([^()]*)\)`).FindStringSubmatch(connect)
			return strings.Join(m[min(1, len(m)):], "")
		}
		connect = net.JoinHostPort(value("HOST"), value("PORT")) + "/" + value("SERVICE_NAME")
	}
	connect = strings.TrimPrefix(strings.TrimPrefix(connect, "tcp:"), "//")
	connect, _, _ = strings.Cut(connect, "?")
	address, service, ok := strings.Cut(connect, "/")
	if !ok || address == "" {
		return "", "", &wire.Failure{Code: 12154, Message: "TNS:could not resolve the connect identifier specified"}
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		address = net.JoinHostPort(address, "1521")
	}
	service, _, _ = strings.Cut(service, ":") // :dedicated
	return address, service, nil
}

type connector struct {
	address string
	login   wire.Request
}

func (c *connector) Driver() driver.Driver { return nil } // nobody asks

func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	dialer := net.Dialer{Timeout: 15 * time.Second} // connect_timeout of an EZConnect string
	nc, err := dialer.DialContext(ctx, "tcp", c.address)
	if err != nil {
		return nil, dialFailure(err)
	}
	conn := &conn{nc: nc, codec: wire.NewCodec(nc), answers: make(chan answer, 1)}
	go func() {
		defer close(conn.answers)
		for err := error(nil); err == nil; {
			r := new(wire.Response)
			err = conn.codec.Receive(r)
			conn.answers <- answer{r, err}
		}
	}()
	if _, err := conn.call(ctx, &c.login); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// dialFailure says in Oracle's words why there is no connection.
func dialFailure(err error) error {
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return &wire.Failure{Code: 12545, Message: "Connect failed because target host or object does not exist"}
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return &wire.Failure{Code: 12170, Message: "TNS:Connect timeout occurred"}
	}
	return &wire.Failure{Code: 12541, Message: "TNS:no listener"}
}

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
	select {
	case a := <-c.answers:
		return c.take(a)
	case <-time.After(2 * time.Minute):
		_ = c.Close()
		return nil, context.Cause(ctx)
	}
}

func (c *conn) take(a answer) (*wire.Response, error) {
	switch {
	case a.err != nil || a.response == nil:
		return nil, c.lost()
	case a.response.Failure != nil:
		return nil, a.response.Failure
	}
	return a.response, nil
}

func (c *conn) lost() error {
	c.broken.Store(true)
	return &wire.Failure{Code: 3113, Message: "end-of-file on communication channel"}
}

func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	r, err := c.call(ctx, &wire.Request{Kind: wire.Exec, SQL: query, Args: bind(args)})
	if err != nil {
		return nil, err
	}
	for i, a := range args {
		if out, ok := a.Value.(sql.Out); ok {
			to, known := out.Dest.(*int64)
			if n, isNumber := r.Out[i].(int64); known && isNumber {
				*to = n
			} else {
				return nil, fmt.Errorf("OUT bind of type %T: %T does not fit it", out.Dest, r.Out[i])
			}
		}
	}
	return driver.ResultNoRows, nil
}

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
		out[i] = wire.Arg{Name: a.Name, Value: wire.Value(a.Value)}
		if _, out[i].Out = a.Value.(sql.Out); out[i].Out {
			out[i].Value = wire.Null{}
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

func (c *conn) Ping(context.Context) error {
	if c.broken.Load() {
		return driver.ErrBadConn
	}
	return nil
}

func (c *conn) IsValid() bool { return !c.broken.Load() }

func (c *conn) Prepare(query string) (driver.Stmt, error) { return &stmt{c, query}, nil }

// Begin implements driver.Conn; nfsbench has no transactions, and statements commit.
func (c *conn) Begin() (driver.Tx, error) { return nil, errors.ErrUnsupported }

func (c *conn) Close() error {
	c.broken.Store(true)
	return c.nc.Close()
}

type stmt struct {
	c     *conn
	query string
}

func (s *stmt) Close() error { return nil }

// NumInput implements driver.Stmt: the server counts.
func (s *stmt) NumInput() int { return -1 }

func (s *stmt) CheckNamedValue(v *driver.NamedValue) error { return s.c.CheckNamedValue(v) }

// Exec implements driver.Stmt; database/sql calls ExecContext instead.
func (s *stmt) Exec([]driver.Value) (driver.Result, error) { return nil, driver.ErrSkip }

// Query implements driver.Stmt; database/sql calls QueryContext instead.
func (s *stmt) Query([]driver.Value) (driver.Rows, error) { return nil, driver.ErrSkip }

func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return s.c.ExecContext(ctx, s.query, args)
}

func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.c.QueryContext(ctx, s.query, args)
}

type rows struct {
	columns []string
	rows    [][]any
}

func (r *rows) Columns() []string { return r.columns }

func (r *rows) Close() error { return nil }

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
