package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/oracle/slob"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/runloop"
)

// calibrate calls CALIBRATE_IO once, for warm-up or measured.
func (r *runner) calibrate(ctx context.Context, index int32, step runfile.Step) error {
	c := r.plan.Workload.Calibrate
	var found *runfile.Calibration
	began := r.opt.Now()
	r.loop.Tell("CALIBRATE_IO takes about 10 minutes; this is an estimate, because it does not report its progress")
	err := r.measure(ctx, index, step, func(ctx context.Context) error {
		got, err := r.admin.Calibrate(ctx, c.PhysicalDisks, c.MaxLatencyMilliseconds)
		if err != nil {
			return fmt.Errorf("call CALIBRATE_IO: %w", err)
		}
		found = &got
		return nil
	}, func(rep *runfile.Repetition) {
		if rep.Oracle != nil {
			rep.Oracle.Calibration = found
			rep.Read = readsOfFiles(rep)
		}
	})
	if err == nil {
		r.loop.Script.Each = r.opt.Now().Sub(began) // the next call takes about as long
	}
	return err
}

// readsOfFiles returns the reads that V$IOSTAT_FILE counted. V$SYSSTAT counts
// the reads of sessions and misses some, because processes of its own do the
// I/O of CALIBRATE_IO.
func readsOfFiles(rep *runfile.Repetition) *runfile.Ops {
	var files runfile.Ops
	for _, f := range rep.Oracle.Files {
		files.Count += f.SmallReads + f.LargeReads
		files.Bytes += (f.SmallReadMegabyte + f.LargeReadMegabyte) << 20
	}
	if rep.Read != nil && rep.Read.Count >= files.Count {
		return rep.Read
	}
	return &files
}

// errStillWorking is the reason for cancelled statements, with advice for a statement that does not end.
var errStillWorking = errors.New("its time was over; the run ends with what it has measured until then; look whether " +
	"a process of the database waits for its storage, and whether a firewall keeps back urgent data of TCP, with which " +
	"Oracle's client cancels a statement (DISABLE_OOB=ON in sqlnet.ora does without)")

// runUsers lets users work through warm-up and window, at a pace or as fast as possible. With fixed work, the window
// begins and ends with the work.
func (r *runner) runUsers(ctx context.Context, index int32, l runloop.Level, users int32, pace *slob.Pace) error {
	s, step := r.plan.Schedule, *l.Step
	loops := r.plan.Workload.SLOB.WorkLoop
	if loops == 0 {
		r.loop.Enter(runfile.SpanWarmup, index, time.Time{})
	}
	sessions, err := r.connectUsers(ctx, index, users, pace)
	stuck := false
	defer func() {
		if sessions != nil && !stuck {
			sessions.Close()
		}
	}()
	if err != nil {
		return err
	}
	loading, cancel := context.WithCancelCause(ctx)
	working := &work{run: func() error { return sessions.Run(loading) }}
	if loops == 0 {
		working.start()
		err = r.warmUp(ctx, index, time.Duration(l.Warmup)*time.Second, working)
	}
	if err == nil {
		err = r.awrSnapshot(ctx)
	}
	if err == nil {
		err = r.measure(ctx, index, step, func(ctx context.Context) error {
			if pace != nil {
				pace.Window(l.Window)
			}
			working.start()
			finished, err := working.wait(ctx, time.Duration(l.Window)*time.Second)
			return cmp.Or(err, lateFor(loops, finished, step, s))
		}, r.putLatency)
	}
	cancel(errStillWorking) // ends their statements
	stopped := r.endWork(loading, working)
	stuck = errors.Is(stopped, runloop.ErrStuck)
	if err == nil && !stuck {
		err = r.awrSnapshot(ctx)
	}
	if err == nil || stuck {
		return errors.Join(err, stopped)
	}
	return err
}

// endWork waits for users whose context has ended. It does not wait forever for a statement that does not end.
func (r *runner) endWork(ended context.Context, working *work) error {
	err := r.loop.Do(ended, func(context.Context) error { return working.end() })
	if errors.Is(err, runloop.ErrStuck) {
		return oracle.Failf(runfile.FailureTimeout, "%w", err)
	}
	return err
}

