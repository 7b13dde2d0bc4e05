package structure

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEveryDecoderOfForeignBytesHasAMemoryBound holds docs/security.md against the fuzz tests
// of what we ship: each is named there, and those in the table bound the memory.
func TestEveryDecoderOfForeignBytesHasAMemoryBound(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(root, "docs/security.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{} // whether its memory is bounded, by package and name
	table, others, ok := bytes.Cut(section(t, raw, "## Bytes from strangers"), []byte("\nThese fuzz tests"))
	if !ok {
		t.Fatal("docs/security.md does not name the fuzz tests of other rules")
	}
	list := regexp.MustCompile("`([a-z0-9/-]+)`\\s+(Fuzz\\w+(?:, Fuzz\\w+)*)")
	for text, bounded := range map[string]bool{string(table): true, string(others): false} {
		for _, m := range list.FindAllStringSubmatch(text, -1) {
			for name := range strings.SplitSeq(m[2], ", ") {
				named[m[1]+" "+name] = bounded
			}
		}
	}
	found := map[string]bool{}
	for _, top := range []string{"api", "cmd", "controllers", "internal"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, _ os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			return fuzzTestsOf(path, found)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(named, found); diff != "" {
		t.Errorf("docs/security.md (-) and the fuzz tests (+) differ; true: it calls memory.Bound\n%s", diff)
	}
}

// fuzzTestsOf adds the fuzz tests of a file, and whether they bound the memory.
func fuzzTestsOf(path string, to map[string]bool) error {
	src, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, src, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	dir, err := filepath.Rel(root, filepath.Dir(path))
	for _, d := range file.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(fn.Name.Name, "Fuzz") {
			body := src[set.Position(fn.Pos()).Offset:set.Position(fn.End()).Offset]
			to[dir+" "+fn.Name.Name] = bytes.Contains(body, []byte(".Bound(t, "))
		}
	}
	return err
}
