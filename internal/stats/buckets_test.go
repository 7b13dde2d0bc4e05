package stats

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBucketsGiveUpperBoundsAndAnExactMean(t *testing.T) {
	t.Parallel()
	// 50 below 256, 45 below 512, 4 below 1024, and one below 65536.
	buckets := []Bucket{{512, 45}, {256, 20}, {65536, 1}, {256, 30}, {1024, 4}, {128, 0}, {64, -7}}
	got := BucketLatency(buckets, 35_550)
	want := &Latency{
		Count: 100, MeanMicroseconds: 356, P50Microseconds: 256, P95Microseconds: 512, P99Microseconds: 1024,
		P999Microseconds: 65536, MaxMicroseconds: 65536, Bucketed: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestMergedBucketsAreThoseOfAllTogether(t *testing.T) {
	t.Parallel()
	got := MergeBuckets([]Bucket{{1024, 3}, {256, 1}, {1024, 4}, {512, 0}})
	if diff := cmp.Diff([]Bucket{{256, 1}, {1024, 7}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestOfNothingNoLatencyIsKnown(t *testing.T) {
	t.Parallel()
	for name, got := range map[string]*Latency{
		"no buckets": BucketLatency(nil, 100), "empty buckets": BucketLatency([]Bucket{{256, 0}}, 100),
		"no operation": MeanLatency(0, 100), "no time": MeanLatency(10, 0), "less than nothing": MeanLatency(-1, 10),
		"not a time": MeanLatency(1, math.NaN()), "endless": MeanLatency(1, math.Inf(1)),
	} {
		if got != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestAMeanAloneSaysThatItIsAlone(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(&Latency{Count: 4, MeanMicroseconds: 356, MeanOnly: true}, MeanLatency(4, 1422.03)); diff != "" {
		t.Error(diff)
	}
}

func TestCountsOfABrokenFileStayPositive(t *testing.T) {
	t.Parallel()
	l := BucketLatency([]Bucket{{256, math.MaxInt64}, {512, math.MaxInt64}}, math.MinInt64)
	if l.Count != math.MaxInt64 || l.MeanMicroseconds != 0 || l.P50Microseconds != 256 {
		t.Errorf("%+v", l)
	}
}
