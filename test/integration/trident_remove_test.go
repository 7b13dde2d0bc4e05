package integration

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/trident"
	"github.com/nfsbench/nfsbench/test/gen"
	standin "github.com/nfsbench/nfsbench/test/trident"
)

const away = "the array does not answer"

// A bound volume that the status does not know yet is not forgotten with its
// claim.
func TestAVolumeThatNobodyHasSeenIsNotedBeforeItsClaimGoes(t *testing.T) {
	t.Parallel()
	w := withTrident(t)
	w.create("demo", w.backend())
	w.settle("demo")
	for len(w.array.volumes.volumes) == 0 {
		w.array.step(w)
		if len(w.array.volumes.volumes) == 0 {
			w.settle("demo")
		}
	}
	for w.array.step(w) != "" { //nolint:revive // until the claim is bound
	}
	w.array.SetFaults(standin.Faults{Unreachable: away})
	w.delete("demo")
	w.turns()
	b := w.get("demo")
	if b == nil || !strings.HasPrefix(b.Status.Message, "deleting: waiting for PersistentVolume pvc-") {
		t.Fatalf("the volume is forgotten: %+v", b)
	}
	w.wantMade("TridentBackendConfig", "TridentBackend", "TridentVolume", "PersistentVolume", "StorageClass", "volume")
}

func TestADeletionWaitsForAnArrayThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	w := withTrident(t)
	w.create("demo", w.backend())
	w.until("demo", v1alpha1.PhaseRunning)
	w.array.SetFaults(standin.Faults{Unreachable: away})
	w.delete("demo")
	w.turns()
	b := w.get("demo")
	w.wantCondition(b, v1alpha1.ConditionCleanedUp, "False", v1alpha1.ReasonCleaningUp)
	if n := w.rec.count(v1alpha1.ReasonLeftBehind); n != 0 {
		t.Errorf("called left behind at once: %q", w.rec.events)
	}
	w.turnsAfter(3 * time.Minute)
	b = w.get("demo")
	if b == nil {
		t.Fatal("the benchmark was let go")
	}
	w.wantCondition(b, v1alpha1.ConditionCleanedUp, "False", v1alpha1.ReasonLeftBehind)
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionCleanedUp)
	for _, word := range []string{"PersistentVolume pvc-", away, "kubectl describe pv pvc-", "spec.cleanup.leftovers"} {
		if !strings.Contains(c.Message, word) {
			t.Errorf("the condition does not say %q: %s", word, c.Message)
		}
	}
	if n := w.rec.count(v1alpha1.ReasonLeftBehind); n != 1 {
		t.Errorf("events are %q, want one LeftBehind", w.rec.events)
	}
	res, err := w.pass("demo")
	if err != nil || res.RequeueAfter < 5*time.Second {
		t.Errorf("looks again after %v (%v)", res.RequeueAfter, err)
	}
	if n := w.leases(b); n != 0 {
		t.Errorf("what is left behind holds %d leases", n)
	}
	w.array.SetFaults(standin.Faults{})
	w.create("next", gen.Export("/vol/other", w.array.volumes.lif)) // the target is free
	w.finish("demo")
	if b := w.get("demo"); b != nil {
		t.Errorf("it stays although the array is back: %s", b.Status.Message)
	}
	w.wantPhase(w.finish("next"), v1alpha1.PhaseSucceeded)
	w.wantMade()
}

// TestNoVolumeIsLeftBehindForLongerThanTheRemoval: while it is bound, its claim went a moment ago, and a claim that
// went before is not what the removal waits for.
func TestNoVolumeIsLeftBehindForLongerThanTheRemoval(t *testing.T) {
	t.Parallel()
	for phase, pods := range map[corev1.PersistentVolumePhase]time.Duration{ // how long the pods take to go
		corev1.VolumeBound: 150 * time.Second, corev1.VolumeReleased: 0,
	} {
		t.Run(string(phase), func(t *testing.T) {
			t.Parallel()
			w := withTrident(t)
			w.create("demo", w.backend())
			w.until("demo", v1alpha1.PhaseRunning)
			claim, pv := &corev1.PersistentVolumeClaim{}, &corev1.PersistentVolume{}
			w.find("nfsb-demo-data", claim)
			claim.Finalizers = nil // nobody plays the controller that removes it
			if err := errors.Join(w.c.Update(t.Context(), claim), w.c.Get(t.Context(), client.ObjectKey{Name: claim.Spec.VolumeName}, pv)); err != nil {
				t.Fatal(err)
			}
			pv.Status.Phase, pv.Status.LastPhaseTransitionTime = phase, new(metav1.NewTime(w.clock.Now().Add(-time.Hour)))
			if err := w.c.Status().Update(t.Context(), pv); err != nil {
				t.Fatal(err)
			}
			w.delete("demo")
			w.settle("demo")
			w.step(pods)
			for _, pod := range w.loadPods(w.get("demo")) {
				_ = w.c.Delete(t.Context(), &pod, client.GracePeriodSeconds(0))
			}
			b := w.settle("demo")
			if !strings.HasPrefix(b.Status.Message, "deleting: waiting for PersistentVolume "+pv.Name+" ("+string(phase)) {
				t.Errorf("it does not wait for the volume: %s", b.Status.Message)
			}
			w.wantCondition(b, v1alpha1.ConditionCleanedUp, "False", v1alpha1.ReasonCleaningUp)
			w.finish("demo")
			w.wantMade()
		})
	}
}

