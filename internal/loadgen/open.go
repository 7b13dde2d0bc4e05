package loadgen

import (
	"context"
	"log/slog"
	"time"

	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/loadgen/target/direct"
	"github.com/nfsbench/nfsbench/internal/loadgen/target/kernel"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// OpenTarget reaches the storage that an engine names, with the client that it
// names. Logger hears about channels that come and go.
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
	if p.Engine.Client == runfile.ClientDirectNFS {
		if err := direct.Check(p.Engine); err != nil {
			return err
		}
	}
	return ValidDirectory(p.Workload.Raw.Directory)
}
