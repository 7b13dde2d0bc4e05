package statuscheck

import (
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// SuiteProblems does for the status of a suite what Problems does for a benchmark.
func SuiteProblems(before, after *v1alpha1.NFSBenchmarkSuite) []string {
	l := &list{}
	l.suiteScalars(after)
	l.wellFormed(after.Status.Conditions, after.Generation, string(after.Status.Phase), []string{
		v1alpha1.ConditionMatrixValid, v1alpha1.ConditionWorkflowsAvailable, v1alpha1.ConditionSucceeded,
	})
	l.suiteKstatus(after)
	l.suiteRun(after)
	l.suiteHistory(after)
	if before != nil {
		l.suiteTransition(before, after)
	}
	return l.problems
}

func (l *list) suiteScalars(s *v1alpha1.NFSBenchmarkSuite) {
	st := s.Status
	phases := []v1alpha1.SuitePhase{
		v1alpha1.SuitePending, v1alpha1.SuiteRunning, v1alpha1.SuiteSuspended, v1alpha1.SuiteScheduled,
		v1alpha1.SuiteSucceeded, v1alpha1.SuiteFailed, v1alpha1.SuiteCancelled,
	}
	l.check(slices.Contains(phases, st.Phase), "phase %q is none of the phases", st.Phase)
	l.check(st.ObservedGeneration == s.Generation, "observedGeneration is %d, the spec's is %d", st.ObservedGeneration, s.Generation)
	l.check(!st.Phase.IsFinished() || s.Spec.Schedule == nil, "a suite with a schedule is %s for good", st.Phase)
	l.check(!st.Phase.IsFinished() || st.Message != "", "a finished suite says nothing")
	l.check(!strings.Contains(st.Message, "\n"), "message has several lines: %q", st.Message)
	l.check((st.Left == nil) || *st.Left > 0, "left is 0: nothing left is absent")
	raw, err := json.Marshal(st)
	l.check(err == nil && len(raw) <= maxStatusBytes, "the status takes %d bytes, more than %d: %v", len(raw), maxStatusBytes, err)
}

// suiteKstatus: what generic tools see is what the phase says. A schedule is
// Current while its runs come and go, until one goes wrong.
func (l *list) suiteKstatus(s *v1alpha1.NFSBenchmarkSuite) {
	is := func(kind string) metav1.ConditionStatus { return statusIn(s.Status.Conditions, kind) }
	stalled, busy, ready := is(v1alpha1.ConditionStalled), is(v1alpha1.ConditionReconciling), is(v1alpha1.ConditionReady)
	l.check(stalled != metav1.ConditionTrue || busy != metav1.ConditionTrue, "Stalled and Reconciling are both True")
	l.check(ready != metav1.ConditionTrue || stalled != metav1.ConditionTrue && busy != metav1.ConditionTrue, "Ready beside Stalled %s and Reconciling %s", stalled, busy)
	l.check(ready != metav1.ConditionFalse || stalled == metav1.ConditionTrue || busy == metav1.ConditionTrue, "not Ready, and neither Stalled nor Reconciling")
	switch s.Status.Phase {
	case v1alpha1.SuiteSucceeded:
		l.check(ready == metav1.ConditionTrue || busy == metav1.ConditionTrue, "Ready is %s in phase Succeeded", ready)
	case v1alpha1.SuiteFailed, v1alpha1.SuiteCancelled:
		l.check(stalled == metav1.ConditionTrue || busy == metav1.ConditionTrue, "Stalled is %s in phase %s", stalled, s.Status.Phase)
	case v1alpha1.SuiteRunning:
		l.check(s.Spec.Schedule != nil || busy == metav1.ConditionTrue, "Reconciling is %s while it runs", busy)
	default:
	}
}

func (l *list) suiteRun(s *v1alpha1.NFSBenchmarkSuite) {
	r := s.Status.Run
	if r == nil {
		return
	}
	l.check(r.Finished == r.Succeeded+r.Failed, "%d finished are not %d succeeded and %d failed", r.Finished, r.Succeeded, r.Failed)
	l.check(int(r.Failed) <= len(r.Failures) || len(r.Failures) == 8, "%d failed, and %d are told", r.Failed, len(r.Failures))
	l.check(r.Suspect <= r.Succeeded, "%d of %d are suspect", r.Suspect, r.Succeeded)
	over := r.CompletionTime != nil
	l.check(!over || r.Current == "" && r.ETASeconds == nil, "a run that is over has %q under way", r.Current)
	l.check(over || r.Percent < 100, "a run under way is at 100 %%")
	l.check(!over || s.Status.ResultRef != nil, "a run that is over has no record")
}

func (l *list) suiteHistory(s *v1alpha1.NFSBenchmarkSuite) {
	accepted := 0
	for i, e := range s.Status.History {
		l.check(e.Phase.IsFinished() && e.CompletionTime != nil, "history has %+v, which is not over", e)
		if e.Accepted {
			accepted++
		}
		if i > 0 && e.CompletionTime != nil && s.Status.History[i-1].CompletionTime != nil {
			l.check(!s.Status.History[i-1].CompletionTime.Before(e.CompletionTime), "the history is not newest first")
		}
	}
	l.check(accepted <= 1, "%d runs are accepted", accepted)
}

// suiteTransition: what has been measured does not get lost, and a run that has
// ended stays as it was, unless it is gone on with.
func (l *list) suiteTransition(before, after *v1alpha1.NFSBenchmarkSuite) {
	was, is := before.Status.Run, after.Status.Run
	if was == nil {
		return
	}
	l.check(is != nil, "the run is forgotten")
	if is == nil || was.Name != is.Name {
		return
	}
	l.check(was.StartTime == nil || was.StartTime.Equal(is.StartTime), "startTime moved from %v to %v", was.StartTime, is.StartTime)
	l.check(was.Succeeded <= is.Succeeded, "succeeded benchmarks went from %d to %d", was.Succeeded, is.Succeeded)
	if was.CompletionTime != nil && was.Workflow == is.Workflow {
		l.check(was.CompletionTime.Equal(is.CompletionTime), "completionTime moved from %v to %v", was.CompletionTime, is.CompletionTime)
		l.check(was.Finished == is.Finished && was.Failed == is.Failed && was.Percent == is.Percent, "a run that is over changed from %+v to %+v", was, is)
	}
}
