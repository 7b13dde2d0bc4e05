package manifest_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/trident"
	"github.com/nfsbench/nfsbench/test/gen"
)

func TestObjectsOfATridentVolume(t *testing.T) {
	const uid = "9d1f8b1e-0000-4000-8000-000000000001"
	annotated := func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Storage.Trident.PVCAnnotations = map[string]v1alpha1.AnnotationValue{
			"trident.netapp.io/snapshotDirectory": "true", trident.ExportPolicyAnnotation: "oracle", // for this volume only
		}
	}
	backend := trident.BackendSpec{
		ManagementLIF: "10.0.9.1", DataLIF: "10.0.1.61", SVM: "svm1", CredentialsSecretName: "ontap", ExportPolicy: "pods",
	}
	cases := map[string][]gen.Mod{
		"trident-backend": {gen.TridentBackend("filer1", "aggr1", "n2.ssd"), gen.Version(bench.NFSv41), gen.Kernel, annotated},
		"trident-class":   {gen.TridentClass("gold")},
	}
	for name, mods := range cases {
		t.Run(name, func(t *testing.T) {
			b := gen.Benchmark("demo", append(mods, gen.UID(uid))...)
			list := []runtime.Object{manifest.TridentClaim(b)}
			if b.Spec.Storage.Trident.BackendName != "" {
				list = append(list, manifest.TridentClass(b, backend), manifest.TridentBackendConfig(b, "trident", backend))
			}
			compareObjects(t, name, list)
		})
	}
}

// Names of backends and classes are shared by all namespaces.
func TestNamesOfBackendsMeetNowhere(t *testing.T) {
	seen := map[string]bool{}
	for _, b := range []*v1alpha1.NFSBenchmark{
		gen.Benchmark("c", gen.In("a-b"), gen.UID("1")), gen.Benchmark("b-c", gen.In("a"), gen.UID("2")),
		gen.Benchmark("c", gen.In("a-b"), gen.UID("3")), // made again
		gen.Benchmark("a.long-name-that-goes-on-for-more-than-a-label-may-hold", gen.In("and-a-long-namespace-as-well"), gen.UID("4")),
	} {
		name := manifest.TridentName(b)
		if seen[name] || len(validation.IsDNS1123Label(name)) > 0 {
			t.Errorf("name %q of %s/%s is taken or none", name, b.Namespace, b.Name)
		}
		seen[name] = true
	}
}
