package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

// goneWithin is how long everything of a deleted benchmark may take to go.
const goneWithin = 60 * time.Second

// TestDeletingLeavesNothing deletes a benchmark in each phase.
func TestDeletingLeavesNothing(t *testing.T) {
	c := newCluster(t)
	a := newArray(t)
	ns := c.namespace(t)
	export := func(name string, mods ...gen.Mod) *v1alpha1.NFSBenchmark {
		mods = append([]gen.Mod{gen.In(ns), gen.Export(a.export, a.lifs...), seconds(30), directory("e2e-" + name)}, mods...)
		return gen.Benchmark(name, mods...)
	}

	t.Run("Queued", func(t *testing.T) {
		first := c.create(t, export("first"))
		c.phase(t, first, v1alpha1.PhasePreparing, 30*time.Second)
		b := c.create(t, export("queued"))
		c.phase(t, b, v1alpha1.PhaseQueued, 20*time.Second)
		c.gone(t, b)
		c.gone(t, first)
		a.hasNo(t, "e2e-first")
	})
	t.Run("Provisioning", func(t *testing.T) {
		// A server whose image cannot be pulled is never ready.
		b := c.create(t, gen.Benchmark("provisioning", gen.In(ns), gen.Embedded("1Gi", 2), image("registry.invalid/nfsbench:nowhere")))
		c.phase(t, b, v1alpha1.PhaseProvisioning, 20*time.Second)
		c.gone(t, b)
	})
	t.Run("Preparing, while files are filled", func(t *testing.T) {
		b := c.create(t, export("preparing", fileSize("4Gi")))
		c.until(t, b, time.Minute, "the fill", func(b *v1alpha1.NFSBenchmark) bool {
			return b.Status.Phase == v1alpha1.PhasePreparing && b.Status.Progress != nil && b.Status.Progress.Step == runfile.SpanFill
		})
		haveFiles(t, a, "e2e-preparing")
		c.gone(t, b)
		a.hasNo(t, "e2e-preparing")
	})
	t.Run("Running", func(t *testing.T) {
		b := c.create(t, export("running"))
		c.phase(t, b, v1alpha1.PhaseRunning, time.Minute)
		haveFiles(t, a, "e2e-running")
		c.gone(t, b)
		a.hasNo(t, "e2e-running")
	})
	t.Run("Collecting", func(t *testing.T) {
		b := c.create(t, export("collecting"))
		c.phase(t, b, v1alpha1.PhaseRunning, time.Minute)
		// A run that is stopped is Collecting until its pods have ended.
		c.patch(t, b, `{"spec":{"suspend":true}}`)
		c.phase(t, b, v1alpha1.PhaseCollecting, 20*time.Second)
		c.gone(t, b)
		a.hasNo(t, "e2e-collecting")
	})
	t.Run("Succeeded, with everything retained", func(t *testing.T) {
		b := c.create(t, export("succeeded", quick, gen.Cleanup(v1alpha1.CleanupRetain, v1alpha1.CleanupRetain)))
		c.phase(t, b, v1alpha1.PhaseSucceeded, 2*time.Minute)
		haveFiles(t, a, "e2e-succeeded")
		if len(c.loadPods(t, b)) == 0 {
			t.Error("cleanup.onSuccess is Retain, and the pods are gone")
		}
		c.gone(t, b)
		a.hasNo(t, "e2e-succeeded")
	})
	t.Run("Failed, with everything retained", func(t *testing.T) {
		b := c.create(t, export("failed", gen.Export("/export/nowhere", a.lifs...), gen.Cleanup(v1alpha1.CleanupRetain, v1alpha1.CleanupRetain)))
		c.phase(t, b, v1alpha1.PhaseFailed, time.Minute)
		c.gone(t, b)
	})
}

// haveFiles makes sure that there is something to clean up.
func haveFiles(t *testing.T, a array, dir string) {
	t.Helper()
	if got := files(t, a.folder+"/"+dir); len(got) < 2 {
		t.Fatalf("the run is under way, and its directory holds %v", got)
	}
}

// gone deletes a benchmark and demands that within a minute nothing of it is
// left in the cluster, its target is free, and its files are removed.
func (c *cluster) gone(t *testing.T, b *v1alpha1.NFSBenchmark) {
	t.Helper()
	began := time.Now()
	c.remove(t, b, goneWithin)
	// What Kubernetes' garbage collector removes follows.
	poll(t, goneWithin-time.Since(began), func() (bool, string) {
		left, err := c.leftovers(t.Context(), b.Namespace, []string{string(b.UID)})
		if err != nil {
			return false, err.Error()
		}
		left = slices.DeleteFunc(left, func(l string) bool { return !strings.Contains(l, b.Name) })
		return len(left) == 0, "left behind: " + strings.Join(left, ", ")
	})
	t.Logf("%s was gone after %v", b.Name, time.Since(began).Round(100*time.Millisecond))
}
