package benchmark

import (
	"context"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/owned"
	"github.com/nfsbench/nfsbench/controllers/pass"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/preflight"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// survey runs the survey of the array once for the whole run, chooses the paths by the answer, and refuses a run that
// fails a check.
//
// The operator itself connects to no array and reads no Secret: a Job does, and publishes the answer beside the
// results.
func (r *Reconciler) survey(ctx context.Context, s *scope) (next, error) {
	if s.b.Spec.Storage.Array == nil {
		return next{}, nil
	}
	if plan.HasSurvey(s.b) {
		if n, err := r.askArray(ctx, s); err != nil || n.Stop {
			return n, err
		}
	}
	source, ok := plan.ArraySource(s.b, *s.target)
	started := s.b.Status.StartTime != nil
	if !ok && started {
		var err error
		if source, ok, err = r.askedSource(ctx, s); err != nil {
			return next{}, err
		}
	}
	switch {
	case ok:
		s.target.Sources = append(s.target.Sources, source)
	case !started:
		return next{}, noAddress()
	}
	if !plan.HasSurvey(s.b) || started {
		return next{}, nil
	}
	return s.checkAll()
}

// askedSource returns the source of the array for a run under way, from the request of its survey, if only Trident
// named the address of the array.
func (r *Reconciler) askedSource(ctx context.Context, s *scope) (runfile.Source, bool, error) {
	cm, err := r.findConfigMap(ctx, s, s.names.Survey)
	if err != nil || cm == nil {
		return runfile.Source{}, false, err
	}
	text, ok := cm.Data[manifest.RequestKey]
	if !ok {
		return runfile.Source{}, false, nil
	}
	q, broken := runfile.ReadSurveyRequest(strings.NewReader(text))
	if sv := s.target.Survey; sv != nil && sv.Volume != nil {
		q.Source.Volume = sv.Volume.Name
	}
	return q.Source, broken == nil, nil // without the source a lost plan cannot be made again
}

func noAddress() error {
	return invalid(v1alpha1.ReasonInvalidSpec,
		"spec.storage.array.ontap needs managementLIF and svm: the volume is not one of Trident's, which would tell them")
}

// mountExport creates the PersistentVolume of the export after the survey has found the address.
func (r *Reconciler) mountExport(ctx context.Context, s *scope) (next, error) {
	if s.b.Spec.Storage.Export == nil || s.target.ClaimName != s.names.Claim || !plan.HasSurvey(s.b) {
		return next{}, nil
	}
	if len(s.target.Paths) == 0 {
		return next{}, nil // a run under way that has lost everything but its pods
	}
	s.storage = &fact{Reason: v1alpha1.ReasonProvisioning}
	n, err := r.provisionVolume(ctx, s)
	if err == nil && !n.Stop {
		s.storage = &fact{OK: true, Reason: v1alpha1.ReasonProvisioned}
	}
	return n, err
}

// askArray fills the target with the answer of the array.
func (r *Reconciler) askArray(ctx context.Context, s *scope) (next, error) {
	sv, err := r.knownSurvey(ctx, s)
	rs := s.b.Status.Resolved
	started := s.b.Status.StartTime != nil && rs != nil
	switch {
	case err != nil:
		return next{}, err
	case started && (sv == nil || sv.IsMoving() || sv.Problem != nil):
		// Ignore the current survey: the run began with an answer, and nobody moves a volume under it.
		s.target.Paths = rs.Paths
		return next{}, nil
	case sv == nil || sv.IsMoving():
		return r.awaitSurvey(ctx, s, sv)
	case sv.Problem != nil:
		known := []string{ // a pod wrote the word, and a condition takes no other
			runfile.SurveyUnreachable, runfile.SurveyRefused, runfile.SurveyUntrusted, runfile.SurveyNoVolume,
			runfile.SurveyMoveFailed,
		}
		if !slices.Contains(known, sv.Problem.Reason) {
			return s.surveyFails(runfile.SurveyFailed, sv.Problem.Message)
		}
		return s.surveyFails(sv.Problem.Reason, sv.Problem.Message)
	}
	s.target.Survey = sv
	if s.target.Export == "" && sv.Volume != nil {
		s.target.Export = sv.Volume.Export
	}
	if started {
		s.target.Paths = rs.Paths
		return next{}, nil
	}
	s.target.Survey = r.mountable(s)
	err = choosePaths(s.b, s.target)
	if left := len(sv.LIFs) - len(s.target.Survey.LIFs); err != nil && left > 0 {
		err = fmt.Errorf("%w; %s of the array may not be mounted by a node: ask an administrator to add its address "+
			"to policy.exports of the chart", err, human.Count(left, "LIF"))
	}
	s.target.Survey = sv
	if err != nil {
		return s.surveyFails(v1alpha1.ReasonNoPath, err.Error())
	}
	if why := wrongMount(s.b, s.target); why != "" {
		return s.surveyFails(v1alpha1.ReasonNoPath, why)
	}
	return next{}, nil
}

// knownSurvey returns the survey in the plan, which the run uses, or else the published one; nil if there is none yet.
func (r *Reconciler) knownSurvey(ctx context.Context, s *scope) (*runfile.Survey, error) {
	p, err := r.knownPlan(ctx, s)
	if err != nil {
		return nil, err
	}
	if p != nil && p.Survey != nil {
		return p.Survey, nil
	}
	return r.publishedSurvey(ctx, s)
}

func (r *Reconciler) publishedSurvey(ctx context.Context, s *scope) (*runfile.Survey, error) {
	cm, err := r.findConfigMap(ctx, s, s.names.Result)
	if err != nil || cm == nil {
		return nil, err
	}
	text, ok := cm.Data[runfile.KeySurvey]
	if !ok {
		return nil, nil //nolint:nilnil // nothing is known yet
	}
	sv, err := runfile.ReadSurvey(strings.NewReader(text))
	if err != nil {
		// A second read of what a pod wrote would fail too.
		sv = runfile.Survey{Problem: &runfile.SurveyProblem{Reason: runfile.SurveyFailed, Message: fmt.Sprintf(
			"what Job %s published cannot be read: %v",
			s.names.Survey, err)}}
	}
	return &sv, nil
}

// ensureSurvey creates the Job, and first everything that the Job needs to publish.
func (r *Reconciler) ensureSurvey(ctx context.Context, s *scope) (*batchv1.Job, error) {
	job, want := manifest.SurveyJob(s.b, r.Images), manifest.SurveyJob(s.b, r.Images)
	err := pass.Read(ctx, r.Client, r.Reader, job)
	if err == nil {
		return job, r.Adopt(ctx, s.b, want, job)
	}
	if !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("read job %q: %w", job.Name, err)
	}
	text, err := surveyRequest(s)
	if err != nil {
		return nil, err
	}
	return job, r.ensurePublishing(ctx, s, manifest.SurveyRequest(s.b, text), job)
}

