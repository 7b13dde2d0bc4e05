package judge

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
	"github.com/nfsbench/nfsbench/test/gen"
)

// storageOf is a server with a known capacity. Up to it, an operation takes idleUs, and one in a thousand
// takes ten times as long. Above it, only as many operations as the capacity end, and all are slow.
type storageOf struct {
	capacity int64 // operations a second
	idleUs   int64
}

const (
	overloadedUs = 40_000
	levelSeconds = 15
)

// searched returns a search for p99 within 1 ms and within 5 ms on one storage. One client has 4 x
// 8 I/Os of 8 KiB outstanding. Its rates are in the order of a search.
func searched(t testing.TB, s storageOf, rounds int32, offered ...int64) runfile.Result {
	t.Helper()
	r := good(t)
	raw := r.Plan.Workload.Raw
	raw.Pattern, raw.BlockSize = bench.PatternRandomRead, bench.Bytes(8192)
	raw.Capacity = gen.CapacityWithin(bench.ArrivalsPoisson,
		runfile.LatencyBound{Percentile: "p99", Microseconds: 1000}, runfile.LatencyBound{Percentile: "p99", Microseconds: 5000})
	r.Plan.Schedule.Repetitions = rounds
	load := &r.Clients[0].Load
	load.LoopMode, load.Repetitions, load.Samples, r.Clients[0].Observed.Windows = "open", nil, nil, nil
	for round := range rounds {
		for _, rate := range offered {
			addLevel(t, &r, s, round+1, rate)
		}
	}
	return r
}

// addLevel adds a level to the first client.
func addLevel(t testing.TB, r *runfile.Result, s storageOf, round int32, rate int64) {
	t.Helper()
	const seconds = int64(levelSeconds)
	load := &r.Clients[0].Load
	index := int32(len(load.Repetitions) + 1)
	start := t0.Add(time.Duration(index) * 100 * time.Second)
	done, slow := min(rate, s.capacity), rate/1000
	us := s.idleUs
	if rate > s.capacity {
		us, slow = overloadedUs, done
	}
	ops := done * seconds
	rep := runfile.Repetition{
		Index: index, Start: start, End: start.Add(time.Duration(seconds) * time.Second), CPUMicroseconds: 100_000 * seconds,
		Read: &runfile.Ops{Count: ops, Bytes: ops * 8192, Histogram: levelHistogram(t, us)},
		Step: &runfile.Step{Kind: runfile.StepRate, OperationsPerSecond: rate, Round: round},
		Level: &runfile.LevelReport{
			Index: index, Due: eachSecond(rate), Done: eachSecond(done), Slow: [][]int64{eachSecond(slow), eachSecond(slow)},
		},
		Channels: []runfile.Channel{
			{ID: 0, Local: "10.0.1.5", Path: "10.0.1.61", State: "Up", BytesRead: ops * 4096},
			{ID: 1, Local: "10.0.2.5", Path: "10.0.2.61", State: "Up", BytesRead: ops * 4096},
		},
	}
	if rate > s.capacity {
		rep.LateOps, rep.DroppedOps = ops/2, (rate-done)*seconds
	}
	load.Repetitions = append(load.Repetitions, rep)
	for n := range seconds {
		load.Samples = append(load.Samples, runfile.LoadSample{
			Time: start.Add(time.Duration(n+1) * time.Second), Span: runfile.SpanMeasure, Repetition: index,
			Read: &runfile.SampleOps{Count: done, Bytes: done * 8192, MeanMicroseconds: us + us*n},
		})
	}
	w := windows(index, start)[1]
	w.End = rep.End
	w.NodeCPUPermille, w.CgroupCPUMicroseconds = new(int32(100)), new(rep.CPUMicroseconds)
	w.Storage[0].Seconds, w.Storage[0].ReadOps, w.Storage[0].ReadBytes = float64(seconds), new(ops), new(ops*8192)
	r.Clients[0].Observed.Windows = append(r.Clients[0].Observed.Windows, w)
}

func eachSecond(n int64) []int64 {
	out := make([]int64, levelSeconds)
	for i := range out {
		out[i] = n
	}
	return out
}

// levelHistogram has 999 latencies of us µs, and one that is ten times as long.
func levelHistogram(t testing.TB, us int64) string {
	t.Helper()
	h := stats.NewHistogram()
	for range 999 {
		h.Record(us, 1)
	}
	h.Record(10*us, 1)
	enc, err := h.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return enc
}

