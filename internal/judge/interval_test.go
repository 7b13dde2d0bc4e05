package judge

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
)

// batches returns n batches of 2 s with 1000 operations each. 10 operations are slow, and in the
// odd batches swing more.
func batches(n, swing int64) []runfile.Batch {
	var out []runfile.Batch
	for i := range n {
		counts := make([]int64, runfile.MaxBatchBucket+1)
		slow := 10 + swing*(i%2)
		counts[runfile.BatchBucket(1000)], counts[runfile.BatchBucket(5000)] = 1000-slow, slow
		out = append(out, runfile.NewBatch(2000, counts))
	}
	return out
}

// inBatches is good with batches and a throughput that varies by 10 %.
func inBatches(t testing.TB) runfile.Result {
	t.Helper()
	r := good(t)
	h := stats.NewHistogram()
	for i := range int64(100_000) {
		h.Record(1000+4*max(0, i-98_000), 1)
	}
	text, err := h.Encode()
	if err != nil {
		t.Fatal(err)
	}
	eachRep(&r, func(rep *runfile.Repetition) { rep.Read.Histogram, rep.Read.Batches = text, batches(30, 6) })
	for i := range r.Clients[0].Load.Samples {
		s := r.Clients[0].Load.Samples[i].Read
		if i%3 == 0 {
			s.Count, s.Bytes = s.Count*11/10, s.Bytes*11/10
		}
	}
	return r
}

func TestEachNumberHasAnInterval(t *testing.T) {
	t.Parallel()
	total := Judge(inBatches(t)).Summary.Total
	in := total.Intervals
	for name, c := range map[string]struct {
		in     *measure.Interval
		value  int64
		within float64 // relative to the value
	}{
		"bytes":      {in.BytesPerSecond, total.BytesPerSecond, 0.05},
		"operations": {in.OperationsPerSecond, total.OperationsPerSecond, 0.05},
		"mean":       {in.MeanMicroseconds, total.Latency.MeanMicroseconds, 0.01},
		"p99":        {in.P99Microseconds, total.Latency.P99Microseconds, 0.5},
	} {
		if c.in == nil {
			t.Errorf("%s: unknown", name)
			continue
		}
		low, high := c.value-c.in.Low, c.in.High-c.value
		if low < 0 || high < 0 || float64(max(low, high)) > c.within*float64(c.value) {
			t.Errorf("%s: %d to %d around %d", name, c.in.Low, c.in.High, c.value)
		}
		if name != "mean" && low+high == 0 {
			t.Errorf("%s: an interval without width, but the run varies", name)
		}
	}
	text, err := json.Marshal(total)
	if err != nil || !strings.Contains(string(text), `"intervals":{"bytesPerSecond":{"low":`) {
		t.Errorf("%s, %v", text, err)
	}
}

func TestAnIntervalHasAllClients(t *testing.T) {
	t.Parallel()
	one := Judge(inBatches(t)).Summary.Total.Intervals
	r := inBatches(t)
	other := client(t, 1)
	other.Load = r.Clients[0].Load
	other.Load.Repetitions = append([]runfile.Repetition(nil), other.Load.Repetitions...)
	for i := range other.Load.Repetitions {
		ops := *other.Load.Repetitions[i].Read
		ops.Batches = runfile.MergeBatches(ops.Batches) // thinned to fit
		other.Load.Repetitions[i].Read = &ops
	}
	r.Clients = append(r.Clients, other)
	two := Judge(r).Summary.Total.Intervals
	if got, want := two.BytesPerSecond.High-two.BytesPerSecond.Low, 2*(one.BytesPerSecond.High-one.BytesPerSecond.Low); got < want-4 || got > want+4 {
		t.Errorf("two clients in step vary by %d, want %d", got, want)
	}
	if two.P99Microseconds == nil {
		t.Error("batches of two lengths give no interval")
	}
	r.Clients[1].Load.Repetitions[0].Read.Batches = nil
	r.Clients[1].Load.Repetitions[1].Read.Batches = nil
	r.Clients[1].Load.Repetitions[2].Read.Batches = nil
	if two := Judge(r).Summary.Total.Intervals; two.P99Microseconds != nil || two.BytesPerSecond == nil {
		t.Errorf("without the batches of one client: %+v", two)
	}
}

func TestTheIntervalOfAP99InOneBucketIsThatBucket(t *testing.T) {
	t.Parallel()
	r := good(t)
	counts := make([]int64, runfile.MaxBatchBucket+1)
	counts[runfile.BatchBucket(10_000)] = 1
	eachRep(&r, func(rep *runfile.Repetition) {
		rep.Read.Histogram = histogram(t, 1, 10_000)
		rep.Read.Batches = slices.Repeat([]runfile.Batch{runfile.NewBatch(2000, counts)}, 30)
	})
	if in := Judge(r).Summary.Total.Intervals.P99Microseconds; in == nil || in.Low < 10_000 || in.High > 10_007 {
		t.Errorf("%+v", in)
	}
}

func TestTheIntervalOfAMeanIsNotBelowTheFastestOperation(t *testing.T) {
	t.Parallel()
	r := inBatches(t)
	for i := range r.Clients[0].Load.Samples {
		s := r.Clients[0].Load.Samples[i].Read
		if s.MeanMicroseconds = 10; i%20 == 0 {
			s.MeanMicroseconds = 1_000_000
		}
	}
	total := Judge(r).Summary.Total
	fastest := total.Ranges()[0].From
	if in := total.Intervals.MeanMicroseconds; in == nil || in.Low != fastest || in.High < 2*total.Latency.MeanMicroseconds {
		t.Errorf("%+v, want from %d, of the fastest operation, to far above the mean of %+v", in, fastest, total.Latency)
	}
}

