package suite

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/statussize"
	"github.com/nfsbench/nfsbench/internal/workflow"
)

// What due gives.
const (
	dueRun      = "run"
	dueResubmit = "resubmit"
)

// due says what a suite without a schedule is to begin now: a run, a resubmission
// of the newest, or nothing. Runs never overlap: what is asked for while one is
// under way waits for its end.
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
	case asked == "" || s.suite.Status.Handled != nil && s.suite.Status.Handled.Resubmit == statussize.ClipTo(asked, maxHandled):
		return ""
	case cur.record.Annotations[annotationPhase] == string(v1alpha1.SuiteSucceeded):
		return "" // there is nothing to go on with
	case slices.ContainsFunc(cur.workflows, func(w metav1.PartialObjectMetadata) bool { return w.Annotations[v1alpha1.AnnotationResubmit] == asked }):
		return "" // it was, although the status does not say so
	default:
		return dueResubmit
	}
}

// start begins what is due, or keeps the schedule as it is declared.
func (r *Reconciler) start(ctx context.Context, s *scope) (next, error) {
	if s.argo == nil || !s.argo.ok {
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
		s.waiting = &fact{reason: v1alpha1.ReasonSuspended, message: "spec.shutdown is Stop: remove it to run the suite"}
		return next{}, nil
	case due == dueRun:
		one := &run{name: runName(s.suite)}
		if err := r.create(ctx, s, one, workflow.Input{Run: one.name}); err != nil {
			return next{}, err
		}
		s.runs = append(s.runs, one)
	default:
		if err := r.again(ctx, s, s.current()); err != nil {
			return next{}, err
		}
	}
	s.settleAnnotations()
	return next{}, nil
}

// settleAnnotations notes which values of annotations need nothing more. One that
// came while a run is under way has its turn when that has ended.
func (s *scope) settleAnnotations() {
	cur := s.current()
	if s.scheduled() || cur == nil {
		return
	}
	s.rerun = slices.ContainsFunc(s.runs, func(r *run) bool { return r.name == runName(s.suite) })
	asked := s.suite.Annotations[v1alpha1.AnnotationResubmit]
	begun := slices.ContainsFunc(cur.workflows, func(w metav1.PartialObjectMetadata) bool { return w.Annotations[v1alpha1.AnnotationResubmit] == asked })
	s.resubmit = begun || cur.isOver() && s.due() == ""
}

// again goes on with a run where it ended.
func (r *Reconciler) again(ctx context.Context, s *scope, one *run) error {
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
	s.events = append(s.events, event{reason: "Resubmitted", action: "Run", note: fmt.Sprintf(
		"going on with run %s: %d of %d benchmarks have succeeded before", one.name, len(in.Done), one.total())})
	return r.create(ctx, s, one, in)
}

// create makes a workflow, once.
func (r *Reconciler) create(ctx context.Context, s *scope, one *run, in workflow.Input) error {
	in.Suite, in.Matrix = s.suite, *s.matrix
	compiled := workflow.NewWorkflow(in)
	u, err := r.unstructuredOf(s, compiled)
	if err != nil {
		return err
	}
	if asked := s.suite.Annotations[v1alpha1.AnnotationResubmit]; asked != "" {
		notes := u.GetAnnotations()
		if notes == nil {
			notes = map[string]string{}
		}
		notes[v1alpha1.AnnotationResubmit] = asked
		u.SetAnnotations(notes)
	}
	err = r.Client.Create(ctx, u, client.FieldOwner(FieldOwner))
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

func metadataOf(u *unstructured.Unstructured) metav1.PartialObjectMetadata {
	m := metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(u.GroupVersionKind())
	m.Name, m.Namespace, m.UID = u.GetName(), u.GetNamespace(), u.GetUID()
	m.ResourceVersion, m.CreationTimestamp = u.GetResourceVersion(), u.GetCreationTimestamp()
	m.Labels, m.Annotations = u.GetLabels(), u.GetAnnotations()
	return m
}

func isSuccess(r runfile.SuiteResult) bool { return r.Phase == string(v1alpha1.PhaseSucceeded) }
