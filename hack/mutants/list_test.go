package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../.."

func shipped(t *testing.T) []mutant {
	t.Helper()
	text, err := os.ReadFile("list.txt")
	if err != nil {
		t.Fatal(err)
	}
	all, err := parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Who changes the code of a mutant writes the mutant anew, in the same commit.
func TestEveryMutantOfTheListFitsItsFile(t *testing.T) {
	for _, m := range shipped(t) {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(m.file)))
		if err != nil {
			t.Errorf("mutant %s: %v", m.name, err)
			continue
		}
		if _, err := m.applied(string(text)); err != nil {
			t.Errorf("mutant %s of %s: %v: write it anew in hack/mutants/list.txt", m.name, m.file, err)
		}
	}
}

func TestTheListHasTenMutantsOfEachArea(t *testing.T) {
	count := map[string]int{}
	for _, m := range shipped(t) {
		area, _, _ := strings.Cut(m.name, "/")
		count[area]++
		if strings.HasSuffix(m.file, "_test.go") {
			t.Errorf("mutant %s changes a test", m.name)
		}
	}
	for _, area := range []string{
		"plan", "judge", "nfs", "loadgen", "collect", "oracle", "oranfstab", "storage", "benchmark", "suite", "compare", "manifest", "chart",
	} {
		if count[area] < 10 {
			t.Errorf("%d mutants of %s, fewer than 10", count[area], area)
		}
	}
}

func TestTheTestsThatTheListNamesExist(t *testing.T) {
	for _, m := range shipped(t) {
		for _, r := range m.tests {
			if found, _ := filepath.Glob(filepath.Join(root, r.dir, "*_test.go")); len(found) == 0 || tierOf(r.dir) == "" {
				t.Errorf("mutant %s names ./%s, whose tests are not run here", m.name, r.dir)
			}
		}
	}
}

func TestWhatFormatWritesParseReads(t *testing.T) {
	all := []mutant{
		{name: "a/one", file: "internal/a.go", old: "x == 1", new: "x != 1"},
		{name: "a/two", file: "b.go", old: "\tif x {\n\n\t\treturn", new: "\tif !x {\n\n\t\treturn", tests: []testRun{{dir: "test/c"}, {dir: "test/d", pattern: "One|Two"}}},
	}
	got, err := parse(format(all))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(all, got, cmp.AllowUnexported(mutant{}, testRun{})); diff != "" {
		t.Error(diff)
	}
}

func TestListsThatSayNothingAreRefused(t *testing.T) {
	for reason, text := range map[string]string{
		"no file":         "== a/b\n- x\n+ y\n",
		"no old text":     "== a/b\nfile: c.go\n+ y\n",
		"nothing changes": "== a/b\nfile: c.go\n- x\n+ x\n",
		"one name twice":  "== a/b\nfile: c.go\n- x\n+ y\n== a/b\nfile: c.go\n- x\n+ y\n",
		"no mutant yet":   "file: c.go\n",
		"a strange line":  "== a/b\nfile: c.go\nold: x\n",
	} {
		if _, err := parse(text); err == nil {
			t.Errorf("%s: no error", reason)
		}
	}
}

func TestAMutantWhoseTextIsNotThereOnceIsStale(t *testing.T) {
	m := mutant{file: "a.go", old: "x", new: "y"}
	for text, want := range map[string]string{"axb": "ayb", "ab": "", "xx": ""} {
		got, err := m.applied(text)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%q became %q, %v", text, got, err)
		}
	}
}

func TestAMutantIsTakenBack(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.go")
	if err := os.WriteFile(file, []byte("axb"), 0o644); err != nil {
		t.Fatal(err)
	}
	restore, err := mutant{file: "a.go", old: "x", new: "y"}.apply(dir)
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(file); string(text) != "ayb" {
		t.Errorf("the file holds %q with the mutant", text)
	}
	if err := restore(); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(file); string(text) != "axb" {
		t.Errorf("the file holds %q afterwards", text)
	}
}