func TestWhatIsNotCountedHasNoInterval(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*runfile.Result){
		"no batches":       inRepetitions(func(rep *runfile.Repetition) { rep.Read.Batches = nil }),
		"few batches":      inRepetitions(func(rep *runfile.Repetition) { rep.Read.Batches = batches(7, 6) }),
		"too many batches": inRepetitions(func(rep *runfile.Repetition) { rep.Read.Batches = batches(33, 6) }),
		"broken batches":   inRepetitions(func(rep *runfile.Repetition) { rep.Read.Batches[3].Latencies = "9:-1" }),
	} {
		r := inBatches(t)
		change(&r)
		if in := Judge(r).Summary.Total.Intervals; in.P99Microseconds != nil || in.MeanMicroseconds == nil {
			t.Errorf("%s: %+v", name, in)
		}
	}
	r := inBatches(t)
	r.Clients[0].Load.Samples = nil
	if in := Judge(r).Summary.Total.Intervals; in.BytesPerSecond != nil || in.OperationsPerSecond != nil || in.MeanMicroseconds != nil {
		t.Errorf("without samples: %+v", in)
	}
	for i, run := range []func(testing.TB) runfile.Result{scanRun, ladder} {
		if in := Judge(run(t)).Summary.Total.Intervals; in.P99Microseconds != nil {
			t.Errorf("database %d: %+v", i, in)
		}
	}
}

func TestBothDirectionsHaveIntervalsOfTheirOwn(t *testing.T) {
	t.Parallel()
	r := inBatches(t)
	eachRep(&r, func(rep *runfile.Repetition) {
		w := *rep.Read
		rep.Write = &w
	})
	for i := range r.Clients[0].Load.Samples {
		s := &r.Clients[0].Load.Samples[i]
		s.Write = &runfile.SampleOps{Count: 1000, Bytes: 1000 << 20, MeanMicroseconds: 1000}
	}
	s := Judge(r).Summary
	if in := s.Write.Intervals.BytesPerSecond; in == nil || in.High-in.Low > 1 {
		t.Errorf("steady writes: %+v", in)
	}
	if diff := cmp.Diff(s.Read.Intervals.BytesPerSecond.High-s.Read.Intervals.BytesPerSecond.Low,
		s.Total.Intervals.BytesPerSecond.High-s.Total.Intervals.BytesPerSecond.Low); diff != "" {
		t.Error("the interval of both is that of the reads:", diff)
	}
}

// stalling is good with 32 workers that stall for the last seconds of the minute.
func stalling(t testing.TB, still time.Duration) runfile.Result {
	t.Helper()
	r := good(t)
	h := stats.NewHistogram()
	n := int((time.Minute - still) / time.Millisecond * 32)
	h.Record(1000, int64(n))
	h.Record(still.Microseconds(), 32)
	text, err := h.Encode()
	if err != nil {
		t.Fatal(err)
	}
	eachRep(&r, func(rep *runfile.Repetition) { rep.Read.Count, rep.Read.Histogram = int64(n+32), text })
	return r
}

func TestAClosedLoopSaysHowMuchItCannotSee(t *testing.T) {
	t.Parallel()
	j := Judge(stalling(t, 6*time.Second))
	// A tenth of the minute: the operations due in it wait for 0 to 6 s.
	if got := j.Summary.OpenLoopP99Microseconds; got == nil || *got < 5_390_000 || *got > 5_410_000 || j.Summary.Total.Latency.P99Microseconds > 1001 {
		t.Fatalf("%v, measured %+v", got, j.Summary.Total.Latency)
	}
	if !hasFinding(j, CoordinatedOmission, "For 9.9 % of the time") || j.Validity != bench.ValidityValid {
		t.Errorf("%+v", j.Findings)
	}
	if !hasFinding(j, Stalls, "9.9 % of the time of all reads belongs to those that took more than 50 ms, where the median is 1 ms") {
		t.Errorf("%+v", j.Findings)
	}
	if j := Judge(stalling(t, 300*time.Millisecond)); hasFinding(j, CoordinatedOmission, "") || hasFinding(j, Stalls, "") {
		t.Errorf("half a percent of the time is in no p99: %+v", j.Findings)
	}
	full := stalling(t, 6*time.Second)
	full.Plan.Link.BitsPerSecond = *bench.Bits(j.Summary.Read.BytesPerSecond * 8 * 106 / 100 / 2) // two paths
	if j := Judge(full); hasFinding(j, Stalls, "") || *j.Summary.WirePermille < 950 {
		t.Errorf("a line that is full to %d permille did not stop: %+v", *j.Summary.WirePermille, j.Findings)
	}
	open := stalling(t, 6*time.Second)
	open.Clients[0].Load.LoopMode = "open"
	if j := Judge(open); j.Summary.OpenLoopP99Microseconds != nil || hasFinding(j, CoordinatedOmission, "") {
		t.Errorf("an open loop: %v, %+v", j.Summary.OpenLoopP99Microseconds, j.Findings)
	}
}

// A thinned result keeps every second sample.
func TestAThinnedResultHasTheSameThroughputOverTime(t *testing.T) {
	t.Parallel()
	whole := good(t)
	thin := good(t)
	load := &thin.Clients[0].Load
	load.SampleSeconds = 2
	kept := load.Samples[:0]
	for i, s := range load.Samples {
		if i%2 == 0 {
			kept = append(kept, s)
		}
	}
	load.Samples = kept
	a, b := Judge(whole), Judge(thin)
	if x, y := a.Series[3].ReadBytesPerSecond, b.Series[2].ReadBytesPerSecond; y < x*8/10 || y > x*12/10 {
		t.Errorf("%d bytes/s, and %d after thinning", x, y)
	}
}
