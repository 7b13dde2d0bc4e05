package runfile

import (
	"path"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
)

// Calibrate measures what Oracle's DBMS_RESOURCE_MANAGER.CALIBRATE_IO does: how
// many random single-block reads a second the storage gives within a latency,
// and how many megabytes a second in large random reads. With a database it is
// that procedure; without one the native engine does the same.
type Calibrate struct {
	PhysicalDisks          int32 `json:"physicalDisks" jsonschema:"minimum=1"`           // num_physical_disks
	MaxLatencyMilliseconds int32 `json:"maxLatencyMilliseconds" jsonschema:"minimum=10"` // max_latency
	// WarmupRuns are made before those that count, for caches may be cold.
	WarmupRuns int32  `json:"warmupRuns"`
	Files      *Files `json:"files,omitempty"` // native engine; nil with a database
}

// Files are those that the native engine makes and reads where Oracle would
// read its datafiles.
type Files struct {
	Count          int32 `json:"count" jsonschema:"minimum=1"`
	SizeBytes      int64 `json:"sizeBytes" jsonschema:"minimum=8192"` // of each; a multiple of LargeReadBytes
	BlockSizeBytes int64 `json:"blockSizeBytes"`                      // of single-block I/O, as db_block_size
	LargeReadBytes int64 `json:"largeReadBytes"`                      // of multiblock I/O
	// Directory below the export or mount, with a marker that says that it is ours.
	Directory         string `json:"directory"`
	OverwriteExisting bool   `json:"overwriteExisting,omitempty"`
	KeepFiles         bool   `json:"keepFiles,omitempty"`
}

