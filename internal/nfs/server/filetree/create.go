package filetree

import (
	"encoding/binary"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Create makes a regular file, or finds the one that is there unless guarded: then it
// answers EEXIST. The owner keeps access, whatever perm says. The answer tells a new file
// from an old one.
func (t *Tree) Create(dir *Node, name string, perm uint32, guarded bool) (n *Node, made bool, err error) {
	if err := checkName(name); err != nil {
		if name == "." || name == ".." {
			return nil, false, unix.EEXIST
		}
		return nil, false, err
	}
	t.names.Lock()
	defer t.names.Unlock()
	n, a, err := t.find(dir, name)
	switch {
	case err == nil && (guarded || !a.IsRegular()):
		return nil, false, unix.EEXIST
	case err == nil:
		return n, false, nil
	case !errors.Is(err, unix.ENOENT):
		return nil, false, err
	}
	n, err = t.create(dir, name, perm)
	return n, err == nil, err
}

func (t *Tree) create(dir *Node, name string, perm uint32) (*Node, error) {
	if err := t.checkNew(name); err != nil {
		return nil, err
	}
	const flags = unix.O_RDWR | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	var n *Node
	err := t.inDir(dir, func(fd int) error {
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
	return n, err
}

// CreateExclusive makes a file that remembers verifier, so that the same request sent
// twice makes one file and both are answered well. The verifier lives in the two times of
// the file, where it survives a restart.
func (t *Tree) CreateExclusive(dir *Node, name string, verifier [8]byte) (*Node, error) {
	n, made, err := t.Create(dir, name, 0o600, false)
	if err != nil {
		return nil, err
	}
	// 31 bits each: every file system stores such seconds.
	accessed := time.Unix(int64(binary.BigEndian.Uint32(verifier[0:])&0x7fffffff), 0)
	modified := time.Unix(int64(binary.BigEndian.Uint32(verifier[4:])&0x7fffffff), 0)
	if made {
		return n, t.SetAttr(n, SetAttr{Accessed: &accessed, Modified: &modified})
	}
	a, err := t.Stat(n)
	if err == nil && (!a.Accessed.Equal(accessed) || !a.Modified.Equal(modified)) {
		err = unix.EEXIST
	}
	return n, err
}

// SetAttr names what to change; nil = leave as it is.
type SetAttr struct {
	Mode     *uint32
	UID, GID *uint32
	Size     *uint64
	Accessed *time.Time
	Modified *time.Time
}

// SetAttr changes attributes, the size first because it is what may be refused.
func (t *Tree) SetAttr(n *Node, set SetAttr) error {
	if set.Size != nil {
		if err := t.truncate(n, *set.Size); err != nil {
			return err
		}
	}
	if set.Mode == nil && set.UID == nil && set.GID == nil && set.Accessed == nil && set.Modified == nil {
		return nil
	}
	t.names.RLock()
	defer t.names.RUnlock()
	return t.at(n, func(dirfd int, name string) error { return setAt(dirfd, name, set) })
}

func setAt(dirfd int, name string, set SetAttr) error {
	a, _, err := statAt(dirfd, name)
	if err != nil {
		return err
	}
	if a.Kind() == unix.S_IFLNK {
		return unix.EINVAL // nothing below follows a link, and a link has no mode
	}
	if name == "" {
		name = "." // the root: the path calls know no empty name
	}
	if set.UID != nil && *set.UID != a.UID || set.GID != nil && *set.GID != a.GID {
		if err := unix.Fchownat(dirfd, name, idOr(set.UID), idOr(set.GID), unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}
	}
	if set.Mode != nil {
		// The names lock keeps our own clients from putting a link in the place meanwhile.
		if err := unix.Fchmodat(dirfd, name, *set.Mode&0o777, 0); err != nil {
			return err
		}
	}
	if set.Accessed == nil && set.Modified == nil {
		return nil
	}
	times := []unix.Timespec{timespec(set.Accessed), timespec(set.Modified)}
	return unix.UtimesNanoAt(dirfd, name, times, unix.AT_SYMLINK_NOFOLLOW)
}

func idOr(id *uint32) int {
	if id == nil {
		return -1
	}
	return int(*id)
}

func timespec(t *time.Time) unix.Timespec {
	if t == nil {
		return unix.Timespec{Nsec: unix.UTIME_OMIT}
	}
	return unix.Timespec{Sec: t.Unix(), Nsec: int64(t.Nanosecond())}
}
