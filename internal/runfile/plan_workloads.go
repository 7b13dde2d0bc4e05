package runfile

import (
	"path"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
)

// Files describes the files that the native engine makes. It reads them like Oracle reads its datafiles.
type Files struct {
	Count             int32
	SizeBytes         int64 // of each
	BlockSizeBytes    int64 // of single-block I/O, as db_block_size
	LargeReadBytes    int64 // of multiblock I/O
	Directory         string
	OverwriteExisting bool
	Verify            bench.VerifyMode
}

// Files returns the files of one client. A database has its own files, so Count is 0.
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
	case w.SLOB != nil: // one file for the table of each schema
		n = w.SLOB.NativeFiles
		f.Count, f.SizeBytes = max(w.SLOB.Schemas, 1), w.SLOB.TableBytes()
	}
	f.Directory, f.OverwriteExisting = n.Directory, n.ForeignFiles == bench.ForeignFilesOverwrite
	f.Verify = n.Verify
	return f
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

// KitPath is the mount point, in the loader, of the claim with the user's own SLOB kit.
const KitPath = "/opt/slob"

// KitDirectory returns the directory of a kit in the loader.
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
	// MaxCalibrateSteps bounds the levels of load of a native calibrate in each round: it raises the load until
	// the latency is too high.
	MaxCalibrateSteps = 40
	// KitReportSeconds is the time limit of a SLOB kit for its snapshots and its report, in addition
	// to its RUN_TIME.
	KitReportSeconds = 120
)

// orderSeconds bounds the time in which several clients learn the next level of a search for capacity.
const orderSeconds = 15

// longestPauseSeconds bounds the pause between the steps of a native ramp, in which queues run empty.
const longestPauseSeconds = 2

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
// of a raw load, one for each step of a ramp in each round, and upper bounds for calibrations.
//
// The native engine measures all steps of a round over the same files, with one baseline. In a database each
// step has its own baseline, and a cooldown after it.
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
	case w.SLOB != nil && w.SLOB.Kit != nil: // a kit has no warm-up
		n := rounds * int64(len(w.SLOB.Ramp()))
		return Steps{Count: n, Seconds: s.seconds(n, int64(s.DurationSeconds)+KitReportSeconds)}
	case w.SLOB != nil && w.SLOB.WorkLoop > 0: // nor has fixed work, and it ends earlier
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

// PauseSeconds returns the idle time between the steps of one round of a native ramp.
func (s Schedule) PauseSeconds() int32 { return min(s.CooldownSeconds, longestPauseSeconds) }

// LevelWarmupSeconds returns the warm-up of a level of a native calibrate: a quarter of the window, because
// the storage is always under load, or the warm-up of the plan if that is shorter.
func (s Schedule) LevelWarmupSeconds() int32 {
	return min(s.WarmupSeconds, (s.DurationSeconds+3)/4)
}

// loaded returns the length of one warm-up and its window.
func (s Schedule) loaded() int64 { return int64(s.WarmupSeconds) + int64(s.DurationSeconds) }

// seconds returns the length of n baselines and n loads of load seconds, with the cooldowns between them.
func (s Schedule) seconds(n, load int64) int64 {
	return n*(int64(s.BaselineSeconds)+load) + max(n-1, 0)*int64(s.CooldownSeconds)
}

// Defaults of a comparison, as in the CRD of suites.
const (
	DefaultAlpha         = 0.05 // accepted rate of false alarms
	DefaultMinimumEffect = 0.02 // as a share: 2 %
	DefaultCorrection    = bench.Holm
)
