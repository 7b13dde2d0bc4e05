package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/test/gen"
)

// samples are the benchmarks of config/samples, by name.
func samples(t *testing.T) map[string]*v1alpha1.NFSBenchmark {
	t.Helper()
	out := map[string]*v1alpha1.NFSBenchmark{}
	root := filepath.Join("..", "..", "config", "samples")
	for _, pattern := range []string{"*.yaml", filepath.Join("*", "*.yaml")} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for document := range strings.SplitSeq(string(text), "\n---\n") {
				b := &v1alpha1.NFSBenchmark{}
				if err := yaml.Unmarshal([]byte(document), b); err != nil {
					t.Fatal(err)
				}
				if b.Kind == "NFSBenchmark" {
					out[b.Name] = b
				}
			}
		}
	}
	return out
}

// sampleTarget is a storage as the sample says that it is.
func sampleTarget(t *testing.T, b *v1alpha1.NFSBenchmark) plan.Target {
	t.Helper()
	to := plan.Target{Export: "/vol/pv", Addresses: []string{"10.0.1.61"}}
	if e := b.Spec.Storage.Export; e != nil {
		to.Export, to.Addresses = e.Path, e.Servers
	}
	if a := b.Spec.Storage.Array; a != nil && a.ONTAP != nil {
		s := gen.Survey(to.Export, "10.0.1.61", "10.0.2.61")
		to.Survey = &s
	}
	paths, err := plan.SelectPaths(b.Spec, to.Addresses, to.Survey)
	if err != nil {
		t.Fatalf("%s: %v", b.Name, err)
	}
	to.Paths = paths
	if plan.NeedsVolume(b) {
		to.ClaimName = manifest.NamesOf(b).Claim
	}
	return to
}

// TestTheAPIServerAcceptsTheObjectsOfEverySample goes from what a user applies to
// the pods, with the defaults of a real API server in between.
func TestTheAPIServerAcceptsTheObjectsOfEverySample(t *testing.T) {
	t.Parallel()
	c := apiClient(t)
	ns := newNamespace(t, c)
	databases := 0
	all := samples(t)
	for name, b := range all {
		b.Namespace = ns
		if err := c.Create(t.Context(), b, client.DryRunAll); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		to := sampleTarget(t, b)
		p, err := plan.Build(b, to)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		images := manifest.Images{NFSBench: "registry.example/nfsbench:v1", PullPolicy: corev1.PullIfNotPresent}
		objects := []client.Object{manifest.LoadJob(b, p, to.ClaimName, images)}
		if to.ClaimName != "" {
			objects = append(objects, manifest.Volume(b, to.Paths[0].Path, to.Export), manifest.Claim(b))
		}
		if manifest.CleansFiles(b) {
			objects = append(objects, manifest.CleanJob(b, to.ClaimName, images))
		} else {
			databases++
		}
		for _, o := range objects {
			if err := c.Create(t.Context(), o, client.DryRunAll); err != nil {
				t.Errorf("%s: %T %s: %v", name, o, o.GetName(), err)
			}
		}
	}
	if len(all) < 20 || databases < 8 {
		t.Errorf("%d samples, %d with a database: does this test still read them?", len(all), databases)
	}
}
