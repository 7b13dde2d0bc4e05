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
	"net"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/test/oracle/wire"
)

// dialTimeout is connect_timeout of an EZConnect string.
const dialTimeout = 15 * time.Second

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

// split takes an EZConnect string apart: [//]host[:port]/service[?options].
func split(connect string) (address, service string, err error) {
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

// Driver implements driver.Connector.
func (c *connector) Driver() driver.Driver { return noDriver{} }

// Connect implements driver.Connector.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	dialer := net.Dialer{Timeout: dialTimeout}
	nc, err := dialer.DialContext(ctx, "tcp", c.address)
	if err != nil {
		return nil, dialFailure(err)
	}
	conn := &conn{nc: nc, codec: wire.NewCodec(nc), answers: make(chan answer, 1)}
	go conn.listen()
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

type noDriver struct{}

// Open implements driver.Driver. There is no such name to register: the driver
// is used through Open of this package only.
func (noDriver) Open(name string) (driver.Conn, error) {
	return nil, fmt.Errorf("open %q: use driver.Open", name)
}
