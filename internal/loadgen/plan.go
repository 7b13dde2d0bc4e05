package loadgen

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen/fileset"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/loadgen/target/direct"
	"github.com/nfsbench/nfsbench/internal/loadgen/target/kernel"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// CheckPlan returns the errors of a plan that are visible without access to storage: those of the plan's own
// Validate, and parts of the plan that this program does not support.
func CheckPlan(p *runfile.Plan) error {
	if err := p.Validate(); err != nil {
		return err
	}
	if p.Database != nil {
		return errors.New("database: this program makes load without one; run the plan with oraload, or remove database " +
			"and say in files what to read instead")
	}
	if p.Engine.Client == bench.ClientDirectNFS {
		if err := direct.Check(p.Engine); err != nil {
			return err
		}
	}
	if err := needOf(p).check(mostMemoryBytes, "the most that this program allows"); err != nil {
		return err
	}
	f := p.Files()
	if name := f.Directory; name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00\n") ||
		len(name) > 255 {
		return fmt.Errorf("%s.directory %q is not a plain directory name; use one without a slash, such as %q", f.Field,
			name, "nfsbench")
	}
	return nil
}

// OpenTarget opens the storage of an engine with the engine's client. Logger gets a message for each channel
// that is lost or connected again.
func OpenTarget(ctx context.Context, e runfile.Engine, now func() time.Time,
	logger *slog.Logger,
) (target.Target, error) {
	switch e.Client {
	case bench.ClientDirectNFS:
		return direct.Open(ctx, direct.Options{Engine: e, Now: now, Logger: logger})
	case bench.ClientKernel:
		return kernel.Open(ctx, kernel.Options{MountPath: e.MountPath, RequireNFS: e.RequireNFS, Now: now})
	default:
		return nil, target.Fail(runfile.FailureInvalidPlan,
			"engine.client is "+string(e.Client)+"; use Kernel or DirectNFS", nil)
	}
}

// filesetOf returns the files that a client of a plan needs.
func filesetOf(p *runfile.Plan, client int32) fileset.Spec {
	f := p.Files()
	return fileset.Spec{
		Run: p.Run, Directory: f.Directory, Client: client, Jobs: f.Count,
		Copy: f.Copy, Writes: f.Writes, Verify: f.Verify,
		FileSizeBytes: f.SizeBytes, BlockSizeBytes: f.BlockSizeBytes,
		Seed: p.Seed, OverwriteExisting: f.OverwriteExisting,
	}
}
