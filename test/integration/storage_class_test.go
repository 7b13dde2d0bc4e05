package integration

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/test/gen"
	standin "github.com/nfsbench/nfsbench/test/trident"
)

// plainClass makes a StorageClass of the world and gives its name.
func (w *world) plainClass(mode storagev1.VolumeBindingMode, reclaim corev1.PersistentVolumeReclaimPolicy, options ...string) string {
	w.Helper()
	class := &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: w.ns + "-plain"}, Provisioner: "nfs.csi.k8s.io",
		VolumeBindingMode: &mode, ReclaimPolicy: &reclaim, MountOptions: options,
	}
	if err := w.c.Create(w.Context(), class); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = w.c.Delete(context.WithoutCancel(w.Context()), class) })
	return class.Name
}

// provision makes the volume of the claim of a benchmark, as the provisioner of its class does.
func (w *world) provision(b *v1alpha1.NFSBenchmark, source *corev1.PersistentVolumeSource) *corev1.PersistentVolume {
	w.Helper()
	pvc := &corev1.PersistentVolumeClaim{}
	if !w.find(manifest.NamesOf(b).Claim, pvc) {
		w.Fatalf("%s has no claim", b.Name)
	}
	pv := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pvc-" + string(pvc.UID)},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}, AccessModes: pvc.Spec.AccessModes,
			PersistentVolumeSource: *source, StorageClassName: *pvc.Spec.StorageClassName,
			ClaimRef: &corev1.ObjectReference{Namespace: w.ns, Name: pvc.Name, UID: pvc.UID},
		},
	}
	if err := w.c.Create(w.Context(), pv); err != nil {
		w.Fatal(err)
	}
	pvc.Spec.VolumeName = pv.Name
	if err := w.c.Update(w.Context(), pvc); err != nil {
		w.Fatal(err)
	}
	w.bindClaim(pvc.Name)
	return pv
}

func TestAStorageClassGivesAVolumeForTheRun(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		mode storagev1.VolumeBindingMode
		mods []gen.Mod
	}{
		"Immediate":              {storagev1.VolumeBindingImmediate, nil},
		"Late":                   {storagev1.VolumeBindingWaitForFirstConsumer, nil},
		"late with kernel mount": {storagev1.VolumeBindingWaitForFirstConsumer, []gen.Mod{gen.Kernel}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			address := newAddress()
			class := w.plainClass(tc.mode, corev1.PersistentVolumeReclaimDelete, "nfsvers=3")
			w.create("demo", append(tc.mods, gen.StorageClass(class))...)
			b := w.settle("demo")
			w.wantPhase(b, v1alpha1.PhaseProvisioning, "waiting for nfs.csi.k8s.io to make the volume", "the run waits until")
			job := &batchv1.Job{}
			late := tc.mode == storagev1.VolumeBindingWaitForFirstConsumer
			if w.find(manifest.NamesOf(b).Mount, job) != late {
				t.Errorf("there is a consumer: %t, want %t", !late, late)
			}
			if late && job.Spec.Template.Spec.Volumes[0].PersistentVolumeClaim.ClaimName != manifest.NamesOf(b).Claim {
				t.Errorf("the consumer mounts %+v", job.Spec.Template.Spec.Volumes)
			}
			pv := w.provision(b, csi("nfs.csi.k8s.io", map[string]string{"server": address, "share": "/vol", "subDir": "x"}))
			b = w.until("demo", v1alpha1.PhaseRunning)
			if rs := b.Status.Resolved; rs.Export != "/vol/x" || rs.VolumeName != pv.Name || len(rs.Paths) != 1 || rs.Paths[0].Path != address {
				t.Errorf("resolved to %+v", rs)
			}
			if w.find(manifest.NamesOf(b).Mount, job) && job.DeletionTimestamp.IsZero() {
				t.Error("the consumer stays beside the load")
			}
			b = w.finish("demo")
			w.wantPhase(b, v1alpha1.PhaseSucceeded)
			w.wantCondition(b, v1alpha1.ConditionCleanedUp, "False", v1alpha1.ReasonCleaningUp)
			if w.find(manifest.NamesOf(b).Claim, &corev1.PersistentVolumeClaim{}) {
				t.Error("the claim stays")
			}
			if err := w.c.Delete(t.Context(), pv); err != nil { // as the provisioner does
				t.Fatal(err)
			}
			w.wantCondition(w.finish("demo"), v1alpha1.ConditionCleanedUp, "True", v1alpha1.ReasonCleanedUp)
		})
	}
}

