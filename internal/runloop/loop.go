// Package runloop makes the steps of every run, whatever makes its load: spans in order, rounds and their levels,
// events every second, partial results, and failures. An Engine makes the load: the native load on NFS
// (internal/loadgen) or the load in a database (internal/oracle/run).
//
//	Prepare -> Wait -> (Baseline -> (Measure, pause) x levels -> Cooldown) x rounds -> Verify -> Clean -> Done
//
// Prepare enters the spans Connect and Fill, Measure enters Warmup and Measure.
// A run of one client does not wait for others.
//
// A Sink receives an event every second, and the Load every few seconds, so that the measurements survive the process.
// There is always a Load: after an early end it contains the reason.
package runloop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

const (
	partialEvery   = 5 * time.Second
	releaseTimeout = 10 * time.Minute // wait for the other clients
)

var (
	// ErrStuck reports that a step did not return after its context was cancelled: the resources that it uses must not be
	// closed.
	ErrStuck = errors.New("a call did not return")
	// ErrTimeout is the cause of a context whose run took longer than its plan
	// allows.
	ErrTimeout = errors.New("the run took longer than schedule.timeoutSeconds allows")

	// ErrNoOrder reports that this client did not receive the next level.
	ErrNoOrder = fmt.Errorf("the operator did not say within %v which level of load follows; see whether it runs, "+
		"and whether the pods of the other clients do", releaseTimeout)

	errNoRelease = fmt.Errorf("not all clients were ready within %v; look at the pods that are not running",
		releaseTimeout)
)

// Engine makes the load of one run. Run calls its methods in this order, from its own goroutine. After a method fails,
// Run calls Failure, Clean and Close.
type Engine interface {
	// Prepare connects to the storage or the database and writes missing data. It sets the Script of the Loop.
	Prepare(ctx context.Context) error
	// Measure runs one level of load. Its measurements are in the Load afterwards, even if it fails.
	Measure(ctx context.Context, repetition int32, l Level) (Outcome, error)
	// Verify checks the data that the load has written.
	Verify(ctx context.Context) error
	// Clean removes everything that the plan does not keep. Nothing to remove is no error.
	Clean(ctx context.Context) error
	// Failure returns why the run ended early; nil if err is nil. See FailureOf.
	Failure(ctx context.Context, err error) *runfile.Failure
	// Close releases the resources of the run. If stuck is set, a call still uses them.
	Close(stuck bool)
}

// Options are the options of every run.
type Options struct {
	Plan *runfile.Plan
	Now  func() time.Time
	Sink Sink
	// Release returns when all clients may start. Run calls it only if the plan has several clients.
	Release func(ctx context.Context) error
	// Patience bounds the time in which a step must return once its context is done. A call into a dead mount or database
	// may never return.
	Patience time.Duration
	// CleanTimeout bounds Clean after a failure; Leftovers names the data that Clean removes.
	CleanTimeout time.Duration
	Leftovers    string
}

// Loop is a run in progress. One goroutine calls its methods and those of the Sink.
type Loop struct {
	// Load is the result so far.
	Load runfile.Load
	// Script is nil while the length of the run is unknown.
	Script *Script

	opt      Options
	started  time.Time
	lastSave time.Time
	saveErr  error
	span     string
	index    int32
	rate     rate
	percent  int32
	stretch  stretch
	filling  filling
	note     string // for the current level
}

// rate holds the throughput of the last second.
type rate struct{ bytes, ops int64 }

// stretch is a timed part of the script: an idle span, or a level.
type stretch struct {
	began   time.Time
	planned time.Duration
}

// filling holds the progress of a step that writes the data of the load.
type filling struct {
	began       time.Time
	total, done int64 // bytes
}

// New returns the Loop of a run that begins now.
func New(o Options) *Loop {
	at := o.Now()
	return &Loop{
		Load: runfile.Load{Partial: true, LoopMode: "closed", SampleSeconds: 1}, opt: o, started: at, lastSave: at,
	}
}

