package runfile

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Oracle is what the loader found out about the database before the load.
type Oracle struct {
	Banner  string `json:"banner,omitempty"`  // V$VERSION.BANNER_FULL, or BANNER
	Version string `json:"version,omitempty"` // V$INSTANCE.VERSION
	// Patches are the descriptions in DBA_REGISTRY_SQLPATCH of those that are applied, the latest last; absent = not
	// known, or none.
	Patches []string `json:"patches,omitempty"`
	// EncryptedTablespaces of all containers, which cost the database CPU; absent = not known.
	EncryptedTablespaces *int64 `json:"encryptedTablespaces,omitempty"`
	// Container that the administrator is connected to; outside of CDB$ROOT views do not count all.
	Container string `json:"container,omitempty"`
	// StandIn says that this is no Oracle: the banner calls itself a stand-in.
	StandIn    bool              `json:"standIn,omitempty"`
	Instances  []OracleInstance  `json:"instances,omitempty"`
	Parameters []OracleParameter `json:"parameters,omitempty"` // those asked for, and those that matter
	// ReadyMilliseconds from the start of the container to a database that takes
	// connections: provisioning, and no part of the run.
	ReadyMilliseconds *int64 `json:"readyMilliseconds,omitempty"`
	// Library is what the database's container found out about Direct NFS.
	Library *DirectNFSLibrary `json:"library,omitempty"`
	// Host is what the database's container found and changed around the database.
	Host *DatabaseHost `json:"host,omitempty"`
	// LoadedBytes were loaded into schemas; SchemasReused says that they were
	// there from an earlier run.
	LoadedBytes   int64 `json:"loadedBytes,omitempty"`
	SchemasReused bool  `json:"schemasReused,omitempty"`
	Restarted     bool  `json:"restarted,omitempty"` // before the load
}

// OracleInstance is one row of GV$INSTANCE.
type OracleInstance struct {
	ID          int32     `json:"id"` // INST_ID
	Name        string    `json:"name"`
	Host        string    `json:"host,omitempty"`
	StartupTime time.Time `json:"startupTime,omitzero"`
}

// OracleParameter is one init parameter: asked for and read back.
type OracleParameter struct {
	Name      string `json:"name"`
	Requested string `json:"requested,omitempty"`
	Value     string `json:"value"` // V$PARAMETER, or what V$SYSTEM_PARAMETER reports about a hidden one
}

// SingleReadParameters returns the hidden parameters that must be 0 so that each block of random reads is one
// read. A release may not have them.
func SingleReadParameters() []string {
	return []string{"_db_block_prefetch_limit", "_db_block_prefetch_quota", "_db_file_noncontig_mblock_read_count"}
}

// IsRefusedDefault reports whether the release has refused one of SingleReadParameters. That matters only if
// the database read blocks in batches.
func (p OracleParameter) IsRefusedDefault() bool {
	return p.Requested == "0" && p.Value == "" && slices.Contains(SingleReadParameters(), p.Name)
}

// AsRequested reports whether the value in effect equals the requested value: 128M is 134217728, TRUE is
// true, and 'SetAll' is SETALL.
func (p OracleParameter) AsRequested() bool {
	asked, value := plainParameter(p.Requested), plainParameter(p.Value)
	if asked == value {
		return true
	}
	a, okA := ParameterBytes(asked)
	v, okV := ParameterBytes(value)
	if !okA || !okV {
		return false
	}
	// Oracle rounds parts of the SGA up to whole granules of 4 MiB to 512 MiB, depending on the size
	// of the SGA, which is not known here. The tolerance is at most the value itself, but at least 16
	// MiB, the largest granule for an SGA of up to 8 GiB.
	memory := strings.HasSuffix(p.Name, "_cache_size") || strings.HasSuffix(p.Name, "_pool_size") ||
		p.Name == "sga_target" || p.Name == "sga_max_size"
	return a == v || memory && v > a && v-a < min(512<<20, max(16<<20, a))
}

// plainParameter returns a value in capitals, without quotation marks and needless blanks.
func plainParameter(s string) string {
	return strings.ToUpper(strings.Join(strings.Fields(strings.Trim(strings.TrimSpace(s), `'"`)), " "))
}

