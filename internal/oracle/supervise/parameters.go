package supervise

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/shareddir"
)

// keptParameters in the run directory is a copy of the server parameter file that the database last started with. The
// run directory outlives this container but not its pod, so a later run cannot undo changes that were made since (see
// beforeRestart).
const keptParameters = "database-spfile.ora"

const maxParameterFile = 1 << 20

// parameterFile returns the path of the server parameter file below the data directory; empty = there is none.
func (o Options) parameterFile() string {
	sid := o.imageSID()
	for _, dir := range []string{"", "dbs"} {
		name := filepath.Join(configFolder, sid, dir, "spfile"+sid+".ora")
		if isOf(filepath.Join(o.DataDirectory, name), 0) {
			return name
		}
	}
	return ""
}

// keepParameters copies the parameters of a ready database, once per start. After a creation the image may still have
// to move them to the volume.
func (s *supervisor) keepParameters(c *child) {
	path := s.o.parameterFile()
	if path == "" || c.kept {
		return
	}
	c.kept = true
	s.forgetParameters(path)
	text, err := shareddir.Read(s.o.DataDirectory, path, maxParameterFile)
	if err == nil {
		err = shareddir.Replace(s.o.RunDir, keptParameters, text, shareddir.ForAll)
	}
	if err != nil {
		s.log.Warn("The server parameter file was not kept", "error", err)
	}
}

// beforeRestart is the suffix of the copy of keptParameters beside the server parameter file. The copy exists from
// the request for a restart until the database is ready again, so that the next container finds it if this one is
// killed.
const beforeRestart = ".nfsbench-before"

// saveParameters writes the kept parameters beside the server parameter file before a restart.
func (s *supervisor) saveParameters() {
	path := s.o.parameterFile()
	kept, err1 := shareddir.Read(s.o.RunDir, keptParameters, maxParameterFile)
	now, err2 := shareddir.Read(s.o.DataDirectory, path, maxParameterFile)
	if err1 != nil || err2 != nil || bytes.Equal(kept, now) {
		return
	}
	info, err := os.Lstat(filepath.Join(s.o.DataDirectory, path))
	if err == nil {
		err = shareddir.ReplaceSynced(s.o.DataDirectory, path+beforeRestart, kept, info.Mode().Perm())
	}
	if err != nil {
		s.log.Warn("The server parameter file was not kept on the volume", "error", err)
	}
}

// undoParameters restores the parameters from before a restart during which an earlier container was killed. It
// leaves a file that was changed or restored since. Only the ctime shows that, because a restored backup has its old
// mtime.
func (s *supervisor) undoParameters() {
	path := s.o.parameterFile()
	if path == "" {
		return
	}
	var now, before unix.Stat_t
	whole := filepath.Join(s.o.DataDirectory, path)
	err := errors.Join(unix.Lstat(whole, &now), unix.Lstat(whole+beforeRestart, &before))
	if err == nil && before.Mode&unix.S_IFMT == unix.S_IFREG && now.Ctim.Nano() <= before.Ctim.Nano() {
		if err := shareddir.Rename(s.o.DataDirectory, path+beforeRestart, path); err != nil {
			s.log.Warn("The server parameter file from before an interrupted restart was not put back", "error", err)
			return
		}
		s.log.Warn("A restart with other parameters was interrupted; the server parameter file is again as it was "+
			"before", "file", whole)
	}
	s.forgetParameters(path)
}

// putBackParameters handles a failed start, and a restart that ctx ended before the database was ready. If the
// parameters have changed since the database was ready, it restores the old ones, so that the volume stays usable. If
// they can be the cause, it starts the database once more to check that the old ones work, and reports that the new
// ones were refused. Otherwise it returns failure.
func (s *supervisor) putBackParameters(ctx context.Context, c *child, state string, failure error) error {
	if c.wasReady || ctx.Err() != nil && state != runfile.DatabaseRestarting {
		return failure // a first start has no parameters of the loader, but it may have a user's
	}
	path := s.o.parameterFile()
	kept, err1 := shareddir.Read(s.o.RunDir, keptParameters, maxParameterFile)
	now, err2 := shareddir.Read(s.o.DataDirectory, path, maxParameterFile)
	if err1 != nil || err2 != nil || bytes.Equal(kept, now) {
		return failure
	}
	s.stop(c)
	if oracle.CodeOf(context.Cause(ctx)) == runfile.FailureVolumeInUse {
		return failure // another database uses the volume now
	}
	whole := filepath.Join(s.o.DataDirectory, path)
	err := replaceKeepingMode(s.o.DataDirectory, path, kept)
	if err == nil {
		s.forgetParameters(path)
	}
	code := oracle.CodeOf(failure)
	if ctx.Err() != nil || code != runfile.FailureDatabaseNotReady && code != runfile.FailureDatabaseEnded {
		if err != nil {
			s.log.Warn("The start with other parameters did not end well, and the server parameter file could not be put back",
				"error", err)
			return failure
		}
		s.log.Warn("The start with other parameters did not end well; the server parameter file is put back", "file", whole)
		return failure
	}
	why := cmp.Or(regexp.MustCompile(`ORA-\d{5}: [^|]*`).FindString(failure.Error()), failure.Error())
	if err != nil {
		return oracle.Failf(runfile.FailureParameter, "the database does not start with the init parameters that were set: "+
			"%s; its server parameter file %s has them, and could not be put back: %w", why, whole, err)
	}
	s.log.Warn("The database did not start with the parameters that were set; starting it with those before", "why", why)
	then := "starts with it"
	again, err := s.start()
	if err == nil {
		defer s.stop(again)
		err = s.awaitReady(ctx, again)
	}
	switch {
	case err != nil:
		then = "does not start with it either: " + err.Error()
	case ctx.Err() != nil:
		then = "was told to end before it was ready"
	}
	return oracle.Failf(runfile.FailureParameter, "the database does not start with the init parameters that were set: "+
		"%s; its server parameter file is again as it was before, and the database %s; correct database.container.parameters",
		why, then)
}

// forgetParameters removes the files of saveParameters, also partly written ones.
func (s *supervisor) forgetParameters(path string) {
	left, _ := filepath.Glob(filepath.Join(s.o.DataDirectory, path) + ".nfsbench-*") // none with a bad pattern
	for _, file := range left {
		name := filepath.Join(filepath.Dir(path), filepath.Base(file))
		if err := shareddir.Remove(s.o.DataDirectory, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.log.Warn("The copy of the server parameter file was not removed", "error", err)
		}
	}
}
