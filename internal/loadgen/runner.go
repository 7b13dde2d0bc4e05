package loadgen

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nfsbench/nfsbench/internal/course"
	"github.com/nfsbench/nfsbench/internal/loadgen/fileset"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

const (
	defaultConnectTimeout = 30 * time.Second
	releaseTimeout        = 10 * time.Minute // for the other clients
	cleanTimeout          = 30 * time.Second // for cleaning up after a failure
)

// Runner makes one run. It is used once.
type Runner struct {
	opt    Options
	load   runfile.Load
	prog   progress
	script *script

	course *course.Course
	filled atomic.Int64
	stuck  bool // something is still in a call that does not return

	target target.Target
	set    *fileset.Set
	engine *engine
}

// New checks the plan and returns a Runner for it.
func New(opt Options) (*Runner, error) {
	if err := CheckPlan(&opt.Plan); err != nil {
		return nil, err
	}
	if opt.Plan.Clients > 1 && opt.Release == nil {
		return nil, fmt.Errorf("clients is %d, but nothing tells this one when to start; use a run directory", opt.Plan.Clients)
	}
	if opt.Client < 0 || opt.Client >= opt.Plan.Clients {
		return nil, fmt.Errorf("client index is %d of %d clients; they count from 0", opt.Client, opt.Plan.Clients)
	}
	return &Runner{opt: opt, script: newScript(&opt.Plan)}, nil
}

// Run makes the run. It always returns a Load; how it failed stands there. The
// error is that of the Sink, which could not keep what was measured.
func (r *Runner) Run(ctx context.Context) (*runfile.Load, error) {
	r.begin()
	r.load = runfile.Load{Partial: true, LoopMode: "closed", SampleSeconds: 1}
	if raw := r.opt.Plan.Workload.Raw; raw != nil && raw.OperationsPerSecond > 0 {
		r.load.LoopMode = "open"
	}
	if s := r.opt.Plan.Schedule.TimeoutSeconds; s > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, time.Duration(s)*time.Second, errTimeout)
		defer cancel()
		ctx = limited
	}
	code, err := r.walk(ctx)
	r.stuck = errors.Is(err, errStuck)
	r.load.Failure = failureOf(ctx, err, code)
	return &r.load, r.finish(ctx)
}

// walk goes through the spans. With an error comes the code that fits it where
// it has none of its own.
func (r *Runner) walk(ctx context.Context) (code string, err error) {
	if err := r.connect(ctx); err != nil {
		return runfile.FailureInternal, err
	}
	if err := r.fill(ctx); err != nil {
		return runfile.FailureIO, err
	}
	if r.opt.Plan.Clients > 1 {
		if err := r.wait(ctx); err != nil {
			return runfile.FailureTimeout, err
		}
	}
	if err := r.repetitions(ctx); err != nil {
		return runfile.FailureIO, err
	}
	if err := r.verify(ctx); err != nil {
		return runfile.FailureIO, err
	}
	if !filesOf(r.opt.Plan.Workload).KeepFiles {
		if err := r.clean(ctx); err != nil {
			return runfile.FailureIO, err
		}
	}
	return "", nil
}

func (r *Runner) connect(ctx context.Context) error {
	r.enter(runfile.SpanConnect, 0)
	var opened target.Target
	err := r.during(ctx, func(ctx context.Context) (err error) {
		ctx, cancel := context.WithTimeoutCause(ctx, r.connectTimeout(), errConnect)
		defer cancel()
		opened, err = r.opt.Open(ctx)
		return err
	})
	if err != nil {
		return err
	}
	r.target = opened
	facts := opened.Facts()
	r.load.Mount = &facts
	return nil
}

func (r *Runner) connectTimeout() time.Duration {
	if s := r.opt.Plan.Engine.MountTimeoutSeconds; s > 0 {
		return time.Duration(s) * time.Second
	}
	return defaultConnectTimeout
}

var errConnect = target.Fail(runfile.FailureUnreachable, "the storage did not answer in time (mountTimeoutSeconds)", nil)

// fill prepares the files, and opens them.
func (r *Runner) fill(ctx context.Context) error {
	r.enter(runfile.SpanFill, 0)
	var set *fileset.Set
	err := r.during(ctx, func(ctx context.Context) (err error) {
		set, err = fileset.Prepare(ctx, r.target, filesetOf(&r.opt.Plan, r.opt.Client))
		return err
	})
	if err != nil {
		return err
	}
	r.set = set
	r.prog.fillStart, r.prog.fillBytes = r.opt.Now(), r.set.MissingBytes()
	err = r.during(ctx, func(ctx context.Context) error {
		return r.set.Fill(ctx, func(n int64) { r.filled.Add(n) })
	})
	r.load.FilledBytes = r.filled.Load()
	r.prog.filled = r.load.FilledBytes
	if err != nil {
		return err
	}
	jobs, err := r.set.Open(ctx)
	if err != nil {
		return err
	}
	if p := &r.opt.Plan; p.Workload.Raw != nil {
		r.engine, err = newEngine(p, r.opt.Client, jobs, r.opt.Now)
	} else {
		r.engine, err = newUserEngine(p, r.opt.Client, jobs, len(r.target.Channels()), r.opt.Now)
	}
	if err != nil {
		return err
	}
	return r.during(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeoutCause(ctx, r.connectTimeout(), errConnect)
		defer cancel()
		return r.engine.open(ctx, r.target)
	})
}

func (r *Runner) wait(ctx context.Context) error {
	r.enter(runfile.SpanWait, 0)
	return r.during(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeoutCause(ctx, releaseTimeout, errNoRelease)
		defer cancel()
		return r.opt.Release(ctx)
	})
}

var errNoRelease = fmt.Errorf("not all clients were ready within %v; look at the pods that are not running", releaseTimeout)

func (r *Runner) verify(ctx context.Context) error {
	r.enter(runfile.SpanVerify, 0)
	var (
		found runfile.Verification
		wrong string
	)
	err := r.during(ctx, func(ctx context.Context) (err error) {
		found, wrong, err = r.set.Verify(ctx)
		return err
	})
	if err != nil {
		return err
	}
	r.load.Verification = &found
	if found.BlocksWrong == 0 {
		return nil
	}
	return target.Fail(runfile.FailureVerify, fmt.Sprintf(
		"%d of %d blocks read back are not what was written; the first: %s; do not trust this storage or this path with data",
		found.BlocksWrong, found.BlocksChecked, wrong), nil)
}

func (r *Runner) clean(ctx context.Context) error {
	r.enter(runfile.SpanClean, 0)
	r.load.FilesLeft = true
	err := r.during(ctx, func(ctx context.Context) error {
		_, err := r.set.Clean(ctx)
		return err
	})
	r.load.FilesLeft = err != nil
	return err
}

// finish ends a run in any case: the result is safe before anything else is
// tried. The error is that of the Sink.
func (r *Runner) finish(ctx context.Context) error {
	failed := r.load.Failure != nil
	r.load.Partial = failed
	r.course.Save()
	if failed && r.set != nil && !r.stuck && !filesOf(r.opt.Plan.Workload).KeepFiles && r.course.Span() != runfile.SpanClean {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
		defer cancel()
		if err := r.clean(ctx); err != nil {
			r.load.Failure.Message += "; the files were not removed: " + oneLine(err)
		}
	}
	if !r.stuck { // else workers still use them
		if r.engine != nil {
			_ = r.engine.release()
		}
		if r.set != nil {
			r.set.Close()
		}
	}
	if r.target != nil {
		_ = r.target.Close()
	}
	return r.course.Done()
}
