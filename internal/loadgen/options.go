package loadgen

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/rundir"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Options are what a Runner needs.
type Options struct {
	Plan   runfile.Plan
	Client int32 // index of this client, from 0
	Now    func() time.Time
	// Open reaches what the load is put on. Its errors are mapped to failures;
	// it is given as long as Engine.MountTimeoutSeconds says.
	Open func(ctx context.Context) (target.Target, error)
	Sink rundir.Sink
	// Release returns when all clients may start. It is called only when the
	// plan has several, and may then not be nil.
	Release func(ctx context.Context) error
	// Usage gives the CPU time used and the peak memory of this process.
	Usage func() (cpu time.Duration, peakBytes int64)
}

// validDirectory checks that the directory of a workload is one plain path
// element.
func validDirectory(w runfile.Workload) error {
	path, name := "workload.raw", filesOf(w).Directory
	switch {
	case w.Calibrate != nil:
		path = "workload.calibrate.files"
	case w.SLOB != nil:
		path = "workload.slob.files"
	}
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00\n") || len(name) > 255 {
		return fmt.Errorf("%s.directory %q is not a plain directory name; use one without a slash, such as %q", path, name, "nfsbench")
	}
	return nil
}
