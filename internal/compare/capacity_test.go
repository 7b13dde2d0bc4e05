package compare

import (
	"math"
	"testing"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// capacities returns one side whose repetitions each have a capacity with its interval.
func capacities(name string, intervals ...[3]float64) Side {
	s := Side{Name: name}
	for _, i := range intervals {
		s.Points = append(s.Points, []runfile.SuitePoint{{
			Metrics:   map[string]float64{bench.MetricCapacity: i[1], bench.MetricMeanLatency: 200, bench.MetricThroughput: 1e9},
			Intervals: map[string]runfile.SuiteInterval{bench.MetricCapacity: {Low: i[0], High: i[2]}},
		}})
	}
	return s
}

func capacityRule() runfile.SuiteSignificance {
	return runfile.SuiteSignificance{Alpha: 0.05, MinimumEffect: 0.02, Correction: "Holm"}
}

func TestTwoSearchesAreComparedByTheirIntervals(t *testing.T) {
	t.Parallel()
	base := [3]float64{39_000, 40_000, 41_000}
	for name, tc := range map[string]struct {
		candidate [3]float64
		outcome   bench.Outcome
		low, high float64 // of the shift
	}{
		"far above":                    {[3]float64{49_000, 50_000, 51_000}, bench.OutcomeBetter, .2146, .2854},
		"far below":                    {[3]float64{29_000, 30_000, 31_000}, bench.OutcomeWorse, -.2854, -.2146},
		"the intervals overlap a lot":  {[3]float64{40_000, 41_000, 42_000}, bench.OutcomeNoDifference, -.0104, .0604},
		"the same":                     {base, bench.OutcomeNoDifference, -.0354, .0354},
		"certain, and too small":       {[3]float64{40_500, 40_600, 40_700}, bench.OutcomeNoDifference, -.0101, .0401},
		"a wide interval on that side": {[3]float64{38_000, 44_000, 44_100}, bench.OutcomeNoDifference, -.0521, .1251},
		// An interval that is wide only on the far side raises no doubt.
		"a wide interval on the other": {[3]float64{43_900, 44_000, 50_000}, bench.OutcomeBetter, .0749, .2521},
		"the same of a lower one":      {[3]float64{20_000, 36_000, 36_100}, bench.OutcomeWorse, -.5008, -.0749},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			table := Run(Request{Sides: []Side{capacities("a", base), capacities("b", tc.candidate)}, SuiteSignificance: capacityRule()})
			if len(table.Comparisons) != 1 || len(table.Findings) != 0 {
				t.Fatalf("%+v %+v", table.Comparisons, table.Findings)
			}
			l := table.Comparisons[0]
			if l.Metric != bench.MetricCapacity || l.Outcome != tc.outcome || !l.ByIntervals {
				t.Errorf("%s %s p %g", l.Metric, l.Outcome, *l.P)
			}
			if math.Abs(*l.ShiftLow-tc.low) > 2e-4 || math.Abs(*l.ShiftHigh-tc.high) > 2e-4 {
				t.Errorf("shift %g, %g to %g", *l.Shift, *l.ShiftLow, *l.ShiftHigh)
			}
			if (*l.ShiftLow > 0 || *l.ShiftHigh < 0) != (*l.P < .05) {
				t.Errorf("p %g does not agree with %g to %g", *l.P, *l.ShiftLow, *l.ShiftHigh)
			}
			if c := table.Cells[0]; *c.MedianLow != base[0] || *c.MedianHigh != base[2] {
				t.Errorf("%+v", c)
			}
		})
	}
	exact := Run(Request{Sides: []Side{capacities("a", [3]float64{40_000, 40_000, 40_000}), capacities("b", [3]float64{40_500, 40_500, 40_500})}, SuiteSignificance: capacityRule()})
	if l := exact.Comparisons[0]; l.Outcome != bench.OutcomeNegligible {
		t.Errorf("1.25 %% is less than matters: %s", l.Outcome)
	}
}

