package integration

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// editPlan changes the plan of a run, as a newer manager would have written it.
func (w *world) editPlan(b *v1alpha1.NFSBenchmark, old, replacement string) {
	w.Helper()
	text := w.replacePlan(b, old, replacement)
	b = w.get(b.Name)
	w.patchStatus(b, func() { b.Status.PlanHash = fmt.Sprintf("%x", sha256.Sum256([]byte(text))) })
}

// replacePlan changes the plan of a run, as everybody can who may write ConfigMaps. It returns the
// new one.
func (w *world) replacePlan(b *v1alpha1.NFSBenchmark, old, replacement string) string {
	w.Helper()
	cm := &corev1.ConfigMap{}
	if !w.find(manifest.NamesOf(b).Plan, cm) || !strings.Contains(cm.Data[manifest.PlanKey], old) {
		w.Fatalf("there is no plan that has %s", old)
	}
	again := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: cm.Namespace, Name: cm.Name, Labels: cm.Labels, OwnerReferences: cm.OwnerReferences},
		Data:       cm.Data, BinaryData: cm.BinaryData, Immutable: cm.Immutable,
	}
	again.Data[manifest.PlanKey] = strings.Replace(cm.Data[manifest.PlanKey], old, replacement, 1)
	if err := w.c.Delete(w.Context(), cm); err != nil {
		w.Fatal(err)
	}
	if err := w.c.Create(w.Context(), again); err != nil {
		w.Fatal(err)
	}
	return again.Data[manifest.PlanKey]
}

// waitsForRelease demands that a benchmark waits for another operator, without being
// reconciled again and again, and has lost nothing.
func (w *world) waitsForRelease(name, version string) {
	w.Helper()
	before := len(w.ours())
	for range 3 {
		w.step(time.Hour)
		res, err := w.pass(name)
		end := w.get(name).Status.HoldEndTime // then it gives its target back
		if err != nil || res.RequeueAfter != 0 && !w.clock.Now().Add(res.RequeueAfter).Equal(end.Time) {
			w.Errorf("it is reconciled again after %s: %v", res.RequeueAfter, err)
		}
	}
	b := w.get(name)
	w.wantCondition(b, v1alpha1.ConditionReconciling, "True", v1alpha1.ReasonOtherRelease)
	if !strings.Contains(b.Status.Message, version) || !strings.Contains(b.Status.Message, "as the operator") {
		w.Errorf("the message does not name version and fix: %s", b.Status.Message)
	}
	if got := len(w.ours()); got != before {
		w.Errorf("%d objects became %d", before, got)
	}
}

// TestARolledBackManagerUsesWhatANewerOneWroteOrWaits: within one version it ignores fields that
// it does not know. It refuses another version by name, deletes nothing, and the run goes on
// when an operator that reads the file is back.
func TestARolledBackManagerUsesWhatANewerOneWroteOrWaits(t *testing.T) {
	t.Parallel()
	const version, newer = `"version": "` + runfile.PlanVersion + `"`, `"version": "nfsbench.io/plan/v99"`
	t.Run("Field", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.create("demo")
		b := w.until("demo", v1alpha1.PhaseRunning)
		w.editPlan(b, version, version+`, "fieldOfTomorrow": {"a": [1]}`)
		w.wantPhase(w.finish("demo"), v1alpha1.PhaseSucceeded)
	})
	t.Run("Plan", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.create("demo")
		b := w.until("demo", v1alpha1.PhaseRunning)
		uid := w.loadJob(b).UID
		w.editPlan(b, version, newer)
		w.waitsForRelease("demo", "plan/v99")
		w.editPlan(b, newer, version)
		w.settle("demo")
		if got := w.loadJob(b).UID; got != uid {
			t.Errorf("the load ran again: Job %s, and %s before", got, uid)
		}
		w.wantPhase(w.finish("demo"), v1alpha1.PhaseSucceeded)
	})
	t.Run("Result", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		b, pods := w.started()
		w.measured(b, 0)
		var packed []byte
		w.publish(b, func(cm *corev1.ConfigMap) {
			packed = cm.BinaryData[runfile.ResultKey(0)]
			cm.BinaryData[runfile.ResultKey(0)] = []byte(`{"version": "nfsbench.io/result/v99"}`)
		})
		w.podStatus(&pods[0], func(st *corev1.PodStatus) { st.Phase = corev1.PodSucceeded })
		w.waitsForRelease("demo", "result/v99")
		w.publish(b, func(cm *corev1.ConfigMap) { cm.BinaryData[runfile.ResultKey(0)] = packed })
		w.wantPhase(w.finish("demo"), v1alpha1.PhaseSucceeded)
	})
	t.Run("Finished", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		b, pods := w.started()
		w.measured(b, 0)
		w.podStatus(&pods[0], func(st *corev1.PodStatus) { st.Phase = corev1.PodSucceeded })
		for !w.get("demo").Status.Phase.IsFinished() { // and no further: then files are removed
			if _, err := w.pass("demo"); err != nil {
				t.Fatal(err)
			}
		}
		w.editPlan(b, version, newer)
		w.settle("demo")
		w.wantCondition(w.get("demo"), v1alpha1.ConditionCleanedUp, "False", v1alpha1.ReasonOtherRelease)
		w.editPlan(b, newer, version)
		w.wantCondition(w.finish("demo"), v1alpha1.ConditionCleanedUp, "True", v1alpha1.ReasonCleanedUp)
	})
}