// runLevel runs one level of a search for capacity.
func (r *runner) runLevel(ctx context.Context, index int32, l runloop.Level) (runloop.Outcome, error) {
	s := r.plan.Workload.SLOB
	pace := slob.NewPace(*s.Capacity, l.Step.OperationsPerSecond, r.plan.Seed+uint64(index), r.opt.Now) //nolint:gosec // positive
	if err := r.runUsers(ctx, index, l, s.Ramp()[0], pace); err != nil {
		return runloop.Outcome{}, err // the window may be cut short
	}
	report, err := pace.Report(index, r.plan.ReportParts())
	r.load.Repetitions[len(r.load.Repetitions)-1].Level = report
	return runloop.Outcome{Level: report}, err
}

// lateFor returns an error if fixed work was not finished in the time of its step.
func lateFor(loops int32, finished bool, step runfile.Step, s runfile.Schedule) error {
	if loops == 0 || finished {
		return nil
	}
	return oracle.Failf(runfile.FailureTimeout, "%d users did not execute %d statements each (workload.slob.workLoop) in "+
		"%d s, the longest that a step may take; raise run.durationSeconds, or lower workLoop", step.Users, loops,
		s.DurationSeconds)
}

func (r *runner) connectUsers(ctx context.Context, index, n int32, pace *slob.Pace) (*slob.Users, error) {
	var users *slob.Users
	err := r.loop.Do(ctx, func(ctx context.Context) (err error) {
		users, err = slob.Connect(ctx, slob.Options{
			Open: r.open, Connects: r.plan.Database.Connects, Password: r.password,
			SLOB: *r.plan.Workload.SLOB, Rows: r.schemas.Rows(), Users: n, Pace: pace,
			Seed: r.plan.Seed + uint64(index), //nolint:gosec // positive
		})
		return err
	})
	if errors.Is(err, runloop.ErrStuck) {
		return nil, err // users belongs to the stuck goroutine
	}
	if err != nil {
		return users, fmt.Errorf("log %d users in: %w", n, err)
	}
	if users.NotDirect != nil {
		r.opt.Log.Warn("Scans may be answered by the buffer cache", "error", users.NotDirect)
		r.loop.Tell("this database refuses _serial_direct_read, so scans may be answered by the buffer cache: " +
			runloop.OneLine(users.NotDirect))
	}
	return users, nil
}

// warmUp waits while the load runs without being measured.
func (r *runner) warmUp(ctx context.Context, index int32, d time.Duration, working *work) error {
	if d == 0 {
		return nil
	}
	o := r.observe(ctx, runfile.SpanWarmup, index, nil)
	defer o.end()
	return r.loop.During(ctx, o.collect, func(ctx context.Context) error {
		_, err := working.wait(ctx, d)
		return err
	})
}

// awrSnapshot takes an AWR snapshot if the plan says that the licence exists.
func (r *runner) awrSnapshot(ctx context.Context) error {
	if r.plan.Workload.SLOB.AWR != bench.Enabled {
		return nil
	}
	return r.loop.Do(ctx, func(ctx context.Context) error {
		if err := oracle.Exec(ctx, r.adminDB, "awr_snapshot", nil); err != nil {
			return fmt.Errorf("take an AWR snapshot (workload.slob.awr): %w", err)
		}
		return nil
	})
}

// work is the users' load in another goroutine.
type work struct {
	run   func() error
	ended chan struct{} // nil before start
	err   error         // set before ended is closed
}

// start starts the load, unless it runs already.
func (w *work) start() {
	if w.ended != nil {
		return
	}
	w.ended = make(chan struct{})
	go func() {
		defer close(w.ended)
		w.err = w.run()
	}()
}

// end waits for a started load to stop.
func (w *work) end() error {
	if w.ended == nil {
		return nil
	}
	<-w.ended
	return w.err
}

// wait returns after d, or earlier if the load or the run has ended. It reports whether the load has ended.
func (w *work) wait(ctx context.Context, d time.Duration) (finished bool, err error) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return false, nil
	case <-w.ended:
		if ctx.Err() != nil {
			return true, context.Cause(ctx)
		}
		return true, w.err
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}
