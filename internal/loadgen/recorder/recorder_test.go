package recorder

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"
	"unsafe"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/nfsbench/nfsbench/internal/stats"
)

func TestBucketsAreThoseOfTheHistogramInTheResult(t *testing.T) {
	h := hdr.New(1, stats.HighestMicroseconds, 3)
	rnd := rand.New(rand.NewPCG(1, 1))
	for n := range 200_000 {
		us := int64(n)
		if n >= 5000 {
			us = rnd.Int64N(int64(1) << rnd.IntN(30))
		}
		us = min(us, stats.HighestMicroseconds)
		i := indexOf(us)
		if i < 0 || i >= buckets {
			t.Fatalf("%d us falls into bucket %d of %d", us, i, buckets)
		}
		if low, high := valueOf(i), highestIn(i); us < low || us > high {
			t.Fatalf("%d us falls into bucket %d, which is %d to %d", us, i, low, high)
		}
		if !h.ValuesAreEquivalent(us, valueOf(i)) || !h.ValuesAreEquivalent(us, highestIn(i)) {
			t.Fatalf("bucket %d of %d us is not one of the library's", i, us)
		}
	}
}

func TestTheResultHasEveryOperationOfEveryWorker(t *testing.T) {
	const workers, each = 37, 1000
	r := New(workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range each {
				r.Shard(w).Record(Measure, Write, time.Duration(i+1)*time.Millisecond, 8192)
			}
			r.Shard(w).Record(Warmup, Write, time.Hour, 8192)
			r.Shard(w).RecordError(Write, 2*time.Second)
		})
	}
	wg.Wait()

	var s Snapshot
	r.ReadWindow(&s, Write, false)
	ops, err := s.Ops()
	if err != nil {
		t.Fatal(err)
	}
	if ops.Count != workers*each || ops.Bytes != workers*each*8192 || ops.Errors != workers {
		t.Errorf("counted %d operations, %d bytes, %d errors", ops.Count, ops.Bytes, ops.Errors)
	}
	h, err := stats.DecodeHistogram(ops.Histogram)
	if err != nil {
		t.Fatalf("package stats cannot read it: %v", err)
	}
	if h.Count() != ops.Count+ops.Errors || h.Percentile(100) < 1_999_000 {
		t.Errorf("the histogram has %d latencies up to %d us, want %d and those of the errors, 2 s",
			h.Count(), h.Percentile(100), ops.Count)
	}
	if p := h.Percentile(50); p < 498_500 || p > 501_500 {
		t.Errorf("median %d us, want 500 ms within 0.1 %%", p)
	}

	r.Read(&s, Write, Warmup, Measure)
	if s.Count != workers*(each+1) {
		t.Errorf("both phases have %d operations, want %d", s.Count, workers*(each+1))
	}
	r.Read(&s, Read, Warmup, Measure)
	if ops, err := s.Ops(); ops != nil || err != nil {
		t.Errorf("reads, of which there were none, gave %v, %v", ops, err)
	}
	r.Reset()
	r.Read(&s, Write, Warmup, Measure)
	if s.Count != 0 || s.Bytes != 0 || s.Errors != 0 {
		t.Errorf("after Reset there still was %+v", s)
	}
	r.Shard(0).Record(Measure, Write, time.Second, 8192)
	if r.Read(&s, Write, Warmup, Measure); s.Count != 1 || s.Bytes != 8192 {
		t.Errorf("of one operation after Reset there are %d, with %d bytes", s.Count, s.Bytes)
	}
}

func TestAWaitThatTheEndCutsOffCountsIfItIsLongerThanAllAnswers(t *testing.T) {
	r := New(1)
	r.Shard(0).Record(Measure, Read, time.Second, 10)
	for _, wait := range []time.Duration{time.Millisecond, 3 * time.Second} {
		r.Shard(0).Record(Unended, Read, wait, 10)
	}
	var s Snapshot
	r.ReadWindow(&s, Read, true)
	if all := s.SlowerThan(0); all != 3 {
		t.Errorf("an open loop has %d latencies, want 3", all)
	}
	r.ReadWindow(&s, Read, false)
	ops, err := s.Ops()
	if err != nil || ops.Count != 1 || ops.Bytes != 10 {
		t.Fatalf("%+v, %v", ops, err)
	}
	h, err := stats.DecodeHistogram(ops.Histogram)
	if err != nil || h.Count() != 2 || h.Percentile(100) < 2_990_000 {
		t.Errorf("%d latencies up to %d us (%v), want 2 up to 3 s", h.Count(), h.Percentile(100), err)
	}
}

