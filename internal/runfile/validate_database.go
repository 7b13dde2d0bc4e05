package runfile

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
)

// The allowed characters of names and values, so that they cannot put anything else into a connection or a
// statement.
var (
	userName       = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_$#]{0,127}$`)
	sidName        = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)
	directoryName  = regexp.MustCompile(`^(/[A-Za-z0-9_][A-Za-z0-9._-]*)+$`)
	parameterName  = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,79}$`)
	parameterValue = regexp.MustCompile(`^[A-Za-z0-9_./:, +-]+$`)
)

func (c *checker) database(d Database, p Plan) {
	const at = "database"
	c.connect(at+".adminConnect", d.AdminConnect)
	for i, s := range d.Connects {
		c.connect(fmt.Sprintf("%s.connects[%d]", at, i), s)
	}
	c.check(d.User == "" || userName.MatchString(d.User), at+".user",
		"is not a user name of letters, digits, _, $ and #; a password does not belong here")
	c.check(d.Role != "" || p.Workload.Calibrate == nil, at+".role",
		"is empty, but CALIBRATE_IO needs SYSDBA; write SYSDBA")
	c.check(d.DirectNFS == (p.Engine.Client == bench.ClientDirectNFS), at+".directNFS",
		"is %t, but engine.client is %q; write the same of both", d.DirectNFS, p.Engine.Client)
	c.parameters(at+".parameters", d.Parameters)
	c.check(p.Clients == 1, "clients", "is %d, but a database is loaded by one client; write 1", p.Clients)
	if d.Kind == DatabaseExternal { // an existing database is not ours to change
		const not = "is set, but a database that exists is left as it is; remove it"
		c.check(len(d.Parameters) == 0, at+".parameters", not)
		c.check(!d.RestartBeforeRun, at+".restartBeforeRun", not)
		c.check(d.RedoLogBytes == 0, at+".redoLogBytes", not)
		c.check(d.UndoBytes == 0, at+".undoBytes", not)
		c.check(d.TablespaceBytes == 0, at+".tablespaceBytes", not)
		c.check(d.RedoDirectory == "", at+".redoDirectory", not)
		c.check(d.RedoExport == "", at+".redoExport", not)
		c.externalDirectories(at, d)
		c.check(d.SID == "", at+".sid", not)
		c.check(d.StartupTimeoutSeconds == 0, at+".startupTimeoutSeconds", not)
		return
	}
	c.check(d.TablespaceDirectory == "" && !d.AllowRedo, at,
		"has tablespaceDirectory or allowRedo, which are for databases that exist; remove them")
	c.check(d.User != "", at+".user", "is empty; name the user, such as sys")
	c.check(len(d.SID) <= 12 && sidName.MatchString(d.SID), at+".sid",
		"is %q; write at most 12 letters and digits, such as ORCLCDB", d.SID)
	c.check(p.Engine.MountPath == d.DataDirectory, at+".dataDirectory",
		"is %q, but engine.mountPath is %q; write the same of both", d.DataDirectory, p.Engine.MountPath)
	c.between(at+".startupTimeoutSeconds", int64(d.StartupTimeoutSeconds), 1, maxSpanSeconds)
	c.redoDirectory(at, d, p)
}

// redoDirectory checks the second mount of a database, whose name is part of statements.
func (c *checker) redoDirectory(at string, d Database, p Plan) {
	if d.RedoDirectory == "" && d.RedoExport == "" {
		return
	}
	c.check(directoryName.MatchString(d.RedoDirectory), at+".redoDirectory",
		"is %q; write an absolute path of letters, digits and _ . - such as /opt/oracle/oraredo", d.RedoDirectory)
	c.check(!IsBelow(d.DataDirectory, d.RedoDirectory) && !IsBelow(d.RedoDirectory, d.DataDirectory), at+".redoDirectory",
		"is %q, which is not apart from dataDirectory %q; mount the export of the redo logs elsewhere", d.RedoDirectory,
		d.DataDirectory)
	c.check(!IsBelow(p.Engine.Export, d.RedoExport) && !IsBelow(d.RedoExport, p.Engine.Export), at+".redoExport",
		"is %q, which is not apart from the export %q of the data; name another export in storage.export.redoPath, "+
			"neither above nor below storage.export.path", d.RedoExport, p.Engine.Export)
	c.check(path.IsAbs(d.RedoExport), at+".redoExport", "is %q; write the absolute path of the export", d.RedoExport)
	if len(c.problems) == 0 {
		_, err := p.Oranfstab()
		c.check(err == nil, at+".redoExport", "%v", err)
	}
}

// externalDirectories checks that the tablespace is on the export under test.
func (c *checker) externalDirectories(at string, d Database) {
	t := d.TablespaceDirectory
	c.check(t == "" || d.DataDirectory != "" && IsBelow(d.DataDirectory, t), at+".tablespaceDirectory",
		"is %q, which is not on the export under test; write dataDirectory, and a directory in it", t)
}

// IsBelow reports whether a path is a directory or lies below it. Both are absolute.
func IsBelow(directory, name string) bool {
	directory, name = path.Clean(directory), path.Clean(name)
	return name == directory || strings.HasPrefix(name, strings.TrimSuffix(directory, "/")+"/")
}

// parameters checks the names and values for ALTER SYSTEM statements.
func (c *checker) parameters(at string, params map[string]string) {
	c.check(len(params) <= 128, at, "has %d entries; keep it at or below 128", len(params))
	for _, name := range slices.Sorted(maps.Keys(params)) {
		c.check(parameterName.MatchString(name), at,
			"%q is no name of an init parameter; write lower case letters, digits and _", name)
		v := params[name]
		c.check(len(v) <= 512 && parameterValue.MatchString(v), at+"."+name,
			"has a value with other characters than letters, digits, blanks and _ . / : , + -, or none; correct it")
	}
}
