package bench

import "k8s.io/apimachinery/pkg/api/resource"

// CalibrateWorkload measures how many random single-block reads a second the
// storage gives within a latency, and how many megabytes a second in large
// random reads: Oracle's DBMS_RESOURCE_MANAGER.CALIBRATE_IO, or the same by the
// native engine. Oracle and NetApp both say that it is no way to compare
// storage; the finding CalibrationOnly repeats it.
type CalibrateWorkload struct {
	// physicalDisks is num_physical_disks: about how many disks are behind the
	// volume. Too few limit the result.
	// +optional
	// +default=100
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	PhysicalDisks int32 `json:"physicalDisks,omitempty"`
	// maxLatencyMilliseconds is max_latency: the tolerable latency of one
	// single-block read.
	// +optional
	// +default=20
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=100
	MaxLatencyMilliseconds int32 `json:"maxLatencyMilliseconds,omitempty"`
	// warmupRuns before those of run.repetitions, because caches may be cold.
	// They are reported, and not counted.
	// +optional
	// +default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10
	WarmupRuns *int32 `json:"warmupRuns,omitempty"`
	// nativeFiles are what the native engine reads; a database has datafiles.
	// +optional
	// +default={}
	NativeFiles NativeFiles `json:"nativeFiles,omitempty"`
	// databaseSize is the size, such as 100Gi, of a tablespace that the run makes in its own database and drops
	// afterwards. CALIBRATE_IO reads all datafiles, and those of a new database have a few GiB,
	// which the cache of an array holds.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isInteger() && quantity(string(self)).asInteger() >= 67108864 && quantity(string(self)).asInteger() <= 17592186044416 && quantity(string(self)).asInteger() % 1048576 == 0",message="workload.calibrate.databaseSize must be a multiple of 1Mi from 64Mi to 16Ti, such as 64Gi"
	DatabaseSize *resource.Quantity `json:"databaseSize,omitempty"`
}

// NativeFiles are the files of a native calibrate or SLOB load.
type NativeFiles struct {
	// count of files; SLOB has one for each schema instead.
	// +optional
	// +default=4
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=256
	Count int32 `json:"count,omitempty"`
	// size of each, such as 8Gi; SLOB has scale or scanTableSize instead. Make all files
	// together larger than the caches that should not answer.
	// +optional
	// +default="1Gi"
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isInteger() && quantity(string(self)).asInteger() >= 1048576 && quantity(string(self)).asInteger() % 1048576 == 0",message="nativeFiles.size must be a multiple of 1Mi, such as 1Gi"
	Size resource.Quantity `json:"size,omitzero"`
	// directory below the export that holds the files. It is made when absent;
	// one with files that this program did not make is refused.
	// +optional
	// +default="nfsbench"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^[A-Za-z0-9_][A-Za-z0-9._-]*$')`,message="write the name of one directory below the export, such as nfsbench: letters, digits, _, - and ."
	Directory string `json:"directory,omitempty"`
	// foreignFiles says what to do with a directory whose files are not marked
	// as ours: Refuse, or Overwrite files of the same names.
	// +optional
	// +default="Refuse"
	ForeignFiles ForeignFilesPolicy `json:"foreignFiles,omitempty"`
	// verify says what is read back after the load: the blocks that it wrote, a Sample of each file, or All
	// blocks. It takes no longer than one measured window; the result says if that cut it. Every read of the
	// load is checked in any case.
	// +optional
	// +default="Written"
	Verify VerifyMode `json:"verify,omitempty"`
}

