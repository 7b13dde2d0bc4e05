package structure

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A package whose tests nobody runs is worse than one without: it looks tested.
func TestEveryTestIsRunByTheScript(t *testing.T) {
	script, err := os.ReadFile(filepath.Join(root, "hack/test.sh"))
	if err != nil {
		t.Fatal(err)
	}
	var patterns []string
	for line := range strings.Lines(string(script)) {
		if strings.Contains(line, "gotest ") {
			patterns = append(patterns, regexp.MustCompile(`\./[a-z0-9/.-]+`).FindAllString(line, -1)...)
		}
		if _, folder, ok := strings.Cut(line, "moduletest "); ok { // all of a module of its own
			patterns = append(patterns, "./"+strings.Fields(folder)[0]+"/...")
		}
	}
	runs := func(dir string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool {
			below, all := strings.CutSuffix(p, "/...")
			return dir == below || all && strings.HasPrefix(dir, below+"/")
		})
	}
	missed := map[string]bool{}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && (name == "testdata" || strings.HasPrefix(name, ".") && path != root) {
			return filepath.SkipDir
		}
		dir := strings.Replace(filepath.Dir(path), root, ".", 1)
		if strings.HasSuffix(path, "_test.go") && !runs(dir) && !missed[dir] {
			missed[dir] = true
			t.Errorf("hack/test.sh does not run the tests of %s", dir)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
