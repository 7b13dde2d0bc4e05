package integration

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/trident"
	"github.com/nfsbench/nfsbench/test/gen"
	standin "github.com/nfsbench/nfsbench/test/trident"
)

// claim makes a claim named data that is bound to a volume with this source; a nil source
// leaves it unbound.
func (w *world) claim(source *corev1.PersistentVolumeSource) {
	w.Helper()
	const name = "data"
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	none := ""
	pvc := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: modes, StorageClassName: &none, Resources: corev1.VolumeResourceRequirements{Requests: size},
		},
	}
	if source != nil {
		pvc.Spec.VolumeName = w.ns + "-" + name
		pv := &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: pvc.Spec.VolumeName},
			Spec: corev1.PersistentVolumeSpec{
				Capacity: size, AccessModes: modes, PersistentVolumeSource: *source,
				ClaimRef: &corev1.ObjectReference{Namespace: w.ns, Name: name},
			},
		}
		if err := w.c.Create(w.Context(), pv); err != nil {
			w.Fatal(err)
		}
	}
	if err := w.c.Create(w.Context(), pvc); err != nil {
		w.Fatal(err)
	}
	if source != nil {
		w.bindClaim(name)
		return
	}
	w.patchStatus(pvc, func() { pvc.Status.Phase = corev1.ClaimPending })
}

func nfs(server string) *corev1.PersistentVolumeSource {
	return &corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: server, Path: "/vol/pv"}}
}

func csi(driver string, attributes map[string]string) *corev1.PersistentVolumeSource {
	return &corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: "x", VolumeAttributes: attributes}}
}

func TestABoundClaimIsResolvedToItsExport(t *testing.T) {
	t.Parallel()
	address := newAddress()
	cases := map[string]struct {
		source *corev1.PersistentVolumeSource
		export string
	}{
		"NFS":       {nfs(address), "/vol/pv"},
		"CSI":       {csi("nfs.csi.k8s.io", map[string]string{"server": newAddress(), "share": "/vol/a"}), "/vol/a"},
		"CSISubdir": {csi("nfs.csi.k8s.io", map[string]string{"server": newAddress(), "share": "/vol/a", "subdir": "b"}), "/vol/a/b"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.claim(tc.source)
			w.create("demo", gen.Claim("data"))
			b := w.finish("demo")
			w.wantPhase(b, v1alpha1.PhaseSucceeded)
			if got := b.Status.Resolved; got.Export != tc.export || len(got.Paths) != 1 {
				t.Errorf("resolved to %+v, want export %q over one path", got, tc.export)
			}
			if b.Status.Resolved.Oranfstab == "" {
				t.Error("the oranfstab is not shown")
			}
			if !w.find("data", &corev1.PersistentVolumeClaim{}) {
				t.Error("the user's claim is gone")
			}
		})
	}
}

func TestAClaimOfTheKernelClientIsMounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.claim(nil) // late binding: our pod makes it bind
	w.create("demo", gen.Claim("data"), gen.Kernel)
	w.settle("demo")
	b := w.finish("demo")
	w.wantPhase(b, v1alpha1.PhaseSucceeded)
}

func TestAClaimThatIsNotReadyIsWaitedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("demo", gen.Claim("data"))
	b := w.settle("demo")
	w.wantPhase(b, v1alpha1.PhasePending, `no PersistentVolumeClaim "data"`, "create it")
	w.wantCondition(b, v1alpha1.ConditionReconciling, "True", v1alpha1.ReasonClaimNotFound)
	res, err := w.pass("demo")
	if err != nil || res.RequeueAfter == 0 {
		t.Errorf("nothing wakes the run again: %+v, %v", res, err)
	}
	w.claim(nil)
	b = w.settle("demo")
	w.wantPhase(b, v1alpha1.PhasePending, "not Bound", "kubectl describe pvc data")
	w.wantCondition(b, v1alpha1.ConditionSucceeded, "Unknown", v1alpha1.ReasonClaimNotBound)
}

func TestAVolumeThatIsNotNFSIsRefused(t *testing.T) {
	t.Parallel()
	t.Run("HostPath", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.claim(&corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/x"}})
		w.create("demo", gen.Claim("data"))
		w.wantFailed(runfile.FailureNotNFS, "neither NFS nor of a CSI driver", "spec.storage.export")
	})
	t.Run("OtherCSI", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.claim(csi("ebs.csi.example", map[string]string{"type": "gp3"}))
		b := w.create("demo", gen.Claim("data"))
		w.mounted(b, 1, "nfsbench: /data is on a file system of type ext4 (/dev/sdb), not NFS")
		w.wantFailed(runfile.FailureNotNFS, "does not say which NFS export", "ext4", "spec.storage.export")
	})
}

// mounted plays the pod that mounts a claim and says which export it is.
func (w *world) mounted(b *v1alpha1.NFSBenchmark, code int32, message string) {
	w.Helper()
	w.settle(b.Name)
	job := &batchv1.Job{}
	if !w.find(manifest.NamesOf(b).Mount, job) {
		w.Fatalf("no pod mounts the claim: %s", w.get(b.Name).Status.Message)
	}
	w.startPods(job)
	pods := &corev1.PodList{}
	if err := w.c.List(w.Context(), pods, client.InNamespace(w.ns), client.MatchingLabels(manifest.Labels(b, manifest.ComponentMount))); err != nil {
		w.Fatal(err)
	}
	w.podStatus(&pods.Items[0], func(s *corev1.PodStatus) {
		s.ContainerStatuses = []corev1.ContainerStatus{{
			Name: manifest.ComponentMount, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: message}},
		}}
	})
}

