// Package structure holds the tests of the shape of the source: the package map of ARCHITECTURE.md and its way of a
// spec, the phases of the controllers and what they assign, and the tables of the stand-in for Oracle and of defects.
package structure

import (
	"bytes"
	gocmp "cmp"
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
	root   = "../.."
	module = "github.com/nfsbench/nfsbench/"
)

// TestThePackageMapsAreWhatGoListSays, those of the product, of its tests and of the laboratory: a row that
// ends in /... is for a package of hack or test and those below it.
func TestThePackageMapsAreWhatGoListSays(t *testing.T) {
	for _, of := range []packageMap{
		{document: "ARCHITECTURE.md", has: func(dir string) bool { return !strings.HasPrefix(dir, "test/") }},
		{document: "test/README.md", has: func(dir string) bool { return strings.HasPrefix(dir, "test/") }, nested: true},
		{document: "test/lab/README.md", folder: "test/lab/", has: func(string) bool { return true }, nested: true},
	} {
		t.Run(of.document, func(t *testing.T) { of.compare(t) })
	}
}

// packageMap is the table of a document.
type packageMap struct {
	document string
	folder   string // of the module
	has      func(dir string) bool
	nested   bool // a row may stand for several packages
}

// compare compares the map with the packages of the module.
func (m packageMap) compare(t *testing.T) {
	t.Helper()
	cmd := exec.Command("go", "list", "./...")
	cmd.Dir = filepath.Join(root, m.folder)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var have []string
	for line := range strings.Lines(string(out)) {
		if dir := strings.TrimPrefix(strings.TrimSpace(line), module+m.folder); m.has(dir) {
			have = append(have, dir)
		}
	}
	doc, err := os.ReadFile(filepath.Join(root, m.document))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, line := range regexp.MustCompile("(?m)^\\| `([a-z0-9/-]+)(/\\.\\.\\.)?` \\|").FindAllSubmatch(section(t, doc, "## Package map"), -1) {
		row := string(line[1])
		want = append(want, row)
		if len(line[2]) == 0 {
			continue
		}
		all := len(have)
		have = slices.DeleteFunc(have, func(dir string) bool { return strings.HasPrefix(dir, row+"/") || dir == row })
		if have = append(have, row); all-len(have) < 1 || !m.nested {
			t.Errorf("row %s/...: name each package by itself", row)
		}
	}
	slices.Sort(have)
	slices.Sort(want)
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("the package map of %s (-) and go list (+) differ:\n%s", m.document, diff)
	}
}

func section(t *testing.T, doc []byte, head string) []byte {
	t.Helper()
	_, after, ok := bytes.Cut(doc, []byte(head+"\n"))
	if !ok {
		t.Fatalf("the document has no %q", head)
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

// TestTheDocumentationOfAControllerNamesItsPhases, all of them in the order in which they
// run: doc.go has one line for each list of phases in controller.go.
func TestTheDocumentationOfAControllerNamesItsPhases(t *testing.T) {
	for _, kind := range []string{"benchmark", "suite"} {
		doc, err := os.ReadFile(filepath.Join(root, "controllers", kind, "doc.go"))
		if err != nil {
			t.Fatal(err)
		}
		var documented []string
		for line := range strings.Lines(string(doc)) {
			text, ok := strings.CutPrefix(line, "//\t")
			switch {
			case !ok:
			case strings.HasPrefix(text, " ") && len(documented) > 0: // the rest of a long list
				documented[len(documented)-1] += " " + strings.TrimSpace(text)
			default:
				documented = append(documented, strings.TrimSpace(text[strings.Index(text, ":")+1:]))
			}
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "controllers", kind, "controller.go"), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		var run []string
		ast.Inspect(file, func(n ast.Node) bool {
			list, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			if of, ok := list.Type.(*ast.ArrayType); !ok || !isNamed(of.Elt, "phase") {
				return true
			}
			var names []string
			for _, e := range list.Elts {
				names = append(names, e.(*ast.SelectorExpr).Sel.Name)
			}
			run = append(run, strings.Join(names, " → "))
			return true
		})
		if diff := cmp.Diff(run, documented); diff != "" || len(run) == 0 {
			t.Errorf("controllers/%s: doc.go (+) does not name the phases of controller.go (-):\n%s", kind, diff)
		}
	}
}

// TestTheWayOfASpecNamesFunctionsThatExist: each row of the lists in ARCHITECTURE.md has a function, or a method with its
// type or package, and the file that declares it.
func TestTheWayOfASpecNamesFunctionsThatExist(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, way, _ := strings.Cut(string(text), "\n## The way of a spec\n")
	way, _, _ = strings.Cut(way, "\n## ")
	row := regexp.MustCompile(`(?m)^ *(?:NFSBenchmark(?:Suite)? +)?(\w[\w.]*(?:, \w+)*) .* ([a-z]\S+\.go)$`)
	rows := row.FindAllStringSubmatch(way, -1)
	if n := strings.Count(way, ".go\n"); len(rows) != n || n == 0 {
		t.Errorf("%d rows of %d have functions and a file", len(rows), n)
	}
	for _, r := range rows {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, r[2]), nil, 0)
		if err != nil {
			t.Errorf("the file of %s: %v", r[1], err)
			continue
		}
		for name := range strings.SplitSeq(r[1], ", ") {
			of, method, qualified := strings.Cut(name, ".")
			if !qualified {
				method = name
			}
			if !slices.ContainsFunc(file.Decls, func(d ast.Decl) bool {
				f, ok := d.(*ast.FuncDecl)
				return ok && f.Name.Name == method && (!qualified || file.Name.Name == of || receiver(f) == of)
			}) {
				t.Errorf("%s has no function %s", r[2], name)
			}
		}
	}
}

