package benchmark

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/plan"
)

// queueCheck bounds how long a freed target can go unnoticed if the watch on Leases misses it, and how long one of the
// first queueFront places in the status can be out of date.
const (
	queueCheck = 30 * time.Second
	queueFront = 10
)

// checkPlace returns after what time a benchmark computes its place again. Those far behind wait longer: if all of a
// long queue did so at the same pace, they would keep the workers busy.
func checkPlace(position int32) time.Duration {
	return queueCheck * time.Duration(1+position/queueFront)
}

// toldAtOnce is the number of waiting benchmarks that are reconciled when a target is freed: the next one, and a few to
// update their place in the status. If all were reconciled, the writes would grow with the square of the queue.
const toldAtOnce = 5

// enqueue waits until no other run uses the target. The queue decides the order. The Leases make the decision visible,
// and keep it safe if two managers ever run at once.
func (r *Reconciler) enqueue(ctx context.Context, s *scope) (next, error) {
	return r.takeTarget(ctx, s, nil)
}

// takeTarget takes the Leases of all keys of the target or waits. While it waits the run keeps only the Leases of the
// keys in keep.
func (r *Reconciler) takeTarget(ctx context.Context, s *scope, keep []string) (next, error) {
	s.stage = v1alpha1.PhaseQueued
	if s.b.Status.StartTime != nil {
		return next{}, r.keepTarget(ctx, s) // the load runs: it is too late to wait
	}
	place, since, err := r.queue.Take(ctx, s.b, s.target.Keys, keep, s.now)
	if err != nil {
		return next{}, err
	}
	s.place = &place
	if place.Position > 0 {
		return s.wait(v1alpha1.ReasonQueued, fmt.Sprintf("position %d in the queue for the target, behind %s%s",
			place.Position, place.Behind, place.Why), checkPlace(place.Position))
	}
	s.heldSince = since
	return next{}, nil
}

const (
	// holdSlack bounds the part of a hold besides the run itself: the volume, the images and the end.
	holdSlack = 30 * time.Minute
	// startPatience bounds the time between getting a target and the start of the load. After it the run goes to the end
	// of the queue.
	startPatience = 30 * time.Minute
)

// limitHold releases the target when its time is over, or when the run waits for something else before its load begins.
// So no namespace can keep a target from others, whatever its objects contain.
func (r *Reconciler) limitHold(ctx context.Context, s *scope, n *next) error {
	b := s.b
	over := isFinished(b) || !b.DeletionTimestamp.IsZero()
	if !over && s.outcome == nil && b.Status.StartTime == nil && s.load == nil {
		if s.limitStart(n); s.gaveBack {
			return r.queue.Release(ctx, b)
		}
	}
	if b.Status.HoldEndTime == nil {
		return r.giveBackForgotten(ctx, s)
	}
	left := b.Status.HoldEndTime.Sub(s.now)
	switch {
	case over:
		return r.endHold(ctx, s, left, n)
	case left > 0:
		n.Within(left)
		return nil
	}
	var err error
	if s.outcome == nil {
		err = r.breakOff(ctx, s)
	}
	if left > -deletePatience {
		n.Within(soon)
		return err
	}
	// The status that ends the run could not be written, but the release of the target must not depend on that.
	if s.load != nil && jobEnd(s.load) == nil {
		err = errors.Join(err, r.Delete(ctx, s.load))
	}
	return errors.Join(err, r.endHold(ctx, s, left, n))
}

// limitStart decides whether a run that has not begun its load gives its target back. If not, it makes sure that a pass
// follows before the time for the start is over: nothing that the run waits for may ever wake it.
func (s *scope) limitStart(n *next) {
	waits := s.stage == v1alpha1.PhasePending && s.waiting != nil && !s.keepsTarget
	isLimited, left := !s.heldSince.IsZero() && s.moving == nil, startPatience-s.now.Sub(s.heldSince)
	if s.gaveBack = waits || isLimited && left < 0; isLimited && !s.gaveBack {
		n.Within(left + time.Second)
	}
}

