package structure

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/test/kit/snippet"
)

var (
	makeTarget = regexp.MustCompile(`(?m)(?:^|\s)make ([a-z][a-z-]*)`)
	ownFile    = regexp.MustCompile(`(?m)(?:^|\s)((?:hack|config|charts|cmd|test|docs)/[A-Za-z0-9_./-]*[A-Za-z0-9_])`)
)

// TestShellSnippetsNameWhatThereIs holds the commands of all documents against the shell, the
// Makefile and the files of the repository. test/lab/e2e runs those of the tutorials.
func TestShellSnippetsNameWhatThereIs(t *testing.T) {
	root := filepath.Join("..", "..")
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := snippet.Read(".")
	if err != nil || len(all) < 20 {
		t.Fatalf("%d snippets, %v", len(all), err)
	}
	for _, s := range all {
		check := exec.CommandContext(t.Context(), "bash", "-n")
		check.Stdin = strings.NewReader(s.Text)
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s: %s", s.Where, out)
		}
		for _, m := range makeTarget.FindAllStringSubmatch(s.Text, -1) {
			if !bytes.Contains(makefile, []byte("\n"+m[1]+":")) && !strings.HasPrefix(m[1], "test-") { // test-% is a pattern
				t.Errorf("%s: there is no target %q in the Makefile", s.Where, m[1])
			}
		}
		for _, m := range ownFile.FindAllStringSubmatch(s.Text, -1) {
			if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
				t.Errorf("%s: there is no %s", s.Where, m[1])
			}
		}
	}
}
