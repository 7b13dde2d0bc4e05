package manifest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/pod-security-admission/api"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/test/gen"
)

type pod struct {
	name string
	meta metav1.ObjectMeta
	spec corev1.PodSpec
}

// pods are those of objects, of Jobs too.
func pods(list []runtime.Object) []pod {
	var out []pod
	for _, o := range list {
		switch v := o.(type) {
		case *corev1.Pod:
			out = append(out, pod{v.Name, v.ObjectMeta, v.Spec})
		case *batchv1.Job:
			out = append(out, pod{v.Name, v.Spec.Template.ObjectMeta, v.Spec.Template.Spec})
		}
	}
	return out
}

func TestPodsMeetTheRestrictedStandard(t *testing.T) {
	for name, b := range inputs(t) {
		list := pods(objects(t, b))
		if len(list) < 2 && manifest.CleansFiles(b) || len(list) == 0 {
			t.Errorf("%s has %d pods only", name, len(list))
		}
		for _, p := range list {
			withoutPrivileged(&p.spec)
			if no := violations(t, p, api.LevelRestricted); len(no) > 0 {
				t.Errorf("%s: pod %s: %q", name, p.name, no)
			}
		}
	}
}

func TestOnlyWhoPublishesHasAToken(t *testing.T) {
	for name, b := range inputs(t) {
		for _, p := range pods(objects(t, b)) {
			if p.spec.AutomountServiceAccountToken == nil || *p.spec.AutomountServiceAccountToken {
				t.Errorf("%s: pod %s mounts a token into every container", name, p.name)
			}
			for _, c := range slices.Concat(p.spec.InitContainers, p.spec.Containers) {
				if has := hasToken(p, c); has != (c.Name == manifest.ContainerCollector || c.Name == manifest.ContainerSurvey) {
					t.Errorf("%s: container %s of pod %s: token %t", name, c.Name, p.name, has)
				}
			}
		}
	}
}

func TestOnlyTheLoaderMayWriteTheVolume(t *testing.T) {
	for name, b := range inputs(t) {
		if b.Spec.Database != nil {
			continue // another container does the I/O
		}
		for _, p := range pods(objects(t, b)) {
			for _, c := range slices.Concat(p.spec.InitContainers, p.spec.Containers) {
				for _, m := range c.VolumeMounts {
					if m.MountPath == "/mnt/nfsbench" && m.ReadOnly != (c.Name == manifest.ContainerCollector) {
						t.Errorf("%s: container %s mounts the data read-only: %t", name, c.Name, m.ReadOnly)
					}
				}
			}
		}
	}
}

// hostileNames are names that the API server takes for a benchmark.
func hostileNames() []string {
	long := strings.Repeat("a", 63)
	return []string{
		"a", "0", "demo", "demo-plan", "demo-result", "demo.plan", "demo-path-0", "a.b.c", "a-b-c", "a.b-c", long,
		long + "." + long + "." + long, long + "." + long + "." + long[:62] + "b",
		strings.Repeat("a", 43), strings.Repeat("a", 44), strings.Repeat("a", 38) + ".aaaaa", strings.Repeat("a", 39) + "-aaaaaaaaaaaaaaa", "1.2.3.4",
	}
}

func TestNamesOfHostileBenchmarks(t *testing.T) {
	seen := map[string]string{}
	for i, name := range hostileNames() {
		for _, mods := range map[string][]gen.Mod{
			"embedded": {gen.Embedded("1Gi", 2)}, "volume": {gen.Kernel},
		} {
			b := gen.Benchmark(name, append(mods, gen.UID(fmt.Sprint("uid-", i)))...)
			for _, o := range objects(t, b) {
				m, err := meta.Accessor(o)
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range validation.IsDNS1035Label(m.GetName()) {
					t.Errorf("%s of %q: %s", m.GetName(), name, p)
				}
				for k, v := range m.GetLabels() {
					for _, p := range validation.IsValidLabelValue(v) {
						t.Errorf("label %s of %q: %s", k, name, p)
					}
				}
				if strings.HasPrefix(m.GetName(), "nfsb-target-") {
					continue // benchmarks of one target share it
				}
				id := kindOf(t, o).Kind + " " + m.GetName()
				if was, ok := seen[id]; ok && was != name {
					t.Errorf("%q and %q both make %s", was, name, id)
				}
				seen[id] = name
			}
		}
	}
}