func surveyRequest(s *scope) (string, error) {
	q, ok := plan.SurveyRequest(s.b, *s.target)
	if !ok {
		return "", noAddress()
	}
	if t := s.b.Spec.Storage.Trident; t != nil {
		q.MoveTo = t.MoveTo
	}
	if err := q.Validate(); err != nil {
		return "", invalid(v1alpha1.ReasonInvalidSpec, "ask the array: %w", err)
	}
	var text strings.Builder
	if err := runfile.WriteSurveyRequest(&text, q); err != nil {
		return "", err
	}
	return text.String(), nil
}

// surveyFails ends the run because of a finding of the survey, or because the survey failed.
func (s *scope) surveyFails(reason, message string) (next, error) {
	s.preflight = &fact{Reason: reason} // Ready has the message
	return s.fail(reason, message)
}

// wrongMount describes why the kernel does not mount the address that the spec asks for; "" if it does. The volume of a
// claim or of Trident itself names the address.
func wrongMount(b *v1alpha1.NFSBenchmark, t *plan.Target) string {
	if b.Spec.Protocol.Client != bench.ClientKernel || !plan.IsForeign(b) || b.Spec.Protocol.Paths == nil ||
		len(t.Paths) == 0 {
		return ""
	}
	want := b.Spec.Protocol.Paths.Select
	local, known := t.Survey.IsLocal(t.Paths[0].Path)
	if want != bench.PathsLocal && want != bench.PathsRemote || known && local == (want == bench.PathsLocal) {
		return ""
	}
	better, err := plan.SelectPaths(b.Spec, nil, t.Survey)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("the kernel mounts %s, as the volume says, and that is not %s: set dataLIF of the Trident "+
		"backend to %s, or spec.protocol.client to DirectNFS",
		t.Paths[0].Path, strings.ToLower(string(want)), better[0].Path)
}

