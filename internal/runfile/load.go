package runfile

import (
	"fmt"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/human"
)

// load is one kind of workload. Each kind is in a file of its own: load_raw.go, load_calibrate.go, load_slob.go.
type load interface {
	// words describes the load of each client. The first word is the name of the workload.
	words(name string) []string
	// on describes what the load reads.
	on(p Plan) []string
	// files sets the files that the native engine makes, the size of an I/O, and the rest of Files.
	files(f *Files, p Plan)
	// steps returns the number and the length of the measured windows.
	steps(p Plan) Steps
	// level returns the repetition of the spec that the repetition of a client belongs to, 0 if the load chooses its
	// own levels, and describes the level of load within it.
	level(p Plan, index int32) (repetition int32, words string)
	// check reports the problems of the workload.
	check(c *checker, p Plan)
}

// loads returns the workloads of a plan, for its engine. A valid plan has one.
func (p Plan) loads() (given []load) {
	if w := p.Workload.Raw; w != nil {
		given = append(given, rawLoad{*w})
	}
	if w := p.Workload.Calibrate; w != nil {
		given = append(given, p.byEngine(nativeCalibration{calibrateLoad{*w}}, databaseCalibration{calibrateLoad{*w}}))
	}
	if w := p.Workload.SLOB; w != nil {
		given = append(given, p.byEngine(nativeSLOB{slobLoad{*w}}, databaseSLOB{slobLoad{*w}}))
	}
	return given
}

// byEngine returns the load of the engine of a plan.
func (p Plan) byEngine(native, database load) load {
	if p.Database == nil {
		return native
	}
	return database
}

// load returns the workload of a plan. A plan without a workload is invalid, but its result can still be judged.
func (p Plan) load() load {
	return append(p.loads(), noLoad{})[0]
}

// noLoad is the load of a plan without a workload.
type noLoad struct{}

func (noLoad) words(name string) []string                { return []string{name} }
func (noLoad) on(p Plan) []string                        { return []string{p.engineWords()} }
func (noLoad) files(*Files, Plan)                        {}
func (noLoad) steps(p Plan) Steps                        { return p.rounds(1, p.Schedule.loaded()) }
func (noLoad) level(_ Plan, index int32) (int32, string) { return index, "" }
func (noLoad) check(*checker, Plan)                      {}

// Words describes the load of each client, such as "Raw Read 1Mi" and "4 jobs x depth 8", and its target,
// such as "files of 1Gi". A status has room only for the load.
func (p Plan) Words() (load, on []string) {
	load = p.load().words(p.Workload.Name())
	var bounds []string
	for _, b := range Bounds(p.Workload.Capacity()) {
		bounds = append(bounds, b.String())
	}
	if len(bounds) > 0 {
		load = append(load, "capacity within "+strings.Join(bounds, " and "))
	}
	return load, p.load().on(p)
}

// Names of the engines in descriptions.
const (
	nativeWords   = "native engine"
	databaseWords = "Oracle"
)

func (p Plan) engineWords() string {
	if p.Database == nil {
		return nativeWords
	}
	return databaseWords
}

// Files describes the data of a load.
type Files struct {
	Count             int32  // of the files that the native engine makes and reads as Oracle reads its datafiles
	Schemas           int32  // of the load of a database, with one table each
	SizeBytes         int64  // of each file or table
	SizeField         string // of the workload that has SizeBytes
	BlockSizeBytes    int64  // of single-block I/O, as db_block_size
	LargeReadBytes    int64  // of multiblock I/O
	LoadBytes         int64  // of the I/O of the load that can fill a wire; 0 = unknown
	Copy              bool   // the load copies the files
	Writes            bool   // the load writes
	Field             string // of the workload that has the rest; empty in a database
	Directory         string
	OverwriteExisting bool
	Verify            bench.VerifyMode
}

// Files returns the data of one client.
func (p Plan) Files() Files {
	f := Files{BlockSizeBytes: 8 << 10, LargeReadBytes: 1 << 20}
	if p.BlockBytes > 0 {
		f.BlockSizeBytes = p.BlockBytes
	}
	if p.LargeReadBytes > 0 {
		f.LargeReadBytes = p.LargeReadBytes
	}
	p.load().files(&f, p)
	return f
}

// words describes the files of the native engine.
func (f Files) words() string { return human.Count(f.Count, "file") + " of " + human.Size(f.SizeBytes) }

