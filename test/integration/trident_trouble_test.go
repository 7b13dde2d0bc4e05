package integration

import (
	"errors"
	"strings"
	"testing"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/preflight"
	"github.com/nfsbench/nfsbench/internal/trident"
	"github.com/nfsbench/nfsbench/test/gen"
	standin "github.com/nfsbench/nfsbench/test/trident"
)

// tridentTrouble keeps a volume of Trident from being used.
type tridentTrouble struct {
	storage func(*world) gen.Mod
	mods    []gen.Mod
	faults  standin.Faults
	after   time.Duration // until it is given up
	reason  string
	says    []string
}

// tridentTroubles are all that there are.
func tridentTroubles() map[string]tridentTrouble {
	backend := func(w *world) gen.Mod { return w.backend() }
	class := func(change func(*storagev1.StorageClass)) func(*world) gen.Mod {
		return func(w *world) gen.Mod { return gen.TridentClass(w.class(change)) }
	}
	kernel := []gen.Mod{gen.Kernel}
	return map[string]tridentTrouble{
		"NoCRDs": {
			storage: func(w *world) gen.Mod {
				w.faults.refused = ofTrident(&meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "TridentBackendConfig"}})
				return w.backend()
			},
			reason: v1alpha1.ReasonTridentMissing,
			says:   []string{"not installed", "install it"},
		},
		"NoNamespace": {
			storage: func(w *world) gen.Mod {
				w.r.TridentNamespace = "no-such-namespace"
				return w.backend()
			},
			reason: v1alpha1.ReasonTridentMissing,
			says:   []string{`no namespace "no-such-namespace"`, "trident.namespace of the chart"},
		},
		"NobodyAnswers": {
			storage: func(w *world) gen.Mod {
				w.undeployed()
				return w.backend()
			},
			faults: standin.Faults{Silent: true}, after: 3 * time.Minute, reason: v1alpha1.ReasonTridentMissing,
			says: []string{"has not processed", "app=controller.csi.trident.netapp.io"},
		},
		"NotAllowed": {
			storage: func(w *world) gen.Mod {
				w.faults.refused = ofTrident(apierrors.NewForbidden(schema.GroupResource{Resource: "tridentbackendconfigs"}, "x", errors.New("no")))
				return w.backend()
			},
			reason: v1alpha1.ReasonForbidden,
			says:   []string{"trident.enabled"},
		},
		"BackendRefused": {
			storage: backend,
			faults:  standin.Faults{Backend: "could not reach SVM svm1 at 10.0.0.9"}, after: 6 * time.Minute, reason: v1alpha1.ReasonBackendFailed,
			says: []string{"could not reach SVM svm1", "policy.backends"},
		},
		"NoSecret": {
			storage: func(w *world) gen.Mod {
				w.array.backend.CredentialsSecretName = "missing"
				return w.backend()
			},
			after: 6 * time.Minute, reason: v1alpha1.ReasonBackendFailed,
			says: []string{"backend credentials not found", "ask an administrator to correct backend "},
		},
		"BackendOffline": {
			storage: class(nil),
			faults:  standin.Faults{Offline: "no route to 10.0.0.9"}, after: 6 * time.Minute, reason: v1alpha1.ReasonProvisioningFailed,
			says: []string{"no available backends"},
		},
		"BackendSuspended": {
			storage: backend,
			faults:  standin.Faults{Suspended: true}, after: 6 * time.Minute, reason: v1alpha1.ReasonProvisioningFailed,
			says: []string{"no available backends", " is suspended: Trident makes no volume there", "--user-state normal"},
		},
		"ClassOfASuspendedBackend": {
			storage: class(nil),
			faults:  standin.Faults{Suspended: true}, after: 6 * time.Minute, reason: v1alpha1.ReasonProvisioningFailed,
			says: []string{"Trident has 1 suspended backend: "},
		},
		"NoClass": {
			storage: func(*world) gen.Mod { return gen.TridentClass("no-such-class") },
			reason:  v1alpha1.ReasonClassNotFound,
			says:    []string{`no StorageClass "no-such-class"`, "correct spec.storage.trident.storageClassName"},
		},
		"ClassOfSomebodyElse": {
			storage: class(func(c *storagev1.StorageClass) { c.Provisioner = "ebs.csi.example" }),
			reason:  v1alpha1.ReasonClassNotTrident,
			says:    []string{"ebs.csi.example", trident.Driver},
		},
		"ClassOfSAN": {
			storage: class(func(c *storagev1.StorageClass) {
				c.Parameters = map[string]string{"trident.netapp.io/backendType": "ontap-san"}
			}),
			reason: v1alpha1.ReasonDriverRefused,
			says:   []string{"ontap-san", "not NFS"},
		},
		"EconomyBehindAClass": {
			storage: class(nil),
			faults:  standin.Faults{BackendsAreEconomy: true}, reason: v1alpha1.ReasonDriverRefused,
			says: []string{"ontap-nas-economy", "qtrees"},
		},
		"ClassBindsLate": {
			storage: class(func(c *storagev1.StorageClass) {
				late := storagev1.VolumeBindingWaitForFirstConsumer
				c.VolumeBindingMode = &late
			}),
			reason: v1alpha1.ReasonInvalidSpec,
			says:   []string{"WaitForFirstConsumer", "volumeBindingMode: Immediate"},
		},
		"KernelClassWithoutVersion": {
			storage: class(func(c *storagev1.StorageClass) { c.MountOptions = []string{"hard"} }),
			mods:    kernel, reason: v1alpha1.ReasonInvalidSpec,
			says: []string{"add nfsvers=3 to its mountOptions"},
		},
		"KernelClassOfAnotherVersion": {
			storage: class(func(c *storagev1.StorageClass) { c.MountOptions = []string{"vers=4,minorversion=1"} }),
			mods:    kernel, reason: v1alpha1.ReasonInvalidSpec,
			says: []string{"nfsvers=4.1", "spec.protocol.version NFSv3"},
		},
		"DirectOfABackendThatAdmitsAttachedNodes": {
			storage: func(w *world) gen.Mod {
				w.array.backend.ExportPolicy = ""
				return gen.TridentClass(w.class(nil))
			},
			reason: preflight.ExportPolicyDenies,
			says:   []string{"autoExportPolicy", "this client attaches none"},
		},
		"AggregatesOnAFX": {
			storage: func(w *world) gen.Mod {
				w.array.AFX = true
				return w.backend("aggr1")
			},
			reason: v1alpha1.ReasonInvalidSpec,
			says:   []string{"storagePools", "disaggregated"},
		},
		"MoveOnAFX": {
			storage: func(w *world) gen.Mod {
				w.array.AFX = true
				return gen.TridentClass(w.class(nil))
			},
			mods: []gen.Mod{gen.ONTAP("", "", "reader"), moveTo}, reason: v1alpha1.ReasonInvalidSpec,
			says: []string{"moveTo", "disaggregated"},
		},
		"KernelClassOfABackendWithAnotherVersion": {
			storage: func(w *world) gen.Mod { return w.classOfOptions("-o nfsvers=4.1") },
			mods:    kernel, reason: v1alpha1.ReasonInvalidSpec,
			says: []string{"mounts with nfsvers=4.1", "spec.protocol.version NFSv3"},
		},
		"KernelClassOfABackendWithoutVersion": {
			storage: func(w *world) gen.Mod { return w.classOfOptions("") },
			mods:    kernel, reason: v1alpha1.ReasonInvalidSpec,
			says: []string{"add nfsvers=3 to its mountOptions"},
		},
		"NoVolume": {
			storage: backend,
			faults:  standin.Faults{Provisioning: "aggregate aggr1 is full"}, after: 6 * time.Minute, reason: v1alpha1.ReasonProvisioningFailed,
			says: []string{"aggregate aggr1 is full", "is not bound after 5m0s"},
		},
	}
}

