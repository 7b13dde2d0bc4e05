package compare

import (
	"bytes"
	"math"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
	"github.com/nfsbench/nfsbench/test/experiments"
)

// suite has a cell for each client and path, whose latencies are the values.
func suite(baseline map[string]string, cells map[string][]float64) runfile.SuiteRun {
	s := significance()
	s.Metrics = []string{bench.MetricMeanLatency}
	run := runfile.SuiteRun{Settings: runfile.SuiteSettings{Compare: &runfile.SuiteCompare{SuiteSignificance: s, Baseline: baseline, ImpactOf: "Baseline"}}}
	for _, client := range []string{"kernel", "nfs", "dnfs"} {
		for _, path := range []string{"local", "remote"} {
			name := client + "-" + path
			values, ok := cells[name]
			if !ok {
				continue
			}
			run.Cells = append(run.Cells, runfile.SuiteCell{Name: name, Values: []runfile.SuiteAxis{{Axis: "client", Value: client}, {Axis: "path", Value: path}}})
			for i, v := range values {
				run.Results = append(run.Results, result(name, i+1, len(run.Results)+1, v))
			}
		}
	}
	return run
}

func result(cell string, repetition, position int, latency float64) runfile.SuiteResult {
	return runfile.SuiteResult{
		Cell: cell, Repetition: int32(repetition), Position: int32(position), //nolint:gosec // a few
		Benchmark: cell + "-r" + strconv.Itoa(repetition), Phase: "Succeeded", Validity: "Valid",
		Points: []runfile.SuitePoint{{Metrics: map[string]float64{bench.MetricMeanLatency: latency}}},
	}
}

func codes(list []bench.Finding) (codes []judge.Code) {
	for _, f := range list {
		codes = append(codes, f.Code)
	}
	return codes
}

