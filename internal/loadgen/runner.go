package loadgen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/capacity"
	"github.com/nfsbench/nfsbench/internal/loadgen/fileset"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/runloop"
)

const (
	defaultConnectTimeout = 30 * time.Second
	patience              = 10 * time.Second // for a cancelled step: a system call on a dead mount never returns
	cleanTimeout          = 30 * time.Second // for the clean-up after a failure
)

var errConnect = target.Fail(runfile.FailureUnreachable,
	"the storage did not answer in time (mountTimeoutSeconds)", nil)

// Options are the inputs of a Runner.
type Options struct {
	Plan   runfile.Plan
	Client int32 // index of this client, from 0
	Now    func() time.Time
	// Open opens the target of the load. Its errors become failures. Engine.MountTimeoutSeconds bounds its time.
	Open func(ctx context.Context) (target.Target, error)
	Sink runloop.Sink
	// Release returns when all clients may start. It is called only if the plan has several clients, and must
	// not be nil then.
	Release func(ctx context.Context) error
	// Levels orders the levels of a search for capacity. It is called only if the plan has several
	// clients, and must not be nil then.
	Levels runloop.Orders
	// Usage returns the CPU time used and the peak memory of this process.
	Usage func() (cpu time.Duration, peakBytes int64)
	// Nap makes the calling thread sleep, like nanosleep.Hold. Nil: the delays of wake-ups are not measured.
	Nap func(time.Duration)
	// Ceiling makes the client measure its own limit without the storage, before the load.
	Ceiling bool
	// MemoryBytes is the memory limit of this process: that of machine or container, whichever is smaller; 0 =
	// unknown.
	MemoryBytes int64
}

// Runner performs one run and is used once. It is the Engine of its Loop.
type Runner struct {
	opt  Options
	loop *runloop.Loop
	load *runfile.Load // of the Loop

	target target.Target
	set    *fileset.Set
	engine *engine
}

// New checks the plan and returns a Runner for it.
func New(opt Options) (*Runner, error) {
	if err := CheckPlan(&opt.Plan); err != nil {
		return nil, err
	}
	if limit := opt.MemoryBytes; limit > 0 {
		if err := needOf(&opt.Plan).check(limit, "the limit of this container, or the memory of this machine,"); err != nil {
			return nil, fmt.Errorf("%w, or raise the limit (spec.pods.resources.limits.memory)", err)
		}
	}
	if opt.Plan.Clients > 1 && opt.Release == nil {
		return nil, fmt.Errorf("clients is %d, but nothing tells this one when to start; use a run directory",
			opt.Plan.Clients)
	}
	if opt.Plan.Clients > 1 && opt.Plan.Workload.Capacity() != nil && opt.Levels == nil {
		return nil, errors.New("a search for capacity with several clients follows the operator; use a run directory")
	}
	if opt.Client < 0 || opt.Client >= opt.Plan.Clients {
		return nil, fmt.Errorf("client index is %d of %d clients; they count from 0", opt.Client, opt.Plan.Clients)
	}
	return &Runner{opt: opt}, nil
}

// Run performs the run. It always returns a Load, which describes a failure. The error is an error of the
// Sink that could not store the measurements.
func (r *Runner) Run(ctx context.Context) (*runfile.Load, error) {
	if state := needOf(&r.opt.Plan).state; state > programBytes {
		// Bounds the garbage by programBytes. By default it could be as large as the state of the blocks.
		defer debug.SetGCPercent(debug.SetGCPercent(int(max(1, 100*programBytes/state))))
	}
	r.loop = runloop.New(runloop.Options{
		Plan: &r.opt.Plan, Now: r.opt.Now, Sink: r.opt.Sink, Release: r.opt.Release,
		Patience: patience, CleanTimeout: cleanTimeout, Leftovers: "files",
	})
	r.loop.Script = newScript(&r.opt.Plan)
	search, searches := capacity.ParamsOf(r.opt.Plan)
	if searches {
		r.loop.Script = runloop.SearchScript(&r.opt.Plan, search, r.opt.Levels)
	}
	r.load = &r.loop.Load
	if raw := r.opt.Plan.Workload.Raw; searches || raw != nil && bench.OrZero(raw.OperationsPerSecond) > 0 {
		r.load.LoopMode = "open"
	}
	err := r.loop.Run(ctx, r)
	return r.load, err
}

// Prepare implements runloop.Engine: it connects, and fills and opens the files.
func (r *Runner) Prepare(ctx context.Context) error {
	r.loop.Enter(runfile.SpanConnect, 0, time.Time{})
	var opened target.Target
	err := r.loop.Do(ctx, r.inTime(func(ctx context.Context) (err error) {
		if opened, err = r.opt.Open(ctx); err != nil {
			return err
		}
		if err := target.Check(ctx, opened); err != nil {
			return errors.Join(err, opened.Close())
		}
		return nil
	}))
	if err != nil {
		return err
	}
	r.target = opened
	facts := opened.Facts()
	facts.Servers = serversSince(nil, opened.Servers())
	r.load.Mount = &facts
	r.loop.Enter(runfile.SpanFill, 0, time.Time{})
	var set *fileset.Set
	err = r.loop.Do(ctx, func(ctx context.Context) (err error) {
		set, err = fileset.Prepare(ctx, r.target, filesetOf(&r.opt.Plan, r.opt.Client))
		return err
	})
	if err != nil {
		return err
	}
	r.set = set
	if err := r.loop.Fill(ctx, set.MissingBytes(), set.Fill); err != nil {
		return err
	}
	jobs, err := set.Open(ctx)
	if err != nil {
		return err
	}
	if r.engine, err = r.newEngine(jobs); err != nil {
		return err
	}
	err = r.loop.Do(ctx, r.inTime(func(ctx context.Context) error { return r.engine.open(ctx, r.target) }))
	if err != nil || !r.opt.Ceiling || r.opt.Plan.Workload.Calibrate != nil {
		return err
	}
	return r.ceiling(ctx)
}