// ParameterBytes parses the value of an init parameter that is a whole number with or without K, M, G, T.
func ParameterBytes(s string) (int64, bool) {
	s = plainParameter(s)
	digits := strings.TrimRight(s, "KMGT")
	n, err := strconv.ParseInt(digits, 10, 64)
	shift := 0
	if len(digits)+1 == len(s) {
		shift = 10 * (1 + strings.IndexByte("KMGT", s[len(digits)]))
	}
	return n << shift, err == nil && n >= 0 && n <= (1<<62)>>shift && len(s)-len(digits) <= 1
}

// DirectNFSLibrary is what the container of the database found and did before
// it started the database.
type DirectNFSLibrary struct {
	Wanted bool `json:"wanted"`
	// Method is how the library was placed or removed: make, or copy where there
	// is no make; empty when nothing had to be done.
	Method string `json:"method,omitempty"`
	// Path of the library in rdbms/lib/odm; empty when it is not there.
	Path string `json:"path,omitempty"`
	// AlertLine is the line of the alert log that names the ODM library. It proves that the library is
	// loaded, not that it is used.
	AlertLine string `json:"alertLine,omitempty"`
	// Mounts are the attempts to mount that the alert log names.
	Mounts []DNFSMount `json:"mounts,omitempty"`
	// Warnings are lines of the alert log about Direct NFS that are no information only.
	Warnings []string `json:"warnings,omitempty"`
	// OradismMode is the mode of bin/oradism, such as -rwsr-x---, and
	// OradismOwner its user ID; Direct NFS needs it setuid root.
	OradismMode  string `json:"oradismMode,omitempty"`
	OradismOwner *int64 `json:"oradismOwner,omitempty"`
}

// DNFSMount is an attempt of Direct NFS to mount an export, in the words of the alert log.
type DNFSMount struct {
	Export    string `json:"export"`
	Server    string `json:"server"`    // its label in the oranfstab, or its name in the mount table
	DefinedIn string `json:"definedIn"` // oranfstab or mtab
}

// DatabaseHost is what the container of the database found and changed before it started the
// database.
type DatabaseHost struct {
	// Limits are the process limits of the database, in the order of /proc/self/limits.
	Limits []ProcessLimit `json:"limits,omitempty"`
	// Mended are the files of Oracle Net in which another host was replaced.
	Mended []string `json:"mended,omitempty"`
	// Servers are the paths of Direct NFS, each as it answered this pod before the start.
	Servers []ServerProbe `json:"servers,omitempty"`
	// ServersNotProbed is why no server was asked before the start of Direct NFS; absent = Servers
	// has the answers, or Direct NFS is off.
	ServersNotProbed string `json:"serversNotProbed,omitempty"`
	// SocketBuffers are those that Direct NFS can have; absent = not known, or Direct NFS is off.
	SocketBuffers *SocketBuffers `json:"socketBuffers,omitempty"`
}

// ServerProbe is how a path to the NFS server answered a client of the database's pod that mounted
// the export from a port above 1023.
type ServerProbe struct {
	Path    string `json:"path"`
	Export  string `json:"export,omitempty"`  // of the redo logs; absent = that of the data
	Problem string `json:"problem,omitempty"` // why it could not; absent = it could
	// WriteMaxBytes is the largest write that the server takes (wtmax); absent = not known.
	WriteMaxBytes int64 `json:"writeMaxBytes,omitempty"`
}

// SocketBuffers are the largest buffers that the node grants to a socket.
type SocketBuffers struct {
	ReceiveBytes int64 `json:"receiveBytes"`
	SendBytes    int64 `json:"sendBytes"`
}

// String returns the path, and the export if it is not the export of the data.
func (p ServerProbe) String() string {
	if p.Export == "" {
		return p.Path
	}
	return MountSource(p.Path, p.Export)
}

// ProcessLimit is one limit of /proc/self/limits.
type ProcessLimit struct {
	Name string `json:"name"`           // such as Max open files
	Soft *int64 `json:"soft,omitempty"` // absent = unlimited
	Hard *int64 `json:"hard,omitempty"` // absent = unlimited
	// HardBefore is the hard limit of the container; absent = it was not changed.
	HardBefore *int64 `json:"hardBefore,omitempty"`
}

