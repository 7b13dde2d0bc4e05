package supervise

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// maxLooked is how many entries below the folder of a database are looked at for a datafile.
const maxLooked = 10000

// imageSID is the SID that the image uses: its scripts write it in capitals.
func (o Options) imageSID() string { return strings.ToUpper(cmp.Or(o.lookup("ORACLE_SID"), o.SID)) }

// checkOpens refuses the files of somebody else unless it is certain that the image opens them.
//
// The start scripts of Oracle's images open a database only if the file .<SID>.created is there,
// which they write after a creation, and the folder <SID>. Otherwise they delete <SID> and create a
// database. So the files of other images, of DBCA or of RMAN, and those of a copy without hidden
// files, would be lost. What a start needs besides is in dbconfig/<SID>.
func (o Options) checkOpens() error {
	sid := o.imageSID()
	folder, config := filepath.Join(o.DataDirectory, sid), filepath.Join(o.DataDirectory, "dbconfig", sid)
	created := filepath.Join(o.DataDirectory, "."+sid+cmp.Or(o.lookup("CHECKPOINT_FILE_EXTN"), ".created"))
	datafile := findDatafile(folder)
	var missing []string
	need := func(there bool, what string) {
		if !there {
			missing = append(missing, what)
		}
	}
	isFolder, isCreated := isOf(folder, fs.ModeDir), isOf(created, 0)
	need(isFolder, "the folder "+folder)
	need(isCreated, "the plain file "+created+", which the image writes when it has created a database")
	need(!isFolder || datafile != "", "a datafile or control file (*.dbf, *.ctl) below "+folder)
	for _, f := range []struct{ name, what string }{
		{"spfile" + sid + ".ora", "a server parameter file "}, {"orapw" + sid, "a password file "},
	} {
		there := isOf(filepath.Join(config, f.name), 0) || isOf(filepath.Join(config, "dbs", f.name), 0)
		need(there, f.what+f.name+" in "+config+" or its folder dbs")
	}
	if len(missing) == 0 {
		return nil
	}
	would := "create a new database on this volume"
	switch {
	case isFolder && isCreated:
		would = "try to open it, and not get it started"
	case datafile != "":
		would = "delete " + folder + " with " + clip(datafile) + ", and create a new database"
	}
	return oracle.Failf(runfile.FailureForeignFiles, "it is not certain that the image would open the database on the "+
		"volume. Missing: %s. The image would %s, so it is not started. Use a volume whose database an image of Oracle has "+
		"created, with its hidden files, or an empty volume", strings.Join(missing, "; "), would)
}

// isOf says whether there is a file of this type. A link is none: what it leads to may not be there
// for the image.
func isOf(path string, mode fs.FileMode) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().Type() == mode
}

// findDatafile names a datafile or control file below the folder of a database, if there is any.
func findDatafile(folder string) (found string) {
	looked := 0
	root, err := filepath.EvalSymlinks(folder) // files behind a link count, too
	if err != nil {
		return ""
	}
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		looked++
		ext := strings.ToLower(filepath.Ext(path))
		switch {
		case looked > maxLooked:
			return fs.SkipAll
		case err != nil && errors.Is(err, fs.ErrPermission):
			return nil
		case err != nil:
			return err
		case !d.IsDir() && (ext == ".dbf" || ext == ".ctl"):
			found = filepath.Base(path)
			return fs.SkipAll
		}
		return nil
	})
	return found
}