// TestABackendThatTridentForgotIsNamed: Trident ended before it wrote that it had made one, and lets its configuration
// go without it.
func TestABackendThatTridentForgotIsNamed(t *testing.T) {
	t.Parallel()
	for _, policy := range []v1alpha1.LeftoversPolicy{v1alpha1.LeftoversWait, v1alpha1.LeftoversAbandon} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			w := withTrident(t)
			w.array.SetFaults(standin.Faults{Unwritten: true})
			w.create("demo", w.backend(), gen.Leftovers(policy))
			w.turns()
			b, backends := w.get("demo"), w.ofTrident(trident.KindBackend)
			if len(backends) != 1 {
				t.Fatalf("Trident has %d backends", len(backends))
			}
			says := "TridentBackend " + w.array.ns + "/" + backends[0].GetName() + " (" + manifest.TridentName(b) +
				"), which no TridentBackendConfig refers to: to remove it, tridentctl -n " + w.array.ns + " delete backend " + manifest.TridentName(b)
			w.delete("demo")
			w.turns()
			b = w.get("demo")
			w.wantCondition(b, v1alpha1.ConditionCleanedUp, "False", v1alpha1.ReasonCleaningUp)
			w.turnsAfter(3 * time.Minute)
			if b = w.get("demo"); policy == v1alpha1.LeftoversAbandon {
				if told := strings.Join(w.rec.events, "\n"); b != nil || !strings.Contains(told, "left are "+says) {
					t.Errorf("it is %+v, and no event says %q:\n%s", b, says, told)
				}
				return
			}
			w.wantCondition(b, v1alpha1.ConditionCleanedUp, "False", v1alpha1.ReasonLeftBehind)
			if !strings.Contains(b.Status.Message, says) {
				t.Errorf("the message does not say %q: %s", says, b.Status.Message)
			}
			backends[0].SetFinalizers(nil)
			if err := errors.Join(w.c.Update(t.Context(), &backends[0]), w.c.Delete(t.Context(), &backends[0])); err != nil {
				t.Fatal(err)
			}
			w.turns()
			if b := w.get("demo"); b != nil {
				t.Errorf("it stays though the backend is gone: %s", b.Status.Message)
			}
		})
	}
}

func TestADeletionThatMayAbandonLetsGoAndNamesWhatIsLeft(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]func(*world){
		"SaidBefore": func(*world) {},
		"SaidWhileDeleting": func(w *world) {
			w.update("demo", func(b *v1alpha1.NFSBenchmark) { gen.Leftovers(v1alpha1.LeftoversAbandon)(b) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := withTrident(t)
			policy := v1alpha1.LeftoversAbandon
			if name == "SaidWhileDeleting" {
				policy = v1alpha1.LeftoversWait
			}
			w.create("demo", w.backend(), gen.Leftovers(policy))
			w.until("demo", v1alpha1.PhaseRunning)
			w.array.SetFaults(standin.Faults{Unreachable: away})
			w.delete("demo")
			w.turns()
			if w.get("demo") == nil {
				t.Fatal("let go at once")
			}
			at(w)
			w.turnsAfter(3 * time.Minute)
			if b := w.get("demo"); b != nil {
				t.Fatalf("it stays: %s", b.Status.Message)
			}
			told := strings.Join(w.rec.events, "\n")
			for _, word := range []string{"abandoned after 2m0s", "PersistentVolume pvc-", "TridentBackendConfig " + w.array.ns + "/nfsbench-", away} {
				if !strings.Contains(told, word) {
					t.Errorf("no event says %q:\n%s", word, told)
				}
			}
			// Everything was told to go, so Trident finishes by itself.
			w.array.SetFaults(standin.Faults{})
			w.turns()
			w.wantMade()
		})
	}
}

