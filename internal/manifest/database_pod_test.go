package manifest_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/trident"
	"github.com/nfsbench/nfsbench/test/gen"
)

func TestMemoryOfADatabase(t *testing.T) {
	cpu := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}
	cases := map[string]struct {
		mods     []containerMod
		request  string
		limit    string
		sharedMi int64
	}{
		"Default":    {nil, "4Gi", "", 2048},
		"Limit":      {[]containerMod{memoryLimit("16Gi")}, "", "16Gi", 8192},
		"CPULimit":   {[]containerMod{func(c *v1alpha1.DatabaseContainer) { c.Resources = &corev1.ResourceRequirements{Limits: cpu} }}, "4Gi", "", 2048},
		"CPURequest": {[]containerMod{func(c *v1alpha1.DatabaseContainer) { c.Resources = &corev1.ResourceRequirements{Requests: cpu} }}, "4Gi", "", 2048},
	}
	for name, tc := range cases {
		b := gen.Benchmark("demo", gen.Calibrate(1), gen.Container(enterprise19, v1alpha1.EditionEnterprise, tc.mods...))
		before := b.DeepCopy()
		p := loadPod(t, b)
		if diff := cmp.Diff(before, b); diff != "" {
			t.Errorf("%s: building changes the benchmark:\n%s", name, diff)
		}
		r := databaseOf(p).Resources
		request, limit := r.Requests[corev1.ResourceMemory], r.Limits[corev1.ResourceMemory]
		if (request.String() != tc.request && tc.request != "") || (limit.String() != tc.limit && tc.limit != "") {
			t.Errorf("%s: asks for %s, limited to %s", name, request.String(), limit.String())
		}
		at := slices.IndexFunc(p.spec.Volumes, func(v corev1.Volume) bool { return v.Name == "memory" })
		if e := p.spec.Volumes[at].EmptyDir; e.Medium != corev1.StorageMediumMemory || e.SizeLimit.Value() != tc.sharedMi<<20 {
			t.Errorf("%s: /dev/shm is %+v", name, e)
		}
	}
}

func TestARunInADatabaseHasTheTimeToStartIt(t *testing.T) {
	b := gen.Benchmark("demo", gen.Calibrate(1), gen.Container(enterprise19, v1alpha1.EditionEnterprise))
	p, err := plan.Build(b, plan.Target{Export: "/x", Paths: []bench.ResolvedPath{{Path: "10.0.1.61"}}})
	if err != nil {
		t.Fatal(err)
	}
	job := manifest.LoadJob(b, p, "data", images())
	if got, want := *job.Spec.ActiveDeadlineSeconds, int64(p.Schedule.TimeoutSeconds)+60+2700; got != want {
		t.Errorf("ended after %d s, want %d", got, want)
	}
	if manifest.CleansFiles(b) || !manifest.CleansFiles(gen.Benchmark("demo")) {
		t.Error("the files of a database are the database's, and no others are")
	}
}

// TestTheHoldOfARunHasAllThatItsPodsMayTake: policy.limits.maxHold bounds the start and the end of a database, too.
func TestTheHoldOfARunHasAllThatItsPodsMayTake(t *testing.T) {
	b := gen.Benchmark("demo", gen.Calibrate(1), gen.Container(enterprise19, v1alpha1.EditionEnterprise,
		func(c *v1alpha1.DatabaseContainer) { c.StartupTimeoutSeconds, c.ShutdownTimeoutSeconds = 14_400, 3600 }))
	b.Spec.Run.TimeoutSeconds = new(int32(3600))
	p, err := plan.Build(b, plan.Target{Export: "/x", Paths: []bench.ResolvedPath{{Path: "10.0.1.61"}}})
	if err != nil {
		t.Fatal(err)
	}
	const slack = 2 * time.Minute // to publish, twice
	job := manifest.LoadJob(b, p, "data", images())
	pods := time.Duration(*job.Spec.ActiveDeadlineSeconds+*job.Spec.Template.Spec.TerminationGracePeriodSeconds) * time.Second
	if hold, _, _ := plan.HoldTime(b, p); hold+slack < pods {
		t.Errorf("the pods may take %s, and the policy allows a run of %s", pods, hold)
	}
}

func TestTheClassOfADatabasesVolumeHasItsTransferSizes(t *testing.T) {
	b := gen.Benchmark("demo", gen.Calibrate(1), gen.Container(enterprise19, v1alpha1.EditionEnterprise))
	b.Spec.Storage = v1alpha1.Storage{Trident: &v1alpha1.TridentStorage{BackendName: "filer1"}}
	if got := manifest.TridentClass(b, trident.BackendSpec{}).MountOptions; !slices.Contains(got, "rsize=262144") || !slices.Contains(got, "wsize=262144") {
		t.Errorf("mount options %q", got)
	}
}
