package suite

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// event reports one transition to the user. It is sent after the status is written.
type event struct {
	reason, action, note string
	warning              bool
}

// maxNote is what the API server takes in an event.
const maxNote = 1000

// transitions are the events of a pass: what phases queued, and what changed
// between two states of the status.
func transitions(before, after *v1alpha1.NFSBenchmarkSuite, queued []event) []event {
	out := queued
	was, is := before.Status, after.Status
	if was.Phase != is.Phase {
		out = append(out, phaseChanged(after))
	}
	if e := runEnded(before, after); e != nil {
		out = append(out, *e)
	}
	for _, kind := range []string{v1alpha1.ConditionMatrixValid, v1alpha1.ConditionWorkflowsAvailable} {
		w, i := meta.FindStatusCondition(was.Conditions, kind), meta.FindStatusCondition(is.Conditions, kind)
		if i != nil && i.Status == "False" && (w == nil || w.Status != i.Status || w.Reason != i.Reason) {
			out = append(out, event{reason: i.Reason, action: kind, note: i.Message, warning: true})
		}
	}
	for i := range out {
		if len(out[i].note) > maxNote {
			out[i].note = strings.ToValidUTF8(out[i].note[:maxNote], "")
		}
	}
	return out
}

func phaseChanged(s *v1alpha1.NFSBenchmarkSuite) event {
	st := s.Status
	e := event{reason: string(st.Phase), action: "Reconcile", note: st.Message, warning: st.Phase == v1alpha1.SuiteFailed}
	if e.note == "" {
		e.note = "Phase is " + string(st.Phase)
	}
	return e
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
	e := &event{reason: "RunEnded", action: "Run", warning: bad, note: "run " + newest.Run + " is " + string(newest.Phase) + ", its verdict " + string(newest.Verdict)}
	if bad && newest.Verdict == v1alpha1.SuiteRegressed {
		e.reason = reasonRegressed
	}
	if g := after.Status.Regression; g != nil && g.Message != "" {
		e.note += ": " + g.Message
	}
	return e
}