// giveBackForgotten releases Leases that a run took in a pass that could not write its status: the status then has no
// end of the hold.
func (r *Reconciler) giveBackForgotten(ctx context.Context, s *scope) error {
	if s.b.Status.StartTime != nil {
		return nil
	}
	held, err := r.queue.Held(ctx, s.b)
	if err != nil {
		return err
	}
	return r.queue.GiveBack(ctx, slices.DeleteFunc(held, func(l coordinationv1.Lease) bool {
		at := l.Spec.AcquireTime
		return at != nil && s.now.Sub(at.Time) <= startPatience
	}))
}

// breakOff ends a run that has used its target for the longest time allowed, and keeps its measurements.
func (r *Reconciler) breakOff(ctx context.Context, s *scope) error {
	message := fmt.Sprintf("it had its target until %s, for as long as policy.limits.maxHold of the chart allows",
		s.b.Status.HoldEndTime.UTC().Format(time.RFC3339))
	if s.waiting != nil {
		message += "; it waited: " + s.waiting.Message
	}
	o := outcome{phase: v1alpha1.PhaseFailed, reason: v1alpha1.ReasonHoldEnded, message: message}
	if s.outcome = &o; s.plan == nil {
		return nil
	}
	_, err := r.endWithResults(ctx, s, o)
	return err
}

// endHold releases the target of a run that is over, although objects of the run cannot be removed. left is the time
// left of the hold. A database that may still write keeps the target, and the status reports it.
func (r *Reconciler) endHold(ctx context.Context, s *scope, left time.Duration, n *next) error {
	held, err := r.queue.Held(ctx, s.b)
	if err != nil || len(held) == 0 {
		return err
	}
	n.Within(leftoverCheck) // a change of the objects that keep the target may not wake this benchmark
	since := cmp.Or(s.b.DeletionTimestamp, s.b.Status.CompletionTime)
	if left > 0 && (since == nil || s.now.Sub(since.Time) < deletePatience+plan.ShutdownTime(s.b)) {
		return nil
	}
	pods, err := r.Pods(ctx, s.b, manifest.ComponentLoad)
	if err != nil {
		return err
	}
	runs := slices.ContainsFunc(pods, func(p corev1.Pod) bool {
		began := p.Spec.NodeName != "" || len(p.Status.InitContainerStatuses)+len(p.Status.ContainerStatuses) > 0
		return mayRun(p) && began
	})
	if runs && (plan.Container(s.b) != nil || left > -deletePatience) {
		return nil
	}
	return r.queue.GiveBack(ctx, held)
}

// wantsTarget reports whether another benchmark counts in the queue at that time: it has not finished, and it has
// started or could start. A benchmark before its start does not count if it waits for anything but the target, if its
// passes fail, or if it is held back or deleted. A started benchmark does not count once its hold has been over for
// deletePatience: while its database may still write, its Leases keep others away.
func wantsTarget(o *v1alpha1.NFSBenchmark, now time.Time) bool {
	switch end := o.Status.HoldEndTime; {
	case isFinished(o) || isReleased(o):
		return false
	case o.Status.StartTime != nil:
		return end == nil || now.Sub(end.Time) < deletePatience
	case isRetrying(o):
		return false
	default:
		ready := o.Status.Phase != "" && o.Status.Phase != v1alpha1.PhasePending
		return ready && !o.Spec.Suspend && o.DeletionTimestamp.IsZero()
	}
}

// keepTarget restores the Leases of a run under way, within its time, that somebody deleted or took. If it cannot
// restore a Lease the run goes on, but the status names the Lease: another run may share the target.
func (r *Reconciler) keepTarget(ctx context.Context, s *scope) error {
	if end := s.b.Status.HoldEndTime; end != nil && s.now.After(end.Time) {
		return nil
	}
	place, err := r.queue.Keep(ctx, s.b, s.target.Keys, s.now)
	if err != nil || place.Position == 0 {
		return err
	}
	s.waiting = &fact{Reason: v1alpha1.ReasonTargetTaken, Message: fmt.Sprintf(
		"the run goes on, but its target was taken from it by %s: others may use it now, and the numbers may be shared "+
			"with theirs", place.Behind)}
	return nil
}
