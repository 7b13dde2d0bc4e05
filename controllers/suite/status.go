package suite

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/pass"
	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// setStatus computes the whole status from the facts of a pass. It does no I/O. A pass that returned early keeps the
// status of earlier passes, and reports why it returned.
func setStatus(s *scope, err error) {
	st := &s.suite.Status
	st.ObservedGeneration = s.suite.Generation
	v := view(s)
	s.seen = v
	if err == nil {
		switch {
		case s.valid == nil:
		case s.matrix == nil:
			st.Matrix = nil
		default:
			st.Matrix = &v1alpha1.MatrixStatus{
				Cells:      int32(len(s.matrix.Cells)),    //nolint:gosec // bounded by matrix.MaxCells
				Benchmarks: int32(len(s.matrix.Sequence)), //nolint:gosec // bounded by matrix.MaxBenchmarks
			}
		}
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
	pass.SetConditions(conditions(), s, err, &st.Conditions, s.suite.Generation, s.now)
}

// seen holds what the status shows in several places.
type seen struct {
	table   *compare.Table        // of the newest run; nil = nothing is known about the run
	ended   *run                  // the newest run that has ended; nil = none
	outcome *outcome              // of ended
	verdict v1alpha1.SuiteVerdict // of ended; empty = none
}

// view collects what is known about the runs.
func view(s *scope) seen {
	v := seen{}
	if cur := s.current(); cur != nil && cur.loaded {
		v.table = new(compare.Run(compare.Request{Run: new(withCompare(s, cur))}))
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

// reasonOf returns the reason for a run of which only the phase was read.
func reasonOf(p v1alpha1.SuitePhase) string {
	switch p {
	case v1alpha1.SuiteSucceeded:
		return v1alpha1.ReasonCompleted
	case v1alpha1.SuiteCancelled:
		return runfile.FailureCancelled
	default:
		return v1alpha1.ReasonBenchmarkFailed
	}
}

// phaseOf computes the phase from the existing runs.
func phaseOf(s *scope, v seen) v1alpha1.SuitePhase {
	invalid := s.valid != nil && !s.valid.OK
	open := len(s.open()) > 0
	busy := slices.ContainsFunc(s.open(), func(r *run) bool { return len(r.live) > 0 })
	paused := s.suite.Spec.Suspend || s.scheduled() && s.suite.Spec.Schedule.Suspend
	switch {
	case s.argo != nil && s.argo.Reason == v1alpha1.ReasonArgoMissing && !invalid:
		return v1alpha1.SuitePending
	case open && s.suite.Spec.Suspend && !busy:
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
	case s.waiting != nil && s.waiting.Reason == v1alpha1.ReasonSuspended:
		return v1alpha1.SuiteSuspended
	case s.suite.Status.Phase.IsFinished():
		return s.suite.Status.Phase // the record of its run was removed
	default:
		return v1alpha1.SuitePending
	}
}

// maxHandled bounds an annotation value in the status.
const maxHandled = 256

func setHandled(s *scope) {
	h := ptr.Deref(s.suite.Status.Handled, v1alpha1.HandledAnnotations{})
	if s.rerun {
		h.Rerun = pass.ClipTo(s.suite.Annotations[v1alpha1.AnnotationRerun], maxHandled)
	}
	if s.resubmit {
		h.Resubmit = pass.ClipTo(s.suite.Annotations[v1alpha1.AnnotationResubmit], maxHandled)
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

// reasonRegressed is the reason of a schedule that has failed although its last run succeeded.
const reasonRegressed = string(v1alpha1.SuiteRegressed)

// conditions is the table of all conditions, in the order in which they are computed.
func conditions() []pass.Condition[*scope] {
	matrixValid := func(s *scope, _ error) pass.State { return pass.StateOf(s.valid) }
	workflowsAvailable := func(s *scope, _ error) pass.State { return pass.StateOf(s.argo) }
	return append([]pass.Condition[*scope]{
		{Type: v1alpha1.ConditionMatrixValid, State: matrixValid},
		{Type: v1alpha1.ConditionWorkflowsAvailable, State: workflowsAvailable},
		{Type: v1alpha1.ConditionSucceeded, State: succeeded},
	}, pass.HealthConditions(healthOf)...)
}

// healthOf computes the health for all conditions. A suite without a schedule is in progress until its run is over. A
// suite with a schedule is current as soon as its CronWorkflow exists and nothing is missing that its next run needs,
// and stays current while runs start and end; it has failed if the last run that ended has failed or regressed.
func healthOf(s *scope, err error) pass.Health {
	v, open := s.seen, len(s.open()) > 0
	message := s.suite.Status.Message
	switch {
	case err != nil:
		return health(pass.InProgress, v1alpha1.ReasonRetrying, err.Error())
	case s.valid != nil && !s.valid.OK && (s.scheduled() || v.ended == nil && !open):
		return health(pass.Failed, v1alpha1.ReasonInvalidSpec, s.valid.Message)
	case s.blocked != nil:
		return health(pass.Failed, s.blocked.Reason, s.blocked.Message)
	case s.argo != nil && !s.argo.OK:
		return health(pass.InProgress, s.argo.Reason, s.argo.Message)
	case s.scheduled() && v.ended != nil && v.verdict == v1alpha1.SuiteRegressed:
		return health(pass.Failed, reasonRegressed,
			"run "+v.ended.name+" is worse than "+s.accepted+": "+s.regression.Message)
	case s.scheduled() && v.ended != nil && v.outcome.phase == v1alpha1.SuiteFailed:
		return health(pass.Failed, v.outcome.reason, "run "+v.ended.name+": "+v.outcome.message)
	case s.missing != nil && !open:
		return health(pass.InProgress, s.missing.Reason, s.needs())
	case s.suite.Status.Phase == v1alpha1.SuiteSuspended:
		return health(pass.Held, v1alpha1.ReasonSuspended, "")
	case s.scheduled():
		return health(pass.Current, v1alpha1.ReasonScheduled, "")
	case open:
		return health(pass.InProgress, v1alpha1.ReasonRunning, "")
	case v.ended == nil && s.suite.Status.Phase.IsFinished(): // the record of its run was removed
		return health(healthKind(s.suite.Status.Phase), reasonOf(s.suite.Status.Phase), message)
	case v.ended == nil:
		return health(pass.InProgress, v1alpha1.ReasonPending, message)
	default:
		return health(healthKind(v.outcome.phase), v.outcome.reason, message)
	}
}

func health(kind pass.HealthKind, reason, message string) pass.Health {
	return pass.Health{Kind: kind, Reason: reason, Message: message}
}

func healthKind(p v1alpha1.SuitePhase) pass.HealthKind {
	if p == v1alpha1.SuiteSucceeded {
		return pass.Current
	}
	return pass.Failed
}

// succeeded computes the condition Succeeded from the newest run.
func succeeded(s *scope, err error) pass.State {
	v, h := s.seen, healthOf(s, err)
	switch {
	case (v.ended == nil || v.ended != s.current()) && h.Kind == pass.Failed && !s.scheduled():
		return pass.False(h.Reason, h.Message)
	case v.ended == nil || v.ended != s.current():
		return pass.Unknown(h.Reason, "")
	case v.outcome.phase == v1alpha1.SuiteSucceeded:
		return pass.True(v.outcome.reason, v.outcome.message)
	default:
		return pass.False(v.outcome.reason, v.outcome.message)
	}
}

// transitions returns the events of a pass: those that phases queued, and those for changes between two states of the
// status.
func transitions(before, after *v1alpha1.NFSBenchmarkSuite, queued []event) []event {
	was, is, out := before.Status, after.Status, queued
	if was.Phase != is.Phase {
		out = append(out, pass.PhaseChanged(string(is.Phase), is.Message, is.Phase == v1alpha1.SuiteFailed))
	}
	if e := runEnded(before, after); e != nil {
		out = append(out, *e)
	}
	for _, kind := range []string{v1alpha1.ConditionMatrixValid, v1alpha1.ConditionWorkflowsAvailable} {
		if c := pass.Changed(was.Conditions, is.Conditions, kind); c != nil && c.Status == metav1.ConditionFalse {
			out = append(out, event{Reason: c.Reason, Action: kind, Note: c.Message, Warning: true})
		}
	}
	return out
}

// runEnded reports the end of each scheduled run, which the phase of the suite does not show.
func runEnded(before, after *v1alpha1.NFSBenchmarkSuite) *event {
	if after.Spec.Schedule == nil || len(after.Status.History) == 0 {
		return nil
	}
	newest := after.Status.History[0]
	if len(before.Status.History) > 0 && before.Status.History[0].Run == newest.Run {
		return nil
	}
	bad := newest.Verdict == v1alpha1.SuiteRegressed || newest.Phase == v1alpha1.SuiteFailed
	e := &event{
		Reason: "RunEnded", Action: "Run", Warning: bad,
		Note: "run " + newest.Run + " is " + string(newest.Phase) + ", its verdict " + string(newest.Verdict),
	}
	if bad && newest.Verdict == v1alpha1.SuiteRegressed {
		e.Reason = reasonRegressed
	}
	if g := after.Status.Regression; g != nil && g.Message != "" {
		e.Note += ": " + g.Message
	}
	return e
}

// messageOf describes the state, or the result, in one sentence.
func messageOf(s *scope, v seen, err error) string {
	open := s.open()
	switch {
	case err != nil:
		return pass.Clip("trying again: " + err.Error())
	case s.valid != nil && !s.valid.OK:
		return pass.Clip("not valid: " + s.valid.Message)
	case s.blocked != nil:
		return pass.Clip(s.blocked.Message)
	case s.waiting != nil:
		return pass.Clip(s.waiting.Message)
	case s.argo != nil && !s.argo.OK:
		return pass.Clip(s.argo.Message)
	case len(open) > 0 && open[len(open)-1].loaded:
		return pass.Clip(progressMessage(s, open[len(open)-1]))
	case s.missing != nil && v.ended != nil:
		return pass.Clip(s.needs() + "; " + endMessage(s, v))
	case s.missing != nil:
		return pass.Clip(s.needs())
	case v.ended != nil:
		return pass.Clip(s.prefix() + endMessage(s, v))
	case s.scheduled():
		return pass.Clip(strings.TrimSuffix(s.prefix(), ": "))
	default:
		return s.suite.Status.Message
	}
}

// needs says why the next run of a schedule cannot begin.
func (s *scope) needs() string { return "the next run could not begin: " + s.missing.Message }

// prefix returns the words for a schedule that waits; "" without a schedule.
func (s *scope) prefix() string {
	if !s.scheduled() {
		return ""
	}
	sched := s.suite.Spec.Schedule
	words := fmt.Sprintf("waits for its time, %q %s", sched.Cron, sched.TimeZone)
	if s.suite.Spec.Suspend || sched.Suspend {
		words = "starts no runs while it is suspended"
	}
	return strings.TrimSpace(words) + ": "
}

// endMessage describes the outcome of the newest finished run.
func endMessage(s *scope, v seen) string {
	words := cmp.Or(v.outcome.message, "it is "+string(v.outcome.phase))
	if s.scheduled() {
		words = "run " + v.ended.name + ": " + words
		if s.regression != nil && s.regression.Message != "" {
			words += "; " + s.regression.Message
		}
	}
	if v.ended != s.current() || v.table == nil || s.suite.Spec.Compare == nil {
		return words
	}
	answer := v.table.Message
	switch {
	case answer == "":
		return words
	case v.outcome.phase == v1alpha1.SuiteSucceeded && !s.scheduled():
		if r := s.suite.Status.Run; r != nil && r.Suspect > 0 {
			answer += fmt.Sprintf("; %d of the benchmarks are suspect: see their findings", r.Suspect)
		}
		return answer
	default:
		return words + "; " + answer
	}
}
