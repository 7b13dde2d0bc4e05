package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestItsOwnPackageIsTriedFirstAndAnAPIServerLast(t *testing.T) {
	j := &judge{importers: map[string][]string{
		"internal/a": {"test/integration", "cmd/a", "test/e2e", "test/faults", "internal/b"},
	}}
	own := testRun{dir: "internal/a"}
	for _, c := range []struct {
		reason, assets string
		m              mutant
		want           []testRun
	}{
		{"with an API server", "x", mutant{file: "internal/a/a.go"}, []testRun{own, {dir: "internal/b"}, {dir: "cmd/a"}, {dir: "test/faults"}, {dir: "test/integration"}}},
		{"without", "", mutant{file: "internal/a/a.go"}, []testRun{own, {dir: "internal/b"}, {dir: "cmd/a"}, {dir: "test/faults"}}},
		{"tests of the list's choice", "x", mutant{file: "internal/a/a.go", tests: []testRun{{"test/integration", "Queue"}}}, []testRun{own, {"test/integration", "Queue"}}},
		{"the chart", "x", mutant{file: "charts/nfsbench/values.yaml"}, []testRun{{dir: "test/chart"}, {dir: "test/chart/apiserver"}}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			t.Setenv("KUBEBUILDER_ASSETS", c.assets)
			if diff := cmp.Diff(c.want, j.runs(c.m), cmp.AllowUnexported(testRun{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheFirstFailureIsNamed(t *testing.T) {
	for _, c := range []struct{ reason, out, want string }{
		{"it passes", "PASS\n", ""},
		{"a test", "--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/b (0.00s)\n", "TestA"},
		{"words before it", "2026/11/22 noise\n--- FAIL: TestA (0.00s)\n", "TestA"},
		{"a panic in a test", "--- FAIL: TestA (0.00s)\npanic: oh\n", "TestA"},
		{"a panic elsewhere", "panic: oh\n\ngoroutine 7 [running]:\n", "(panic: oh)"},
		{"a deadlock", "fatal error: all goroutines are asleep - deadlock!\n", "(fatal error: all goroutines are asleep - deadlock!)"},
		{"time is up", "panic: test timed out after 4m0s\n\trunning tests:\n\t\tTestSlow (3m59s)\n", "timeout (TestSlow)"},
	} {
		if got := firstFailure(strings.NewReader(c.out)); got != c.want {
			t.Errorf("%s: %q, want %q", c.reason, got, c.want)
		}
	}
}

func TestATableIsGoneOnWith(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mutants.tsv")
	first, err := openTable(path, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []result{
		{name: "plan/a", file: "internal/plan/a.go", verdict: killed, tier: tierUnit, where: "own", dir: "internal/plan", test: "TestA"},
		{name: "suite/b", file: "controllers/suite/b.go", verdict: survived, tier: tierUnit, note: "two\twords\n"},
	} {
		if err := first.add(r); err != nil {
			t.Fatal(err)
		}
	}
	first.close()
	again, err := openTable(path, true)
	if err != nil {
		t.Fatal(err)
	}
	defer again.close()
	for _, c := range []struct {
		reason string
		m      mutant
		assets string
		want   bool
	}{
		{"it was killed", mutant{name: "plan/a", file: "internal/plan/a.go"}, "x", true},
		{"an API server may help now", mutant{name: "suite/b", file: "controllers/suite/b.go"}, "x", false},
		{"there is none still", mutant{name: "suite/b", file: "controllers/suite/b.go"}, "", true},
		{"it is new", mutant{name: "plan/c", file: "internal/plan/c.go"}, "", false},
	} {
		t.Setenv("KUBEBUILDER_ASSETS", c.assets)
		if got := again.settled(c.m, &judge{}); got != c.want {
			t.Errorf("%s: settled is %t", c.reason, got)
		}
	}
	var b strings.Builder
	if err := again.summary(&b); err == nil {
		t.Error("a mutant has survived, and that is no error")
	}
	if !strings.Contains(b.String(), "sum                2     1         0         1      0") {
		t.Errorf("the summary is\n%s", b.String())
	}
}
