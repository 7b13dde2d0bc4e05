package supervise

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/shareddir"
)

// checkVolume checks whether the data directory can hold a database, before the
// image spends minutes on a creation.
func (o Options) checkVolume() error {
	f, err := os.CreateTemp(o.DataDirectory, tryWritePrefix+"*")
	if err == nil {
		if _, err = f.Write(make([]byte, 8192)); err == nil {
			err = f.Sync() // an NFS client may report a server error only now
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

// tryWritePrefix is the prefix of the files that test whether a volume is writable.
const tryWritePrefix = ".nfsbench-write-"

// volumes returns these options for each volume of the database, the data volume first.
func (o Options) volumes() []Options {
	if o.RedoDirectory == "" {
		return []Options{o}
	}
	redo := o
	redo.DataDirectory, redo.MinFreeBytes = o.RedoDirectory, 0 // redo logs may exist already
	redo.Export, redo.UseExisting = o.RedoExport, false        // files of others are never our redo logs
	if o.Engine != nil {
		e := *o.Engine
		e.Export = o.RedoExport
		redo.Engine = &e
	}
	return []Options{o, redo}
}

// eachVolume runs a check for each volume, until one fails.
func (o Options) eachVolume(check func(Options) error) error {
	for _, v := range o.volumes() {
		if err := check(v); err != nil {
			return err
		}
	}
	return nil
}

// redoFile in the data directory contains the export of the redo logs, without which the database cannot be opened.
// Its second line is the export of the data, which identifies a copy of the volume.
const redoFile = ".nfsbench-redo"

// maxRedoFile is above the API's limit for the paths of two exports.
const maxRedoFile = 16 << 10

func (o Options) redoFile() string { return filepath.Join(o.DataDirectory, redoFile) }

// checkRedo refuses a database whose redo logs are on another export than the mounted one, and a copy of another
// database's volume: its control file names the redo logs of the original.
func (o Options) checkRedo() error {
	raw, err := shareddir.Read(o.DataDirectory, redoFile, maxRedoFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look where the redo logs are: %w", err)
	}
	redo, data, _ := strings.Cut(strings.TrimSuffix(string(raw), "\n"), "\n")
	isPath := func(p string) bool { return path.IsAbs(p) && path.Clean(p) == p && !strings.Contains(p, "\n") }
	switch {
	case !isPath(redo) || !isPath(data):
		return oracle.Failf(runfile.FailureInvalidPlan, "%s is not as a run writes it: it has the path of the export with "+
			"the redo logs of the database on this volume, and in a second line that of the data; correct it, or use an "+
			"empty export", o.redoFile())
	case data != path.Clean(o.Export):
		return oracle.Failf(runfile.FailureInvalidPlan, "this volume is a copy of another database's: %s has the export %q, "+
			"and this run %q. The redo logs of that database are on the export %q, and must not be opened by two databases: "+
			"create a new database on an empty export; or, if the export of the redo logs was copied, too, or if only the "+
			"path of the export has changed, write the path of the copy of the redo logs into the file, and that of this "+
			"volume into its second line", o.redoFile(), clip(data), clip(o.Export), clip(redo))
	case redo != path.Clean(o.RedoExport):
		return oracle.Failf(runfile.FailureInvalidPlan, "the redo logs of the database on this volume are on the export %q, "+
			"and it cannot be opened without them: set storage.export.redoPath to it, or use another volume; or, if there "+
			"is no database any more, or its redo logs never came there, remove %s", clip(redo), o.redoFile())
	}
	return nil
}

// keepRedo records on the volume where the redo logs are. Only a ready database can move them.
func (o Options) keepRedo() error {
	if o.RedoExport == "" {
		return nil
	}
	text := path.Clean(o.RedoExport) + "\n" + path.Clean(o.Export) + "\n"
	if err := shareddir.ReplaceSynced(o.DataDirectory, redoFile, []byte(text), shareddir.ForAll); err != nil {
		return fmt.Errorf("keep where the redo logs are: %w", err)
	}
	return nil
}

// claimVolumes marks the volumes as ours.
func (s *supervisor) claimVolumes() error {
	if err := s.o.checkRedo(); err != nil { // another database may have used it until now
		return err
	}
	for n, v := range s.o.volumes() {
		own, err := v.claimVolume()
		if err != nil {
			return err
		}
		if n == 0 && own != nil {
			s.unfinished, s.seen = !own.Created, own.DBIDs
		}
	}
	return nil
}

// claimVolume records on a volume without foreign files which database the image may create there, and returns that
// database. With foreign files it returns nil, because the files stay their owner's.
func (o Options) claimVolume() (*ownDatabase, error) {
	foreign, err := o.refuseForeign()
	if err != nil || foreign {
		return nil, err
	}
	// The image writes this file when a database is complete, so remove the file of a previous one.
	if _, err := os.Stat(o.folder()); errors.Is(err, fs.ErrNotExist) {
		created := filepath.Base(o.createdFile())
		if err := shareddir.Remove(o.DataDirectory, created); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("prepare the volume for a new database: %w", err)
		}
	}
	datafile, err := findDatafile(o.folder())
	if err != nil {
		return nil, err
	}
	var own *ownDatabase
	err = o.changeMarker(func(d *ownDatabase) {
		if datafile == "" {
			d.Created, d.DBIDs = false, nil // the old one is gone, and the image creates another
		}
		own = d
	})
	return own, err
}

// refuseForeign refuses foreign files, because a start would open the database, change it permanently and restart it,
// or delete it. If foreign files may be used, it reports whether there are any. It also refuses a complete database
// of ours that the image would delete.
func (o Options) refuseForeign() (bool, error) {
	name, err := o.foreign()
	var now opening
	if err == nil {
		now, err = o.opening()
	}
	if errors.Is(err, fs.ErrPermission) {
		return false, oracle.Failf(runfile.FailureAccessDenied, "user %d cannot look at the files on the volume at %s: %w",
			os.Getuid(), o.DataDirectory, err)
	}
	if err != nil {
		return false, err
	}
	if name == "" {
		m, err := o.readMarker()
		if d := m.find(o.imageSID()); d != nil && d.Created && now.deletes {
			err = now.refuse("the database on the volume was created for a benchmark and is complete")
		}
		return false, err
	}
	if o.DataDirectory == o.RedoDirectory {
		return true, oracle.Failf(runfile.FailureForeignFiles, "the volume of the redo logs at %s holds files that were not "+
			"created for a benchmark (%s): use an empty one", o.DataDirectory, clip(name))
	}
	files := fmt.Sprintf("the volume holds files that were not created for a benchmark (%s)", clip(name))
	switch {
	case len(now.missing) > 0 && (o.UseExisting || now.begun || now.deletes):
		return true, now.refuse(files)
	case o.UseExisting:
		return true, nil
	}
	return true, oracle.Failf(runfile.FailureForeignFiles, "%s: use an empty volume; or, if these are the files of a "+
		"database that a run may restart and whose init parameters it may change for good, set "+
		"database.container.existingDatabase to Use", files)
}

// refuseForeignVolumes calls refuseForeign for each volume.
func (o Options) refuseForeignVolumes() error {
	return o.eachVolume(func(v Options) error {
		_, err := v.refuseForeign()
		return err
	})
}
