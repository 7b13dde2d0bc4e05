package measure

import (
	"encoding/json"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
)

// Permille is a share that the spec has a threshold for, in permille. JSON has it in percent, as do the spec, the
// status and the records of suites.
type Permille int32

// MarshalJSON encodes the share in percent.
func (p Permille) MarshalJSON() ([]byte, error) { return json.Marshal(p.Percent()) }

// Percent returns the share in percent.
func (p Permille) Percent() float64 { return float64(p) / 10 }

// Summary is one repetition over all clients.
type Summary struct {
	Repetition int32 `json:"repetition"`
	// Step is the level of load, if a run has several.
	Step                 *runfile.Step `json:"step,omitempty"`
	Clients              int32         `json:"clients"` // those with this repetition
	DurationMilliseconds int64         `json:"durationMilliseconds"`
	Read                 *Direction    `json:"read,omitempty"`
	Write                *Direction    `json:"write,omitempty"`
	Total                Direction     `json:"total"` // both directions, histograms merged
	Paths                []PathShare   `json:"paths,omitempty"`
	// Servers are the NFS servers as the clients saw them, with counters of this repetition;
	// the native engine over NFSv4.
	Servers      []runfile.NFSServer `json:"servers,omitempty"`
	ClientCPU    ClientCPU           `json:"clientCPU"`
	StorageNodes []StorageNode       `json:"storageNodes,omitempty"` // owner first, then where paths end
	StoragePaths []StoragePath       `json:"storagePaths,omitempty"`
	Storage      StorageLoad         `json:"storage"`
	// CollectorCPUPermille is the CPU use of the busiest collector, relative to one core.
	CollectorCPUPermille *int32 `json:"collectorCPUPermille,omitempty"`
	// WakeUps are the wake-ups of the client that woke latest; nil if unknown.
	WakeUps *runfile.WakeUps `json:"wakeUps,omitempty"`
	// OpenLoopP99Microseconds is the 99th percentile of Total under a load of the same mean rate that
	// does not wait for slow operations; nil unless the load is a raw closed loop.
	OpenLoopP99Microseconds *int64 `json:"openLoopP99Microseconds,omitempty"`
	// StalledPermille is the share of the workers' time in operations that took more than ten times
	// the 99th percentile; nil like OpenLoopP99Microseconds.
	StalledPermille *int32 `json:"stalledPermille,omitempty"`
	// Pauses are the times in which a client or a path had no answer. LongestPauseMicroseconds is the longest pause of a
	// client, and 0 if none is long enough to be listed; in the summary of a run, the longest of all repetitions. Nil if
	// unknown: a database reports no pauses.
	Pauses                   []Pause        `json:"pauses,omitempty"`
	LongestPauseMicroseconds *int64         `json:"longestPauseMicroseconds,omitempty"`
	Steadiness               SteadinessFact `json:"steadiness"`
	// EdgeMilliseconds is the delay of the client whose counters were read latest.
	EdgeMilliseconds int64     `json:"-"`
	WirePermille     *Permille `json:"wirePercent,omitempty"` // of the busier direction: links are full duplex
}

// Direction holds the counts for reads, for writes, or for both.
type Direction struct {
	Ops                 int64          `json:"ops"`
	Bytes               int64          `json:"bytes"`
	Errors              int64          `json:"errors,omitempty"`
	BytesPerSecond      int64          `json:"bytesPerSecond"`
	OperationsPerSecond int64          `json:"operationsPerSecond"`
	Latency             *stats.Latency `json:"latency,omitempty"`
	Intervals           Intervals      `json:"intervals,omitzero"` // of 95 %
	WirePermille        *Permille      `json:"wirePercent,omitempty"`
	// ByteRate and OperationRate are BytesPerSecond and OperationsPerSecond, not rounded.
	ByteRate      float64 `json:"-"`
	OperationRate float64 `json:"-"`
	histograms    []string
	batches       [][]runfile.Batch // of each client
	buckets       []stats.Bucket
	latencySum    int64 // microseconds, of what the buckets count
}