// OracleWindow is what the database counted in one measured window: differences
// of its cumulative views.
type OracleWindow struct {
	Calibration *Calibration `json:"calibration,omitempty"`
	// Phases are the parts of a calibration with small and with large reads; absent = the boundary between them
	// could not be seen.
	Phases []OraclePhase `json:"phases,omitempty"`
	// Statistics are from GV$SYSSTAT, and the times of GV$SYS_TIME_MODEL in microseconds, by name, over all
	// instances.
	Statistics map[string]int64 `json:"statistics,omitempty"`
	// OwnReads and OwnReadBytes are those of the sessions of the load, from GV$SESSTAT; absent = not known, as
	// with a calibration and with the user's own kit. Statistics has the reads of all sessions.
	OwnReads     *int64        `json:"ownReads,omitempty"`
	OwnReadBytes *int64        `json:"ownReadBytes,omitempty"`
	Events       []OracleEvent `json:"events,omitempty"`
	// TopWaits are those that foreground sessions waited for longest, without idle
	// ones, the longest first. ForegroundWaitMicroseconds is the time of all of
	// them, also of those that are not listed; absent = unknown.
	TopWaits                   []OracleWait `json:"topWaits,omitempty"`
	ForegroundWaitMicroseconds *int64       `json:"foregroundWaitMicroseconds,omitempty"`
	Files                      []OracleFile `json:"files,omitempty"`
	DatafileBytes              int64        `json:"datafileBytes,omitempty"` // of V$DATAFILE: what CALIBRATE_IO reads
	// ServiceTimeUnit is the unit of times in V$IOSTAT_FILE in this run: Microseconds or Milliseconds,
	// derived from V$SYSTEM_EVENT; empty = unknown.
	ServiceTimeUnit string    `json:"serviceTimeUnit,omitempty"`
	DirectNFS       DirectNFS `json:"directNFS,omitzero"`
	// Connections are the established TCP connections of the pod to NFS servers
	// at the end of the window; Container only.
	Connections []Connection `json:"connections,omitempty"`
	// BusyCentiseconds and IdleCentiseconds of GV$OSSTAT, summed over CPUs and
	// instances: the machine, not the container.
	BusyCentiseconds *int64   `json:"busyCentiseconds,omitempty"`
	IdleCentiseconds *int64   `json:"idleCentiseconds,omitempty"`
	AWR              []AWRRow `json:"awr,omitempty"` // of the user's own kit
	// InstanceBytes are the bytes read by each instance.
	InstanceBytes map[string]int64 `json:"instanceBytes,omitempty"`
}

// The units of service times.
const (
	UnitMicroseconds = "Microseconds"
	UnitMilliseconds = "Milliseconds"
)

// Calibration is the result of CALIBRATE_IO.
type Calibration struct {
	MaxIOPS                   int64  `json:"maxIOPS"`
	MaxMegabytesPerSecond     int64  `json:"maxMegabytesPerSecond"`
	ActualLatencyMilliseconds int64  `json:"actualLatencyMilliseconds"`
	Seconds                   int64  `json:"seconds,omitempty"`
	AdditionalInfo            string `json:"additionalInfo,omitempty"` // 23ai
}

// OraclePhase is the part of a calibration with reads of one kind, between two readings of the views.
type OraclePhase struct {
	Kind  string    `json:"kind" jsonschema:"enum=SmallReads,enum=LargeReads"`
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
	// Reads of this kind of all datafiles in V$IOSTAT_FILE, and their time; see ServiceTimeUnit.
	Reads    int64   `json:"reads"`
	ReadTime float64 `json:"readTime"`
	// BusyCentiseconds and IdleCentiseconds are as those of the window.
	BusyCentiseconds *int64 `json:"busyCentiseconds,omitempty"`
	IdleCentiseconds *int64 `json:"idleCentiseconds,omitempty"`
}

// OracleEvent is one wait event over all instances.
type OracleEvent struct {
	Name         string `json:"name"`
	Waits        int64  `json:"waits"`
	Microseconds int64  `json:"microseconds"` // TIME_WAITED_MICRO
	// Buckets are from GV$EVENT_HISTOGRAM_MICRO.
	Buckets []LatencyBucket `json:"buckets,omitempty"`
}

// OracleWait is the time that foreground sessions of all instances waited for one event.
type OracleWait struct {
	Name         string `json:"name"`
	Class        string `json:"class,omitempty"` // WAIT_CLASS
	Waits        int64  `json:"waits"`           // TOTAL_WAITS_FG
	Microseconds int64  `json:"microseconds"`    // TIME_WAITED_MICRO_FG
}

