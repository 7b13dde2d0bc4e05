package report

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/report/doc"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
	"github.com/nfsbench/nfsbench/test/gen"
)

// searched returns a search over a queue with a capacity of most. Operations take idleUs plus an
// exponential wait. 70 % of them are reads.
func searched(t testing.TB, name string, most, idleUs float64) runfile.Result {
	t.Helper()
	r := result()
	r.Plan.Run.Name = name
	bounds := []runfile.LatencyBound{{Percentile: "p99", Microseconds: 1000}, {Percentile: "p999", Microseconds: 5000}}
	raw := r.Plan.Workload.Raw
	raw.Pattern, raw.ReadPercent, raw.BlockSize = bench.PatternRandomMixed, new(int32(70)), bench.Bytes(8192)
	raw.Capacity = gen.CapacityWithin(bench.ArrivalsPoisson, bounds...)
	r.Plan.Schedule.Repetitions = 1
	r.Clients = []runfile.ClientResult{{Load: runfile.Load{LoopMode: "open"}}}
	for _, share := range []float64{.0016, .0064, .0256, .1024, .4096, 1.6384, .8192, 1.1585, .9742, .8933, .8554, .837, .75, .9135, .79, .81} {
		addRate(t, &r, bounds, most, idleUs, math.Round(most*share))
	}
	return r
}

func addRate(t testing.TB, r *runfile.Result, bounds []runfile.LatencyBound, most, idleUs, rate float64) {
	t.Helper()
	const seconds = 10
	// Half of the operations of a full queue are late by the whole window.
	wait := idleUs / 8 / max(1-rate/most, 0.02)
	if rate > most {
		wait = 100_000
	}
	h := stats.NewHistogram()
	for i := range 10_000 {
		h.Record(int64(idleUs-wait*math.Log((float64(i)+.5)/10_000)), 1)
	}
	encoded, err := h.Encode()
	if err != nil {
		t.Fatal(err)
	}
	done := min(rate, most)
	level := &runfile.LevelReport{Slow: make([][]int64, len(bounds))}
	for range seconds {
		level.Due, level.Done = append(level.Due, int64(rate)), append(level.Done, int64(done))
		for b, bound := range bounds {
			slow := math.Exp(-(float64(bound.Microseconds) - idleUs) / wait)
			level.Slow[b] = append(level.Slow[b], int64(done*slow))
		}
	}
	load := &r.Clients[0].Load
	index := int32(len(load.Repetitions) + 1)
	start := time.Date(2026, 9, 1, 12, int(index), 0, 0, time.UTC)
	level.Index = index
	ops := func(share float64) *runfile.Ops {
		n := int64(done * seconds * share)
		return &runfile.Ops{Count: n, Bytes: n * 8192, Histogram: encoded}
	}
	load.Repetitions = append(load.Repetitions, runfile.Repetition{
		Index: index, Start: start, End: start.Add(seconds * time.Second), Read: ops(.7), Write: ops(.3), Level: level,
		Step: &runfile.Step{Kind: runfile.StepRate, OperationsPerSecond: int64(rate), Round: 1},
	})
}

func TestAReportOfASearchShowsBoundsAndCurve(t *testing.T) {
	t.Parallel()
	r := searched(t, "mixed", 50_000, 250)
	var b bytes.Buffer
	if err := Text(&b, judge.Judge(r), Options{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "capacity.golden", b.String())
	unreached := searched(t, "unreached", 20, 250)
	unreached.Clients[0].Load.Repetitions = nil
	addRate(t, &unreached, runfile.Bounds(unreached.Plan.Workload.Capacity()), 20, 250, 64)
	b.Reset()
	if err := Text(&b, judge.Judge(unreached), Options{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "capacity-unreached.golden", b.String())
}

func TestAReportOfASearchInADatabaseCountsStatements(t *testing.T) {
	t.Parallel()
	r := searched(t, "statements", 50_000, 250)
	j := judge.Judge(r)
	j.Capacity.Statements = true
	var b bytes.Buffer
	if err := BenchmarkPage(&b, j, PageOptions{}); err != nil {
		t.Fatal(err)
	}
	d := read(t, b.String())
	d.has(t, "Capacity, statements/s", "statements/s offered")
	if tile, _ := capacityTile(j.Capacity); tile.Short != "statements/s in p99 of 1 ms" {
		t.Errorf("%+v", tile)
	}
	if table := curveOfLoad(*j.Capacity); table.Columns[2].In != doc.Nowhere {
		t.Error("the bytes of statements are shown, which nobody counts")
	}
}

func TestThePageOfASearchDrawsTheCurve(t *testing.T) {
	t.Parallel()
	r := searched(t, "mixed", 50_000, 250)
	j := judge.Judge(r)
	var b bytes.Buffer
	if err := BenchmarkPage(&b, j, PageOptions{}); err != nil {
		t.Fatal(err)
	}
	d := read(t, b.String())
	first := j.Capacity.Bounds[0]
	d.inOrder(t, "Capacity, p99 of 1 ms", "Capacity", "Bound", "p99 of 1 ms", "p99.9 of 5 ms", "Latency over load")
	d.has(t, "operations/s offered", capacityMark(first, "")[0].Label, "Reads, p99", "capacity within p99 of 1 ms and p99.9 of 5 ms",
		"RandomMixed 8Ki, 70 % reads")
}

func TestThePageShowsTheWakeUpsOfTheClientBesideTheLatencies(t *testing.T) {
	t.Parallel()
	r := searched(t, "noisy", 50_000, 250)
	if text := benchmark(t, r, PageOptions{}).text; strings.Contains(text, "wake-ups") {
		t.Error("a result that does not know them has them")
	}
	for i := range r.Clients[0].Load.Repetitions {
		r.Clients[0].Load.Repetitions[i].WakeUps = &runfile.WakeUps{
			Count: 15_000, P50Microseconds: 21, P90Microseconds: 50, P95Microseconds: 64, P99Microseconds: 215, P999Microseconds: 1815, MaxMicroseconds: 3630,
		}
	}
	benchmark(t, r, PageOptions{}).inOrder(t, "client wake-ups, late by", "21 µs", "64 µs", "215 µs", "1.81 ms", "3.63 ms")
}

func TestAComparisonOfTwoSearchesDrawsThemOverEachOther(t *testing.T) {
	t.Parallel()
	a, b := searched(t, "v3", 50_000, 250), searched(t, "v41", 62_000, 280)
	table := compare.Run(compare.Request{Sides: []compare.Side{compare.NewSide("v3", a), compare.NewSide("v41", b)}, SuiteSignificance: runfile.SuiteSignificance{Alpha: .05, MinimumEffect: .02}})
	var out bytes.Buffer
	err := ComparisonPage(&out, compare.NewSide("v3", a), compare.NewSide("v41", b),
		table, PageOptions{MinimumEffect: .02})
	if err != nil {
		t.Fatal(err)
	}
	d := read(t, out.String())
	d.has(t, "Comparison Better", "Capacity, operations/s against v3", "Latency over load of both sides", "v3, p99", "v41, p99", "v3: ", "v41: ")
	out.Reset()
	if err := CompareText(&out, table, Options{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "compare-capacity.golden", out.String())
	// A search and an ordinary load have no curve in common.
	out.Reset()
	if err := ComparisonPage(&out, compare.NewSide("", a), compare.Side{Judgement: judged()}, table, PageOptions{}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "Latency over load") {
		t.Error("a load without a search has a curve")
	}
}