func moveTo(b *v1alpha1.NFSBenchmark) { b.Spec.Storage.Trident.MoveTo = "aggr2" }

// classOfOptions is a class without mount options, whose backend has these.
func (w *world) classOfOptions(options string) gen.Mod {
	w.Helper()
	class := w.class(func(c *storagev1.StorageClass) { c.MountOptions = nil })
	b := w.ofTrident(trident.KindBackend)[0]
	b.Object["config"].(map[string]any)["ontap_config"].(map[string]any)["nfsMountOptions"] = options
	if err := w.c.Update(w.Context(), &b); err != nil {
		w.Fatal(err)
	}
	return gen.TridentClass(class)
}

// ofTrident refuses reads of Trident's kinds.
func ofTrident(err error) func(string) error {
	return func(kind string) error {
		if strings.HasPrefix(kind, "Trident") {
			return err
		}
		return nil
	}
}

func TestWhatKeepsAVolumeOfTridentFromBeingUsedIsSaid(t *testing.T) {
	t.Parallel()
	for name, tc := range tridentTroubles() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := withTrident(t)
			if tc.faults.BackendsAreEconomy {
				w.array.SetFaults(tc.faults)
			}
			storage := tc.storage(w)
			w.array.SetFaults(tc.faults)
			before := w.made()
			w.create("demo", append([]gen.Mod{storage}, tc.mods...)...)
			w.turns()
			if tc.after > 0 {
				b := w.get("demo")
				w.wantPhase(b, v1alpha1.PhaseProvisioning)
				if meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionStorageProvisioned) {
					t.Error("its storage is provisioned")
				}
				w.turnsAfter(20 * time.Second)
				w.turnsAfter(tc.after)
			}
			b := w.get("demo")
			w.wantPhase(b, v1alpha1.PhaseFailed, tc.says...)
			w.wantCondition(b, v1alpha1.ConditionStorageProvisioned, "False", tc.reason)
			w.wantCondition(b, v1alpha1.ConditionSucceeded, "False", tc.reason)
			w.wantCondition(b, v1alpha1.ConditionCleanedUp, "True", v1alpha1.ReasonCleanedUp)
			if n := w.leases(b); n != 0 {
				t.Errorf("a failed run holds %d leases", n)
			}
			w.delete("demo")
			w.finish("demo")
			if w.get("demo") != nil {
				t.Error("it cannot be deleted")
			}
			if left := w.made(); len(left) > len(before) {
				t.Errorf("left: %q, there before: %q", left, before)
			}
		})
	}
}

