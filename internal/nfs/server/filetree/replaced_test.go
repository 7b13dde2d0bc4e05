package filetree_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/nfsbench/nfsbench/internal/nfs/server/filetree"
)

// A client that goes on writing must not write to a file that somebody has put in
// the place of its own.
func TestAFileThatWasPutInItsPlaceIsNotOpened(t *testing.T) {
	dir := t.TempDir()
	mine, other := filepath.Join(dir, "file"), filepath.Join(t.TempDir(), "other")
	for _, name := range []string{mine, other} {
		if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tree := open(t, dir, filetree.Options{})
	n, _, err := tree.Lookup(tree.Root(), "file")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(other, mine); err != nil {
		t.Fatal(err)
	}
	if f, err := tree.OpenFile(n); !errors.Is(err, syscall.ESTALE) {
		if err == nil {
			f.Release()
		}
		t.Errorf("open: %v, want a stale handle", err)
	}
}
