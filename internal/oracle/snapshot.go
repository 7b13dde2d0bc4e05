package oracle

import (
	"context"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Snapshot is what the cumulative views of all instances said at one time.
type Snapshot struct {
	At time.Time
}

// Snapshot reads the cumulative views of all instances.
func (a *Admin) Snapshot(ctx context.Context) (*Snapshot, error) { return nil, errSoon }

// Window returns what was counted between two snapshots. It fills Statistics,
// Events, Files, ServiceTimeUnit, the times of GV$OSSTAT and InstanceBytes, and
// leaves the rest of an OracleWindow to others.
func Window(before, after *Snapshot) runfile.OracleWindow { return runfile.OracleWindow{} }