// inSearch returns the rates of a search for a capacity of 40,000.
func inSearch() []int64 {
	return []int64{64, 256, 1024, 4096, 16384, 65536, 32768, 46341, 38968, 42495, 40693, 39821}
}

func TestASearchTellsTheCapacityAndWhereItsNumbersWereMeasured(t *testing.T) {
	t.Parallel()
	j := Judge(searched(t, storageOf{40_000, 200}, 1, inSearch()...))
	if j.Capacity == nil || len(j.Capacity.Bounds) != 2 || j.Capacity.Searches != 1 {
		t.Fatalf("%+v", j.Capacity)
	}
	b := j.Capacity.Bounds[0]
	if !b.Reached || b.OperationsPerSecond < 39_821 || b.OperationsPerSecond > 40_693 || b.Low < 38_000 || b.Low > 39_821 || b.High < 40_693 || b.High > 42_500 {
		t.Errorf("%+v", b)
	}
	if b.Percentile != "p99" || b.Microseconds != 1000 || b.LimitedBy != measure.LimitStorage {
		t.Errorf("%+v", b)
	}
	if s := j.Summary; s.Step.OperationsPerSecond != 39_821 || s.Total.OperationsPerSecond != 39_821 || s.Total.Latency.P99Microseconds > 201 {
		t.Errorf("summary %+v", s)
	}
	if len(j.Steps) != 0 || len(j.Repetitions) != 1 || j.VariationPermille != nil {
		t.Errorf("%d steps, %d repetitions, variation %v", len(j.Steps), len(j.Repetitions), j.VariationPermille)
	}
	for i, p := range j.Capacity.Curve {
		if i > 0 && p.Offered <= j.Capacity.Curve[i-1].Offered {
			t.Errorf("the curve is not in order: %+v", j.Capacity.Curve)
		}
		if p.Achieved != min(p.Offered, 40_000) || p.BytesPerSecond != p.Achieved*8192 || p.Read != nil {
			t.Errorf("%+v", p)
		}
		if p.Knee != (p.Offered == 40_693) {
			t.Errorf("knee of %+v", p)
		}
	}
	if j.Validity != bench.ValidityValid || j.Verdict != bench.VerdictNotEvaluated {
		t.Errorf("%s %+v", j.Validity, j.Findings)
	}
}

// The levels of a search are short, differ from each other, and exceed the capacity of the storage.
func TestASearchIsNotBlamedForWhatItDoesOnPurpose(t *testing.T) {
	t.Parallel()
	r := searched(t, storageOf{40_000, 200}, 2, inSearch()...)
	r.Plan.Workload.Raw.Pattern = bench.PatternRead
	if j := Judge(r); len(j.Findings) != 0 {
		t.Errorf("%+v", j.Findings)
	}
	// The same levels as repetitions of one load raise findings.
	r.Plan.Workload.Raw.Capacity = nil
	eachRep(&r, func(rep *runfile.Repetition) { rep.Step, rep.Level = nil, nil })
	j := Judge(r)
	for _, code := range []Code{NotSteady, TooShort, VariationHigh, LateOperations, BelowWireSpeed} {
		if !hasFinding(j, code, "") {
			t.Errorf("no %s, so the test proves nothing: %+v", code, j.Findings)
		}
	}
}

// Results of long searches omit latencies far from the capacity.
func TestTheKneeIsFoundWhereSomeLatenciesAreNotKnown(t *testing.T) {
	t.Parallel()
	r := searched(t, storageOf{40_000, 200}, 1, inSearch()...)
	eachRep(&r, func(rep *runfile.Repetition) {
		if rate := rep.Step.OperationsPerSecond; rate == 64 || rate == 38_968 {
			rep.Read.Histogram = ""
		}
	})
	for _, p := range Judge(r).Capacity.Curve {
		if p.Knee != (p.Offered == 40_693) {
			t.Errorf("%+v", p)
		}
	}
}

func TestACacheOfTheServerIsSuspectedInASearchToo(t *testing.T) {
	t.Parallel()
	r := searched(t, storageOf{40_000, 150}, 1, inSearch()...)
	r.Plan.Workload.Raw.FileSize = *bench.Bytes(1 << 30)
	if j := Judge(r); !hasFinding(j, CacheSuspected, "the storage's cache probably answered them") || j.Validity != bench.ValiditySuspect {
		t.Errorf("%+v", j.Findings)
	}
}

