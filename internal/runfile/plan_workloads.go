package runfile

import (
	"path"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
)

// Files are those that the native engine makes, and reads where Oracle would read its datafiles.
type Files struct {
	Count             int32
	SizeBytes         int64 // of each
	BlockSizeBytes    int64 // of single-block I/O, as db_block_size
	LargeReadBytes    int64 // of multiblock I/O
	Directory         string
	OverwriteExisting bool
	Verify            bench.VerifyMode
}

// Files returns the files of one client. A database has its own, so it has none.
func (p Plan) Files() Files {
	f := Files{BlockSizeBytes: 8 << 10, LargeReadBytes: 1 << 20}
	if p.BlockBytes > 0 {
		f.BlockSizeBytes = p.BlockBytes
	}
	if p.LargeReadBytes > 0 {
		f.LargeReadBytes = p.LargeReadBytes
	}
	var n bench.NativeFiles
	switch w := p.Workload; {
	case w.Raw != nil:
		f.Count, f.SizeBytes, f.BlockSizeBytes = w.Raw.Jobs, w.Raw.FileSize.Value(), w.Raw.BlockBytes()
		n.Directory, n.ForeignFiles, n.Verify = w.Raw.Directory, w.Raw.ForeignFiles, w.Raw.Verify
	case p.Database != nil:
	case w.Calibrate != nil:
		n = w.Calibrate.NativeFiles
		f.Count, f.SizeBytes = n.Count, n.Size.Value()
	case w.SLOB != nil: // a file stands for the table of a schema
		n = w.SLOB.NativeFiles
		f.Count, f.SizeBytes = max(w.SLOB.Schemas, 1), w.SLOB.TableBytes()
	}
	f.Directory, f.OverwriteExisting = n.Directory, n.ForeignFiles == bench.ForeignFilesOverwrite
	f.Verify = n.Verify
	return f
}

// leastVerifySeconds is how long reading back may take at least.
const leastVerifySeconds = 10

// VerifyLimit is how long reading back what was written may take: as long as one measured window. A database
// checks its own blocks.
func (p Plan) VerifyLimit() time.Duration {
	if p.Database != nil {
		return 0
	}
	return time.Duration(max(p.Schedule.DurationSeconds, leastVerifySeconds)) * time.Second
}

// KitPath is where the loader sees the claim with the user's own SLOB kit.
const KitPath = "/opt/slob"

// KitDirectory is where the loader sees a kit.
func KitDirectory(k bench.SLOBKit) string {
	if k.ClaimName == "" {
		return path.Clean(k.Directory)
	}
	return path.Join(KitPath, k.Directory)
}

// Database says how the Oracle database of a run is reached. It holds no
// password: the loader gets the name of a file.
type Database struct {
	Kind string `json:"kind" jsonschema:"enum=Container,enum=External"`
	// AdminConnect is an EZConnect string or a connect descriptor of the root
	// container, for views, parameters and CALIBRATE_IO, as User with Role.
	AdminConnect string `json:"adminConnect"`
	// Connects are where the sessions of the load go, in turns: the pluggable
	// database, or one service for each RAC instance.
	Connects []string `json:"connects" jsonschema:"minItems=1,maxItems=64"`
	User     string   `json:"user"`
	Role     string   `json:"role,omitempty" jsonschema:"enum=SYSDBA"` // SYSDBA, or empty
	// DirectNFS declares the NFS client: Oracle's own, or the kernel's.
	DirectNFS bool `json:"directNFS"`
	// Parameters are init parameters to set and to read back.
	Parameters map[string]string `json:"parameters,omitempty"`
	// RedoLogBytes is the size of each of four online redo logs, and UndoBytes the least
	// size of the undo tablespace of the load; 0 = as they are. Container only.
	RedoLogBytes int64 `json:"redoLogBytes,omitempty" jsonschema:"minimum=67108864,maximum=68719476736"`
	UndoBytes    int64 `json:"undoBytes,omitempty" jsonschema:"minimum=67108864,maximum=68719476736"`
	// TablespaceBytes is the size of a tablespace that a calibration reads beside the database's own files; the
	// run makes and drops it.
	TablespaceBytes int64 `json:"tablespaceBytes,omitempty" jsonschema:"minimum=1,maximum=17592186044416"`
	// RedoDirectory is where the host of the database mounts RedoExport, an export of the
	// engine's server for the online redo logs; empty = they are with the data. Container only.
	RedoDirectory string `json:"redoDirectory,omitempty"`
	RedoExport    string `json:"redoExport,omitempty"`
	// RestartBeforeRun restarts the instance, so that its views start at zero
	// and the oranfstab is read again; Container only.
	RestartBeforeRun bool `json:"restartBeforeRun,omitempty"`
	// DataDirectory is where the host of the database sees the volume; External:
	// empty where that is not known.
	DataDirectory string `json:"dataDirectory,omitempty" jsonschema:"pattern=^(/[A-Za-z0-9_][A-Za-z0-9._-]*)+$"`
	// TablespaceDirectory is the directory for the datafile of a new tablespace; empty = that of
	// SYSTEM. External only.
	TablespaceDirectory string `json:"tablespaceDirectory,omitempty" jsonschema:"pattern=^(/[A-Za-z0-9_][A-Za-z0-9._-]*)+$"`
	// AllowRedo loads SLOB tables even where FORCE LOGGING makes redo of them.
	// Without it, loading such a database is refused; Container databases are ours.
	AllowRedo             bool   `json:"allowRedo,omitempty"`
	StartupTimeoutSeconds int32  `json:"startupTimeoutSeconds,omitempty"`
	SID                   string `json:"sid,omitempty"`
	// CPUMillis are the thousandths of a core that the instance can use at most: the limit of its
	// container, and two cores with Oracle Free and Express. 0 = no such limit.
	CPUMillis int64 `json:"cpuMillis,omitempty"`
}

