package chart

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/crdcheck"
	"github.com/nfsbench/nfsbench/internal/matrix"
	"github.com/nfsbench/nfsbench/internal/stats"
)

func TestTheSuiteOfTheDocumentationComesToWhatItSays(t *testing.T) {
	_, rest, _ := strings.Cut(string(Read(t, "docs/suites.md")), "```yaml\n")
	text, _, _ := strings.Cut(rest, "```")
	s := &v1alpha1.NFSBenchmarkSuite{}
	if err := yaml.UnmarshalStrict([]byte(text), s); err != nil {
		t.Fatal(err)
	}
	m, err := matrix.Expand(s)
	if err != nil {
		t.Fatal(err)
	}
	check, err := crdcheck.New()
	if err != nil {
		t.Fatal(err)
	}
	if err := matrix.Check(m, s, check); err != nil {
		t.Error(err)
	}
	baselines := map[string]string{}
	for _, c := range m.Cells {
		baselines[c.Name] = c.Baseline
	}
	want := map[string]string{"two-1m": "one-1m", "two-64k": "one-64k", "one-1m": "", "one-64k": ""}
	if diff := cmp.Diff(want, baselines); diff != "" || len(m.Sequence) != 40 {
		t.Errorf("%d benchmarks; cells and baselines (-want +got):\n%s", len(m.Sequence), diff)
	}
}

func TestTheArithmeticOfTheDocumentationIsThatOfTheProgram(t *testing.T) {
	doc := string(Read(t, "docs/suites.md"))
	short := func(p float64) string { return strconv.FormatFloat(min(p, 1), 'f', -1, 64) }
	two := func(p float64) string { // two digits that count
		f, _ := strconv.ParseFloat(strconv.FormatFloat(p, 'g', 2, 64), 64)
		return short(f)
	}
	for _, n := range []int{3, 4, 5, 6, 8, 10} {
		p := stats.MinimumP(n, n)
		if row := fmt.Sprintf("| %d | %s | %s | %s |", n, two(p), two(4*p), two(16*p)); !strings.Contains(doc, row) {
			t.Errorf("docs/suites.md lacks the row %s", row)
		}
	}
	for _, row := range []string{fmt.Sprintf("| cells | %d |", matrix.MaxCells), fmt.Sprintf("| benchmarks of a run | %d |", matrix.MaxBenchmarks)} {
		if !strings.Contains(doc, row) {
			t.Errorf("docs/suites.md lacks the row %s", row)
		}
	}
}
