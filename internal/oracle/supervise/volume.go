package supervise

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// checkVolume finds out, before the image spends minutes on it, whether a
// database can be in the data directory.
func (o Options) checkVolume() error {
	f, err := os.CreateTemp(o.DataDirectory, ".nfsbench-write-*")
	if err == nil {
		if _, err = f.Write(make([]byte, 8192)); err == nil {
			err = f.Sync() // an NFS client may say only now what the server said
		}
		err = errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	if err != nil {
		if isFull(err) {
			return oracle.Failf(runfile.FailureNoSpace, "the volume at %s is full: make it larger, or remove what is on it",
				o.DataDirectory)
		}
		return oracle.Failf(runfile.FailureAccessDenied,
			"user %d cannot write to %s (%v): set database.container.setPermissions to Enabled; where the export squashes "+
				"root, that cannot help, and the export itself must belong to 54321:54321 and be exported writable", os.Getuid(),
			o.DataDirectory, err)
	}
	var s unix.Statfs_t
	if err := unix.Statfs(o.DataDirectory, &s); err != nil {
		return fmt.Errorf("look at %s: %w", o.DataDirectory, err)
	}
	if free := int64(s.Bavail) * s.Bsize; free < o.MinFreeBytes { //nolint:gosec // no volume has 2^63 bytes
		return oracle.Failf(runfile.FailureNoSpace,
			"the volume at %s has %d MiB free, and a database needs %d MiB to begin with: make it larger, or remove what is "+
				"on it", o.DataDirectory, free>>20, o.MinFreeBytes>>20)
	}
	return nil
}

func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// MarkerFile on a volume says that the database there was created for a benchmark.
const MarkerFile = ".nfsbench-database"

// Foreign names the folder of a database on a volume that was not created for a
// benchmark; empty where there is none. Oracle's images keep a database in a folder
// that is called as its SID, and its configuration in dbconfig.
func Foreign(dataDirectory, sid string) (string, error) {
	_, err := os.Lstat(filepath.Join(dataDirectory, MarkerFile))
	if err == nil {
		return "", nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("look for %s: %w", MarkerFile, err)
	}
	for _, name := range []string{sid, strings.ToUpper(sid), "dbconfig"} {
		if info, err := os.Stat(filepath.Join(dataDirectory, name)); name != "" && err == nil && info.IsDir() {
			return name, nil
		}
	}
	return "", nil
}

// claimVolume refuses the database of somebody else: it would be opened, changed for
// good and restarted. What is created from here on is marked as ours.
func (o Options) claimVolume() error {
	name, err := Foreign(o.DataDirectory, o.SID)
	switch {
	case err != nil:
		return err
	case name != "" && o.UseExisting:
		return nil // it stays somebody else's
	case name != "":
		return oracle.Failf(runfile.FailureForeignFiles,
			"the volume holds a database that was not created for a benchmark (folder %s): it would get other init "+
				"parameters for good and be restarted; use an empty volume, or set database.container.existingDatabase to Use "+
				"if that may be", name)
	}
	const text = "The database on this volume was created for a benchmark of nfsbench, which may change it.\n"
	if err := os.WriteFile(filepath.Join(o.DataDirectory, MarkerFile), []byte(text), 0o640); err != nil {
		return fmt.Errorf("mark the volume as ours: %w", err)
	}
	return nil
}
