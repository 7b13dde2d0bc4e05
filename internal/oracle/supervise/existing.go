package supervise

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

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
		return failf(runfile.FailureForeignFiles,
			"the volume holds a database that was not created for a benchmark (folder %s): it would get other init parameters for good and be restarted; use an empty volume, or set database.container.existingDatabase to Use if that may be", name)
	}
	const text = "The database on this volume was created for a benchmark of nfsbench, which may change it.\n"
	if err := os.WriteFile(filepath.Join(o.DataDirectory, MarkerFile), []byte(text), 0o640); err != nil {
		return fmt.Errorf("mark the volume as ours: %w", err)
	}
	return nil
}