// Run makes the run. The Load describes a failure of the run. Run returns the error of the Sink if the Sink could not
// store the measurements.
func (c *Loop) Run(ctx context.Context, e Engine) error {
	if s := c.opt.Plan.Schedule.TimeoutSeconds; s > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, time.Duration(s)*time.Second, ErrTimeout)
		defer cancel()
		ctx = limited
	}
	err := c.walk(ctx, e)
	stuck := errors.Is(err, ErrStuck)
	c.Load.Failure = e.Failure(ctx, err)
	failed := c.Load.Failure != nil
	c.Load.Partial = failed
	c.Save() // store the result before anything else
	if failed && !stuck && c.span != runfile.SpanClean && c.Load.Failure.Code != runfile.FailureDatabaseEnded {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.opt.CleanTimeout)
		defer cancel()
		if err := e.Clean(last); err != nil {
			stuck = errors.Is(err, ErrStuck)
			c.Load.Failure.Message += "; the " + c.opt.Leftovers + " were not removed: " + OneLine(err)
		}
	}
	e.Close(stuck)
	return c.done()
}

// walk runs the spans in order. Files and connections stay open over all rounds.
func (c *Loop) walk(ctx context.Context, e Engine) error {
	if err := e.Prepare(ctx); err != nil {
		return err
	}
	if c.opt.Plan.Clients > 1 {
		c.Enter(runfile.SpanWait, 0, time.Time{})
		err := c.Do(ctx, func(ctx context.Context) error {
			ctx, cancel := context.WithTimeoutCause(ctx, releaseTimeout, errNoRelease)
			defer cancel()
			return c.opt.Release(ctx)
		})
		if err != nil {
			return err
		}
	}
	if err := c.rounds(ctx, e); err != nil {
		return err
	}
	if err := e.Verify(ctx); err != nil {
		return err
	}
	return e.Clean(ctx)
}

// rounds runs the script. The index of a repetition counts over all levels of all rounds; the spans around a round have
// the index of its first or last level.
func (c *Loop) rounds(ctx context.Context, e Engine) error {
	s, schedule, index := c.Script, c.opt.Plan.Schedule, int32(0)
	for round := range s.Rounds {
		if round > 0 {
			if err := c.idle(ctx, runfile.SpanCooldown, index, schedule.CooldownSeconds); err != nil {
				return err
			}
		}
		s.levels, s.left = append(s.levels, 0), s.Most
		if err := c.idle(ctx, runfile.SpanBaseline, index+1, schedule.BaselineSeconds); err != nil {
			return err
		}
		if err := c.levels(ctx, e, round, &index); err != nil {
			return err
		}
	}
	return nil
}

// levels runs the levels of one round.
func (c *Loop) levels(ctx context.Context, e Engine, round int, index *int32) error {
	s, pause := c.Script, int32(0) // no pause before the first level
	for last := (*Outcome)(nil); ; {
		l, more, err := c.next(ctx, *index, round, last)
		if err != nil {
			return err
		}
		if s.left = l.Left; !more {
			return nil
		}
		s.levels[round]++
		if err := c.idle(ctx, runfile.SpanCooldown, *index, pause); err != nil {
			return err
		}
		pause = s.PauseSeconds
		*index++
		s.begun++
		c.stretch, c.note = stretch{c.opt.Now(), cmp.Or(l.length(), s.Each)}, l.Note
		outcome, err := e.Measure(ctx, *index, l)
		if err != nil {
			return err
		}
		c.stretch, c.note, last = stretch{}, "", &outcome
	}
}