func TestSearchesThatWereRepeatedAreComparedByRank(t *testing.T) {
	t.Parallel()
	var a, b [][3]float64
	for i := range 5 {
		v := float64(i * 100)
		// The intervals do not count here, only the spread of the repetitions.
		a, b = append(a, [3]float64{0, 40_000 + v, 1e6}), append(b, [3]float64{0, 50_000 + v, 1e6})
	}
	l := Run(Request{Sides: []Side{capacities("a", a...), capacities("b", b...)}, SuiteSignificance: capacityRule()}).Comparisons[0]
	if l.ByIntervals || l.Outcome != bench.OutcomeBetter || math.Abs(*l.P-2.0/252) > 1e-9 {
		t.Errorf("%s by intervals %v, p %g", l.Outcome, l.ByIntervals, *l.P)
	}
	few := Run(Request{Sides: []Side{capacities("a", a[:2]...), capacities("b", b[:2]...)}, SuiteSignificance: capacityRule()})
	if few.Comparisons[0].Outcome != bench.OutcomeUnknown {
		t.Errorf("two repetitions: %s", few.Comparisons[0].Outcome)
	}
}

func TestOtherMetricsOfOneSearchHaveNoAnswer(t *testing.T) {
	t.Parallel()
	s := capacityRule()
	s.Metrics = []string{bench.MetricMeanLatency}
	a := capacities("a", [3]float64{39_000, 40_000, 41_000})
	a.Points[0][0].Intervals[bench.MetricMeanLatency] = runfile.SuiteInterval{Low: 199, High: 201}
	b := capacities("b", [3]float64{49_000, 50_000, 51_000})
	b.Points[0][0].Metrics[bench.MetricMeanLatency] = 300
	b.Points[0][0].Intervals[bench.MetricMeanLatency] = runfile.SuiteInterval{Low: 299, High: 301}
	if l := Run(Request{Sides: []Side{a, b}, SuiteSignificance: s}).Comparisons[0]; l.Outcome != bench.OutcomeUnknown || l.ByIntervals {
		t.Errorf("%s", l.Outcome)
	}
	// A file can contain any interval.
	a.Points[0][0].Intervals[bench.MetricCapacity] = runfile.SuiteInterval{Low: 41_000, High: math.NaN()}
	if l := Run(Request{Sides: []Side{a, b}, SuiteSignificance: capacityRule()}).Comparisons[0]; l.Outcome != bench.OutcomeUnknown {
		t.Errorf("%s", l.Outcome)
	}
}

func TestACapacityThatFellIsARegression(t *testing.T) {
	t.Parallel()
	of := func(name string, low, v, high float64) runfile.SuiteRun {
		return runfile.SuiteRun{Run: name, Cells: []runfile.SuiteCell{{Name: "v3"}}, Results: []runfile.SuiteResult{{
			Cell: "v3", Repetition: 1, Position: 1, Benchmark: "b", Phase: phaseSucceeded, Validity: "Valid",
			Points: capacities("", [3]float64{low, v, high}).Points[0],
		}}}
	}
	s := capacityRule()
	s.Metrics = []string{bench.MetricCapacity}
	accepted := of("before", 39_000, 40_000, 41_000)
	if r := Run(Request{Run: new(of("after", 34_500, 35_000, 35_500)), Accepted: &accepted, SuiteSignificance: s}); !r.Regressed || len(r.Changes()) != 1 {
		t.Errorf("12.5 %% less: %+v", r)
	}
	for name, run := range map[string]runfile.SuiteRun{"more": of("after", 44_000, 45_000, 46_000), "about as much": of("after", 38_000, 39_000, 40_000)} {
		if r := Run(Request{Run: &run, Accepted: &accepted, SuiteSignificance: s}); r.Regressed {
			t.Errorf("%s: %s", name, r.Message)
		}
	}
	// A difference as large as that between days is noise.
	noisy := []runfile.SuiteRun{of("1", 39_000, 40_000, 41_000), of("2", 34_500, 35_000, 35_500), of("3", 39_000, 40_000, 41_000)}
	for i := range noisy {
		noisy[i].Started = noisy[i].Started.AddDate(0, 0, i)
	}
	if r := Run(Request{Run: new(of("after", 34_500, 35_000, 35_500)), Accepted: &accepted, History: noisy, SuiteSignificance: s}); r.Regressed {
		t.Errorf("within the noise: %s", r.Message)
	}
}