func TestAVolumeOfAnyDriverIsFoundByItsMount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.claim(csi("pxd.portworx.com", map[string]string{"backend": "pure_file"}))
	b := w.create("demo", gen.Claim("data"))
	address := newAddress()
	w.mounted(b, 0, `{"server": "`+address+`", "path": "/pvc-1"}`)
	b = w.finish("demo")
	w.wantPhase(b, v1alpha1.PhaseSucceeded)
	if rs := b.Status.Resolved; rs.Export != "/pvc-1" || len(rs.Paths) != 1 || rs.Paths[0].Path != address {
		t.Errorf("resolved to %+v", rs)
	}
}

func TestARunUnderWayDoesNotLookAtItsClaimAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.claim(nfs(newAddress()))
	w.create("demo", gen.Claim("data"))
	w.until("demo", v1alpha1.PhaseRunning)
	pvc := &corev1.PersistentVolumeClaim{}
	w.find("data", pvc)
	if err := w.c.Delete(w.Context(), pvc); err != nil {
		t.Fatal(err)
	}
	w.collectGarbage()
	w.wantPhase(w.settle("demo"), v1alpha1.PhaseRunning)
	b := w.finish("demo")
	w.wantPhase(b, v1alpha1.PhaseSucceeded)
	if b.Status.Resolved.Export == "" {
		t.Errorf("what was resolved is forgotten: %+v", b.Status.Resolved)
	}
}

// TestAClaimWhoseVolumeTridentDoesNotKnowEnds.
func TestAClaimWhoseVolumeTridentDoesNotKnowEnds(t *testing.T) {
	t.Parallel()
	w := withTrident(t)
	w.claim(csi(trident.Driver, nil))
	w.create("demo", gen.Claim("data"))
	w.step(time.Hour) // in the queue
	w.settle("demo")
	for _, wait := range []time.Duration{0, 4 * time.Minute} {
		w.step(wait)
		b := w.settle("demo")
		w.wantPhase(b, v1alpha1.PhasePending, "Trident has no TridentVolume", "the run waits until")
		w.wantCondition(b, v1alpha1.ConditionStorageProvisioned, "False", runfile.SurveyNoVolume)
	}
	w.step(2 * time.Minute)
	b := w.settle("demo")
	w.wantPhase(b, v1alpha1.PhaseFailed, "Trident has no TridentVolume")
	w.wantCondition(b, v1alpha1.ConditionStorageProvisioned, "False", runfile.SurveyNoVolume)
}

// TestEachGapInWhatTridentSaysHasItsFiveMinutes: an earlier one, and the time in the queue after it, do not count.
func TestEachGapInWhatTridentSaysHasItsFiveMinutes(t *testing.T) {
	t.Parallel()
	for name, storage := range map[string]func(class string) gen.Mod{
		"Claim":        func(string) gen.Mod { return gen.Claim("data") },
		"Class":        gen.StorageClass,
		"TridentClass": gen.TridentClass,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := withTrident(t)
			class := w.class(nil)
			w.userClaim(class)
			w.create("first", gen.Export("/vol/other", w.array.volumes.lif))
			w.until("first", v1alpha1.PhaseRunning)
			w.create("demo", storage(class))
			w.turns()
			w.wantPhase(w.get("demo"), v1alpha1.PhaseQueued)
			gap := standin.Faults{Offline: "LIF is down"}
			w.array.SetFaults(gap)
			w.turns()
			w.wantGap()
			w.array.SetFaults(standin.Faults{})
			w.turnsAfter(time.Minute)
			w.wantPhase(w.get("demo"), v1alpha1.PhaseQueued)
			w.step(time.Hour)
			w.array.SetFaults(gap)
			w.gapEnds()
		})
	}
}

// TestAGapAfterTheVolumeIsMadeHasItsFiveMinutes: the time that the volume took does not count.
func TestAGapAfterTheVolumeIsMadeHasItsFiveMinutes(t *testing.T) {
	t.Parallel()
	for name, storage := range map[string]func(class string) gen.Mod{"Class": gen.StorageClass, "TridentClass": gen.TridentClass} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := withTrident(t)
			w.create("demo", storage(w.class(nil)))
			w.settle("demo")
			w.step(4 * time.Minute)
			for _, f := range []standin.Faults{{}, {Offline: "LIF is down"}} { // the claim is bound, and then
				w.array.SetFaults(f)
				for w.array.step(w) != "" { //nolint:revive // until there is nothing to do
				}
			}
			w.gapEnds()
		})
	}
}

// gapEnds fails the test unless the benchmark waits five minutes for its backend, and then ends.
func (w *world) gapEnds() {
	w.Helper()
	w.turns()
	w.wantGap()
	w.turnsAfter(4 * time.Minute)
	w.wantGap()
	w.turnsAfter(2 * time.Minute)
	w.wantPhase(w.get("demo"), v1alpha1.PhaseFailed, "LIF is down")
}

// wantGap fails the test unless the benchmark waits for its backend, and says until when.
func (w *world) wantGap() {
	w.Helper()
	b := w.get("demo")
	w.wantPhase(b, b.Status.Phase, "LIF is down", "the run waits until")
	w.wantCondition(b, v1alpha1.ConditionStorageProvisioned, "False", v1alpha1.ReasonBackendFailed)
	w.wantCondition(b, v1alpha1.ConditionSucceeded, "Unknown", v1alpha1.ReasonBackendFailed)
}
