package compare

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// FuzzAnyRecordHasATable feeds records of any shape: nothing panics, and every
// number can be written as JSON.
func FuzzAnyRecordHasATable(f *testing.F) {
	f.Add(uint64(1), uint8(3), 1.0, 0.05)
	f.Add(uint64(2), uint8(0), math.NaN(), 0.0)
	f.Add(uint64(3), uint8(9), math.Inf(1), 2.0)
	f.Add(uint64(4), uint8(5), math.Copysign(0, -1), 1e-300)
	f.Add(uint64(5), uint8(12), 1e300, math.NaN())
	f.Add(uint64(6), uint8(8), 5e-324, 0.999999)
	f.Fuzz(func(t *testing.T, seed uint64, n uint8, odd, alpha float64) {
		r := rand.New(rand.NewPCG(seed, 1))
		a, b := anyRun(r, int(n%30), odd, alpha), anyRun(r, int(n%7), odd, alpha)
		numbers(t, Run(Request{Run: &a}))
		numbers(t, Run(Request{Run: &a, Accepted: &b, History: []runfile.SuiteRun{b, a, anyRun(r, 3, odd, alpha)}, SuiteSignificance: a.Settings.Compare.SuiteSignificance}))
		numbers(t, Run(Request{Run: &a, Accepted: &b, SuiteSignificance: a.Settings.Compare.SuiteSignificance}))
		if err := CheckRepetitions(int(n), int(seed%1000), a.Settings.Compare.SuiteSignificance); err != nil && err.Error() == "" {
			t.Error("an error without words")
		}
	})
}

// numbers looks for what JSON has no word for, and for outcomes that are none.
func numbers(t *testing.T, table Table) {
	t.Helper()
	if _, err := json.Marshal(table); err != nil {
		t.Fatal(err)
	}
	for _, l := range table.Comparisons {
		switch l.Outcome {
		case bench.OutcomeBetter, bench.OutcomeWorse, bench.OutcomeNoDifference, bench.OutcomeNegligible, bench.OutcomeUnknown:
		default:
			t.Fatalf("outcome %q", l.Outcome)
		}
		if len(l.Base) == 0 || len(l.Base) != len(l.Candidate) || l.P == nil || *l.P < 0 || *l.AdjustedP > 1 || *l.AdjustedP < *l.P {
			t.Fatalf("%+v", l)
		}
	}
}

func anyRun(r *rand.Rand, n int, odd, alpha float64) runfile.SuiteRun {
	run := runfile.SuiteRun{Started: time.Unix(r.Int64N(1000), 0), Settings: runfile.SuiteSettings{Compare: &runfile.SuiteCompare{
		SuiteSignificance: runfile.SuiteSignificance{Metrics: []string{bench.MetricMeanLatency, bench.MetricThroughput}[:r.IntN(3)], Alpha: alpha, MinimumEffect: odd},
		Baseline:          map[string]string{"x": "0"}, ImpactOf: []string{"Candidate", "Baseline"}[r.IntN(2)],
	}}}
	for range r.IntN(5) {
		name := strconv.Itoa(r.IntN(4))
		run.Cells = append(run.Cells, runfile.SuiteCell{Name: name, Values: []runfile.SuiteAxis{{Axis: []string{"x", "y"}[r.IntN(2)], Value: name}, {Axis: "x", Value: name}}[r.IntN(2):]})
	}
	for range n * 4 {
		one := runfile.SuiteResult{
			Cell: strconv.Itoa(r.IntN(5)), Repetition: int32(r.IntN(8)) - 1, Position: int32(r.IntN(20)), Attempt: int32(r.IntN(2)),
			Phase: []string{"Succeeded", "Succeeded", "Failed"}[r.IntN(3)], Validity: []string{"Valid", "Suspect", "Invalid", ""}[r.IntN(4)],
		}
		for range r.IntN(3) {
			p := runfile.SuitePoint{Step: strconv.Itoa(r.IntN(2))}
			if r.IntN(4) > 0 {
				p.Metrics = map[string]float64{bench.MetricMeanLatency: []float64{odd, 5, 6, r.Float64(), 0}[r.IntN(5)], bench.MetricThroughput: 1e9 * r.Float64()}
			}
			if wire := r.Float64() * 1e30; r.IntN(2) == 0 {
				p.WirePercent = &wire
			}
			one.Points = append(one.Points, p)
		}
		run.Results = append(run.Results, one)
	}
	return run
}

func TestTablesOfNothing(t *testing.T) {
	t.Parallel()
	if got := Run(Request{Run: new(runfile.SuiteRun{})}); len(got.Cells)+len(got.Comparisons)+len(got.Findings) != 0 {
		t.Errorf("%+v", got)
	}
	if got := Run(Request{Sides: []Side{{}, {}}, SuiteSignificance: runfile.SuiteSignificance{}}); len(got.Cells)+len(got.Comparisons)+len(got.Findings) != 0 {
		t.Errorf("%+v", got)
	}
	got := Run(Request{Run: new(runfile.SuiteRun{Run: "b"}), Accepted: new(runfile.SuiteRun{Run: "a"}), SuiteSignificance: runfile.SuiteSignificance{}})
	if got.Regressed || got.Message != "nothing can be compared with the accepted run a: no cell has results in both" {
		t.Errorf("%+v", got)
	}
}

// BenchmarkRun is the largest record: 256 cells, 8 repetitions, 2 metrics.
func BenchmarkRun(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	run := runfile.SuiteRun{Settings: runfile.SuiteSettings{Compare: &runfile.SuiteCompare{SuiteSignificance: significance(), Baseline: map[string]string{"x": "0"}}}}
	for c := range 256 {
		x := strconv.Itoa(c % 4)
		run.Cells = append(run.Cells, runfile.SuiteCell{Name: "cell-" + strconv.Itoa(c), Values: []runfile.SuiteAxis{{Axis: "x", Value: x}, {Axis: "y", Value: strconv.Itoa(c / 4)}}})
		for i := range 8 {
			one := result("cell-"+strconv.Itoa(c), i+1, len(run.Results)+1, float64(440+r.IntN(20))) // with ties
			one.Points[0].Metrics[bench.MetricThroughput] = 1e9 * (1 + r.Float64())
			run.Results = append(run.Results, one)
		}
	}
	for b.Loop() {
		if t := Run(Request{Run: &run}); len(t.Comparisons) != 2*192 {
			b.Fatal(len(t.Comparisons))
		}
	}
}
