package e2e

import (
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

type failure struct {
	benchmark *v1alpha1.NFSBenchmark
	reason    string
	words     []string
}

// TestWhatCannotWorkFailsAndSaysWhy applies everything at once, for none of it comes
// as far as a load, and then looks at each. That nobody waits longer than a minute for
// a reason is tested in test/integration, where time is not that of a busy machine.
func TestWhatCannotWorkFailsAndSaysWhy(t *testing.T) {
	p := newPlot(t, 4)
	name := func(n string, mods ...gen.Mod) *v1alpha1.NFSBenchmark { return p.benchmark(n, mods...) }
	cases := map[string]failure{
		"the export path is wrong": {
			// Ganesha answers "access denied" here too, so both causes are named.
			name("wrong-path", gen.Export("/export/nowhere", p.lifs[0])), runfile.FailureAccessDenied,
			[]string{"/export/nowhere", "does not list it", "lists " + p.export},
		},
		"nobody has the address of the LIF": {
			name("unreachable", gen.Export(p.export, p.unreachable)), runfile.FailureUnreachable, []string{p.unreachable},
		},
		"the LIF says nothing": {
			name("silent", gen.Export(p.export, p.silent), mountTimeout(10)), runfile.FailureUnreachable, []string{p.silent},
		},
		"the image cannot be pulled": {
			name("no-image", gen.Embedded("1Gi", 1), image("registry.invalid/nfsbench:nowhere")),
			v1alpha1.ReasonImagePullFailed,
			[]string{"registry.invalid/nfsbench:nowhere", "image name", "registry"},
		},
		"the export has less space than the files take": {
			name("no-space", fileSize("64Ti"), func(b *v1alpha1.NFSBenchmark) {
				b.Spec.Run.TimeoutSeconds = new(int32(600)) // the policy refuses the time to fill them
			}), runfile.FailureNoSpace, []string{"make the files smaller"},
		},
		// What to check depends on whether the node can speak NFS at all.
		"a kernel mount does not come about": {
			name("no-mount", gen.Export("/export/nowhere", p.lifs[1]), gen.Kernel),
			v1alpha1.ReasonMountFailed,
			[]string{"cannot be mounted", "NFS"},
		},
	}
	for _, f := range cases {
		p.create(t, f.benchmark)
	}
	for what, f := range cases {
		t.Run(what, func(t *testing.T) {
			wantFailure(t, p.finished(t, f.benchmark), f.reason, f.words...)
			p.cleanedUp(t, f.benchmark)
		})
	}
}

func mountTimeout(seconds int32) gen.Mod {
	return func(b *v1alpha1.NFSBenchmark) { b.Spec.Protocol.MountTimeoutSeconds = seconds }
}

func image(name string) gen.Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		modest(b)
		b.Spec.Pods.Image = name
	}
}

// TestOneSilentLIFOfTwoIsNamed holds what Direct NFS does: it goes on with the
// paths that it has. The result says which one it did without.
func TestOneSilentLIFOfTwoIsNamed(t *testing.T) {
	a := newPlot(t, 2)
	done := a.succeeded(t, a.run(t, gen.Export(a.export, a.silent, a.lifs[1]), mountTimeout(10)))
	f := finding(done, judge.PathUnused)
	if f == nil {
		t.Fatalf("no finding %s: %+v", judge.PathUnused, done.Status.Findings)
	}
	mustSay(t, f.Message, a.silent)
	if done.Status.Validity != bench.ValiditySuspect {
		t.Errorf("validity is %s", done.Status.Validity)
	}
	for _, p := range done.Status.Paths {
		if carried := *p.ReadBytes > 0; carried != (p.Path == a.lifs[1]) {
			t.Errorf("path %s read %d bytes", p.Path, *p.ReadBytes)
		}
	}
	blocksVerified(t, done)
	// Two paths were declared and one was seen, which the condition says too.
	cond := meta.FindStatusCondition(done.Status.Conditions, v1alpha1.ConditionProtocolVerified)
	if cond == nil || cond.Status != metav1.ConditionFalse {
		t.Fatalf("ProtocolVerified is %+v", cond)
	}
	mustSay(t, cond.Message, a.silent)
}

// TestVolumeThatIsNotNFS is refused, unless the user wants it measured.
func TestVolumeThatIsNotNFS(t *testing.T) {
	c := newCluster(t)
	needNodeHere(t, c)
	t.Parallel()
	ns := c.namespace(t)
	run := func(name string, mod gen.Mod) (b *v1alpha1.NFSBenchmark, folder string) {
		folder = c.localClaim(t, ns, name)
		return c.create(t, gen.Benchmark(name, gen.In(ns), gen.Claim(name), gen.Kernel, quick, fileSize("16Mi"), mod)), folder
	}
	refused, _ := run("refused", func(*v1alpha1.NFSBenchmark) {})
	measured, folder := run("measured", func(b *v1alpha1.NFSBenchmark) { b.Spec.Storage.Claim.NonNFS = v1alpha1.NonNFSMeasure })

	wantFailure(t, c.finished(t, refused), runfile.FailureNotNFS, "nonNFS")
	done := c.succeeded(t, measured)
	if f := finding(done, judge.NotNFS); f == nil || done.Status.Validity != bench.ValiditySuspect {
		t.Errorf("validity %s, findings %+v", done.Status.Validity, done.Status.Findings)
	}
	if got := files(t, folder); len(got) != 0 {
		t.Errorf("the run left %v on the volume", got)
	}
}

// localClaim makes a claim with a folder of this machine behind it.
func (c *cluster) localClaim(t *testing.T, ns, name string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	if err := os.Chmod(folder, 0o777); err != nil { //nolint:gosec // pods run as another user
		t.Fatal(err)
	}
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	pv := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: ns + "-" + name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: size, AccessModes: modes, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			ClaimRef:               &corev1.ObjectReference{Namespace: ns, Name: name},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: folder}},
		},
	}
	pvc := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: modes, StorageClassName: new(string), VolumeName: pv.Name,
			Resources: corev1.VolumeResourceRequirements{Requests: size},
		},
	}
	if err := c.Create(t.Context(), pv); err != nil {
		t.Fatal(err)
	}
	c.deleteAtEnd(t, pv)
	if err := c.Create(t.Context(), pvc); err != nil {
		t.Fatal(err)
	}
	return folder
}