// SLOB is a load of SQL statements on schemas of the SLOB model: one row in a
// block, read by ranges of keys or scanned whole. The native engine makes the
// same I/O without SQL.
type SLOB struct {
	Access bench.SLOBAccess `json:"access" jsonschema:"enum=FullTableScan,enum=RandomRead"`
	// Users are sessions at work at once; each entry is a step of its own, in
	// this order. They are spread over the schemas.
	Users          []int32 `json:"users"`
	Schemas        int32   `json:"schemas" jsonschema:"minimum=1"`
	ScaleBytes     int64   `json:"scaleBytes"`     // of each schema's table of ranges
	ScanTableBytes int64   `json:"scanTableBytes"` // of each schema's table to scan
	WorkUnit       int32   `json:"workUnit"`       // blocks of one statement
	// WorkLoop is how many statements each user executes: a step then ends with
	// the last of them, and Schedule.DurationSeconds bounds it. 0 = a step ends by
	// time; the WORK_LOOP of a kit stays.
	WorkLoop      int32 `json:"workLoop,omitempty"`
	UpdatePercent int32 `json:"updatePercent"` // share of statements; 0 to 50, or 100
	// Capacity searches the highest rate within latency bounds, instead of going through Users. Users
	// then has one entry: the maximum number of sessions at work.
	Capacity   *Capacity            `json:"capacity,omitempty"`
	RedoStress bench.SLOBRedoStress `json:"redoStress,omitempty" jsonschema:"enum=Lite,enum=Heavy"`
	Think      *bench.SLOBThink     `json:"think,omitempty"`
	// ReadAhead is how many multiblock reads a scanning user keeps outstanding;
	// native engine. Oracle decides for itself.
	ReadAhead          int32          `json:"readAhead,omitempty"`
	LoadParallelDegree int32          `json:"loadParallelDegree,omitempty"`
	Tablespace         string         `json:"tablespace,omitempty"`
	ObfuscateColumns   bool           `json:"obfuscateColumns,omitempty"` // rows that storage cannot shrink
	AWR                bool           `json:"awr,omitempty"`              // take snapshots: needs the Diagnostics Pack
	KeepSchemas        bool           `json:"keepSchemas,omitempty"`      // for the next run, which then need not load them
	Kit                *bench.SLOBKit `json:"kit,omitempty"`              // run the user's own kit instead
	Files              *Files         `json:"files,omitempty"`            // native engine; nil with a database
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
	Connects []string `json:"connects"`
	User     string   `json:"user"`
	Role     string   `json:"role,omitempty"` // SYSDBA, or empty
	// DirectNFS declares the NFS client: Oracle's own, or the kernel's.
	DirectNFS bool `json:"directNFS"`
	// Parameters are init parameters to set and to read back.
	Parameters map[string]string `json:"parameters,omitempty"`
	// RedoLogBytes is the size of each of four online redo logs, and UndoBytes the least
	// size of the undo tablespace of the load; 0 = as they are. Container only.
	RedoLogBytes int64 `json:"redoLogBytes,omitempty"`
	UndoBytes    int64 `json:"undoBytes,omitempty"`
	// TablespaceBytes is the size of a tablespace that a calibration reads beside the database's own files; the
	// run makes and drops it.
	TablespaceBytes int64 `json:"tablespaceBytes,omitempty"`
	// RedoDirectory is where the host of the database mounts RedoExport, an export of the
	// engine's server for the online redo logs; empty = they are with the data. Container only.
	RedoDirectory string `json:"redoDirectory,omitempty"`
	RedoExport    string `json:"redoExport,omitempty"`
	// RestartBeforeRun restarts the instance, so that its views start at zero
	// and the oranfstab is read again; Container only.
	RestartBeforeRun bool `json:"restartBeforeRun,omitempty"`
	// DataDirectory is where the host of the database sees the volume; External:
	// empty where that is not known.
	DataDirectory string `json:"dataDirectory,omitempty"`
	// TablespaceDirectory is the directory for the datafile of a new tablespace; empty = that of
	// SYSTEM. External only.
	TablespaceDirectory string `json:"tablespaceDirectory,omitempty"`
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
		each := int64(s.DurationSeconds) + int64(LaterWarmupSeconds(w.Capacity().Bounds, p.Clients))
		if p.Clients > 1 {
			each += orderSeconds
		}
		return Steps{
			Count:   rounds * MaxCapacityLevels,
			Seconds: s.seconds(rounds, int64(s.WarmupSeconds)+MaxCapacityLevels*each),
		}
	case w.Calibrate != nil:
		rounds += int64(w.Calibrate.WarmupRuns)
		if p.Database != nil { // the procedure has no warm-up
			return Steps{Count: rounds, Seconds: s.seconds(rounds, CalibrateCallSeconds)}
		}
		levels := MaxCalibrateSteps * (int64(s.LevelWarmupSeconds()) + int64(s.DurationSeconds))
		return Steps{Count: rounds * MaxCalibrateSteps, Seconds: s.seconds(rounds, levels)}
	case w.SLOB != nil && w.SLOB.Kit != nil: // which warms nothing up
		n := rounds * int64(len(w.SLOB.Users))
		return Steps{Count: n, Seconds: s.seconds(n, int64(s.DurationSeconds)+KitReportSeconds)}
	case w.SLOB != nil && w.SLOB.WorkLoop > 0: // nor does fixed work, and it ends earlier
		n := rounds * int64(len(w.SLOB.Users))
		return Steps{Count: n, Seconds: s.seconds(n, int64(s.DurationSeconds))}
	case w.SLOB != nil && p.Database != nil:
		n := rounds * int64(len(w.SLOB.Users))
		return Steps{Count: n, Seconds: s.seconds(n, s.loaded()), Exact: true}
	case w.SLOB != nil:
		n := int64(len(w.SLOB.Users))
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

// Defaults of a load, a schedule and a comparison. The flags of the programs use them; a test
// compares them with the defaults of the CRDs.
const (
	DefaultFileBytes = 1 << 30
	DefaultJobs      = 4
	DefaultDepth     = 8
	DefaultDirectory = "nfsbench"

	DefaultPhysicalDisks          = 100 // of a calibration
	DefaultMaxLatencyMilliseconds = 20
	DefaultWarmupRuns             = 1
	DefaultFiles                  = 4
	DefaultScaleBytes             = 80 << 20 // of SLOB
	DefaultScanTableBytes         = 1 << 30
	DefaultWorkUnit               = 64
	DefaultReadAhead              = 4

	DefaultBaselineSeconds = 5
	DefaultWarmupSeconds   = 10
	DefaultDurationSeconds = 60
	DefaultCooldownSeconds = 5

	DefaultAlpha         = 0.05 // accepted rate of false alarms
	DefaultMinimumEffect = 0.02 // as a share: 2 %
	DefaultCorrection    = "Holm"
)

// DefaultBlockBytes is the size of one I/O of a pattern: a block of an Oracle database
// at random, and in order what its scans read at once.
func DefaultBlockBytes(pattern bench.RawPattern) int64 {
	if strings.HasPrefix(string(pattern), "Random") {
		return 8 << 10
	}
	return 1 << 20
}
