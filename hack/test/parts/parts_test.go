package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

const root = "../../.."

// TestEveryTestBelongsToExactlyOnePart holds the table against the source: a test
// that no part runs looks tested, and one that two parts run costs twice.
func TestEveryTestBelongsToExactlyOnePart(t *testing.T) {
	table, err := readTable(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	tests := 0
	for _, folder := range table.folders {
		for _, name := range testsOf(t, filepath.Join(root, folder)) {
			tests++
			var parts []string
			for _, r := range table.owners(folder) {
				if r.runs(name) {
					parts = append(parts, r.part)
				}
			}
			if len(parts) != 1 {
				t.Errorf("%s %s belongs to the parts %v: hack/test/parts.txt must name exactly one", folder, name, parts)
			}
		}
	}
	if tests < 1000 {
		t.Errorf("%d tests found: the search is broken", tests)
	}
}

// testsOf are the names of the tests, fuzz tests and examples of a folder.
func testsOf(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if ok && fn.Recv == nil && fn.Name.Name != "TestMain" && regexp.MustCompile(`^(Test|Fuzz|Example)`).MatchString(fn.Name.Name) {
				names = append(names, fn.Name.Name)
			}
		}
	}
	return names
}

// TestEveryFolderAndNeedOfTheTableExists: a folder that was renamed would never be
// stale again.
func TestEveryFolderAndNeedOfTheTableExists(t *testing.T) {
	table, err := readTable(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	needs, err := os.ReadFile(filepath.Join(root, "hack/test/needs.sh"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range table.rows {
		for _, dir := range slices.Concat(r.inputs, r.patterns) {
			if _, err := os.Stat(filepath.Join(root, strings.TrimSuffix(dir, "/..."))); err != nil {
				t.Errorf("part %s: %v", r.part, err)
			}
		}
		for _, n := range r.needs {
			if !strings.Contains(string(needs), "\nneed_"+n+"() {") {
				t.Errorf("part %s needs %s, for which hack/test/needs.sh has no function need_%s", r.part, n, n)
			}
		}
	}
}

const sample = `# a comment
lint  test minutes=1
unit  test needs=a,b skip=^TestReal ./nfs
unit  test race ./nfs/deep
unit  test ./...
gate  test needs=b,c run=^TestGate parallel=8 ./e2e
e2e   rest minutes=8 skip=^TestGate ./e2e charts
mod   rest ./mod/... ./queue/slow
real  rest run=^TestReal ./nfs
amount measure ./amount
`

func sampleTable(t *testing.T) *table {
	t.Helper()
	tree := fstest.MapFS{"hack/test/parts.txt": {Data: []byte(sample)}, "go.mod": {Data: []byte("module m\n")}, "mod/go.mod": {}, "mod/own/go.mod": {}}
	for _, dir := range []string{"nfs", "nfs/deep", "nfs/deep/er", "e2e", "amount", "mod", "mod/a", "mod/own", "queue", "queue/slow", "x/testdata", ".git"} {
		tree[dir+"/a_test.go"] = &fstest.MapFile{Data: []byte("package x\n")}
	}
	table, err := readTable(tree)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestRowsRunTheFoldersThatTheyNameMostSpecifically(t *testing.T) {
	table := sampleTable(t)
	for part, want := range map[string][]string{
		"lint":   nil,
		"unit":   {". 0 -skip ^TestReal ./nfs", ". 1 -race ./nfs/deep", ". 0 ./nfs/deep/er ./queue"},
		"gate":   {". 0 -run ^TestGate -parallel 8 ./e2e"},
		"e2e":    {". 0 -skip ^TestGate ./e2e"},
		"mod":    {"mod 0 ./a .", "mod/own 0 .", ". 0 ./queue/slow"},
		"real":   {". 0 -run ^TestReal ./nfs"},
		"amount": {". 0 ./amount"},
	} {
		got, err := table.arguments(part, nil)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("part %s (-want +got):\n%s%v", part, diff, err)
		}
	}
	got, err := table.arguments("unit", []string{"./nfs/deep/...", "./queue"})
	if diff := cmp.Diff([]string{". 1 -race ./nfs/deep", ". 0 ./nfs/deep/er ./queue"}, got); diff != "" || err != nil {
		t.Errorf("two packages of part unit (-want +got):\n%s%v", diff, err)
	}
	if _, err := table.arguments("mod", []string{"./nfs"}); err == nil || !strings.Contains(err.Error(), "part mod runs no test of ./nfs") {
		t.Errorf("error %v for a package of another part", err)
	}
	needs, err := table.needs("unit")
	if diff := cmp.Diff([]string{"a", "b"}, needs); diff != "" || err != nil {
		t.Errorf("needs (-want +got):\n%s%v", diff, err)
	}
	for tier, want := range map[string]string{"test": "lint unit gate", "rest": "e2e mod real", "measure": "amount", "all": "lint unit gate e2e mod real"} {
		got, err := table.list(tier)
		if strings.Join(got, " ") != want || err != nil {
			t.Errorf("tier %s: %v (%v), want %s", tier, got, err, want)
		}
	}
}

func TestAWrongTableIsRefusedWithItsLine(t *testing.T) {
	for name, tc := range map[string]struct{ line, want string }{
		"no tier":        {"unit ./...", "parts.txt:1: "},
		"a wrong option": {"unit test speed=3 ./...", `unknown option "speed=3"`},
		"a bad pattern":  {"unit test run=( ./...", "missing closing )"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readTable(fstest.MapFS{"hack/test/parts.txt": {Data: []byte(tc.line)}})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
	if _, err := sampleTable(t).arguments("nowhere", nil); err == nil || !strings.Contains(err.Error(), "the parts are lint unit gate e2e mod real amount") {
		t.Errorf("error %v for an unknown part, want the names of the parts", err)
	}
}

// tree is two modules in a git repository: a is imported by b, by the tests of c, and by d of the
// other module; data is what part big depends on besides.
func tree(t *testing.T) (commit func(files map[string]string) string) {
	t.Helper()
	t.Chdir(t.TempDir())
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q")
	commit = func(files map[string]string) string {
		t.Helper()
		for name, text := range files {
			if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		git("add", "-A")
		git("commit", "-q", "--no-gpg-sign", "-m", "x")
		return git("rev-parse", "HEAD")
	}
	commit(map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n", "hack/test/parts.txt": "unit test ./a ./aa ./c\nbig rest minutes=7 ./b data\nsmall rest minutes=2 ./a\nlab rest minutes=9 ./lab/...\n",
		"a/a.go": "package a\n", "a/a_test.go": "package a\n", "a/testdata/in": "1",
		"b/b.go": "package b\n\nimport _ \"example.com/m/a\"\n", "b/b_test.go": "package b\n",
		"aa/aa.go": "package aa\n\nimport _ \"example.com/m/b\"\n", "aa/aa_test.go": "package aa\n",
		"c/c.go": "package c\n", "c/c_test.go": "package c\n\nimport _ \"example.com/m/a\"\n", "data/x": "1", "README.md": "1",
		"lab/go.mod": "module example.com/m/lab\n", "lab/d/d.go": "package d\n\nimport _ \"example.com/m/a\"\n", "lab/d/d_test.go": "package d\n",
		"lab/e/e_test.go":    "package e\n\nimport _ \"example.com/m/lab/d\"\n",
		"hack/test/needs.sh": "1", "hack/test/complete-pass": "1",
	})
	return commit
}

func TestAPartIsStaleWhenOneOfItsInputsHasChanged(t *testing.T) {
	commit := tree(t)
	base := commit(map[string]string{"README.md": "2"})
	for _, tc := range []struct {
		reason, file string
		want         []string
	}{
		{"a document is no input", "README.md", nil},
		{"a package and who imports it", "a/a.go", []string{"small 2 1", "big 7 1", "lab 9 1"}},
		{"what its tests read", "a/testdata/in", []string{"small 2 1", "big 7 1", "lab 9 1"}},
		{"its own tests", "b/b_test.go", []string{"big 7 1"}},
		{"the tests of what it imports", "c/c_test.go", nil},
		{"a folder that it names", "data/x", []string{"big 7 1"}},
		{"versions of libraries", "go.mod", []string{"small 2 1", "big 7 1", "lab 9 1"}},
		{"those of another module", "lab/go.mod", []string{"lab 9 1"}},
		{"a package of another module", "lab/d/d.go", []string{"lab 9 1"}},
		{"another package", "c/c.go", nil},
		{"the scripts of the tests", "hack/test/needs.sh", []string{"small 2 1", "big 7 1", "lab 9 1"}},
		{"the record of a complete pass", "hack/test/complete-pass", nil},
	} {
		text, err := os.ReadFile(tc.file)
		if err != nil {
			t.Fatal(err)
		}
		head := commit(map[string]string{tc.file: string(text) + "\n"})
		table, err := readTable(os.DirFS("."))
		if err != nil {
			t.Fatal(err)
		}
		got, err := table.stale(base)
		if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
			t.Errorf("%s: %s (-want +got):\n%s%v", tc.reason, tc.file, diff, err)
		}
		base = head
	}
}

func TestAChangeIsTestedInItsPackageAndThenWhereItIsImportedTheNearestFirst(t *testing.T) {
	tree(t)
	table, err := readTable(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ file, want string }{
		{"a/testdata/in", "own . ./a\nimporter . ./c\nimporter . ./aa"},
		{"README.md", ""},
		{"lab/d/d.go", "own lab ./d"},
		{"b/b.go", "importer . ./aa"}, // its own tests want what only their part has
	} {
		if got := strings.Join(labelled(table.packagesOf([]string{tc.file})), "\n"); got != tc.want {
			t.Errorf("%s: packages %q, want %q", tc.file, got, tc.want)
		}
	}
}
