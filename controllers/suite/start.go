package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/pass"
	"github.com/nfsbench/nfsbench/internal/matrix"
	"github.com/nfsbench/nfsbench/internal/workflow"
)

// validate expands the matrix and checks every cell against the schema, once for each generation. An invalid spec does
// not stop a run under way, but no new run begins.
func (r *Reconciler) validate(_ context.Context, s *scope) (next, error) {
	known := r.memory.of(s.suite.UID, s.suite.Generation)
	if known.matrix == nil && known.invalid == "" {
		m, err := matrix.Expand(s.suite)
		if err == nil {
			err = errors.Join(matrix.Check(m, s.suite, r.Checker), workflow.CheckSize(s.suite, m))
		}
		if err == nil {
			known.matrix = &m
		} else { // keep only what the status shows: the error and the matrix can take megabytes
			known.invalid = pass.Clip(strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; "))
		}
	}
	if known.invalid != "" {
		s.valid = &fact{Reason: v1alpha1.ReasonInvalidSpec, Message: known.invalid}
		return next{}, nil
	}
	s.matrix = known.matrix
	takes := time.Duration(matrix.EstimatedSeconds(*s.matrix)) * time.Second
	s.valid = &fact{OK: true, Reason: v1alpha1.ReasonMatrixValid, Message: fmt.Sprintf(
		"a run takes %s or longer; the seed of its order is %d", takes, s.matrix.Seed)}
	return next{}, nil
}

// Results of due.
const (
	dueRun      = "run"
	dueResubmit = "resubmit"
)

// due returns what a suite without a schedule must begin now: a run, a resubmission of the newest run, or nothing. Runs
// never overlap: a request during a run waits for its end.
func (s *scope) due() string {
	cur, want := s.current(), runName(s.suite)
	asked := s.suite.Annotations[v1alpha1.AnnotationResubmit]
	known := slices.ContainsFunc(s.runs, func(r *run) bool { return r.name == want })
	was := s.suite.Status.Run
	switch {
	case s.scheduled() || cur != nil && !cur.isOver():
		return ""
	case cur == nil && was != nil && was.Name == want && was.CompletionTime != nil:
		return "" // somebody has removed its record
	case !known:
		return dueRun
	case asked == "" || s.suite.Status.Handled != nil && s.suite.Status.Handled.Resubmit == pass.ClipTo(asked, maxHandled):
		return ""
	case cur.record.Annotations[annotationPhase] == string(v1alpha1.SuiteSucceeded):
		return "" // a run that succeeded has nothing to resubmit
	case cur.wasResubmitted(asked):
		return "" // it was resubmitted, although the status does not say so
	default:
		return dueResubmit
	}
}

// start begins the run that is due, or keeps the schedule as declared.
func (r *Reconciler) start(ctx context.Context, s *scope) (next, error) {
	if s.argo == nil || !s.argo.OK {
		s.settleAnnotations()
		return next{}, nil
	}
	if s.scheduled() {
		return next{}, r.schedule(ctx, s)
	}
	due := s.due()
	switch {
	case s.matrix == nil || due == "":
		s.settleAnnotations()
		return next{}, nil
	case s.suite.Spec.Shutdown == v1alpha1.ShutdownStop:
		s.waiting = &fact{Reason: v1alpha1.ReasonSuspended, Message: "spec.shutdown is Stop: remove it to run the suite"}
		return next{}, nil
	case due == dueRun:
		one := &run{name: runName(s.suite)}
		if err := r.create(ctx, s, one, workflow.Input{Run: one.name}); err != nil {
			return next{}, err
		}
		s.runs = append(s.runs, one)
	default:
		if err := r.resubmit(ctx, s, s.current()); err != nil {
			return next{}, err
		}
	}
	s.settleAnnotations()
	return next{}, nil
}

// settleAnnotations records the annotation values that need no further action. A value that is set during a run is
// handled when the run has ended.
func (s *scope) settleAnnotations() {
	cur := s.current()
	if s.scheduled() || cur == nil {
		return
	}
	s.rerun = slices.ContainsFunc(s.runs, func(r *run) bool { return r.name == runName(s.suite) })
	s.resubmit = cur.wasResubmitted(s.suite.Annotations[v1alpha1.AnnotationResubmit]) || cur.isOver() && s.due() == ""
}

// wasResubmitted reports whether a workflow of the run was created for this value of the annotation.
func (r *run) wasResubmitted(asked string) bool {
	return slices.ContainsFunc(r.workflows,
		func(w metav1.PartialObjectMetadata) bool { return w.Annotations[v1alpha1.AnnotationResubmit] == asked })
}

// resubmit resubmits a run: it continues where the run ended.
func (r *Reconciler) resubmit(ctx context.Context, s *scope, one *run) error {
	if err := r.load(ctx, s, one); err != nil {
		return err
	}
	in := workflow.Input{Run: one.name, Done: map[workflow.Key]bool{}}
	in.Attempt = attemptOf(one.name, one.record.Annotations[annotationWorkflow]) + 1
	for _, w := range one.workflows {
		in.Attempt = max(in.Attempt, attemptOf(one.name, w.Name)+1)
	}
	for _, res := range one.file.Results {
		in.FirstAttempt = max(in.FirstAttempt, res.Attempt+1)
		if isSuccess(res) {
			in.Done[workflow.Key{Cell: res.Cell, Repetition: res.Repetition}] = true
		}
	}
	s.events = append(s.events, event{Reason: "Resubmitted", Action: "Run", Note: fmt.Sprintf(
		"going on with run %s: %d of %d benchmarks have succeeded before", one.name, len(in.Done), one.total())})
	return r.create(ctx, s, one, in)
}

// create creates a workflow, once.
func (r *Reconciler) create(ctx context.Context, s *scope, one *run, in workflow.Input) error {
	in.Suite, in.Matrix = s.suite, *s.matrix
	u, err := r.unstructuredOf(s, workflow.NewWorkflow(in))
	if asked := s.suite.Annotations[v1alpha1.AnnotationResubmit]; err == nil && asked != "" {
		err = unstructured.SetNestedField(u.Object, asked, "metadata", "annotations", v1alpha1.AnnotationResubmit)
	}
	if err != nil {
		return err
	}
	err = r.Client.Create(ctx, u, pass.FieldOwner)
	if apierrors.IsAlreadyExists(err) {
		if err := r.Reader.Get(ctx, client.ObjectKeyFromObject(u), u); err != nil {
			return fmt.Errorf("read workflow %q: %w", u.GetName(), err)
		}
		err = checkOurs(s, "Workflow", u)
	} else {
		err = refusal("Workflow", u.GetName(), err)
	}
	if err != nil {
		return err
	}
	one.workflows = append(one.workflows, metadataOf(u))
	return nil
}

// schedule brings the CronWorkflow in line with the spec. It compiles once for each generation, and applies only
// changes.
func (r *Reconciler) schedule(ctx context.Context, s *scope) error {
	known := r.memory.of(s.suite.UID, s.suite.Generation)
	is := &unstructured.Unstructured{}
	is.SetGroupVersionKind(workflow.CronWorkflow)
	err := r.Reader.Get(ctx, client.ObjectKeyFromObject(s.suite), is)
	found := err == nil
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("read cronworkflow %q: %w", s.suite.Name, err)
	}
	if found {
		if err := checkOurs(s, "CronWorkflow", is); err != nil {
			return err
		}
		s.last = workflow.LastScheduled(is)
	}
	has := is.GetAnnotations()[annotationCompiled]
	switch {
	case s.matrix == nil && found && has != "":
		// Start no more runs of an outdated spec.
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}},"spec":{"suspend":true}}`, annotationCompiled)
		err := r.Client.Patch(ctx, is, client.RawPatch(mergePatch, patch), pass.FieldOwner)
		return refusal("CronWorkflow", is.GetName(), client.IgnoreNotFound(err))
	case s.matrix == nil, found && known.compiled != "" && has == known.compiled:
		return nil
	}
	u, err := r.compileSchedule(s)
	if err != nil {
		return err
	}
	if known.compiled, err = stamp(u); err != nil {
		return err
	}
	if found && has == known.compiled {
		return nil
	}
	return r.apply(ctx, u)
}

func (r *Reconciler) compileSchedule(s *scope) (*unstructured.Unstructured, error) {
	u, err := r.unstructuredOf(s, workflow.NewCronWorkflow(workflow.Input{Suite: s.suite, Matrix: *s.matrix}))
	if err != nil {
		return nil, err
	}
	if _, set, _ := unstructured.NestedBool(u.Object, "spec", "suspend"); !set {
		// Always set the field: otherwise the suspension for an invalid spec would stay.
		err = unstructured.SetNestedField(u.Object, false, "spec", "suspend")
	}
	return u, err
}

const mergePatch = types.MergePatchType

// control brings the workflows of the runs under way in line with spec.suspend and spec.shutdown. It also stops
// benchmarks whose workflow has stopped: a stopped workflow ends its steps, but not the benchmarks that the steps wait
// for.
func (r *Reconciler) control(ctx context.Context, s *scope) (next, error) {
	for _, one := range s.open() {
		if err := r.steer(ctx, s, one); err != nil {
			return next{}, err
		}
		if s.suite.Spec.Shutdown != v1alpha1.ShutdownStop && !one.isDone() {
			continue
		}
		for _, b := range one.live {
			if err := r.stop(ctx, s, b); err != nil {
				return next{}, err
			}
		}
	}
	return next{}, nil
}

func (r *Reconciler) steer(ctx context.Context, s *scope, one *run) error {
	if one.patch == nil {
		return nil
	}
	wf := &unstructured.Unstructured{}
	wf.SetGroupVersionKind(workflow.Workflow)
	wf.SetNamespace(s.suite.Namespace)
	wf.SetName(one.workflow())
	err := r.Client.Patch(ctx, wf, client.RawPatch(mergePatch, one.patch), pass.FieldOwner)
	if err = client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("patch workflow %q: %w", wf.GetName(), err)
	}
	return nil
}

// stop cancels a benchmark, which keeps its measurements.
func (r *Reconciler) stop(ctx context.Context, s *scope, l underWay) error {
	if l.suspended {
		return nil
	}
	b := &v1alpha1.NFSBenchmark{}
	b.Namespace, b.Name = s.suite.Namespace, l.name
	err := r.Client.Patch(ctx, b, client.RawPatch(mergePatch, []byte(`{"spec":{"suspend":true}}`)), pass.FieldOwner)
	if err = client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("stop benchmark %q: %w", l.name, err)
	}
	s.events = append(s.events, event{
		Reason: "BenchmarkStopped", Action: "Stop",
		Note: "benchmark " + l.name + " gets the annotation that stops it, because its run has ended",
	})
	return nil
}
