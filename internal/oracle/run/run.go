// Package run runs a load in an Oracle database: calibrate, SLOB, or the user's own SLOB kit. It is the counterpart
// of internal/loadgen for databases, and returns the same Load.
//
// A run has these steps: wait until the database is ready, connect, set init parameters, load schemas, restart the
// instance so that its views start at zero, read the parameters back; then each repetition of each step; then clean
// up.
//
// Two snapshots of the cumulative views surround every window. During the window a second goroutine, the observer,
// samples throughput every second and reads the views of Direct NFS, whose counters only mean something under load.
// Everything else, including Load and Sink, belongs to the goroutine that calls Run.
package run

import (
	"context"
	"database/sql"
	"io/fs"
	"log/slog"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/capacity"
	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/oracle/slob"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/runloop"
)

const (
	patience     = 30 * time.Second // with a cancelled step: a call into a dead database may never return
	cleanTimeout = 2 * time.Minute  // for cleaning up after a failure
	lastTimeout  = 10 * time.Second // for a last look after a failure
	// leastKitSeconds is the shortest RUN_TIME that runit.sh takes.
	leastKitSeconds = 30
	// calibrateEstimate is the approximate duration of CALIBRATE_IO, from
	// published reports.
	calibrateEstimate = 10 * time.Minute
)

// Options configures a run.
type Options struct {
	Plan           runfile.Plan
	Now            func() time.Time
	Open           oracle.Opener
	User, Password string // the administrator; see Database.Role of the plan
	Sink           runloop.Sink
	Database       Database // nil for an external database
	// Root is the file tree that contains proc, to list connections and mounts;
	// nil = do not list them.
	Root fs.FS
	// Usage returns the CPU time used and the peak memory of this process; nil =
	// unknown.
	Usage func() (cpu time.Duration, peakBytes int64)
	Log   *slog.Logger // nil = none
}

// Database is the container that runs the database of this run.
type Database interface {
	// State returns the state of the container.
	State(ctx context.Context) (runfile.DatabaseState, error)
	// Restart requests another start of the instance. When it is done, State returns ready with a higher generation.
	Restart(ctx context.Context) error
}

// runner makes one run. It is the Engine of its Loop.
type runner struct {
	opt  Options
	plan *runfile.Plan // opt.Plan
	loop *runloop.Loop
	load *runfile.Load // of the Loop

	adminDB *sql.DB
	admin   *oracle.Admin

	schemaDB *sql.DB // as administrator, where the schemas are
	schemas  *slob.Schemas
	password string // of the schemas
}

// Run makes the run. It always returns a Load, which describes a failure. The error is that of a Sink that could not
// store the measurements.
func Run(ctx context.Context, o Options) (*runfile.Load, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Usage == nil {
		o.Usage = func() (time.Duration, int64) { return 0, 0 }
	}
	r := &runner{opt: o}
	r.plan = &r.opt.Plan
	r.loop = runloop.New(runloop.Options{
		Plan: r.plan, Now: o.Now, Sink: o.Sink, Patience: patience, CleanTimeout: cleanTimeout, Leftovers: "schemas",
	})
	r.load = &r.loop.Load
	r.load.Oracle = &runfile.Oracle{}
	if _, ok := capacity.ParamsOf(o.Plan); ok {
		r.load.LoopMode = "open"
	}
	err := r.loop.Run(ctx, r)
	return r.load, err
}

// checkPlan refuses plans that Validate refuses, and plans that only this engine can recognize as wrong.
func checkPlan(p *runfile.Plan) error {
	refuse := func(format string, args ...any) error {
		return oracle.Failf(runfile.FailureInvalidPlan, format, args...)
	}
	if err := p.Validate(); err != nil {
		return refuse("the plan is not valid: %v", err)
	}
	w := p.Workload
	switch {
	case p.Database == nil:
		return refuse("the plan has no database; run it with nfsbench load")
	case w.Calibrate == nil && w.SLOB == nil:
		return refuse("workload.raw is not for a database; use calibrate or slob")
	case w.SLOB == nil || w.SLOB.Kit == nil:
		return nil
	}
	for _, users := range w.SLOB.Ramp() {
		if users%w.SLOB.Schemas != 0 {
			return refuse("workload.slob.users has %d, which %d schemas cannot share: with workload.slob.kit each schema has "+
				"as many threads; write a multiple of %[2]d", users, w.SLOB.Schemas)
		}
	}
	if p.Schedule.DurationSeconds < leastKitSeconds {
		return refuse("run.durationSeconds is %d, but a SLOB kit runs for at least %d; write more",
			p.Schedule.DurationSeconds, leastKitSeconds)
	}
	return nil
}

