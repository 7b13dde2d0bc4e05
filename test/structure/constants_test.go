package structure

import (
	"fmt"
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

// mostDoubled is the greatest number of values that exported string constants of two or more packages may
// have. Some of them are one word with two meanings.
const mostDoubled = 40

// A word of the product has one place. A second constant for it can come to differ from the first.
func TestNoFurtherWordIsDeclaredInTwoPackages(t *testing.T) {
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
	maps.DeleteFunc(words, func(_ string, packages map[string]bool) bool { return len(packages) < 2 })
	if len(words) <= mostDoubled {
		return
	}
	var list strings.Builder
	for _, word := range slices.Sorted(maps.Keys(words)) {
		fmt.Fprintf(&list, "\n%q: %s", word, strings.Join(slices.Sorted(maps.Keys(words[word])), ", "))
	}
	t.Errorf("%d words have constants in two or more packages, more than %d: use those of package bench%s",
		len(words), mostDoubled, list.String())
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
