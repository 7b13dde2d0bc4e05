package filetree

import (
	"encoding/binary"
	"hash/fnv"
	"time"

	"golang.org/x/sys/unix"
)

// Attr is what the file system says about one file. Sizes are bytes.
type Attr struct {
	// Mode holds the file type and the permission bits, as in st_mode.
	Mode      uint32
	Links     uint32
	UID, GID  uint32
	Size      uint64
	UsedBytes uint64
	RdevMajor uint32
	RdevMinor uint32
	Inode     uint64
	Accessed  time.Time
	Modified  time.Time
	Changed   time.Time
}

// Kind is the file type part of the mode, a unix.S_IF* value.
func (a Attr) Kind() uint32 { return a.Mode & unix.S_IFMT }

// IsRegular reports whether a holds data that can be read and written.
func (a Attr) IsRegular() bool { return a.Kind() == unix.S_IFREG }

// IsDir reports whether a is a directory.
func (a Attr) IsDir() bool { return a.Kind() == unix.S_IFDIR }

const statMask = unix.STATX_BASIC_STATS | unix.STATX_BTIME

// statAt reads the attributes of name in the directory dirfd, without following a link.
// An empty name means dirfd itself.
func statAt(dirfd int, name string) (Attr, key, error) {
	flags := unix.AT_SYMLINK_NOFOLLOW
	if name == "" {
		flags |= unix.AT_EMPTY_PATH
	}
	var sx unix.Statx_t
	if err := unix.Statx(dirfd, name, flags, statMask, &sx); err != nil {
		return Attr{}, key{}, err
	}
	return attrOf(&sx), key{ino: sx.Ino, gen: generation(dirfd, name, &sx)}, nil
}

// statOpen reads the attributes of an open file and not its identity: the cheap call of
// the read and write paths.
func statOpen(fd int) (Attr, error) {
	var sx unix.Statx_t
	err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_BASIC_STATS, &sx)
	if err != nil {
		return Attr{}, err
	}
	return attrOf(&sx), nil
}

func attrOf(sx *unix.Statx_t) Attr {
	return Attr{
		Mode: uint32(sx.Mode), Links: sx.Nlink, UID: sx.Uid, GID: sx.Gid,
		Size: sx.Size, UsedBytes: sx.Blocks * 512,
		RdevMajor: sx.Rdev_major, RdevMinor: sx.Rdev_minor, Inode: sx.Ino,
		Accessed: timeOf(sx.Atime), Modified: timeOf(sx.Mtime), Changed: timeOf(sx.Ctime),
	}
}

func timeOf(t unix.StatxTimestamp) time.Time { return time.Unix(t.Sec, int64(t.Nsec)) }

// generation tells two files apart that had the same inode number one after the other.
// It must be the same after a restart, so only what the file system keeps is used.
func generation(dirfd int, name string, sx *unix.Statx_t) uint64 {
	if sx.Mask&unix.STATX_BTIME != 0 && (sx.Btime.Sec != 0 || sx.Btime.Nsec != 0) {
		return uint64(sx.Btime.Sec)*1e9 + uint64(sx.Btime.Nsec)
	}
	flags := 0
	if name == "" {
		flags = unix.AT_EMPTY_PATH
	}
	h, _, err := unix.NameToHandleAt(dirfd, name, flags)
	if err != nil {
		return 0
	}
	sum := fnv.New64a()
	var kind [4]byte
	binary.BigEndian.PutUint32(kind[:], uint32(h.Type()))
	sum.Write(kind[:])
	sum.Write(h.Bytes())
	return sum.Sum64()
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
