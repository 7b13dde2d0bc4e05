package suite

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/statussize"
)

// setStatus turns what a pass learned into the whole status. It does no I/O. A
// pass that broke off keeps what earlier ones found, and says why it did.
func setStatus(s *scope, err error) {
	st := &s.suite.Status
	st.ObservedGeneration = s.suite.Generation
	v := view(s)
	if err == nil {
		setMatrix(s)
		setRun(s)
		setTable(s, v)
		setHistory(s, v)
		setHandled(s)
		if v.verdict != "" {
			st.Verdict = v.verdict
		}
		st.Phase = phaseOf(s, v)
	}
	if st.Phase == "" {
		st.Phase = v1alpha1.SuitePending
	}
	st.Message = messageOf(s, v, err)
	setConditions(s, v, err)
	fit(st)
}

// seen is what the status says in several places.
type seen struct {
	table   *compare.Table        // of the newest run; nil = nothing is known of it
	ended   *run                  // the newest that has ended; nil = none has
	outcome *outcome              // of ended
	verdict v1alpha1.SuiteVerdict // of ended; empty = none has
}

// view draws together what is known of the runs.
func view(s *scope) seen {
	v := seen{}
	if cur := s.current(); cur != nil && cur.loaded {
		v.table = new(compare.Run(withCompare(s, cur)))
	}
	over := s.over()
	if len(over) == 0 {
		return v
	}
	v.ended = over[len(over)-1]
	notes := v.ended.record.Annotations
	v.outcome = &outcome{phase: v1alpha1.SuitePhase(notes[annotationPhase])}
	v.verdict = v1alpha1.SuiteVerdict(notes[annotationVerdict])
	if v.ended.loaded {
		v.outcome.reason, v.outcome.message = v.ended.file.Reason, v.ended.file.Message
		v.verdict = verdictOf(v.ended.file, s.regression)
	}
	if v.outcome.reason == "" {
		v.outcome.reason = reasonOf(v.outcome.phase)
	}
	return v
}

// reasonOf is for a run of which no more than the phase was read.
func reasonOf(p v1alpha1.SuitePhase) string {
	switch p {
	case v1alpha1.SuiteSucceeded:
		return v1alpha1.ReasonCompleted
	case v1alpha1.SuiteCancelled:
		return v1alpha1.ReasonCancelled
	default:
		return v1alpha1.ReasonBenchmarkFailed
	}
}

// phaseOf computes the phase from the runs there are.
func phaseOf(s *scope, v seen) v1alpha1.SuitePhase {
	invalid := s.valid != nil && !s.valid.ok
	open := len(s.open()) > 0
	paused := s.suite.Spec.Suspend || s.scheduled() && s.suite.Spec.Schedule.Suspend
	switch {
	case s.argo != nil && s.argo.reason == v1alpha1.ReasonArgoMissing && !invalid:
		return v1alpha1.SuitePending
	case open && s.suite.Spec.Suspend && !s.busy():
		return v1alpha1.SuiteSuspended
	case open:
		return v1alpha1.SuiteRunning
	case s.scheduled() && (invalid || s.blocked != nil):
		return v1alpha1.SuitePending
	case s.scheduled() && paused:
		return v1alpha1.SuiteSuspended
	case s.scheduled():
		return v1alpha1.SuiteScheduled
	case v.ended != nil:
		return v.outcome.phase
	case invalid, s.blocked != nil:
		return v1alpha1.SuiteFailed
	case s.waiting != nil && s.waiting.reason == v1alpha1.ReasonSuspended:
		return v1alpha1.SuiteSuspended
	case s.suite.Status.Phase.IsFinished():
		return s.suite.Status.Phase // its record was removed
	default:
		return v1alpha1.SuitePending
	}
}

// busy says that some benchmark is under way.
func (s *scope) busy() bool {
	for _, one := range s.open() {
		if len(one.live) > 0 {
			return true
		}
	}
	return false
}

func setMatrix(s *scope) {
	switch {
	case s.valid == nil:
	case s.matrix == nil:
		s.suite.Status.Matrix = nil
	default:
		s.suite.Status.Matrix = &v1alpha1.MatrixStatus{
			Cells: int32(len(s.matrix.Cells)), Benchmarks: int32(len(s.matrix.Sequence)), //nolint:gosec // bounded by matrix.MaxBenchmarks
		}
	}
}

// maxHandled is what the status takes of an annotation.
const maxHandled = 256

func setHandled(s *scope) {
	h := v1alpha1.HandledAnnotations{}
	if was := s.suite.Status.Handled; was != nil {
		h = *was
	}
	if s.rerun {
		h.Rerun = statussize.ClipTo(s.suite.Annotations[v1alpha1.AnnotationRerun], maxHandled)
	}
	if s.resubmit {
		h.Resubmit = statussize.ClipTo(s.suite.Annotations[v1alpha1.AnnotationResubmit], maxHandled)
	}
	if h != (v1alpha1.HandledAnnotations{}) {
		s.suite.Status.Handled = &h
	}
}

func timestamp(t metav1.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
