// Package shareddir reads and writes files in directories that others can write to: the run directory of a
// pod, and the volume of a database.
//
// The path of a directory may contain links. Below the directory no function follows a link, not even one that leads
// back into it. The functions read only plain files, so that they never wait for a FIFO or a device. They write only
// new files, or files without a second name, so that no file of other users changes.
//
// All functions may be called from several goroutines at once. Errors are those of package os: fs.ErrNotExist for a
// missing name; a link is an error of the kernel (ELOOP or ENOTDIR).
package shareddir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// ForAll is the mode of a file that containers of other users read.
	ForAll fs.FileMode = 0o644
	// SmallFile is a size in bytes that is far above those of the files that containers of a pod write for each other.
	SmallFile = 1 << 20
	// PartExtension ends the name of a file that Replace has not renamed yet.
	PartExtension = ".part"
)

// ErrNotPlain says that a name is no plain file, or has a link in it, or that the file has a second name.
var ErrNotPlain = errors.New("no plain file of its own")

// Open opens a plain file below dir for reading.
func Open(dir, name string) (*os.File, error) { return open(dir, name, os.O_RDONLY, 0) }

// OpenOnly opens a plain file below dir that has no second name. The flags of package os add to those that all
// functions set. With os.O_CREATE it creates a missing file.
func OpenOnly(dir, name string, flags int, mode fs.FileMode) (*os.File, error) {
	f, err := open(dir, name, flags, mode)
	if err != nil {
		return nil, err
	}
	if err := checkOnlyName(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// checkOnlyName rejects a file that has more than one name: another name may belong to other users.
func checkOnlyName(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if s, ok := info.Sys().(*syscall.Stat_t); !ok || s.Nlink > 1 {
		return fmt.Errorf("%s is %w: it has a second name (a hard link), which may be that of a file of others; remove it",
			f.Name(), ErrNotPlain)
	}
	return nil
}

// Read reads a plain file below dir. A file of more than most bytes is an error.
func Read(dir, name string, most int64) ([]byte, error) {
	data, err := ReadStart(dir, name, most+1)
	if err == nil && int64(len(data)) > most {
		return nil, fmt.Errorf("%s is larger than %d bytes", filepath.Join(dir, name), most)
	}
	return data, err
}

// ReadStart reads at most the first most bytes of a plain file below dir.
func ReadStart(dir, name string, most int64) ([]byte, error) {
	f, err := Open(dir, name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	return io.ReadAll(io.LimitReader(f, most))
}

// Replace writes a new file and gives it the name, as a whole or not at all. It does not change an old file of that
// name.
func Replace(dir, name string, data []byte, mode fs.FileMode) error {
	return closed(replace(dir, name, data, mode, false))
}

// ReplaceSynced is Replace, but syncs the file before it gets the name, so that it survives a crash of the storage.
func ReplaceSynced(dir, name string, data []byte, mode fs.FileMode) error {
	return closed(replace(dir, name, data, mode, true))
}

// New is Replace, but returns the file, open for appending.
func New(dir, name string, data []byte, mode fs.FileMode) (*os.File, error) {
	return replace(dir, name, data, mode, false)
}

func closed(f *os.File, err error) error {
	if err != nil {
		return err
	}
	return f.Close()
}

func replace(dir, name string, data []byte, mode fs.FileMode, sync bool) (*os.File, error) {
	parent, base, err := enter(dir, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(parent) }()
	part := base + PartExtension
	if err := unix.Unlinkat(parent, part, 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, failure("remove", dir, name+PartExtension, err)
	}
	f, err := openAt(parent, dir, name+PartExtension, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, err
	}
	_, err = f.Write(data)
	if info, err2 := f.Stat(); err2 == nil && info.Mode().Perm() != mode {
		err = errors.Join(err, f.Chmod(mode)) // regardless of the umask: containers of other users read it
	}
	if err == nil && sync {
		err = f.Sync()
	}
	if err == nil {
		err = failure("rename", dir, name, unix.Renameat(parent, part, parent, base))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close(), unix.Unlinkat(parent, part, 0))
	}
	return f, nil
}

// Rename gives a file below dir another name in the same folder. It renames a link, not its target.
func Rename(dir, from, to string) error {
	parent, base, err := enter(dir, from)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(parent) }()
	return failure("rename", dir, from, unix.Renameat(parent, base, parent, filepath.Base(to)))
}

// Remove removes a name below dir, but no folder. It removes a link, not its target.
func Remove(dir, name string) error {
	parent, base, err := enter(dir, name)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(parent) }()
	return failure("remove", dir, name, unix.Unlinkat(parent, base, 0))
}