func TestAVolumeOfAClassThatStaysIsReported(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("demo", gen.StorageClass(w.plainClass(storagev1.VolumeBindingImmediate, corev1.PersistentVolumeReclaimDelete)))
	pv := w.provision(w.settle("demo"), nfs(newAddress()))
	w.finish("demo")
	released := metav1.NewTime(w.clock.Now())
	w.patchStatus(pv, func() {
		pv.Status.Phase, pv.Status.Message, pv.Status.LastPhaseTransitionTime = corev1.VolumeFailed, "the server is away", &released
	})
	w.step(4 * time.Minute)
	b := w.finish("demo")
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionCleanedUp)
	if c == nil || c.Reason != v1alpha1.ReasonLeftBehind || !strings.Contains(c.Message, pv.Name) || !strings.Contains(c.Message, "server is away") {
		t.Errorf("CleanedUp is %+v", c)
	}
	if w.leases(b) != 0 {
		t.Error("the target is held for a volume that does not go")
	}
}

func TestAStorageClassThatDoesNotServeEndsTheRun(t *testing.T) {
	t.Parallel()
	immediate, remove := storagev1.VolumeBindingImmediate, corev1.PersistentVolumeReclaimDelete
	for name, tc := range map[string]struct {
		class  func(*world) string
		mods   []gen.Mod
		source *corev1.PersistentVolumeSource // nil = it never comes
		words  string
	}{
		"none": {func(*world) string { return "absent" }, nil, nil, `there is no StorageClass "absent"`},
		"Retain": {
			func(w *world) string { return w.plainClass(immediate, corev1.PersistentVolumeReclaimRetain) }, nil, nil, "reclaimPolicy Retain",
		},
		"another version": {
			func(w *world) string { return w.plainClass(immediate, remove, "vers=4.1") },
			[]gen.Mod{gen.Kernel},
			nil, "nfsvers=4.1, but spec.protocol.version NFSv3",
		},
		"another driver": {
			func(w *world) string { return w.plainClass(immediate, remove) }, nil, csi("disk.csi.example", nil), "CSI driver disk.csi.example",
		},
		"no volume": {func(w *world) string { return w.plainClass(immediate, remove) }, nil, nil, "is not bound after 5m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create("demo", append(tc.mods, gen.StorageClass(tc.class(w)))...)
			b := w.settle("demo")
			if name == "no volume" {
				pvc := &corev1.PersistentVolumeClaim{}
				w.find(manifest.NamesOf(b).Claim, pvc)
				w.tell(corev1.EventTypeNormal, "PersistentVolumeClaim", pvc, "ExternalProvisioning", "Waiting for a volume")
				w.step(20 * time.Second)
				w.wantPhase(w.settle("demo"), v1alpha1.PhaseProvisioning, "the provisioner has sent no event about the claim yet", "the run waits until")
				w.warn("PersistentVolumeClaim", pvc, "ProvisioningFailed", "the share is full")
				b = w.settle("demo")
				w.wantPhase(b, v1alpha1.PhaseProvisioning, "the share is full")
				w.step(6 * time.Minute)
				b = w.settle("demo")
			}
			if tc.source != nil {
				w.provision(b, tc.source)
				w.mounted(b, 1, "nfsbench: /data is on a file system of type ext4 (/dev/sdb), not NFS")
				b = w.settle("demo")
			}
			w.wantPhase(b, v1alpha1.PhaseFailed, tc.words)
		})
	}
}