// receiver returns the type of a method without its star; empty for a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	of := f.Recv.List[0].Type
	if p, ok := of.(*ast.StarExpr); ok {
		of = p.X
	}
	if id, ok := of.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// TestTheTableOfTheStandInNamesTestsThatExist: each row of test/lab/oracle/README.md has at least one.
func TestTheTableOfTheStandInNamesTestsThatExist(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join(root, "test/lab/oracle/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(?:([a-z/]+): )?(Test\\w+)`")
	for line := range strings.Lines(string(doc)) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| **") || strings.HasPrefix(line, "| Oracle |") {
			continue
		}
		tests := named.FindAllStringSubmatch(line, -1)
		if len(tests) == 0 {
			t.Errorf("no test in %s", line)
		}
		for _, m := range tests {
			if dir := gocmp.Or(m[1], "test/lab/oracle"); !declares(t, dir, m[2]) {
				t.Errorf("%s has no %s", dir, m[2])
			}
		}
	}
}

// TestTheTableOfDefectsNamesTestsThatExist: those of docs/security.md, at least one of each package in a row.
func TestTheTableOfDefectsNamesTestsThatExist(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join(root, "docs/security.md"))
	if err != nil {
		t.Fatal(err)
	}
	list, name, rows := regexp.MustCompile("`([a-z0-9/-]+)`((?:,? (?:Test|Fuzz)\\w+)*)"), regexp.MustCompile(`\w+`), 0
	for line := range strings.Lines(string(section(t, doc, "## Tests"))) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| defect |") {
			continue
		}
		rows++
		packages := list.FindAllStringSubmatch(line[strings.LastIndex(line, " | "):], -1)
		if len(packages) == 0 {
			t.Errorf("no test in %s", line)
		}
		for _, m := range packages {
			if m[2] == "" {
				t.Errorf("no test of %s in %s", m[1], line)
			}
			for _, test := range name.FindAllString(m[2], -1) {
				if !declares(t, m[1], test) {
					t.Errorf("%s has no %s", m[1], test)
				}
			}
		}
	}
	if rows == 0 {
		t.Error("the table has no rows")
	}
}

// declares reports whether a test or fuzz test of that name is in the folder.
func declares(t *testing.T, dir, test string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(path string) bool {
		text, err := os.ReadFile(path)
		return err == nil && bytes.Contains(text, []byte("func "+test+"("))
	})
}

func isNamed(of ast.Expr, name string) bool {
	id, ok := of.(*ast.Ident)
	return ok && id.Name == name
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
