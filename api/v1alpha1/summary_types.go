package v1alpha1

// Summary holds the headline numbers of a run.
type Summary struct {
	// workload in words, for example "Read 1Mi x4 depth 8".
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Workload string `json:"workload,omitempty"`
	// protocol in words, for example "NFSv3 DirectNFS 2 paths".
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Protocol string `json:"protocol,omitempty"`
	// throughputBytesPerSecond of both directions together.
	// +optional
	ThroughputBytesPerSecond *int64 `json:"throughputBytesPerSecond,omitempty"`
	// throughputMegabytesPerSecond is the same in 10^6 bytes.
	// +optional
	ThroughputMegabytesPerSecond *int64 `json:"throughputMegabytesPerSecond,omitempty"`
	// iops is the number of I/Os per second of both directions together.
	// +optional
	IOPS *int64 `json:"iops,omitempty"`
	// meanLatencyMicroseconds of one I/O.
	// +optional
	MeanLatencyMicroseconds *int64 `json:"meanLatencyMicroseconds,omitempty"`
	// meanLatency is the same for people, for example "360µs" or "2.45ms".
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
	// storageMeanLatencyMicroseconds of one I/O, as the storage measured it:
	// what is missing to meanLatencyMicroseconds was spent on the way.
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
	// p99Latency is the 99th percentile for people, for example "1.2ms".
	// +optional
	// +kubebuilder:validation:MaxLength=32
	P99Latency string `json:"p99Latency,omitempty"`
	// wirePercent is the share of the wire limit that was reached.
	// +optional
	WirePercent *int32 `json:"wirePercent,omitempty"`
	// clientCPUPermille is the busy share of the busiest client node.
	// +optional
	ClientCPUPermille *int32 `json:"clientCPUPermille,omitempty"`
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
	Role PathRole `json:"role,omitempty"`
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

// PathRole is what a path is for.
//
// +kubebuilder:validation:Enum=DataServer
type PathRole string

// PathDataServer is the role of a path to a data server of pNFS.
const PathDataServer PathRole = "DataServer"

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

// Finding explains something about the numbers. docs/findings.md lists all.
type Finding struct {
	// code is stable.
	// +kubebuilder:validation:MaxLength=63
	// +required
	Code string `json:"code"`
	// severity of the finding.
	// +required
	Severity Severity `json:"severity"`
	// message says what was seen and what to do.
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Message string `json:"message"`
}

// Severity of a finding.
//
// +kubebuilder:validation:Enum=Info;Warning;Error
type Severity string

// The severities.
const (
	SeverityInfo    Severity = "Info"
	SeverityWarning Severity = "Warning"
	SeverityError   Severity = "Error"
)