func TestTargetsHaveLeasesOfTheirOwn(t *testing.T) {
	seen := map[string]string{}
	for _, key := range []string{
		"claim/a/b-c", "claim/a-b/c", "claim/a/b.c", "server/10.0.1.61", "server/10.0.16.1", "server/fd00::1", "server/fd00--1",
		"embedded/a/b", "server/" + strings.Repeat("x", 250), "server/" + strings.Repeat("x", 249) + "y",
	} {
		name := manifest.LeaseName(key)
		if was, ok := seen[name]; ok {
			t.Errorf("%q and %q share %s", was, key, name)
		}
		seen[name] = key
		for _, p := range validation.IsDNS1035Label(name) {
			t.Errorf("%s of %q: %s", name, key, p)
		}
	}
}

func TestTheShaperOfAnEmulatedLink(t *testing.T) {
	cases := map[string]struct {
		reason string
		mods   []gen.Mod
		want   string
	}{
		"Declared":   {"Two links of 10G; frames count without 24 of their bytes: 20G x 9014 / 9038, to a millionth", []gen.Mod{gen.Embedded("1Gi", 2), gen.Link("10G", 9000)}, "19946882292"},
		"Undeclared": {"Nobody said what the link is", []gen.Mod{gen.Embedded("1Gi", 2)}, ""},
		"Real":       {"A real link is not shaped", []gen.Mod{gen.Link("10G", 1500)}, ""},
	}
	for name, tc := range cases {
		b := gen.Benchmark("demo", tc.mods...)
		for _, p := range pods(objects(t, b)) {
			if strings.HasSuffix(p.name, "-clean") {
				continue
			}
			if got := p.meta.Annotations["kubernetes.io/ingress-bandwidth"]; got != tc.want {
				t.Errorf("%s: %s: pod %s is shaped to %q, want %q", name, tc.reason, p.name, got, tc.want)
			}
		}
	}
}

func TestEverythingIsOwnedByItsBenchmark(t *testing.T) {
	for name, b := range inputs(t) {
		for _, o := range objects(t, b) {
			m, err := meta.Accessor(o)
			if err != nil {
				t.Fatal(err)
			}
			if m.GetLabels()[manifest.LabelUID] != string(b.UID) || m.GetLabels()[manifest.LabelManagedBy] != manifest.ManagedBy {
				t.Errorf("%s: %s does not say whose it is: %v", name, m.GetName(), m.GetLabels())
			}
			_, volume := o.(*corev1.PersistentVolume)
			free := volume || strings.HasPrefix(m.GetName(), "nfsb-target-") // outlive a namespace's owner; the finalizer removes them
			if owner := metav1.GetControllerOf(m); (owner == nil) != free || owner != nil && owner.Kind != "NFSBenchmark" {
				t.Errorf("%s: the owner of %s is %+v", name, m.GetName(), owner)
			}
		}
	}
	if n := manifest.NamesOf(&v1alpha1.NFSBenchmark{}); n.Base == "" {
		t.Error("no base")
	}
}

// TestNobodyFindsATargetWithTheLeaseOfAnother: these two have the same FNV-1a hash, and the same name without one.
func TestNobodyFindsATargetWithTheLeaseOfAnother(t *testing.T) {
	t.Parallel()
	if a, b := manifest.LeaseName("server/10.0.0.5"), manifest.LeaseName("server/10:..:___::_:0.0..:_.::_::.5"); a == b {
		t.Errorf("both have Lease %s", a)
	}
	const digits = 24 // of a hash of which nobody finds another key
	if name := manifest.LeaseName("server/10.0.0.5"); len(name)-strings.LastIndex(name, "-")-1 < digits {
		t.Errorf("%s has fewer than %d digits of a hash", name, digits)
	}
}
