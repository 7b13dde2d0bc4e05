package supervise

import (
	"bytes"
	"cmp"
	"context"
	"path/filepath"
	"regexp"

	"github.com/nfsbench/nfsbench/internal/course"
	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// keptParameters in the run directory is the server parameter file that the database last started
// with. The run directory outlives this container, and not its pod: so no later run puts back what
// somebody has changed since.
const keptParameters = "database-spfile.ora"

const maxParameterFile = 1 << 20

// parameterFile is the server parameter file on the volume; empty where there is none.
func (o Options) parameterFile() string {
	sid := o.imageSID()
	for _, dir := range []string{"", "dbs"} {
		path := filepath.Join(o.DataDirectory, "dbconfig", sid, dir, "spfile"+sid+".ora")
		if isOf(path, 0) {
			return path
		}
	}
	return ""
}

// keepParameters keeps the parameters of a database that is ready, once for each start. After a
// creation the image may still have to move them to the volume.
func (s *supervisor) keepParameters(c *child) {
	path := s.o.parameterFile()
	if path == "" || c.kept {
		return
	}
	c.kept = true
	text, err := readPlain(path, maxParameterFile)
	if err == nil {
		err = course.ReplaceFile(filepath.Join(s.o.RunDir, keptParameters), text)
	}
	if err != nil {
		s.log.Warn("The server parameter file was not kept", "error", err)
	}
}

// putBackParameters is what to do when a start failed. Where the parameters have changed since the
// database was ready, it puts the old ones back, so that the volume stays of use, starts once more to
// see that they are good, and returns that the parameters are refused. Otherwise it returns failure.
func (s *supervisor) putBackParameters(ctx context.Context, c *child, failure error) error {
	code := oracle.CodeOf(failure)
	if c.wasReady || ctx.Err() != nil || code != runfile.FailureDatabaseNotReady && code != runfile.FailureDatabaseEnded {
		return failure
	}
	path := s.o.parameterFile()
	kept, err1 := course.ReadFile(filepath.Join(s.o.RunDir, keptParameters))
	now, err2 := readPlain(path, maxParameterFile)
	if err1 != nil || err2 != nil || bytes.Equal(kept, now) {
		return failure
	}
	s.stop(c)
	why := cmp.Or(regexp.MustCompile(`ORA-\d{5}: [^|]*`).FindString(failure.Error()), failure.Error())
	if err := replacePlain(path, kept); err != nil {
		return oracle.Failf(runfile.FailureParameter, "the database does not start with the init parameters that were set: "+
			"%s; its server parameter file %s has them, and could not be put back: %w", why, path, err)
	}
	s.log.Warn("The database did not start with the parameters that were set; starting it with those before", "why", why)
	then := "starts with it"
	again, err := s.start()
	if err == nil {
		defer s.stop(again)
		err = s.awaitReady(ctx, again)
	}
	if err != nil {
		then = "does not start with it either: " + err.Error()
	}
	return oracle.Failf(runfile.FailureParameter, "the database does not start with the init parameters that were set: "+
		"%s; its server parameter file is again as it was before, and the database %s; correct database.container.parameters",
		why, then)
}
