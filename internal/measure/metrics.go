package measure

import (
	"fmt"
	"math"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/stats"
)

// The units of metrics.
const (
	UnitRate     = "1/s"
	UnitBytes    = "B/s"
	UnitTime     = "us"
	UnitCost     = "us/MiB"
	UnitPermille = "permille"
)

// Metric is a headline number of a run. Status, records, comparisons, exported metrics, lists of results and reports
// use these definitions.
type Metric struct {
	Name   string // in the API
	Label  string // for people
	Unit   string
	Higher bool   // more is better
	Field  string // in status.summary; a metric with an interval also has fields with "Low" or "High" before the unit
	// Divisor divides the value in Field; 0 means 1.
	Divisor int64
	Series  string // name of the exported metric, in base units
	Stat    string // distinguishes metrics of one series

	value    func(judged) *int64
	interval func(judged) *Interval
}

// judged holds the source of a metric: a repetition, and the capacity within the first bound.
type judged struct {
	Summary

	capacity BoundCapacity
}

// Metrics returns all metrics.
func Metrics() []Metric {
	latency := func(name, label, stat string, of func(*stats.Latency) *int64) Metric {
		field := strings.ToLower(name[:1]) + name[1:] + "Microseconds"
		return Metric{
			Name: name, Label: label, Unit: UnitTime, Field: field, Series: "latency_seconds", Stat: stat,
			value: func(s judged) *int64 {
				// A database may report only the mean, and 0 would look like a measurement.
				if l := s.Total.Latency; l != nil && (stat == "mean" || !l.MeanOnly) {
					return of(l)
				}
				return nil
			},
		}
	}
	throughput := Metric{
		Name: bench.MetricThroughput, Label: "Throughput", Unit: UnitBytes, Higher: true,
		Field: "throughputBytesPerSecond", Series: "throughput_bytes_per_second",
		value:    func(s judged) *int64 { return Known(s.Total.BytesPerSecond != 0, s.Total.BytesPerSecond) },
		interval: func(s judged) *Interval { return s.Total.Intervals.BytesPerSecond },
	}
	iops := Metric{
		Name: bench.MetricIOPS, Label: "IOPS", Unit: UnitRate, Higher: true, Field: "iops", Series: "iops",
		value:    func(s judged) *int64 { return Known(s.Total.OperationsPerSecond != 0, s.Total.OperationsPerSecond) },
		interval: func(s judged) *Interval { return s.Total.Intervals.OperationsPerSecond },
	}
	capacity := Metric{
		Name: bench.MetricCapacity, Label: "Capacity, operations/s", Unit: UnitRate, Higher: true,
		Field: "capacityOperationsPerSecond", Series: "capacity_operations_per_second",
		value:    func(s judged) *int64 { return Known(s.capacity.Reached, s.capacity.OperationsPerSecond) },
		interval: func(s judged) *Interval { return s.capacity.within() },
	}
	mean := latency(bench.MetricMeanLatency, "Mean latency", "mean",
		func(l *stats.Latency) *int64 { return &l.MeanMicroseconds })
	mean.interval = func(s judged) *Interval { return s.Total.Intervals.MeanMicroseconds }
	p99 := latency(bench.MetricP99Latency, "Latency, 99th percentile", "p99",
		func(l *stats.Latency) *int64 { return &l.P99Microseconds })
	p99.interval = func(s judged) *Interval { return s.Total.Intervals.P99Microseconds }
	openLoop := latency(bench.MetricOpenLoopP99Latency, "Latency of an open loop, 99th percentile", "open_loop_p99", nil)
	openLoop.value = func(s judged) *int64 { return s.OpenLoopP99Microseconds }
	storage := latency(bench.MetricStorageLatency, "Latency of the storage", "storage", nil)
	storage.Field = "storageMeanLatencyMicroseconds"
	storage.value = func(s judged) *int64 { return s.Storage.MeanLatencyMicroseconds }
	return []Metric{
		throughput, iops, capacity, mean,
		latency(bench.MetricP50Latency, "Latency, median", "p50",
			func(l *stats.Latency) *int64 { return &l.P50Microseconds }),
		latency(bench.MetricP95Latency, "Latency, 95th percentile", "p95",
			func(l *stats.Latency) *int64 { return &l.P95Microseconds }),
		p99,
		latency(bench.MetricP999Latency, "Latency, 99.9th percentile", "p999",
			func(l *stats.Latency) *int64 { return &l.P999Microseconds }),
		latency(bench.MetricMaxLatency, "Longest latency", "max",
			func(l *stats.Latency) *int64 { return &l.MaxMicroseconds }),
		openLoop,
		{
			Name: bench.MetricLongestPause, Label: "Longest pause", Unit: UnitTime, Field: "longestPauseMicroseconds",
			Series: "longest_pause_seconds",
			value:  func(s judged) *int64 { return s.LongestPauseMicroseconds },
		},
		storage,
		{
			Name: bench.MetricWire, Label: "Share of the wire limit", Unit: UnitPermille, Higher: true,
			Field: "wirePercent", Divisor: 10, Series: "wire_ratio",
			value: func(s judged) *int64 { return wide(s.WirePermille) },
		},
		{
			Name: bench.MetricClientCPU, Label: "CPU of the busiest client machine above idle", Unit: UnitPermille,
			Field: "clientCPUPermille", Series: "client_cpu_ratio",
			value: func(s judged) *int64 { return wide(s.ClientCPU.AboveIdlePermille) },
		},
		{
			Name: bench.MetricClientCPUTime, Label: "CPU of the client machines above idle, for each MiB", Unit: UnitCost,
			Field: "clientCPUMicrosecondsPerMiB", Series: "client_cpu_seconds_per_mebibyte",
			value: func(s judged) *int64 { return s.ClientCPU.MicrosecondsPerMiB },
		},
	}
}