func TestABaselineDiffersInItsAxesOnly(t *testing.T) {
	t.Parallel()
	some := []float64{1, 2, 3, 4}
	cells := map[string][]float64{"kernel-local": some, "nfs-local": some, "nfs-remote": some, "dnfs-local": some, "dnfs-remote": some}
	for name, tc := range map[string]struct {
		baseline map[string]string
		want     []string
		findings []judge.Code
	}{
		"one axis":           {map[string]string{"client": "nfs"}, []string{"kernel-local:nfs-local", "dnfs-local:nfs-local", "dnfs-remote:nfs-remote"}, nil},
		"the other axis":     {map[string]string{"path": "local"}, []string{"nfs-remote:nfs-local", "dnfs-remote:dnfs-local"}, nil},
		"both":               {map[string]string{"client": "nfs", "path": "local"}, []string{"kernel-local:nfs-local", "nfs-remote:nfs-local", "dnfs-local:nfs-local", "dnfs-remote:nfs-local"}, nil},
		"a cell is missing":  {map[string]string{"client": "kernel"}, []string{"nfs-local:kernel-local", "dnfs-local:kernel-local"}, []judge.Code{NoBaseline}},
		"no such value":      {map[string]string{"client": "smb"}, nil, []judge.Code{NoBaseline}},
		"no such axis":       {map[string]string{"weather": "fine"}, nil, []judge.Code{NoBaseline}},
		"a value and a typo": {map[string]string{"client": "nfs", "weather": "fine"}, nil, []judge.Code{NoBaseline}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := suite(tc.baseline, cells)
			run.Settings.Compare.Correction = "None"
			table := Run(Request{Run: &run})
			var got []string
			for _, l := range table.Comparisons {
				got = append(got, l.Cell+":"+l.Baseline)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tc.findings, codes(table.Findings)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPairsAreByRepetitionAndOnlyWhatSucceededCounts(t *testing.T) {
	t.Parallel()
	run := suite(map[string]string{"client": "nfs"}, map[string][]float64{"nfs-local": {100, 200, 300, 400, 500, 600}, "dnfs-local": {90, 220, 300, 300, 400, 480}})
	run.Simulated = true
	at := func(cell string, repetition int) *runfile.SuiteResult {
		for i, r := range run.Results {
			if r.Cell == cell && int(r.Repetition) == repetition {
				return &run.Results[i]
			}
		}
		t.Fatal("no such result")
		return nil
	}
	at("nfs-local", 1).Position = 99 // repetition 1 was run last
	at("nfs-local", 2).Phase = "Failed"
	at("dnfs-local", 4).Validity = "Invalid"
	at("dnfs-local", 5).Validity = "Suspect"
	retried := *at("dnfs-local", 6)
	retried.Attempt, retried.Points = 1, []runfile.SuitePoint{{Metrics: map[string]float64{bench.MetricMeanLatency: 450}}}
	run.Results = append([]runfile.SuiteResult{retried}, run.Results...)

	table := Run(Request{Run: &run})
	want := []Line{{
		Cell: "dnfs-local", Baseline: "nfs-local", Metric: "MeanLatency", Unit: "us",
		Candidate: []float64{90, 300, 400, 450}, Base: []float64{100, 300, 500, 600},
		Impacts: []float64{0.1, 0, 0.2, 0.25}, Mean: 342.5, Impact: 0.1375, ImpactMinimum: 0, ImpactMaximum: 0.25,
	}}
	ignore := cmpopts.IgnoreFields(Line{}, "ImpactDeviation", "Shift", "ShiftLow", "ShiftHigh", "Confidence", "P", "AdjustedP", "Detectable", "NoiseFloor", "Outcome")
	if diff := cmp.Diff(want, table.Comparisons, ignore, cmpopts.EquateApprox(0, 1e-12)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]float64{300, 400, 500, 600, 100}, table.Cells[0].Values); diff != "" {
		t.Errorf("values are in the order of time: %s", diff)
	}
	wantFindings := []bench.Finding{
		{Code: InvalidLeftOut, Severity: "Warning", Message: "1 of the results are invalid and left out: dnfs-local-r4"},
		{Code: SuspectIncluded, Severity: "Warning", Message: "1 of the results are suspect, and count: dnfs-local-r5"},
		{Code: SimulatedResults, Severity: "Info", Message: "stand-ins took part: the numbers say nothing of real storage or of Oracle"},
		{Code: UnequalRepetitions, Severity: "Warning", Message: "some repetitions succeeded on one side only, and are not compared: of dnfs-local"},
	}
	if diff := cmp.Diff(wantFindings, table.Findings); diff != "" {
		t.Error(diff)
	}
}

func TestPositiveIsBetterWhateverTheMetric(t *testing.T) {
	t.Parallel()
	point := func(latency, throughput float64) []runfile.SuitePoint {
		return []runfile.SuitePoint{{Metrics: map[string]float64{bench.MetricMeanLatency: latency, bench.MetricThroughput: throughput}}}
	}
	var a, b Side
	for i := range 8 {
		v := float64(i)
		a.Points = append(a.Points, point(200+v, 1000+v))
		b.Points = append(b.Points, point(100+v, 500+v))
	}
	a.Name, b.Name = "a", "b"
	for _, tc := range []struct {
		base, candidate     Side
		latency, throughput bench.Outcome
		impact, shift       float64 // of latency
	}{{a, b, bench.OutcomeBetter, bench.OutcomeWorse, 0.4914, 0.4914}, {b, a, bench.OutcomeWorse, bench.OutcomeBetter, -0.967, -0.966}} {
		lines := Run(Request{Sides: []Side{tc.base, tc.candidate}, SuiteSignificance: significance()}).Comparisons
		if len(lines) != 2 || lines[0].Metric != "MeanLatency" || lines[0].Outcome != tc.latency || lines[1].Outcome != tc.throughput {
			t.Fatalf("%s to %s: %+v", tc.base.Name, tc.candidate.Name, lines)
		}
		l := lines[0]
		if math.Abs(l.Impact-tc.impact) > 0.001 || math.Abs(*l.Shift-tc.shift) > 0.001 || *l.ShiftLow > *l.Shift || *l.ShiftHigh < *l.Shift || *l.ShiftLow == *l.ShiftHigh {
			t.Errorf("%s to %s: impact %v, shift %v [%v %v]", tc.base.Name, tc.candidate.Name, l.Impact, *l.Shift, *l.ShiftLow, *l.ShiftHigh)
		}
	}
}

func TestImpactIsAShareOfWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	run := suite(map[string]string{"client": "nfs"}, map[string][]float64{"nfs-local": {440}, "dnfs-local": {590}})
	for of, want := range map[string]float64{"Baseline": -15.0 / 44, "Candidate": -15.0 / 59, "": -15.0 / 44} {
		run.Settings.Compare.ImpactOf = of
		if got := Run(Request{Run: &run}).Comparisons[0].Impact; math.Abs(got-want) > 1e-12 {
			t.Errorf("of %q: %v, want %v", of, got, want)
		}
	}
}

func TestTheOutcomeNeedsSignificanceAndEffect(t *testing.T) {
	t.Parallel()
	base := []float64{1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007}
	plus := func(d float64) []float64 {
		v := make([]float64, len(base))
		for i := range v {
			v[i] = base[i] + d
		}
		return v
	}
	same := []float64{5, 5, 5, 5, 5, 5, 5, 5}
	for name, tc := range map[string]struct {
		base, candidate []float64
		want            bench.Outcome
	}{
		"much slower":               {base, plus(50), bench.OutcomeWorse},
		"much faster":               {base, plus(-50), bench.OutcomeBetter},
		"less than matters":         {base, plus(10), bench.OutcomeNegligible},
		"just what matters":         {base, plus(21), bench.OutcomeWorse},
		"the same":                  {base, base, bench.OutcomeNoDifference},
		"constant and equal":        {same, same, bench.OutcomeNoDifference},
		"constant and unlike":       {same, []float64{6, 6, 6, 6, 6, 6, 6, 6}, bench.OutcomeWorse},
		"three of each":             {base[:3], plus(50)[:3], bench.OutcomeUnknown},
		"one of each":               {base[:1], plus(50)[:1], bench.OutcomeUnknown},
		"a baseline of nothing":     {make([]float64, 8), base, bench.OutcomeUnknown},
		"a candidate of nothing":    {base, make([]float64, 8), bench.OutcomeBetter},
		"nothing on either side":    {make([]float64, 8), make([]float64, 8), bench.OutcomeUnknown},
		"the last three are absent": {base, plus(50)[:5], bench.OutcomeWorse},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines := Run(Request{Run: new(suite(map[string]string{"client": "nfs"}, map[string][]float64{"nfs-local": tc.base, "dnfs-local": tc.candidate}))}).Comparisons
			if len(lines) != 1 || lines[0].Outcome != tc.want {
				t.Errorf("%+v, want %s", lines, tc.want)
			}
		})
	}
}