func TestWhatLimitsACapacity(t *testing.T) {
	t.Parallel()
	node := func(name string, permille int32) func(*runfile.ObservedWindow) {
		return func(w *runfile.ObservedWindow) {
			w.Storage[0].Nodes[0] = runfile.StorageNodeWindow{Name: name, CPUPermille: &permille}
		}
	}
	cases := map[string]struct {
		mutate  func(*runfile.Result)
		limit   string
		says    string
		finding Code
		names   string
	}{
		"nothing that was sampled": {func(*runfile.Result) {}, measure.LimitStorage, "At 40693 operations/s neither the links", "", ""},
		"the wire":                 {func(r *runfile.Result) { r.Plan.Link.BitsPerSecond = *bench.Bits(1.4e9) }, measure.LimitWire, "% of the wire limit", LineSaturated, "the line is full"},
		"the wire, only above it": {func(r *runfile.Result) {
			r.Plan.Link.BitsPerSecond = *bench.Bits(1.4e9)
			eachRep(r, func(rep *runfile.Repetition) {
				if rep.Step.OperationsPerSecond < 40_000 {
					rep.Read.Bytes = rep.Read.Bytes * 9 / 10
				}
			})
		}, measure.LimitWire, "At 40693 operations/s the load was 9", LineSaturated, "limits the capacity"},
		"the machine of the client":   {inWindows(runfile.SpanMeasure, func(w *runfile.ObservedWindow) { w.NodeCPUPermille = new(int32(950)) }), measure.LimitClientCPU, "client machine were 95.0 % busy", ClientCPUBound, "may limit the capacity"},
		"the CPU limit of the client": {inRepetitions(func(rep *runfile.Repetition) { rep.CPUMicroseconds = 3_900_000 * levelSeconds }), measure.LimitClientCPU, "97.5 % of its CPU limit", ClientCPUBound, "may limit the capacity"},
		"the storage's CPU":           {inWindows(runfile.SpanMeasure, node("n1", 930)), measure.LimitStorageCPU, "n1 was 93.0 % busy", StorageCPUBound, "limits the capacity"},
		"the queue": {func(r *runfile.Result) {
			// 8 I/Os at 40,000 a second take 200 µs each, as long as when the storage is idle.
			r.Plan.Workload.Raw.Jobs, r.Plan.Workload.Raw.Depth = 2, 4
		}, measure.LimitQueue, "waited for one of the 8 I/Os that may be outstanding (jobs x depth), while each took 200 µs", "", ""},
		"the queue of random reads of SLOB": {slobOf(bench.SLOBRandomRead, 8), measure.LimitQueue, "waited for one of the 8 I/Os that may be outstanding (users), while each took 200 µs", "", ""},
		"the queue of full scans":           {slobOf(bench.SLOBFullTableScan, 2), measure.LimitQueue, "waited for one of the 8 I/Os that may be outstanding (users x readAhead)", "", ""},
		"the queue of the users of two clients": {func(r *runfile.Result) {
			slobOf(bench.SLOBRandomRead, 8)(r)
			other := r.Clients[0]
			other.Index = 2
			r.Clients = append(r.Clients, other)
		}, measure.LimitQueue, "waited for one of the 16 I/Os that may be outstanding", "", ""},
		"an idle queue": {func(r *runfile.Result) {
			r.Plan.Workload.Raw.Jobs, r.Plan.Workload.Raw.Depth = 2, 4
			eachRep(r, func(rep *runfile.Repetition) { rep.LateOps, rep.DroppedOps = 0, 0 })
		}, measure.LimitStorage, "neither", "", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := searched(t, storageOf{40_000, 200}, 1, inSearch()...)
			c.mutate(&r)
			j := Judge(r)
			if b := j.Capacity.Bounds[0]; b.LimitedBy != c.limit || !strings.Contains(b.LimitReason, c.says) {
				t.Errorf("limited by %s: %s", b.LimitedBy, b.LimitReason)
			}
			if c.finding != "" && !hasFinding(j, c.finding, c.names) {
				t.Errorf("no %s: %+v", c.finding, j.Findings)
			}
		})
	}
}

