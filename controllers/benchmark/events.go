package benchmark

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
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
func transitions(before, after *v1alpha1.NFSBenchmark, queued []event) []event {
	out := queued
	if before.Status.Phase != after.Status.Phase {
		out = append(out, phaseChanged(after))
	}
	for _, c := range []string{v1alpha1.ConditionProtocolVerified, v1alpha1.ConditionCleanedUp} {
		was, is := meta.FindStatusCondition(before.Status.Conditions, c), meta.FindStatusCondition(after.Status.Conditions, c)
		if is != nil && is.Status == "False" && (was == nil || was.Status != is.Status || was.Reason != is.Reason) {
			if is.Reason != v1alpha1.ReasonRetained && is.Reason != v1alpha1.ReasonCleaningUp {
				out = append(out, event{reason: is.Reason, action: c, note: is.Message, warning: true})
			}
		}
	}
	for _, e := range []*event{targetTaken(before, after), databaseChanged(before, after)} {
		if e != nil {
			out = append(out, *e)
		}
	}
	return cutNotes(out)
}

func cutNotes(all []event) []event {
	for i := range all {
		if len(all[i].note) > maxNote {
			all[i].note = strings.ToValidUTF8(all[i].note[:maxNote], "")
		}
	}
	return all
}

func phaseChanged(b *v1alpha1.NFSBenchmark) event {
	s := b.Status
	e := event{reason: string(s.Phase), action: "Reconcile", note: s.Message, warning: s.Phase == v1alpha1.PhaseFailed}
	if e.note == "" {
		e.note = "Phase is " + string(s.Phase)
	}
	return e
}

// targetTaken says, once, that a run under way has lost its target to another.
func targetTaken(before, after *v1alpha1.NFSBenchmark) *event {
	was := meta.FindStatusCondition(before.Status.Conditions, v1alpha1.ConditionReconciling)
	is := meta.FindStatusCondition(after.Status.Conditions, v1alpha1.ConditionReconciling)
	if is == nil || is.Reason != v1alpha1.ReasonTargetTaken || was != nil && was.Reason == is.Reason {
		return nil
	}
	return &event{reason: is.Reason, action: "Reconcile", note: is.Message, warning: true}
}

// databaseChanged says that a database begins to start, and that it is ready:
// there may be half an hour between the two. Why it is not is why the run fails.
func databaseChanged(before, after *v1alpha1.NFSBenchmark) *event {
	was := meta.FindStatusCondition(before.Status.Conditions, v1alpha1.ConditionDatabaseReady)
	is := meta.FindStatusCondition(after.Status.Conditions, v1alpha1.ConditionDatabaseReady)
	if is == nil || was != nil && was.Reason == is.Reason {
		return nil
	}
	e := &event{reason: is.Reason, action: v1alpha1.ConditionDatabaseReady}
	switch is.Reason {
	case v1alpha1.ReasonDatabaseStarting:
		e.note = "the container of the database runs; the load begins when its health script says that it is ready"
	case v1alpha1.ReasonDatabaseReady:
		e.note = "the database takes connections"
	default:
		return nil
	}
	return e
}

// leftBehind says what a deletion could not remove.
func leftBehind(what string) event {
	return event{reason: v1alpha1.ReasonLeftBehind, action: "Delete", note: what, warning: true}
}

// moveGoesOn says what happens to a volume that nobody waits for any more.
func moveGoesOn(m *runfile.VolumeMove) event {
	return event{reason: v1alpha1.ReasonMoving, action: "Delete", warning: true, note: fmt.Sprintf(
		"the move of the volume to aggregate %s was at %d %% and goes on in the array; nothing waits for it any more: see volume move show", m.To, m.Percent)}
}
