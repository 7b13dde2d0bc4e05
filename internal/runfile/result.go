package runfile

import (
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
)

// ResultVersion is the version that every result file names.
const ResultVersion = "nfsbench.io/result/v1"

// Result is what one run gave: the plan, and what each client did and saw.
// A run with several clients is the list of their results; nothing is averaged
// on the way, so every number can be computed again from here.
type Result struct {
	Version   string         `json:"version" jsonschema:"enum=nfsbench.io/result/v1"`
	Plan      Plan           `json:"plan"`
	Simulated bool           `json:"simulated,omitempty"` // a stand-in took part; not a measurement of real storage
	Clients   []ClientResult `json:"clients"`
}

// ClientResult is what one client did (Load) and saw (Observed).
type ClientResult struct {
	Index    int32     `json:"index"`
	Host     Host      `json:"host"`
	Load     Load      `json:"load"`
	Observed *Observed `json:"observed,omitempty"`
}

// Host describes the machine or pod of a client.
type Host struct {
	Name        string   `json:"name"`           // of the pod or machine
	Node        string   `json:"node,omitempty"` // Kubernetes node
	Kernel      string   `json:"kernel,omitempty"`
	CPUs        int32    `json:"cpus,omitempty"`
	CPULimit    *float64 `json:"cpuLimit,omitempty"` // cores that the cgroup allows; absent = no limit
	MemoryBytes int64    `json:"memoryBytes,omitempty"`
	// NUMANodes are the memory nodes of the machine.
	NUMANodes int32 `json:"numaNodes,omitempty"`
	// TCPSlots is sunrpc.tcp_max_slot_table_entries: how many requests the kernel's NFS
	// client keeps outstanding on one connection at most. Absent where it is not loaded.
	TCPSlots int64  `json:"tcpSlots,omitempty"`
	Version  string `json:"version,omitempty"` // of nfsbench
}

// Load is what the loader did. Partial is true until the loader has ended as planned; the contents
// then cover the time up to that moment.
type Load struct {
	Partial      bool          `json:"partial,omitempty"`
	Failure      *Failure      `json:"failure,omitempty"`
	LoopMode     string        `json:"loopMode,omitempty" jsonschema:"enum=closed,enum=open"`
	Spans        []Span        `json:"spans,omitempty"`
	Repetitions  []Repetition  `json:"repetitions,omitempty"`
	Samples      []LoadSample  `json:"samples,omitempty"` // every second, warm-up included
	Verification *Verification `json:"verification,omitempty"`
	Mount        *MountFacts   `json:"mount,omitempty"`
	FilledBytes  int64         `json:"filledBytes,omitempty"`
	// CeilingPerSecond is how many operations a second, of the load's largest step, this client does at least while
	// nothing but itself limits it: before the load, it does them for 0.4 s with threads of its own process that answer
	// over the loopback. Absent where that was not measured.
	CeilingPerSecond *int64  `json:"ceilingPerSecond,omitempty"`
	Oracle           *Oracle `json:"oracle,omitempty"` // the database, where there is one
	// FilesLeft says that the loader tried to remove its files and could not.
	FilesLeft bool `json:"filesLeft,omitempty"`
	// SampleSeconds is the distance of the samples; larger than 1 when they
	// were thinned out to fit where the result is kept.
	SampleSeconds int32 `json:"sampleSeconds,omitempty"`
}

// The codes of a Failure. They are stable: conditions and findings use them.
const (
	FailureInvalidPlan   = "InvalidPlan"
	FailureUnreachable   = "ServerUnreachable"  // no path answered in time
	FailureAccessDenied  = "AccessDenied"       // the export policy refuses this client, or permissions do
	FailureNoSuchExport  = "NoSuchExport"       // the server has no such export
	FailureNotNFS        = "NotNFS"             // the mounted volume is not NFS
	FailureForeignFiles  = "ForeignFiles"       // files without our marker are in the way
	FailureVolumeInUse   = "VolumeInUse"        // another database runs on the volume
	FailureNoSpace       = "NoSpace"            // the export is full
	FailureIO            = "IOError"            // an I/O failed while the load ran
	FailureVerify        = "VerificationFailed" // what was read is not what was written
	FailureProtocol      = "ProtocolError"      // the server's replies make no sense
	FailureTimeout       = "Timeout"
	FailureCancelled     = "Cancelled"
	FailureLoaderCrashed = "LoaderCrashed" // the loader ended without a final event
	FailureUnsupported   = "Unsupported"   // this system cannot do what the plan asks
	FailureInternal      = "InternalError"
)

