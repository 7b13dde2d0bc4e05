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

// TestDeletingLeavesNothing deletes a benchmark with half of its files, and one whose
// pods and files were retained. TestGateDeletingARunningBenchmarkLeavesNothing deletes
// one under load; the other phases are deleted in test/integration.
func TestDeletingLeavesNothing(t *testing.T) {
	t.Parallel()
	t.Run("while files are filled", func(t *testing.T) {
		p := newPlot(t, 1)
		b := p.run(t, fileSize("512Mi"))
		p.until(t, b, "the fill", func(b *v1alpha1.NFSBenchmark) bool {
			return b.Status.Phase == v1alpha1.PhasePreparing && b.Status.Progress != nil && b.Status.Progress.Step == runfile.SpanFill
		})
		haveFiles(t, p.array, p.ns)
		p.gone(t, b)
		p.noFiles(t)
	})
	t.Run("after a run that retains everything", func(t *testing.T) {
		p := newPlot(t, 1)
		b := p.run(t, gen.Cleanup(v1alpha1.CleanupRetain, v1alpha1.CleanupRetain))
		p.phase(t, b, v1alpha1.PhaseSucceeded)
		haveFiles(t, p.array, p.ns)
		if len(p.loadPods(t, b)) == 0 {
			t.Error("cleanup.onSuccess is Retain, and the pods are gone")
		}
		p.gone(t, b)
		p.noFiles(t)
	})
}

// haveFiles makes sure that there is something to clean up.
func haveFiles(t *testing.T, a array, dir string) {
	t.Helper()
	if got := files(t, a.folder+"/"+dir); len(got) < 2 {
		t.Fatalf("the run is under way, and its directory holds %v", got)
	}
}

// gone deletes a benchmark and waits until nothing of it is left in the cluster and
// its target is free.
func (c *cluster) gone(t *testing.T, b *v1alpha1.NFSBenchmark) {
	t.Helper()
	began := time.Now()
	c.remove(t, b)
	// What Kubernetes' garbage collector removes follows.
	poll(t, func() (bool, string) {
		left, err := c.leftovers(t.Context(), b.Namespace, []string{string(b.UID)})
		if err != nil {
			return false, err.Error()
		}
		left = slices.DeleteFunc(left, func(l string) bool { return !strings.Contains(l, b.Name) })
		return len(left) == 0, "left behind: " + strings.Join(left, ", ")
	})
	t.Logf("%s was gone after %v", b.Name, time.Since(began).Round(100*time.Millisecond))
}
