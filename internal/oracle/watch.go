package oracle

import (
	"context"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Watch reads the GV$DNFS_* views again and again. Reading V$DNFS_CHANNELS sets
// its counters to zero, so there must be one Watch for a database, and nobody
// else must look. It is safe for several goroutines.
//
// A window goes: Reset, Look (which empties the counters and begins the window),
// Look every few seconds, a last Look at its end, Result.
type Watch struct {
	admin *Admin
}

// Look reads the views once. The first after Reset begins the window: what the
// channels counted until then is thrown away.
func (w *Watch) Look(ctx context.Context) error { return errSoon }

// Result returns what was counted since the first Look after Reset.
func (w *Watch) Result() runfile.DirectNFS { return runfile.DirectNFS{} }

// Reset forgets all, for a new window.
func (w *Watch) Reset() {}
