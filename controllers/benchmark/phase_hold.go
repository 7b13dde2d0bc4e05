package benchmark

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
)

const heldBack = "held back by spec.suspend: set it to false to start"

// hold keeps a suspended run from starting. One that is under way is stopped
// by the load phase, which alone can save what it measured: also where the
// record that it is was lost to the very change that suspends it.
func (r *Reconciler) hold(ctx context.Context, s *scope) (next, error) {
	s.stage = v1alpha1.PhasePending
	if !s.b.Spec.Suspend || s.b.Status.StartTime != nil {
		return next{}, nil
	}
	load := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: s.b.Namespace, Name: s.names.Load}}
	err := r.read(ctx, load)
	if err == nil && isOurs(s.b, load) {
		return next{}, nil
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return next{}, fmt.Errorf("read job %q: %w", load.Name, err)
	}
	if hasSurvey(s.b) {
		if n, err := r.forgetSurvey(ctx, s); err != nil || n.stop {
			return n, err
		}
	}
	if err := r.releaseLeases(ctx, s.b); err != nil {
		return next{}, err
	}
	return s.wait(v1alpha1.ReasonSuspended, heldBack, 0)
}

// forgetSurvey stops a survey before it moves a volume that somebody else may
// measure by then, and what the array has said: that need not be so any more
// when the run is resumed.
func (r *Reconciler) forgetSurvey(ctx context.Context, s *scope) (next, error) {
	s.surveying = &fact{reason: v1alpha1.ReasonSuspended, message: "the array is asked when the run is resumed"}
	for _, step := range []phase{r.reportMove, r.remove, r.stopSurvey} {
		if n, err := step(ctx, s); err != nil || n.stop {
			return n, err
		}
	}
	plan := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.b.Namespace, Name: s.names.Plan}}
	if _, err := r.deleteOurs(ctx, s.b, plan); err != nil {
		return next{}, err
	}
	return r.removeResult(ctx, s)
}

// stopSurvey waits for the pod of a survey whose Job is gone: it could still
// begin to move the volume, and publish.
func (r *Reconciler) stopSurvey(ctx context.Context, s *scope) (next, error) {
	pods, err := r.podsOf(ctx, s.b, manifest.ComponentSurvey)
	if err != nil || len(pods) == 0 {
		return next{}, err
	}
	if err := r.deletePods(ctx, pods); err != nil {
		return next{}, err
	}
	return s.wait(v1alpha1.ReasonSuspended, heldBack+"; waiting for the survey to stop", soon)
}