// slobOf turns a search into one of SLOB, with 4 reads ahead for scans.
func slobOf(access bench.SLOBAccess, users int32) func(*runfile.Result) {
	return func(r *runfile.Result) {
		r.Plan.Workload = bench.Workload{SLOB: &bench.SLOBWorkload{
			Access: access, Users: []int32{users}, ReadAhead: 4, Capacity: r.Plan.Workload.Raw.Capacity,
		}}
	}
}

// inDatabase turns the operations of a search into statements of 64 reads, 100 µs each. Its windows
// lie between snapshots and are half a second longer than the levels.
func inDatabase(t testing.TB, r *runfile.Result) {
	t.Helper()
	slobOf(bench.SLOBRandomRead, 8)(r)
	r.Plan.Database = &runfile.Database{}
	eachRep(r, func(rep *runfile.Repetition) {
		rep.Level.Histogram, rep.Read.Histogram = rep.Read.Histogram, levelHistogram(t, 100)
		rep.Read.Count, rep.Read.Bytes = rep.Read.Count*64, rep.Read.Bytes*64
		rep.End = rep.End.Add(500 * time.Millisecond)
	})
}

func TestTheCurveOfADatabaseIsOfStatements(t *testing.T) {
	t.Parallel()
	r := searched(t, storageOf{40_000, 200}, 1, inSearch()...)
	want := Judge(r).Capacity
	inDatabase(t, &r)
	got := Judge(r).Capacity
	for i := range want.Curve {
		want.Curve[i].BytesPerSecond = 0
	}
	if diff := cmp.Diff(want.Curve, got.Curve); diff != "" || !got.Statements || want.Statements {
		t.Errorf("statements: %v; the curve (-of I/Os that were the operations +got):\n%s", got.Statements, diff)
	}
	eachRep(&r, func(rep *runfile.Repetition) { rep.Level.Errors, rep.Level.Histogram = 3, "" })
	if p := Judge(r).Capacity.Curve[0]; p.Errors != 3 || p.Achieved != 64 || p.P99Microseconds != 0 {
		t.Errorf("%+v", p)
	}
}

func TestACapacityThatIsNotReachedIsNoNumber(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		of      storageOf
		offered []int64
		rate    int64
		says    string
	}{
		"the highest rate keeps the bound": {storageOf{40_000, 200}, []int64{64, 256, 1024, 4096}, 4096, "The highest rate that was tried, 4096 operations/s, keeps p99 of 1 ms"},
		"the lowest rate breaks it":        {storageOf{40, 200}, []int64{64}, 0, "No rate that was tried keeps p99 of 1 ms: the lowest was 64"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := searched(t, c.of, 1, c.offered...)
			j := Judge(r)
			if b := j.Capacity.Bounds[0]; b.Reached || b.OperationsPerSecond != c.rate {
				t.Errorf("%+v", b)
			}
			if !hasFinding(j, CapacityNotReached, c.says) || j.Summary == nil {
				t.Errorf("%+v", j.Findings)
			}
			p := Headline(j)[0]
			if _, ok := p.Intervals[bench.MetricCapacity]; ok || p.Metrics[bench.MetricIOPS] == 0 {
				t.Errorf("%+v", p)
			} else if v, ok := p.Metrics[bench.MetricCapacity]; ok {
				t.Errorf("capacity %g", v)
			}
		})
	}
}

