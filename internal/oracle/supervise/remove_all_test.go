package supervise

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAllOfTheLibrariesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	first, gone, last := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c")
	for _, name := range []string{first, last} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := removeAll([]string{first, gone, last}); err != nil {
		t.Errorf("one was gone already, and that is %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "full", "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := removeAll([]string{filepath.Join(dir, "full")}); err == nil {
		t.Error("what cannot be removed is no error")
	}
}
