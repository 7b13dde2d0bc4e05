package workflow

import (
	"encoding/json"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// Patch returns a JSON merge patch that brings an existing Workflow in line with spec.suspend and spec.shutdown. It
// returns nil if the Workflow needs no change, has finished or does not exist. A run that was stopped cannot go on.
func Patch(s *v1alpha1.NFSBenchmarkSuite, wf *unstructured.Unstructured) []byte {
	if wf == nil || Observe(wf).IsFinished {
		return nil
	}
	stopped, _, _ := unstructured.NestedString(wf.Object, "spec", "shutdown")
	suspended, _, _ := unstructured.NestedBool(wf.Object, "spec", "suspend")
	change := map[string]any{}
	if s.Spec.Shutdown != "" && stopped == "" {
		change["shutdown"] = string(s.Spec.Shutdown)
		stopped = string(s.Spec.Shutdown)
	}
	// Argo ignores a suspended Workflow, and so would not stop it.
	if want := s.Spec.Suspend && stopped == ""; want != suspended {
		change["suspend"] = nil
		if want {
			change["suspend"] = true
		}
	}
	if len(change) == 0 {
		return nil
	}
	data, _ := json.Marshal(map[string]any{"spec": change}) // strings and booleans
	return data
}

// State is what a Workflow reports about itself.
type State struct {
	Phase      string // Pending, Running, Succeeded, Failed, Error; empty = no controller has seen it
	Message    string
	Finished   *metav1.Time
	IsFinished bool
}

// Observe returns the state of a Workflow; an empty state if wf is nil.
func Observe(wf *unstructured.Unstructured) State {
	if wf == nil {
		return State{}
	}
	out := State{Finished: timeOf(wf, "status", "finishedAt")}
	out.Phase, _, _ = unstructured.NestedString(wf.Object, "status", "phase")
	out.Message, _, _ = unstructured.NestedString(wf.Object, "status", "message")
	out.IsFinished = slices.Contains([]string{"Succeeded", "Failed", "Error"}, out.Phase)
	return out
}

// LastScheduled returns when a CronWorkflow last started a run; nil before the first.
func LastScheduled(cron *unstructured.Unstructured) *metav1.Time {
	if cron == nil {
		return nil
	}
	return timeOf(cron, "status", "lastScheduledTime")
}

// timeOf reads a time; nil if there is none.
func timeOf(u *unstructured.Unstructured, fields ...string) *metav1.Time {
	text, _, _ := unstructured.NestedString(u.Object, fields...)
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return nil
	}
	return &metav1.Time{Time: at}
}
