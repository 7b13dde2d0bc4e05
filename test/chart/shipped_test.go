package chart

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

func TestManifestsConformToTheSchemasOfKubernetes(t *testing.T) {
	all := ways(t)
	all["samples"] = Kustomize(t, "config/samples")
	var manifests []byte
	for _, m := range all {
		manifests = append(append(manifests, m...), "\n---\n"...)
	}
	if _, err := run(t, manifests, "hack/chart.sh", "conform", "-"); err != nil {
		t.Error(err)
	}
	if n := strings.Count(string(manifests), "\napiVersion: monitoring.coreos.com/v1\n"); n != 3 {
		t.Errorf("%d manifests of the Prometheus operator, want one of each kind", n)
	}
}

func TestTheCheckOfManifestsFindsMistakes(t *testing.T) {
	cases := map[string]struct{ old, bad, want string }{
		"an unknown field":                 {"\n  replicas: 1", "\n  replica: 1", "replica"},
		"a wrong type":                     {"\n  replicas: 1", "\n  replicas: one", "integer"},
		"an unknown sample field":          {"\n      pattern: Read\n", "\n      pattern: Read\n      size: 1\n", "size"},
		"a value outside an enum":          {"\n      pattern: Read\n", "\n      pattern: read\n", "pattern"},
		"an unknown field of a PodMonitor": {"\n  - port: live-metrics\n", "\n  - portName: live-metrics\n", "portName"},
		"an unknown field of a rule":       {"\n        for: 15m\n", "\n        during: 15m\n", "during"},
		"a query that is none":             {"expr: absent(nfsbench_exporter_success", "expr: absent(nfsbench_exporter_success[1]", "NFSBenchOperatorDown"},
	}
	good := string(slices.Concat(Helm(t, "-f", Values(t, "monitored")), []byte("\n---\n"), Read(t, "config/samples/demo.yaml")))
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			bad := strings.Replace(good, c.old, c.bad, 1)
			if bad == good {
				t.Fatalf("nothing to break: %q is not there", c.old)
			}
			_, err := run(t, []byte(bad), "hack/chart.sh", "conform", "-")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("want an error that names %q, have %v", c.want, err)
			}
		})
	}
}

func TestTheChartCarriesTheCRDsOfConfig(t *testing.T) {
	want := map[string]any{}
	for _, file := range crdFiles(t) {
		crd := Objects(t, Read(t, file))[0]
		want[crd.GetName()] = crd.Object["spec"]
	}
	for _, keep := range []string{"true", "false"} {
		got := map[string]any{}
		for _, o := range Objects(t, Helm(t, "--set", "crds.keep="+keep)) {
			if o.GetKind() != "CustomResourceDefinition" {
				continue
			}
			got[o.GetName()] = o.Object["spec"]
			if _, kept := o.GetAnnotations()["helm.sh/resource-policy"]; kept != (keep == "true") {
				t.Errorf("crds.keep=%s: %s: kept: %t", keep, o.GetName(), kept)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("config/crd/bases (-) and the chart's CRDs (+):\n%s", diff)
		}
	}
}

// crdFiles are the CRDs of config, two of them.
func crdFiles(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(Path(t, "config/crd/bases"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, "config/crd/bases/"+e.Name())
	}
	if len(out) != 2 {
		t.Fatalf("CRDs: %v", out)
	}
	return out
}

func TestSamplesAreWhatTheTypesSay(t *testing.T) {
	names := map[string]string{}
	for _, folder := range sampleFolders() {
		checkSamples(t, folder, names)
	}
}

// sampleFolders are those of our kinds. config/samples/gitops holds objects of
// other products, and test/lab/gitops looks at them.
func sampleFolders() []string {
	return []string{
		"config/samples", "config/samples/dnfs-vs-pnfs", "config/samples/dnfs-throughput",
		"config/samples/nfs-vs-dnfs", "config/samples/wire-speed",
	}
}

// checkSamples reads every file of a folder; names are the objects so far, by
// kind and name.
func checkSamples(t *testing.T, folder string, names map[string]string) {
	t.Helper()
	files, err := os.ReadDir(Path(t, folder))
	if err != nil {
		t.Fatal(err)
	}
	list := struct{ Resources []string }{}
	if err := yaml.Unmarshal(Read(t, folder+"/kustomization.yaml"), &list); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Name() == "kustomization.yaml" || f.Name() == "gitops" {
			continue
		}
		if !slices.Contains(list.Resources, f.Name()) {
			t.Errorf("%s/kustomization.yaml does not list %s", folder, f.Name())
		}
		if f.IsDir() {
			continue
		}
		text := string(Read(t, folder+"/"+f.Name()))
		if !strings.HasPrefix(text, "# ") {
			t.Errorf("%s does not begin with what it is for", f.Name())
		}
		for document := range strings.SplitSeq(text, "\n---\n") {
			var o client.Object = &v1alpha1.NFSBenchmark{}
			if strings.Contains(document, "\nkind: NFSBenchmarkSuite\n") {
				o = &v1alpha1.NFSBenchmarkSuite{}
			}
			if err := yaml.UnmarshalStrict([]byte(document), o); err != nil {
				t.Errorf("%s: %v", f.Name(), err)
			}
			key := fmt.Sprintf("%T %s", o, o.GetName())
			if other, taken := names[key]; taken || o.GetName() == "" {
				t.Errorf("%s: name %q is that of a sample in %q", f.Name(), o.GetName(), other)
			}
			names[key] = f.Name()
		}
	}
}

// TestTheChartTakesTheValuesOfTheFirstRun of docs/oracle-first-run.md.
func TestTheChartTakesTheValuesOfTheFirstRun(t *testing.T) {
	_, rest, _ := strings.Cut(string(Read(t, "docs/oracle-first-run.md")), "<<'END'\n")
	values, _, is := strings.Cut(rest, "END\n")
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte(values), 0o600); err != nil || !is {
		t.Fatal("the page has no values: ", err)
	}
	if got := strings.Count(string(Helm(t, "-f", file)), "path: /vol/oradata"); got != 2 {
		t.Errorf("the policy has %d exports", got)
	}
}
