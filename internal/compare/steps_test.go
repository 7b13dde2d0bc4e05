package compare

import (
	"bytes"
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// ramp are the points of a benchmark with these users, at so much of the line each.
func ramp(latency float64, wire map[string]int64, steps ...string) []runfile.SuitePoint {
	points := make([]runfile.SuitePoint, 0, len(steps))
	for i, step := range steps {
		p := runfile.SuitePoint{Step: step, Metrics: map[string]float64{bench.MetricMeanLatency: latency * float64(i+1)}}
		if w, ok := wire[step]; ok {
			p.WirePercent = new(float64(w) / 10)
		}
		points = append(points, p)
	}
	return points
}

func latencyOnly() runfile.SuiteSignificance {
	return runfile.SuiteSignificance{Metrics: []string{bench.MetricMeanLatency}, Alpha: 0.05, MinimumEffect: 0.02, Correction: "None"}
}

func TestStepsAreMatchedByName(t *testing.T) {
	t.Parallel()
	a := Side{Name: "a", Points: [][]runfile.SuitePoint{ramp(100, nil, "Users=1", "Users=2"), ramp(101, nil, "Users=1", "Users=2")}}
	b := Side{Name: "b", Points: [][]runfile.SuitePoint{ramp(50, nil, "Users=2", "Users=4"), ramp(51, nil, "Users=2", "Users=4")}}
	table := Run(Request{Sides: []Side{a, b}, SuiteSignificance: latencyOnly()})
	var cells []string
	for _, c := range table.Cells {
		cells = append(cells, c.Cell+" "+c.Step)
	}
	if diff := cmp.Diff([]string{"a Users=1", "a Users=2", "b Users=2", "b Users=4"}, cells); diff != "" {
		t.Error(diff)
	}
	if len(table.Comparisons) != 1 {
		t.Fatalf("%d lines", len(table.Comparisons))
	}
	l := table.Comparisons[0]
	if diff := cmp.Diff([][]float64{{200, 202}, {50, 51}}, [][]float64{l.Base, l.Candidate}); diff != "" || l.Step != "Users=2" {
		t.Error(l.Step, diff)
	}
	if diff := cmp.Diff([]judge.Code{MixedSteps, TooFewRepetitions}, codes(table.Findings)); diff != "" {
		t.Error(diff)
	}
}

func TestAStepThatOneRepetitionLacksIsNamed(t *testing.T) {
	t.Parallel()
	full := ramp(100, nil, "Users=1", "Users=2")
	same := Side{Name: "same", Points: [][]runfile.SuitePoint{full, full, full, full}}
	for name, points := range map[string][][]runfile.SuitePoint{
		"the last lacks one":   {full, full, full, full[:1]},
		"the first lacks one":  {full[:1], full, full, full},
		"one is there doubled": {full, full, full, {full[0], full[0]}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			table := Run(Request{Sides: []Side{same, {Name: "other", Points: points}}, SuiteSignificance: latencyOnly()})
			want := []bench.Finding{
				{Code: MixedSteps, Severity: "Warning", Message: "not every repetition has the same steps in other: each step counts the repetitions that have it"},
				{Code: UnequalRepetitions, Severity: "Warning", Message: "some repetitions succeeded on one side only, and are not compared: of other"},
				{Code: TooFewRepetitions, Severity: "Warning", Message: "1 of 2 comparisons have no answer: 3 repetitions cannot show a difference at alpha 0.05: the smallest two-sided p of the Mann-Whitney test is 2/C(6,3) = 0.1; give at least 4 (p 0.029), or raise alpha"},
			}
			if diff := cmp.Diff(want, table.Findings); diff != "" {
				t.Error(diff)
			}
			if n := len(table.Comparisons[1].Base); n != 3 {
				t.Errorf("%d pairs of the second step", n)
			}
		})
	}
}

