package run

import (
	"context"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// eachStep makes a repetition of every number of users in each round, with their
// index counting on.
func (r *runner) eachStep(ctx context.Context, body func(ctx context.Context, index int32, step runfile.Step) error) error {
	index := int32(0)
	for round := range r.plan.Schedule.Repetitions {
		for _, users := range r.plan.Workload.SLOB.Users {
			index++
			step := runfile.Step{Kind: runfile.StepUsers, Users: users, Round: round + 1}
			err := r.repeat(ctx, index, func(ctx context.Context) error { return body(ctx, index, step) })
			if err != nil {
				return err
			}
		}
	}
	return nil
}

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
