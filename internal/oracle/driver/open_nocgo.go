//go:build !cgo

// Package driver connects to Oracle databases through godror, which needs cgo and Oracle's client library.
package driver

import (
	"context"
	"database/sql"

	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Open reports that this program cannot connect. With it the package builds and
// tests without a C compiler.
func Open(context.Context, oracle.ConnectOptions) (*sql.DB, error) {
	return nil, oracle.Fail(runfile.FailureOracleClient,
		"this oraload was built without cgo and so without Oracle's driver: take that of the nfsbench image, or build it "+
			"with hack/oracle/oraload.sh", nil)
}
