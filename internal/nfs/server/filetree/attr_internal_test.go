package filetree

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Inode is the number that clients see as the file's id.
func (n *Node) Inode() uint64 { return n.key.ino }

func TestWithoutBirthTimesTheKernelsHandleTellsFilesApart(t *testing.T) {
	dir := t.TempDir()
	generationOf := func(name string) uint64 {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		open := generation(int(f.Fd()), "", &unix.Statx_t{})
		d, err := os.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = d.Close() }()
		if named := generation(int(d.Fd()), name, &unix.Statx_t{}); named != open {
			t.Errorf("%s: %x by name, %x open", name, named, open)
		}
		return open
	}
	a, b := generationOf("a"), generationOf("b")
	if a == 0 {
		t.Skip("this file system gives no handles")
	}
	if a == b || a != generationOf("a") {
		t.Errorf("generations %x and %x", a, b)
	}
}
