package supervise

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/shareddir"
)

// Gift changes the owner of a volume to the user of a database. It runs as root while others may write to the volume.
type Gift struct {
	UID, GID int
	// Chown changes the owner of an open file; nil = unix.Fchownat.
	Chown func(f *os.File, uid, gid int) error
}

// Given is the result of a Gift.
type Given struct {
	Changed int
	// Foreign names a file that was not created for a benchmark. If there is one, nothing changes.
	Foreign string
	// Left names an entry that stays unchanged, because it belongs to another user, has a second name or is a device.
	Left string
}

// Give changes the owner of an empty volume, or of a marked volume with its contents, beginning with the directory.
// Below the directory it changes only plain files, folders and links that root or the user owns and that have a
// single name. It trusts a marker only in a directory that no one but root and the user can write to.
func (g Gift) Give(directory string) (Given, error) {
	top, err := shareddir.OpenFolder(directory, ".")
	if err != nil {
		return Given{}, err
	}
	defer func() { _ = top.Close() }()
	m, err := readMarker(directory, func(marker *os.File) (string, error) { return g.distrust(top, marker) })
	if err != nil {
		return Given{}, err
	}
	foreign, err := m.foreign(directory, "")
	if foreign != "" || err != nil {
		return Given{Foreign: foreign}, err
	}
	if g.Chown == nil {
		g.Chown = func(f *os.File, uid, gid int) error {
			return unix.Fchownat(int(f.Fd()), "", uid, gid, unix.AT_EMPTY_PATH)
		}
	}
	var given Given
	// An empty volume has no other entries: those that appear in the meantime belong to others.
	if err := g.change(top, true, &given); err != nil || len(m.Databases) == 0 {
		return given, err
	}
	return given, walk(directory, func(folder *os.File, _ string, d fs.DirEntry) error {
		entry, err := shareddir.OpenPath(folder, d.Name())
		if errors.Is(err, fs.ErrNotExist) {
			return nil // deleted in the meantime
		}
		if err != nil {
			return err
		}
		defer func() { _ = entry.Close() }()
		return g.change(entry, false, &given)
	})
}

// change changes the owner of one entry. It changes an empty volume whoever owns it.
func (g Gift) change(entry *os.File, isVolume bool, given *Given) error {
	info, err := entry.Stat()
	if err != nil {
		return err
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return fmt.Errorf("stat %s: no owner", entry.Name())
	case int(s.Uid) == g.UID && int(s.Gid) == g.GID:
		return nil
	case !isVolume && (!g.isUser(s.Uid) || !info.IsDir() && (s.Nlink > 1 || !isFileOrLink(info.Mode()))):
		given.Left = entry.Name()
		return nil
	}
	if err := g.Chown(entry, g.UID, g.GID); err != nil {
		return err
	}
	given.Changed++
	return nil
}

// hasACL reports whether the group bits are the mask of a POSIX ACL, which also bounds the rights of others. A file
// system without a clear answer may have one.
func hasACL(f *os.File) bool {
	_, err := unix.Fgetxattr(int(f.Fd()), "system.posix_acl_access", nil)
	return !errors.Is(err, unix.ENODATA) && !errors.Is(err, unix.ENOTSUP)
}

// isFileOrLink excludes devices: owning a device gives access to more than a file.
func isFileOrLink(mode fs.FileMode) bool { return mode.IsRegular() || mode.Type() == fs.ModeSymlink }

func (g Gift) isUser(uid uint32) bool { return uid == 0 || int(uid) == g.UID }

// distrust trusts only markers that no one but root and the user can have created or moved there.
func (g Gift) distrust(folder, marker *os.File) (string, error) {
	why, err := distrustOthers(marker, 0, g.UID)
	if err != nil || why != "" {
		return why, err
	}
	info, err := folder.Stat()
	if err != nil {
		return "", err
	}
	const groupWrites, othersWrite = 0o020, 0o002
	s, ok := info.Sys().(*syscall.Stat_t)
	isGroup := ok && (s.Gid == 0 || int(s.Gid) == g.GID) && !hasACL(folder)
	if !ok || !g.isUser(s.Uid) || info.Mode()&othersWrite != 0 || info.Mode()&groupWrites != 0 && !isGroup {
		return "which is in a directory that others can write to", nil
	}
	return "", nil
}
