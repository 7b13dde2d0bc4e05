package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/test/gen"
	standin "github.com/nfsbench/nfsbench/test/lab/array"
	"github.com/nfsbench/nfsbench/test/trident"
)

// tridentNamespace is where hack/test.sh lets the operator look for Trident.
const tridentNamespace = "trident"

// tridentWorld is a stand-in for Trident's controller, on the real cluster, that
// makes its volumes on the array of two nodes.
type tridentWorld struct {
	*twoNodes
	controller *trident.Controller
}

func newTridentWorld(t *testing.T, c *cluster) *tridentWorld {
	t.Helper()
	w := &tridentWorld{twoNodes: newTwoNodes(t, "trident", 234)}
	crds, err := trident.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds {
		if err := c.Create(t.Context(), crd); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatalf("install Trident's CRD %s: %v", crd.GetName(), err)
		}
	}
	c.secret(t, tridentNamespace, "svm-account", "vsadmin", w.password(t, "vsadmin"))
	t.Cleanup(func() {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: tridentNamespace, Name: "svm-account"}}
		_ = c.Delete(context.WithoutCancel(t.Context()), s) // the namespace goes too
	})
	var pools []string
	for _, n := range w.Nodes() {
		pools = append(pools, standin.AggregateOf(n))
	}
	w.controller = trident.New(trident.Options{
		Client: c, Namespace: tridentNamespace, Array: standin.Provisioner{Array: w.Array},
		Pools: pools, DataLIF: w.LIFs()[0].Address, Now: time.Now,
	})
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.controller.Run(ctx, 300*time.Millisecond, func(_ string, err error) {
			if err != nil && ctx.Err() == nil {
				t.Logf("the stand-in for Trident: %v", err)
			}
		})
	}()
	t.Cleanup(func() { stop(); <-done })
	return w
}

// backend asks for a volume on one aggregate of a backend that the operator makes.
func (w *tridentWorld) backend(aggregate string) gen.Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		gen.TridentBackend("array", aggregate)(b)
		b.Spec.Storage.Trident.Size.Set(1 << 30)
		w.asked(arraySecret)(b)
	}
}

// nothingOfTrident demands that no object of a benchmark is left anywhere, and
// no volume on the array but the first.
func (w *tridentWorld) nothingOfTrident(t *testing.T, b *v1alpha1.NFSBenchmark) {
	t.Helper()
	poll(t, func() (bool, string) {
		var left []string
		for _, args := range [][]string{
			{"-n", tridentNamespace, "get", "tridentbackendconfigs,tridentbackends,tridentvolumes", "-o", "name"},
			{"get", "storageclasses,persistentvolumes", "-l", manifest.LabelUID + "=" + string(b.UID), "-o", "name"},
			{"-n", b.Namespace, "get", "pvc", "-o", "name"},
		} {
			out, err := kubectl(t, "", args...)
			if err != nil {
				return false, out
			}
			left = append(left, strings.Fields(strings.ReplaceAll(out, "No resources found", ""))...)
		}
		left = slices.DeleteFunc(left, func(s string) bool { return !strings.Contains(s, "/") })
		for _, v := range w.Volumes()[1:] {
			left = append(left, "volume "+v.Name)
		}
		return len(left) == 0, "left of " + b.Name + ": " + strings.Join(left, ", ")
	})
}

// TestTridentVolumeIsMadeMovedMeasuredAndRemoved goes the whole way: backend, class,
// claim, survey, move to the other node, load over the LIF there, clean-up. Then the
// array does not answer while another volume is to go. It is one test, because two
// stand-ins would work on the objects of the one namespace of Trident. What Trident
// refuses is tested in test/integration.
func TestTridentVolumeIsMadeMovedMeasuredAndRemoved(t *testing.T) {
	c := newCluster(t)
	w := newTridentWorld(t, c)
	ns := c.namespace(t)
	admin := w.password(t, "admin")
	c.secret(t, ns, arraySecret, "admin", admin) // a move is a job of the administrator
	first, second := w.Nodes()[0], w.Nodes()[1]

	moved := gen.Benchmark("moved", gen.In(ns), w.backend(standin.AggregateOf(second)), gen.Select(bench.PathsLocal), blocks(5))
	moved.Spec.Storage.Trident.MoveTo = standin.AggregateOf(first)
	moved = c.succeeded(t, c.create(t, moved))
	verified(t, moved)
	surveyed(t, moved, first)
	uses(t, w.twoNodes, moved, first)
	array := moved.Status.Resolved.Array
	if !strings.Contains(array, "volume trident_pvc_") || !strings.Contains(array, " on "+standin.AggregateOf(first)+" of ") {
		t.Errorf("the volume is not named in %q", array)
	}
	w.nothingOfTrident(t, moved)

	t.Run("a volume that cannot go is named", func(t *testing.T) { w.cannotGo(t, c, ns) })
	c.secretsStay(t.Context(), t, ns, admin, w.password(t, "vsadmin"))
}

// cannotGo deletes a benchmark whose array does not answer.
func (w *tridentWorld) cannotGo(t *testing.T, c *cluster, ns string) {
	t.Helper()
	b := c.create(t, gen.Benchmark("stuck", gen.In(ns), w.backend(standin.AggregateOf(w.Nodes()[0])), blocks(600)))
	c.phase(t, b, v1alpha1.PhaseRunning)
	w.controller.SetFaults(trident.Faults{Unreachable: "the array does not answer"})
	if err := c.Delete(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	named := c.watch(t, b, "what the deletion waits for", func(b *v1alpha1.NFSBenchmark) bool {
		cond := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionCleanedUp)
		return cond != nil && cond.Status == metav1.ConditionFalse && strings.Contains(cond.Message, "PersistentVolume pvc-")
	})
	t.Logf("it waits: %s", meta.FindStatusCondition(named.Status.Conditions, v1alpha1.ConditionCleanedUp).Message)

	w.controller.SetFaults(trident.Faults{})
	poll(t, func() (bool, string) {
		err := c.Get(t.Context(), client.ObjectKeyFromObject(b), &v1alpha1.NFSBenchmark{})
		return apierrors.IsNotFound(err), "the benchmark is still there although the array answers again"
	})
	w.nothingOfTrident(t, b)
	classes := &storagev1.StorageClassList{}
	if err := c.List(t.Context(), classes, client.MatchingLabels{manifest.LabelManagedBy: manifest.ManagedBy}); err != nil || len(classes.Items) != 0 {
		t.Errorf("classes are left: %v (%v)", classes.Items, err)
	}
}