func TestAFinishedRunSaysWhatItsArrayKeeps(t *testing.T) {
	t.Parallel()
	w := withTrident(t)
	w.create("demo", w.backend())
	w.until("demo", v1alpha1.PhaseRunning)
	w.array.SetFaults(standin.Faults{Unreachable: away})
	b := w.finish("demo")
	w.wantPhase(b, v1alpha1.PhaseSucceeded)
	w.wantCondition(b, v1alpha1.ConditionCleanedUp, "False", v1alpha1.ReasonCleaningUp)
	w.step(3 * time.Minute)
	b = w.finish("demo")
	w.wantCondition(b, v1alpha1.ConditionCleanedUp, "False", v1alpha1.ReasonLeftBehind)
	if n := w.leases(b); n != 0 {
		t.Errorf("a finished run holds %d leases", n)
	}
	w.array.SetFaults(standin.Faults{})
	b = w.finish("demo")
	w.wantCondition(b, v1alpha1.ConditionCleanedUp, "True", v1alpha1.ReasonCleanedUp)
	w.wantMade()
}

func TestAVolumeThatItsClassRetainsIsNamedWithWhatRemovesIt(t *testing.T) {
	t.Parallel()
	w := withTrident(t)
	retain := corev1.PersistentVolumeReclaimRetain
	class := w.class(func(c *storagev1.StorageClass) { c.ReclaimPolicy = &retain })
	w.create("demo", gen.TridentClass(class))
	b := w.finish("demo")
	w.wantPhase(b, v1alpha1.PhaseSucceeded)
	w.wantCondition(b, v1alpha1.ConditionCleanedUp, "False", v1alpha1.ReasonLeftBehind)
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionCleanedUp)
	if !strings.Contains(c.Message, "reclaimPolicy Retain") || !strings.Contains(c.Message, "kubectl patch pv "+b.Status.Resolved.VolumeName) {
		t.Errorf("the condition does not say what to do: %s", c.Message)
	}
	pv := &corev1.PersistentVolume{}
	if err := w.c.Get(t.Context(), client.ObjectKey{Name: b.Status.Resolved.VolumeName}, pv); err != nil {
		t.Fatal(err)
	}
	pv.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimDelete
	if err := w.c.Update(t.Context(), pv); err != nil {
		t.Fatal(err)
	}
	b = w.finish("demo")
	w.wantCondition(b, v1alpha1.ConditionCleanedUp, "True", v1alpha1.ReasonCleanedUp)
}

func TestAClaimThatAPodStillUsesIsNamed(t *testing.T) {
	t.Parallel()
	w := withTrident(t)
	w.create("demo", w.backend())
	w.until("demo", v1alpha1.PhaseRunning)
	claim := &corev1.PersistentVolumeClaim{}
	w.find("nfsb-demo-data", claim)
	claim.Finalizers = append(claim.Finalizers, "example.com/used")
	if err := w.c.Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	w.delete("demo")
	w.settle("demo")
	for _, pod := range w.loadPods(w.get("demo")) {
		_ = w.c.Delete(t.Context(), &pod, client.GracePeriodSeconds(0))
	}
	b := w.settle("demo")
	for _, word := range []string{"PersistentVolumeClaim " + w.ns + "/nfsb-demo-data", "example.com/used", "describe pvc"} {
		if !strings.Contains(b.Status.Message, word) {
			t.Errorf("the message does not say %q: %s", word, b.Status.Message)
		}
	}
	w.finish("demo")
	w.wantMade()
}

func TestObjectsOfSomebodyElseUnderOurNamesStay(t *testing.T) {
	t.Parallel()
	w := withTrident(t)
	w.create("demo", gen.Suspended, w.backend())
	b := w.settle("demo")
	class := &storagev1.StorageClass{Provisioner: "example.com/other"}
	class.Name = manifest.TridentName(b)
	if err := w.c.Create(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	w.update("demo", func(b *v1alpha1.NFSBenchmark) { b.Spec.Suspend = false })
	b = w.finish("demo")
	w.wantPhase(b, v1alpha1.PhaseFailed, "this benchmark did not make")
	w.delete("demo")
	w.finish("demo")
	if err := w.c.Get(t.Context(), client.ObjectKeyFromObject(class), class); err != nil {
		t.Errorf("the class of somebody else is gone: %v", err)
	}
	_ = w.c.Delete(t.Context(), class)
	w.wantMade()
}
