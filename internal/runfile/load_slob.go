package runfile

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/human"
)

const (
	minTableBytes = 1 << 20
	// KitReportSeconds is the time limit of a SLOB kit for its snapshots and its report, in addition
	// to its RUN_TIME.
	KitReportSeconds = 120
	// longestPauseSeconds bounds the pause between the steps of a native ramp, in which queues run empty.
	longestPauseSeconds = 2
)

// slobLoad has what the load of SLOB in a database and the same I/O done by the native engine have in common.
type slobLoad struct{ bench.SLOBWorkload }

func (w slobLoad) words(name string) []string {
	ramp := w.Ramp()
	words := []string{name, human.Count(ramp[0], "user")}
	if len(ramp) > 1 {
		words[1] = fmt.Sprintf("%d to %d users in %d steps", slices.Min(ramp), slices.Max(ramp), len(ramp))
	}
	if w.UpdatePercent > 0 {
		words = append(words, fmt.Sprintf("%d %% updates", w.UpdatePercent))
	}
	if w.Kit != nil {
		words = append(words, "your own kit")
	}
	return words
}

// files sets the size of the tables, and of an I/O.
func (w slobLoad) files(f *Files) {
	f.SizeBytes, f.LoadBytes, f.Writes = w.TableBytes(), f.BlockSizeBytes, w.UpdatePercent > 0
	f.SizeField = slobAt + ".scale"
	if w.Access == bench.SLOBFullTableScan {
		f.LoadBytes, f.SizeField = f.LargeReadBytes, slobAt+".scanTableSize"
	}
}

func (w slobLoad) level(_ Plan, index int32) (repetition int32, words string) {
	ramp := w.Ramp()
	if len(ramp) == 1 {
		return index, ""
	}
	n := int32(len(ramp)) //nolint:gosec // 32 at most
	return (index-1)/n + 1, " with " + human.Count(ramp[(index-1)%n], "user")
}

// KitPath is the mount point, in the loader, of the claim with the user's own SLOB kit.
const KitPath = "/opt/slob"

// KitDirectory returns the directory of a kit in the loader.
func KitDirectory(k bench.SLOBKit) string {
	if k.ClaimName == "" {
		return path.Clean(k.Directory)
	}
	return path.Join(KitPath, k.Directory)
}

const slobAt = "workload.slob"

func (w slobLoad) check(c *checker) {
	if w.Access == bench.SLOBFullTableScan { // the second table is not used
		size := w.ScanTableSize.Value()
		c.check(size >= minTableBytes, slobAt+".scanTableSize", "is %d; write at least %d", size, minTableBytes)
	} else {
		size := w.Scale.Value()
		c.check(size >= minTableBytes, slobAt+".scale", "is %d; write at least %d", size, minTableBytes)
		blocks := size / (8 << 10) // the block size of most databases
		c.check(size < minTableBytes || int64(w.WorkUnit) <= blocks, slobAt+".workUnit",
			"is %d, more than the %d blocks of a schema; lower it, or raise scale", w.WorkUnit, blocks)
	}
	c.check(w.UpdatePercent <= 50 || w.UpdatePercent == 100, slobAt+".updatePercent", "is %d; write 0 to 50, or 100",
		w.UpdatePercent)
	c.check(w.Access != bench.SLOBFullTableScan || w.UpdatePercent == 0, slobAt+".updatePercent",
		"is %d, but %s only reads; write 0, or set access to %s", w.UpdatePercent,
		bench.SLOBFullTableScan, bench.SLOBRandomRead)
	if t := w.Think; t != nil {
		c.check(t.MaximumMilliseconds >= t.MinimumMilliseconds, slobAt+".think.maximumMilliseconds",
			"is %d, less than minimumMilliseconds; swap them", t.MaximumMilliseconds)
	}
	if w.Capacity != nil {
		c.capacity(slobAt+".capacity", w.Capacity)
		c.check(len(w.Ramp()) == 1, slobAt+".users",
			"has %d steps, but capacity raises the rate and not the users; write one number of sessions, such as [64]",
			len(w.Users))
		c.check(w.Think == nil, slobAt+".think", "is set, but capacity decides when I/O is due; remove one of them")
		c.check(w.WorkLoop == 0, slobAt+".workLoop", "is set, but the levels of capacity end by time; remove one of them")
		c.check(w.Kit == nil, slobAt+".kit", "is set, but a kit does not keep a rate; remove it, or remove capacity")
	}
}

