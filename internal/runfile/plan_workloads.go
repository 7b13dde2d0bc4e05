package runfile

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

// The accesses of a SLOB load.
const (
	AccessFullTableScan = "FullTableScan" // multiblock reads past the buffer cache
	AccessRandomRead    = "RandomRead"    // single-block reads through an index
)

// The redo stresses of a SLOB load.
const (
	RedoLite  = "Lite"
	RedoHeavy = "Heavy"
)

// SLOB is a load of SQL statements on schemas of the SLOB model: one row in a
// block, read by ranges of keys or scanned whole. The native engine makes the
// same I/O without SQL.
type SLOB struct {
	Access string `json:"access" jsonschema:"enum=FullTableScan,enum=RandomRead"`
	// Users are sessions at work at once; each entry is a step of its own, in
	// this order. They are spread over the schemas.
	Users          []int32 `json:"users"`
	Schemas        int32   `json:"schemas" jsonschema:"minimum=1"`
	ScaleBytes     int64   `json:"scaleBytes"`     // of each schema's table of ranges
	ScanTableBytes int64   `json:"scanTableBytes"` // of each schema's table to scan
	WorkUnit       int32   `json:"workUnit"`       // blocks of one statement
	UpdatePercent  int32   `json:"updatePercent"`  // of statements; 0 to 50, or 100
	RedoStress     string  `json:"redoStress,omitempty" jsonschema:"enum=Lite,enum=Heavy"`
	Think          *Think  `json:"think,omitempty"`
	// ReadAhead is how many multiblock reads a scanning user keeps outstanding;
	// native engine. Oracle decides for itself.
	ReadAhead          int32    `json:"readAhead,omitempty"`
	LoadParallelDegree int32    `json:"loadParallelDegree,omitempty"`
	Tablespace         string   `json:"tablespace,omitempty"`
	ObfuscateColumns   bool     `json:"obfuscateColumns,omitempty"` // rows that storage cannot shrink
	AWR                bool     `json:"awr,omitempty"`              // take snapshots: needs the Diagnostics Pack
	KeepSchemas        bool     `json:"keepSchemas,omitempty"`      // for the next run, which then need not load them
	Kit                *SLOBKit `json:"kit,omitempty"`              // run the user's own kit instead
	Files              *Files   `json:"files,omitempty"`            // native engine; nil with a database
}

// Think is how users pause.
type Think struct {
	Frequency           int32 `json:"frequency"` // after each so many statements
	MinimumMilliseconds int32 `json:"minimumMilliseconds"`
	MaximumMilliseconds int32 `json:"maximumMilliseconds"`
}

// SLOBKit is a SLOB kit of the user, which may not be redistributed.
type SLOBKit struct {
	Directory string `json:"directory"` // with runit.sh and slob.conf, as the loader sees it
}

// Database says how the Oracle database of a run is reached. It holds no
// password: the loader gets the name of a file.
type Database struct {
	Kind string `json:"kind" jsonschema:"enum=Container,enum=External"`
	// AdminConnect is an EZConnect string of the root container, for views,
	// parameters and CALIBRATE_IO, as User with Role.
	AdminConnect string `json:"adminConnect"`
	// Connects are where the sessions of the load go, in turns: the pluggable
	// database, or one service for each RAC instance.
	Connects []string `json:"connects"`
	User     string   `json:"user"`
	Role     string   `json:"role,omitempty"` // SYSDBA
	// DirectNFS is what was declared: Oracle's own NFS client, or the kernel's.
	DirectNFS bool `json:"directNFS"`
	// Parameters are init parameters to set and to read back.
	Parameters map[string]string `json:"parameters,omitempty"`
	// RestartBeforeRun restarts the instance, so that its views start at zero
	// and the oranfstab is read again; Container only.
	RestartBeforeRun bool `json:"restartBeforeRun,omitempty"`
	// DataDirectory is where the database sees the volume; Container only.
	DataDirectory         string `json:"dataDirectory,omitempty"`
	StartupTimeoutSeconds int32  `json:"startupTimeoutSeconds,omitempty"`
	// Distribution is who made the image: Oracle or Gvenzl; Container only.
	Distribution string `json:"distribution,omitempty"`
	SID          string `json:"sid,omitempty"`
}

// The kinds of databases.
const (
	DatabaseContainer = "Container"
	DatabaseExternal  = "External"
)
