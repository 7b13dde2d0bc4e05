package e2e

import (
	"context"
	"os/exec"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/test/gen"
	"github.com/nfsbench/nfsbench/test/lab/csi"
)

// classes are two StorageClasses of the stand-in for csi-driver-nfs, each over its own LIF.
func (w *oracleWorld) classes(t *testing.T) (immediate, late string) {
	t.Helper()
	names := []string{w.ns + "-immediate", w.ns + "-late"}
	modes := []storagev1.VolumeBindingMode{storagev1.VolumeBindingImmediate, storagev1.VolumeBindingWaitForFirstConsumer}
	remove := corev1.PersistentVolumeReclaimDelete
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var ends []chan error
	for i, name := range names {
		class := &storagev1.StorageClass{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: csi.Driver, VolumeBindingMode: &modes[i], ReclaimPolicy: &remove,
			Parameters: map[string]string{"server": w.lifs[i], "share": w.export}, MountOptions: []string{"nfsvers=3"},
		}
		if err := w.Create(t.Context(), class); err != nil {
			t.Fatal(err)
		}
		w.deleteAtEnd(t, class)
		end := make(chan error, 1)
		ends = append(ends, end)
		go func() { end <- csi.Provisioner{Client: w.Client, Class: name, Folder: published.folder}.Run(ctx) }()
	}
	t.Cleanup(func() {
		cancel()
		for _, end := range ends {
			if err := <-end; err != nil {
				t.Error(err)
			}
		}
	})
	return names[0], names[1]
}

// noVolumes demands that no volume of the classes is left, and no directory of one.
func (w *oracleWorld) noVolumes(t *testing.T, classes ...string) {
	t.Helper()
	list := &corev1.PersistentVolumeList{}
	if err := w.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	for _, v := range list.Items {
		if slices.Contains(classes, v.Spec.StorageClassName) {
			t.Errorf("volume %s of class %s is left, %s", v.Name, v.Spec.StorageClassName, v.Status.Phase)
		}
	}
}

// TestAStorageClassIsMeasured over NFS, with a class of either binding mode, by a manifest and by the
// plugin.
func TestAStorageClassIsMeasured(t *testing.T) {
	c := newCluster(t)
	needNodeHere(t, c)
	t.Parallel()
	w := &oracleWorld{cluster: c, array: shared.take(t, 2)}
	w.serve(t)
	w.ns = c.namespace(t)
	immediate, late := w.classes(t)
	small := func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Workload.Raw.Jobs, b.Spec.Workload.Raw.Depth = 1, 2
	}
	for i, class := range []string{immediate, late} {
		b := gen.Benchmark("class", gen.In(w.ns), gen.StorageClass(class), seconds(3), fileSize("16Mi"), small, modest)
		b.Name = []string{"immediate", "late"}[i]
		if err := w.Create(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		done := w.succeeded(t, b)
		if p := done.Status.Resolved.Paths; len(p) != 1 || p[0].Path != w.lifs[i] {
			t.Errorf("%s: paths %+v, want %s", b.Name, p, w.lifs[i])
		}
		w.cleanedUp(t, b)
		w.noVolumes(t, class)
	}

	plugin := buildPlugin(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	args := []string{
		"run", "-n", w.ns, "--storage-class", immediate, "--size", "128Mi", "--duration", "5s",
	}
	out, err := exec.CommandContext(ctx, plugin, args...).CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
	mustHaveLines(t, string(out), "Removing class-"+immediate+"-")
	w.noVolumes(t, immediate)
	list := &v1alpha1.NFSBenchmarkList{}
	if err := w.List(t.Context(), list); err != nil || slices.ContainsFunc(list.Items, func(b v1alpha1.NFSBenchmark) bool { return b.GenerateName != "" && b.Namespace == w.ns }) {
		t.Errorf("benchmarks are left: %v", err)
	}
}
