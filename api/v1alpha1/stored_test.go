package v1alpha1_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// TestStoredObjectsLoseNothing: docs/releases.md promises that a field keeps its name, its type
// and its place for as long as the version of the API is served.
func TestStoredObjectsLoseNothing(t *testing.T) {
	files, err := filepath.Glob("testdata/stored/*/*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("found the stored objects %q (%v), want benchmarks and suites", files, err)
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			text, err := os.ReadFile(file) //nolint:gosec // of the repository
			if err != nil {
				t.Fatal(err)
			}
			var stored map[string]any
			if err := yaml.Unmarshal(text, &stored); err != nil {
				t.Fatal(err)
			}
			var object any = &v1alpha1.NFSBenchmark{}
			if stored["kind"] == "NFSBenchmarkSuite" {
				object = &v1alpha1.NFSBenchmarkSuite{}
			}
			if err := yaml.UnmarshalStrict(text, object); err != nil {
				t.Fatalf("the types of today do not read it: %v", err)
			}
			encoded, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			var again map[string]any
			if err := yaml.Unmarshal(encoded, &again); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(withoutEmpty(stored), withoutEmpty(again)); diff != "" {
				t.Errorf("a field was lost or changed (-stored +read and written):\n%s", diff)
			}
		})
	}
}

// withoutEmpty removes empty members, which say nothing: a struct that is not set is written as {}.
func withoutEmpty(object map[string]any) map[string]any {
	for key, value := range object {
		member, ok := value.(map[string]any)
		if value == nil || ok && len(withoutEmpty(member)) == 0 {
			delete(object, key)
		}
	}
	return object
}
