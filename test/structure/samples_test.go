package structure

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestASampleSaysWhichDefectsItsReleaseHas: the last release update of 19c has those of Direct NFS over NFSv4.
func TestASampleSaysWhichDefectsItsReleaseHas(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "config", "samples", "*", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	nfs4, found := regexp.MustCompile(`version: (NFSv4|pNFS)`), 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sample := string(text)
		if !strings.Contains(sample, "enterprise_ru:19") || !strings.Contains(sample, "DirectNFS") || !nfs4.MatchString(sample) {
			continue
		}
		found++
		for _, word := range []string{"33132050 and 33676296", "docs/findings.md", "KnownDefect"} {
			if !strings.Contains(sample, word) {
				t.Errorf("%s does not say %q", file, word)
			}
		}
	}
	if found == 0 {
		t.Error("no sample runs Direct NFS over NFSv4")
	}
}
