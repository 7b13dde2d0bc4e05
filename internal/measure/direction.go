package measure

import (
	"math"
	"slices"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
)

func directionOf(ops *runfile.Ops, seconds float64) *Direction {
	if ops == nil {
		return nil
	}
	return &Direction{
		Ops: ops.Count, Bytes: ops.Bytes, Errors: ops.Errors, histograms: []string{ops.Histogram},
		batches: [][]runfile.Batch{ops.Batches}, buckets: bucketsOf(ops.Buckets), latencySum: ops.TotalMicroseconds,
		ByteRate: float64(ops.Bytes) / seconds, OperationRate: float64(ops.Count) / seconds,
	}
}

// joined returns the sum of two directions. Either may be nil.
func joined(sum, d *Direction) *Direction {
	if d == nil {
		return sum
	}
	return new(bench.OrZero(sum).plus(*d))
}

func (d Direction) plus(o Direction) Direction {
	return Direction{
		Ops: d.Ops + o.Ops, Bytes: d.Bytes + o.Bytes, Errors: d.Errors + o.Errors,
		histograms: slices.Concat(d.histograms, o.histograms), batches: slices.Concat(d.batches, o.batches),
		buckets:    slices.Concat(d.buckets, o.buckets),
		latencySum: d.latencySum + o.latencySum,
		ByteRate:   d.ByteRate + o.ByteRate, OperationRate: d.OperationRate + o.OperationRate,
	}
}

// finish rounds the rates and takes the percentiles from the merged histograms, which it returns,
// or else from the merged buckets. A histogram that cannot be read leaves the latency unknown.
func (c *Facts) finish(d *Direction) *stats.Histogram {
	d.BytesPerSecond = int64(math.Round(d.ByteRate))
	d.OperationsPerSecond = int64(math.Round(d.OperationRate))
	h, err := stats.MergeEncoded(d.histograms...)
	if err != nil {
		c.Unreadable = WithNew(c.Unreadable, err.Error())
		return nil
	}
	d.Latency = h.Latency()
	if d.Latency == nil {
		d.Latency = stats.BucketLatency(d.buckets, d.latencySum)
		return nil
	}
	d.Intervals.P99Microseconds = p99Interval(h, d.batches)
	return h
}

// wireShare compares each direction with the link capacity in that direction. The repetition's share is the share of
// the busier direction.
func (c *Facts) wireShare(s *Summary) {
	if c.Wire == nil {
		return
	}
	busier := 0.0
	if s.Read != nil {
		busier = s.Read.shareOf(c.Wire.ReadBytesPerSecond)
	}
	if s.Write != nil {
		busier = max(busier, s.Write.shareOf(c.Wire.WriteBytesPerSecond))
	}
	s.WirePermille = (*Permille)(PermilleOf(busier))
	s.Total.WirePermille = s.WirePermille
}

func (d *Direction) shareOf(limit int64) float64 {
	share := d.ByteRate / float64(limit)
	d.WirePermille = (*Permille)(PermilleOf(share))
	return share
}