func TestACapacityThatIsNotExactIsSuspect(t *testing.T) {
	t.Parallel()
	unfinished := []int64{64, 16384, 65536, 32768}
	j := Judge(searched(t, storageOf{40_000, 200}, 1, unfinished...))
	if !hasFinding(j, CapacityUncertain, "The capacity within p99 of 1 ms is 46340 operations/s, between 32") || j.Validity != bench.ValiditySuspect {
		t.Errorf("%s %+v", j.Validity, j.Findings)
	}
	for says, b := range map[string]measure.BoundCapacity{
		"no rate is sure on either side":    {},
		"surely 900 or more":                {Low: 900},
		"surely less than 1100":             {High: 1100},
		"between 840 and 1150 (31 % of it)": {Low: 840, High: 1150},
		"between 990 and 1010 (2 % of it)":  {Low: 990, High: 1010, Open: true},
	} {
		b.Reached, b.OperationsPerSecond = true, 1000
		if !uncertain(b) || !strings.Contains(intervalWords(b), says) {
			t.Errorf("%v, %s; want %s", uncertain(b), intervalWords(b), says)
		}
	}
	for name, b := range map[string]measure.BoundCapacity{
		"two rates on each side were not sure": {OperationsPerSecond: 1000, Low: 870, High: 1136},
		"rates are whole numbers":              {OperationsPerSecond: 6, Low: 4, High: 8},
	} {
		if uncertain(b) {
			t.Errorf("%s, and that is too wide", name)
		}
	}
	if !uncertain(measure.BoundCapacity{OperationsPerSecond: 2, High: 4}) {
		t.Error("an interval without a lower end is certain")
	}
	// A search that uses up its levels on another bound does not cast doubt on an earlier result.
	many := make([]int64, 0, runfile.MaxCapacityLevels)
	for len(many) < runfile.MaxCapacityLevels-len(inSearch()) {
		many = append(many, 100+int64(len(many)))
	}
	if j := Judge(searched(t, storageOf{40_000, 200}, 1, append(many, inSearch()...)...)); hasFinding(j, CapacityUncertain, "") {
		t.Errorf("%+v", j.Findings)
	}
	for len(many) < runfile.MaxCapacityLevels-len(unfinished) {
		many = append(many, 100+int64(len(many)))
	}
	if j := Judge(searched(t, storageOf{40_000, 200}, 1, append(many, unfinished...)...)); !hasFinding(j, CapacityUncertain, "ended after 48 levels") {
		t.Errorf("%+v", j.Findings)
	}
}

func TestASearchOverAStorageThatChangesIsNotSteady(t *testing.T) {
	t.Parallel()
	r := searched(t, storageOf{40_000, 200}, 1, inSearch()...)
	addLevel(t, &r, storageOf{20_000, 200}, 1, 30_000)
	if j := Judge(r); !hasFinding(j, NotSteady, "did not keep p99 of 1 ms at 30000 operations/s and kept it at 38968") {
		t.Errorf("%+v", j.Findings)
	}
	// The rate keeps the bound when it is measured again.
	again := searched(t, storageOf{40_000, 200}, 1, inSearch()...)
	addLevel(t, &again, storageOf{20_000, 200}, 1, 30_000)
	addLevel(t, &again, storageOf{40_000, 200}, 1, 30_000)
	// A stall dominates a short level.
	brief := searched(t, storageOf{40_000, 200}, 1, inSearch()...)
	addLevel(t, &brief, storageOf{20_000, 200}, 1, 30_000)
	rep := &brief.Clients[0].Load.Repetitions[len(inSearch())]
	rep.Level.Due, rep.Level.Done, rep.End = rep.Level.Due[:4], rep.Level.Done[:4], rep.Start.Add(4*time.Second)
	for i, slow := range rep.Level.Slow {
		rep.Level.Slow[i] = slow[:4]
	}
	// The interval of the share ends just across the bound.
	near := searched(t, storageOf{40_000, 200}, 1, inSearch()...)
	addLevel(t, &near, storageOf{40_000, 200}, 1, 30_000)
	level := near.Clients[0].Load.Repetitions[len(inSearch())].Level
	for i := range level.Slow[0] {
		level.Slow[0][i] = 290 + int64(i%3)*20
	}
	for name, r := range map[string]runfile.Result{"measured again": again, "a short level": brief, "a near interval": near} {
		if j := Judge(r); hasFinding(j, NotSteady, "") {
			t.Errorf("%s: %+v", name, j.Findings)
		}
	}
}

func TestTheCountersOfAnArrayAreMissedAtTheCapacityOnly(t *testing.T) {
	t.Parallel()
	r := searched(t, storageOf{40_000, 200}, 1, inSearch()...)
	r.Plan.Collect.Sources = []runfile.Source{{Kind: runfile.SourceONTAP, Name: r.Clients[0].Observed.Windows[0].Storage[0].Source}}
	silent := func(w *runfile.ObservedWindow) { w.Storage = []runfile.StorageWindow{{Source: w.Storage[0].Source}} }
	at := Judge(r).Summary.Repetition
	eachWindow(&r, runfile.SpanMeasure, func(w *runfile.ObservedWindow) {
		if w.Repetition != at {
			silent(w)
		}
	})
	if j := Judge(r); hasFinding(j, ArrayMetricsPartial, "") {
		t.Errorf("%+v", j.Findings)
	}
	eachWindow(&r, runfile.SpanMeasure, silent)
	if j := Judge(r); !hasFinding(j, ArrayMetricsPartial, "no usable counters in 1 of 1 repetitions: its counters did not change between two readings: levels end earlier") {
		t.Errorf("%+v", j.Findings)
	}
}

