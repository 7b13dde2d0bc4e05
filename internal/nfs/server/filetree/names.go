package filetree

import (
	"encoding/binary"
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/nfs/v3"
)

// MaxName is the longest name in bytes.
const MaxName = 255

// checkName accepts the name of a new or existing directory entry, and nothing that could lead elsewhere.
func checkName(name string) error {
	switch {
	case name == "" || name == "." || name == "..":
		return unix.EINVAL
	case len(name) > MaxName:
		return unix.ENAMETOOLONG
	case strings.ContainsAny(name, "/\x00"):
		return unix.EINVAL
	}
	return nil
}

// Lookup finds a name in a directory. "." is the directory, ".." its parent, and the parent of the root is the root.
// An impossible name does not exist.
func (t *Tree) Lookup(dir *Node, name string) (*Node, v3.Attr, error) {
	if name == "." || name == ".." {
		if !dir.IsDir() {
			return nil, v3.Attr{}, unix.ENOTDIR
		}
		n, err := dir, error(nil)
		if name == ".." && dir != t.root {
			if n, _, err = t.place(dir); err != nil {
				return nil, v3.Attr{}, err
			}
		}
		a, err := t.Stat(n)
		return n, a, err
	}
	err := checkName(name)
	if errors.Is(err, unix.EINVAL) {
		err = unix.ENOENT
	}
	if err != nil {
		return nil, v3.Attr{}, err
	}
	t.names.RLock()
	defer t.names.RUnlock()
	return t.find(dir, name)
}

// find does the same as Lookup. The caller holds the names lock.
func (t *Tree) find(dir *Node, name string) (*Node, v3.Attr, error) {
	var a v3.Attr
	var k key
	err := t.inDir(dir, func(fd int) (err error) {
		a, k, err = statAt(fd, name)
		return err
	})
	if err != nil {
		return nil, v3.Attr{}, err
	}
	n, err := t.adopt(dir, name, k, a)
	return n, a, err
}

// Stat reads the attributes of a node.
func (t *Tree) Stat(n *Node) (v3.Attr, error) {
	if s := t.files.take(n); s != nil {
		defer t.files.give(s)
		return statOpen(int(s.file.Fd()))
	}
	t.names.RLock()
	defer t.names.RUnlock()
	var a v3.Attr
	err := t.at(n, func(dirfd int, name string) (err error) {
		a, _, err = statAt(dirfd, name)
		return err
	})
	return a, err
}

// at calls do with a descriptor and a name for the *at calls, after checking that they still lead to the node. For
// the root the name is empty. The caller holds the names lock.
func (t *Tree) at(n *Node, do func(dirfd int, name string) error) error {
	if n == t.root {
		return t.inDir(n, func(fd int) error { return do(fd, "") })
	}
	parent, name, err := t.place(n)
	if err != nil {
		return err
	}
	return t.inDir(parent, func(fd int) error {
		_, k, err := statAt(fd, name)
		if err != nil {
			return t.goneOr(n, err)
		}
		if k != n.key {
			t.forget(n)
			return unix.ESTALE
		}
		return do(fd, name)
	})
}

// Create creates a regular file. If the name exists, it returns the existing file, or EEXIST with guarded. The owner
// keeps access, whatever perm is. The result made distinguishes a new file from an existing one.
func (t *Tree) Create(dir *Node, name string, perm uint32, guarded bool) (n *Node, made bool, err error) {
	if err := checkNewName(name); err != nil {
		return nil, false, err
	}
	t.names.Lock()
	defer t.names.Unlock()
	n, a, err := t.find(dir, name)
	switch {
	case err == nil && (guarded || a.Type != v3.TypeRegular):
		return nil, false, unix.EEXIST
	case err == nil:
		return n, false, nil
	case !errors.Is(err, unix.ENOENT):
		return nil, false, err
	}
	if err := t.checkRoom(); err != nil {
		return nil, false, err
	}
	const flags = unix.O_RDWR | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	err = t.inDir(dir, func(fd int) error {
		got, err := unix.Openat(fd, name, flags, perm&0o777|0o600)
		if err != nil {
			return err
		}
		f := os.NewFile(uintptr(got), name)
		a, k, err := statAt(got, "")
		if err == nil {
			n, err = t.adopt(dir, name, k, a)
		}
		if err != nil {
			return errors.Join(err, f.Close())
		}
		s, err := t.files.put(n, f, true)
		if err == nil {
			t.files.give(s)
		}
		return err
	})
	return n, err == nil, err
}

