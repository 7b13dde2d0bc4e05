package judge

import "github.com/nfsbench/nfsbench/internal/runfile"

// The engines.
const (
	EngineNative = "Native" // our own I/O
	EngineOracle = "Oracle" // SQL in a database
)

// StepSummary is one level of load: its median repetition over the rounds.
type StepSummary struct {
	Kind    string  `json:"kind"`            // runfile.StepUsers, ...
	Users   int32   `json:"users,omitempty"` // sessions, or reads outstanding at once
	Summary Summary `json:"summary"`
	// WirePermille is the share of the wire limit; nil when that is not known.
	WirePermille *int32 `json:"wirePermille,omitempty"`
	// Knee: more users than these gave latency and hardly throughput.
	Knee bool `json:"knee,omitempty"`
}

// CalibrationSummary is one run of CALIBRATE_IO, or of what the native engine
// does in its place.
type CalibrationSummary struct {
	Warmup bool `json:"warmup,omitempty"` // not counted
	// MaxIOPS are random single-block reads a second within the latency allowed.
	MaxIOPS *int64 `json:"maxIOPS,omitempty"`
	// MaxMegabytesPerSecond of large random reads, 10^6 bytes. Oracle does not say
	// of which megabytes its max_mbps is; this takes the smaller, which claims less.
	MaxMegabytesPerSecond *int64 `json:"maxMegabytesPerSecond,omitempty"`
	// ActualLatencyMilliseconds at MaxIOPS, whole milliseconds as Oracle's.
	ActualLatencyMilliseconds *int64 `json:"actualLatencyMilliseconds,omitempty"`
}

// DatabaseSummary is what the database reports about the repetition of the summary.
type DatabaseSummary struct {
	Files    []DatabaseFile        `json:"files,omitempty"`    // data files that were read
	Servers  []runfile.DNFSServer  `json:"servers,omitempty"`  // over all measured windows
	Channels []runfile.DNFSChannel `json:"channels,omitempty"` // summed over all measured windows
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
