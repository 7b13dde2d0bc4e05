package judge

import (
	"strings"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// The units of metrics.
const (
	UnitRate     = "1/s"
	UnitBytes    = "B/s"
	UnitTime     = "us"
	UnitCost     = "us/MiB"
	UnitPermille = "permille"
)

// Metric is a headline number of a run. Status, records, comparisons, exported metrics, lists of results
// and reports take what they know of it from here.
type Metric struct {
	Name   string // the API's
	Label  string // for people
	Unit   string
	Higher bool   // more is better
	Field  string // of status.summary; one with an interval has "Low" or "High" before its unit
	// Divisor is what the value is divided by in Field; 0 is 1.
	Divisor int64
	Series  string // of the exported metrics, in base units
	Stat    string // distinguishes metrics of one series

	value    func(Summary, BoundCapacity) *int64
	interval func(Summary, BoundCapacity) *Interval
}

// Metrics are all of them.
func Metrics() []Metric {
	latency := func(of func(Summary) *int64) func(Summary, BoundCapacity) *int64 {
		return func(s Summary, _ BoundCapacity) *int64 {
			if l := s.Total.Latency; l == nil || l.MeanOnly {
				return nil // a database reports no more than the mean, and 0 would be a number
			}
			return of(s)
		}
	}
	return []Metric{
		{
			Name: runfile.MetricThroughput, Label: "Throughput", Unit: UnitBytes, Higher: true,
			Field: "throughputBytesPerSecond", Series: "throughput_bytes_per_second",
			value:    func(s Summary, _ BoundCapacity) *int64 { return nonzero(s.Total.BytesPerSecond) },
			interval: func(s Summary, _ BoundCapacity) *Interval { return s.Total.Intervals.BytesPerSecond },
		},
		{
			Name: runfile.MetricIOPS, Label: "IOPS", Unit: UnitRate, Higher: true, Field: "iops", Series: "iops",
			value:    func(s Summary, _ BoundCapacity) *int64 { return nonzero(s.Total.OperationsPerSecond) },
			interval: func(s Summary, _ BoundCapacity) *Interval { return s.Total.Intervals.OperationsPerSecond },
		},
		{
			Name: runfile.MetricCapacity, Label: "Capacity, operations/s", Unit: UnitRate, Higher: true,
			Field: "capacityOperationsPerSecond", Series: "capacity_operations_per_second",
			value: func(_ Summary, b BoundCapacity) *int64 { return known(b.Reached, b.OperationsPerSecond) },
			interval: func(_ Summary, b BoundCapacity) *Interval {
				if b.High == 0 {
					return nil
				}
				return &Interval{Low: b.Low, High: b.High}
			},
		},
		{
			Name: runfile.MetricMeanLatency, Label: "Mean latency", Unit: UnitTime,
			Field: "meanLatencyMicroseconds", Series: "latency_seconds", Stat: "mean",
			value: func(s Summary, _ BoundCapacity) *int64 {
				if s.Total.Latency == nil {
					return nil
				}
				return &s.Total.Latency.MeanMicroseconds
			},
			interval: func(s Summary, _ BoundCapacity) *Interval { return s.Total.Intervals.MeanMicroseconds },
		},
		{
			Name: runfile.MetricP50Latency, Label: "Latency, median", Unit: UnitTime,
			Field: "p50LatencyMicroseconds", Series: "latency_seconds", Stat: "p50",
			value: latency(func(s Summary) *int64 { return &s.Total.Latency.P50Microseconds }),
		},
		{
			Name: runfile.MetricP95Latency, Label: "Latency, 95th percentile", Unit: UnitTime,
			Field: "p95LatencyMicroseconds", Series: "latency_seconds", Stat: "p95",
			value: latency(func(s Summary) *int64 { return &s.Total.Latency.P95Microseconds }),
		},
		{
			Name: runfile.MetricP99Latency, Label: "Latency, 99th percentile", Unit: UnitTime,
			Field: "p99LatencyMicroseconds", Series: "latency_seconds", Stat: "p99",
			value:    latency(func(s Summary) *int64 { return &s.Total.Latency.P99Microseconds }),
			interval: func(s Summary, _ BoundCapacity) *Interval { return s.Total.Intervals.P99Microseconds },
		},
		{
			Name: runfile.MetricP999Latency, Label: "Latency, 99.9th percentile", Unit: UnitTime,
			Field: "p999LatencyMicroseconds", Series: "latency_seconds", Stat: "p999",
			value: latency(func(s Summary) *int64 { return &s.Total.Latency.P999Microseconds }),
		},
		{
			Name: runfile.MetricMaxLatency, Label: "Longest latency", Unit: UnitTime,
			Field: "maxLatencyMicroseconds", Series: "latency_seconds", Stat: "max",
			value: latency(func(s Summary) *int64 { return &s.Total.Latency.MaxMicroseconds }),
		},
		{
			Name: runfile.MetricOpenLoopP99Latency, Label: "Latency of an open loop, 99th percentile", Unit: UnitTime,
			Field: "openLoopP99LatencyMicroseconds", Series: "latency_seconds", Stat: "open_loop_p99",
			value: func(s Summary, _ BoundCapacity) *int64 { return s.OpenLoopP99Microseconds },
		},
		{
			Name: runfile.MetricStorageLatency, Label: "Latency of the storage", Unit: UnitTime,
			Field: "storageMeanLatencyMicroseconds", Series: "latency_seconds", Stat: "storage",
			value: func(s Summary, _ BoundCapacity) *int64 { return s.Storage.MeanLatencyMicroseconds },
		},
		{
			Name: runfile.MetricWire, Label: "Share of the wire limit", Unit: UnitPermille, Higher: true,
			Field: "wirePercent", Divisor: 10, Series: "wire_ratio",
			value: func(s Summary, _ BoundCapacity) *int64 { return wide(s.WirePermille) },
		},
		{
			Name: runfile.MetricClientCPU, Label: "CPU of the busiest client", Unit: UnitPermille,
			Field: "clientCPUPermille", Series: "client_cpu_ratio",
			value: func(s Summary, _ BoundCapacity) *int64 { return wide(s.ClientCPU.BusiestNodePermille) },
		},
		{
			Name: runfile.MetricClientCPUTime, Label: "Client CPU for each MiB", Unit: UnitCost,
			Field: "clientCPUMicrosecondsPerMiB", Series: "client_cpu_seconds_per_mebibyte",
			value: func(s Summary, _ BoundCapacity) *int64 { return s.ClientCPU.MicrosecondsPerMiB },
		},
	}
}

// MetricOf returns the metric of a name. That of an unknown name, which a foreign file may have, has it as
// its label.
func MetricOf(name string) Metric {
	for _, m := range Metrics() {
		if m.Name == name {
			return m
		}
	}
	return Metric{Name: name, Label: name, Unit: UnitTime}
}

// MetricNames are the names of all.
func MetricNames() []string {
	var names []string
	for _, m := range Metrics() {
		names = append(names, m.Name)
	}
	return names
}

// PerUnit is how many of its unit one base unit has.
func (m Metric) PerUnit() float64 {
	switch m.Unit {
	case UnitTime, UnitCost:
		return 1e6
	case UnitPermille:
		return 1e3
	default:
		return 1
	}
}

// Bounds are the fields of status.summary.intervals with the bounds of the interval; empty without one.
func (m Metric) Bounds() (low, high string) {
	if m.interval == nil {
		return "", ""
	}
	at := len(m.Field)
	for _, unit := range []string{"BytesPerSecond", "OperationsPerSecond", "Microseconds"} {
		if name, is := strings.CutSuffix(m.Field, unit); is {
			at = len(name)
		}
	}
	return m.Field[:at] + "Low" + m.Field[at:], m.Field[:at] + "High" + m.Field[at:]
}

// Number is a metric of a run. Interval has 95 % confidence; nil if there is none.
type Number struct {
	Metric

	Value    int64
	Interval *Interval
}

// Numbers are the metrics that are known. A rate of 0 is not: a calibration may have found one of two.
// The capacity, if c is not nil, is that within the first bound.
func Numbers(s Summary, c *Capacity) []Number {
	var first BoundCapacity
	if c != nil {
		first = c.Bounds[0]
	}
	var out []Number
	for _, m := range Metrics() {
		v := m.value(s, first)
		if v == nil {
			continue
		}
		n := Number{Metric: m, Value: *v}
		if m.interval != nil {
			n.Interval = m.interval(s, first)
		}
		out = append(out, n)
	}
	return out
}

func nonzero(v int64) *int64 { return known(v != 0, v) }

func wide(v *int32) *int64 {
	if v == nil {
		return nil
	}
	return new(int64(*v))
}
