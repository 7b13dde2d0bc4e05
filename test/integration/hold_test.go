package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/trident"
	"github.com/nfsbench/nfsbench/test/gen"
)

// twoTenants are two namespaces whose benchmarks share their targets.
func twoTenants(t *testing.T) (one, other *world) {
	t.Helper()
	one, other = newWorld(t), newWorld(t)
	other.clock, other.c = one.clock, one.c
	for _, w := range []*world{one, other} {
		w.leaseNamespace = one.ns
		w.restart()
	}
	return one, other
}

// wantTarget demands that a benchmark on an array gets it now.
func (w *world) wantTarget(mod gen.Mod) {
	w.Helper()
	w.create("wants", mod)
	w.wantPhase(w.settle("wants"), v1alpha1.PhaseProvisioning, "asking the array")
}

// removeSecret removes the Secret of the array.
func (w *world) removeSecret() {
	w.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "ontap-reader"}}
	if err := w.c.Delete(w.Context(), secret); err != nil {
		w.Fatal(err)
	}
}

// TestABenchmarkThatWaitsForSomethingElseKeepsNobodyFromItsTarget has what makes a benchmark Pending, by the reason,
// before the benchmark had its target and after that.
func TestABenchmarkThatWaitsForSomethingElseKeepsNobodyFromItsTarget(t *testing.T) {
	t.Parallel()
	onClaim := []gen.Mod{gen.Claim("data")}
	volume := func(w *world) { w.claim(nfs(newAddress())) }
	deleteClaim := func(w *world) {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "data"}}
		if err := w.c.Delete(w.Context(), claim); err != nil {
			w.Fatal(err)
		}
		w.unprotect(claim)
	}
	for reason, tc := range map[string]struct {
		words   string // of the message
		mods    []gen.Mod
		prepare func(w *world)
		happen  func(w *world)
		early   bool // it cannot happen once the benchmark has its target
	}{
		v1alpha1.ReasonSecretNotFound: {words: "there is no Secret", happen: (*world).removeSecret},
		v1alpha1.ReasonSecretDenied: {words: "may not use Secret", happen: func(w *world) {
			w.removeSecret()
			w.secret("ontap-reader", nil)
		}},
		v1alpha1.ReasonPolicyInvalid: {words: "no policy", happen: func(w *world) { w.policyErr = errors.New("no policy") }},
		v1alpha1.ReasonSuspended: {words: "spec.suspend", happen: func(w *world) {
			w.update("demo", func(b *v1alpha1.NFSBenchmark) { b.Spec.Suspend = true })
		}},
		v1alpha1.ReasonClaimNotFound: {words: "no PersistentVolumeClaim", mods: onClaim, prepare: volume, happen: deleteClaim},
		v1alpha1.ReasonClaimNotBound: {words: "not Bound", mods: onClaim, prepare: volume, happen: func(w *world) {
			claim := &corev1.PersistentVolumeClaim{}
			w.find("data", claim)
			w.patchStatus(claim, func() { claim.Status.Phase = corev1.ClaimLost })
		}},
		v1alpha1.ReasonClaimInUse: {words: "uses claim", mods: onOracle(gen.Claim("data")), prepare: volume, happen: func(w *world) {
			if err := w.c.Create(w.Context(), podOnClaim(w.ns, "postgres-0", "data")); err != nil {
				w.Fatal(err)
			}
		}},
		v1alpha1.ReasonProvisioning: {words: "reads its export", mods: onClaim, early: true, prepare: func(w *world) {
			w.claim(csi("nfs.csi.k8s.io", nil))
		}, happen: func(*world) {}},
		runfile.SurveyNoVolume: {words: "no TridentVolume", mods: onClaim, early: true, prepare: func(w *world) {
			w.claim(csi(trident.Driver, nil))
		}, happen: func(*world) {}},
	} {
		for _, late := range []bool{false, true} {
			if late && tc.early {
				continue
			}
			t.Run(fmt.Sprintf("%s late %v", reason, late), func(t *testing.T) {
				t.Parallel()
				w, other := twoTenants(t)
				array := ontap("")
				if tc.prepare != nil {
					tc.prepare(w)
				}
				b := w.create("demo", append(tc.mods, array)...)
				if late {
					w.wantPhase(w.settle("demo"), v1alpha1.PhaseProvisioning, "asking the array")
				}
				tc.happen(w)
				w.settle("demo")
				w.collectGarbage() // the survey of one that is suspended
				got := w.settle("demo")
				w.wantPhase(got, v1alpha1.PhasePending, tc.words)
				w.wantCondition(got, v1alpha1.ConditionSucceeded, "Unknown", reason)
				if got.Status.HoldEndTime != nil || w.leases(b) > 0 {
					t.Errorf("it has %d targets until %v", w.leases(b), got.Status.HoldEndTime)
				}
				other.wantTarget(array)
			})
		}
	}
}

