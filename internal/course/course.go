// Package course walks a run through its spans: it notes when each began and
// ended, tells every second how it goes, and saves what was measured so far. It
// knows nothing of what is measured.
package course

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/internal/rundir"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

const (
	partialEvery = 5 * time.Second
	// abandonAfter is how long a step may take to return once its context is
	// done, unless GiveUp says otherwise. A call into a dead database may never.
	abandonAfter = 30 * time.Second
)

// ErrStuck says that a step did not return after it was cancelled: what it uses
// must not be closed.
var ErrStuck = errors.New("a call did not return")

// ErrTimeout is the cause of a context whose run took longer than its plan
// allows.
var ErrTimeout = errors.New("the run took longer than schedule.timeoutSeconds allows")

// Course is one run under way. Its methods are called from one goroutine; so
// are those of the Sink.
type Course struct {
	load *runfile.Load
	sink rundir.Sink
	now  func() time.Time
	// left gives the time that the run still needs, where it can be known.
	left func(now time.Time) (left time.Duration, known bool)

	patience time.Duration
	stuck    func(cause error) error

	started  time.Time
	lastSave time.Time
	saveErr  error
	span     string
	index    int32
	rate     Rate
	percent  int32
}

// Rate is what the last second gave.
type Rate struct{ Bytes, Ops int64 }

// New begins a run. left is asked for the time that is still needed.
func New(load *runfile.Load, sink rundir.Sink, now func() time.Time, left func(time.Time) (time.Duration, bool)) *Course {
	at := now()
	return &Course{
		load: load, sink: sink, now: now, left: left, started: at, lastSave: at,
		patience: abandonAfter, stuck: func(cause error) error {
			return fmt.Errorf("%w within %v after it was cancelled: %w", ErrStuck, abandonAfter, cause)
		},
	}
}

// GiveUp sets how long a step may take to return once its context is done, and
// what makes the error of one that does not.
func (c *Course) GiveUp(after time.Duration, stuck func(cause error) error) {
	c.patience, c.stuck = after, stuck
}

// Span is the kind of the present span.
func (c *Course) Span() string { return c.span }

// Enter ends the present span and begins the next at the same moment, which is
// at, or now where at is zero.
func (c *Course) Enter(kind string, index int32, at time.Time) {
	if at.IsZero() {
		at = c.now()
	}
	c.Close(at)
	c.load.Spans = append(c.load.Spans, runfile.Span{Kind: kind, Repetition: index, Start: at})
	c.span, c.index, c.rate = kind, index, Rate{}
	c.Tell("")
}

// Close ends the present span.
func (c *Course) Close(at time.Time) {
	if n := len(c.load.Spans); n > 0 && c.load.Spans[n-1].End.IsZero() {
		c.load.Spans[n-1].End = at
	}
}

// Rate sets what the next events say of the last second.
func (c *Course) Rate(r Rate) { c.rate = r }

// During does one step of the run in another goroutine, and tells how it goes
// every second, after calling tick where it is not nil.
func (c *Course) During(ctx context.Context, tick func(), step func(context.Context) error) error {
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
			timer := time.NewTimer(c.patience)
			defer timer.Stop()
			giveUp = timer.C
		case <-giveUp:
			return c.stuck(context.Cause(ctx))
		case <-ticker.C:
			if tick != nil {
				tick()
			}
			c.Tell("")
			if now := c.now(); c.SaveDue(now) {
				c.SaveAt(now)
			}
		}
	}
}

// Idle lets so much time pass.
func (c *Course) Idle(ctx context.Context, d time.Duration) error {
	return c.During(ctx, nil, func(ctx context.Context) error { return Wait(ctx, d) })
}

// Wait returns after d, or with the cause of the context when that ends.
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

// Tell hands an event of now to the sink. The percentage never goes back, and is
// 100 only when the run is done.
func (c *Course) Tell(message string) { c.TellAt(c.now(), message) }

// TellAt is Tell for an event of another moment.
func (c *Course) TellAt(now time.Time, message string) {
	e := runfile.Event{
		Time: now, Span: c.span, Repetition: c.index,
		BytesPerSecond: c.rate.Bytes, OpsPerSecond: c.rate.Ops, Message: message,
	}
	if c.span == runfile.SpanDone {
		e.Percent, e.ETASeconds = 100, new(int64)
	} else {
		e.Percent, e.ETASeconds = c.estimate(now)
	}
	if f := c.load.Failure; f != nil {
		e.Message = f.Message
	}
	c.sink.Event(e)
}

func (c *Course) estimate(now time.Time) (percent int32, eta *int64) {
	left, known := c.left(now)
	if !known {
		return c.percent, nil
	}
	left = max(left, 0)
	if whole := now.Sub(c.started) + left; whole > 0 {
		c.percent = max(c.percent, min(99, int32(100*now.Sub(c.started)/whole)))
	}
	seconds := int64((left + time.Second - 1) / time.Second)
	return c.percent, &seconds
}

// SaveDue tells whether it is time to save.
func (c *Course) SaveDue(now time.Time) bool { return now.Sub(c.lastSave) >= partialEvery }

// Save hands the state so far to the sink. The last error counts: an earlier one
// was cured if this succeeds.
func (c *Course) Save() { c.SaveAt(c.now()) }

// SaveAt is Save, from which the time to the next is counted.
func (c *Course) SaveAt(now time.Time) {
	c.lastSave = now
	c.saveErr = c.sink.Load(c.load)
}

// Done ends the last span, says that the run is done, and saves. The error is
// that of the sink, which could not keep what was measured.
func (c *Course) Done() error {
	c.Enter(runfile.SpanDone, 0, time.Time{})
	c.Close(c.now())
	c.Save()
	return c.saveErr
}

// FailureOf says in the words of the result file why a run ended early, or nil
// where err is nil. codeOf gives the code that an error carries, or nothing;
// without one it is an internal error.
func FailureOf(ctx context.Context, err error, codeOf func(error) string) *runfile.Failure {
	if err == nil {
		return nil
	}
	switch {
	case errors.Is(err, ErrTimeout), errors.Is(context.Cause(ctx), ErrTimeout):
		return &runfile.Failure{Code: runfile.FailureTimeout, Message: OneLine(ErrTimeout)}
	case ctx.Err() != nil:
		return &runfile.Failure{
			Code: runfile.FailureCancelled, Message: "the run was stopped before its end: " + OneLine(context.Cause(ctx)),
		}
	}
	code := codeOf(err)
	if code == "" {
		code = runfile.FailureInternal
	}
	return &runfile.Failure{Code: code, Message: OneLine(err)}
}

// OneLine writes an error as the one sentence that a Failure holds: of joined
// errors each has a line.
func OneLine(err error) string {
	return strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")
}