// PathShare is the load of one path, over all clients that use it.
type PathShare struct {
	Local          string `json:"local,omitempty"`
	Path           string `json:"path"`
	State          string `json:"state"` // Up, Down: state for the worst client; Missing: declared but never connected
	BytesRead      int64  `json:"bytesRead"`
	BytesWritten   int64  `json:"bytesWritten"`
	BytesPerSecond int64  `json:"bytesPerSecond"`
	SharePermille  int32  `json:"sharePermille"` // of the bytes of all paths, or else of their calls
	// Calls counts the calls and replies of a database's path, for which no bytes are counted.
	Calls      int64 `json:"calls,omitempty"`
	Reconnects int64 `json:"reconnects,omitempty"`
	// DownMilliseconds is how long the path was unavailable; of several clients, the longest time.
	DownMilliseconds int64 `json:"downMilliseconds,omitempty"`
	Retransmits      int64 `json:"retransmits,omitempty"`
	Replies          int64 `json:"replies,omitempty"` // of all kinds of calls
	// Role is DataServer if a pNFS layout opened the path. LIF and Node are the end of the path, from a survey of the
	// array.
	Role bench.PathRole `json:"role,omitempty"`
	LIF  string         `json:"lif,omitempty"`
	Node string         `json:"node,omitempty"`
}

// Bytes returns the bytes of both directions.
func (p PathShare) Bytes() int64 { return p.BytesRead + p.BytesWritten }

// Carried reports whether the path was used.
func (p PathShare) Carried() bool { return p.Bytes() > 0 || p.Calls > 0 }

// ClientCPU is the CPU use of the clients.
type ClientCPU struct {
	Millicores            int64  `json:"millicores"`                      // of all loaders together
	MicrosecondsPerMiB    *int64 `json:"microsecondsPerMiB,omitempty"`    // of the machines above idle, for each 2^20 bytes moved
	AboveIdlePermille     *int32 `json:"aboveIdlePermille,omitempty"`     // of all CPUs of the machine with the largest share above idle
	BusiestNodePermille   *int32 `json:"busiestNodePermille,omitempty"`   // of all CPUs of the busiest machine
	BusiestLimitPermille  *int32 `json:"busiestLimitPermille,omitempty"`  // of the CPU limit of the client nearest to it
	DatabaseLimitPermille *int32 `json:"databaseLimitPermille,omitempty"` // of the cores that the database can use at most
	WorstThrottlePermille *int32 `json:"worstThrottlePermille,omitempty"` // of the window, throttled by the limit
	// CeilingPerSecond is the number of operations per second that all clients together reach at least without storage.
	CeilingPerSecond *int64 `json:"ceilingPerSecond,omitempty"`
}

// StorageNode is the CPU use of one storage node. A node that does not own the
// volume forwards the I/O of the paths that end on it.
type StorageNode struct {
	Source              string `json:"source"`
	Name                string `json:"name"`
	Owner               bool   `json:"owner,omitempty"` // of the volume
	Entry               bool   `json:"entry,omitempty"` // a path in use ends here
	CPUPermille         *int32 `json:"cpuPermille,omitempty"`
	BaselineCPUPermille *int32 `json:"baselineCPUPermille,omitempty"` // in the idle baseline before the repetition
}

// StoragePath holds the storage's counters of one of its addresses, for all clients.
type StoragePath struct {
	Source     string `json:"source"`
	Address    string `json:"address"`
	LIF        string `json:"lif,omitempty"`
	Node       string `json:"node,omitempty"`
	Local      *bool  `json:"local,omitempty"` // on the node that owns the volume
	ReadBytes  *int64 `json:"readBytes,omitempty"`
	WriteBytes *int64 `json:"writeBytes,omitempty"`
}

// StorageLoad is the load as the storage counted it.
type StorageLoad struct {
	OperationsPerSecond *int64 `json:"operationsPerSecond,omitempty"` // reads and writes
	BytesPerSecond      *int64 `json:"bytesPerSecond,omitempty"`
	// MeanLatencyMicroseconds is the latency of one operation in LatencyLayer.
	MeanLatencyMicroseconds *int64 `json:"meanLatencyMicroseconds,omitempty"`
	LatencyLayer            string `json:"latencyLayer,omitempty"` // LayerVolume, LayerProtocol; empty = unknown
}

// The layers in which storage measures latency.
const (
	// LayerVolume is ONTAP's file system. It divides an operation of NFS into parallel ones of at most 64 KiB,
	// and does not see the NFS service, the network of the cluster, or the limits of QoS policies.
	LayerVolume   = "Volume"
	LayerProtocol = "Protocol" // the NFS service
)

