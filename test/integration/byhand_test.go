package integration

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

func TestWhatIsDeletedByHandDuringARunIsRestored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.create("demo")
	w.until("demo", v1alpha1.PhaseRunning)
	n, plan := manifest.NamesOf(b), w.plan(b)
	for _, obj := range []client.Object{
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: n.Plan}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: n.Result}},
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: n.Collector}},
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: n.Collector}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: n.Collector}},
	} {
		obj.SetNamespace(w.ns)
		if err := w.c.Delete(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
		if w.settle("demo"); !w.find(obj.GetName(), obj) {
			t.Errorf("%T %s was deleted and is not made again", obj, obj.GetName())
		}
	}
	// The pods go by the plan that they have: what is judged must be the same.
	if diff := cmp.Diff(plan, w.plan(b)); diff != "" {
		t.Errorf("the plan is another (-was +is):\n%s", diff)
	}
	w.wantPhase(w.finish("demo"), v1alpha1.PhaseSucceeded)
}

func (w *world) lease(address string) *coordinationv1.Lease {
	w.Helper()
	l := &coordinationv1.Lease{}
	if !w.find(manifest.LeaseName("server/"+address), l) {
		return nil
	}
	return l
}

func TestALeaseThatIsDeletedOrTakenByHandIsTakenBack(t *testing.T) {
	t.Parallel()
	for name, storage := range map[string]func(address string) gen.Mod{
		"Export": func(address string) gen.Mod { return gen.Export("/x", address) },
		"Claim":  func(string) gen.Mod { return gen.Claim("data") },
		"Kernel": func(address string) gen.Mod {
			return func(b *v1alpha1.NFSBenchmark) { gen.Export("/x", address)(b); gen.Kernel(b) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			address := newAddress()
			w.claim(nfs(address))
			b := w.create("demo", storage(address))
			w.until("demo", v1alpha1.PhaseRunning)
			if err := w.c.Delete(t.Context(), w.lease(address)); err != nil {
				t.Fatal(err)
			}
			w.wantPhase(w.settle("demo"), v1alpha1.PhaseRunning)
			if l := w.lease(address); l == nil || *l.Spec.HolderIdentity != string(b.UID) {
				t.Fatalf("the lease is %+v after it was deleted", l)
			}
			l, who := w.lease(address), "somebody"
			l.Spec.HolderIdentity = &who
			if err := w.c.Update(t.Context(), l); err != nil {
				t.Fatal(err)
			}
			w.wantPhase(w.settle("demo"), v1alpha1.PhaseRunning)
			if l := w.lease(address); *l.Spec.HolderIdentity != string(b.UID) {
				t.Errorf("the lease is held by %q, who is nobody we know", *l.Spec.HolderIdentity)
			}
			w.wantPhase(w.finish("demo"), v1alpha1.PhaseSucceeded)
			if l := w.lease(address); l != nil {
				t.Errorf("the lease is left: %+v", l.Spec)
			}
		})
	}
}

func TestATargetThatIsTakenFromARunIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	address, who := newAddress(), "somebody"
	w.create("demo", gen.Export("/x", address))
	w.until("demo", v1alpha1.PhaseRunning)
	if err := w.c.Delete(t.Context(), w.lease(address)); err != nil {
		t.Fatal(err)
	}
	theirs := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: manifest.LeaseName("server/" + address)},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &who},
	}
	if err := w.c.Create(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		b := w.settle("demo")
		w.wantPhase(b, v1alpha1.PhaseRunning, "the run goes on", theirs.Name, "may be shared")
		w.wantCondition(b, v1alpha1.ConditionReconciling, "True", v1alpha1.ReasonTargetTaken)
	}
	w.wantPhase(w.finish("demo"), v1alpha1.PhaseSucceeded)
	if w.rec.count(v1alpha1.ReasonTargetTaken) != 1 {
		t.Errorf("events %q, want one that tells of it", w.rec.events)
	}
	if l := w.lease(address); l == nil || *l.Spec.HolderIdentity != who {
		t.Errorf("the lease of somebody else is now %+v", l)
	}
}

func TestALeaseThatWasHandedToAnotherRunIsNotTakenFromIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	address := newAddress()
	w.create("demo", gen.Export("/x", address))
	heir := string(w.create("heir", gen.Suspended).UID)
	w.until("demo", v1alpha1.PhaseRunning)
	l := w.lease(address)
	l.Spec.HolderIdentity = &heir // and our labels stay
	if err := w.c.Update(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	w.wantPhase(w.settle("demo"), v1alpha1.PhaseRunning, "the run goes on")
	w.wantPhase(w.finish("demo"), v1alpha1.PhaseSucceeded)
	if l := w.lease(address); l == nil || *l.Spec.HolderIdentity != heir {
		t.Errorf("the lease of the other is now %+v", l)
	}
}

// cancelled is the last word of a client that was told to stop while it
// measured.
func (w *world) cancelled(b *v1alpha1.NFSBenchmark, index int32) {
	w.Helper()
	c := gen.Client(w, w.plan(b), index, w.clock.Now())
	c.Load.Partial, c.Load.Failure = true, &runfile.Failure{Code: runfile.FailureCancelled, Message: "stopped"}
	w.final(b, c)
}

// evict marks and deletes a pod as the eviction API does.
func (w *world) evict(pod *corev1.Pod) {
	w.Helper()
	w.podStatus(pod, func(st *corev1.PodStatus) {
		st.Conditions = append(st.Conditions, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting",
		})
	})
	pod.Finalizers = []string{"test/held"} // the Job controller's holds it
	if err := w.c.Update(w.Context(), pod); err != nil {
		w.Fatal(err)
	}
	if err := w.c.Delete(w.Context(), pod); err != nil {
		w.Fatal(err)
	}
}