// SLOBWorkload is a load of SQL statements on schemas of the SLOB model, with
// the parameter names of slob.conf: one row in a block, read by ranges of keys
// or scanned whole. It is original code; kit runs your own SLOB instead.
// Without a database the native engine makes the same I/O.
//
// +kubebuilder:validation:XValidation:rule="!has(self.users) || !has(self.threadsPerSchema) || self.threadsPerSchema == 1",message="workload.slob.users says how many sessions there are: leave out threadsPerSchema"
// +kubebuilder:validation:XValidation:rule="!has(self.updatePercent) || self.updatePercent <= 50 || self.updatePercent == 100",message="workload.slob.updatePercent must be 0 to 50, or 100, as in SLOB"
// +kubebuilder:validation:XValidation:rule="self.access != 'FullTableScan' || !has(self.updatePercent) || self.updatePercent == 0",message="workload.slob.access FullTableScan only reads: leave out updatePercent, or use RandomRead"
// +kubebuilder:validation:XValidation:rule="self.access != 'RandomRead' || self.workUnit * 8192 <= quantity(string(self.scale)).asInteger()",message="workload.slob.workUnit is more than the blocks of 8Ki that workload.slob.scale has: lower it, or raise scale"
// +kubebuilder:validation:XValidation:rule="!has(self.capacity) || has(self.users) && size(self.users) == 1",message="workload.slob.capacity finds the load by itself: give one number in workload.slob.users, which is how many sessions may be at work"
// +kubebuilder:validation:XValidation:rule="!has(self.capacity) || !has(self.workLoop) && !has(self.think) && !has(self.kit)",message="workload.slob.capacity starts operations by a schedule: leave out workload.slob.workLoop, think and kit"
type SLOBWorkload struct {
	// access: FullTableScan reads whole tables in large pieces past the buffer
	// cache, RandomRead single blocks by keys.
	// +required
	Access SLOBAccess `json:"access"`
	// users are sessions at work at once. Several make a ramp: each is a step
	// of its own, in this order, and each repetition goes through all. Without
	// it, schemas x threadsPerSchema.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=1024
	// +kubebuilder:validation:XValidation:rule="self.all(u, self.exists_one(v, v == u))",message="a number is listed twice in workload.slob.users: use run.repetitions to repeat"
	Users []int32 `json:"users,omitempty"`
	// capacity searches the highest rate of I/Os that keeps a latency, instead of going
	// through users, of which one number then says how many sessions may be at work. With
	// a database it is the rate of statements.
	// +optional
	Capacity *Capacity `json:"capacity,omitempty"`
	// schemas that users are spread over, each with tables of its own.
	// +optional
	// +default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=128
	Schemas int32 `json:"schemas,omitempty"`
	// threadsPerSchema are the sessions of each schema (THREADS_PER_SCHEMA).
	// +optional
	// +default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=128
	ThreadsPerSchema int32 `json:"threadsPerSchema,omitempty"`
	// scale is the size of each schema's table for RandomRead (SCALE), such as 4Gi.
	// +optional
	// +default="80Mi"
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isInteger() && quantity(string(self)).asInteger() >= 1048576 && quantity(string(self)).asInteger() % 1048576 == 0",message="workload.slob.scale must be a multiple of 1Mi, such as 1Gi"
	Scale resource.Quantity `json:"scale,omitzero"`
	// scanTableSize is the size of each schema's table for FullTableScan
	// (SCAN_TABLE_SZ), such as 16Gi.
	// +optional
	// +default="1Gi"
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isInteger() && quantity(string(self)).asInteger() >= 1048576 && quantity(string(self)).asInteger() % 1048576 == 0",message="workload.slob.scanTableSize must be a multiple of 1Mi, such as 4Gi"
	ScanTableSize resource.Quantity `json:"scanTableSize,omitzero"`
	// workUnit is how many blocks one statement of RandomRead visits (WORK_UNIT).
	// +optional
	// +default=64
	// +kubebuilder:validation:Minimum=3
	// +kubebuilder:validation:Maximum=1024
	WorkUnit int32 `json:"workUnit,omitempty"`
	// workLoop is fixed work: how many statements each user executes (WORK_LOOP).
	// A step then ends when all users have done theirs, has no warm-up, and
	// run.durationSeconds is the longest that it may take. It needs a database.
	// Without it, a step ends by time; a kit keeps the WORK_LOOP of its slob.conf.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000
	WorkLoop int32 `json:"workLoop,omitempty"`
	// updatePercent of statements update their blocks (UPDATE_PCT): 0 to 50, or
	// 100.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	UpdatePercent int32 `json:"updatePercent,omitempty"`
	// redoStress says how much of a row an update changes (REDO_STRESS).
	// +optional
	// +default="Lite"
	RedoStress SLOBRedoStress `json:"redoStress,omitempty"`
	// think is how users pause (THINK_TM_*). Without it they do not.
	// +optional
	Think *SLOBThink `json:"think,omitempty"`
	// readAhead is how many large reads a scanning user keeps outstanding;
	// native engine only, for Oracle decides itself.
	// +optional
	// +default=4
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	ReadAhead int32 `json:"readAhead,omitempty"`
	// loadParallelDegree is how many schemas are loaded at once
	// (LOAD_PARALLEL_DEGREE).
	// +optional
	// +default=2
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	LoadParallelDegree int32 `json:"loadParallelDegree,omitempty"`
	// tablespace of the schemas; it is made when absent.
	// +optional
	// +default="NFSBENCH"
	// +kubebuilder:validation:MaxLength=30
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^[A-Za-z][A-Za-z0-9_]*$')`,message="write letters, digits and _, such as NFSBENCH"
	Tablespace string `json:"tablespace,omitempty"`
	// obfuscateColumns fills rows with what storage cannot compress or
	// deduplicate (OBFUSCATE_COLUMNS).
	// +optional
	// +default="Enabled"
	ObfuscateColumns Toggle `json:"obfuscateColumns,omitempty"`
	// awr takes AWR snapshots around the load. It needs the Diagnostics Pack,
	// which costs a licence.
	// +optional
	// +default="Disabled"
	AWR Toggle `json:"awr,omitempty"`
	// kit runs your own SLOB kit with its slob.conf instead of the built-in
	// load, and reads the events from its awr.txt. In a database.container its
	// setup.sh loads the schemas into tablespace if they are not there; they stay.
	// Without awr, the kit needs Statspack, which no image of Oracle has.
	// +optional
	Kit *SLOBKit `json:"kit,omitempty"`
	// nativeFiles says where the native engine keeps its files.
	// +optional
	// +default={}
	NativeFiles NativeFiles `json:"nativeFiles,omitempty"`
}