func TestAFullLineIsMarkedOnEitherSide(t *testing.T) {
	t.Parallel()
	at := func(name string, wire ...int64) Side {
		s := Side{Name: name}
		for _, w := range wire {
			s.Points = append(s.Points, ramp(100, map[string]int64{"Users=16": 900, "Users=32": w}, "Users=8", "Users=16", "Users=32"))
		}
		return s
	}
	free, full := at("free", 940, 949, 990), at("full", 940, 950, 990)
	last, wrong := at("full", 1020, 1020, 1020), at("wrong", 990, 1021, 1500) // more than the links carry: their speed is wrong
	for name, tc := range map[string]struct {
		base, candidate Side
		want            bool
	}{"neither": {free, free, false}, "baseline": {full, free, true}, "candidate": {free, full, true}, "at the limit": {free, last, true}, "above the limit": {wrong, wrong, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			table := Run(Request{Sides: []Side{tc.base, tc.candidate}, SuiteSignificance: latencyOnly()})
			for i, want := range []bool{false, false, tc.want} {
				if l := table.Comparisons[i]; l.Saturated != want {
					t.Errorf("%s: saturated %v", l.Step, l.Saturated)
				}
			}
			finding := ""
			for _, f := range table.Findings {
				if f.Code == Saturated {
					finding = f.Message
				}
			}
			want := ""
			if tc.want {
				want = "the line was full (95 % of the wire limit or more) in full Users=32: such numbers describe the line, not what is compared"
			}
			if finding != want {
				t.Error(finding)
			}
		})
	}
}

func TestAMetricThatNobodyMeasuredIsNamed(t *testing.T) {
	t.Parallel()
	s := latencyOnly()
	s.Metrics = append(s.Metrics, bench.MetricStorageLatency)
	a := Side{Name: "a"}
	for range 4 {
		a.Points = append(a.Points, ramp(100, nil, ""))
	}
	table := Run(Request{Sides: []Side{a, a}, SuiteSignificance: s})
	if diff := cmp.Diff([]bench.Finding{{Code: MetricNotMeasured, Severity: "Info", Message: "no result has a StorageLatency: nothing is compared by it"}}, table.Findings); diff != "" {
		t.Error(diff)
	}
	if len(table.Comparisons) != 1 || len(table.Cells) != 2 {
		t.Errorf("%d lines, %d cells", len(table.Comparisons), len(table.Cells))
	}
}

func TestACellsNumbers(t *testing.T) {
	t.Parallel()
	s := Side{Name: "a"}
	for _, v := range []float64{60, 10, 30, 20, 50, 40} {
		s.Points = append(s.Points, []runfile.SuitePoint{{Metrics: map[string]float64{bench.MetricThroughput: v}}})
	}
	got := Run(Request{Sides: []Side{s, {}}, SuiteSignificance: runfile.SuiteSignificance{}}).Cells
	low, high, variation := 10.0, 60.0, 0.5345224838248488
	want := []Cell{{
		Cell: "a", Metric: "Throughput", Unit: "B/s", Values: []float64{60, 10, 30, 20, 50, 40},
		Mean: 35, Median: 35, Minimum: 10, Maximum: 60, MedianLow: &low, MedianHigh: &high, Variation: &variation,
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	s.Points = s.Points[:5]
	if c := Run(Request{Sides: []Side{s, {}}, SuiteSignificance: runfile.SuiteSignificance{}}).Cells[0]; c.MedianLow != nil || c.MedianHigh != nil {
		t.Errorf("five values have no 95 %% interval: %+v", c)
	}
}

func TestTheDocsListEveryCodeAndNoOther(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/findings.md")
	if err != nil {
		t.Fatal(err)
	}
	_, codes, _ := bytes.Cut(text, []byte("\n## The codes of suites\n"))
	var documented []judge.Code
	for _, m := range regexp.MustCompile("(?m)^### ([A-Za-z0-9]+)$").FindAllSubmatch(codes, -1) {
		documented = append(documented, judge.Code(m[1]))
	}
	all := []judge.Code{
		InvalidLeftOut, SuspectIncluded, MixedSteps, NoBaseline, UnequalRepetitions, MetricNotMeasured,
		TooFewRepetitions, NoiseFloorUnknown, Saturated, SimulatedResults, SingleRuns,
	}
	if diff := cmp.Diff(all, documented); diff != "" {
		t.Errorf("docs/findings.md and the codes differ, order included:\n%s", diff)
	}
}
