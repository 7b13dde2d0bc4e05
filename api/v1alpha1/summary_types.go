package v1alpha1

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nfsbench/nfsbench/api/bench"
)

// Summary holds the headline numbers of a run.
type Summary struct {
	// workload in words, for example "Raw Read 1Mi, 4 jobs x depth 8".
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Workload string `json:"workload,omitempty"`
	// protocol in words, for example "NFSv3 DirectNFS 2 paths".
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Protocol string `json:"protocol,omitempty"`
	// data says what was checked of the data and the outcome, for example "0 of 16000 acknowledged writes
	// lost: all 14211 blocks that were written were read back; 48000 of 48000 reads right".
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Data string `json:"data,omitempty"`
	// throughputBytesPerSecond of both directions together.
	// +optional
	ThroughputBytesPerSecond *int64 `json:"throughputBytesPerSecond,omitempty"`
	// throughputMegabytesPerSecond is the same in 10^6 bytes.
	// +optional
	ThroughputMegabytesPerSecond *int64 `json:"throughputMegabytesPerSecond,omitempty"`
	// iops is the number of I/Os per second of both directions together; of a search for
	// capacity the capacity at the first bound.
	// +optional
	IOPS *int64 `json:"iops,omitempty"`
	// capacityOperationsPerSecond is the highest rate of operations within the first bound of a
	// search for capacity that reached it.
	// +optional
	CapacityOperationsPerSecond *int64 `json:"capacityOperationsPerSecond,omitempty"`
	// capacity at the first bound for people, for example "41.2k @ p99 of 1 ms".
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Capacity string `json:"capacity,omitempty"`
	// meanLatencyMicroseconds of one I/O.
	// +optional
	MeanLatencyMicroseconds *int64 `json:"meanLatencyMicroseconds,omitempty"`
	// meanLatency is the same for people, for example "360 µs" or "2.45 ms".
	// +optional
	// +kubebuilder:validation:MaxLength=32
	MeanLatency string `json:"meanLatency,omitempty"`
	// paths in words: how many, and whether they are on the node that owns the
	// volume, for example "1 Remote".
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Paths string `json:"paths,omitempty"`
	// storageCPU is the busy share of each storage node in the measured
	// windows, for people, for example "fas-a 32%, fas-b 1%".
	// +optional
	// +kubebuilder:validation:MaxLength=256
	StorageCPU string `json:"storageCPU,omitempty"`
	// storageMeanLatencyMicroseconds is the mean latency of one operation in the layer where the storage
	// measures: an ONTAP in its volume layer, in operations of at most 64 KiB.
	// +optional
	StorageMeanLatencyMicroseconds *int64 `json:"storageMeanLatencyMicroseconds,omitempty"`
	// p50LatencyMicroseconds is the median latency.
	// +optional
	P50LatencyMicroseconds *int64 `json:"p50LatencyMicroseconds,omitempty"`
	// p95LatencyMicroseconds is the 95th percentile.
	// +optional
	P95LatencyMicroseconds *int64 `json:"p95LatencyMicroseconds,omitempty"`
	// p99LatencyMicroseconds is the 99th percentile.
	// +optional
	P99LatencyMicroseconds *int64 `json:"p99LatencyMicroseconds,omitempty"`
	// p999LatencyMicroseconds is the 99.9th percentile.
	// +optional
	P999LatencyMicroseconds *int64 `json:"p999LatencyMicroseconds,omitempty"`
	// maxLatencyMicroseconds is the longest.
	// +optional
	MaxLatencyMicroseconds *int64 `json:"maxLatencyMicroseconds,omitempty"`
	// p99Latency is the 99th percentile for people, for example "1.20 ms".
	// +optional
	// +kubebuilder:validation:MaxLength=32
	P99Latency string `json:"p99Latency,omitempty"`
	// openLoopP99LatencyMicroseconds is about the 99th percentile that a load of the same
	// mean rate would have seen that does not wait for slow operations. It is absent unless
	// the load is a raw one without operationsPerSecond.
	// +optional
	OpenLoopP99LatencyMicroseconds *int64 `json:"openLoopP99LatencyMicroseconds,omitempty"`
	// longestPauseMicroseconds is the longest time in which a client had no answer although operations waited, in
	// all repetitions; 0 if none was 100 ms or longer. Absent for a database.
	// +optional
	LongestPauseMicroseconds *int64 `json:"longestPauseMicroseconds,omitempty"`
	// intervals of 95 % say how far a longer run of the same could be from the numbers.
	// They contain the variation within the run only, not that between runs.
	// +optional
	Intervals *SummaryIntervals `json:"intervals,omitempty"`
	// wirePercent is the share of the wire limit that was reached.
	// +optional
	WirePercent *int32 `json:"wirePercent,omitempty"`
	// clientCPUPermille is the busy share of the busiest client machine, less its share in the idle baseline.
	// Unknown without a baseline, if others used the machines, or for an external database.
	// +optional
	ClientCPUPermille *int32 `json:"clientCPUPermille,omitempty"`
	// clientCPUMicrosecondsPerMiB is the CPU time of the clients' machines for 2^20 bytes, less what they used in
	// the idle baseline. Unknown without a baseline, if others used the machines, or for an external database.
	// +optional
	ClientCPUMicrosecondsPerMiB *int64 `json:"clientCPUMicrosecondsPerMiB,omitempty"`
}

