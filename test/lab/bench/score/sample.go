// Package score turns the repeats of a benchmark into medians, spreads and
// ratios, and those into a table.
//
// Contenders of a row are measured in turns, repeat by repeat. A ratio is
// therefore taken within each repeat, where both sides had the same machine to
// the same degree, and only then the median over the repeats: what slows the
// machine for a minute slows both sides and cancels out.
//
// It is pure: values in, values out, no clock and no I/O.
package score

import (
	"slices"

	"github.com/nfsbench/nfsbench/internal/stats"
)

// The outcomes of a measurement.
const (
	StateDone   = "done"
	StateHangs  = "hangs"  // it did not end in time and was killed
	StateFailed = "failed" // it ended with an error, or said nothing usable
)

// Units of a row.
const (
	UnitBytes = "MB/s" // 10^6 bytes a second; CPU per GiB
	UnitOps   = "IOPS" // CPU per million operations
)

// Metrics that can be compared.
const (
	MetricRate   = "rate"   // in the unit of the row; more is better
	MetricCPU    = "cpu"    // seconds of client CPU for the work that CPUUnit names
	MetricMemory = "memory" // largest resident set, MiB
	MetricP99    = "p99"    // milliseconds
)

// Document is everything that one call of the benchmark measured.
type Document struct {
	Version   string   `json:"version"`
	Started   string   `json:"started"` // RFC 3339
	Ended     string   `json:"ended,omitempty"`
	Complete  bool     `json:"complete"` // false: interrupted, and some rows have fewer repeats
	Repeats   int      `json:"repeats"`
	Seconds   int      `json:"seconds"` // of each measured window
	Machine   Machine  `json:"machine"`
	Rows      []Row    `json:"rows"`
	Samples   []Sample `json:"samples"`
	Reminders []string `json:"reminders,omitempty"` // what a reader of the figures must know
	// CapacityReminders concern the capacity rows only.
	CapacityReminders []string `json:"capacityReminders,omitempty"`
}

// Machine describes the machine that the figures depend on.
type Machine struct {
	Cores       int               `json:"cores"`
	CPU         string            `json:"cpu,omitempty"`
	MemoryBytes int64             `json:"memoryBytes,omitempty"`
	Kernel      string            `json:"kernel"`
	System      string            `json:"system,omitempty"`
	Congestion  string            `json:"tcpCongestionControl,omitempty"`
	LoadBefore  float64           `json:"loadAverageBefore"` // of the minute before the first measurement
	Versions    map[string]string `json:"versions"`          // of the programs that took part; why one did not
}

// Row is one line of work that several contenders do.
type Row struct {
	Name       string      `json:"name"`
	Title      string      `json:"title"`
	Unit       string      `json:"unit"`
	Contenders []Contender `json:"contenders"` // the first one is the subject of the row
	Checks     []Check     `json:"checks,omitempty"`
}

// Contender is a program that does the work of a row.
type Contender struct {
	Name string `json:"name"`           // unique in its row
	Work string `json:"work,omitempty"` // where it differs from the title of the row
}

// Check is the requirement on a row: the median of the ratio of two contenders, or, without To, the
// median of one.
type Check struct {
	Metric  string  `json:"metric"`
	Of      string  `json:"of"`
	To      string  `json:"to,omitempty"`
	AtLeast float64 `json:"atLeast,omitempty"` // 0 = no lower bound
	AtMost  float64 `json:"atMost,omitempty"`  // 0 = no upper bound
}

// Sample is one measurement of one contender.
type Sample struct {
	Row       string `json:"row"`
	Contender string `json:"contender"`
	Repeat    int    `json:"repeat"` // from 1
	State     string `json:"state"`
	Message   string `json:"message,omitempty"` // what went wrong

	Seconds float64 `json:"seconds,omitempty"` // of the window
	Bytes   int64   `json:"bytes,omitempty"`   // payload in the window
	Ops     int64   `json:"ops,omitempty"`
	// CPUSeconds is the user and system time of the client in the window, absent if the tool does not
	// report it. ProcessCPUSeconds is the CPU time of its processes from start to end.
	CPUSeconds        *float64 `json:"cpuSeconds,omitempty"`
	ProcessCPUSeconds float64  `json:"processCPUSeconds,omitempty"`
	PeakMemoryBytes   int64    `json:"peakMemoryBytes,omitempty"` // of its largest process
	P50Microseconds   *int64   `json:"p50Microseconds,omitempty"`
	P99Microseconds   *int64   `json:"p99Microseconds,omitempty"`
	// Capacity is the result of a contender in a row with UnitCapacity.
	Capacity *Capacity `json:"capacity,omitempty"`
}

