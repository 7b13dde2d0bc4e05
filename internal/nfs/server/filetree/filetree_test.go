package filetree_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/nfsbench/nfsbench/internal/nfs/server/filetree"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
)

func open(t *testing.T, dir string, opt filetree.Options) *filetree.Tree {
	t.Helper()
	tree, err := filetree.Open(dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tree.Close(); err != nil {
			t.Error(err)
		}
	})
	return tree
}

func mustCreate(t *testing.T, tree *filetree.Tree, dir *filetree.Node, name string) *filetree.Node {
	t.Helper()
	n, _, err := tree.Create(dir, name, 0o644, true)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func mustMkdir(t *testing.T, tree *filetree.Tree, dir *filetree.Node, name string) *filetree.Node {
	t.Helper()
	n, _, err := tree.Mkdir(dir, name, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func mustWrite(t *testing.T, tree *filetree.Tree, n *filetree.Node, data string) {
	t.Helper()
	if _, _, err := tree.Write(n, []byte(data), 0, v3.Unstable); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, tree *filetree.Tree, n *filetree.Node) string {
	t.Helper()
	f, err := tree.OpenFile(n)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Release()
	b := make([]byte, 100)
	k, _ := f.ReadAt(b, 0) // io.EOF, or fewer bytes than expected
	return string(b[:k])
}

func TestHandlesSurviveARestart(t *testing.T) {
	dir := t.TempDir()
	first, err := filetree.Open(dir, filetree.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sub := mustMkdir(t, first, first.Root(), "sub")
	file := mustCreate(t, first, sub, "file")
	mustWrite(t, first, file, "hello")
	if err := first.Rename(first.Root(), "sub", first.Root(), "moved"); err != nil {
		t.Fatal(err)
	}
	if got := content(t, first, file); got != "hello" {
		t.Errorf("after the directory was renamed the handle reads %q", got)
	}
	root, h := first.Root().Handle(), file.Handle()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}

	second := open(t, dir, filetree.Options{})
	if second.Root().Handle() != root {
		t.Error("the root has another handle")
	}
	again, err := second.ByHandle(h[:])
	if err != nil {
		t.Fatal(err)
	}
	if got := content(t, second, again); got != "hello" {
		t.Errorf("after the restart the handle reads %q", got)
	}
}

func TestHandlesOfFilesThatAreGoneAreStale(t *testing.T) {
	cases := map[string]func(t *testing.T, dir string, tree *filetree.Tree){
		"removed by a client": func(t *testing.T, _ string, tree *filetree.Tree) {
			t.Helper()
			if err := tree.Remove(tree.Root(), "file"); err != nil {
				t.Fatal(err)
			}
		},
		"replaced by a client": func(t *testing.T, _ string, tree *filetree.Tree) {
			t.Helper()
			mustCreate(t, tree, tree.Root(), "other")
			if err := tree.Rename(tree.Root(), "other", tree.Root(), "file"); err != nil {
				t.Fatal(err)
			}
		},
		"removed behind our back": func(t *testing.T, dir string, _ *filetree.Tree) {
			t.Helper()
			if err := os.Remove(filepath.Join(dir, "file")); err != nil {
				t.Fatal(err)
			}
		},
		"replaced by a link to a secret": func(t *testing.T, dir string, _ *filetree.Tree) {
			t.Helper()
			if err := errors.Join(os.Remove(filepath.Join(dir, "file")), os.Symlink(secret(t), filepath.Join(dir, "file"))); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, vanish := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
			tree := open(t, dir, filetree.Options{QuotaBytes: 100})
			n, _, err := tree.Lookup(tree.Root(), "file")
			if err != nil {
				t.Fatal(err)
			}
			vanish(t, dir, tree)
			if _, err := tree.Stat(n); !errors.Is(err, syscall.ESTALE) {
				t.Errorf("stat: %v", err)
			}
			if _, err := tree.OpenFile(n); !errors.Is(err, syscall.ESTALE) {
				t.Errorf("open: %v", err)
			}
			if h := n.Handle(); name != "removed behind our back" {
				if _, err := tree.ByHandle(h[:]); !errors.Is(err, syscall.ESTALE) {
					t.Errorf("handle: %v", err)
				}
			}
			if u, err := tree.Usage(); err != nil || u.UsedBytes != 0 {
				t.Errorf("the bytes must be given back: %d used, %v", u.UsedBytes, err)
			}
		})
	}
}

func TestAReusedInodeIsAnotherFile(t *testing.T) {
	tree := open(t, t.TempDir(), filetree.Options{})
	seen := map[[filetree.HandleBytes]byte]bool{}
	for i := range 20 {
		n := mustCreate(t, tree, tree.Root(), "file")
		if seen[n.Handle()] {
			t.Fatalf("round %d: the handle of a removed file came back", i)
		}
		seen[n.Handle()] = true
		if err := tree.Remove(tree.Root(), "file"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestForgedHandles(t *testing.T) {
	tree := open(t, t.TempDir(), filetree.Options{})
	h := tree.Root().Handle()
	bad := slices.Clone(h[:])
	bad[0] ^= 1
	for name, b := range map[string][]byte{"empty": nil, "short": h[:8], "long": append(h[:], 0), "other magic": bad} {
		if _, err := tree.ByHandle(b); !errors.Is(err, syscall.EBADF) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNothingLeadsOutOfTheTree(t *testing.T) {
	outside := t.TempDir()
	dir := filepath.Join(outside, "export")
	err := errors.Join(
		os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o600),
		os.Mkdir(dir, 0o700),
		os.Symlink("..", filepath.Join(dir, "up")),
		os.Symlink("../secret", filepath.Join(dir, "link")),
	)
	if err != nil {
		t.Fatal(err)
	}
	tree := open(t, dir, filetree.Options{})
	root := tree.Root()

	// An absolute name leads to a file of this test, never to one of the machine:
	// code that is broken here does remove it.
	for _, name := range []string{"../secret", "up/secret", filepath.Join(outside, "secret"), "a\x00b", ""} {
		if _, _, err := tree.Lookup(root, name); !errors.Is(err, syscall.ENOENT) {
			t.Errorf("lookup %q: %v", name, err)
		}
		if _, _, err := tree.Create(root, name, 0o644, false); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("create %q: %v", name, err)
		}
		if _, _, err := tree.Mkdir(root, name, 0o755); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("mkdir %q: %v", name, err)
		}
		if err := tree.Remove(root, name); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("remove %q: %v", name, err)
		}
		if err := tree.Rename(root, "link", root, name); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("rename to %q: %v", name, err)
		}
	}
	if n, _, err := tree.Lookup(root, ".."); err != nil || n != root {
		t.Errorf("the parent of the root must be the root: %v", err)
	}
	up, a, err := tree.Lookup(root, "up")
	if err != nil || a.Type == v3.TypeDirectory || up.IsDir() {
		t.Fatalf("a link to a directory must be seen as a link: %+v, %v", a, err)
	}
	if _, _, err := tree.Lookup(up, "secret"); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("lookup through a link: %v", err)
	}
	link, _, err := tree.Lookup(root, "link")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tree.OpenFile(link); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("open a link: %v", err)
	}
	mode := v3.Opt32{Set: true, Value: 0o666}
	if err := tree.SetAttr(link, v3.NewAttr{Mode: mode}); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("chmod through a link: %v", err)
	}
	if _, _, err := tree.Create(root, "link", 0o644, false); !errors.Is(err, syscall.EEXIST) {
		t.Errorf("create over a link: %v", err)
	}
	if got, err := os.ReadFile(filepath.Join(outside, "secret")); err != nil || string(got) != "secret" {
		t.Errorf("the secret is %q now, %v", got, err)
	}
}