func (r *Runner) newEngine(jobs []fileset.Job) (*engine, error) {
	p := &r.opt.Plan
	if p.Workload.Raw != nil {
		return newEngine(p, r.opt.Client, jobs, r.opt.Now)
	}
	return newUserEngine(p, r.opt.Client, jobs, len(r.target.Channels()), r.opt.Now)
}

// ceiling measures the limit of this client without the storage, and puts it into the load.
func (r *Runner) ceiling(ctx context.Context) error {
	var perSecond *int64
	var unknown error
	err := r.loop.Do(ctx, func(ctx context.Context) error {
		perSecond, unknown = r.engine.ceiling(ctx)
		return context.Cause(ctx)
	})
	if err == nil && unknown != nil {
		r.loop.Tell("what this client can do without the storage is not known: " + unknown.Error())
	}
	if err == nil {
		r.load.CeilingPerSecond = perSecond
	}
	return err
}

// inTime bounds a step by the time that the storage has to answer.
func (r *Runner) inTime(step func(context.Context) error) func(context.Context) error {
	limit := mountLimit(r.opt.Plan)
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeoutCause(ctx, limit, errConnect)
		defer cancel()
		return step(ctx)
	}
}

// mountLimit bounds the time of a mount, of opening the streams, and of the file of a check.
func mountLimit(p runfile.Plan) time.Duration {
	return cmp.Or(time.Duration(p.Engine.MountTimeoutSeconds)*time.Second, defaultConnectTimeout)
}

// Verify implements runloop.Engine.
func (r *Runner) Verify(ctx context.Context) error {
	r.loop.Enter(runfile.SpanVerify, 0, time.Time{})
	end := r.opt.Now().Add(r.opt.Plan.VerifyLimit())
	soon := ctx // ends a little before the end of the run
	if deadline, limited := ctx.Deadline(); limited {
		var cancel context.CancelFunc
		soon, cancel = context.WithDeadline(ctx, deadline.Add(-afterVerify))
		defer cancel()
	}
	over := func() bool { return !r.opt.Now().Before(end) || soon.Err() != nil }
	var found runfile.Verification
	err := r.loop.Do(ctx, func(ctx context.Context) (err error) {
		found, err = r.set.Verify(ctx, over)
		return err
	})
	reads := r.engine.checked()
	found.ReadsChecked, found.ReadsWrong, found.WrongReads = reads.ReadsChecked, reads.ReadsWrong, reads.WrongReads
	for _, e := range found.Examples {
		reads.AddExample(e)
	}
	found.Examples = reads.Examples
	found.Cut = found.Cut || err != nil
	r.load.Verification = &found // also of the reads before an error
	if err != nil || found.Wrong() == 0 {
		return err
	}
	why := "do not trust this storage or this path with data"
	if !r.set.IsOurs(ctx) {
		why = fmt.Sprintf("another run has used the directory %q since this one began, so nothing is known about the "+
			"storage: give each run a directory of its own (workload.raw.directory, nativeFiles.directory or --dir)",
			r.set.Directory())
	}
	return target.Fail(runfile.FailureVerify, found.Describe()+"; "+why, nil)
}

// afterVerify is the part of a run's time that verification leaves for in-flight I/Os and for removing files.
const afterVerify = 10 * time.Second

// Clean implements runloop.Engine.
func (r *Runner) Clean(ctx context.Context) error {
	if r.set == nil || r.opt.Plan.Keep {
		return nil
	}
	r.loop.Enter(runfile.SpanClean, 0, time.Time{})
	r.load.FilesLeft = true
	err := r.loop.Do(ctx, func(ctx context.Context) error {
		_, err := r.set.Clean(ctx)
		return err
	})
	r.load.FilesLeft = err != nil
	return err
}

// Failure implements runloop.Engine. An error without a code gets the code of its span.
func (r *Runner) Failure(ctx context.Context, err error) *runfile.Failure {
	f := runloop.FailureOf(ctx, err, func(err error) string {
		switch code := target.CodeOf(err); {
		case code != "":
			return code
		case r.loop.Span() == runfile.SpanWait, errors.Is(err, errNotAnswered), errors.Is(err, runloop.ErrNoOrder):
			return runfile.FailureTimeout
		case r.loop.Span() == runfile.SpanConnect:
			return runfile.FailureInternal
		default:
			return runfile.FailureIO
		}
	})
	if e, is := errors.AsType[*target.Error](err); is && e.Err != nil {
		cause := runloop.OneLine(e.Err)
		if sentence, is := strings.CutSuffix(f.Message, ": "+cause); is {
			f.Message, f.Cause = sentence, cause
		}
	}
	return f
}

// Close implements runloop.Engine.
func (r *Runner) Close(stuck bool) {
	if r.engine != nil && !stuck { // else workers still use buffers and files
		_ = r.engine.release()
	}
	if r.set != nil && !stuck {
		r.set.Close()
	}
	if r.target != nil {
		_ = r.target.Close()
	}
}