// next returns the next level of the round. The storage is idle while others decide on the level.
func (c *Loop) next(ctx context.Context, index int32, round int, last *Outcome) (l Level, more bool, err error) {
	if !c.Script.Waits {
		return c.Script.Next(ctx, round, last)
	}
	if index > 0 {
		c.Enter(runfile.SpanCooldown, index, time.Time{})
	}
	err = c.Do(ctx, func(ctx context.Context) (err error) {
		ctx, cancel := context.WithTimeoutCause(ctx, releaseTimeout, ErrNoOrder)
		defer cancel()
		l, more, err = c.Script.Next(ctx, round, last)
		return err
	})
	return l, more, err
}

// idle waits without load.
func (c *Loop) idle(ctx context.Context, span string, index, seconds int32) error {
	if seconds == 0 {
		return nil
	}
	d := time.Duration(seconds) * time.Second
	c.stretch = stretch{c.opt.Now(), d}
	c.Script.idled += d
	c.Enter(span, index, time.Time{})
	return c.Do(ctx, func(ctx context.Context) error { return Wait(ctx, d) })
}

// Span returns the kind of the current span.
func (c *Loop) Span() string { return c.span }

// Enter ends the current span and begins the next one at the same time: at, or now if at is zero.
func (c *Loop) Enter(kind string, index int32, at time.Time) {
	if at.IsZero() {
		at = c.opt.Now()
	}
	c.CloseSpan(at)
	c.Load.Spans = append(c.Load.Spans, runfile.Span{Kind: kind, Repetition: index, Start: at})
	c.span, c.index, c.rate = kind, index, rate{}
	c.Tell("")
}

// CloseSpan ends the current span.
func (c *Loop) CloseSpan(at time.Time) {
	if n := len(c.Load.Spans); n > 0 && c.Load.Spans[n-1].End.IsZero() {
		c.Load.Spans[n-1].End = at
	}
}

// Sample adds the results of a second to the Load; the next events report them.
func (c *Loop) Sample(s runfile.LoadSample) {
	c.Load.Samples = append(c.Load.Samples, s)
	c.rate = rate{}
	for _, o := range []*runfile.SampleOps{s.Read, s.Write} {
		if o != nil {
			c.rate.bytes += o.Bytes
			c.rate.ops += o.Count
		}
	}
}

// Do runs one step in another goroutine and reports its progress every second.
func (c *Loop) Do(ctx context.Context, step func(context.Context) error) error {
	return c.During(ctx, func() {}, step)
}

// During is like Do, but calls tick every second before it reports.
func (c *Loop) During(ctx context.Context, tick func(), step func(context.Context) error) error {
	done := make(chan error, 1)
	go func() { done <- step(ctx) }()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	var giveUp <-chan time.Time
	cancelled := ctx.Done()
	for {
		select {
		case err := <-done:
			return err
		case <-cancelled:
			cancelled = nil
			timer := time.NewTimer(c.opt.Patience)
			defer timer.Stop()
			giveUp = timer.C
		case <-giveUp:
			return fmt.Errorf("%w within %v after it was cancelled: %w", ErrStuck, c.opt.Patience, context.Cause(ctx))
		case <-ticker.C:
			tick()
			c.Tell("")
			if now := c.opt.Now(); c.SaveDue(now) {
				c.SaveAt(now)
			}
		}
	}
}

// Fill runs the step that writes the given number of bytes. The step reports them to wrote, from any goroutine.
func (c *Loop) Fill(
	ctx context.Context, total int64, step func(_ context.Context, wrote func(bytes int64)) error,
) error {
	var written atomic.Int64
	c.filling = filling{began: c.opt.Now(), total: total}
	look := func() {
		n := written.Load()
		c.rate = rate{bytes: n - c.filling.done}
		c.filling.done, c.Load.FilledBytes = n, n
		if o := c.Load.Oracle; o != nil {
			o.LoadedBytes = n
		}
	}
	err := c.During(ctx, look, func(ctx context.Context) error { return step(ctx, func(n int64) { written.Add(n) }) })
	look()
	c.rate = rate{}
	if err == nil {
		c.filling = filling{}
	}
	return err
}

