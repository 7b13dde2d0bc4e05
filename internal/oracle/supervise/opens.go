package supervise

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// imageSID returns the SID that the image uses. Its scripts convert the SID to upper case, and have a default.
func (o Options) imageSID() string {
	return strings.ToUpper(cmp.Or(o.lookup("ORACLE_SID"), o.SID, "ORCLCDB"))
}

// Names that the images use on the volume besides the folder of the database.
const (
	createdExtension = ".created"
	configFolder     = "dbconfig"
)

func (o Options) folder() string { return filepath.Join(o.DataDirectory, o.imageSID()) }

// createdFile returns the path of the file that the start scripts of Oracle's images write after a creation.
func (o Options) createdFile() string {
	return filepath.Join(o.DataDirectory, "."+o.imageSID()+cmp.Or(o.lookup("CHECKPOINT_FILE_EXTN"), createdExtension))
}

// opening describes how the image would handle a volume.
type opening struct {
	missing []string // requirements for opening the database; empty = the image opens it
	would   string   // what the image would do otherwise
	deletes bool     // the image would delete a datafile or control file
	begun   bool     // parts of the database exist
}

// opening determines whether the image certainly opens the database on the volume.
//
// The start scripts of Oracle's images open a database only if the folder <SID> exists, and the file .<SID>.created,
// which they write after a creation. Otherwise they delete <SID> and create a database. They would thus delete the
// files of other images, of DBCA or RMAN, and those of a copy without hidden files. Other files that a start needs
// are in dbconfig/<SID>.
func (o Options) opening() (opening, error) {
	sid, folder, created := o.imageSID(), o.folder(), o.createdFile()
	config := filepath.Join(o.DataDirectory, configFolder, sid)
	datafile, err := findDatafile(folder)
	var now opening
	need := func(there bool, what string) {
		if !there {
			now.missing = append(now.missing, what)
		}
	}
	isFolder, isCreated := isOf(folder, fs.ModeDir), isOf(created, 0)
	now.begun = isFolder || isCreated
	need(isFolder, "the folder "+folder)
	need(isCreated, "the plain file "+created+", which the image writes when it has created a database")
	need(!isFolder || datafile != "", "a datafile or control file (*.dbf, *.ctl) below "+folder)
	for _, f := range []struct{ name, what string }{
		{"spfile" + sid + ".ora", "a server parameter file "}, {"orapw" + sid, "a password file "},
	} {
		there := isOf(filepath.Join(config, f.name), 0) || isOf(filepath.Join(config, "dbs", f.name), 0)
		need(there, f.what+f.name+" in "+config+" or its folder dbs")
	}
	switch {
	case isFolder && isCreated:
		now.would = "try to open it, and not get it started"
	case datafile != "":
		now.would, now.deletes = "delete "+folder+" with "+clip(datafile)+", and create a new database", true
	default:
		now.would = "create a new database on this volume"
	}
	return now, err
}

// refuse returns the reason why the image is not started on these files.
func (now opening) refuse(files string) error {
	return oracle.Failf(runfile.FailureForeignFiles, "%s, and it is not certain that the image would open the database "+
		"on the volume. Missing: %s. The image would %s, so it is not started. Use an empty volume; or, with "+
		"existingDatabase: Use, one whose database an image of Oracle has created, with its hidden files", files,
		strings.Join(now.missing, "; "), now.would)
}

// isOf reports whether a file of this type exists. A link does not count, because its target may not exist for the
// image.
func isOf(path string, mode fs.FileMode) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().Type() == mode
}

// findDatafile returns the name of a datafile or control file below the folder of a database, if there is one. A
// folder with too many entries counts as one that has such files.
func findDatafile(folder string) (found string, err error) {
	root, err := filepath.EvalSymlinks(folder) // files behind a link count, too
	if err == nil {
		err = walk(root, func(_ *os.File, _ string, d fs.DirEntry) error {
			if isDatabaseFile(d) {
				found = d.Name()
				return fs.SkipAll
			}
			return nil
		})
	}
	switch {
	case errors.Is(err, errTooMany):
		return errTooMany.Error(), nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("look for the files of a database: %w", err)
	}
	return found, nil
}
