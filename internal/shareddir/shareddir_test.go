package shareddir

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const precious = "precious"

// hostile puts into a folder everything that somebody can leave there in place of a plain file, and returns the names,
// with a file outside of the folder that nothing may read or change.
func hostile(t *testing.T) (dir, secret string, names []string) {
	t.Helper()
	base := t.TempDir()
	dir, secret = filepath.Join(base, "shared"), filepath.Join(base, "secret", "file")
	must(t, os.MkdirAll(filepath.Dir(secret), 0o700))
	must(t, os.Mkdir(dir, 0o700))
	must(t, os.WriteFile(secret, []byte(precious), 0o600))
	must(t, os.Symlink(secret, filepath.Join(dir, "link")))
	must(t, os.WriteFile(filepath.Join(dir, "plain"), []byte("plain"), 0o600))
	must(t, os.Symlink("plain", filepath.Join(dir, "link-within")))
	must(t, os.Symlink(filepath.Dir(secret), filepath.Join(dir, "folder")))
	must(t, os.Mkdir(filepath.Join(dir, "directory"), 0o700))
	must(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	must(t, os.Symlink("/dev/zero", filepath.Join(dir, "device")))
	l, err := net.Listen("unix", filepath.Join(dir, "socket"))
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return dir, secret, []string{
		"link", "link-within", "folder/file", "directory", "fifo", "device", "socket", "../secret/file", secret, "", ".",
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func untouched(t *testing.T, file string) {
	t.Helper()
	if text, err := os.ReadFile(file); err != nil || string(text) != precious {
		t.Errorf("%s has %q, %v", file, text, err)
	}
}

// A FIFO without a writer would block a reader that waits, and the test with it.
func TestNothingButAPlainFileIsOpened(t *testing.T) {
	dir, secret, names := hostile(t)
	for _, name := range names {
		if data, err := Read(dir, name, 100); err == nil {
			t.Errorf("%q: read %q", name, data)
		}
		if there, err := Exists(dir, name); there || err == nil {
			t.Errorf("%q: there %v, %v", name, there, err)
		}
		if f, err := OpenOnly(dir, name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600); err == nil {
			t.Errorf("%q: opened %s for writing", name, f.Name())
		}
	}
	if data, err := Read(dir, "plain", 5); err != nil || string(data) != "plain" {
		t.Errorf("a plain file: %q, %v", data, err)
	}
	if there, err := Exists(dir, "missing"); there || err != nil {
		t.Errorf("a missing file: %v, %v", there, err)
	}
	if _, err := Read(dir, "missing", 5); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	untouched(t, secret)
}

// A file of terabytes costs its reader no more than the bound.
func TestAReadIsBounded(t *testing.T) {
	dir, _, _ := hostile(t)
	must(t, os.Truncate(filepath.Join(dir, "plain"), 8<<40))
	if data, err := Read(dir, "plain", 1000); err == nil {
		t.Errorf("%d bytes of more than 1000", len(data))
	}
	if data, err := ReadStart(dir, "plain", 1000); err != nil || len(data) != 1000 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}

func TestReplacingChangesNothingButTheName(t *testing.T) {
	dir, secret, _ := hostile(t)
	must(t, os.Link(secret, filepath.Join(dir, "hard")))
	for _, name := range []string{"link", "fifo", "socket", "device", "hard", "new", "plain"} {
		for part, leave := range map[string]func(string) error{
			"nothing": func(string) error { return nil },
			"a link":  func(p string) error { return os.Symlink(secret, p) },
			"a file":  func(p string) error { return os.Link(secret, p) },
			"a fifo":  func(p string) error { return unix.Mkfifo(p, 0o600) },
		} {
			must(t, leave(filepath.Join(dir, name+PartExtension)))
			must(t, Replace(dir, name, []byte("new"), 0o640))
			if data, err := Read(dir, name, 3); err != nil || string(data) != "new" {
				t.Errorf("%s, in the place of its part %s: %q, %v", name, part, data, err)
			}
		}
	}
	if err := Replace(dir, "folder/file", nil, ForAll); err == nil {
		t.Error("a file was made behind a link")
	}
	if err := Replace(dir, "directory", nil, ForAll); err == nil {
		t.Error("a file replaced a directory")
	}
	if left, _ := filepath.Glob(dir + "/*" + PartExtension); len(left) > 0 {
		t.Errorf("left behind %v", left)
	}
	untouched(t, secret)
}

// What is written in place may have no second name: it may be that of a file of others.
func TestAFileWithASecondNameIsNotWritten(t *testing.T) {
	dir, secret, _ := hostile(t)
	must(t, os.Link(secret, filepath.Join(dir, "hard")))
	if f, err := OpenOnly(dir, "hard", os.O_WRONLY, 0); err == nil || !strings.Contains(err.Error(), "second name") {
		t.Errorf("opened %v, %v", f, err)
	}
	must(t, os.Remove(secret))
	f, err := OpenOnly(dir, "hard", os.O_WRONLY, 0)
	must(t, err)
	must(t, f.Close())
}

func TestRenamingAndRemovingStayBelowTheDirectory(t *testing.T) {
	dir, secret, _ := hostile(t)
	for what, err := range map[string]error{
		"removed":         Remove(dir, "folder/file"),
		"removed above":   Remove(dir, "../secret/file"),
		"renamed":         Rename(dir, "folder/file", "folder/other"),
		"a folder":        Remove(dir, "directory"),
		"a missing name":  Remove(dir, "missing"),
		"a missing other": Rename(dir, "missing", "other"),
	} {
		if err == nil {
			t.Errorf("%s", what)
		}
	}
	must(t, Remove(dir, "link"))
	must(t, Rename(dir, "plain", "other"))
	if f, err := OpenFolder(dir, "folder"); err == nil {
		t.Errorf("opened %s", f.Name())
	}
	f, err := OpenFolder(dir, ".")
	must(t, err)
	defer func() { _ = f.Close() }()
	names, err := f.Readdirnames(-1)
	if err != nil || slices.Contains(names, "link") || !slices.Contains(names, "other") {
		t.Errorf("%v, %v", names, err)
	}
	untouched(t, secret)
}

// Whoever swaps the folder for a link after it was opened changes nothing of what is done in it.
func TestWhatAnOpenFolderHasIsReadWhateverGetsItsName(t *testing.T) {
	dir, secret, _ := hostile(t)
	must(t, os.WriteFile(filepath.Join(dir, "directory", "file"), []byte("ours"), 0o600))
	f, err := OpenFolder(dir, "directory")
	must(t, err)
	defer func() { _ = f.Close() }()
	must(t, os.Rename(filepath.Join(dir, "directory"), filepath.Join(dir, "moved")))
	must(t, os.Symlink(filepath.Dir(secret), filepath.Join(dir, "directory")))
	entry, err := OpenPath(f, "file")
	must(t, err)
	defer func() { _ = entry.Close() }()
	info, err := entry.Stat()
	must(t, err)
	if info.Size() != int64(len("ours")) {
		t.Errorf("a file of %d bytes", info.Size())
	}
	if _, err := OpenFolderAt(f, "../directory"); err == nil {
		t.Error("a folder that is a link was opened")
	}
}

func TestANewFileIsWrittenAtItsEnd(t *testing.T) {
	dir := t.TempDir()
	f, err := New(dir, "journal", []byte("one\n"), ForAll)
	must(t, err)
	_, err = f.WriteString("two\n")
	must(t, errors.Join(err, f.Close()))
	if data, err := Read(dir, "journal", 100); err != nil || string(data) != "one\ntwo\n" {
		t.Errorf("%q, %v", data, err)
	}
}