// LatencyBucket counts latencies below a bound, and not below the one before.
type LatencyBucket struct {
	BelowMicroseconds int64 `json:"belowMicroseconds"` // exclusive; a power of two
	Count             int64 `json:"count"`
}

// OracleFile is one file of GV$IOSTAT_FILE. Times are as the view has them; see
// OracleWindow.ServiceTimeUnit.
type OracleFile struct {
	Number            int64   `json:"number"` // FILE_NO
	Instance          int32   `json:"instance,omitempty"`
	Type              string  `json:"type"` // Data File, Temp File, ...
	Name              string  `json:"name,omitempty"`
	AccessMethod      string  `json:"accessMethod"` // DNFS_LIB, OS_LIB, ODM_LIB, ASM_MANAGED
	AsynchIO          string  `json:"asynchIO"`     // ASYNC_ON, ASYNC_OFF
	SmallReads        int64   `json:"smallReads"`
	SmallReadTime     float64 `json:"smallReadTime"`
	SmallSyncReads    int64   `json:"smallSyncReads"`
	SmallSyncReadTime float64 `json:"smallSyncReadTime"`
	LargeReads        int64   `json:"largeReads"`
	LargeReadTime     float64 `json:"largeReadTime"`
	SmallReadMegabyte int64   `json:"smallReadMegabytes"` // 2^20
	LargeReadMegabyte int64   `json:"largeReadMegabytes"`
	SmallWrites       int64   `json:"smallWrites"`
	LargeWrites       int64   `json:"largeWrites"`
}

// DirectNFS is what Oracle's own NFS client reports about itself.
type DirectNFS struct {
	Servers  []DNFSServer  `json:"servers,omitempty"`
	Files    []DNFSFile    `json:"files,omitempty"`
	Channels []DNFSChannel `json:"channels,omitempty"`
	// ReadOps, WriteOps, ReadBytes and WriteBytes are sums of GV$DNFS_STATS over
	// all processes. What a process did after it was looked at last is not in them.
	ReadOps    *int64 `json:"readOps,omitempty"`
	WriteOps   *int64 `json:"writeOps,omitempty"`
	ReadBytes  *int64 `json:"readBytes,omitempty"`
	WriteBytes *int64 `json:"writeBytes,omitempty"`
}

// DNFSServer is one row of GV$DNFS_SERVERS.
type DNFSServer struct {
	Instance      int32  `json:"instance,omitempty"`
	Server        string `json:"server"` // SVRNAME: the label of the oranfstab, if it was used
	Export        string `json:"export"` // DIRNAME
	Version       string `json:"version,omitempty"`
	WriteMaxBytes int64  `json:"writeMaxBytes,omitempty"`
	ReadMaxBytes  int64  `json:"readMaxBytes,omitempty"`
}

// DNFSFile is one row of GV$DNFS_FILES.
type DNFSFile struct {
	Name   string `json:"name"`
	Server int64  `json:"server,omitempty"` // SVR_ID
}

// DNFSChannel is one path of one server, over all processes of an instance. Sends and Receives add
// up the increases between readings.
type DNFSChannel struct {
	Instance   int32  `json:"instance,omitempty"`
	Server     string `json:"server"`
	Path       string `json:"path"`
	Local      string `json:"local,omitempty"`
	Processes  int32  `json:"processes"`
	Sends      int64  `json:"sends"`
	Receives   int64  `json:"receives"`
	Reconnects int64  `json:"reconnects"` // SPRECO + DPRECO, or RECO
	// LowPorts is how many of the processes came from a port below 1024.
	LowPorts int32 `json:"lowPorts,omitempty"`
}

// Connection is one end-to-end TCP connection.
type Connection struct {
	Local  string `json:"local"`  // address:port
	Remote string `json:"remote"` // address:port
}

// AWRRow is one line of the wait events in an awr.txt. The roundings are what its figures may be off by; absent =
// nothing.
type AWRRow struct {
	Event           string  `json:"event"`
	Waits           int64   `json:"waits"`
	WaitsRounding   int64   `json:"waitsRounding,omitempty"`
	Seconds         float64 `json:"seconds"` // total
	SecondsRounding float64 `json:"secondsRounding,omitempty"`
}

