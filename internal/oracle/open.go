package oracle

import (
	"context"
	"database/sql"
)

// ConnectOptions say where to connect to, and as whom.
type ConnectOptions struct {
	Connect  string // EZConnect: host:port/service
	User     string
	Password string
	Role     string // SYSDBA, or empty
	Sessions int    // at most so many at once; 0 = one
}

// Opener connects to a database. The pool that it returns has been asked for a
// first connection; its errors are explained (see Explain). It is safe for
// several goroutines.
type Opener func(ctx context.Context, o ConnectOptions) (*sql.DB, error)