// Numbers returns the numbers of s and of its intervals by their names in JSON.
func (s *Summary) Numbers() map[string]int64 {
	out := map[string]int64{}
	all, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s)
	if err != nil {
		return out // fields of the API can always be converted
	}
	intervals, _ := all["intervals"].(map[string]any)
	for _, fields := range []map[string]any{all, intervals} {
		for name, v := range fields {
			if n, ok := v.(int64); ok {
				out[name] = n
			}
		}
	}
	return out
}

// SummaryIntervals are intervals of 95 % of the numbers of a Summary. What is not known is
// absent.
type SummaryIntervals struct {
	// throughput for people, in 10^6 bytes per second, for example "405.7 to 418.3".
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Throughput string `json:"throughput,omitempty"`
	// p99Latency for people, for example "1.10 ms to 1.40 ms".
	// +optional
	// +kubebuilder:validation:MaxLength=48
	P99Latency string `json:"p99Latency,omitempty"`
	// throughputLowBytesPerSecond is the lower bound of throughputBytesPerSecond.
	// +optional
	ThroughputLowBytesPerSecond *int64 `json:"throughputLowBytesPerSecond,omitempty"`
	// throughputHighBytesPerSecond is the upper bound of throughputBytesPerSecond.
	// +optional
	ThroughputHighBytesPerSecond *int64 `json:"throughputHighBytesPerSecond,omitempty"`
	// iopsLow is the lower bound of iops.
	// +optional
	IOPSLow *int64 `json:"iopsLow,omitempty"`
	// iopsHigh is the upper bound of iops.
	// +optional
	IOPSHigh *int64 `json:"iopsHigh,omitempty"`
	// capacityLowOperationsPerSecond is the lower bound of capacityOperationsPerSecond.
	// +optional
	CapacityLowOperationsPerSecond *int64 `json:"capacityLowOperationsPerSecond,omitempty"`
	// capacityHighOperationsPerSecond is the upper bound of capacityOperationsPerSecond.
	// +optional
	CapacityHighOperationsPerSecond *int64 `json:"capacityHighOperationsPerSecond,omitempty"`
	// meanLatencyLowMicroseconds is the lower bound of meanLatencyMicroseconds.
	// +optional
	MeanLatencyLowMicroseconds *int64 `json:"meanLatencyLowMicroseconds,omitempty"`
	// meanLatencyHighMicroseconds is the upper bound of meanLatencyMicroseconds.
	// +optional
	MeanLatencyHighMicroseconds *int64 `json:"meanLatencyHighMicroseconds,omitempty"`
	// p99LatencyLowMicroseconds is the lower bound of p99LatencyMicroseconds.
	// +optional
	P99LatencyLowMicroseconds *int64 `json:"p99LatencyLowMicroseconds,omitempty"`
	// p99LatencyHighMicroseconds is the upper bound of p99LatencyMicroseconds.
	// +optional
	P99LatencyHighMicroseconds *int64 `json:"p99LatencyHighMicroseconds,omitempty"`
}

// CapacityStatus is the highest rate of operations, of all clients together, within one bound
// of latency.
type CapacityStatus struct {
	// percentile of the latency that the bound is for.
	// +kubebuilder:validation:MaxLength=8
	// +required
	Percentile string `json:"percentile"`
	// microseconds of the bound.
	// +required
	Microseconds int64 `json:"microseconds"`
	// operationsPerSecond is the capacity.
	// +required
	OperationsPerSecond int64 `json:"operationsPerSecond"`
	// low is the lower end of its interval of 95 % confidence.
	// +optional
	Low int64 `json:"low,omitempty"`
	// high is the upper end.
	// +optional
	High int64 `json:"high,omitempty"`
	// limitedBy is what held the rate: Wire, ClientCPU, StorageCPU, Queue, Client or Storage.
	// It is absent where that is not known.
	// +kubebuilder:validation:MaxLength=32
	// +optional
	LimitedBy string `json:"limitedBy,omitempty"`
	// reached says that one rate keeps the bound and a higher one breaks it. Otherwise
	// operationsPerSecond is the highest rate that was tried, or 0 if none kept the bound.
	// +required
	Reached bool `json:"reached"`
}

