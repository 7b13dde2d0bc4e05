package integration

import (
	"bytes"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// kept are the results that outlived their benchmarks.
func (w *world) kept() []corev1.ConfigMap {
	w.Helper()
	list := &corev1.ConfigMapList{}
	if err := w.c.List(w.Context(), list, client.InNamespace(w.ns), client.HasLabels{manifest.LabelKeptResult}); err != nil {
		w.Fatal(err)
	}
	return list.Items
}

// removeAll deletes a benchmark and waits until it is gone.
func (w *world) removeAll(name string) {
	w.Helper()
	w.delete(name)
	w.finish(name)
	if w.find(name, &v1alpha1.NFSBenchmark{}) {
		w.Fatalf("%s is still there", name)
	}
}

// TestOrphanedResultsCount: a benchmark that is cleaned up has no finalizer, so its result may lose its owner.
func TestOrphanedResultsCount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("demo")
	cm := w.results(w.finish("demo"))
	if err := w.c.Delete(t.Context(), w.get("demo"), client.PropagationPolicy(metav1.DeletePropagationOrphan)); err != nil {
		t.Fatal(err)
	}
	if b := w.get("demo"); b != nil { // what the garbage collector does
		b.Finalizers = nil
		if err := w.c.Update(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	cm.OwnerReferences = nil
	if err := w.c.Update(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	w.resultBytes = 1 << 20
	w.create("more")
	w.wantPhase(w.settle("more"), v1alpha1.PhaseFailed, "policy.limits.resultBytes")
}

func TestAResultSurvivesItsBenchmarkByChoice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("demo", func(b *v1alpha1.NFSBenchmark) { b.Spec.Cleanup.Results = v1alpha1.CleanupRetain })
	b := w.finish("demo")
	w.wantPhase(b, v1alpha1.PhaseSucceeded)
	before := w.results(b)
	w.removeAll("demo")
	all := w.kept()
	if len(all) != 1 || len(all[0].OwnerReferences) != 0 || !*all[0].Immutable {
		t.Fatalf("kept: %+v", all)
	}
	k := all[0]
	if !bytes.Equal(k.BinaryData[runfile.ResultKey(0)], before.BinaryData[runfile.ResultKey(0)]) {
		t.Error("the result changed")
	}
	if k.Annotations[manifest.AnnotationBenchmark] != "demo" || k.Labels[manifest.LabelUID] != string(b.UID) {
		t.Errorf("it does not say what it is: %+v", k.ObjectMeta)
	}
	if n, err := strconv.Atoi(k.Annotations[manifest.AnnotationBytes]); err != nil || n < len(k.BinaryData[runfile.ResultKey(0)]) {
		t.Errorf("it takes %q bytes, it says", k.Annotations[manifest.AnnotationBytes])
	}

	// The same name again: another result, and nothing is kept that nobody asked for.
	w.create("demo")
	w.wantPhase(w.finish("demo"), v1alpha1.PhaseSucceeded)
	w.removeAll("demo")
	if n := len(w.kept()); n != 1 {
		t.Errorf("%d results are kept, want the first", n)
	}

	// What is kept counts.
	w.resultBytes = 10
	w.create("more")
	w.wantPhase(w.settle("more"), v1alpha1.PhaseFailed, "policy.limits.resultBytes", manifest.LabelKeptResult)
}
