package bench

import "k8s.io/apimachinery/pkg/api/resource"

// Workload is the load: exactly one of its members.
//
// +kubebuilder:validation:XValidation:rule="[has(self.raw), has(self.calibrate), has(self.slob)].filter(x, x).size() == 1",message="give exactly one of workload.raw, workload.calibrate and workload.slob"
type Workload struct {
	// calibrate measures IOPS within a latency, and throughput, as Oracle's
	// CALIBRATE_IO does.
	// +optional
	Calibrate *CalibrateWorkload `json:"calibrate,omitempty"`
	// slob is a load of many users on schemas of the SLOB model.
	// +optional
	SLOB *SLOBWorkload `json:"slob,omitempty"`
	// raw is a load without a database.
	// +optional
	Raw *RawWorkload `json:"raw,omitempty"`
}

// RawWorkload reads or overwrites files of its own with direct I/O.
//
// +kubebuilder:validation:XValidation:rule="quantity(string(self.fileSize)).asInteger() >= (has(self.blockSize) ? quantity(string(self.blockSize)).asInteger() : self.pattern.startsWith('Random') ? 8192 : 1048576)",message="workload.raw.fileSize is smaller than blockSize: make the file at least one block"
// +kubebuilder:validation:XValidation:rule="(has(self.blockSize) ? quantity(string(self.blockSize)).asInteger() : self.pattern.startsWith('Random') ? 8192 : 1048576) < 1 || quantity(string(self.fileSize)).asInteger() % (has(self.blockSize) ? quantity(string(self.blockSize)).asInteger() : self.pattern.startsWith('Random') ? 8192 : 1048576) == 0",message="workload.raw.fileSize must be a multiple of blockSize"
// +kubebuilder:validation:XValidation:rule="self.jobs * self.depth * (has(self.blockSize) ? quantity(string(self.blockSize)).asInteger() : self.pattern.startsWith('Random') ? 8192 : 1048576) <= 17179869184",message="workload.raw.jobs x depth x blockSize is more than 16Gi of buffers in each client: lower one of them"
// +kubebuilder:validation:XValidation:rule="!(self.pattern in ['Mixed', 'RandomMixed']) || has(self.readPercent)",message="workload.raw.pattern Mixed and RandomMixed read and write: give workload.raw.readPercent, such as 70"
// +kubebuilder:validation:XValidation:rule="self.pattern in ['Mixed', 'RandomMixed'] || !has(self.readPercent)",message="workload.raw.readPercent is for the patterns Mixed and RandomMixed: leave it out, or choose one of them"
// +kubebuilder:validation:XValidation:rule="!has(self.capacity) || !has(self.operationsPerSecond)",message="workload.raw.capacity finds the rate by itself: leave out workload.raw.operationsPerSecond"
// +kubebuilder:validation:XValidation:rule="!has(self.capacity) || self.pattern != 'Copy'",message="workload.raw.capacity needs operations of one size that start by a schedule, which Copy does not make: choose RandomMixed or another pattern"
type RawWorkload struct {
	// pattern of the load. Read and Overwrite go through the file in order,
	// RandomRead and RandomWrite choose aligned offsets, Copy reads one file
	// and overwrites another. Mixed and RandomMixed do readPercent of reads among
	// overwrites, in order and at aligned offsets. Writes never grow a file.
	// +required
	Pattern RawPattern `json:"pattern"`
	// readPercent of the I/Os of Mixed and RandomMixed are reads.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=99
	ReadPercent *int32 `json:"readPercent,omitempty"`
	// blockSize of one I/O. It defaults to 8Ki for RandomRead, RandomWrite and
	// RandomMixed, a block of a database, and to 1Mi otherwise, as scans read.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isInteger() && quantity(string(self)).asInteger() in [512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144, 524288, 1048576, 2097152, 4194304, 8388608, 16777216]",message="workload.raw.blockSize must be a power of two from 512 to 16Mi, such as 8Ki or 1Mi: direct I/O is aligned"
	BlockSize *resource.Quantity `json:"blockSize,omitempty"`
	// fileSize of each job, such as 64Gi. Make all files together larger than the caches
	// that should not answer.
	// +optional
	// +default="1Gi"
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isInteger() && quantity(string(self)).asInteger() >= 512",message="workload.raw.fileSize must be greater than zero and at least one block"
	FileSize resource.Quantity `json:"fileSize,omitempty"`
	// jobs is the number of independent streams of each client.
	// +optional
	// +default=4
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=256
	Jobs int32 `json:"jobs,omitempty"`
	// depth is the number of outstanding I/Os of each job.
	// +optional
	// +default=8
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	Depth int32 `json:"depth,omitempty"`
	// operationsPerSecond paces each client: I/Os start when they are due and
	// latency counts from then. Without it each I/O starts when one has ended.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000000
	OperationsPerSecond *int64 `json:"operationsPerSecond,omitempty"`
	// capacity searches the highest rate of I/Os that keeps a latency, instead of
	// measuring one load. jobs x depth of each client is then how many I/Os may be
	// outstanding.
	// +optional
	Capacity *Capacity `json:"capacity,omitempty"`
	// seed of offsets and data; the same seed repeats the same run. Without
	// it, one is derived from the object and recorded in the result.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Seed *int64 `json:"seed,omitempty"`
	// directory below the export that holds the files. It is made when
	// absent; one with files that this program did not make is refused.
	// +optional
	// +default="nfsbench"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^[A-Za-z0-9_][A-Za-z0-9._-]*$')`,message="write the name of one directory below the export, such as nfsbench: letters, digits, _, - and ."
	Directory string `json:"directory,omitempty"`
	// foreignFiles says what to do with a directory whose files are not
	// marked as ours: Refuse, or Overwrite files of the same names.
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

// Capacity asks for the highest rate of operations, of all clients together, whose latency
// keeps a bound. The load goes through levels: each is an open loop, in which latency counts
// from when an operation is due.
//
// +kubebuilder:validation:XValidation:rule="has(self.milliseconds) != has(self.microseconds)",message="give exactly one of capacity.milliseconds and capacity.microseconds: the latency that the operations keep"
// +kubebuilder:validation:XValidation:rule="!has(self.alsoAt) || self.alsoAt.all(b, (has(b.microseconds) ? b.microseconds : has(b.milliseconds) ? b.milliseconds * 1000 : 0) >= (has(self.microseconds) ? self.microseconds : has(self.milliseconds) ? self.milliseconds * 1000 : 0))",message="capacity.alsoAt has a lower latency than capacity: write the lowest latency first, to which the headline number belongs"
type Capacity struct {
	// percentile of the latency that the bound is for.
	// +optional
	// +default="p99"
	Percentile LatencyPercentile `json:"percentile,omitempty"`
	// milliseconds that the percentile of the latency may have at most.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	Milliseconds *int64 `json:"milliseconds,omitempty"`
	// microseconds is the same in a finer unit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000000
	Microseconds *int64 `json:"microseconds,omitempty"`
	// alsoAt lists further bounds, with the lowest latency above. The same run finds the
	// capacity of each.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=3
	AlsoAt []LatencyBound `json:"alsoAt,omitempty"`
	// arrivals is when operations are due: at random distances, as from many independent
	// users, or at Fixed ones.
	// +optional
	// +default="Poisson"
	Arrivals Arrivals `json:"arrivals,omitempty"`
}

// LatencyBound is the latency that a percentile of all operations keeps.
//
// +kubebuilder:validation:XValidation:rule="has(self.milliseconds) != has(self.microseconds)",message="give exactly one of milliseconds and microseconds in each of capacity.alsoAt: the latency that the operations keep"
type LatencyBound struct {
	// percentile of the latency that the bound is for.
	// +optional
	// +default="p99"
	Percentile LatencyPercentile `json:"percentile,omitempty"`
	// milliseconds that the percentile of the latency may have at most.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	Milliseconds *int64 `json:"milliseconds,omitempty"`
	// microseconds is the same in a finer unit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000000
	Microseconds *int64 `json:"microseconds,omitempty"`
}

// LatencyPercentile is a percentile of latencies.
//
// +kubebuilder:validation:Enum=p50;p90;p95;p99;p999
type LatencyPercentile string

// PercentileP99 is the percentile where none is given.
const PercentileP99 LatencyPercentile = "p99"

// Percentiles lists the percentiles of a LatencyBound.
func Percentiles() []LatencyPercentile {
	return []LatencyPercentile{"p50", "p90", "p95", PercentileP99, "p999"}
}

// Arrivals says when the operations of an open loop are due.
//
// +kubebuilder:validation:Enum=Poisson;Fixed
type Arrivals string

// The arrivals.
const (
	ArrivalsPoisson Arrivals = "Poisson"
	ArrivalsFixed   Arrivals = "Fixed"
)

// RawPattern is an order of reads and writes.
//
// +kubebuilder:validation:Enum=Read;Overwrite;Copy;RandomRead;RandomWrite;Mixed;RandomMixed
type RawPattern string

// The patterns.
const (
	PatternRead        RawPattern = "Read"        // sequential reads
	PatternOverwrite   RawPattern = "Overwrite"   // sequential writes over blocks that exist
	PatternCopy        RawPattern = "Copy"        // each job reads one file and overwrites another
	PatternRandomRead  RawPattern = "RandomRead"  // reads at random aligned offsets
	PatternRandomWrite RawPattern = "RandomWrite" // overwrites at random aligned offsets
	PatternMixed       RawPattern = "Mixed"       // sequential; ReadPercent of the I/Os are reads
	PatternRandomMixed RawPattern = "RandomMixed" // random aligned offsets; ReadPercent of the I/Os are reads
)

// Patterns lists the patterns.
func Patterns() []RawPattern {
	return []RawPattern{
		PatternRead, PatternOverwrite, PatternCopy, PatternRandomRead, PatternRandomWrite,
		PatternMixed, PatternRandomMixed,
	}
}

// VerifyMode says what is read back after the load.
//
// +kubebuilder:validation:Enum=Sample;Written;All
type VerifyMode string

// What is read back.
const (
	VerifySample  VerifyMode = "Sample"
	VerifyWritten VerifyMode = "Written"
	VerifyAll     VerifyMode = "All"
)

// VerifyModes lists what may be read back.
func VerifyModes() []VerifyMode { return []VerifyMode{VerifySample, VerifyWritten, VerifyAll} }

// ForeignFilesPolicy says what to do with files that are not ours.
//
// +kubebuilder:validation:Enum=Refuse;Overwrite
type ForeignFilesPolicy string

// The policies for files that are not ours.
const (
	ForeignFilesRefuse    ForeignFilesPolicy = "Refuse"
	ForeignFilesOverwrite ForeignFilesPolicy = "Overwrite"
)

// Run is how long each part of a run lasts.
//
// +kubebuilder:validation:XValidation:rule="!has(self.timeoutSeconds) || self.timeoutSeconds >= self.repetitions * (self.baselineSeconds + self.warmupSeconds + self.durationSeconds + self.cooldownSeconds)",message="run.timeoutSeconds is shorter than the parts of the run together: raise it, or leave it out"
type Run struct {
	// durationSeconds is the measured window. With capacity of the workload it is the longest
	// window of one level of load; a level ends earlier when its percentile is known.
	// +optional
	// +default=60
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	DurationSeconds int32 `json:"durationSeconds,omitempty"`
	// warmupSeconds of load before it, which are not counted. With capacity of the workload
	// they come before the first level.
	// +optional
	// +default=10
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	WarmupSeconds *int32 `json:"warmupSeconds,omitempty"`
	// baselineSeconds of idleness before the warm-up: what others do to the
	// storage and the client is measured there.
	// +optional
	// +default=5
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	BaselineSeconds *int32 `json:"baselineSeconds,omitempty"`
	// repetitions of baseline, warm-up and window. The summary is the median
	// repetition; with several, their variation is reported. With capacity of the workload
	// each is a whole search.
	// +optional
	// +default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=50
	Repetitions int32 `json:"repetitions,omitempty"`
	// cooldownSeconds between repetitions.
	// +optional
	// +default=5
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	CooldownSeconds *int32 `json:"cooldownSeconds,omitempty"`
	// timeoutSeconds for the run from the start of its pods to its end;
	// without it, what the parts need plus time to fill the files.
	// +optional
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=604800
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`
}

// Expect holds thresholds. All that are given must be met for verdict Pass.
//
// +kubebuilder:validation:MinProperties=1
type Expect struct {
	// minWirePercent is the least share of the wire limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	MinWirePercent *int32 `json:"minWirePercent,omitempty"`
	// minMegabytesPerSecond is the least throughput, in 10^6 bytes per second.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MinMegabytesPerSecond *int64 `json:"minMegabytesPerSecond,omitempty"`
	// minIOPS is the least number of I/Os per second.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MinIOPS *int64 `json:"minIOPS,omitempty"`
	// minCapacity is the least capacity at the first bound of the workload's capacity, in
	// operations per second.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MinCapacity *int64 `json:"minCapacity,omitempty"`
	// maxMeanLatencyMicroseconds is the largest mean latency.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxMeanLatencyMicroseconds *int64 `json:"maxMeanLatencyMicroseconds,omitempty"`
	// maxP99LatencyMicroseconds is the largest 99th percentile of latency.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxP99LatencyMicroseconds *int64 `json:"maxP99LatencyMicroseconds,omitempty"`
	// maxPauseMilliseconds is the longest time in which a client may have no answer although operations wait, in
	// any repetition. Not known of a database.
	// +optional
	// +kubebuilder:validation:Minimum=100
	MaxPauseMilliseconds *int64 `json:"maxPauseMilliseconds,omitempty"`
	// maxVariationPercent is the largest coefficient of variation of
	// throughput between repetitions.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	MaxVariationPercent *int32 `json:"maxVariationPercent,omitempty"`
}
