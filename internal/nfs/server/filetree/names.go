package filetree

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// MaxName is the longest name in bytes.
const MaxName = 255

// checkName lets through what is one new or existing entry of a directory, and nothing
// that could lead elsewhere.
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

// Lookup finds a name in a directory. "." is the directory, ".." its parent, and the
// parent of the root is the root.
func (t *Tree) Lookup(dir *Node, name string) (*Node, Attr, error) {
	if name == "." || name == ".." {
		return t.lookupDots(dir, name)
	}
	if err := checkLookup(name); err != nil {
		return nil, Attr{}, err
	}
	t.names.RLock()
	defer t.names.RUnlock()
	return t.find(dir, name)
}

// checkLookup differs from checkName only in the error: a name that can not exist is not there.
func checkLookup(name string) error {
	err := checkName(name)
	if errors.Is(err, unix.EINVAL) {
		return unix.ENOENT
	}
	return err
}

func (t *Tree) lookupDots(dir *Node, name string) (*Node, Attr, error) {
	if !dir.IsDir() {
		return nil, Attr{}, unix.ENOTDIR
	}
	n := dir
	if name == ".." && dir != t.root {
		parent, _, err := t.place(dir)
		if err != nil {
			return nil, Attr{}, err
		}
		n = parent
	}
	a, err := t.Stat(n)
	return n, a, err
}

// find is Lookup for callers that hold the names lock.
func (t *Tree) find(dir *Node, name string) (*Node, Attr, error) {
	var a Attr
	var k key
	err := t.inDir(dir, func(fd int) (err error) {
		a, k, err = statAt(fd, name)
		return err
	})
	if err != nil {
		return nil, Attr{}, err
	}
	n, err := t.adopt(dir, name, k, a)
	return n, a, err
}

// Stat reads the attributes of a node.
func (t *Tree) Stat(n *Node) (Attr, error) {
	if s := t.files.take(n); s != nil {
		defer t.files.give(s)
		return statOpen(int(s.file.Fd()))
	}
	t.names.RLock()
	defer t.names.RUnlock()
	var a Attr
	err := t.at(n, func(dirfd int, name string) (err error) {
		a, _, err = statAt(dirfd, name)
		return err
	})
	return a, err
}

// at runs do with a descriptor and a name for the *at calls, after checking that they
// still lead to the node. For the root the name is empty. The caller holds the names lock.
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

// Mkdir makes a directory. The owner keeps access, whatever perm says.
func (t *Tree) Mkdir(dir *Node, name string, perm uint32) (*Node, Attr, error) {
	if err := t.checkNew(name); err != nil {
		return nil, Attr{}, err
	}
	t.names.Lock()
	defer t.names.Unlock()
	err := t.inDir(dir, func(fd int) error { return unix.Mkdirat(fd, name, perm&0o777|0o700) })
	if err != nil {
		return nil, Attr{}, err
	}
	return t.find(dir, name)
}

// checkNew checks the name of an entry to be made, and that one more is allowed.
func (t *Tree) checkNew(name string) error {
	if err := checkName(name); err != nil {
		if name == "." || name == ".." {
			return unix.EEXIST
		}
		return err
	}
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
		if flags == 0 && a.IsDir() {
			return unix.EISDIR
		}
		if err := unix.Unlinkat(fd, name, flags); err != nil {
			return err
		}
		t.unlinked(k, a)
		return nil
	})
}

// unlinked forgets the file of a name that is gone, unless it has other names.
func (t *Tree) unlinked(k key, a Attr) {
	t.mu.RLock()
	n := t.nodes[k]
	t.mu.RUnlock()
	if n != nil && (a.IsDir() || a.Links <= 1) {
		t.forget(n)
	}
}

// Rename moves a name, replacing a target of the same kind as rename(2) does.
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
