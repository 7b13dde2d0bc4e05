package loadgen

import (
	"context"
	"fmt"
	"time"

	"github.com/nfsbench/nfsbench/internal/course"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// abandonAfter is how long a step may take to return once its context is done.
// A system call on a dead mount never does.
const abandonAfter = 10 * time.Second

// begin starts the course of the run.
func (r *Runner) begin() {
	r.course = course.New(&r.load, r.opt.Sink, r.opt.Now, r.left)
	r.course.GiveUp(abandonAfter, func(cause error) error {
		return fmt.Errorf("%w, %v after it was cancelled: %w", errStuck, abandonAfter, cause)
	})
}

// enter ends the present span and begins the next.
func (r *Runner) enter(kind string, rep int32) { r.course.Enter(kind, rep, time.Time{}) }

// during does one step of the run, and tells how it goes every second.
func (r *Runner) during(ctx context.Context, step func(context.Context) error) error {
	return r.course.During(ctx, r.tick, step)
}

// tick is called every second while nothing is measured.
func (r *Runner) tick() {
	if filled := r.filled.Load(); r.course.Span() == runfile.SpanFill {
		r.course.Rate(course.Rate{Bytes: filled - r.prog.filled})
		r.prog.filled = filled
	}
}

// idle lets time pass without load.
func (r *Runner) idle(ctx context.Context, seconds int32) error {
	return r.course.Idle(ctx, time.Duration(seconds)*time.Second)
}

// left is the time that the run still needs, where it can be known.
func (r *Runner) left(now time.Time) (left time.Duration, known bool) {
	r.prog.planned = max(0, r.script.total()-r.scheduleDone(now))
	return r.prog.left(now)
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
