//go:build cgo

// Package driver connects to Oracle databases through godror, which needs cgo and Oracle's client library.
package driver

import (
	"context"
	"database/sql"
	"errors"

	"github.com/godror/godror"
	"github.com/godror/godror/dsn"

	"github.com/nfsbench/nfsbench/internal/oracle"
)

// Open connects through godror, which uses the client library of the image.
func Open(ctx context.Context, o oracle.ConnectOptions) (*sql.DB, error) {
	db := sql.OpenDB(godror.NewConnector(connectionParams(o)))
	sessions := max(o.Sessions, 1)
	db.SetMaxOpenConns(sessions)
	// Keep idle sessions: the client library has crashed when connections come and
	// go quickly.
	db.SetMaxIdleConns(sessions)
	if err := db.PingContext(ctx); err != nil {
		return nil, oracle.Explain(errors.Join(err, db.Close()))
	}
	return db, nil
}

// connectionParams returns the parameters of a connection. It always says
// whether a session belongs to godror's own pool, because the defaults in
// godror's guide and code differ; database/sql has the pool here.
func connectionParams(o oracle.ConnectOptions) godror.ConnectionParams {
	var p godror.ConnectionParams
	p.Username = o.User
	p.Password = godror.NewPassword(o.Password)
	p.ConnectString = o.Connect
	p.AdminRole = dsn.AdminRole(o.Role)
	p.StandaloneConnection = godror.Bool(true)
	return p
}