// Value gives one metric of a sample in a row's unit. It is false where the
// sample does not know it.
func (s Sample) Value(metric, unit string) (float64, bool) {
	if s.State != StateDone {
		return 0, false
	}
	const gib, mib, million = 1 << 30, 1 << 20, 1e6
	switch metric {
	case MetricCapacity, MetricTime:
		return s.Capacity.value(metric)
	case MetricRate:
		if unit == UnitOps {
			return ratio(float64(s.Ops), s.Seconds)
		}
		return ratio(float64(s.Bytes)/million, s.Seconds)
	case MetricCPU:
		if s.CPUSeconds == nil {
			return 0, false
		}
		if unit == UnitOps {
			return ratio(*s.CPUSeconds, float64(s.Ops)/million)
		}
		return ratio(*s.CPUSeconds, float64(s.Bytes)/gib)
	case MetricMemory:
		return float64(s.PeakMemoryBytes) / mib, s.PeakMemoryBytes > 0
	case MetricP99:
		if s.P99Microseconds == nil {
			return 0, false
		}
		return float64(*s.P99Microseconds) / 1000, true
	default:
		return 0, false
	}
}

func ratio(a, b float64) (float64, bool) {
	if b <= 0 {
		return 0, false
	}
	return a / b, true
}

// SamplesOf lists the results of a contender of a row, by repeat.
func (d Document) SamplesOf(row, contender string) []Sample {
	var out []Sample
	for _, s := range d.Samples {
		if s.Row == row && s.Contender == contender {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b Sample) int { return a.Repeat - b.Repeat })
	return out
}

// Only returns the document with its capacity rows only, or only with the others.
func (d Document) Only(capacity bool) Document {
	is := map[string]bool{}
	for _, r := range d.Rows {
		is[r.Name] = r.Unit == UnitCapacity
	}
	d.Rows = slices.DeleteFunc(slices.Clone(d.Rows), func(r Row) bool { return is[r.Name] != capacity })
	d.Samples = slices.DeleteFunc(slices.Clone(d.Samples), func(s Sample) bool { return is[s.Row] != capacity })
	if !capacity {
		d.CapacityReminders = nil
	}
	return d
}

// Spread is a median and how much the repeats differed.
type Spread struct {
	Median   float64  `json:"median"`
	Min      float64  `json:"min"`
	Max      float64  `json:"max"`
	CV       *float64 `json:"cv,omitempty"` // sample standard deviation over mean; unknown of one repeat
	Repeats  int      `json:"repeats"`
	Failures int      `json:"failures,omitempty"` // repeats that hung or failed, and are in none of the figures
}

// SpreadOf summarises values; ok is false of nothing.
func SpreadOf(values []float64) (s Spread, ok bool) {
	if len(values) == 0 {
		return s, false
	}
	s = Spread{Median: stats.Median(values), Min: slices.Min(values), Max: slices.Max(values), Repeats: len(values)}
	if cv, known := stats.CoefficientOfVariation(values); known {
		s.CV = &cv
	}
	return s, true
}

// Of summarises one metric of one contender. It returns false if no repeat has it.
func (d Document) Of(row Row, contender, metric string) (Spread, bool) {
	var values []float64
	failures := 0
	for _, s := range d.SamplesOf(row.Name, contender) {
		if s.State != StateDone {
			failures++
		}
		if v, ok := s.Value(metric, row.Unit); ok {
			values = append(values, v)
		}
	}
	spread, ok := SpreadOf(values)
	spread.Failures = failures
	return spread, ok
}

// Ratio summarises one metric of one contender over that of another, taken within each repeat. It
// returns false if no repeat has both.
func (d Document) Ratio(row Row, of, to, metric string) (Spread, bool) {
	theirs := map[int]float64{}
	for _, s := range d.SamplesOf(row.Name, to) {
		if v, ok := s.Value(metric, row.Unit); ok {
			theirs[s.Repeat] = v
		}
	}
	var ratios []float64
	for _, s := range d.SamplesOf(row.Name, of) {
		mine, ok := s.Value(metric, row.Unit)
		other, both := theirs[s.Repeat]
		if !ok || !both {
			continue
		}
		if r, ok := ratio(mine, other); ok {
			ratios = append(ratios, r)
		}
	}
	return SpreadOf(ratios)
}

// Outcome of a check.
type Outcome string

// The outcomes.
const (
	Met     Outcome = "met"
	Missed  Outcome = "missed"
	Unknown Outcome = "unknown" // one of the two was not measured
)

// Judge compares the median with the bounds of a check. A check whose subject
// hung or failed in any repeat is missed, whatever the other repeats gave.
func (d Document) Judge(row Row, c Check) (Spread, Outcome) {
	for _, s := range d.SamplesOf(row.Name, c.Of) {
		if s.State != StateDone {
			return Spread{}, Missed
		}
	}
	spread, ok := d.Of(row, c.Of, c.Metric)
	if c.To != "" {
		spread, ok = d.Ratio(row, c.Of, c.To, c.Metric)
	}
	switch {
	case !ok:
		return spread, Unknown
	case c.AtLeast > 0 && spread.Median < c.AtLeast, c.AtMost > 0 && spread.Median > c.AtMost:
		return spread, Missed
	default:
		return spread, Met
	}
}