// newScript makes each repetition of each step a round of one level.
func newScript(p *runfile.Plan) *runloop.Script {
	schedule, w := p.Schedule, p.Workload
	if search, ok := capacity.ParamsOf(*p); ok {
		return runloop.SearchScript(p, search, nil)
	}
	seconds := schedule.DurationSeconds
	level := runloop.Level{Window: int(seconds)}
	if w.SLOB != nil && w.SLOB.Kit == nil && w.SLOB.WorkLoop == 0 { // a kit and fixed work have no warm-up
		level.Warmup = int(schedule.WarmupSeconds)
	}
	each := time.Duration(level.Warmup+level.Window) * time.Second
	var steps []runfile.Step
	if c := w.Calibrate; c != nil {
		each, level = calibrateEstimate, runloop.Level{}
		for i := range int(bench.OrZero(c.WarmupRuns) + schedule.Repetitions) {
			step := runloop.RoundStep(i, int(bench.OrZero(c.WarmupRuns)))
			step.Kind = runfile.StepCalibrate
			steps = append(steps, step)
		}
	} else {
		for round := range schedule.Repetitions {
			for _, users := range w.SLOB.Ramp() {
				steps = append(steps, runfile.Step{Kind: runfile.StepUsers, Users: users, Round: round + 1})
			}
		}
	}
	return &runloop.Script{
		Schedule: schedule, Rounds: len(steps), Most: 1, Each: each,
		Next: runloop.Fixed(func(round int) []runloop.Level {
			l := level
			l.Step = &steps[round]
			return []runloop.Level{l}
		}),
	}
}

// Measure implements runloop.Engine.
func (r *runner) Measure(ctx context.Context, index int32, l runloop.Level) (runloop.Outcome, error) {
	switch w := r.plan.Workload; {
	case w.Calibrate != nil:
		return runloop.Outcome{}, r.calibrate(ctx, index, *l.Step)
	case w.SLOB.Kit != nil:
		return runloop.Outcome{}, r.runKit(ctx, index, *l.Step)
	case w.SLOB.Capacity != nil:
		return r.runLevel(ctx, index, l)
	default:
		return runloop.Outcome{}, r.runUsers(ctx, index, l, l.Step.Users, nil)
	}
}

// Verify implements runloop.Engine. The sessions already check what they read.
func (r *runner) Verify(context.Context) error { return nil }

// Clean implements runloop.Engine.
func (r *runner) Clean(ctx context.Context) error {
	if r.plan.Database != nil && r.plan.Database.TablespaceBytes > 0 && r.adminDB != nil {
		r.loop.Enter(runfile.SpanClean, 0, time.Time{})
		return r.loop.Do(ctx, r.dropTablespace)
	}
	if r.schemas == nil || r.plan.Keep {
		return nil
	}
	r.loop.Enter(runfile.SpanClean, 0, time.Time{})
	r.load.FilesLeft = true
	err := r.loop.Do(ctx, func(ctx context.Context) error {
		if err := r.connectSchemas(ctx); err != nil {
			return err
		}
		return r.schemas.Drop(ctx, r.schemaDB)
	})
	r.load.FilesLeft = err != nil
	return err
}

// Failure implements runloop.Engine. It prefers the failure that the database
// container reports: the container's end explains a lost connection.
func (r *runner) Failure(ctx context.Context, err error) *runfile.Failure {
	f := runloop.FailureOf(ctx, err, oracle.CodeOf)
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

// Close implements runloop.Engine.
func (r *runner) Close(stuck bool) {
	if stuck {
		return
	}
	for _, db := range []**sql.DB{&r.adminDB, &r.schemaDB} {
		if *db != nil {
			_ = (*db).Close()
			*db = nil
		}
	}
}
