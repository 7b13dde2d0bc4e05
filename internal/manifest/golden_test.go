package manifest_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme" //nolint:depguard // names the kinds in the golden files
	"sigs.k8s.io/yaml"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
	"github.com/nfsbench/nfsbench/test/kit/golden"
)

func images() manifest.Images {
	return manifest.Images{NFSBench: "registry.example/nfsbench:v1", PullPolicy: corev1.PullIfNotPresent}
}

// objects are all that a run may create, in the order of their creation.
func objects(t *testing.T, b *v1alpha1.NFSBenchmark) []runtime.Object {
	t.Helper()
	return objectsOf(t, b, images())
}

func objectsOf(t *testing.T, b *v1alpha1.NFSBenchmark, images manifest.Images) []runtime.Object {
	t.Helper()
	var out []runtime.Object
	n := manifest.NamesOf(b)
	target := plan.Target{Keys: []string{"claim/" + b.Namespace + "/data"}}
	switch st := b.Spec.Storage; {
	case st.Embedded != nil:
		target = plan.Target{Export: manifest.ServerExport, Keys: []string{"embedded/" + b.Namespace + "/" + b.Name}}
		target.Paths = []bench.ResolvedPath{{Path: "10.96.0.1"}, {Path: "10.96.0.2"}}[:max(st.Embedded.Paths, 1)]
		for _, s := range manifest.PathServices(b) {
			out = append(out, s)
		}
		out = append(out, manifest.ServerPod(b, images))
	case st.Export != nil:
		target = plan.Target{Export: st.Export.Path, Keys: plan.ServerKeys(st.Export.Servers)}
		out = append(out, surveyed(t, b, &target, images)...)
		paths, err := plan.SelectPaths(b.Spec, st.Export.Servers, target.Survey)
		if err != nil {
			t.Fatal(err)
		}
		target.Paths = paths
	default:
		if st.Claim != nil {
			out = append(out, manifest.MountJob(b, st.Claim.Name, images))
		}
		if t := st.Trident; t != nil && t.BackendName != "" {
			out = append(out, manifest.ProbeJob(b, "fd00::1", images))
		}
		target.Export, target.Paths = "/vol/pv", []bench.ResolvedPath{{Path: "10.0.1.61"}}
	}
	if plan.NeedsVolume(b) {
		target.ClaimName = n.Claim
		if c := b.Spec.Storage.Claim; c != nil {
			target.ClaimName = c.Name
		} else {
			out = append(out, manifest.Volume(b, target.Paths[0].Path, target.Export), manifest.Claim(b))
			if plan.RedoExport(b) != "" {
				out = append(out, manifest.RedoVolume(b, target.Paths[0].Path), manifest.RedoClaim(b))
			}
		}
	}
	p, err := plan.Build(b, target)
	if err != nil {
		t.Fatal(err)
	}
	oranfstab, err := p.Oranfstab()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := runfile.WritePlan(&text, p); err != nil {
		t.Fatal(err)
	}
	for _, key := range target.Keys {
		out = append(out, manifest.TargetLease(b, "nfsbench-system", key, metav1.MicroTime{}))
	}
	account, role, binding := manifest.CollectorAccess(b)
	out = append(out,
		manifest.PlanConfigMap(b, text.String(), oranfstab), manifest.ResultConfigMap(b), account, role, binding,
		manifest.LoadJob(b, p, target.ClaimName, images))
	if manifest.CleansFiles(b) {
		out = append(out, manifest.CleanJob(b, target.ClaimName, images))
	}
	return out
}

