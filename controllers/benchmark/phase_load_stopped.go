package benchmark

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/diagnose"
)

// jobGone ends a run whose Job somebody has deleted, once its pods are gone:
// they save what they measured when they are told to stop. Pods that were kept
// from going with their Job may as well bring the run to its end.
func (r *Reconciler) jobGone(ctx context.Context, s *scope) (next, error) {
	pods, err := r.loadPods(ctx, s)
	if err != nil {
		return next{}, err
	}
	message := jobDeleted(s)
	if slices.ContainsFunc(pods, func(p corev1.Pod) bool { return isActive(p) || isStopping(p, s) }) {
		s.stage = stageOf(s.progress)
		return s.wait(v1alpha1.ReasonCollecting, message+"; waiting for the last results of its pods", soon)
	}
	return r.salvage(ctx, s, outcome{phase: v1alpha1.PhaseFailed, reason: v1alpha1.ReasonPodLost, message: message})
}

func jobDeleted(s *scope) string {
	return fmt.Sprintf("Job %s was deleted while the benchmark ran: create a new NFSBenchmark to run it again", s.names.Load)
}

// isStopping tells whether a pod that is being deleted may still publish. Its
// deletion timestamp is when its time is over.
func isStopping(p corev1.Pod, s *scope) bool {
	return !p.DeletionTimestamp.IsZero() && s.now.Before(p.DeletionTimestamp.Add(watchDelay))
}

// explainStop tells who stopped a load that was not to be stopped. The pods
// know, as long as they are there.
func (r *Reconciler) explainStop(ctx context.Context, s *scope) (next, error) {
	pods, err := r.loadPods(ctx, s)
	if err != nil {
		return next{}, err
	}
	const partial = "; what was measured until then is partial"
	t, end := diagnose.Disruption(pods), jobEnd(s.load)
	switch {
	case t != nil:
		return s.fail(t.Reason, t.Message+partial)
	case end != nil && end.reason == v1alpha1.ReasonPodLost:
		return s.fail(end.reason, end.message+partial)
	case s.load == nil || !s.load.DeletionTimestamp.IsZero():
		return s.fail(v1alpha1.ReasonPodLost, jobDeleted(s)+partial)
	default:
		return s.fail(v1alpha1.ReasonPodLost, "a pod of the load was told to stop before its end: somebody deleted it, or its node was drained or shut down; create a new NFSBenchmark to run it again"+partial)
	}
}