func TestHolmIsOverTheWholeTable(t *testing.T) {
	t.Parallel()
	base := []float64{1000, 1001, 1002, 1003}
	slow := []float64{1100, 1101, 1102, 1103}
	run := suite(map[string]string{"client": "nfs"}, map[string][]float64{"nfs-local": base, "nfs-remote": base, "dnfs-local": slow, "dnfs-remote": base})
	lines := Run(Request{Run: &run}).Comparisons
	if p := *lines[0].P; math.Abs(p-2.0/70) > 1e-12 || math.Abs(*lines[0].AdjustedP-2*p) > 1e-12 || *lines[1].AdjustedP != 1 {
		t.Errorf("p %v, adjusted %v and %v", p, *lines[0].AdjustedP, *lines[1].AdjustedP)
	}
	table := Run(Request{Run: &run})
	want := bench.Finding{Code: TooFewRepetitions, Severity: "Warning", Message: "2 of 2 comparisons have no answer: 4 repetitions cannot show a difference at alpha 0.05: the smallest two-sided p of the Mann-Whitney test is 2/C(8,4) = 0.029, and Holm's correction for 2 comparisons makes it 0.057; give at least 5 (p 0.0079, corrected 0.016), raise alpha, compare fewer metrics, or set correction None"}
	if diff := cmp.Diff([]bench.Finding{want}, table.Findings); diff != "" || lines[0].Outcome != bench.OutcomeUnknown {
		t.Error(lines[0].Outcome, diff)
	}
	run.Settings.Compare.Correction = "None"
	if got := Run(Request{Run: &run}).Comparisons; got[0].Outcome != bench.OutcomeWorse || *got[0].AdjustedP != *got[0].P || got[1].Outcome != bench.OutcomeNoDifference {
		t.Errorf("not corrected: %+v", got)
	}
}

func TestTheRecordMayHaveBeenKept(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := runfile.WriteSuiteRunGzip(&b, experiments.ImpactRun()); err != nil {
		t.Fatal(err)
	}
	kept, err := runfile.ReadSuiteRun(&b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Run(Request{Run: new(experiments.ImpactRun())}), Run(Request{Run: &kept})); diff != "" {
		t.Error(diff)
	}
}

func TestDetectableIsAfterTheCorrection(t *testing.T) {
	t.Parallel()
	base := []float64{96, 97, 98, 99, 101, 102, 103, 104}
	faster := []float64{46, 47, 48, 49, 51, 52, 53, 54} // the same spread
	run := suite(map[string]string{"client": "nfs"}, map[string][]float64{"nfs-local": base, "dnfs-local": faster, "nfs-remote": base, "dnfs-remote": base[:3]})
	spread, _ := stats.StandardDeviation(base)
	for correction, rate := range map[string]float64{"Holm": 0.05 / 2, "None": 0.05} {
		run.Settings.Compare.Correction = correction
		want, _ := stats.Detectable(8, spread/100, rate)
		lines := Run(Request{Run: &run}).Comparisons
		if got := lines[0].Detectable; got == nil || math.Abs(*got-want) > 1e-12 {
			t.Errorf("%s: %v, want %v", correction, got, want)
		}
		if got := lines[1].Detectable; got != nil {
			t.Errorf("%s: three pairs can detect %v", correction, *got)
		}
	}
}

// TestSamplesThatDifferInShapeOnlyAreNegligible: a significant test and a shift of zero.
func TestSamplesThatDifferInShapeOnlyAreNegligible(t *testing.T) {
	t.Parallel()
	s := significance()
	s.MinimumEffect = 0
	for shift, want := range map[float64]bench.Outcome{0: bench.OutcomeNegligible, 0.01: bench.OutcomeBetter, -0.01: bench.OutcomeWorse} {
		l := &Line{Shift: new(shift), AdjustedP: new(0.001)}
		if got := l.outcome(0.0001, s); got != want {
			t.Errorf("a shift of %v is %s, want %s", shift, got, want)
		}
	}
}
