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

const (
	maxSteps      = 64
	minTableBytes = 1 << 20
	minLogBytes   = 64 << 20 // of redo logs and undo
	maxLogBytes   = 64 << 30
)

// identifier is a name that Oracle accepts without quotes, so that SQL injection is impossible.
var identifier = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,29}$`)

func (c *checker) workload(w Workload, db *Database) {
	given := 0
	for _, has := range []bool{w.Raw != nil, w.Calibrate != nil, w.SLOB != nil} {
		if has {
			given++
		}
	}
	c.check(given > 0, "workload", "holds no load; give exactly one of raw, calibrate and slob")
	c.check(given < 2, "workload", "holds %d loads; give exactly one of raw, calibrate and slob", given)
	if w.Raw != nil {
		c.raw(*w.Raw)
		c.check(db == nil, "database",
			"is set, but workload.raw is a load without a database; remove it, or give calibrate or slob")
	}
	if w := w.Calibrate; w != nil {
		const at = "workload.calibrate"
		c.between(at+".physicalDisks", int64(w.PhysicalDisks), 1, 100_000)
		c.between(at+".maxLatencyMilliseconds", int64(w.MaxLatencyMilliseconds), 10, 10_000) // CALIBRATE_IO refuses less
		c.between(at+".warmupRuns", int64(w.WarmupRuns), 0, 100)
		c.files(at+".files", w.Files, db)
	}
	if w.SLOB != nil {
		c.slob(*w.SLOB, db)
	}
}

// files checks the files of the native engine, which a database does not have.
func (c *checker) files(at string, f *Files, db *Database) {
	if db != nil || f == nil {
		c.check(f == nil, at, "is set, but a database reads its own files; remove it, or remove database")
		c.check(db != nil, at, "is missing; say which files the native engine makes, or give a database")
		return
	}
	c.between(at+".count", int64(f.Count), 1, 4096)
	c.blockSize(at+".blockSizeBytes", f.BlockSizeBytes)
	c.blockSize(at+".largeReadBytes", f.LargeReadBytes)
	c.check(f.BlockSizeBytes >= 2048 && f.BlockSizeBytes <= 32768, at+".blockSizeBytes",
		"is %d; write a db_block_size, from 2048 to 32768", f.BlockSizeBytes)
	c.check(f.LargeReadBytes >= f.BlockSizeBytes, at+".largeReadBytes",
		"is %d, less than one block; write at least %d", f.LargeReadBytes, f.BlockSizeBytes)
	c.check(f.SizeBytes > 0 && (f.LargeReadBytes <= 0 || f.SizeBytes%f.LargeReadBytes == 0), at+".sizeBytes",
		"is %d; write a multiple of largeReadBytes (%d)", f.SizeBytes, f.LargeReadBytes)
	c.directory(at+".directory", f.Directory)
}

func (c *checker) slob(w SLOB, db *Database) {
	const at = "workload.slob"
	oneOf(c, at+".access", w.Access, bench.SLOBFullTableScan, bench.SLOBRandomRead)
	c.check(len(w.Users) > 0, at+".users",
		"is empty; say how many sessions are at work, such as [1] or [1, 2, 4, 8]")
	c.check(len(w.Users) <= maxSteps, at+".users", "has %d steps; list at most %d", len(w.Users), maxSteps)
	for i, u := range w.Users {
		c.between(fmt.Sprintf("%s.users[%d]", at, i), int64(u), 1, 4096)
	}
	c.between(at+".schemas", int64(w.Schemas), 1, 4096)
	if w.Access == bench.SLOBFullTableScan { // the other table does not matter
		c.check(w.ScanTableBytes >= minTableBytes, at+".scanTableBytes", "is %d; write at least %d", w.ScanTableBytes,
			minTableBytes)
	} else {
		c.check(w.ScaleBytes >= minTableBytes, at+".scaleBytes", "is %d; write at least %d", w.ScaleBytes, minTableBytes)
		blocks := w.ScaleBytes / (8 << 10) // as large as those of most databases
		c.check(w.ScaleBytes < minTableBytes || int64(w.WorkUnit) <= blocks, at+".workUnit",
			"is %d, more than the %d blocks of a schema; lower it, or raise scaleBytes", w.WorkUnit, blocks)
	}
	c.between(at+".workUnit", int64(w.WorkUnit), 3, 1024)
	c.between(at+".workLoop", int64(w.WorkLoop), 0, 1_000_000_000)
	c.check(w.UpdatePercent >= 0 && w.UpdatePercent <= 50 || w.UpdatePercent == 100, at+".updatePercent",
		"is %d; write 0 to 50, or 100", w.UpdatePercent)
	c.check(w.Access != bench.SLOBFullTableScan || w.UpdatePercent == 0, at+".updatePercent",
		"is %d, but %s only reads; write 0, or set access to %s", w.UpdatePercent,
		bench.SLOBFullTableScan, bench.SLOBRandomRead)
	oneOf(c, at+".redoStress", w.RedoStress, "", bench.SLOBRedoLite, bench.SLOBRedoHeavy)
	if t := w.Think; t != nil {
		const at = at + ".think"
		c.between(at+".frequency", int64(t.Frequency), 1, 1_000_000)
		c.between(at+".minimumMilliseconds", int64(t.MinimumMilliseconds), 0, 3_600_000)
		c.between(at+".maximumMilliseconds", int64(t.MaximumMilliseconds), 1, 3_600_000)
		c.check(t.MaximumMilliseconds >= t.MinimumMilliseconds, at+".maximumMilliseconds",
			"is %d, less than minimumMilliseconds; swap them", t.MaximumMilliseconds)
	}
	if w.Capacity != nil {
		c.capacity(at+".capacity", *w.Capacity)
		c.check(len(w.Users) <= 1, at+".users",
			"has %d steps, but capacity raises the rate and not the users; write one number of sessions, such as [64]",
			len(w.Users))
		c.check(w.Think == nil, at+".think", "is set, but capacity decides when I/O is due; remove one of them")
		c.check(w.WorkLoop == 0, at+".workLoop", "is set, but the levels of capacity end by time; remove one of them")
		c.check(w.Kit == nil, at+".kit", "is set, but a kit does not keep a rate; remove it, or remove capacity")
	}
	c.between(at+".readAhead", int64(w.ReadAhead), 0, 256)
	c.check(db != nil || w.Access != bench.SLOBFullTableScan || w.ReadAhead > 0, at+".readAhead",
		"is 0; say how many large reads a scanning user keeps outstanding")
	c.files(at+".files", w.Files, db)
	c.slobDatabase(at, w, db)
}

// slobDatabase checks what only a database can do.
func (c *checker) slobDatabase(at string, w SLOB, db *Database) {
	if db == nil {
		c.check(!w.AWR, at+".awr", "is set, but the native engine has no AWR; remove it, or give a database")
		c.check(w.Kit == nil, at+".kit", "is set, but a kit runs in a database; remove it, or give a database")
		c.check(w.WorkLoop == 0, at+".workLoop", "is set, but the native engine ends by time; remove it, or give a database")
		return
	}
	c.check(w.Capacity == nil || w.Access != bench.SLOBFullTableScan, at+".access",
		"is %s, but each of its statements takes seconds, too long for a rate; set access to %s, or remove capacity",
		bench.SLOBFullTableScan, bench.SLOBRandomRead)
	c.check(identifier.MatchString(w.Tablespace), at+".tablespace",
		"is %q; write a name of letters, digits and _, such as NFSBENCH", w.Tablespace)
	c.between(at+".loadParallelDegree", int64(w.LoadParallelDegree), 1, 256)
	if w.Kit != nil {
		dir, to := w.Kit.Directory, KitDirectory(*w.Kit)
		c.check(path.IsAbs(to) && !strings.Contains(dir, "..") && !strings.ContainsAny(dir, "\x00\n"), at+".kit.directory",
			"is %q; write the absolute path of the folder with runit.sh, as the loader sees it", dir)
	}
}

// What names and values may be made of, so that nothing else can get into a
// connection or a statement by them.
var (
	userName       = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_$#]{0,127}$`)
	sidName        = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)
	directoryName  = regexp.MustCompile(`^(/[A-Za-z0-9_][A-Za-z0-9._-]*)+$`)
	parameterName  = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,79}$`)
	parameterValue = regexp.MustCompile(`^[A-Za-z0-9_./:, +-]+$`)
)

func (c *checker) database(d Database, p Plan) {
	const at = "database"
	oneOf(c, at+".kind", d.Kind, DatabaseContainer, DatabaseExternal)
	c.connect(at+".adminConnect", d.AdminConnect)
	c.check(len(d.Connects) > 0 && len(d.Connects) <= 64, at+".connects",
		"has %d entries; say where the sessions of the load go: 1 to 64 services", len(d.Connects))
	for i, s := range d.Connects {
		c.connect(fmt.Sprintf("%s.connects[%d]", at, i), s)
	}
	c.check(d.User == "" || userName.MatchString(d.User), at+".user",
		"is not a user name of letters, digits, _, $ and #; a password does not belong here")
	oneOf(c, at+".role", d.Role, "", "SYSDBA")
	c.check(d.Role != "" || p.Workload.Calibrate == nil, at+".role",
		"is empty, but CALIBRATE_IO needs SYSDBA; write SYSDBA")
	c.check(d.DirectNFS == (p.Engine.Client == bench.ClientDirectNFS), at+".directNFS",
		"is %t, but engine.client is %q; write the same of both", d.DirectNFS, p.Engine.Client)
	c.parameters(at+".parameters", d.Parameters)
	c.check(p.Clients == 1, "clients", "is %d, but a database is loaded by one client; write 1", p.Clients)
	if d.Kind == DatabaseExternal { // nothing may be asked of a database that is not ours
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
	if d.RedoLogBytes != 0 {
		c.between(at+".redoLogBytes", d.RedoLogBytes, minLogBytes, maxLogBytes)
	}
	if d.UndoBytes != 0 {
		c.between(at+".undoBytes", d.UndoBytes, minLogBytes, maxLogBytes)
	}
	c.between(at+".tablespaceBytes", d.TablespaceBytes, 0, 1<<44)
	c.redoDirectory(at, d, p)
}

// redoDirectory checks the second mount of a database, whose name gets into statements.
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

// externalDirectories checks where the host of a database that exists has mounted the
// export, and that a tablespace would lie on it.
func (c *checker) externalDirectories(at string, d Database) {
	const rule = "is %q; write an absolute path of letters, digits and _ . - such as /u02/oradata"
	c.check(d.DataDirectory == "" || directoryName.MatchString(d.DataDirectory), at+".dataDirectory", rule,
		d.DataDirectory)
	t := d.TablespaceDirectory
	if t == "" {
		return
	}
	c.check(directoryName.MatchString(t), at+".tablespaceDirectory", rule, t)
	c.check(d.DataDirectory != "" && IsBelow(d.DataDirectory, t), at+".tablespaceDirectory",
		"is %q, which is not on the export under test; write dataDirectory, and a directory in it", t)
}

// IsBelow says that a path is a directory or lies below it. Both are absolute.
func IsBelow(directory, name string) bool {
	directory, name = path.Clean(directory), path.Clean(name)
	return name == directory || strings.HasPrefix(name, strings.TrimSuffix(directory, "/")+"/")
}

// parameters checks what goes into ALTER SYSTEM statements.
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