// TestAVolumeOfAClassThatNoPodMountsEndsTheRun after 5 minutes, however long the volume took.
func TestAVolumeOfAClassThatNoPodMountsEndsTheRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("demo", gen.StorageClass(w.plainClass(storagev1.VolumeBindingImmediate, corev1.PersistentVolumeReclaimDelete)))
	b := w.settle("demo")
	w.step(4 * time.Minute)
	w.provision(b, csi("pxd.portworx.com", nil))
	for _, wait := range []time.Duration{0, 4 * time.Minute} {
		w.step(wait)
		w.wantPhase(w.settle("demo"), v1alpha1.PhaseProvisioning, "waiting for a pod that mounts claim", "the run waits until")
	}
	w.step(2 * time.Minute)
	w.wantPhase(w.settle("demo"), v1alpha1.PhaseFailed, "waiting for a pod that mounts claim")
}

// Two runs of one class are on one storage.
func TestRunsOfAStorageClassQueue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	class := w.plainClass(storagev1.VolumeBindingImmediate, corev1.PersistentVolumeReclaimDelete)
	w.create("first", gen.StorageClass(class))
	w.settle("first")
	b := w.create("second", gen.StorageClass(class))
	w.settle("second")
	w.wantQueued("second", 1, "first")
	if err := w.c.Get(t.Context(), client.ObjectKey{Namespace: w.ns, Name: manifest.NamesOf(b).Claim}, &corev1.PersistentVolumeClaim{}); err == nil {
		t.Error("a run that waits has a volume already")
	}
}

// TestAStorageClassOfTridentIsWaitedForAsTrident: it does something else first.
func TestAStorageClassOfTridentIsWaitedForAsTrident(t *testing.T) {
	t.Parallel()
	w := withTrident(t)
	class := w.class(nil)
	w.busy(nil)
	w.create("demo", gen.StorageClass(class))
	w.turns()
	w.turnsAfter(9 * time.Minute)
	b := w.get("demo")
	w.wantPhase(b, v1alpha1.PhaseProvisioning, "works on TridentBackendConfig", "the run waits until")
	w.wantCondition(b, v1alpha1.ConditionStorageProvisioned, "Unknown", v1alpha1.ReasonTridentBusy)
	w.array.SetFaults(standin.Faults{})
	w.succeedsWithItsVolume()
}

// TestAStorageClassOfTridentNeedsNoRightsThere: the operator may run without trident.enabled.
func TestAStorageClassOfTridentNeedsNoRightsThere(t *testing.T) {
	t.Parallel()
	w := withTrident(t)
	class := w.class(nil)
	w.array.SetFaults(standin.Faults{Provisioning: "aggregate aggr1 is full"})
	w.faults.refused = func(kind string) error {
		if strings.HasPrefix(kind, "Trident") || kind == "Deployment" {
			return apierrors.NewForbidden(schema.GroupResource{Resource: kind}, "", errors.New("no"))
		}
		return nil
	}
	w.create("demo", gen.StorageClass(class), gen.Kernel)
	w.turns()
	w.turnsAfter(20 * time.Second)
	w.wantPhase(w.get("demo"), v1alpha1.PhaseProvisioning, "aggregate aggr1 is full")
	w.array.SetFaults(standin.Faults{})
	w.succeedsWithItsVolume()
}

// TestAVolumeOfAClassWhoseProvisioningWasInterruptedIsNamed, because nobody else knows it.
func TestAVolumeOfAClassWhoseProvisioningWasInterruptedIsNamed(t *testing.T) {
	t.Parallel()
	storage := func(w *world) gen.Mod { return gen.StorageClass(w.class(nil)) }
	w, volume := orphaned(t, orphan{storage, nil}, v1alpha1.LeftoversWait)
	if w.get("demo") == nil {
		t.Fatal("it does not wait for the volume to go")
	}
	w.turnsAfter(4 * time.Minute)
	if b := w.get("demo"); b != nil {
		t.Errorf("it stays: %s", b.Status.Message)
	}
	want := "tridentctl -n " + w.array.ns + " delete volume " + volume
	if told := strings.Join(w.rec.events, "\n"); !strings.Contains(told, want) {
		t.Errorf("no event says %q:\n%s", want, told)
	}
}