// CurvePoint is one level of load of a search for capacity, over all clients.
type CurvePoint struct {
	// offered operations per second.
	// +required
	Offered int64 `json:"offered"`
	// achieved operations per second.
	// +required
	Achieved int64 `json:"achieved"`
	// p50Microseconds is the median latency.
	// +optional
	P50Microseconds int64 `json:"p50Microseconds,omitempty"`
	// p99Microseconds is the 99th percentile.
	// +optional
	P99Microseconds int64 `json:"p99Microseconds,omitempty"`
	// p999Microseconds is the 99.9th percentile.
	// +optional
	P999Microseconds int64 `json:"p999Microseconds,omitempty"`
	// errors are the operations that failed.
	// +optional
	Errors int64 `json:"errors,omitempty"`
	// knee says that more load than this gave latency and hardly throughput.
	// +optional
	Knee bool `json:"knee,omitempty"`
}

// StepStatus holds the numbers of one level of load: the medians over the
// repetitions.
type StepStatus struct {
	// kind: Users, SmallReads or LargeReads.
	// +required
	// +kubebuilder:validation:MaxLength=32
	Kind string `json:"kind"`
	// users: sessions, or reads outstanding at once.
	// +required
	Users int32 `json:"users"`
	// throughputBytesPerSecond of both directions together.
	// +optional
	ThroughputBytesPerSecond *int64 `json:"throughputBytesPerSecond,omitempty"`
	// iops of both directions together.
	// +optional
	IOPS *int64 `json:"iops,omitempty"`
	// meanLatencyMicroseconds of one I/O.
	// +optional
	MeanLatencyMicroseconds *int64 `json:"meanLatencyMicroseconds,omitempty"`
	// p99LatencyMicroseconds is the 99th percentile; of a database an upper
	// bound within a factor of two.
	// +optional
	P99LatencyMicroseconds *int64 `json:"p99LatencyMicroseconds,omitempty"`
	// knee says that more users than these gave latency and hardly throughput.
	// +optional
	Knee bool `json:"knee,omitempty"`
}

// PathStatus is what went through one path in the measured windows.
type PathStatus struct {
	// client is the index of the client.
	// +kubebuilder:validation:Minimum=0
	// +required
	Client int32 `json:"client"`
	// local is the client address used.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Local string `json:"local,omitempty"`
	// path is the server address.
	// +kubebuilder:validation:MaxLength=253
	// +required
	Path string `json:"path"`
	// role is DataServer where a pNFS layout named the address. Paths without a role
	// are those that the run began with; with pNFS these lead to the metadata server.
	// +optional
	Role bench.PathRole `json:"role,omitempty"`
	// node of the array where the address was before the run.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Node string `json:"node,omitempty"`
	// readBytes received through the path.
	// +optional
	ReadBytes *int64 `json:"readBytes,omitempty"`
	// writeBytes sent through the path.
	// +optional
	WriteBytes *int64 `json:"writeBytes,omitempty"`
	// downMilliseconds is how long the path could not be used in the windows.
	// +optional
	DownMilliseconds *int64 `json:"downMilliseconds,omitempty"`
}

// StorageNodeStatus is what one storage node did in the measured windows.
type StorageNodeStatus struct {
	// name of the node.
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
	// roles of the node in this run: Owner of the volume; Entry, where a path
	// in use ends. A node that is Entry and not Owner passes on what it gets.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=2
	Roles []StorageNodeRole `json:"roles,omitempty"`
	// cpuPermille is the busy share of its CPUs, in thousandths.
	// +optional
	CPUPermille *int32 `json:"cpuPermille,omitempty"`
	// baselineCPUPermille is the same in the idle baseline before.
	// +optional
	BaselineCPUPermille *int32 `json:"baselineCPUPermille,omitempty"`
}

// StorageNodeRole is what a storage node has to do with a run.
//
// +kubebuilder:validation:Enum=Owner;Entry
type StorageNodeRole string

// The roles of storage nodes.
const (
	StorageNodeOwner StorageNodeRole = "Owner"
	StorageNodeEntry StorageNodeRole = "Entry"
)
