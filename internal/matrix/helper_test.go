package matrix_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	crd "github.com/nfsbench/nfsbench/config/crd"
	"github.com/nfsbench/nfsbench/internal/crdcheck"
	"github.com/nfsbench/nfsbench/internal/matrix"
)

var (
	benchmarks = sync.OnceValues(crdcheck.New)
	suites     = sync.OnceValues(func() (*crdcheck.Checker, error) { return crdcheck.Compile(crd.NFSBenchmarkSuite) })
)

// templateOf is a suite's template as users write it; 16 schemas of 80Mi.
const templateOf = `
  template:
    spec:
      storage: {export: {servers: [10.0.1.61], path: /vol}}
      protocol: {client: Kernel}
      workload: {slob: {access: RandomRead, users: [4], schemas: 16}}
      run: {durationSeconds: 30, warmupSeconds: 5}
`

// axesOf are NFS and Direct NFS, each with 1 and 16 users.
const axesOf = `
  axes:
  - name: client
    values:
    - {name: nfs, patch: {protocol: {client: Kernel}}}
    - {name: dnfs, patch: {protocol: {client: DirectNFS}}}
  - name: users
    values:
    - {name: "1", patch: {workload: {slob: {users: [1]}}}}
    - {name: "16", patch: {workload: {slob: {users: [16]}}}}
`

// suite reads what stands in a suite's spec, and gives it its defaults like the
// API server does.
func suite(t testing.TB, spec string) *v1alpha1.NFSBenchmarkSuite {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte("spec:" + spec))
	if err != nil {
		t.Fatalf("%v in\n%s", err, spec)
	}
	var raw struct{ Spec json.RawMessage }
	if err := json.Unmarshal(data, &raw); err != nil {
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
	s := &v1alpha1.NFSBenchmarkSuite{}
	s.Name, s.Namespace = "nfs-vs-dnfs", "lab"
	if err := json.Unmarshal(full, &s.Spec); err != nil {
		t.Fatal(err)
	}
	return s
}

func expand(t testing.TB, spec string) matrix.Matrix {
	t.Helper()
	return expanded(t, suite(t, spec))
}

func expanded(t testing.TB, s *v1alpha1.NFSBenchmarkSuite) matrix.Matrix {
	t.Helper()
	m, err := matrix.Expand(s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// specOf is what the patches made of the template, without the defaults that Check fills in.
func specOf(t testing.TB, c matrix.Cell) v1alpha1.NFSBenchmarkSpec {
	t.Helper()
	var spec v1alpha1.NFSBenchmarkSpec
	if err := json.Unmarshal(c.Written, &spec); err != nil {
		t.Fatal(err)
	}
	return spec
}

func check(t testing.TB, m matrix.Matrix, s *v1alpha1.NFSBenchmarkSuite) error {
	t.Helper()
	c, err := benchmarks()
	if err != nil {
		t.Fatal(err)
	}
	return matrix.Check(m, s, c)
}

func names(m matrix.Matrix) string {
	var out []string
	for _, c := range m.Cells {
		out = append(out, c.Name)
	}
	return strings.Join(out, " ")
}

func order(m matrix.Matrix) string {
	var out []string
	for _, s := range m.Sequence {
		out = append(out, m.Cells[s.Cell].Name)
	}
	return strings.Join(out, " ")
}
