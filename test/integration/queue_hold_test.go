package integration

import (
	"testing"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/test/gen"
)

// TestARunThatHoldsItsTargetDoesNotWaitForAnOlderOne: what an older run wants
// may come out when a younger one has it already, and each would wait for the
// other.
func TestARunThatHoldsItsTargetDoesNotWaitForAnOlderOne(t *testing.T) {
	t.Parallel()
	w := withTrident(t)
	w.create("a-old", gen.TridentClass(w.class(nil)))
	w.wantPhase(w.settle("a-old"), v1alpha1.PhaseProvisioning)
	w.create("b-young", gen.Export("/vol/other", w.array.volumes.lif), ontap(""))
	w.wantPhase(w.settle("b-young"), v1alpha1.PhaseProvisioning, "asking the array")
	for range 10 {
		w.array.step(w)
		w.settle("a-old")
	}
	w.wantPhase(w.get("a-old"), v1alpha1.PhaseQueued, "behind "+w.ns+"/b-young, which is Provisioning")
	w.wantPhase(w.finish("b-young"), v1alpha1.PhaseSucceeded)
	w.wantPhase(w.finish("a-old"), v1alpha1.PhaseSucceeded)
}

// TestARunThatWaitsForAnArrayHoldsNoAddressOfIt: the one that has the array
// learns only later which of its addresses it needs.
func TestARunThatWaitsForAnArrayHoldsNoAddressOfIt(t *testing.T) {
	t.Parallel()
	w := withTrident(t)
	export := []gen.Mod{gen.Export("/vol/other", w.array.volumes.lif), gen.ONTAP(w.array.management, "svm1", "reader"), gen.Suspended}
	older := w.create("a-old", export...)
	w.settle("a-old")
	w.create("b-young", w.backend())
	w.wantPhase(w.settle("b-young"), v1alpha1.PhaseProvisioning)
	w.update("a-old", func(b *v1alpha1.NFSBenchmark) { b.Spec.Suspend = false })
	w.wantQueued("a-old", 1, "b-young")
	if n := w.leases(older); n != 0 {
		t.Errorf("it waits, and holds %d leases", n)
	}
	w.wantPhase(w.finish("b-young"), v1alpha1.PhaseSucceeded)
	w.wantPhase(w.finish("a-old"), v1alpha1.PhaseSucceeded)
}