// within returns the interval of a capacity; nil if unknown.
func (b BoundCapacity) within() *Interval {
	if b.High == 0 {
		return nil
	}
	return &Interval{Low: b.Low, High: b.High}
}

// MetricOf returns the metric with a name. For an unknown name, which a foreign file may have, it returns a metric
// with the name as its label.
func MetricOf(name string) Metric {
	for _, m := range Metrics() {
		if m.Name == name {
			return m
		}
	}
	return Metric{Name: name, Label: name, Unit: UnitTime}
}

// MetricNames returns the names of all metrics.
func MetricNames() []string {
	var names []string
	for _, m := range Metrics() {
		names = append(names, m.Name)
	}
	return names
}

// PerUnit returns the number of the metric's units in one base unit.
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

// Text formats a value.
func (m Metric) Text(v float64) string {
	switch {
	case math.IsNaN(v) || math.Abs(v) > 1e15:
		return "-"
	case m.Unit == UnitBytes:
		return human.Throughput(v)
	case m.Unit == UnitTime:
		return human.Latency(v)
	case m.Unit == UnitCost:
		return human.Latency(v) + "/MiB"
	case m.Unit == UnitPermille:
		return human.Share(v)
	default:
		return fmt.Sprintf("%.0f", v)
	}
}

// Bounds returns the fields of status.summary.intervals that hold the bounds of the interval; empty without an
// interval.
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

// Number is the value of a metric in a run. Interval has 95 % confidence; nil if there is none.
type Number struct {
	Metric

	Value    int64
	Interval *Interval
}

// Numbers returns the known metrics. A rate of 0 is unknown: a calibration may have found only one of its two. If c
// is not nil, its capacity within the first bound is included.
func Numbers(s Summary, c *Capacity) []Number {
	of := judged{Summary: s}
	if c != nil {
		of.capacity = c.Bounds[0]
	}
	var out []Number
	for _, m := range Metrics() {
		v := m.value(of)
		if v == nil {
			continue
		}
		n := Number{Metric: m, Value: *v}
		if m.interval != nil {
			n.Interval = m.interval(of)
		}
		out = append(out, n)
	}
	return out
}

func wide[T ~int32](v *T) *int64 {
	if v == nil {
		return nil
	}
	return new(int64(*v))
}
