package supervise

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// checkVolume finds out, before the image spends minutes on it, whether a
// database can be in the data directory.
func (o Options) checkVolume() error {
	if err := tryWrite(o.DataDirectory); err != nil {
		if isFull(err) {
			return failf(runfile.FailureNoSpace, "the volume at %s is full: make it larger, or remove what is on it", o.DataDirectory)
		}
		return failf(runfile.FailureAccessDenied,
			"user %d cannot write to %s (%v): set database.container.setPermissions to Enabled; where the export squashes root, that cannot help, and the export itself must belong to 54321:54321 and be exported writable", os.Getuid(), o.DataDirectory, err)
	}
	var s unix.Statfs_t
	if err := unix.Statfs(o.DataDirectory, &s); err != nil {
		return fmt.Errorf("look at %s: %w", o.DataDirectory, err)
	}
	if free := int64(s.Bavail) * s.Bsize; free < o.MinFreeBytes { //nolint:gosec // no volume has 2^63 bytes
		return failf(runfile.FailureNoSpace, "the volume at %s has %d MiB free, and a database needs %d MiB to begin with: make it larger, or remove what is on it", o.DataDirectory, free>>20, o.MinFreeBytes>>20)
	}
	return nil
}

func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// tryWrite writes one block to a file of its own.
func tryWrite(dir string) error {
	f, err := os.CreateTemp(dir, ".nfsbench-write-*")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 8192))
	if err == nil {
		err = f.Sync() // an NFS client may say only now what the server said
	}
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}