// checkAll checks the spec against the answer of the array.
func (s *scope) checkAll() (next, error) {
	for _, c := range preflight.Check(preflight.Input{Benchmark: s.b, Target: *s.target}) {
		if c.Message != "" {
			return s.surveyFails(c.Code, c.Message)
		}
	}
	s.preflight = &fact{OK: true, Reason: v1alpha1.ReasonPassed}
	if sv := s.target.Survey; sv != nil && len(sv.Missing) > 0 {
		var unknown []string
		for _, m := range sv.Missing {
			unknown = append(unknown, m.What+" ("+m.Why+")")
		}
		s.preflight.Message = "not known: " + strings.Join(unknown, "; ")
	}
	return next{}, nil
}

// reportMove reports, before the survey Job is deleted, that a move goes on in the array although nobody waits for it.
// It sends the event at once, because the pass may end before it sends its other events.
func (r *Reconciler) reportMove(ctx context.Context, s *scope) (next, error) {
	if !plan.HasSurvey(s.b) {
		return next{}, nil
	}
	job := &batchv1.Job{ObjectMeta: s.meta(s.names.Survey)}
	found, err := owned.Find(ctx, r.Reader, job)
	if err != nil || !found {
		return next{}, err
	}
	sv, err := r.publishedSurvey(ctx, s)
	if err != nil {
		return next{}, err
	}
	if owned.IsOurs(s.b, job) && job.DeletionTimestamp.IsZero() && sv != nil && sv.IsMoving() {
		r.writer().Emit(s.b, []event{{Reason: v1alpha1.ReasonMoving, Action: "Delete", Warning: true, Note: fmt.Sprintf(
			"the move of the volume to aggregate %s was at %d %% and goes on in the array; nothing waits for it any more: see "+
				"volume move show", sv.Move.To, sv.Move.Percent)}})
	}
	return next{}, nil
}

// awaitSurvey starts the survey Job, and waits until the Job has published or has failed. The program exits with 0 only
// after it has published, so a failed pod has published nothing.
func (r *Reconciler) awaitSurvey(ctx context.Context, s *scope, moving *runfile.Survey) (next, error) {
	job, err := r.ensureSurvey(ctx, s)
	if err != nil {
		return next{}, err
	}
	s.asking(moving)
	pods, err := r.Pods(ctx, s.b, manifest.ComponentSurvey)
	if err != nil {
		return next{}, err
	}
	end, asked := surveyEnd(s.b, job), job
	if end != nil {
		asked = nil // the Job creates no more pods
	}
	t, err := r.troubleOf(ctx, s, asked, pods, plan.SecretName(s.b) != "")
	if err != nil {
		return next{}, err
	}
	if t != nil && t.Fatal {
		return s.surveyFails(t.Reason, t.Message+moveLeft(moving))
	}
	running := func(p corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning } // the pod may still publish
	if end != nil && s.now.Sub(end.at) >= watchDelay && !slices.ContainsFunc(pods, running) {
		return s.surveyFails(end.reason, end.message+moveLeft(moving))
	}
	if t != nil {
		return s.wait(t.Reason, t.Message, soon)
	}
	return waitFor(soon), nil
}

// asking records what the run waits for. The progress of a move changes all the time and is not part of it.
func (s *scope) asking(moving *runfile.Survey) {
	s.waiting = &fact{Reason: v1alpha1.ReasonSurveying, Message: "asking the array"}
	if source, ok := plan.ArraySource(s.b, *s.target); ok {
		s.waiting.Message += " at " + source.URL
	}
	if moving != nil {
		s.moving = moving.Move
		s.waiting = &fact{
			Reason:  v1alpha1.ReasonMoving,
			Message: fmt.Sprintf("moving volume %s to aggregate %s", s.volumeName(), moving.Move.To),
		}
	}
	s.surveying = s.waiting
}

