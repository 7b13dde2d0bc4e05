package chart

import (
	"bytes"
	"testing"

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
