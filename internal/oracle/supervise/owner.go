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

// Gift gives a volume to the user of a database. It runs as root, and others may write to the volume meanwhile.
type Gift struct {
	UID, GID int
	// Chown changes the owner of an open file, and is unix.Fchownat of it where it is nil.
	Chown func(f *os.File, uid, gid int) error
}

// Given says what a Gift has changed.
type Given struct {
	Changed int
	// Foreign names a file that was not created for a benchmark: then nothing changes.
	Foreign string
	// Left names an entry that stays as it is, because it belongs to somebody else, has a second name or is a device.
	Left string
}

// Give changes the owner of a volume that is empty, or of one that a run has marked, with what is on it, first the
// directory. Below it only plain files, folders and links change that root or the user owns and that have one name. A
// mark is believed in a directory that only root and the user can write to.
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
	// An empty volume has nothing else to give: what comes meanwhile is somebody else's.
	if err := g.change(top, true, &given); err != nil || len(m.Databases) == 0 {
		return given, err
	}
	return given, walk(directory, func(folder *os.File, _ string, d fs.DirEntry) error {
		entry, err := shareddir.OpenPath(folder, d.Name())
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it was deleted meanwhile
		}
		if err != nil {
			return err
		}
		defer func() { _ = entry.Close() }()
		return g.change(entry, false, &given)
	})
}

// change changes the owner of one entry. A volume that is empty is given whoever has it.
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

// hasACL reports whether the bits of the group are the mask of a POSIX ACL, so that they say what others get, too. A
// file system that gives no clear answer may have one.
func hasACL(f *os.File) bool {
	_, err := unix.Fgetxattr(int(f.Fd()), "system.posix_acl_access", nil)
	return !errors.Is(err, unix.ENODATA) && !errors.Is(err, unix.ENOTSUP)
}

// isFileOrLink leaves out devices, with which whoever has them does more than with a file.
func isFileOrLink(mode fs.FileMode) bool { return mode.IsRegular() || mode.Type() == fs.ModeSymlink }

func (g Gift) isUser(uid uint32) bool { return uid == 0 || int(uid) == g.UID }

// distrust believes no marker that others than root and the user may have made, or moved there.
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
