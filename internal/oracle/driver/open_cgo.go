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

// Open connects through godror, and so through the client library of the image.
func Open(ctx context.Context, o oracle.ConnectOptions) (*sql.DB, error) {
	db := sql.OpenDB(godror.NewConnector(connectionParams(o)))
	sessions := max(o.Sessions, 1)
	db.SetMaxOpenConns(sessions)
	// Sessions are kept once they are there: the client library has crashed of
	// connections that come and go quickly.
	db.SetMaxIdleConns(sessions)
	if err := db.PingContext(ctx); err != nil {
		return nil, oracle.Explain(errors.Join(err, db.Close()))
	}
	return db, nil
}

// connectionParams are those of one session. Whether a session is one of
// godror's own pool is always said, for its guide and its code name different
// defaults; the pool here is that of database/sql.
func connectionParams(o oracle.ConnectOptions) godror.ConnectionParams {
	var p godror.ConnectionParams
	p.Username = o.User
	p.Password = godror.NewPassword(o.Password)
	p.ConnectString = o.Connect
	p.AdminRole = dsn.AdminRole(o.Role)
	p.StandaloneConnection = godror.Bool(true)
	return p
}