// TestEveryHoldEnds: a tenant that may change all objects of its namespace cannot keep a target
// longer than the policy says.
func TestEveryHoldEnds(t *testing.T) {
	t.Parallel()
	const evil = "evil.example/keep"
	finalize := func(w *world, o client.Object) {
		o.SetFinalizers([]string{evil})
		if err := w.c.Update(w.Context(), o); err != nil {
			w.Fatal(err)
		}
		w.Cleanup(func() {
			o.SetFinalizers(nil)
			_ = w.c.Update(context.Background(), o) //nolint:usetesting // the test's own context is over
		})
	}
	for name, hold := range map[string]func(w *world, address string){
		"a plan of another release": func(w *world, address string) {
			w.create("demo", gen.Export("/vol/x", address))
			b := w.until("demo", v1alpha1.PhaseRunning)
			w.editPlan(b, runfile.PlanVersion, "nfsbench.io/plan/v99")
		},
		"a finalizer on a load pod that is stopped": func(w *world, address string) {
			_, pods := w.started(gen.Export("/vol/x", address))
			finalize(w, &pods[0])
			w.update("demo", func(b *v1alpha1.NFSBenchmark) { b.Spec.Suspend = true })
		},
		"a finalizer on a load pod that is deleted with its benchmark": func(w *world, address string) {
			_, pods := w.started(gen.Export("/vol/x", address))
			finalize(w, &pods[0])
			w.delete("demo")
		},
		"a finalizer on what a run that succeeded has made": func(w *world, address string) {
			w.create("demo", gen.Export("/vol/x", address))
			b := w.until("demo", v1alpha1.PhaseRunning)
			account := &corev1.ServiceAccount{}
			w.find(manifest.NamesOf(b).Collector, account)
			finalize(w, account)
			w.finish("demo")
		},
		"a volume that never arrives where it is moved to": func(w *world, address string) {
			b, _ := w.asking(gen.Export("/vol/x", address), ontap(""))
			w.surveyed(b, moving(40))
		},
		"a finalizer on the pod of a survey that is held back": func(w *world, address string) {
			_, pod := w.asking(gen.Export("/vol/x", address), ontap(""))
			finalize(w, pod)
			w.update("demo", func(b *v1alpha1.NFSBenchmark) { b.Spec.Suspend = true })
		},
		"a load that never ends": func(w *world, address string) {
			w.create("demo", gen.Export("/vol/x", address))
			w.until("demo", v1alpha1.PhaseRunning)
		},
		"an array that never answers": func(w *world, address string) {
			w.create("demo", gen.Export("/vol/x", address), ontap(""))
			w.settle("demo")
		},
		"a Lease that its tenant takes again": func(w *world, address string) {
			w.create("demo", gen.Export("/vol/x", address))
			b := w.until("demo", v1alpha1.PhaseRunning)
			w.step(25 * time.Hour)
			lease := w.lease(address)
			again := manifest.TargetLease(b, w.ns, "server/"+address, metav1.NewMicroTime(w.clock.Now()))
			again.ResourceVersion = lease.ResourceVersion
			if err := w.c.Update(w.Context(), again); err != nil {
				w.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, other := twoTenants(t)
			w.silent = true
			address := newAddress()
			hold(w, address)
			passes := func() {
				for range 6 {
					_, _ = w.pass("demo")
				}
			}
			passes()
			w.step(24*time.Hour + 40*time.Minute)
			passes()
			other.create("wants", gen.Export("/vol/other", address))
			if b := other.settle("wants"); b.Status.Phase == v1alpha1.PhaseQueued || b.Status.Phase == v1alpha1.PhasePending {
				t.Errorf("the other is %s: %s\nand the first %+v", b.Status.Phase, b.Status.Message, w.get("demo").Status)
			}
		})
	}
}

