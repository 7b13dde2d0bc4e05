package runfile

import "github.com/nfsbench/nfsbench/api/bench"

// WakeUps say by how much later than it was due a thread of the client woke, which is due 200 times in each
// second of a window. Percentiles are not merged over clients: a client that wakes late delays its own operations,
// and a quiet one beside it does not change that.
type WakeUps struct {
	Count            int64 `json:"count"` // due times in the window
	P50Microseconds  int64 `json:"p50Microseconds"`
	P90Microseconds  int64 `json:"p90Microseconds"`
	P95Microseconds  int64 `json:"p95Microseconds"`
	P99Microseconds  int64 `json:"p99Microseconds"`
	P999Microseconds int64 `json:"p999Microseconds"`
	MaxMicroseconds  int64 `json:"maxMicroseconds"`
}

// Of returns the percentile of a latency bound.
func (w WakeUps) Of(p bench.LatencyPercentile) int64 {
	switch p {
	case "p50":
		return w.P50Microseconds
	case "p90":
		return w.P90Microseconds
	case "p95":
		return w.P95Microseconds
	case "p999":
		return w.P999Microseconds
	default:
		return w.P99Microseconds
	}
}