// native sets what a workload says about the files of the native engine.
func (f *Files) native(field string, n bench.NativeFiles) {
	f.Field, f.Directory, f.Verify = field, n.Directory, n.Verify
	f.OverwriteExisting = n.ForeignFiles == bench.ForeignFilesOverwrite
}

// leastVerifySeconds is the minimum time for reading back.
const leastVerifySeconds = 10

// VerifyLimit returns the maximum time for reading back the written data: one measured window. It is 0 for a
// database, which checks its own blocks.
func (p Plan) VerifyLimit() time.Duration {
	if p.Database != nil {
		return 0
	}
	return time.Duration(max(p.Schedule.DurationSeconds, leastVerifySeconds)) * time.Second
}

// Steps holds the number and the length of the steps of a plan.
type Steps struct {
	// Count is the number of measured windows, each with its own Repetition.
	Count int64
	// Seconds is the length of the scheduled spans together, without connecting, starting a database, filling
	// and cleaning.
	Seconds int64
	// Exact means that Count and Seconds are exact. If the load finds its own levels, or another program decides
	// when it ends, they are upper bounds.
	Exact bool
}

// ScheduledSteps returns the number and the length of the measured windows of a run: one for each repetition
// of a raw load, one for each step of a ramp in each round, and upper bounds for calibrations and searches.
//
// The native engine measures all steps of a round over the same files, with one baseline. In a database each
// step has its own baseline, and a cooldown after it.
func (p Plan) ScheduledSteps() Steps {
	bounds := Bounds(p.Workload.Capacity())
	if len(bounds) == 0 {
		return p.load().steps(p)
	}
	each := int64(p.Schedule.DurationSeconds) + int64(LaterWarmupSeconds(bounds, p.Clients))
	if p.Clients > 1 {
		each += orderSeconds
	}
	s := p.rounds(1, int64(p.Schedule.WarmupSeconds)+MaxCapacityLevels*each)
	s.Count *= MaxCapacityLevels
	s.Exact = false
	return s
}

// rounds returns the steps of a plan that measures n times in each repetition.
func (p Plan) rounds(n int, load int64) Steps {
	return p.Schedule.windows(int64(p.Schedule.Repetitions)*int64(n), load)
}

// windows returns n steps, each with a baseline and a load of load seconds.
func (s Schedule) windows(n, load int64) Steps {
	return Steps{Count: n, Seconds: s.seconds(n, load), Exact: true}
}

// Level returns the repetition of the spec that a repetition of a client belongs to, 0 if the load chooses its own
// levels, and describes the level of load within it. A client numbers its repetitions over all levels.
func (p Plan) Level(index int32) (repetition int32, words string) {
	switch {
	case index < 1:
		return 0, ""
	case p.Workload.Capacity() != nil:
		return 0, fmt.Sprintf(", level %d", index)
	default:
		return p.load().level(p, index)
	}
}

// loaded returns the length of one warm-up and its window.
func (s Schedule) loaded() int64 { return int64(s.WarmupSeconds) + int64(s.DurationSeconds) }

// seconds returns the length of n baselines and n loads of load seconds, with the cooldowns between them.
func (s Schedule) seconds(n, load int64) int64 {
	return n*(int64(s.BaselineSeconds)+load) + max(n-1, 0)*int64(s.CooldownSeconds)
}

func (c *checker) workload(p Plan) {
	given := p.loads()
	c.check(len(given) == 1, "workload", "holds %d loads; give exactly one of raw, calibrate and slob", len(given))
	if len(given) == 1 { // the other problems depend on which one is meant
		given[0].check(c, p)
	}
}

// nativeBlocks checks the sizes of I/O where the native engine takes the place of a database.
func (c *checker) nativeBlocks(f Files) {
	c.blockSize("blockBytes", f.BlockSizeBytes)
	c.between("blockBytes", f.BlockSizeBytes, 2048, 32768)
	c.blockSize("largeReadBytes", f.LargeReadBytes)
	c.check(f.LargeReadBytes >= f.BlockSizeBytes, "largeReadBytes", "is %d, less than one block; write at least %d",
		f.LargeReadBytes, f.BlockSizeBytes)
}

// orderSeconds bounds the time in which several clients learn the next level of a search for capacity.
const orderSeconds = 15
