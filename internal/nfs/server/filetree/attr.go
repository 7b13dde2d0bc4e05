package filetree

import (
	"encoding/binary"
	"hash/fnv"
	"math"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/nfs/v3"
)

const statMask = unix.STATX_BASIC_STATS | unix.STATX_BTIME

// statAt reads the attributes of name in the directory dirfd, without following a link.
// An empty name means dirfd itself.
func statAt(dirfd int, name string) (v3.Attr, key, error) {
	flags := unix.AT_SYMLINK_NOFOLLOW
	if name == "" {
		flags |= unix.AT_EMPTY_PATH
	}
	var sx unix.Statx_t
	if err := unix.Statx(dirfd, name, flags, statMask, &sx); err != nil {
		return v3.Attr{}, key{}, err
	}
	return attrOf(&sx), key{ino: sx.Ino, gen: generation(dirfd, name, &sx)}, nil
}

// statOpen reads the attributes of an open file without its identity: the cheap call for reads and writes.
func statOpen(fd int) (v3.Attr, error) {
	var sx unix.Statx_t
	err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_BASIC_STATS, &sx)
	if err != nil {
		return v3.Attr{}, err
	}
	return attrOf(&sx), nil
}

// attrOf returns all attributes except the FSID, which belongs to the server.
func attrOf(sx *unix.Statx_t) v3.Attr {
	types := [...]v3.FileType{ // by the type bits of the mode
		unix.S_IFREG >> 12: v3.TypeRegular, unix.S_IFDIR >> 12: v3.TypeDirectory, unix.S_IFLNK >> 12: v3.TypeSymlink,
		unix.S_IFBLK >> 12: v3.TypeBlock, unix.S_IFCHR >> 12: v3.TypeCharacter,
		unix.S_IFSOCK >> 12: v3.TypeSocket, unix.S_IFIFO >> 12: v3.TypeFIFO, 0xf: 0,
	}
	at := func(t unix.StatxTimestamp) v3.Time { return v3.Time{Seconds: uint32(t.Sec), Nanoseconds: t.Nsec} }
	return v3.Attr{
		Type: types[sx.Mode>>12], Mode: uint32(sx.Mode & 0o7777), Nlink: sx.Nlink, UID: sx.Uid, GID: sx.Gid,
		Size: sx.Size, Used: sx.Blocks * 512, RdevMajor: sx.Rdev_major, RdevMinor: sx.Rdev_minor, FileID: sx.Ino,
		Atime: at(sx.Atime), Mtime: at(sx.Mtime), Ctime: at(sx.Ctime),
	}
}

// generation distinguishes successive files with the same inode number. It must not change in a restart, so it uses
// only data that the file system keeps.
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

// SetAttr changes attributes, the size first because it may be refused.
func (t *Tree) SetAttr(n *Node, set v3.NewAttr) error {
	if set.Size.Set {
		if err := t.truncate(n, set.Size.Value); err != nil {
			return err
		}
		set.Size = v3.Opt64{}
	}
	if set == (v3.NewAttr{}) {
		return nil
	}
	t.names.RLock()
	defer t.names.RUnlock()
	return t.at(n, func(dirfd int, name string) error { return setAt(dirfd, name, set) })
}

func setAt(dirfd int, name string, set v3.NewAttr) error {
	a, _, err := statAt(dirfd, name)
	if err != nil {
		return err
	}
	if a.Type == v3.TypeSymlink {
		return unix.EINVAL // nothing below follows a link, and a link has no mode
	}
	if name == "" {
		name = "." // the root: the path calls reject an empty name
	}
	if set.UID.Or(a.UID) != a.UID || set.GID.Or(a.GID) != a.GID {
		const keep = math.MaxUint32
		uid, gid := int(set.UID.Or(keep)), int(set.GID.Or(keep))
		if err := unix.Fchownat(dirfd, name, uid, gid, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}
	}
	if set.Mode.Set {
		// The names lock keeps our own clients from replacing the entry with a link in the meantime.
		if err := unix.Fchmodat(dirfd, name, set.Mode.Value&0o777, 0); err != nil {
			return err
		}
	}
	if set.Atime.How == v3.TimeKeep && set.Mtime.How == v3.TimeKeep {
		return nil
	}
	times := []unix.Timespec{timespec(set.Atime), timespec(set.Mtime)}
	return unix.UtimesNanoAt(dirfd, name, times, unix.AT_SYMLINK_NOFOLLOW)
}

func timespec(t v3.NewTime) unix.Timespec {
	switch t.How {
	case v3.TimeServer:
		return unix.Timespec{Nsec: unix.UTIME_NOW}
	case v3.TimeClient:
		return unix.NsecToTimespec(int64(t.Time.Seconds)*1e9 + int64(t.Time.Nanoseconds))
	default:
		return unix.Timespec{Nsec: unix.UTIME_OMIT}
	}
}
