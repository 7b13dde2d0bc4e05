// Package structure holds the tests of the shape of the source: the package map
// of ARCHITECTURE.md, and the sizes of files and functions.
package structure

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	root        = "../.."
	module      = "github.com/nfsbench/nfsbench/"
	maxFile     = 400 // lines
	maxP90      = 45  // lines of a function
	maxFunction = 60
)

func TestThePackageMapIsWhatGoListSays(t *testing.T) {
	cmd := exec.Command("go", "list", "./...")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var have []string
	for line := range strings.Lines(string(out)) {
		have = append(have, strings.TrimPrefix(strings.TrimSpace(line), module))
	}
	doc, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z0-9/-]+)` \\|").FindAllSubmatch(section(t, doc, "## Package map"), -1) {
		want = append(want, string(m[1]))
	}
	slices.Sort(have)
	slices.Sort(want)
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("the package map of ARCHITECTURE.md (-) and go list (+) differ:\n%s", diff)
	}
}

func section(t *testing.T, doc []byte, head string) []byte {
	t.Helper()
	_, after, ok := bytes.Cut(doc, []byte(head+"\n"))
	if !ok {
		t.Fatalf("ARCHITECTURE.md has no %q", head)
	}
	body, _, _ := bytes.Cut(after, []byte("\n## "))
	return body
}

func TestEveryPackageSaysItsPurpose(t *testing.T) {
	seen := map[string]bool{}
	eachFile(t, func(path string, file *ast.File, _ *token.FileSet) {
		dir := filepath.Dir(path)
		seen[dir] = seen[dir] || file.Doc != nil
	})
	for dir, ok := range seen {
		if !ok {
			t.Errorf("%s has no package comment: say its purpose in one sentence", dir)
		}
	}
}

func TestFilesAndFunctionsStaySmall(t *testing.T) {
	var lengths []int
	eachFile(t, func(path string, file *ast.File, fset *token.FileSet) {
		if n := fset.Position(file.End()).Line; n > maxFile {
			t.Errorf("%s has %d lines, more than %d: is it one subject?", path, n, maxFile)
		}
		for _, d := range file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			n := fset.Position(fn.End()).Line - fset.Position(fn.Pos()).Line + 1
			lengths = append(lengths, n)
			if n > maxFunction {
				t.Errorf("%s: %s has %d lines, more than %d", path, fn.Name.Name, n, maxFunction)
			}
		}
	})
	slices.Sort(lengths)
	p90 := lengths[len(lengths)*9/10]
	t.Logf("%d functions, median %d lines, p90 %d, longest %d", len(lengths), lengths[len(lengths)/2], p90, lengths[len(lengths)-1])
	if p90 > maxP90 {
		t.Errorf("p90 of function length is %d lines, more than %d", p90, maxP90)
	}
}

// eachFile visits every hand-written file that is not a test.
func eachFile(t *testing.T, visit func(string, *ast.File, *token.FileSet)) {
	t.Helper()
	fset := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && skipped(d.Name()) {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(d.Name(), "zz_generated") {
			return nil
		}
		file, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		visit(path, file, fset)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func skipped(dir string) bool {
	return dir == "bin" || dir == "testdata" || dir == "vendor" || (strings.HasPrefix(dir, ".") && len(dir) > 2)
}