// OpenFolder opens a folder below dir, or with "." dir itself, for reading its names.
func OpenFolder(dir, name string) (*os.File, error) {
	parent, base, err := enter(dir, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(parent) }()
	return openEntry(parent, base, filepath.Join(dir, name), unix.O_DIRECTORY)
}

// OpenFolderAt opens a folder in an open one for reading its names.
func OpenFolderAt(folder *os.File, entry string) (*os.File, error) {
	return openEntry(int(folder.Fd()), entry, filepath.Join(folder.Name(), entry), unix.O_DIRECTORY)
}

// OpenPath opens the entry of a folder, or with "." the folder itself, for nothing but its attributes: a change
// applies to the file that was checked, even if its name is reused. It opens a link, not its target.
func OpenPath(folder *os.File, entry string) (*os.File, error) {
	return openEntry(int(folder.Fd()), entry, filepath.Join(folder.Name(), entry), unix.O_PATH)
}

func openEntry(parent int, entry, path string, flags int) (*os.File, error) {
	fd, err := retry(func() (int, error) {
		return unix.Openat(parent, entry, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// Exists reports whether there is a plain file of the name below dir.
func Exists(dir, name string) (bool, error) {
	f, err := Open(dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, f.Close()
}

// open opens a plain file.
func open(dir, name string, flags int, mode fs.FileMode) (*os.File, error) {
	parent, _, err := enter(dir, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(parent) }()
	return openAt(parent, dir, name, flags, mode)
}

func openAt(parent int, dir, name string, flags int, mode fs.FileMode) (*os.File, error) {
	fd, err := retry(func() (int, error) {
		return unix.Openat(parent, filepath.Base(name), flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC,
			uint32(mode.Perm()))
	})
	if err != nil {
		return nil, failure("open", dir, name, err)
	}
	err = unix.SetNonblock(fd, false) // O_NONBLOCK is only needed for files that are not plain
	f := os.NewFile(uintptr(fd), filepath.Join(dir, name))
	info, err2 := f.Stat()
	if err = errors.Join(err, err2); err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is %w", f.Name(), ErrNotPlain)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// enter opens the folder of a name below dir, without following a link, and returns the name in that folder.
func enter(dir, name string) (fd int, base string, err error) {
	if !filepath.IsLocal(name) {
		return -1, "", failure("open", dir, name, fs.ErrInvalid)
	}
	const folder = unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC
	fd, err = retry(func() (int, error) { return unix.Open(dir, folder, 0) })
	parts := strings.Split(filepath.Clean(name), "/")
	for _, part := range parts[:len(parts)-1] {
		if err != nil {
			break
		}
		up := fd
		fd, err = retry(func() (int, error) { return unix.Openat(up, part, folder|unix.O_NOFOLLOW, 0) })
		_ = unix.Close(up)
	}
	return fd, parts[len(parts)-1], failure("open", dir, name, err)
}

// retry repeats a call that a signal has interrupted, as on NFS.
func retry(call func() (int, error)) (int, error) {
	for {
		if n, err := call(); !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

func failure(what, dir, name string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.EISDIR), errors.Is(err, unix.ENXIO):
		err = fmt.Errorf("%w (%w)", ErrNotPlain, err)
	}
	return &fs.PathError{Op: what, Path: filepath.Join(dir, name), Err: err}
}
