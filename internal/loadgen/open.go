package loadgen

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/loadgen/target/direct"
	"github.com/nfsbench/nfsbench/internal/loadgen/target/kernel"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// OpenTarget reaches the storage that an engine names, with the client that it
// names. Logger gets a message for each channel that is lost or connected again.
func OpenTarget(ctx context.Context, e runfile.Engine, now func() time.Time, logger *slog.Logger) (target.Target, error) {
	switch e.Client {
	case runfile.ClientDirectNFS:
		t, err := direct.Open(ctx, direct.Options{Engine: e, Now: now, Logger: logger})
		if err != nil {
			return nil, err
		}
		return t, nil
	case runfile.ClientKernel:
		t, err := kernel.Open(ctx, kernel.Options{MountPath: e.MountPath, RequireNFS: e.RequireNFS})
		if err != nil {
			return nil, err
		}
		return t, nil
	default:
		return nil, target.Fail(runfile.FailureInvalidPlan, "engine.client is "+e.Client+"; use Kernel or DirectNFS", nil)
	}
}

// CheckPlan finds what can be found wrong in a plan without reaching storage:
// what the plan's own Validate finds, and what of it this program can not do.
func CheckPlan(p *runfile.Plan) error {
	if err := p.Validate(); err != nil {
		return err
	}
	if p.Database != nil {
		return errors.New("database: this program makes load without one; run the plan with oraload, or remove database and say in files what to read instead")
	}
	if p.Engine.Client == runfile.ClientDirectNFS {
		if err := direct.Check(p.Engine); err != nil {
			return err
		}
	}
	if err := checkUsers(p); err != nil {
		return err
	}
	return validDirectory(p.Workload)
}

// mostBufferBytes bounds the buffers of a load: a slipped digit, not a load.
const mostBufferBytes = 16 << 30

// checkUsers refuses what several clients, or one, cannot do.
func checkUsers(p *runfile.Plan) error {
	w := p.Workload
	if w.Calibrate != nil && p.Clients > 1 {
		return fmt.Errorf("clients: is %d, but a calibration is made by one client, which finds the level of load; write 1", p.Clients)
	}
	if w.SLOB == nil || w.SLOB.Access != runfile.AccessFullTableScan {
		return nil
	}
	u := users{}
	if need := int64(u.slots(w)) * w.SLOB.Files.LargeReadBytes; need > mostBufferBytes {
		return fmt.Errorf("workload.slob.readAhead: users x readAhead x largeReadBytes is %d bytes of buffers; keep it at or below %d", need, int64(mostBufferBytes))
	}
	return nil
}
