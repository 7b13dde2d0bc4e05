package integration

import (
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/test/gen"
)

// leases are those of the world that a benchmark holds.
func (w *world) leases(b *v1alpha1.NFSBenchmark) int {
	w.Helper()
	list := &coordinationv1.LeaseList{}
	err := w.c.List(w.Context(), list, client.InNamespace(w.ns), client.MatchingLabels{manifest.LabelUID: string(b.UID)})
	if err != nil {
		w.Fatal(err)
	}
	return len(list.Items)
}

func (w *world) wantQueued(name string, position int32, behind string) {
	w.Helper()
	b := w.settle(name)
	w.wantPhase(b, v1alpha1.PhaseQueued)
	if q := b.Status.Queue; q == nil || q.Position != position || q.Behind != w.ns+"/"+behind {
		w.Errorf("%s is at %+v in the queue, want %d behind %s", name, q, position, behind)
	}
	if w.loadJob(b) != nil {
		w.Errorf("%s has started although it waits", name)
	}
}

func TestOneRunAtATimeForATarget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two, three := newAddress(), newAddress(), newAddress()
	a := w.create("a", gen.Export("/x", one, two))
	w.until("a", v1alpha1.PhaseRunning)
	if n := w.leases(a); n != 2 {
		t.Errorf("a holds %d leases, want one for each address", n)
	}
	b := w.create("b", gen.Export("/y", two, three)) // one address in common
	c := w.create("c", gen.Export("/z", two))
	other := w.create("other", gen.Export("/x", newAddress()))
	w.wantQueued("b", 1, "a")
	w.wantQueued("c", 2, "a")
	w.wantPhase(w.settle("other"), v1alpha1.PhasePreparing)
	w.delete("other")
	w.finish("other")

	w.wantPhase(w.finish("a"), v1alpha1.PhaseSucceeded)
	if n := w.leases(a); n != 0 {
		t.Errorf("a is finished and holds %d leases", n)
	}
	w.wantQueued("c", 1, "b") // b came first
	w.until("b", v1alpha1.PhaseRunning)
	w.wantQueued("c", 1, "b")
	w.wantPhase(w.finish("b"), v1alpha1.PhaseSucceeded)
	w.wantPhase(w.finish("c"), v1alpha1.PhaseSucceeded)
	for _, x := range []*v1alpha1.NFSBenchmark{a, b, c, other} {
		if n := w.leases(x); n != 0 {
			t.Errorf("%s still holds %d leases", x.Name, n)
		}
	}
	if w.rec.count("Queued") != 2 {
		t.Errorf("events are %q, want one Queued for b and c each", w.rec.events)
	}
}

func TestOneThatIsDeletedOrSuspendedInTheQueueLetsOthersPass(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	address := newAddress()
	w.create("a", gen.Export("/x", address))
	w.until("a", v1alpha1.PhaseRunning)
	for _, name := range []string{"b", "c", "d"} {
		w.create(name, gen.Export("/x", address))
		w.settle(name)
	}
	w.wantQueued("d", 3, "a")
	w.delete("b")
	if b := w.finish("b"); b != nil {
		t.Fatal("b is still there")
	}
	w.wantQueued("d", 2, "a")
	w.update("c", func(c *v1alpha1.NFSBenchmark) { c.Spec.Suspend = true })
	w.wantPhase(w.settle("c"), v1alpha1.PhasePending, "spec.suspend")
	w.wantQueued("d", 1, "a")
	if n := w.leases(w.get("a")); n != 1 {
		t.Errorf("a holds %d leases after others left the queue, want its own", n)
	}
	w.wantPhase(w.finish("a"), v1alpha1.PhaseSucceeded)
	w.wantPhase(w.finish("d"), v1alpha1.PhaseSucceeded)
}

func TestALeaseOfSomebodyWhoIsGoneIsTakenOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	address := newAddress()
	ghost := gen.Benchmark("ghost", gen.In(w.ns), gen.UID("no-such-uid"))
	lease := manifest.TargetLease(ghost, w.ns, "server/"+address, metav1.NewMicroTime(w.clock.Now()))
	if err := w.c.Create(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	w.create("demo", gen.Export("/x", address))
	w.wantPhase(w.finish("demo"), v1alpha1.PhaseSucceeded)
}

func TestALeaseThatIsNotOursIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	address := newAddress()
	who := "somebody"
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: manifest.LeaseName("server/" + address)},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &who},
	}
	if err := w.c.Create(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	w.create("demo", gen.Export("/x", address))
	w.wantPhase(w.settle("demo"), v1alpha1.PhaseQueued, "not ours")
	got := &coordinationv1.Lease{}
	if !w.find(lease.Name, got) || *got.Spec.HolderIdentity != who {
		t.Errorf("the lease is now %+v", got.Spec)
	}
}

func TestARunUnderWayKeepsItsTurnWithoutItsLease(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	address := newAddress()
	w.create("a", gen.Export("/x", address))
	w.until("a", v1alpha1.PhaseRunning)
	lease := &coordinationv1.Lease{}
	w.find(manifest.LeaseName("server/"+address), lease)
	if err := w.c.Delete(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	w.create("b", gen.Export("/x", address))
	w.wantQueued("b", 1, "a")
	w.wantPhase(w.settle("a"), v1alpha1.PhaseRunning)

	_ = w.c.Delete(t.Context(), lease)
	taken := manifest.TargetLease(w.get("b"), w.ns, "server/"+address, metav1.NewMicroTime(w.clock.Now()))
	if err := w.c.Create(t.Context(), taken); err != nil {
		t.Fatal(err)
	}
	w.wantPhase(w.settle("a"), v1alpha1.PhaseRunning) // too late to wait for anybody
}
