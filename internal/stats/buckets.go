package stats

import (
	"maps"
	"math"
	"slices"
)

// Bucket counts latencies below a bound and not below that of the bucket
// before, as V$EVENT_HISTOGRAM_MICRO does with powers of two.
type Bucket struct {
	BelowMicroseconds int64 // exclusive
	Count             int64
}

// MergeBuckets adds up buckets of the same bound and sorts by bound. What counts
// nothing, or less, is left out.
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

// BucketLatency summarises buckets: percentiles and maximum are the bounds of
// the buckets that they fall in, so they are upper bounds. The mean is
// totalMicroseconds, all latencies added up, over their number; without a total
// (0) it is not known and 0. Of nothing it is nil.
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
		MeanMicroseconds: int64(math.Round(float64(max(totalMicroseconds, 0)) / float64(count))),
		P50Microseconds:  bucketPercentile(merged, count, 0.50),
		P95Microseconds:  bucketPercentile(merged, count, 0.95),
		P99Microseconds:  bucketPercentile(merged, count, 0.99),
		P999Microseconds: bucketPercentile(merged, count, 0.999),
		MaxMicroseconds:  merged[len(merged)-1].BelowMicroseconds,
		Bucketed:         true,
	}
}

// MeanLatency is what is known where only a sum of latencies was counted; nil of
// nothing.
func MeanLatency(count int64, totalMicroseconds float64) *Latency {
	mean := totalMicroseconds / float64(count)
	if count <= 0 || !(mean > 0 && mean < math.MaxInt64) {
		return nil
	}
	return &Latency{Count: count, MeanMicroseconds: int64(math.Round(mean)), MeanOnly: true}
}

// bucketPercentile is the bound of the first bucket up to which a share of all
// latencies lies.
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

// saturated adds two counts that are not negative and stops at the largest one:
// a broken file must not turn a count negative.
func saturated(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