func TestSeveralSearchesGiveTheirMedian(t *testing.T) {
	t.Parallel()
	r := searched(t, storageOf{40_000, 200}, 1, inSearch()...)
	r.Plan.Schedule.Repetitions = 3
	for _, rate := range inSearch() {
		addLevel(t, &r, storageOf{32_000, 200}, 2, rate*8/10)
		addLevel(t, &r, storageOf{50_000, 200}, 3, rate*5/4)
	}
	j := Judge(r)
	b := j.Capacity.Bounds[0]
	if b.OperationsPerSecond != 40_254 || b.Low > 32_203 || b.High < 50_000 || j.Capacity.Searches != 3 {
		t.Errorf("%+v", b)
	}
	if j.VariationPermille == nil || *j.VariationPermille < 200 || *j.VariationPermille > 240 || !hasFinding(j, VariationHigh, "The capacities of 3 searches vary by 2") {
		t.Errorf("variation %v, %+v", j.VariationPermille, j.Findings)
	}
	if len(j.Repetitions) != 3 || j.Summary.Step.Round != 1 {
		t.Errorf("%d repetitions, summary of round %d", len(j.Repetitions), j.Summary.Step.Round)
	}
	var got []float64
	for _, points := range Points(r) {
		got = append(got, points[0].Metrics[bench.MetricCapacity])
	}
	if diff := cmp.Diff([]float64{40254, 32203, 50318}, got); diff != "" {
		t.Error(diff)
	}
	if h := Headline(j); len(h) != 1 || h[0].Metrics[bench.MetricCapacity] != 40_254 || h[0].Intervals[bench.MetricCapacity].High < 50_000 {
		t.Errorf("%+v", h)
	}
}

func TestTheFirstOfSeveralSearchesCanFindColdCaches(t *testing.T) {
	t.Parallel()
	r := searched(t, storageOf{40_000, 200}, 1, inSearch()...)
	r.Plan.Schedule.Repetitions = 2
	for _, rate := range inSearch() {
		addLevel(t, &r, storageOf{50_000, 200}, 2, rate*5/4)
	}
	if j := Judge(r); !hasFinding(j, ColdCache, "The first search gave 40254 operations/s and the next 50318 operations/s") {
		t.Errorf("%+v", j.Findings)
	}
}

func TestACapacityCanBeExpected(t *testing.T) {
	t.Parallel()
	storage := storageOf{40_000, 200}
	cases := map[string]struct {
		of      storageOf
		offered []int64
		want    int64
		verdict bench.Verdict
	}{
		"reached, and enough":                         {storage, inSearch(), 40_000, bench.VerdictPass},
		"reached, and too low":                        {storage, inSearch(), 41_000, bench.VerdictFail},
		"the highest rate keeps the bound":            {storage, []int64{64, 256, 1024}, 1000, bench.VerdictPass},
		"the highest rate keeps it, and is too low":   {storage, []int64{64, 256, 1024}, 2000, bench.VerdictInconclusive},
		"the lowest rate breaks it, and is too low":   {storageOf{40, 200}, []int64{64}, 100, bench.VerdictFail},
		"the lowest rate breaks it, and was too high": {storageOf{40, 200}, []int64{64}, 10, bench.VerdictInconclusive},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := searched(t, c.of, 1, c.offered...)
			r.Plan.Expect = &bench.Expect{MinCapacity: &c.want}
			if j := Judge(r); j.Verdict != c.verdict {
				t.Errorf("%s, want %s: %+v", j.Verdict, c.verdict, j.Findings)
			}
		})
	}
	// One slow second breaks the bound, but not surely.
	r := searched(t, storage, 1, 64)
	r.Plan.Expect = &bench.Expect{MinCapacity: new(int64(100))}
	eachRep(&r, func(rep *runfile.Repetition) { rep.Level.Slow[0][0] = 14 })
	if j := Judge(r); j.Verdict != bench.VerdictInconclusive || !hasFinding(j, CapacityNotReached, "too few operations to tell") || j.Capacity.Bounds[0].LimitedBy != "" {
		t.Errorf("a lowest rate that may break the bound: %s, %+v", j.Verdict, j.Findings)
	}
	r = good(t)
	r.Plan.Expect = &bench.Expect{MinCapacity: new(int64(1))}
	if j := Judge(r); j.Verdict != bench.VerdictInconclusive {
		t.Errorf("a load without a search: %s", j.Verdict)
	}
}