// Failure says why a load did not end as planned.
type Failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`         // one sentence: what, where, and what to do
	Cause   string `json:"cause,omitempty"` // what the server or the system said
}

// String returns the sentence with the cause.
func (f Failure) String() string {
	if f.Cause == "" {
		return f.Message
	}
	return f.Message + ": " + f.Cause
}

// The kinds of Span, in the order in which a run goes through them.
const (
	SpanConnect  = "Connect"
	SpanFill     = "Fill"
	SpanWait     = "Wait" // for the other clients
	SpanBaseline = "Baseline"
	SpanWarmup   = "Warmup"
	SpanMeasure  = "Measure"
	SpanCooldown = "Cooldown"
	SpanVerify   = "Verify"
	SpanClean    = "Clean"
	SpanDone     = "Done"
)

// SpanKinds returns all kinds of Span.
func SpanKinds() []string {
	return []string{
		SpanConnect, SpanFill, SpanWait, SpanBaseline, SpanWarmup, SpanMeasure, SpanCooldown, SpanVerify, SpanClean, SpanDone,
	}
}

// Span is one part of the run on the client's clock. An open span has no End.
type Span struct {
	Kind       string    `json:"kind"`
	Repetition int32     `json:"repetition,omitempty"` // from 1; 0 where it has no meaning
	Start      time.Time `json:"start"`
	End        time.Time `json:"end,omitzero"`
}

// Repetition is one measured window of one client.
type Repetition struct {
	Index    int32     `json:"index"` // from 1
	Start    time.Time `json:"start"`
	End      time.Time `json:"end"`
	Read     *Ops      `json:"read,omitempty"`
	Write    *Ops      `json:"write,omitempty"`
	Channels []Channel `json:"channels,omitempty"` // counted over this window only; DirectNFS
	// Servers are the NFS servers that the channels lead to, with counters over this window
	// only; DirectNFS over NFSv4.
	Servers []NFSServer `json:"servers,omitempty"`
	// FirstDoneNanoseconds and LastDoneNanoseconds are when the first and the
	// last job ended its window, from Start (stonewalling).
	FirstDoneNanoseconds int64 `json:"firstDoneNanoseconds,omitempty"`
	LastDoneNanoseconds  int64 `json:"lastDoneNanoseconds,omitempty"`
	LateOps              int64 `json:"lateOps,omitempty"`    // started after they were due; open loop
	DroppedOps           int64 `json:"droppedOps,omitempty"` // due but never started; open loop
	// EdgeMilliseconds is the delay of the readings of channel and server counters after Start and
	// End, both together. It exceeds a few milliseconds if the loader had to wait for a processor.
	EdgeMilliseconds int64 `json:"edgeMilliseconds,omitempty"`
	CPUMicroseconds  int64 `json:"cpuMicroseconds"` // user and system time of the loader process
	// WakeUps say how late this client woke. Absent where a database makes the load.
	WakeUps *WakeUps `json:"wakeUps,omitempty"`
	// Step is the level of load, where a run has several. Index counts on over
	// all steps and rounds.
	Step *Step `json:"step,omitempty"`
	// Level is the report on this window for the search for capacity; steps of kind Rate.
	Level *LevelReport `json:"level,omitempty"`
	// Pauses are when nothing was answered. Absent where a database carries the load.
	Pauses          *Pauses       `json:"pauses,omitempty"`
	Oracle          *OracleWindow `json:"oracle,omitempty"` // what the database counted
	PeakMemoryBytes int64         `json:"peakMemoryBytes,omitempty"`
}

// MaxPauses bounds the lists of Pauses; the longest stay.
const MaxPauses = 16

// Pauses are the times in a window in which a client had no answer.
type Pauses struct {
	LeastMilliseconds int64 `json:"leastMilliseconds"` // shorter ones are not listed
	// Client are the times without any answer in which at least one operation waited for one.
	Client []Pause `json:"client,omitempty"`
	// Paths are the same for the operations of one path. Those that another path took over count there.
	Paths []PathPause `json:"paths,omitempty"`
}

// Pause is a time without an answer.
type Pause struct {
	StartMilliseconds int64 `json:"startMilliseconds"` // from Start of the repetition
	Milliseconds      int64 `json:"milliseconds"`
}

// PathPause is a pause of one path.
type PathPause struct {
	Path string `json:"path"` // in words
	Pause
}

// Ops holds the counts of one direction in one window.
type Ops struct {
	Count  int64 `json:"count"`
	Bytes  int64 `json:"bytes"`
	Errors int64 `json:"errors"`
	// Histogram is an HdrHistogram V2 compressed encoding, base64, of
	// latencies in microseconds. Histograms are merged, percentiles are not.
	// Empty where latencies come in Buckets. It includes operations that failed, and
	// those not answered at the end: of an open loop all, of a closed one those that
	// had waited for longer than all others took.
	Histogram string `json:"histogram,omitempty"`
	// Buckets are latencies as the database counts them, and TotalMicroseconds
	// all of them added up.
	Buckets           []LatencyBucket `json:"buckets,omitempty"`
	TotalMicroseconds int64           `json:"totalMicroseconds,omitempty"`
	// Batches divide the window into at most MaxBatches parts of equal length; the last may be shorter. With
	// them, an interval for a percentile can account for autocorrelation. Absent if latencies come in Buckets.
	Batches []Batch `json:"batches,omitempty"`
}

// MaxBatches bounds Ops.Batches.
const MaxBatches = 32

// Batch is one part of a window.
type Batch struct {
	Milliseconds int64 `json:"milliseconds"`
	Count        int64 `json:"count"`
	// Latencies are the latencies of the batch, at a coarse resolution: pairs BUCKET:COUNT, ascending
	// and separated by spaces. Bucket b has the latencies up to 2^(b/16) microseconds. The first
	// bucket has the lower half of all operations.
	Latencies string `json:"latencies,omitempty"`
}

// Channel is one oranfstab channel: a local/path pair and its connection.
type Channel struct {
	ID           int32  `json:"id"`
	Local        string `json:"local,omitempty"` // the address really used
	Path         string `json:"path"`
	State        string `json:"state" jsonschema:"enum=Up,enum=Down"`
	Sends        int64  `json:"sends"`
	Receives     int64  `json:"receives"`
	BytesRead    int64  `json:"bytesRead"`
	BytesWritten int64  `json:"bytesWritten"`
	Reconnects   int64  `json:"reconnects"`
	// Retransmits are the calls whose connection here was lost before the answer, and that were then sent again, here
	// or elsewhere. The server may have executed both.
	Retransmits int64 `json:"retransmits"`
	// DownMilliseconds is how long the channel was not usable in the window.
	DownMilliseconds int64 `json:"downMilliseconds,omitempty"`
	// Losses are the connections that ended without an answer, the last MaxLosses, in the order of time.
	Losses []ChannelLoss `json:"losses,omitempty"`
	// Server is the ID of the NFSServer that the channel leads to; NFSv4.
	Server int32 `json:"server,omitempty"`
	// Role is DataServer where a pNFS layout opened the channel, and not the plan.
	Role bench.PathRole `json:"role,omitempty" jsonschema:"enum=DataServer"`
}

// MaxLosses bounds Channel.Losses.
const MaxLosses = 16

// ChannelLoss is the time from the last answer on one connection of a channel to the first one on the next. The
// times count from Start; absent = not until the counters were read.
type ChannelLoss struct {
	Start                 time.Time `json:"start"`               // the last answer
	NoticedMilliseconds   int64     `json:"noticedMilliseconds"` // the client gave the connection up
	ConnectedMilliseconds *int64    `json:"connectedMilliseconds,omitempty"`
	AnsweredMilliseconds  *int64    `json:"answeredMilliseconds,omitempty"`
}

// Answered returns the time of the first answer after the loss, or false without an answer.
func (l ChannelLoss) Answered() (at time.Time, over bool) {
	if l.AnsweredMilliseconds == nil {
		return time.Time{}, false
	}
	return l.Start.Add(time.Duration(*l.AnsweredMilliseconds) * time.Millisecond), true
}

// LayoutTypeFiles is the LayoutType that this client supports, RFC 8881 13.
const LayoutTypeFiles = "Files"

// The limits for a server's description of itself. RFC 8881 allows owners and scopes of 1,024
// bytes, and a device may name any number of data servers.
const (
	MaxServers         = 64
	MaxServerNameBytes = 128
)

// NFSServer is one NFS server as the client saw it, like Oracle's V$DNFS_SERVERS. Only NFSv4 has
// them. The counters begin when the target is opened; in a Repetition, they cover its window.
type NFSServer struct {
	ID   int32          `json:"id"` // from 1
	Role bench.PathRole `json:"role" jsonschema:"enum=Metadata,enum=DataServer"`
	// NFSVersion is the version that the server's replies show: NFSv4.0 or NFSv4.1.
	NFSVersion string   `json:"nfsVersion"`
	Addresses  []string `json:"addresses,omitempty"` // of its channels
	// Owner, OwnerMinor and Scope are so_major_id, so_minor_id and eir_server_scope of
	// RFC 8881; see ServerName. NFSv4.1.
	Owner      string `json:"owner,omitempty"`
	OwnerMinor string `json:"ownerMinor,omitempty"` // decimal
	Scope      string `json:"scope,omitempty"`
	// Trunking says how several paths are joined; empty with one path.
	Trunking     bench.Trunking `json:"trunking,omitempty" jsonschema:"enum=Session,enum=ClientID,enum=Separate"`
	Slots        int32          `json:"slots,omitempty"`       // of each session, as the server granted; NFSv4.1
	SlotsAsked   int32          `json:"slotsAsked,omitempty"`  // for each session
	Sessions     int32          `json:"sessions,omitempty"`    // one for each job, and one for what is no I/O of a job
	SlotsUsed    int32          `json:"slotsUsed,omitempty"`   // the most slots of a session that had I/O of a job
	SlotsWanted  int32          `json:"slotsWanted,omitempty"` // the fewest slots of a session that the server wanted used (sr_target_highest_slotid); absent = all
	LeaseSeconds int32          `json:"leaseSeconds,omitempty"`
	// LayoutType is Files, the name of a type that this client does not speak, or empty
	// where the server offers none.
	LayoutType string `json:"layoutType,omitempty"`

	// SlotRequests are the READs and WRITEs of jobs, SlotWaits those of them that waited for a free slot, and
	// SlotWaitMilliseconds is how long, added up.
	SlotRequests         int64 `json:"slotRequests,omitempty"`
	SlotWaits            int64 `json:"slotWaits,omitempty"`
	SlotWaitMilliseconds int64 `json:"slotWaitMilliseconds,omitempty"`
	// Recoveries counts how many times state (session, client ID, opens) was made again,
	// and RecoveryMilliseconds is how long I/O waited for that.
	Recoveries           int64 `json:"recoveries,omitempty"`
	RecoveryMilliseconds int64 `json:"recoveryMilliseconds,omitempty"`
	Callbacks            int64 `json:"callbacks,omitempty"` // calls of the server on the back channel
	// The counters of layouts are those of the metadata server. Fallbacks are the I/Os that went
	// through the metadata server although pNFS was declared.
	LayoutsGranted      int64 `json:"layoutsGranted,omitempty"`
	LayoutsRecalled     int64 `json:"layoutsRecalled,omitempty"`
	LayoutFallbacks     int64 `json:"layoutFallbacks,omitempty"`
	LayoutFallbackBytes int64 `json:"layoutFallbackBytes,omitempty"`
}

// Since returns s with the differences of its counters to those of before.
func (s NFSServer) Since(before NFSServer) NFSServer {
	s.SlotRequests -= before.SlotRequests
	s.SlotWaits -= before.SlotWaits
	s.SlotWaitMilliseconds -= before.SlotWaitMilliseconds
	s.Recoveries -= before.Recoveries
	s.RecoveryMilliseconds -= before.RecoveryMilliseconds
	s.Callbacks -= before.Callbacks
	s.LayoutsGranted -= before.LayoutsGranted
	s.LayoutsRecalled -= before.LayoutsRecalled
	s.LayoutFallbacks -= before.LayoutFallbacks
	s.LayoutFallbackBytes -= before.LayoutFallbackBytes
	return s
}

// ServerName returns the text of an owner or a scope, which may be any bytes: unchanged if they are printable
// ASCII, otherwise in hexadecimal. It has at most MaxServerNameBytes bytes.
func ServerName(opaque []byte) string {
	printable := !slices.ContainsFunc(opaque, func(b byte) bool { return b < ' ' || b > '~' })
	if printable {
		return string(opaque[:min(len(opaque), MaxServerNameBytes)])
	}
	return hex.EncodeToString(opaque[:min(len(opaque), MaxServerNameBytes/2)])
}

// LoadSample is one second of load.
type LoadSample struct {
	Time       time.Time   `json:"time"` // end of the second
	Span       string      `json:"span"` // Warmup or Measure
	Repetition int32       `json:"repetition"`
	Read       *SampleOps  `json:"read,omitempty"`
	Write      *SampleOps  `json:"write,omitempty"`
	Channels   []PathBytes `json:"channels,omitempty"`
}

// SampleOps holds the counts of one direction in one second.
type SampleOps struct {
	Count            int64 `json:"count"`
	Bytes            int64 `json:"bytes"`
	Errors           int64 `json:"errors,omitempty"`
	MeanMicroseconds int64 `json:"meanMicroseconds"`
	P50Microseconds  int64 `json:"p50Microseconds"`
	P99Microseconds  int64 `json:"p99Microseconds"`
	MaxMicroseconds  int64 `json:"maxMicroseconds"`
}

// PathBytes is the traffic of one channel in one second.
type PathBytes struct {
	ID           int32 `json:"id"`
	BytesRead    int64 `json:"bytesRead"`
	BytesWritten int64 `json:"bytesWritten"`
}

// MountFacts is what the client found when it reached the files.
type MountFacts struct {
	FilesystemType string   `json:"filesystemType,omitempty"` // nfs, nfs4, ext4...; Kernel
	Source         string   `json:"source,omitempty"`
	Options        []string `json:"options,omitempty"` // in effect, from /proc/self/mountinfo; Kernel
	NFSVersion     string   `json:"nfsVersion,omitempty"`
	ReadSizeBytes  int64    `json:"readSizeBytes,omitempty"`  // largest READ in use
	WriteSizeBytes int64    `json:"writeSizeBytes,omitempty"` // largest WRITE in use
	TotalBytes     int64    `json:"totalBytes,omitempty"`     // of the file system
	FreeBytes      int64    `json:"freeBytes,omitempty"`
	DirectIO       bool     `json:"directIO"` // the page cache of this client is not used
	// Servers are the NFS servers when the files were reached; DirectNFS over NFSv4.
	Servers []NFSServer `json:"servers,omitempty"`
	// Paths are those over which a connection could be made before the run; DirectNFS.
	Paths []PathFacts `json:"paths,omitempty"`
}

// PathFacts is what one large call before the run showed of a path.
type PathFacts struct {
	Local        string `json:"local,omitempty"` // where the plan has it, or an interface
	Path         string `json:"path"`
	MTUBytes     int32  `json:"mtuBytes,omitempty"`     // of the path, as the kernel of the client knows it
	SegmentBytes int32  `json:"segmentBytes,omitempty"` // of data in one segment of TCP
	LargeCall    string `json:"largeCall" jsonschema:"enum=Acknowledged,enum=Lost,enum=Unknown"`
}

// The files that loader and collector share in the run directory of a pod.
const (
	EventsFile  = "events.jsonl" // loader: one Event a line, appended
	LoadFile    = "load.json"    // loader: Load, replaced atomically, last time when it ends
	ReleaseFile = "release"      // collector: appears when all clients may start
)

// Event is one line of progress, for terminals, logs and the collector.
type Event struct {
	Time       time.Time `json:"time"`
	Span       string    `json:"span"`
	Repetition int32     `json:"repetition,omitempty"`
	Percent    int32     `json:"percent"`              // of the whole run, fill included
	ETASeconds *int64    `json:"etaSeconds,omitempty"` // absent while it cannot be known
	// BytesPerSecond and OpsPerSecond are the rates of the last second.
	BytesPerSecond int64  `json:"bytesPerSecond,omitempty"`
	OpsPerSecond   int64  `json:"opsPerSecond,omitempty"`
	Message        string `json:"message,omitempty"`
}

// Progress is the state of one running client, which the collector publishes.
type Progress struct {
	Event
	Ready  bool `json:"ready,omitempty"`  // filled and waiting for the other clients
	Final  bool `json:"final,omitempty"`  // the result beside it is the last one
	Failed bool `json:"failed,omitempty"` // the load ended with a failure
	// Level is the last level that the client measured in a search for capacity.
	Level *LevelReport `json:"level,omitempty"`
}

// KeyRelease is the key of a run's ConfigMap that appears when all clients are ready. The
// same ConfigMap carries the progress and the results of the clients.
const KeyRelease = "release"

// ProgressKey is the ConfigMap key of one client's Progress.
func ProgressKey(index int32) string { return fmt.Sprintf("client-%d.progress.json", index) }

// ResultKey is the key, in binaryData, of a Result with one client, gzip.
func ResultKey(index int32) string { return fmt.Sprintf("client-%d.result.json.gz", index) }