// SteadinessFact describes how much throughput and latency varied in a
// repetition. Known is false if there are too few samples.
type SteadinessFact struct {
	Known                    bool  `json:"known"`
	Steady                   bool  `json:"steady"`
	DeviationPermille        int32 `json:"deviationPermille"`
	DriftPermille            int32 `json:"driftPermille"`
	LatencyDeviationPermille int32 `json:"latencyDeviationPermille"`
	LatencyDriftPermille     int32 `json:"latencyDriftPermille"`
	// StepPermille and LatencyStepPermille are changes of level at some second, relative to the
	// mean; 0 = none that stands out from the noise.
	StepPermille        int32 `json:"stepPermille,omitempty"`
	LatencyStepPermille int32 `json:"latencyStepPermille,omitempty"`
}

// SeriesPoint is one interval of all clients together.
type SeriesPoint struct {
	Second              float64 `json:"second"` // since the repetition's start, end of the interval
	ReadBytesPerSecond  int64   `json:"readBytesPerSecond"`
	WriteBytesPerSecond int64   `json:"writeBytesPerSecond"`
}

// StepSummary is one level of load: its median repetition over the rounds.
type StepSummary struct {
	Kind    string  `json:"kind"`            // runfile.StepUsers, ...
	Users   int32   `json:"users,omitempty"` // sessions, or reads outstanding at once
	Summary Summary `json:"summary"`
	// Rounds are the repetitions of the level, of which Summary is the median.
	Rounds []Summary `json:"-"`
	// Knee reports that more users increase the latency and hardly the throughput.
	Knee bool `json:"knee,omitempty"`
	// WirePermille is the share of the wire limit; nil if unknown.
	WirePermille *Permille `json:"wirePercent,omitempty"`
}

// CalibrationSummary is one run of CALIBRATE_IO, or of the native engine's equivalent.
type CalibrationSummary struct {
	Warmup bool `json:"warmup,omitempty"` // not counted
	// MaxIOPS is the number of random single-block reads per second within the allowed latency.
	MaxIOPS *int64 `json:"maxIOPS,omitempty"`
	// MaxMegabytesPerSecond is the throughput of large random reads, in units of 10^6 bytes. Oracle does not define the
	// megabyte of max_mbps; this assumes the smaller unit, which claims less.
	MaxMegabytesPerSecond *int64 `json:"maxMegabytesPerSecond,omitempty"`
	// ActualLatencyMilliseconds is the latency at MaxIOPS in whole milliseconds, like Oracle's.
	ActualLatencyMilliseconds *int64 `json:"actualLatencyMilliseconds,omitempty"`
	// Phases are the phases with small and with large reads, or one for the whole call.
	Phases []CalibrationPhase `json:"phases,omitempty"`
}

// DatabaseSummary is the database's report on the repetition of the summary.
type DatabaseSummary struct {
	Files    []DatabaseFile        `json:"files,omitempty"`    // data files that were read
	Servers  []runfile.DNFSServer  `json:"servers,omitempty"`  // over all measured windows
	Channels []runfile.DNFSChannel `json:"channels,omitempty"` // summed over all measured windows
	Waits    []DatabaseWait        `json:"waits,omitempty"`    // the longest waits of sessions, without idle waits
}

// DatabaseWait is the time that foreground sessions waited for one event.
type DatabaseWait struct {
	Name             string `json:"name"`
	Class            string `json:"class,omitempty"`
	Waits            int64  `json:"waits"`
	Microseconds     int64  `json:"microseconds"`
	MeanMicroseconds *int64 `json:"meanMicroseconds,omitempty"`
	// Permille is the share of the sessions' wait time, without idle waits.
	Permille *int32 `json:"permille,omitempty"`
}

// DatabaseFile is one data file of V$IOSTAT_FILE. Nanoseconds, because the
// averages are fractions of microseconds.
type DatabaseFile struct {
	Number                   int64  `json:"number"` // FILE_NO
	AccessMethod             string `json:"accessMethod,omitempty"`
	SmallReads               *int64 `json:"smallReads,omitempty"`
	SmallReadNanoseconds     *int64 `json:"smallReadNanoseconds,omitempty"`
	SmallSyncReadNanoseconds *int64 `json:"smallSyncReadNanoseconds,omitempty"`
}