func TestARoundThatIsMissingMakesASearchPartial(t *testing.T) {
	t.Parallel()
	r := searched(t, storageOf{40_000, 200}, 1, inSearch()...)
	r.Plan.Schedule.Repetitions = 2
	if j := Judge(r); !hasFinding(j, Partial, "1 of 2 searches for capacity were measured") {
		t.Errorf("%+v", j.Findings)
	}
}

// A file can contain any levels.
func TestABrokenSearchIsJudged(t *testing.T) {
	t.Parallel()
	for name, mutate := range map[string]func(*runfile.Repetition){
		"no reports":       func(rep *runfile.Repetition) { rep.Level = nil },
		"no shares":        func(rep *runfile.Repetition) { rep.Level.Slow = nil },
		"nothing due":      func(rep *runfile.Repetition) { rep.Level = &runfile.LevelReport{} },
		"no rates":         func(rep *runfile.Repetition) { rep.Step.OperationsPerSecond = 0 },
		"no latency":       func(rep *runfile.Repetition) { rep.Read.Histogram = "" },
		"no reads":         func(rep *runfile.Repetition) { rep.Read = nil },
		"negative numbers": func(rep *runfile.Repetition) { rep.Level.Due[0], rep.Read.Count = -1, -1 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := searched(t, storageOf{40_000, 200}, 2, inSearch()...)
			eachRep(&r, mutate)
			j := Judge(r)
			if j.Capacity != nil && len(j.Capacity.Bounds) != 2 {
				t.Errorf("%+v", j.Capacity)
			}
			_ = fmt.Sprint(Points(r))
		})
	}
}

func TestABoundBeyondTheMostIsNotJudged(t *testing.T) {
	t.Parallel()
	r := searched(t, storageOf{40_000, 200}, 1, inSearch()...)
	r.Plan.Workload.Raw.Capacity.AlsoAt = make([]bench.LatencyBound, 100_000)
	if j := Judge(r); len(j.Capacity.Bounds) != runfile.MaxLatencyBounds {
		t.Errorf("%d bounds", len(j.Capacity.Bounds))
	}
}

func TestTheLastOfTheLowestLevelsHasTheNumbers(t *testing.T) {
	t.Parallel()
	if j := Judge(searched(t, storageOf{40, 200}, 1, 64, 64)); j.Summary.Repetition != 2 {
		t.Errorf("the summary is that of level %d", j.Summary.Repetition)
	}
}

func TestALevelThatAClientDidNotBeginIsNotCounted(t *testing.T) {
	t.Parallel()
	r := searched(t, storageOf{40_000, 200}, 1, 64, 16384, 32768, 65536)
	second := r.Clients[0]
	second.Index, second.Load.Repetitions = 1, second.Load.Repetitions[:2]
	r.Plan.Clients, r.Clients = 2, append(r.Clients, second)
	if b := Judge(r).Capacity.Bounds[0]; b.OperationsPerSecond != 16384 || b.Reached {
		t.Errorf("%+v", b)
	}
}

// TestACapacityAboveTheWireIsNotLimitedByIt: the speed of the links is wrong, so they say nothing of the limit.
func TestACapacityAboveTheWireIsNotLimitedByIt(t *testing.T) {
	t.Parallel()
	r := searched(t, storageOf{40_000, 200}, 1, inSearch()...)
	r.Plan.Link.BitsPerSecond = *bench.Bits(1e8)
	j := Judge(r)
	if want := "the links cannot carry what was measured, so the limit of the load is not known"; j.Answer.Limit != want || !hasFinding(j, AboveWireLimit, "") {
		t.Errorf("%q, want %q; %+v", j.Answer.Limit, want, j.Findings)
	}
}