// nativeSLOB has a file for the table of each schema.
type nativeSLOB struct{ slobLoad }

func (nativeSLOB) on(p Plan) []string { return []string{nativeWords, p.Files().words()} }

func (w nativeSLOB) files(f *Files, _ Plan) {
	w.slobLoad.files(f)
	f.Count = max(w.Schemas, 1)
	f.native(slobAt+".nativeFiles", w.NativeFiles)
}

func (w nativeSLOB) steps(p Plan) Steps {
	s, n := p.Schedule, len(w.Ramp())
	steps := p.rounds(1, int64(n)*s.loaded()+int64(max(n-1, 0))*int64(s.PauseSeconds()))
	steps.Count *= int64(n)
	return steps
}

// PauseSeconds returns the idle time between the steps of one round of a native ramp.
func (s Schedule) PauseSeconds() int32 { return min(s.CooldownSeconds, longestPauseSeconds) }

func (w nativeSLOB) check(c *checker, p Plan) {
	w.slobLoad.check(c)
	c.check(w.AWR != bench.Enabled, slobAt+".awr",
		"is set, but the native engine has no AWR; remove it, or give a database")
	c.check(w.Kit == nil, slobAt+".kit", "is set, but a kit runs in a database; remove it, or give a database")
	c.check(w.WorkLoop == 0, slobAt+".workLoop",
		"is set, but the native engine ends by time; remove it, or give a database")
	f := p.Files()
	c.nativeBlocks(f)
	if w.Access == bench.SLOBFullTableScan {
		c.files(slobAt+".scanTableSize", f.SizeBytes, f.LargeReadBytes)
	} else {
		c.files(slobAt+".scale", f.SizeBytes, f.BlockSizeBytes)
	}
}

// databaseSLOB is SLOB in a database, by our own sessions or by the user's kit.
type databaseSLOB struct{ slobLoad }

func (w databaseSLOB) on(p Plan) []string {
	if w.Kit != nil {
		return []string{databaseWords}
	}
	return []string{databaseWords, human.Count(w.Schemas, "schema") + " of " + human.Size(p.Files().SizeBytes)}
}

func (w databaseSLOB) files(f *Files, _ Plan) {
	w.slobLoad.files(f)
	f.Schemas = w.Schemas
}

func (w databaseSLOB) steps(p Plan) Steps {
	load := p.Schedule.loaded()
	switch {
	case w.Kit != nil: // a kit has no warm-up
		load = int64(p.Schedule.DurationSeconds) + KitReportSeconds
	case w.WorkLoop > 0: // nor has fixed work, and it ends earlier
		load = int64(p.Schedule.DurationSeconds)
	}
	steps := p.rounds(len(w.Ramp()), load)
	steps.Exact = w.Kit == nil && w.WorkLoop == 0
	return steps
}

func (w databaseSLOB) check(c *checker, _ Plan) {
	w.slobLoad.check(c)
	c.check(w.Capacity == nil || w.Access != bench.SLOBFullTableScan, slobAt+".access",
		"is %s, but each of its statements takes seconds, too long for a rate; set access to %s, or remove capacity",
		bench.SLOBFullTableScan, bench.SLOBRandomRead)
	if w.Kit != nil {
		dir, to := w.Kit.Directory, KitDirectory(*w.Kit)
		c.check(path.IsAbs(to) && !strings.Contains(dir, ".."), slobAt+".kit.directory",
			"is %q; write the absolute path of the folder with runit.sh, as the loader sees it", dir)
	}
}