// TestWhatTheSpecAloneDecidesIsSaidBeforeThereIsAVolume: nothing is made, and no volume moved.
func TestWhatTheSpecAloneDecidesIsSaidBeforeThereIsAVolume(t *testing.T) {
	t.Parallel()
	small := gen.OracleMod(func(c *v1alpha1.DatabaseContainer) {
		c.Parameters = map[string]v1alpha1.ParameterValue{"sga_target": "256M", "shared_pool_size": "200M", "cpu_count": "16"}
	})
	flexGroup := trident.BackendSpec{StorageDriverName: trident.DriverFlexGroup}
	policy := trident.BackendSpec{ExportPolicy: "pods"}
	for name, tc := range map[string]struct {
		backend trident.BackendSpec
		pools   []string
		mods    []gen.Mod
		reason  string
		says    []string
	}{
		"Memory":     {policy, nil, []gen.Mod{gen.Calibrate(1), gen.Oracle, small}, v1alpha1.ReasonInvalidSpec, []string{"sga_target is 256M", "ORA-00821"}},
		"Aggregates": {flexGroup, []string{"aggr1"}, nil, v1alpha1.ReasonInvalidSpec, []string{"storagePools", "driver ontap-nas-flexgroup"}},
		"Move":       {flexGroup, nil, []gen.Mod{gen.ONTAP("", "", "reader"), moveTo}, v1alpha1.ReasonInvalidSpec, []string{"moveTo", "driver ontap-nas-flexgroup"}},
		"NoPolicy":   {trident.BackendSpec{}, nil, nil, preflight.ExportPolicyDenies, []string{"has no exportPolicy", "policy.backends"}},
		"Ignored":    {trident.BackendSpec{}, nil, []gen.Mod{gen.Kernel, exportPolicy}, preflight.ExportPolicyDenies, []string{"has no exportPolicy", "ignores trident.netapp.io/exportPolicy"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := withTrident(t)
			w.array.backend.StorageDriverName, w.array.backend.ExportPolicy = tc.backend.StorageDriverName, tc.backend.ExportPolicy
			w.create("demo", append([]gen.Mod{w.backend(tc.pools...)}, tc.mods...)...)
			b := w.settle("demo")
			w.wantPhase(b, v1alpha1.PhaseFailed, tc.says...)
			w.wantCondition(b, v1alpha1.ConditionSucceeded, "False", tc.reason)
			w.wantMade()
			if c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionStorageProvisioned); c.Reason != v1alpha1.ReasonPending {
				t.Errorf("there was a volume: %+v", c)
			}
		})
	}
}

func TestWhatTheProvisionerSaysIsInTheConditionWhileItTriesAgain(t *testing.T) {
	t.Parallel()
	w := withTrident(t)
	w.array.SetFaults(standin.Faults{Provisioning: "aggregate aggr1 is full"})
	w.create("demo", w.backend())
	w.turns()
	b := w.get("demo")
	w.wantPhase(b, v1alpha1.PhaseProvisioning, "aggregate aggr1 is full")
	w.wantCondition(b, v1alpha1.ConditionStorageProvisioned, "False", v1alpha1.ReasonProvisioningFailed)
	res, err := w.pass("demo")
	if err != nil || res.RequeueAfter < 5*time.Second {
		t.Errorf("looks again after %v (%v), want 5 s", res.RequeueAfter, err)
	}
	w.array.SetFaults(standin.Faults{})
	w.wantPhase(w.finish("demo"), v1alpha1.PhaseSucceeded)
}

func TestASlowTridentIsWaitedFor(t *testing.T) {
	t.Parallel()
	w := withTrident(t)
	w.array.SetFaults(standin.Faults{Slow: 5})
	w.create("demo", w.backend())
	w.wantPhase(w.finish("demo"), v1alpha1.PhaseSucceeded)
}

// TestABackendOfWhichTridentSaysNoResultIsWaitedForAsTheMessageSays.
func TestABackendOfWhichTridentSaysNoResultIsWaitedForAsTheMessageSays(t *testing.T) {
	t.Parallel()
	w := withTrident(t)
	w.create("demo", w.backend())
	w.settle("demo")
	config := w.ofTrident(trident.KindBackendConfig)[0]
	config.Object["status"] = map[string]any{"phase": "Unbound", "message": "it is unbound"}
	if err := w.c.Status().Update(t.Context(), &config); err != nil {
		t.Fatal(err)
	}
	b := w.settle("demo")
	w.wantPhase(b, v1alpha1.PhaseProvisioning, "waiting for Trident to bind TridentBackendConfig", "the run waits until")
	w.step(w.promised().Sub(w.clock.Now()))
	w.wantPhase(w.settle("demo"), v1alpha1.PhaseProvisioning)
	w.step(2 * time.Second) // the message has whole seconds
	w.wantPhase(w.settle("demo"), v1alpha1.PhaseFailed, "is Unbound after 5m", "it is unbound")
}