// surveyed are the objects of a survey, which fills the target.
func surveyed(t *testing.T, b *v1alpha1.NFSBenchmark, target *plan.Target, images manifest.Images) []runtime.Object {
	t.Helper()
	source, ok := plan.ArraySource(b, *target)
	if !ok {
		return nil
	}
	if b.Spec.Storage.Array.ONTAP == nil {
		target.Sources = append(target.Sources, source)
		return nil
	}
	var text strings.Builder
	q := runfile.SurveyRequest{Run: runfile.Identity{Namespace: b.Namespace, Name: b.Name, UID: string(b.UID)}, Source: source, Export: target.Export}
	if err := runfile.WriteSurveyRequest(&text, q); err != nil {
		t.Fatal(err)
	}
	survey := gen.Survey(target.Export, "10.0.1.61", "10.0.2.61")
	target.Survey = &survey
	source, _ = plan.ArraySource(b, *target)
	target.Sources = append(target.Sources, source)
	return []runtime.Object{manifest.SurveyRequest(b, text.String()), manifest.SurveyJob(b, images)}
}

// inputs are the benchmarks of testdata, by name: one for each kind of storage
// and client.
func inputs(t *testing.T) map[string]*v1alpha1.NFSBenchmark {
	t.Helper()
	const uid = "9d1f8b1e-0000-4000-8000-000000000001"
	resources := func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Pods = &v1alpha1.Pods{
			Annotations:      map[string]string{"k8s.v1.cni.cncf.io/networks": "storage"},
			NodeSelector:     map[string]string{"disk": "none"},
			Tolerations:      []corev1.Toleration{{Key: "bench", Operator: corev1.TolerationOpExists}},
			ImagePullSecrets: []corev1.LocalObjectReference{{Name: "pull"}},
			Image:            "registry.example/mine:v2",
		}
	}
	cases := map[string][]gen.Mod{
		"embedded-direct": {gen.Embedded("2Gi", 2), gen.Link("10G", 9000)},
		"embedded-kernel": {gen.Embedded("2Gi", 1), gen.Kernel},
		"export-direct":   {gen.Paths([2]string{"192.168.1.5", "10.0.1.61"}, [2]string{"192.168.2.5", "10.0.2.61"}), gen.Clients(3), resources},
		"export-kernel":   {gen.Kernel, gen.Version(bench.NFSv41)},
		"ontap-direct":    {gen.ONTAP("10.0.1.5", "svm1", "ontap-reader"), gen.Select(bench.PathsRemote), resources},
		"exporter-kernel": {gen.Kernel, gen.Exporter("filer", "http://10.0.1.61:9100/metrics")},
		"trident-probed":  {gen.TridentBackend("filer1")},
		"claim-direct":    {gen.Claim("data")},
		"claim-kernel":    {gen.Claim("data"), gen.Kernel, gen.Expect(500)},
	}
	maps.Copy(cases, databaseInputs())
	out := map[string]*v1alpha1.NFSBenchmark{}
	for name, mods := range cases {
		want := gen.Benchmark("demo", append(mods, gen.UID(uid))...)
		raw, err := yaml.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata", name+".input.yaml")
		golden.Compare(t, file, raw)
		read, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		b := &v1alpha1.NFSBenchmark{}
		if err := yaml.UnmarshalStrict(read, b); err != nil {
			t.Fatal(err)
		}
		out[name] = b
	}
	return out
}

func TestObjectsOfEveryStorageAndClient(t *testing.T) {
	for name, b := range inputs(t) {
		t.Run(name, func(t *testing.T) {
			compareObjects(t, name, objects(t, b))
		})
	}
}

// compareObjects compares objects with the golden file of this name.
func compareObjects(t *testing.T, name string, list []runtime.Object) {
	t.Helper()
	var out bytes.Buffer
	for _, o := range list {
		if o.GetObjectKind().GroupVersionKind().Kind == "" {
			o.GetObjectKind().SetGroupVersionKind(kindOf(t, o))
		}
		raw, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString("---\n")
		out.Write(raw)
	}
	golden.Compare(t, filepath.Join("testdata", name+".golden.yaml"), out.Bytes())
}

func kindOf(t *testing.T, o runtime.Object) schema.GroupVersionKind {
	t.Helper()
	kinds, _, err := clientgoscheme.Scheme.ObjectKinds(o)
	if err != nil {
		t.Fatal(err)
	}
	return kinds[0]
}