func TestALoadThatIsStoppedFromOutsideHasFailedAndSaysWhoStoppedIt(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		stop func(*world, *v1alpha1.NFSBenchmark, *corev1.Pod)
		want []string
	}{
		"Drained": {
			func(w *world, _ *v1alpha1.NFSBenchmark, p *corev1.Pod) { w.evict(p) },
			[]string{"was evicted", "kubectl drain", "partial"},
		},
		"DrainedAndGone": {func(w *world, b *v1alpha1.NFSBenchmark, p *corev1.Pod) {
			w.remove(p)
			w.jobEnds(w.loadJob(b), "PodFailurePolicy", "Pod x/y has condition DisruptionTarget matching FailJob rule at index 0")
		}, []string{"was evicted", "kubectl drain", "partial"}},
		"PodDeleted": {
			func(w *world, _ *v1alpha1.NFSBenchmark, p *corev1.Pod) { w.remove(p) },
			[]string{"stopped before its end", "somebody deleted it", "partial"},
		},
		"JobDeleted": {func(w *world, b *v1alpha1.NFSBenchmark, p *corev1.Pod) {
			w.deleteJob(b)
			w.remove(p)
		}, []string{"Job nfsb-demo-load was deleted", "partial"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			b, pods := w.loading(at(runfile.SpanMeasure, 40))
			tc.stop(w, b, &pods[0])
			w.cancelled(b, 0)
			b = w.wantFailed(v1alpha1.ReasonPodLost, tc.want...)
			w.wantCondition(b, v1alpha1.ConditionResultsCollected, "False", judge.Partial)
			if b.Status.Summary.ThroughputBytesPerSecond == nil {
				t.Error("what was measured is lost")
			}
			for _, p := range w.loadPods(b) {
				p.Finalizers = nil
				_ = w.c.Update(t.Context(), &p)
			}
			w.wantPhase(w.finish("demo"), v1alpha1.PhaseFailed)
		})
	}
}

func (w *world) remove(p *corev1.Pod) {
	w.Helper()
	if err := w.c.Delete(w.Context(), p, client.GracePeriodSeconds(0)); err != nil {
		w.Fatal(err)
	}
}

func (w *world) deleteJob(b *v1alpha1.NFSBenchmark) {
	w.Helper()
	if err := w.c.Delete(w.Context(), w.loadJob(b), client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		w.Fatal(err)
	}
}

// TestAPodThatIsEvictedIsWaitedForWhileItSavesWhatItHas, and no longer than it may take: that of a dead
// node says nothing more, and its containers seem to run.
func TestAPodThatIsEvictedIsWaitedForWhileItSavesWhatItHas(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		then func(*world, *v1alpha1.NFSBenchmark)
		says string
	}{
		"ItSaves":    {func(w *world, b *v1alpha1.NFSBenchmark) { w.cancelled(b, 0) }, "kubectl drain"},
		"OnDeadNode": {func(w *world, _ *v1alpha1.NFSBenchmark) { w.step(40 * time.Second) }, "was taken from node"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			b, pods := w.loading(at(runfile.SpanMeasure, 40))
			w.evict(&pods[0])
			w.wantPhase(w.settle("demo"), v1alpha1.PhaseCollecting, "waiting for the last results", "kubectl drain")
			tc.then(w, b)
			w.wantFailed(v1alpha1.ReasonPodLost, tc.says)
		})
	}
}

func TestThePodsOfAJobDeletedByHandAreWaitedForOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, pods := w.loading(at(runfile.SpanMeasure, 40))
	w.deleteJob(b)
	w.wantPhase(w.settle("demo"), v1alpha1.PhaseRunning, "Job nfsb-demo-load was deleted", "waiting for the last results")
	pods[0].Finalizers = []string{"test/held"}
	if err := w.c.Update(t.Context(), &w.freshPods(b, pods[0].Finalizers)[0]); err != nil {
		t.Fatal(err)
	}
	if err := w.c.Delete(t.Context(), &w.loadPods(b)[0]); err != nil {
		t.Fatal(err)
	}
	w.wantPhase(w.settle("demo"), v1alpha1.PhaseRunning, "waiting for the last results")
	w.step(40 * time.Second) // its time is over, and it says no more
	w.wantFailed(v1alpha1.ReasonPodLost, "Job nfsb-demo-load was deleted")
	if w.loadJob(b) != nil {
		t.Error("the load was started again")
	}
	p := w.freshPods(b, nil)[0]
	_ = w.c.Update(t.Context(), &p)
}

// freshPods are the load pods with other finalizers.
func (w *world) freshPods(b *v1alpha1.NFSBenchmark, finalizers []string) []corev1.Pod {
	w.Helper()
	pods := w.loadPods(b)
	for i := range pods {
		pods[i].Finalizers = finalizers
	}
	return pods
}

func TestPodsThatOutliveTheirJobMayBringTheRunToItsEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, _ := w.loading(at(runfile.SpanMeasure, 40))
	w.deleteJob(b) // as kubectl delete --cascade=orphan does
	w.settle("demo")
	w.measured(b, 0)
	w.podStatus(&w.loadPods(b)[0], exited(0, "Completed", "", metav1.NewTime(w.clock.Now())))
	w.wantPhase(w.settle("demo"), v1alpha1.PhaseSucceeded)
	if left := w.loadPods(b); len(left) > 0 && left[0].DeletionTimestamp.IsZero() {
		t.Error("the pod is left behind: nobody else removes it")
	}
	w.wantPhase(w.finish("demo"), v1alpha1.PhaseSucceeded)
}
