package chart

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nfsbench/nfsbench/test/kit/golden"
)

func TestRenderings(t *testing.T) {
	for _, name := range []string{"default", "namespaces", "everything"} {
		t.Run(name, func(t *testing.T) {
			got := Helm(t, "-f", Values(t, name))
			golden.Compare(t, Path(t, "test/chart/testdata/"+name+".golden.yaml"), withoutSchemas(got))
		})
	}
}

// TestHelm4AndHelm3GiveTheSame: people install with either. Both lint the chart, and
// the objects that they render differ in nothing.
func TestHelm4AndHelm3GiveTheSame(t *testing.T) {
	files, err := filepath.Glob(Path(t, "test/chart/testdata/values") + "/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files of values: %v", len(files), err)
	}
	for _, values := range files {
		t.Run(filepath.Base(values), func(t *testing.T) {
			rendered := map[string][]*unstructured.Unstructured{}
			for _, helm := range []string{"helm", "helm3"} {
				if _, err := tool(t, helm, "lint", "charts/nfsbench", "--strict", "--kube-version", kubeVersion, "--values", values); err != nil {
					t.Errorf("%s lint: %v", helm, err)
				}
				rendered[helm] = Objects(t, must(t)(render(t, append([]string{helm}, template("--values", values)...)...)))
			}
			if diff := cmp.Diff(rendered["helm"], rendered["helm3"]); diff != "" {
				t.Errorf("Helm 3 renders something else than Helm 4 (-Helm 4 +Helm 3):\n%s", diff)
			}
		})
	}
}

// withoutSchemas cuts the specs of CRDs, and dashboards, which have tests of their
// own and would bury everything else.
func withoutSchemas(manifests []byte) []byte {
	separator := []byte("\n---\n")
	documents := bytes.Split(manifests, separator)
	for i, d := range documents {
		if bytes.Contains(d, []byte("\nkind: CustomResourceDefinition\n")) {
			head, _, _ := bytes.Cut(d, []byte("\nspec:\n"))
			documents[i] = append(bytes.Clone(head), "\nspec: ... # cut"...)
		}
		if head, _, ok := bytes.Cut(d, []byte("\n  nfsbench.json: |\n")); ok {
			documents[i] = append(bytes.Clone(head), "\n  nfsbench.json: ... # cut"...)
		}
	}
	return bytes.Join(documents, separator)
}