func TestADirectoryReplacedByALinkIsNotFollowed(t *testing.T) {
	outside := t.TempDir()
	dir := filepath.Join(outside, "export")
	sub := filepath.Join(dir, "sub")
	err := errors.Join(os.MkdirAll(sub, 0o700), os.Mkdir(filepath.Join(dir, "other"), 0o700), os.WriteFile(filepath.Join(sub, "file"), nil, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	tree := open(t, dir, filetree.Options{})
	subNode, _, err := tree.Lookup(tree.Root(), "sub")
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{outside, "other"} {
		if err := errors.Join(os.RemoveAll(sub), os.Symlink(target, sub)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := tree.Create(subNode, "planted", 0o644, false); err == nil {
			t.Errorf("a file was created through a link to %q", target)
		}
	}
	for _, p := range []string{filepath.Join(outside, "planted"), filepath.Join(dir, "other", "planted")} {
		if _, err := os.Lstat(p); err == nil {
			t.Errorf("%s exists", p)
		}
	}
}

func TestReadDirGoesOnAfterACookie(t *testing.T) {
	tree := open(t, t.TempDir(), filetree.Options{})
	want := []string{".", ".."}
	for i := range 700 {
		name := fmt.Sprintf("file-with-a-long-name-%04d", i)
		mustCreate(t, tree, tree.Root(), name)
		want = append(want, name)
	}
	var got []string
	var cookie uint64
	for rounds := 0; ; rounds++ {
		left := 13
		atEnd, err := tree.ReadDir(tree.Root(), cookie, true, func(e *v3.DirEntry) bool {
			if left == 0 {
				return false
			}
			left--
			got, cookie = append(got, e.Name), e.Cookie
			if e.Name != ".." && (!e.HandlePresent || e.FileID != e.Attr.Attr.FileID) {
				t.Errorf("%s: %+v", e.Name, *e)
			}
			if e.Name == ".." && e.FileID != tree.Root().Inode() {
				t.Error("the inode of the directory outside is shown")
			}
			return true
		})
		if err != nil || rounds > 1000 {
			t.Fatalf("round %d: %v", rounds, err)
		}
		if atEnd {
			break
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("listed %d names, want %d", len(got), len(want))
	}
	if _, err := tree.ReadDir(tree.Root(), 1<<63, false, func(*v3.DirEntry) bool { return true }); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("a cookie that is none: %v", err)
	}
}

func TestExclusiveCreateIsIdempotent(t *testing.T) {
	tree := open(t, t.TempDir(), filetree.Options{})
	verifier := [8]byte{0xff, 2, 3, 4, 5, 6, 7, 8}
	first, err := tree.CreateExclusive(tree.Root(), "file", verifier)
	if err != nil {
		t.Fatal(err)
	}
	again, err := tree.CreateExclusive(tree.Root(), "file", verifier)
	if err != nil || again != first {
		t.Errorf("the same request again: %v", err)
	}
	if _, err := tree.CreateExclusive(tree.Root(), "file", [8]byte{1}); !errors.Is(err, syscall.EEXIST) {
		t.Errorf("another client's request: %v", err)
	}
}

func TestAnEvictedFileIsClosedByItsLastUser(t *testing.T) {
	tree := open(t, t.TempDir(), filetree.Options{MaxOpenFiles: 1})
	first, second := mustCreate(t, tree, tree.Root(), "first"), mustCreate(t, tree, tree.Root(), "second")
	mustWrite(t, tree, first, "content")
	before := openFiles(t)
	f, err := tree.OpenFile(first)
	if err != nil {
		t.Fatal(err)
	}
	mustWrite(t, tree, second, "evicts the first")
	b := make([]byte, 7)
	if _, err := f.ReadAt(b, 0); err != nil || string(b) != "content" {
		t.Errorf("the file was closed under its user: %q, %v", b, err)
	}
	f.Release()
	if after := openFiles(t); after != before {
		t.Errorf("%d files are open, %d before", after, before)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(fds)
}

// secret is a file outside of the tree.
func secret(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(name, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