// volumeName returns the name of the volume to be moved, for people.
func (s *scope) volumeName() string {
	if b := s.target.Backend; b != nil && b.Volume != "" {
		return b.Volume
	}
	return s.target.Export
}

// surveyEnd returns why a Job that has ended published nothing; nil while the Job runs.
func surveyEnd(b *v1alpha1.NFSBenchmark, job *batchv1.Job) *jobEnding {
	end := jobEnd(job)
	switch {
	case end == nil:
		return nil
	case !end.failed:
		end.reason = runfile.SurveyFailed
		end.message = fmt.Sprintf("Job %s is complete, but its survey is not in ConfigMap %s any more: make the benchmark "+
			"again", job.Name, manifest.NamesOf(b).Result)
	case end.reason == batchv1.JobReasonDeadlineExceeded:
		end.reason = runfile.FailureTimeout
		end.message = fmt.Sprintf("the survey of the array took longer than %d s, and Job %s published nothing",
			*job.Spec.ActiveDeadlineSeconds, job.Name)
	}
	return end
}

// moveLeft describes the move that goes on after a survey that broke off.
func moveLeft(moving *runfile.Survey) string {
	if moving == nil {
		return ""
	}
	return fmt.Sprintf("; the move to aggregate %s was at %d %% and may go on in the array: see volume move show",
		moving.Move.To, moving.Move.Percent)
}

const heldBack = "held back by spec.suspend: set it to false to start"

// checkSuspend keeps a suspended run from starting. The load phase stops a run under way, because only it can save the
// measurements. checkSuspend therefore also looks for the load Job: the pass that created it may not have recorded the
// start.
func (r *Reconciler) checkSuspend(ctx context.Context, s *scope) (next, error) {
	s.stage = v1alpha1.PhasePending
	if !s.b.Spec.Suspend || s.b.Status.StartTime != nil {
		return next{}, nil
	}
	load := &batchv1.Job{ObjectMeta: s.meta(s.names.Load)}
	err := pass.Read(ctx, r.Client, r.Reader, load)
	if err == nil && owned.IsOurs(s.b, load) {
		return next{}, nil
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return next{}, fmt.Errorf("read job %q: %w", load.Name, err)
	}
	if plan.HasSurvey(s.b) {
		if n, err := r.forgetSurvey(ctx, s); err != nil || n.Stop {
			s.keepsTarget = true
			return n, err
		}
	}
	return s.wait(v1alpha1.ReasonSuspended, heldBack, 0)
}

// forgetSurvey stops a survey before it moves a volume that somebody else may soon measure. It also drops the answer of
// the array, which may be outdated when the run is resumed.
func (r *Reconciler) forgetSurvey(ctx context.Context, s *scope) (next, error) {
	s.surveying = &fact{Reason: v1alpha1.ReasonSuspended, Message: "the array is asked when the run is resumed"}
	return pass.Run(ctx, s, []phase{r.reportMove, r.remove, r.stopSurvey, r.removeResult})
}

// stopSurvey waits for the pod of a survey whose Job is gone: the pod could still begin to move the volume, and
// publish. Then it removes the plan, which contains the answer.
func (r *Reconciler) stopSurvey(ctx context.Context, s *scope) (next, error) {
	pods, err := r.Pods(ctx, s.b, manifest.ComponentSurvey)
	if err == nil && len(pods) == 0 {
		s.forgetPlan()
		_, err = r.DeleteOurs(ctx, s.b, &corev1.ConfigMap{ObjectMeta: s.meta(s.names.Plan)})
	}
	if err != nil || len(pods) == 0 {
		return next{}, err
	}
	if err := r.deletePods(ctx, pods); err != nil {
		return next{}, err
	}
	return s.wait(v1alpha1.ReasonSuspended, heldBack+"; waiting for the survey to stop", soon)
}
