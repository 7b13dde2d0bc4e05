package loadgen

import (
	"context"
	"fmt"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// abandonAfter is how long a step may take to return once its context is done.
// A system call on a dead mount never does.
const abandonAfter = 10 * time.Second

// enter ends the present span and begins the next.
func (r *Runner) enter(kind string, rep int32) {
	now := r.opt.Now()
	r.closeSpan(now)
	r.load.Spans = append(r.load.Spans, runfile.Span{Kind: kind, Repetition: rep, Start: now})
	r.span, r.rep, r.rate = kind, rep, speed{}
	r.tell(now, "")
}

func (r *Runner) closeSpan(now time.Time) {
	if n := len(r.load.Spans); n > 0 && r.load.Spans[n-1].End.IsZero() {
		r.load.Spans[n-1].End = now
	}
}

// during does one step of the run, and tells how it goes every second.
func (r *Runner) during(ctx context.Context, step func(context.Context) error) error {
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
			timer := time.NewTimer(abandonAfter)
			defer timer.Stop()
			giveUp = timer.C
		case <-giveUp:
			return fmt.Errorf("%w, %v after it was cancelled: %w", errStuck, abandonAfter, context.Cause(ctx))
		case <-ticker.C:
			r.tick()
		}
	}
}

// tick is called every second while nothing is measured.
func (r *Runner) tick() {
	now := r.opt.Now()
	if filled := r.filled.Load(); r.span == runfile.SpanFill {
		r.rate = speed{bytes: filled - r.prog.filled}
		r.prog.filled = filled
	}
	r.tell(now, "")
	r.saveSometimes(now)
}

// idle lets time pass without load.
func (r *Runner) idle(ctx context.Context, seconds int32) error {
	end := r.opt.Now().Add(time.Duration(seconds) * time.Second)
	return r.during(ctx, func(ctx context.Context) error {
		timer := time.NewTimer(end.Sub(r.opt.Now()))
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
}

// tell hands an event to the sink.
func (r *Runner) tell(now time.Time, message string) {
	r.prog.spent = now.Sub(r.started)
	r.prog.planned = max(0, r.plot.total()-r.scheduleDone(now))
	e := runfile.Event{
		Time: now, Span: r.span, Repetition: r.rep,
		BytesPerSecond: r.rate.bytes, OpsPerSecond: r.rate.ops, Message: message,
	}
	if r.span == runfile.SpanDone {
		e.Percent, e.ETASeconds = 100, new(int64)
	} else {
		e.Percent, e.ETASeconds = r.prog.estimate(now)
	}
	if f := r.load.Failure; f != nil {
		e.Message = f.Message
	}
	r.opt.Sink.Event(e)
}

// scheduleDone is how much of the timed spans has passed.
func (r *Runner) scheduleDone(now time.Time) time.Duration {
	var sum time.Duration
	for _, s := range r.load.Spans {
		switch s.Kind {
		case runfile.SpanBaseline, runfile.SpanWarmup, runfile.SpanMeasure, runfile.SpanCooldown:
			end := s.End
			if end.IsZero() {
				end = now
			}
			sum += end.Sub(s.Start)
		default:
		}
	}
	return sum
}

// saveSometimes hands the state so far to the sink when it is time.
func (r *Runner) saveSometimes(now time.Time) {
	if now.Sub(r.lastSave) >= partialEvery {
		r.save(now)
	}
}

// save hands the state so far to the sink. The last error is kept: an earlier
// one was cured if this succeeds.
func (r *Runner) save(now time.Time) {
	r.lastSave = now
	r.saveErr = r.opt.Sink.Load(&r.load)
}
