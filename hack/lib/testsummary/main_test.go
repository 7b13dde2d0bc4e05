package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// folder writes what a run of hack/test.sh leaves.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func report(t *testing.T, files map[string]string) (*run, string) {
	t.Helper()
	r, err := readRun(folder(t, files))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	r.report(&out)
	return r, out.String()
}

const (
	module = "github.com/nfsbench/nfsbench/"
	stream = `
{"Action":"output","Package":"` + module + `p","Test":"TestA","Output":"    a_test.go:1: needs a cluster\n"}
{"Action":"output","Package":"` + module + `p","Test":"TestA","Output":"--- SKIP: TestA (0.00s)\n"}
{"Action":"skip","Package":"` + module + `p","Test":"TestA"}
{"Action":"attr","Package":"` + module + `p","Test":"TestC","Key":"measured-seconds","Value":"65"}
{"Action":"pass","Package":"` + module + `p","Test":"TestC","Elapsed":2.5}
{"Action":"pass","Package":"` + module + `p"}
not json
{"Action":"pass","Package":"` + module + `p","Test":"TestB","Elapsed":1}
`
	graph = `[{"Mode":"build","TimeStart":"2026-11-01T10:00:00Z","TimeDone":"2026-11-01T10:01:00Z"},
{"Mode":"link","TimeStart":"2026-11-01T10:00:30Z","TimeDone":"2026-11-01T10:00:40Z"},
{"Mode":"test run","TimeStart":"2026-11-01T10:00:00Z","TimeDone":"2026-11-01T11:00:00Z"}]`
)

func TestTheTableShowsWhereTheTimeWentAndWhatWasSkipped(t *testing.T) {
	r, got := report(t, map[string]string{
		"results":     "unit 0 125\nsoak - 0 no input changed\n",
		"unit.1.json": stream, "unit.1.graph": graph, "unit.needs": "5\n",
	})
	want := `
not run: unit: ` + module + `p TestA: a_test.go:1: needs a cluster
not run: soak: no input changed

      part     time  preparing  compiling  measuring  passed  failed  skipped
      unit     2:05       0:05       1:10       1:05       2       0        1
      soak  not run
  together     2:05       0:05       1:10       1:05

slowest tests
    2.5 s  p TestC
    1.0 s  p TestB
    0.0 s  p TestA

2 passed, 0 failed, 1 skipped
`
	var lines []string
	for line := range strings.Lines(got) {
		lines = append(lines, strings.TrimRight(line, " \n")+"\n")
	}
	if diff := cmp.Diff(want, strings.Join(lines, "")); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if !r.ok(false) || r.ok(true) {
		t.Errorf("ok is %v, and %v where skips are forbidden; want true, false", r.ok(false), r.ok(true))
	}
}

func TestAFailureIsNamedWithTheCommandThatRepeatsIt(t *testing.T) {
	for name, tc := range map[string]struct {
		files  map[string]string
		want   string
		counts string
	}{
		"a test within a test": {
			map[string]string{"unit.1.json": `
{"Action":"fail","Package":"` + module + `internal/p","Test":"TestA/x"}
{"Action":"fail","Package":"` + module + `internal/p","Test":"TestA"}
{"Action":"fail","Package":"` + module + `internal/p"}`},
			"failed:  unit: " + module + "internal/p TestA/x\n         hack/test.sh unit -- -run '^TestA$' ./internal/p\n", "0 passed, 2 failed",
		},
		"a package that does not build": {
			map[string]string{"unit.1.json": `{"Action":"fail","Package":"` + module + `internal/p"}`},
			"hack/test.sh unit -- ./internal/p\n", "0 passed, 1 failed",
		},
		"a part without tests": {nil, "failed:  unit\n         hack/test.sh unit\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"results": "unit 1 3\n"}
			maps.Copy(files, tc.files)
			r, got := report(t, files)
			if r.ok(false) {
				t.Error("a part that failed counts as passed")
			}
			if !strings.Contains(got, tc.want) || strings.Count(got, "failed:  ") != 1 || !strings.Contains(got, tc.counts) ||
				!strings.HasSuffix(got, "\nparts that failed: unit\n") {
				t.Errorf("want one failure, %q and %q, and the part at the end, in:\n%s", tc.want, tc.counts, got)
			}
		})
	}
}
