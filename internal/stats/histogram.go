// Package stats holds the arithmetic of a benchmark: latency histograms that
// are merged and never averaged, medians and variation, steadiness, time series of
// several clients on one clock, and tests of ranks with their intervals.
//
// It is pure: values in, values out, no clock and no I/O.
package stats

import (
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// The one geometry of all histograms. Histograms of one geometry merge without loss; 3 significant digits
// mean an error of at most 0.1 %.
const (
	lowestMicroseconds = 1
	// HighestMicroseconds is the longest latency that a histogram distinguishes from longer ones.
	HighestMicroseconds = int64(10 * time.Minute / time.Microsecond)
	significantDigits   = 3
)

// Histogram counts latencies in microseconds. The zero value is not usable: call NewHistogram. It
// is not safe for concurrent use; give each worker its own and merge them.
type Histogram struct{ h *hdr.Histogram }

// NewHistogram returns an empty histogram of 1 microsecond to 10 minutes.
func NewHistogram() *Histogram {
	return &Histogram{h: hdr.New(lowestMicroseconds, HighestMicroseconds, significantDigits)}
}

// Record counts operations of one latency. A latency outside the range counts at the end of the range, so
// that no operation is lost. Record does not allocate.
func (h *Histogram) Record(microseconds, operations int64) {
	// The only error of RecordValues is a value out of range.
	_ = h.h.RecordValues(min(max(microseconds, 0), HighestMicroseconds), operations)
}

// Merge adds the counts of other.
func (h *Histogram) Merge(other *Histogram) {
	if other != nil {
		h.h.Merge(other.h)
	}
}

// Count returns the number of recorded latencies.
func (h *Histogram) Count() int64 { return h.h.TotalCount() }

// Percentile returns the latency in microseconds that p percent of all operations did not exceed; 0 for an
// empty histogram.
func (h *Histogram) Percentile(p float64) int64 { return h.h.ValueAtPercentile(p) }

// Range counts the latencies from From to To microseconds, both included.
type Range struct{ From, To, Count int64 }

// Ranges returns the buckets of the histogram that are not empty, in ascending order.
func (h *Histogram) Ranges() []Range {
	var out []Range
	for _, b := range h.h.Distribution() {
		if b.Count > 0 {
			out = append(out, Range{From: b.From, To: b.To, Count: b.Count})
		}
	}
	return out
}

// TimeAbove returns the share of the total time of all operations that operations of more than this many
// microseconds took; 0 for an empty histogram.
func (h *Histogram) TimeAbove(microseconds int64) float64 {
	time, above := 0.0, 0.0
	for _, r := range h.Ranges() {
		t := float64(r.Count) * float64(r.From+r.To) / 2
		time += t
		if r.From > microseconds {
			above += t
		}
	}
	if time == 0 {
		return 0
	}
	return above / time
}

// OpenLoopP99 returns the 99th percentile, in microseconds, that a load which does not wait for slow
// operations would have measured. It corrects the latencies of a closed loop, in which a worker starts an
// operation every interval microseconds on average. An operation that takes v, longer than the interval,
// stands for the operations that were due meanwhile: they would have taken v less one interval, v less two
// intervals, and so on, down to one interval. They replace other operations, because the mean rate and so the
// number of operations stay the same. The cost does not depend on the number of operations.
func (h *Histogram) OpenLoopP99(interval float64) int64 {
	ranges, high := h.Ranges(), h.h.Max()
	if !(interval > 0) || high == 0 {
		return h.Percentile(99)
	}
	// The shortest latency that at most 1 % exceed.
	low := int64(-1)
	for low+1 < high {
		at, above := low+(high-low)/2, 0.0
		for _, r := range ranges {
			if middle := float64(r.From+r.To) / 2; middle > float64(at) {
				above += float64(r.Count) * (1 + standsFor(middle, interval, float64(at)))
			}
		}
		if above > float64(h.Count())/100 {
			low = at
		} else {
			high = at
		}
	}
	return high
}

// standsFor returns how many of the operations that an operation stands for would have taken longer than above.
func standsFor(latency, interval, above float64) float64 {
	return max(0, min(math.Floor(latency/interval), math.Ceil((latency-above)/interval))-1)
}

// Encode returns the histogram in the HdrHistogram V2 compressed form, in base64.
func (h *Histogram) Encode() (string, error) {
	b, err := h.h.EncodeV2()
	if err != nil {
		return "", fmt.Errorf("encode histogram: %w", err)
	}
	return string(b), nil
}

// DecodeHistogram reads the output of Encode. It refuses histograms of another geometry, because
// merging them would silently lose precision.
func DecodeHistogram(encoded string) (*Histogram, error) {
	if err := checkGeometry(encoded); err != nil {
		return nil, fmt.Errorf("decode histogram: %w", err)
	}
	h, err := hdr.Decode([]byte(encoded))
	if err != nil {
		return nil, fmt.Errorf("decode histogram: %w", err)
	}
	return &Histogram{h: h}, nil
}

// checkGeometry returns an error for a histogram of another geometry. It decodes only the header, because the
// library allocates the buckets that a header asks for, and the widest geometry has six million.
func checkGeometry(encoded string) error {
	const outer = 8 // cookie and length, before the compressed part
	in := base64.NewDecoder(base64.StdEncoding, strings.NewReader(encoded))
	if _, err := io.CopyN(io.Discard, in, outer); err != nil {
		return err
	}
	plain, err := zlib.NewReader(in)
	if err != nil {
		return err
	}
	var head struct {
		Cookie, Length, Offset, Digits int32
		Lowest, Highest                int64
	}
	if err := binary.Read(plain, binary.BigEndian, &head); err != nil {
		return err
	}
	if head.Highest != HighestMicroseconds || head.Digits != significantDigits || head.Lowest != lowestMicroseconds {
		return fmt.Errorf("range %d..%d with %d digits; want %d..%d microseconds with %d",
			head.Lowest, head.Highest, head.Digits, lowestMicroseconds, HighestMicroseconds, significantDigits)
	}
	return nil
}

// MergeEncoded decodes and merges histograms. It skips empty strings.
func MergeEncoded(encoded ...string) (*Histogram, error) {
	sum := NewHistogram()
	for i, e := range encoded {
		if e == "" {
			continue
		}
		h, err := DecodeHistogram(e)
		if err != nil {
			return nil, fmt.Errorf("histogram %d: %w", i, err)
		}
		sum.Merge(h)
	}
	return sum, nil
}

// Latency is the distribution of a histogram, in microseconds.
type Latency struct {
	Count            int64 `json:"count"`
	MeanMicroseconds int64 `json:"meanMicroseconds"`
	P50Microseconds  int64 `json:"p50Microseconds"`
	P95Microseconds  int64 `json:"p95Microseconds"`
	P99Microseconds  int64 `json:"p99Microseconds"`
	P999Microseconds int64 `json:"p999Microseconds"`
	MaxMicroseconds  int64 `json:"maxMicroseconds"`
	// Bucketed means that percentiles and maximum are upper bounds, within a factor of two, because the database
	// counts in buckets of powers of two. The mean is exact.
	Bucketed bool `json:"bucketed,omitempty"`
	// MeanOnly means that percentiles and maximum are unknown, and 0 here.
	MeanOnly bool `json:"meanOnly,omitempty"`
}

// Latency summarises the histogram. It returns nil if the histogram is empty.
func (h *Histogram) Latency() *Latency {
	if h == nil || h.Count() == 0 {
		return nil
	}
	return &Latency{
		Count:            h.Count(),
		MeanMicroseconds: int64(math.Round(h.h.Mean())),
		P50Microseconds:  h.Percentile(50),
		P95Microseconds:  h.Percentile(95),
		P99Microseconds:  h.Percentile(99),
		P999Microseconds: h.Percentile(99.9),
		MaxMicroseconds:  h.h.Max(),
	}
}

// Bucket counts latencies below its bound and at or above the bound of the previous bucket, as
// V$EVENT_HISTOGRAM_MICRO does with powers of two.
type Bucket struct {
	BelowMicroseconds int64 // exclusive
	Count             int64
}

// MergeBuckets adds up buckets of the same bound and sorts them by bound. It omits buckets whose count is not
// positive.
func MergeBuckets(buckets []Bucket) []Bucket {
	counts := map[int64]int64{}
	for _, b := range buckets {
		if b.Count > 0 {
			counts[b.BelowMicroseconds] = saturated(counts[b.BelowMicroseconds], b.Count)
		}
	}
	merged := make([]Bucket, 0, len(counts))
	for _, below := range slices.Sorted(maps.Keys(counts)) {
		merged = append(merged, Bucket{BelowMicroseconds: below, Count: counts[below]})
	}
	return merged
}

// BucketLatency summarises buckets. Percentiles and maximum are upper bounds: each is the bound of its
// bucket. The mean is totalMicroseconds, the sum of all latencies, divided by their number; without a total
// (0) the mean is 0, which means unknown. BucketLatency returns nil if the buckets are empty.
func BucketLatency(buckets []Bucket, totalMicroseconds int64) *Latency {
	merged := MergeBuckets(buckets)
	count := int64(0)
	for _, b := range merged {
		count = saturated(count, b.Count)
	}
	if count == 0 {
		return nil
	}
	return &Latency{
		Count:            count,
		MeanMicroseconds: int64(math.Round(min(float64(max(totalMicroseconds, 0))/float64(count), math.MaxInt64/2))),
		P50Microseconds:  bucketPercentile(merged, count, 0.50),
		P95Microseconds:  bucketPercentile(merged, count, 0.95),
		P99Microseconds:  bucketPercentile(merged, count, 0.99),
		P999Microseconds: bucketPercentile(merged, count, 0.999),
		MaxMicroseconds:  merged[len(merged)-1].BelowMicroseconds,
		Bucketed:         true,
	}
}

// MeanLatency returns a summary that has only the mean, for sources that count only a sum of latencies. It
// returns nil without operations or without a positive mean.
func MeanLatency(count int64, totalMicroseconds float64) *Latency {
	mean := totalMicroseconds / float64(count)
	if count <= 0 || !(mean > 0 && mean < math.MaxInt64) {
		return nil
	}
	return &Latency{Count: count, MeanMicroseconds: int64(math.Round(mean)), MeanOnly: true}
}

// bucketPercentile returns the bound of the first bucket up to which at least this share of all latencies
// lies.
func bucketPercentile(merged []Bucket, count int64, share float64) int64 {
	rank := max(int64(math.Ceil(share*float64(count)-1e-9)), 1)
	seen := int64(0)
	for _, b := range merged {
		seen = saturated(seen, b.Count)
		if seen >= rank {
			return b.BelowMicroseconds
		}
	}
	return merged[len(merged)-1].BelowMicroseconds
}

// saturated adds two counts that are not negative and returns at most math.MaxInt64: a broken file must not
// turn a count negative.
func saturated(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