// MeanSeconds returns the bounds of the mean of a wait; +Inf = no bound.
func (r AWRRow) MeanSeconds() (low, high float64) {
	low = max(r.Seconds-r.SecondsRounding, 0) / float64(r.Waits+r.WaitsRounding)
	return low, (r.Seconds + r.SecondsRounding) / float64(max(r.Waits-r.WaitsRounding, 0))
}

// IsCoarse reports whether the mean of a wait may be off by more than 5 %.
func (r AWRRow) IsCoarse() bool {
	low, high := r.MeanSeconds()
	return !(high-low <= 0.05*(high+low))
}

// Step is the level of load of a repetition, if a run has several.
type Step struct {
	Kind  string `json:"kind" jsonschema:"enum=Users,enum=SmallReads,enum=LargeReads,enum=Calibrate,enum=Rate"`
	Users int32  `json:"users,omitempty"` // sessions, or reads outstanding at once
	// OperationsPerSecond is the requested rate of all clients together; Rate.
	OperationsPerSecond int64 `json:"operationsPerSecond,omitempty"`
	// Round counts how often all steps were gone through, from 1.
	Round int32 `json:"round"`
	// Warmup says that it is not one of those that count.
	Warmup bool `json:"warmup,omitempty"`
}

// The kinds of steps.
const (
	StepUsers      = "Users"      // a number of users of a SLOB load
	StepSmallReads = "SmallReads" // native calibrate: a number of outstanding single-block reads
	StepLargeReads = "LargeReads" // native calibrate: a number of outstanding large reads
	StepCalibrate  = "Calibrate"  // one call of CALIBRATE_IO
	StepRate       = "Rate"       // capacity: operations a second, open loop
)

// The files through which the containers of a pod with a database communicate.
const (
	// DatabaseFile holds a DatabaseState, replaced atomically.
	DatabaseFile = "database.json"
	// DatabaseGenerationFile holds the number of the start, decimal, that the loader asks for. One more than the
	// number of the present start asks for a restart.
	DatabaseGenerationFile = "database-generation"
)

// The states of a database container.
const (
	DatabasePreparing  = "Preparing"  // switching Direct NFS, checking
	DatabaseStarting   = "Starting"   // the image creates or opens the database
	DatabaseReady      = "Ready"      // its health script reports success
	DatabaseRestarting = "Restarting" // requested by DatabaseGenerationFile
	DatabaseStopped    = "Stopped"
	DatabaseFailed     = "Failed" // see Failure
)

// DatabaseState is the state that the container of the database reports.
type DatabaseState struct {
	State string `json:"state"`
	// Generation counts starts; it is 1 when the database is ready for the first time.
	Generation int32            `json:"generation"`
	Failure    *Failure         `json:"failure,omitempty"`
	Library    DirectNFSLibrary `json:"library"`
	Host       DatabaseHost     `json:"host,omitzero"`
	OracleHome string           `json:"oracleHome,omitempty"`
	SID        string           `json:"sid,omitempty"`
	StartedAt  time.Time        `json:"startedAt,omitzero"` // of the container
	ReadyAt    time.Time        `json:"readyAt,omitzero"`   // the first time
}

// The codes of failures of a database.
const (
	FailureDatabaseNotReady  = "DatabaseNotReady"  // not in time
	FailureDatabaseEnded     = "DatabaseEnded"     // its container ended, or lost the connection
	FailurePassword          = "PasswordRefused"   // ORA-01017
	FailurePrivilege         = "PrivilegeMissing"  // ORA-01031
	FailureOracleClient      = "OracleClient"      // DPI-1047: no client library
	FailureOradism           = "OradismNotSetuid"  // Direct NFS cannot start
	FailureDirectNFSMissing  = "DirectNFSMissing"  // the image has no Direct NFS library
	FailureDirectNFSInactive = "DirectNFSInactive" // declared, but the kernel did the I/O
	FailureParameter         = "ParameterRefused"  // an init parameter
	FailureAsyncIO           = "AsyncIOMissing"    // ORA-56708
	FailureTimedStatistics   = "TimedStatistics"   // ORA-56709
	FailureRedo              = "LoadingWritesRedo" // FORCE LOGGING, without consent
	FailureBusy              = "DatabaseBusy"      // another session uses it
	FailureSQL               = "SQLFailed"         // any other ORA-
)
