package measure

import (
	"math"
	"slices"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
)

// Interval contains a value with 95 % confidence, from one repetition. It does not cover differences between runs.
// docs/method.md has the coverage.
type Interval struct {
	Low  int64 `json:"low"`
	High int64 `json:"high"`
}

// Ranges counts the operations of all clients by latency; empty if unknown.
func (d Direction) Ranges() []stats.Range {
	if h, err := stats.MergeEncoded(d.histograms...); err == nil && h.Count() > 0 {
		return h.Ranges()
	}
	var out []stats.Range
	for _, b := range stats.MergeBuckets(d.buckets) {
		out = append(out, stats.Range{From: b.BelowMicroseconds / 2, To: b.BelowMicroseconds - 1, Count: b.Count})
	}
	return out
}

// SlowTime returns the median latency in microseconds, the larger of least and ten times the median, and the share of
// the time of all operations in operations that took longer than that. The share is nil if unknown.
func (d Direction) SlowTime(least int64) (median, slow int64, share *int32) {
	h, err := stats.MergeEncoded(d.histograms...)
	if err != nil {
		return 0, 0, nil
	}
	median = h.Percentile(50)
	slow = max(10*median, least)
	return median, slow, PermilleOf(h.TimeAbove(slow))
}

// Text formats both ends; empty if the interval is unknown.
func (in *Interval) Text(end func(int64) string) string {
	if in == nil {
		return ""
	}
	return end(in.Low) + " to " + end(in.High)
}

// Intervals holds the intervals of a Direction; nil where unknown.
type Intervals struct {
	BytesPerSecond      *Interval `json:"bytesPerSecond,omitempty"`
	OperationsPerSecond *Interval `json:"operationsPerSecond,omitempty"`
	MeanMicroseconds    *Interval `json:"meanMicroseconds,omitempty"`
	P99Microseconds     *Interval `json:"p99Microseconds,omitempty"`
}

// around centres the interval for the mean of a series on a value. The value covers the whole window, but the series
// may have fewer samples.
func around(value float64, series []float64) *Interval {
	in, ok := stats.MeanInterval(series)
	if !ok {
		return nil
	}
	return whole(max(0, value-(in.High-in.Low)/2), value+(in.High-in.Low)/2)
}

func whole(low, high float64) *Interval {
	return &Interval{Low: int64(math.Floor(min(low, math.MaxInt64/2))), High: int64(math.Ceil(min(high, math.MaxInt64/2)))}
}

// intervals sets the intervals of the rates and of the mean latency. The points of a repetition cover both directions.
func (c *Facts) intervals(s *RepetitionFacts) {
	s.Total.rates(s.points)
	read, write := s.points, s.points
	if s.Read != nil && s.Write != nil {
		read = c.series(s.Repetition, func(l *runfile.LoadSample) { l.Write = nil })
		write = c.series(s.Repetition, func(l *runfile.LoadSample) { l.Read = nil })
	}
	if s.Read != nil {
		s.Read.rates(read)
	}
	if s.Write != nil {
		s.Write.rates(write)
	}
}

func (d *Direction) rates(points []stats.Point) {
	bytes, ops, latency := make([]float64, len(points)), make([]float64, len(points)), make([]float64, len(points))
	for i, p := range points {
		bytes[i], ops[i], latency[i] = p.BytesPerSecond(), p.OpsPerSecond, p.MeanMicroseconds*p.OpsPerSecond
	}
	d.Intervals.BytesPerSecond = around(d.ByteRate, bytes)
	d.Intervals.OperationsPerSecond = around(d.OperationRate, ops)
	rate, sum := stats.Mean(ops), stats.Mean(latency)
	if d.Latency == nil || !(rate > 0) || !(sum > 0) {
		return // a database does not report the latency of each second
	}
	// The mean is a ratio. Its seconds differ by these residuals.
	for i := range latency {
		latency[i] = (latency[i] - sum/rate*ops[i]) / rate
	}
	in := around(float64(d.Latency.MeanMicroseconds), latency)
	if known := d.Ranges(); in != nil && len(known) > 0 {
		in.Low = max(in.Low, min(known[0].From, d.Latency.MeanMicroseconds)) // no mean is below the fastest operation
	}
	d.Intervals.MeanMicroseconds = in
}

// p99Interval returns the interval of the 99th percentile. It is unknown if a client has no batches, or if the
// batches of the clients do not align.
func p99Interval(h *stats.Histogram, batches [][]runfile.Batch) *Interval {
	batches, ok := aligned(batches)
	if !ok {
		return nil
	}
	bucket := runfile.BatchBucket(h.Percentile(99))
	var over [2][]float64 // above the bucket of p99, and above the previous bucket
	var of []float64
	for _, client := range batches {
		for i, b := range client {
			counts, err := b.Counts()
			if err != nil {
				return nil
			}
			if i == len(of) {
				over[0], over[1], of = append(over[0], 0), append(over[1], 0), append(of, 0)
			}
			of[i] += float64(b.Count)
			over[1][i] += float64(counts[bucket])
			for _, n := range counts[bucket+1:] {
				over[0][i] += float64(n)
				over[1][i] += float64(n)
			}
		}
	}
	// One share is below 1 % and one above. Use the nearer one.
	slow := over[0]
	if mean := stats.Mean(of); stats.Mean(slow)*stats.Mean(over[1]) < mean*mean/100/100 {
		slow = over[1]
	}
	in, ok := h.PercentileInterval(99, slow, of)
	if !ok {
		return nil
	}
	return whole(in.Low, in.High)
}

// aligned merges the batches of each client until they have the same length for all clients.
func aligned(all [][]runfile.Batch) ([][]runfile.Batch, bool) {
	longest := int64(0)
	for _, batches := range all {
		if len(batches) == 0 || len(batches) > runfile.MaxBatches {
			return nil, false
		}
		longest = max(longest, batches[0].Milliseconds)
	}
	out := slices.Clone(all)
	for i, batches := range out {
		for len(batches) > 1 && batches[0].Milliseconds > 0 && batches[0].Milliseconds < longest {
			batches = runfile.MergeBatches(batches)
		}
		if len(batches) == 0 || batches[0].Milliseconds != longest {
			return nil, false
		}
		out[i] = batches
	}
	return out, len(out) > 0
}

// openLoop sets the numbers that a raw closed loop hides; h has the latencies of Total.
func (c *Facts) openLoop(s *Summary, h *stats.Histogram) {
	raw := c.Plan.Workload.Raw
	open := slices.ContainsFunc(c.result.Clients, func(cl runfile.ClientResult) bool { return cl.Load.LoopMode == "open" })
	if raw == nil || open || s.Total.OperationRate <= 0 {
		return
	}
	workers := float64(s.Clients) * float64(raw.Jobs) * float64(raw.Depth)
	s.OpenLoopP99Microseconds = new(h.OpenLoopP99(workers * 1e6 / s.Total.OperationRate))
	s.StalledPermille = PermilleOf(h.TimeAbove(10 * h.Percentile(99)))
}