func TestASampleIsTheDifferenceOfTwoMoments(t *testing.T) {
	r := New(2)
	var before, after Snapshot
	r.Shard(0).Record(Warmup, Read, 10*time.Second, 100)
	r.Read(&before, Read, Warmup, Measure)
	for i := range 100 {
		r.Shard(i).Record(Measure, Read, time.Duration(i+1)*time.Microsecond, 10)
	}
	r.Shard(0).RecordError(Read, 200*time.Microsecond)
	r.Read(&after, Read, Warmup, Measure, Failed)

	got := after.Since(&before)
	if got == nil {
		t.Fatal("no sample")
	}
	if got.Count != 100 || got.Bytes != 1000 || got.Errors != 1 {
		t.Errorf("sample has %d operations, %d bytes, %d errors; want 100, 1000, 1", got.Count, got.Bytes, got.Errors)
	}
	if got.P50Microseconds != 51 || got.P99Microseconds != 100 || got.MaxMicroseconds != 200 || got.MeanMicroseconds != 51 {
		t.Errorf("latencies %+v; want p50 51, p99 100, max 200, mean 51", got)
	}
	if nothing := after.Since(&after); nothing != nil {
		t.Errorf("no time passed, but there is a sample %+v", nothing)
	}
}

func TestThreeHoursHaveAsManyBatchesAsAMinute(t *testing.T) {
	for seconds, want := range map[int]struct{ batches, length, last int }{
		5: {5, 1, 1}, 32: {32, 1, 1}, 33: {17, 2, 1}, 60: {30, 2, 2}, 100: {25, 4, 4}, 10_800: {22, 512, 48},
	} {
		r := New(1)
		var now, before Snapshot
		var b Batches
		for i := range min(seconds, 1000) {
			r.Shard(0).Record(Measure, Read, time.Duration(i+1)*time.Millisecond, 1)
			before, now = now, before
			r.Read(&now, Read, Measure)
			b.Add(&now, &before, time.Second)
		}
		for range seconds - 1000 { // reading a snapshot takes long
			b.Add(&now, &now, time.Second)
		}
		got, count := b.Ops(), int64(0)
		for _, batch := range got {
			if _, err := batch.Counts(); err != nil {
				t.Error(err)
			}
			count += batch.Count
		}
		first, last := got[0].Milliseconds/1000, got[len(got)-1].Milliseconds/1000
		if len(got) != want.batches || first != int64(want.length) || last != int64(want.last) {
			t.Errorf("%d s: %d batches of %d s, the last of %d s; want %+v", seconds, len(got), first, last, want)
		}
		if count != int64(min(seconds, 1000)) {
			t.Errorf("%d s: %d operations in batches", seconds, count)
		}
	}
}

func TestABatchHasTheLatenciesOfItsSecond(t *testing.T) {
	r := New(1)
	var b Batches
	var snapshots [3]Snapshot
	for second, latency := range []time.Duration{time.Millisecond, 100 * time.Millisecond} {
		r.Shard(0).Record(Measure, Read, latency, 1)
		r.Read(&snapshots[second+1], Read, Measure)
		b.Add(&snapshots[second+1], &snapshots[second], time.Second)
	}
	for i, want := range []string{"160:1", "266:1"} { // at most 1024 us and 101 ms
		if got := b.Ops()[i].Latencies; got != want {
			t.Errorf("second %d has %q, want %q", i+1, got, want)
		}
	}
}

func TestLatenciesOutsideTheRangeAreCountedAtItsEnds(t *testing.T) {
	r := New(1)
	r.Shard(0).Record(Measure, Read, -time.Second, 1)
	r.Shard(0).Record(Measure, Read, 24*time.Hour, 1)
	var s Snapshot
	r.Read(&s, Read, Measure)
	if ops, err := s.Ops(); err != nil || ops.Count != 2 {
		t.Errorf("got %+v, %v; want 2 operations", ops, err)
	}
}

func TestNeighbouringWorkersDoNotShareAShard(t *testing.T) {
	if r := New(2); r.Shard(0) == r.Shard(1) {
		t.Error("two workers record in one place and slow each other down")
	}
}

func TestRecordingDoesNotAllocate(t *testing.T) {
	r := New(1024)
	if n := testing.AllocsPerRun(1000, func() { r.Shard(5).Record(Measure, Read, 123456, 8192) }); n != 0 {
		t.Errorf("%v allocations for each operation", n)
	}
}

func TestMemoryStaysSmallWithAThousandWorkers(t *testing.T) {
	r := New(1024)
	bytes := (len(r.shards)*int(Failed) + 1) * int(directions) * int(unsafe.Sizeof(counters{}))
	if bytes > 32<<20 {
		t.Errorf("%d MiB of buckets", bytes>>20)
	}
}

func BenchmarkRecord(b *testing.B) {
	r := New(64)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		s := r.Shard(rand.IntN(64))
		for i := 0; pb.Next(); i++ {
			s.Record(Measure, Read, time.Duration(i&0xffff)*time.Microsecond, 8192)
		}
	})
}
