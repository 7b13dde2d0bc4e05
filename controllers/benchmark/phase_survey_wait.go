package benchmark

import (
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/diagnose"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// awaitSurvey starts the Job that asks the array, and follows it until it has
// published, or cannot. Its program ends well only when it has published, so
// that a pod that failed has not.
func (r *Reconciler) awaitSurvey(ctx context.Context, s *scope, moving *runfile.Survey) (next, error) {
	job, err := r.ensureSurvey(ctx, s)
	if err != nil {
		return next{}, err
	}
	s.asking(moving)
	pods, err := r.podsOf(ctx, s.b, manifest.ComponentSurvey)
	if err != nil {
		return next{}, err
	}
	events, err := r.podEvents(ctx, s, job, pods, plan.SecretName(s.b) != "")
	if err != nil {
		return next{}, err
	}
	t := diagnose.Pods(pods, events, s.now, r.Grace)
	if t == nil && len(pods) == 0 && jobEnd(job) == nil {
		t = diagnose.NoPods(job, events, s.now, r.Grace)
	}
	if t != nil && t.Fatal {
		return s.surveyFails(t.Reason, t.Message+moveLeft(moving))
	}
	if end := surveyEnd(s.b, job); end != nil && end.since(s.now) >= watchDelay && !slices.ContainsFunc(pods, isRunning) {
		return s.surveyFails(end.reason, end.message+moveLeft(moving))
	}
	if t != nil {
		return s.wait(t.Reason, t.Message, soon)
	}
	return waitFor(soon), nil
}

// isRunning says that a pod may yet publish.
func isRunning(p corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning }

// asking records what is waited for. How far a move is changes all the time and
// is not part of it.
func (s *scope) asking(moving *runfile.Survey) {
	s.waiting = &fact{reason: v1alpha1.ReasonSurveying, message: "asking the array"}
	if source, ok := plan.ArraySource(s.b, *s.target); ok {
		s.waiting.message += " at " + source.URL
	}
	if moving != nil {
		s.moving = moving.Move
		s.waiting = &fact{reason: v1alpha1.ReasonMoving, message: fmt.Sprintf("moving volume %s to aggregate %s", s.volumeName(), moving.Move.To)}
	}
	s.surveying = s.waiting
}

// volumeName is what people call the volume that is to be moved.
func (s *scope) volumeName() string {
	if b := s.target.Backend; b != nil && b.Volume != "" {
		return b.Volume
	}
	return s.target.Export
}

// surveyEnd is why a Job that has ended published nothing; nil while it has not
// ended.
func surveyEnd(b *v1alpha1.NFSBenchmark, job *batchv1.Job) *jobEnding {
	end := jobEnd(job)
	_, failed := jobState(job)
	switch {
	case end == nil:
		return nil
	case !failed:
		end.reason = v1alpha1.ReasonArrayFailed
		end.message = fmt.Sprintf("Job %s is complete, but its survey is not in ConfigMap %s any more: make the benchmark again", job.Name, manifest.NamesOf(b).Result)
	case end.reason == batchv1.JobReasonDeadlineExceeded:
		end.reason = v1alpha1.ReasonTimeout
		end.message = fmt.Sprintf("the survey of the array took longer than %d s: see kubectl -n %s describe job %s", *job.Spec.ActiveDeadlineSeconds, b.Namespace, job.Name)
	}
	return end
}

// moveLeft says what goes on after a survey that broke off.
func moveLeft(moving *runfile.Survey) string {
	if moving == nil {
		return ""
	}
	return fmt.Sprintf("; the move to aggregate %s was at %d %% and may go on in the array: see volume move show", moving.Move.To, moving.Move.Percent)
}

// moveMessage is the state of a move in one sentence.
func moveMessage(s *scope) string {
	return fmt.Sprintf("moving volume %s to aggregate %s: %d %%", s.volumeName(), s.moving.To, s.moving.Percent)
}
