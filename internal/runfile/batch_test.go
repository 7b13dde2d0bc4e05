package runfile

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/test/kit/memory"
)

func TestALatencyIsInTheFirstBucketThatReachesIt(t *testing.T) {
	t.Parallel()
	longest := func(bucket int) float64 { return math.Exp2(float64(bucket) / bucketsPerDoubling) }
	for _, us := range []int64{0, 1, 2, 3, 16, 17, 1000, 1024, 1025, 600_000_000} {
		b := BatchBucket(us)
		if float64(us) > longest(b)*(1+1e-9) || b > 0 && float64(us) <= longest(b-1) {
			t.Errorf("%d us: bucket %d up to %.1f us", us, b, longest(b))
		}
	}
	if b := BatchBucket(math.MaxInt64); b != MaxBatchBucket {
		t.Errorf("the longest latency is in bucket %d", b)
	}
}

func TestABatchKeepsItsUpperHalf(t *testing.T) {
	t.Parallel()
	counts := make([]int64, MaxBatchBucket+1)
	counts[10], counts[20], counts[30], counts[MaxBatchBucket] = 3, 4, 2, 1
	b := NewBatch(1000, counts)
	if diff := cmp.Diff(Batch{Milliseconds: 1000, Count: 10, Latencies: "20:7 30:2 480:1"}, b); diff != "" {
		t.Fatal(diff)
	}
	got, err := b.Counts()
	if err != nil || got[20] != 7 || got[30] != 2 || got[MaxBatchBucket] != 1 {
		t.Error(got, err)
	}
	if got, err := NewBatch(1000, nil).Counts(); err != nil || len(got) != MaxBatchBucket+1 {
		t.Error("a batch without operations:", err)
	}
}

func TestMergedBatchesAreThoseOfTheSum(t *testing.T) {
	t.Parallel()
	one := Batch{Milliseconds: 1000, Count: 3, Latencies: "7:2 9:1"}
	got := MergeBatches([]Batch{one, {Milliseconds: 1000, Count: 1, Latencies: "480:1"}, one})
	want := []Batch{{Milliseconds: 2000, Count: 4, Latencies: "7:2 9:1 480:1"}, one}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := MergeBatches([]Batch{one, {Milliseconds: 1000, Count: 1, Latencies: "x"}}); got != nil {
		t.Error("a broken batch gave", got)
	}
}

func TestABrokenBatchIsRefused(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]Batch{
		"no time":            {Count: 1, Latencies: "1:1"},
		"negative":           {Milliseconds: 1, Count: -1},
		"negative count":     {Milliseconds: 1, Count: 1, Latencies: "1:-1 2:2"},
		"more than all":      {Milliseconds: 1, Count: 2, Latencies: "1:3"},
		"overflow":           {Milliseconds: 1, Count: math.MaxInt64, Latencies: "1:9223372036854775807 2:9223372036854775807"},
		"less than all":      {Milliseconds: 1, Count: 2, Latencies: "1:1"},
		"out of order":       {Milliseconds: 1, Count: 2, Latencies: "2:1 1:1"},
		"twice":              {Milliseconds: 1, Count: 2, Latencies: "1:1 1:1"},
		"beyond the last":    {Milliseconds: 1, Count: 1, Latencies: "481:1"},
		"negative bucket":    {Milliseconds: 1, Count: 1, Latencies: "-1:1"},
		"no count":           {Milliseconds: 1, Count: 1, Latencies: "1"},
		"too long":           {Milliseconds: 1, Count: 1, Latencies: "1:1" + strings.Repeat(" ", maxLatenciesBytes)},
		"a huge blank count": {Milliseconds: 1, Count: math.MaxInt64},
	} {
		if _, err := b.Counts(); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func FuzzBatch(f *testing.F) {
	f.Add(int64(1000), int64(3), "7:2 9:1")
	f.Fuzz(func(t *testing.T, milliseconds, count int64, latencies string) {
		b := Batch{Milliseconds: milliseconds, Count: count, Latencies: latencies}
		var counts []int64
		var err error
		memory.Bound(t, 64<<10+4*len(latencies), func() { counts, err = b.Counts() })
		if err != nil {
			return
		}
		again, err := NewBatch(milliseconds, counts).Counts()
		if err != nil {
			t.Fatal(err)
		}
		sum := int64(0)
		for _, n := range again {
			sum += n
		}
		if sum != count {
			t.Fatalf("%d of %d operations", sum, count)
		}
	})
}