// SLOBKit is a SLOB kit of the user, which nfsbench may not redistribute.
//
// +kubebuilder:validation:XValidation:rule="has(self.claimName) || self.directory.startsWith('/')",message="workload.slob.kit.directory must be an absolute path in the image of the database, or give workload.slob.kit.claimName"
type SLOBKit struct {
	// claimName is a PersistentVolumeClaim with the kit; without it, the kit is
	// in the image of the database.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')`,message="write the name of an object: lower case letters, digits, - and ., such as oradata-1"
	ClaimName string `json:"claimName,omitempty"`
	// directory with runit.sh and slob.conf: below the claim's root, or an
	// absolute path in the image.
	// +required
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^[A-Za-z0-9_./-]+$')`,message="write letters, digits, _, -, . and /, such as /opt/SLOB"
	// +kubebuilder:validation:XValidation:rule="!self.contains('..')",message="workload.slob.kit.directory must not hold .."
	Directory string `json:"directory"`
}

// SLOBThink is how users pause.
//
// +kubebuilder:validation:XValidation:rule="self.maximumMilliseconds >= self.minimumMilliseconds",message="workload.slob.think.maximumMilliseconds is less than minimumMilliseconds: swap them"
type SLOBThink struct {
	// frequency: a pause after each so many statements.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	Frequency int32 `json:"frequency"`
	// minimumMilliseconds of a pause.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=60000
	MinimumMilliseconds int32 `json:"minimumMilliseconds"`
	// maximumMilliseconds of a pause.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=60000
	MaximumMilliseconds int32 `json:"maximumMilliseconds"`
}

// SLOBAccess is how a SLOB load reads.
//
// +kubebuilder:validation:Enum=FullTableScan;RandomRead
type SLOBAccess string

// The accesses.
const (
	SLOBFullTableScan SLOBAccess = "FullTableScan"
	SLOBRandomRead    SLOBAccess = "RandomRead"
)

// SLOBRedoStress says how much of a row an update changes.
//
// +kubebuilder:validation:Enum=Lite;Heavy
type SLOBRedoStress string

// The redo stresses.
const (
	SLOBRedoLite  SLOBRedoStress = "Lite"
	SLOBRedoHeavy SLOBRedoStress = "Heavy"
)
