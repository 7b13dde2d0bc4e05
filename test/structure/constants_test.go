package structure

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// twoMeanings returns words that two packages use for different things.
func twoMeanings() []string {
	return []string{
		"Baseline",  // what a difference is a percentage of; a span of a run
		"Cancelled", // the phase of a benchmark or suite; the code of a failure
		"ClientCPU", // a metric; what limits a capacity
		"Failed",    // the phase of a benchmark or suite; the state of a database container
		"Lost",      // what a large call showed; a kind of wrong data
		"Measure",   // the policy for a volume that is not NFS; a span of a run
		"Preparing", // the reason of a condition; the state of a database container
		"Ready",     // a condition; the state of a database container
		"Refuse",    // policies for files, databases and redo
		"Unknown",   // the outcome of a comparison; what a large call showed
		"Wait",      // the policy for a target in use; a span of a run
		"Wire",      // a metric; what limits a capacity
	}
}

// A word of the product has one place. A second constant for it can come to differ from the first.
func TestNoWordIsDeclaredInTwoPackages(t *testing.T) {
	out, err := exec.Command("git", "-C", root, "ls-files", "*.go").Output()
	if err != nil {
		t.Skipf("git ls-files does not run here: %v", err)
	}
	words := map[string]map[string]bool{} // packages by value
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSpace(name)
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "test/") || strings.HasPrefix(name, "hack/") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, value := range exportedStrings(f) {
			if words[value] == nil {
				words[value] = map[string]bool{}
			}
			words[value][path.Dir(name)] = true
		}
	}
	for word, packages := range words {
		if doubled := len(packages) > 1; doubled != slices.Contains(twoMeanings(), word) {
			t.Errorf("%q is declared in %s: use one constant for one meaning, as those of package bench, and list only words with two",
				word, strings.Join(slices.Sorted(maps.Keys(packages)), ", "))
		}
	}
}

// exportedStrings returns the values of the exported string constants of a file.
func exportedStrings(f *ast.File) []string {
	var values []string
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			spec := s.(*ast.ValueSpec)
			for i, v := range spec.Values {
				lit, ok := v.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING || !spec.Names[i].IsExported() {
					continue
				}
				if text, err := strconv.Unquote(lit.Value); err == nil {
					values = append(values, text)
				}
			}
		}
	}
	return values
}
