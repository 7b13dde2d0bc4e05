package bench

// Metric is a number of a benchmark's status.summary that can be compared. Throughput is in
// bytes, IOPS in I/Os and Capacity in operations a second; latencies are microseconds; Wire, the
// share of the wire limit, and ClientCPU, the busy share of the busiest client machine above idle, are thousandths;
// ClientCPUTime is microseconds of the CPUs of the clients' machines above idle, for 2^20 bytes.
//
// +kubebuilder:validation:Enum=Throughput;IOPS;Capacity;MeanLatency;P50Latency;P95Latency;P99Latency;P999Latency;MaxLatency;OpenLoopP99Latency;LongestPause;StorageLatency;Wire;ClientCPU;ClientCPUTime
type Metric string

// The metrics. They have no type, because records and plans have them as plain strings.
const (
	MetricThroughput         = "Throughput"
	MetricIOPS               = "IOPS"
	MetricCapacity           = "Capacity" // highest rate within the first bound of a search for capacity
	MetricMeanLatency        = "MeanLatency"
	MetricP50Latency         = "P50Latency"
	MetricP95Latency         = "P95Latency"
	MetricP99Latency         = "P99Latency"
	MetricP999Latency        = "P999Latency"
	MetricMaxLatency         = "MaxLatency"
	MetricOpenLoopP99Latency = "OpenLoopP99Latency"
	MetricLongestPause       = "LongestPause" // of a client without an answer
	MetricStorageLatency     = "StorageLatency"
	MetricWire               = "Wire"
	MetricClientCPU          = "ClientCPU"     // busy share of the busiest client machine above idle
	MetricClientCPUTime      = "ClientCPUTime" // of the machines above idle, for each MiB
)
