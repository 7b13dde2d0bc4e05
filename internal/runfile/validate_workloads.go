package runfile

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// The bounds of calibrate and SLOB.
const (
	maxPhysicalDisks   = 100_000
	minMaxLatency      = 10 // CALIBRATE_IO refuses less
	maxMaxLatency      = 10_000
	maxWarmupRuns      = 100
	maxFiles           = 4096
	minDatabaseBlock   = 2048 // db_block_size
	maxDatabaseBlock   = 32 << 10
	maxSteps           = 64
	maxUsers           = 4096
	maxSchemas         = 4096
	minTableBytes      = 1 << 20
	minWorkUnit        = 3
	maxWorkUnit        = 1024
	maxUpdatePercent   = 50
	allUpdates         = 100
	maxReadAhead       = 256
	maxLoadDegree      = 256
	maxThinkFrequency  = 1_000_000
	maxThinkMillis     = 3_600_000
	databaseBlockBytes = 8192
)

// identifier is what Oracle takes for a name without quotes, so that no SQL can
// be smuggled in.
var identifier = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,29}$`)

func (c *checker) workload(w Workload, db *Database) {
	given := 0
	for _, has := range []bool{w.Raw != nil, w.Calibrate != nil, w.SLOB != nil} {
		if has {
			given++
		}
	}
	c.check(given == 1, "workload", "holds %d loads; give exactly one of raw, calibrate and slob", given)
	if w.Raw != nil {
		c.raw(*w.Raw)
		c.check(db == nil, "database",
			"is set, but workload.raw is a load without a database; remove it, or give calibrate or slob")
	}
	if w.Calibrate != nil {
		c.calibrate(*w.Calibrate, db)
	}
	if w.SLOB != nil {
		c.slob(*w.SLOB, db)
	}
}

func (c *checker) calibrate(w Calibrate, db *Database) {
	const at = "workload.calibrate"
	c.between(at+".physicalDisks", int64(w.PhysicalDisks), 1, maxPhysicalDisks)
	c.between(at+".maxLatencyMilliseconds", int64(w.MaxLatencyMilliseconds), minMaxLatency, maxMaxLatency)
	c.between(at+".warmupRuns", int64(w.WarmupRuns), 0, maxWarmupRuns)
	c.files(at+".files", w.Files, db)
}

// files checks those of the native engine, which a database does not have.
func (c *checker) files(at string, f *Files, db *Database) {
	if db != nil {
		c.check(f == nil, at, "is set, but a database reads its own files; remove it, or remove database")
		return
	}
	if f == nil {
		c.check(false, at, "is missing; say which files the native engine makes, or give a database")
		return
	}
	c.between(at+".count", int64(f.Count), 1, maxFiles)
	c.blockSize(at+".blockSizeBytes", f.BlockSizeBytes)
	c.blockSize(at+".largeReadBytes", f.LargeReadBytes)
	c.check(f.BlockSizeBytes >= minDatabaseBlock && f.BlockSizeBytes <= maxDatabaseBlock, at+".blockSizeBytes",
		"is %d; write a db_block_size, from %d to %d", f.BlockSizeBytes, minDatabaseBlock, maxDatabaseBlock)
	c.check(f.LargeReadBytes >= f.BlockSizeBytes, at+".largeReadBytes",
		"is %d, less than one block; write at least %d", f.LargeReadBytes, f.BlockSizeBytes)
	c.check(f.SizeBytes > 0 && (f.LargeReadBytes <= 0 || f.SizeBytes%f.LargeReadBytes == 0), at+".sizeBytes",
		"is %d; write a multiple of largeReadBytes (%d)", f.SizeBytes, f.LargeReadBytes)
	c.directory(at+".directory", f.Directory)
}

func (c *checker) slob(w SLOB, db *Database) {
	const at = "workload.slob"
	c.oneOf(at+".access", w.Access, AccessFullTableScan, AccessRandomRead)
	c.users(at+".users", w.Users)
	c.between(at+".schemas", int64(w.Schemas), 1, maxSchemas)
	c.tables(at, w)
	c.between(at+".workUnit", int64(w.WorkUnit), minWorkUnit, maxWorkUnit)
	c.check(w.UpdatePercent >= 0 && w.UpdatePercent <= maxUpdatePercent || w.UpdatePercent == allUpdates,
		at+".updatePercent",
		"is %d; write 0 to %d, or %d", w.UpdatePercent, maxUpdatePercent, allUpdates)
	c.check(w.Access != AccessFullTableScan || w.UpdatePercent == 0, at+".updatePercent",
		"is %d, but %s only reads; write 0, or set access to %s", w.UpdatePercent, AccessFullTableScan, AccessRandomRead)
	c.oneOf(at+".redoStress", w.RedoStress, "", RedoLite, RedoHeavy)
	if t := w.Think; t != nil {
		c.between(at+".think.frequency", int64(t.Frequency), 1, maxThinkFrequency)
		c.between(at+".think.minimumMilliseconds", int64(t.MinimumMilliseconds), 0, maxThinkMillis)
		c.between(at+".think.maximumMilliseconds", int64(t.MaximumMilliseconds), 1, maxThinkMillis)
		c.check(t.MaximumMilliseconds >= t.MinimumMilliseconds, at+".think.maximumMilliseconds",
			"is %d, less than minimumMilliseconds; swap them", t.MaximumMilliseconds)
	}
	c.between(at+".readAhead", int64(w.ReadAhead), 0, maxReadAhead)
	c.check(db != nil || w.Access != AccessFullTableScan || w.ReadAhead > 0, at+".readAhead",
		"is 0; say how many large reads a scanning user keeps outstanding")
	c.files(at+".files", w.Files, db)
	c.slobDatabase(at, w, db)
}

func (c *checker) users(at string, users []int32) {
	c.check(len(users) > 0, at, "is empty; say how many sessions are at work, such as [1] or [1, 2, 4, 8]")
	c.check(len(users) <= maxSteps, at, "has %d steps; list at most %d", len(users), maxSteps)
	for i, u := range users {
		c.between(fmt.Sprintf("%s[%d]", at, i), int64(u), 1, maxUsers)
	}
}

// tables checks the size of what is read, and leaves the other table alone.
func (c *checker) tables(at string, w SLOB) {
	if w.Access == AccessFullTableScan {
		c.check(w.ScanTableBytes >= minTableBytes, at+".scanTableBytes", "is %d; write at least %d", w.ScanTableBytes,
			minTableBytes)
		return
	}
	c.check(w.ScaleBytes >= minTableBytes, at+".scaleBytes", "is %d; write at least %d", w.ScaleBytes, minTableBytes)
	blocks := w.ScaleBytes / databaseBlockBytes
	c.check(w.ScaleBytes < minTableBytes || int64(w.WorkUnit) <= blocks, at+".workUnit",
		"is %d, more than the %d blocks of a schema; lower it, or raise scaleBytes", w.WorkUnit, blocks)
}

// slobDatabase checks what only a database can do.
func (c *checker) slobDatabase(at string, w SLOB, db *Database) {
	if db == nil {
		c.check(!w.AWR, at+".awr", "is set, but the native engine has no AWR; remove it, or give a database")
		c.check(w.Kit == nil, at+".kit", "is set, but a kit runs in a database; remove it, or give a database")
		return
	}
	c.check(identifier.MatchString(w.Tablespace), at+".tablespace",
		"is %q; write a name of letters, digits and _, such as NFSBENCH", w.Tablespace)
	c.between(at+".loadParallelDegree", int64(w.LoadParallelDegree), 1, maxLoadDegree)
	if w.Kit != nil {
		dir := w.Kit.Directory
		c.check(path.IsAbs(dir) && !strings.Contains(dir, "..") && !strings.ContainsAny(dir, "\x00\n"), at+".kit.directory",
			"is %q; write the absolute path of the folder with runit.sh, as the loader sees it", dir)
	}
}