// TestADeletedBenchmarkThatItsTenantKeepsHoldsNothing: a finalizer of the tenant keeps the object after its run was
// stopped and cleaned up.
func TestADeletedBenchmarkThatItsTenantKeepsHoldsNothing(t *testing.T) {
	t.Parallel()
	for name, mods := range map[string][]gen.Mod{"Load": nil, "Database": {gen.Oracle, gen.Calibrate(1)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, other := twoTenants(t)
			address, evil := newAddress(), []string{"evil.example/keep"}
			w.create("demo", append(mods, gen.Export("/vol/x", address), func(b *v1alpha1.NFSBenchmark) { b.Finalizers = evil })...)
			w.until("demo", v1alpha1.PhaseRunning)
			w.delete("demo")
			for range 12 {
				w.settle("demo")
				w.robot("demo")
			}
			if left := w.get("demo").Finalizers; !slices.Equal(left, evil) {
				t.Fatalf("the finalizers are %q", left)
			}
			other.create("wants", gen.Export("/vol/other", address))
			if b := other.settle("wants"); b.Status.Phase != v1alpha1.PhasePreparing {
				t.Errorf("the other is %s: %s", b.Status.Phase, b.Status.Message)
			}
		})
	}
}

// TestARunThatDoesNotStartLetsOthersPass: its volume may never come.
func TestARunThatDoesNotStartLetsOthersPass(t *testing.T) {
	t.Parallel()
	w, other := twoTenants(t)
	other.r, other.faults = w.r, w.faults // one manager, which knows whose turn it is
	address := newAddress()
	b, pod := w.asking(gen.Export("/vol/x", address), ontap(""))
	w.podStatus(pod, func(st *corev1.PodStatus) { st.Phase = corev1.PodRunning })
	other.create("wants", gen.Export("/vol/other", address))
	other.wantPhase(other.settle("wants"), v1alpha1.PhaseQueued)
	w.step(31 * time.Minute)
	for range 3 {
		if _, err := w.pass("demo"); err != nil {
			t.Fatal(err)
		}
		if w.leases(b) == 0 {
			break
		}
	}
	other.wantPhase(other.settle("wants"), v1alpha1.PhasePreparing)
	w.wantPhase(w.settle("demo"), v1alpha1.PhaseQueued)
	other.wantPhase(other.finish("wants"), v1alpha1.PhaseSucceeded)
	w.surveyed(b, surveyOf(b))
	w.wantPhase(w.finish("demo"), v1alpha1.PhaseSucceeded)
}

// TestADatabaseThatMayStillWriteKeepsItsTarget: two of them would ruin its files. The status names
// its pod.
func TestADatabaseThatMayStillWriteKeepsItsTarget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, pod := w.creating(onOracle()...)
	pod.Finalizers = []string{"evil.example/keep"}
	if err := w.c.Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	node := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "node-a"}}
	if err := w.c.SubResource("binding").Create(t.Context(), pod, node); err != nil {
		t.Fatal(err)
	}
	w.update("demo", func(b *v1alpha1.NFSBenchmark) { b.Spec.Suspend = true })
	for range 3 {
		_, _ = w.pass("demo")
		w.step(25 * time.Hour)
	}
	for range 3 {
		_, _ = w.pass("demo")
	}
	if w.leases(b) == 0 {
		t.Error("others may start a database on its files")
	}
	got := w.get("demo")
	said := got.Status.Message
	for _, c := range got.Status.Conditions {
		said += c.Message
	}
	if !strings.Contains(said, pod.Name) || !strings.Contains(said, "may still run the database") {
		t.Errorf("the status does not name the pod: %s", said)
	}
}