// Wait returns after d, or with the cause of ctx when ctx ends.
func Wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Tell sends an event of the current time to the sink. The percentage never decreases, and is 100 only when the run is
// done.
func (c *Loop) Tell(message string) { c.TellAt(c.opt.Now(), message) }

// TellAt sends an event of another time.
func (c *Loop) TellAt(now time.Time, message string) {
	e := runfile.Event{
		Time: now, Span: c.span, Repetition: c.index,
		BytesPerSecond: c.rate.bytes, OpsPerSecond: c.rate.ops, Message: cmp.Or(message, c.note),
	}
	if c.span == runfile.SpanDone {
		e.Percent, e.ETASeconds = 100, new(int64)
	} else if left, known := c.left(now); known {
		if whole := now.Sub(c.started) + left; whole > 0 {
			c.percent = max(c.percent, min(99, int32(100*now.Sub(c.started)/whole)))
		}
		e.Percent, e.ETASeconds = c.percent, new(int64((left+time.Second-1)/time.Second))
	} else {
		e.Percent = c.percent
	}
	if f := c.Load.Failure; f != nil {
		e.Message = f.Message
	}
	c.opt.Sink.Event(e)
}

// left returns the remaining time of the run, if it can be known. The script gives the time of its spans, or a bound if
// levels depend on earlier results; the time for filling is known once some of it is done.
func (c *Loop) left(now time.Time) (left time.Duration, known bool) {
	if c.Script == nil {
		return 0, false
	}
	left = max(0, c.Script.ahead()) + max(0, c.stretch.planned-now.Sub(c.stretch.began))
	f := c.filling
	if f.done >= f.total {
		return left, true
	}
	took := now.Sub(f.began)
	if f.done <= 0 || took <= 0 {
		return 0, false
	}
	return left + time.Duration(float64(took)/float64(f.done)*float64(f.total-f.done)), true
}

// SaveDue reports whether it is time to save.
func (c *Loop) SaveDue(now time.Time) bool { return now.Sub(c.lastSave) >= partialEvery }

// Save passes the current state to the sink. Only the last error counts: a later success stores everything.
func (c *Loop) Save() { c.SaveAt(c.opt.Now()) }

// SaveAt saves, and counts the time to the next save from now.
func (c *Loop) SaveAt(now time.Time) {
	c.lastSave = now
	c.saveErr = c.opt.Sink.Load(&c.Load)
}

// done ends the last span, reports that the run is done, and saves. It returns the error of the sink.
func (c *Loop) done() error {
	c.Enter(runfile.SpanDone, 0, time.Time{})
	c.CloseSpan(c.opt.Now())
	c.Save()
	return c.saveErr
}

// FailureOf returns why a run ended early, in the terms of the result file; nil if err is nil. codeOf returns the code
// of an error, or "" for an internal error.
func FailureOf(ctx context.Context, err error, codeOf func(error) string) *runfile.Failure {
	if err == nil {
		return nil
	}
	f := &runfile.Failure{Code: codeOf(err), Message: OneLine(err)}
	switch {
	case errors.Is(err, ErrTimeout):
		f.Code = runfile.FailureTimeout
	case errors.Is(context.Cause(ctx), ErrTimeout): // the error is a consequence
		f.Code, f.Message = runfile.FailureTimeout, OneLine(ErrTimeout)
	case ctx.Err() != nil:
		f.Code, f.Message = runfile.FailureCancelled, "the run was stopped before its end: "+OneLine(context.Cause(ctx))
	case f.Code == "":
		f.Code = runfile.FailureInternal
	}
	return f
}

// OneLine formats an error as one sentence for a Failure. It joins the lines of joined errors.
func OneLine(err error) string {
	return strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")
}

// ProcessUsage returns the CPU time (user and system) and the peak resident set of this process,
// from getrusage(2).
func ProcessUsage() (cpu time.Duration, peakBytes int64) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), u.Maxrss << 10
}
