package main

import (
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/test/kit/memory"
)

func TestAliasesDoNotMakeAManifestLongerThanItsLimit(t *testing.T) {
	text := "a: &a " + strings.Repeat("x", 20_000) + "\nb: [" + strings.Repeat("*a,", 7000) + "]"
	memory.Bound(t, 1024*len(text), func() {
		if _, err := parseObjects([]byte(text)); err == nil || !strings.Contains(err.Error(), "aliases") {
			t.Error(err)
		}
	})
}

func FuzzParseObjects(f *testing.F) {
	f.Add([]byte("apiVersion: nfsbench.io/v1alpha1\nkind: NFSBenchmark\nmetadata: {name: a, resourceVersion: \"1\", labels: {x: y}}\nspec: {}\n"))
	f.Add([]byte("# nothing\n---\nkind: List\napiVersion: v1\nitems:\n- {apiVersion: nfsbench.io/v1alpha1, kind: NFSBenchmarkSuite, metadata: {annotations: null}}\n"))
	f.Add([]byte(`{"kind":"PodList","items":[null,{"kind":1}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		memory.Bound(t, 256<<10+2048*len(data), func() {
			objects, err := parseObjects(data)
			if (err == nil) != (len(objects) > 0) {
				t.Errorf("%d objects, %v", len(objects), err)
			}
			for _, u := range objects {
				if u.GetUID() != "" || u.GetKind() != benchmarkKind && u.GetKind() != suiteKind {
					t.Errorf("%v", u)
				}
			}
		})
	})
}
