package workflow_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	crd "github.com/nfsbench/nfsbench/config/crd"
	"github.com/nfsbench/nfsbench/internal/crdcheck"
	"github.com/nfsbench/nfsbench/internal/matrix"
	"github.com/nfsbench/nfsbench/internal/workflow"
)

var (
	benchmarks = sync.OnceValues(crdcheck.New)
	suites     = sync.OnceValues(func() (*crdcheck.Checker, error) { return crdcheck.Compile(crd.NFSBenchmarkSuite) })
)

// suiteOf reads a suite of testdata, with the defaults that the API server gives.
func suiteOf(t testing.TB, name string) *v1alpha1.NFSBenchmarkSuite {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".suite.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, data)
}

func parse(t testing.TB, data []byte) *v1alpha1.NFSBenchmarkSuite {
	t.Helper()
	s := &v1alpha1.NFSBenchmarkSuite{}
	if err := yaml.Unmarshal(data, s); err != nil {
		t.Fatal(err)
	}
	var raw struct {
		Spec json.RawMessage `json:"spec"`
	}
	if err := yaml.Unmarshal(data, &raw); err != nil {
		t.Fatal(err)
	}
	schema, err := suites()
	if err != nil {
		t.Fatal(err)
	}
	full, err := schema.Complete(raw.Spec)
	if err != nil {
		t.Fatalf("the API server refuses the suite: %v", err)
	}
	s.Spec = v1alpha1.NFSBenchmarkSuiteSpec{}
	if err := json.Unmarshal(full, &s.Spec); err != nil {
		t.Fatal(err)
	}
	return s
}

func inputOf(t testing.TB, s *v1alpha1.NFSBenchmarkSuite) workflow.Input {
	t.Helper()
	m, err := matrix.Expand(s)
	if err != nil {
		t.Fatal(err)
	}
	c, err := benchmarks()
	if err != nil {
		t.Fatal(err)
	}
	if err := matrix.Check(m, s, c); err != nil {
		t.Fatal(err)
	}
	return workflow.Input{Suite: s, Matrix: m, Run: s.Name + "-0a1b2c3d"}
}

// steps are the steps of the entrypoint, each alone in its group.
func steps(t testing.TB, wf *unstructured.Unstructured) []map[string]any {
	t.Helper()
	var out []map[string]any
	for _, tmpl := range templates(t, wf) {
		groups, _ := tmpl["steps"].([]any)
		for _, g := range groups {
			group := g.([]any)
			if len(group) != 1 {
				t.Fatalf("a group of %d steps runs them at once", len(group))
			}
			out = append(out, group[0].(map[string]any))
		}
	}
	return out
}

func templates(t testing.TB, wf *unstructured.Unstructured) []map[string]any {
	t.Helper()
	list, _, err := unstructured.NestedSlice(wf.Object, "spec", "templates")
	if err != nil || len(list) == 0 {
		t.Fatalf("no templates: %v", err)
	}
	var out []map[string]any
	for _, x := range list {
		out = append(out, x.(map[string]any))
	}
	return out
}

// argument is a parameter that a step passes.
func argument(step map[string]any, name string) string {
	list, _, _ := unstructured.NestedSlice(step, "arguments", "parameters")
	for _, p := range list {
		if p.(map[string]any)["name"] == name {
			return p.(map[string]any)["value"].(string)
		}
	}
	return ""
}

// manifest is the benchmark of the template of that name.
func manifest(t testing.TB, wf *unstructured.Unstructured, template string) *unstructured.Unstructured {
	t.Helper()
	for _, tmpl := range templates(t, wf) {
		if tmpl["name"] != template {
			continue
		}
		text, _, _ := unstructured.NestedString(tmpl, "resource", "manifest")
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
			t.Fatal(err)
		}
		return u
	}
	t.Fatalf("there is no template %s", template)
	return nil
}
