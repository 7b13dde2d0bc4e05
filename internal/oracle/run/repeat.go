package run

import (
	"context"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// repeat makes one repetition: baseline, the body, which enters its spans
// itself, and the cooldown between repetitions.
func (r *runner) repeat(ctx context.Context, index int32, body func(context.Context) error) error {
	s := r.plan.Schedule
	r.left.repetition = r.opt.Now()
	if err := r.idle(ctx, runfile.SpanBaseline, index, s.BaselineSeconds); err != nil {
		return err
	}
	if err := body(ctx); err != nil {
		return err
	}
	r.left.done++
	r.left.repetition = time.Time{}
	if r.left.done == r.left.steps() {
		return nil
	}
	return r.idle(ctx, runfile.SpanCooldown, index, s.CooldownSeconds)
}

func (r *runner) idle(ctx context.Context, span string, index, seconds int32) error {
	if seconds == 0 {
		return nil
	}
	r.course.Enter(span, index, time.Time{})
	return r.course.Idle(ctx, time.Duration(seconds)*time.Second)
}
