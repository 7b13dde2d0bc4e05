package workflow_test

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/workflow"
	"github.com/nfsbench/nfsbench/test/kit/memory"
)

// FuzzObserve reads Workflows and CronWorkflows, which every user of a namespace may write.
func FuzzObserve(f *testing.F) {
	f.Add([]byte(`{"spec":{"suspend":true},"status":{"phase":"Running","finishedAt":"2026-11-01T10:00:00Z","message":"x"}}`))
	f.Add([]byte(`{"spec":{"shutdown":1},"status":{"phase":["Failed"],"lastScheduledTime":7}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		u := &unstructured.Unstructured{}
		if json.Unmarshal(raw, &u.Object) != nil {
			return
		}
		s := &v1alpha1.NFSBenchmarkSuite{}
		s.Spec.Suspend, s.Spec.Shutdown = true, "Stop"
		memory.Bound(t, 16*len(raw), func() {
			if state := workflow.Observe(u); state.IsFinished && workflow.Patch(s, u) != nil {
				t.Errorf("a finished workflow is patched: %+v", state)
			}
			workflow.LastScheduled(u)
		})
	})
}
