package server

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/nfs/server/filetree"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
)

// statusOf translates an error of the file tree. What has no NFS name is an I/O error;
// what passes by itself asks the client to come again.
func statusOf(err error) v3.Status {
	if err == nil {
		return v3.OK
	}
	var e unix.Errno
	if !errors.As(err, &e) {
		return v3.ErrIO
	}
	switch e { //nolint:exhaustive // what has no name in the protocol follows below
	case unix.EBADF:
		return v3.ErrBadHandle
	case unix.ENOTEMPTY:
		return v3.ErrNotEmpty
	case unix.ENAMETOOLONG:
		return v3.ErrNameTooLong
	case unix.ESTALE:
		return v3.ErrStale
	case unix.EDQUOT:
		return v3.ErrDQuot
	case unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.EAGAIN:
		return v3.ErrJukebox
	case unix.EPERM, unix.ENOENT, unix.ENXIO, unix.EACCES, unix.EEXIST, unix.EXDEV, unix.ENODEV,
		unix.ENOTDIR, unix.EISDIR, unix.EINVAL, unix.EFBIG, unix.ENOSPC, unix.EROFS, unix.EMLINK:
		return v3.Status(e) // the protocol took these numbers from Unix
	}
	return v3.ErrIO
}

func wireAttr(a filetree.Attr, fsid uint64) v3.Attr {
	return v3.Attr{
		Type: wireType(a.Kind()), Mode: a.Mode & 0o7777, Nlink: a.Links,
		UID: a.UID, GID: a.GID, Size: a.Size, Used: a.UsedBytes,
		RdevMajor: a.RdevMajor, RdevMinor: a.RdevMinor, FSID: fsid, FileID: a.Inode,
		Atime: wireTime(a.Accessed), Mtime: wireTime(a.Modified), Ctime: wireTime(a.Changed),
	}
}

func wireType(kind uint32) v3.FileType {
	switch kind {
	case unix.S_IFDIR:
		return v3.TypeDirectory
	case unix.S_IFLNK:
		return v3.TypeSymlink
	case unix.S_IFBLK:
		return v3.TypeBlock
	case unix.S_IFCHR:
		return v3.TypeCharacter
	case unix.S_IFSOCK:
		return v3.TypeSocket
	case unix.S_IFIFO:
		return v3.TypeFIFO
	}
	return v3.TypeRegular
}

func wireTime(t time.Time) v3.Time {
	return v3.Time{Seconds: uint32(t.Unix()), Nanoseconds: uint32(t.Nanosecond())}
}

// wanted translates the attributes to set; now is the server's time.
func wanted(a v3.NewAttr, now time.Time) filetree.SetAttr {
	var s filetree.SetAttr
	if a.Mode.Set {
		s.Mode = &a.Mode.Value
	}
	if a.UID.Set {
		s.UID = &a.UID.Value
	}
	if a.GID.Set {
		s.GID = &a.GID.Value
	}
	if a.Size.Set {
		s.Size = &a.Size.Value
	}
	s.Accessed = wantedTime(a.Atime, now)
	s.Modified = wantedTime(a.Mtime, now)
	return s
}

func wantedTime(t v3.NewTime, now time.Time) *time.Time {
	switch t.How {
	case v3.TimeServer:
		return &now
	case v3.TimeClient:
		at := time.Unix(int64(t.Time.Seconds), int64(t.Time.Nanoseconds))
		return &at
	case v3.TimeKeep:
	}
	return nil
}
