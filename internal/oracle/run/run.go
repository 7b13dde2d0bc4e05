package run

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"log/slog"
	"time"

	"github.com/nfsbench/nfsbench/internal/course"
	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/oracle/slob"
	"github.com/nfsbench/nfsbench/internal/rundir"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

const (
	cleanTimeout = 2 * time.Minute  // for cleaning up after a failure
	lastTimeout  = 10 * time.Second // for a last look after a failure
)

// Options are what a run needs.
type Options struct {
	Plan           runfile.Plan
	Now            func() time.Time
	Open           oracle.Opener
	User, Password string // who administrates; see Database.Role of the plan
	Sink           rundir.Sink
	Database       Database // nil where the database is external
	// Root of the file tree that holds proc, to see connections and mounts; nil
	// = they are not looked at.
	Root fs.FS
	// Usage gives the CPU time used and the peak memory of this process; nil =
	// unknown.
	Usage func() (cpu time.Duration, peakBytes int64)
	Log   *slog.Logger // nil = none
}

// Database is the container that runs the database of this run.
type Database interface {
	// State says how it is.
	State(ctx context.Context) (runfile.DatabaseState, error)
	// Restart restarts the instance and returns when it is ready again.
	Restart(ctx context.Context) error
}

// runner makes one run.
type runner struct {
	opt    Options
	plan   *runfile.Plan // opt.Plan
	load   runfile.Load
	course *course.Course
	left   timeLeft

	adminDB *sql.DB
	admin   *oracle.Admin
	watch   *oracle.Watch

	schemaDB *sql.DB // as administrator, where the schemas are
	schemas  *slob.Schemas
	password string // of the schemas
	stuck    bool   // something is still in a call that does not return
}

// Run makes the run. It always returns a Load; how it failed stands there. The
// error is that of the Sink, which could not keep what was measured.
func Run(ctx context.Context, o Options) (*runfile.Load, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Usage == nil {
		o.Usage = func() (time.Duration, int64) { return 0, 0 }
	}
	r := &runner{opt: o}
	r.plan = &r.opt.Plan
	r.load = runfile.Load{Partial: true, LoopMode: "closed", SampleSeconds: 1, Oracle: &runfile.Oracle{}}
	r.left = timeLeft{plan: r.plan}
	r.course = course.New(&r.load, o.Sink, o.Now, r.left.at)
	if s := o.Plan.Schedule.TimeoutSeconds; s > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, time.Duration(s)*time.Second, course.ErrTimeout)
		defer cancel()
		ctx = limited
	}
	err := r.walk(ctx)
	r.stuck = errors.Is(err, course.ErrStuck)
	r.load.Failure = r.failureOf(ctx, err)
	return &r.load, r.finish(ctx)
}

// walk goes through the spans.
func (r *runner) walk(ctx context.Context) error {
	if err := checkPlan(r.plan); err != nil {
		return err
	}
	steps := []func(context.Context) error{r.connect, r.prepare}
	switch w := r.plan.Workload; {
	case w.Calibrate != nil:
		steps = append(steps, r.calibrate)
	case w.SLOB.Kit != nil:
		steps = append(steps, r.runKit)
	default:
		steps = append(steps, r.ramp)
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return r.clean(ctx)
}

// failureOf prefers what the container of the database reports about itself: that it
// died explains a lost connection, and not the other way round.
func (r *runner) failureOf(ctx context.Context, err error) *runfile.Failure {
	f := course.FailureOf(ctx, err, oracle.CodeOf)
	if f == nil || ctx.Err() != nil || r.opt.Database == nil {
		return f
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTimeout)
	defer cancel()
	if state, err := r.opt.Database.State(last); err == nil && state.Failure != nil {
		return state.Failure
	}
	return f
}

// clean removes what the plan does not keep.
func (r *runner) clean(ctx context.Context) error {
	if r.schemas == nil || r.plan.Workload.SLOB.KeepSchemas {
		return nil
	}
	r.course.Enter(runfile.SpanClean, 0, time.Time{})
	r.load.FilesLeft = true
	err := r.course.During(ctx, nil, func(ctx context.Context) error {
		if err := r.connectSchemas(ctx); err != nil {
			return err
		}
		r.schemas.Use(r.schemaDB)
		return r.schemas.Drop(ctx)
	})
	r.load.FilesLeft = err != nil
	return err
}

// finish ends a run in any case: the result is safe before anything else is
// tried.
func (r *runner) finish(ctx context.Context) error {
	failed := r.load.Failure != nil
	r.load.Partial = failed
	r.course.Save()
	if failed && !r.stuck && r.course.Span() != runfile.SpanClean && r.load.Failure.Code != runfile.FailureDatabaseEnded {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
		defer cancel()
		if err := r.clean(last); err != nil {
			r.stuck = errors.Is(err, course.ErrStuck)
			r.load.Failure.Message += "; the schemas were not removed: " + course.OneLine(err)
		}
	}
	if !r.stuck {
		r.disconnect()
	}
	return r.course.Done()
}