// CreateExclusive creates a file that stores verifier, so that a repeated request creates one file and both requests
// succeed. The two timestamps of the file hold the verifier, so that it survives a restart.
func (t *Tree) CreateExclusive(dir *Node, name string, verifier [8]byte) (*Node, error) {
	n, made, err := t.Create(dir, name, 0o600, false)
	if err != nil {
		return nil, err
	}
	seconds := func(b []byte) v3.NewTime { // 31 bits: every file system can store them
		return v3.NewTime{How: v3.TimeClient, Time: v3.Time{Seconds: binary.BigEndian.Uint32(b) & 0x7fffffff}}
	}
	want := v3.NewAttr{Atime: seconds(verifier[0:]), Mtime: seconds(verifier[4:])}
	if made {
		return n, t.SetAttr(n, want)
	}
	a, err := t.Stat(n)
	if err == nil && (a.Atime != want.Atime.Time || a.Mtime != want.Mtime.Time) {
		err = unix.EEXIST
	}
	return n, err
}

// Mkdir creates a directory. The owner keeps access, whatever perm is.
func (t *Tree) Mkdir(dir *Node, name string, perm uint32) (*Node, v3.Attr, error) {
	if err := checkNewName(name); err != nil {
		return nil, v3.Attr{}, err
	}
	if err := t.checkRoom(); err != nil {
		return nil, v3.Attr{}, err
	}
	t.names.Lock()
	defer t.names.Unlock()
	err := t.inDir(dir, func(fd int) error { return unix.Mkdirat(fd, name, perm&0o777|0o700) })
	if err != nil {
		return nil, v3.Attr{}, err
	}
	return t.find(dir, name)
}

// checkNewName checks the name of a new entry.
func checkNewName(name string) error {
	if name == "." || name == ".." {
		return unix.EEXIST
	}
	return checkName(name)
}

// checkRoom checks that one more entry is allowed.
func (t *Tree) checkRoom() error {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if len(t.nodes) >= t.opt.MaxEntries {
		return unix.ENOSPC
	}
	return nil
}

// Remove removes anything but a directory, Rmdir an empty directory.
func (t *Tree) Remove(dir *Node, name string) error { return t.unlink(dir, name, 0) }

// Rmdir removes an empty directory.
func (t *Tree) Rmdir(dir *Node, name string) error { return t.unlink(dir, name, unix.AT_REMOVEDIR) }

func (t *Tree) unlink(dir *Node, name string, flags int) error {
	if err := checkName(name); err != nil {
		return err
	}
	t.names.Lock()
	defer t.names.Unlock()
	return t.inDir(dir, func(fd int) error {
		a, k, err := statAt(fd, name)
		if err != nil {
			return err
		}
		if flags == 0 && a.Type == v3.TypeDirectory {
			return unix.EISDIR
		}
		if err := unix.Unlinkat(fd, name, flags); err != nil {
			return err
		}
		t.unlinked(k, a)
		return nil
	})
}

// unlinked forgets the file of a removed name, unless it has other names.
func (t *Tree) unlinked(k key, a v3.Attr) {
	t.mu.RLock()
	n := t.nodes[k]
	t.mu.RUnlock()
	if n != nil && (a.Type == v3.TypeDirectory || a.Nlink <= 1) {
		t.forget(n)
	}
}

// Rename renames an entry, and like rename(2) replaces a target of the same kind.
func (t *Tree) Rename(fromDir *Node, from string, toDir *Node, to string) error {
	if err := errors.Join(checkName(from), checkName(to)); err != nil {
		return err
	}
	t.names.Lock()
	defer t.names.Unlock()
	return t.inDir(fromDir, func(fromFD int) error {
		return t.inDir(toDir, func(toFD int) error {
			a, k, err := statAt(fromFD, from)
			if err != nil {
				return err
			}
			oldAttr, oldKey, oldErr := statAt(toFD, to)
			if err := unix.Renameat(fromFD, from, toFD, to); err != nil {
				return err
			}
			if oldErr == nil && oldKey != k {
				t.unlinked(oldKey, oldAttr)
			}
			_, err = t.adopt(toDir, to, k, a)
			return err
		})
	})
}