// The kinds of databases.
const (
	DatabaseContainer = "Container"
	DatabaseExternal  = "External"
)

// Limits for durations that are not known before a run.
const (
	// CalibrateCallSeconds is the time limit of one call of CALIBRATE_IO. It takes about ten minutes,
	// depending on the storage.
	CalibrateCallSeconds = 15 * 60
	// MaxCalibrateSteps are the levels of load that a native calibrate tries at
	// most in each round: it raises the load until the latency is too high.
	MaxCalibrateSteps = 40
	// KitReportSeconds is the time limit of a SLOB kit for its snapshots and its report, in addition
	// to its RUN_TIME.
	KitReportSeconds = 120
)

// orderSeconds is the time in which several clients must learn the next level of a search for capacity.
const orderSeconds = 15

// longestPauseSeconds lets queues run empty between the steps of a native ramp.
const longestPauseSeconds = 2

// Steps is the number and length of the steps of a plan.
type Steps struct {
	// Count of measured windows, each with a Repetition of its own.
	Count int64
	// Seconds that the scheduled spans take together, without connecting,
	// starting a database, filling and cleaning.
	Seconds int64
	// Exact says that it will be so. Where the load finds its own levels, or
	// others' programs end when they like, Count and Seconds are the most that
	// it may take.
	Exact bool
}

// ScheduledSteps is how many measured windows a run has, and how long they
// take: one for each repetition of a raw load, one for each step of a ramp in
// each round, and for calibrations the most that they may take.
//
// The native engine goes through all steps of a round over the same files, with
// one baseline; in a database each step has its own, and a cooldown after it.
func (p Plan) ScheduledSteps() Steps {
	s, w, rounds := p.Schedule, p.Workload, int64(p.Schedule.Repetitions)
	switch {
	case w.Capacity() != nil:
		each := int64(s.DurationSeconds) + int64(LaterWarmupSeconds(Bounds(w.Capacity()), p.Clients))
		if p.Clients > 1 {
			each += orderSeconds
		}
		return Steps{
			Count:   rounds * MaxCapacityLevels,
			Seconds: s.seconds(rounds, int64(s.WarmupSeconds)+MaxCapacityLevels*each),
		}
	case w.Calibrate != nil:
		rounds += int64(bench.OrZero(w.Calibrate.WarmupRuns))
		if p.Database != nil { // the procedure has no warm-up
			return Steps{Count: rounds, Seconds: s.seconds(rounds, CalibrateCallSeconds)}
		}
		levels := MaxCalibrateSteps * (int64(s.LevelWarmupSeconds()) + int64(s.DurationSeconds))
		return Steps{Count: rounds * MaxCalibrateSteps, Seconds: s.seconds(rounds, levels)}
	case w.SLOB != nil && w.SLOB.Kit != nil: // which warms nothing up
		n := rounds * int64(len(w.SLOB.Ramp()))
		return Steps{Count: n, Seconds: s.seconds(n, int64(s.DurationSeconds)+KitReportSeconds)}
	case w.SLOB != nil && w.SLOB.WorkLoop > 0: // nor does fixed work, and it ends earlier
		n := rounds * int64(len(w.SLOB.Ramp()))
		return Steps{Count: n, Seconds: s.seconds(n, int64(s.DurationSeconds))}
	case w.SLOB != nil && p.Database != nil:
		n := rounds * int64(len(w.SLOB.Ramp()))
		return Steps{Count: n, Seconds: s.seconds(n, s.loaded()), Exact: true}
	case w.SLOB != nil:
		n := int64(len(w.SLOB.Ramp()))
		round := n*s.loaded() + max(n-1, 0)*int64(s.PauseSeconds())
		return Steps{Count: rounds * n, Seconds: s.seconds(rounds, round), Exact: true}
	default:
		return Steps{Count: rounds, Seconds: s.seconds(rounds, s.loaded()), Exact: true}
	}
}

// PauseSeconds are idle between the steps of one round of a native ramp.
func (s Schedule) PauseSeconds() int32 { return min(s.CooldownSeconds, longestPauseSeconds) }

// LevelWarmupSeconds is the warm-up of a level of a native calibrate: the
// storage is under load all the time, so a quarter of the window is enough, or
// what the plan says where that is less.
func (s Schedule) LevelWarmupSeconds() int32 {
	return min(s.WarmupSeconds, (s.DurationSeconds+3)/4)
}

// loaded is how long one warm-up and its window take.
func (s Schedule) loaded() int64 { return int64(s.WarmupSeconds) + int64(s.DurationSeconds) }

// seconds is how long n times a baseline and so much load take, with the
// cooldowns between them.
func (s Schedule) seconds(n, load int64) int64 {
	return n*(int64(s.BaselineSeconds)+load) + max(n-1, 0)*int64(s.CooldownSeconds)
}

// Defaults of a comparison, those of the CRD of suites.
const (
	DefaultAlpha         = 0.05 // accepted rate of false alarms
	DefaultMinimumEffect = 0.02 // as a share: 2 %
	DefaultCorrection    = bench.Holm
)
