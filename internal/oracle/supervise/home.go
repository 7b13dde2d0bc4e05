package supervise

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// findHome returns the Oracle home: what was said, else the variable of the
// image, else the newest below the folder in which images install.
func (o Options) findHome() string {
	for _, home := range []string{o.OracleHome, o.lookup("ORACLE_HOME")} {
		if home != "" {
			return home
		}
	}
	homes, err := filepath.Glob(filepath.Join(o.ProductRoot, "*", "*", "bin", "oracle"))
	if err != nil || len(homes) == 0 {
		return ""
	}
	slices.Sort(homes)
	return filepath.Dir(filepath.Dir(homes[len(homes)-1]))
}

// libraries lists the files of Direct NFS in a folder: libnfsodm19.so, or
// libnfsodm.so from 21c on.
func libraries(dir string) []string {
	found, err := filepath.Glob(filepath.Join(dir, "libnfsodm*.so"))
	if err != nil {
		return nil // of a folder whose name is a bad pattern
	}
	slices.Sort(found)
	return found
}

// checkCommand says at once that a command of the image is not there, which a
// shell would only mumble.
func (o Options) checkCommand(what, field string, command []string) error {
	path := command[0]
	if !strings.Contains(path, "/") {
		path = o.program(path)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return failf(runfile.FailureDatabaseNotReady,
			"the image has no %s %q (distribution %s): set database.container.distribution to who made the image, or database.container.%s", what, command[0], o.Distribution, field)
	case info.IsDir() || info.Mode()&0o111 == 0:
		return failf(runfile.FailureDatabaseNotReady,
			"the %s %q of the image is no program that can be run: set database.container.%s", what, command[0], field)
	}
	return nil
}
