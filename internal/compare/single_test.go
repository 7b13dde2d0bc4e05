package compare

import (
	"math"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// single returns one run with a throughput and its interval.
func single(name string, v, low, high float64) Side {
	return Side{Name: name, Points: [][]runfile.SuitePoint{{{
		Metrics:   map[string]float64{bench.MetricThroughput: v},
		Intervals: map[string]runfile.SuiteInterval{bench.MetricThroughput: {Low: low, High: high}},
	}}}}
}

func TestSingleRunsSayWhetherTheirIntervalsExcludeZero(t *testing.T) {
	t.Parallel()
	s := runfile.SuiteSignificance{Metrics: []string{bench.MetricThroughput}, Alpha: 0.05}
	for name, c := range map[string]struct {
		base, candidate Side
		low, high       float64
		text            string
	}{
		"beyond":  {single("a", 100, 97, 103), single("b", 110, 106, 114), 0.05, 0.15, "by more than the runs vary"},
		"inside":  {single("a", 100, 97, 103), single("b", 104, 100, 108), -0.01, 0.09, "by no more than the runs vary"},
		"broken":  {single("a", 100, math.Inf(-1), 103), single("b", 110, 106, 114), 0, 0, ""},
		"outside": {single("a", 100, 101, 103), single("b", 110, 106, 114), 0, 0, ""},
	} {
		table := Run(Request{Sides: []Side{c.base, c.candidate}, SuiteSignificance: s})
		l, text := table.Comparisons[0], ""
		for _, f := range table.Findings {
			if f.Code == SingleRuns {
				text += f.Message
			}
		}
		if c.text == "" {
			if l.WithinLow != nil || text != "" {
				t.Errorf("%s: %v, %q", name, l.WithinLow, text)
			}
			continue
		}
		if l.WithinLow == nil || math.Abs(*l.WithinLow-c.low) > 1e-9 || math.Abs(*l.WithinHigh-c.high) > 1e-9 || l.Outcome != bench.OutcomeUnknown {
			t.Errorf("%s: %+v", name, l)
		}
		if !strings.Contains(text, c.text) {
			t.Errorf("%s: %q", name, text)
		}
	}
}

func TestRepetitionsNeedNoIntervalsOfTheirRuns(t *testing.T) {
	t.Parallel()
	a, b := single("a", 100, 97, 103), single("b", 110, 106, 114)
	a.Points, b.Points = append(a.Points, a.Points...), append(b.Points, b.Points...)
	if l := Run(Request{Sides: []Side{a, b}, SuiteSignificance: runfile.SuiteSignificance{Metrics: []string{bench.MetricThroughput}, Alpha: 0.05}}).Comparisons[0]; l.WithinLow != nil {
		t.Errorf("%+v", l)
	}
}

// Impact and its interval have the same divisor.
func TestTheIntervalOfSingleRunsIsAShareOfWhatTheImpactIs(t *testing.T) {
	t.Parallel()
	for of, want := range map[string][2]float64{"": {0.05, 0.15}, impactOfCandidate: {5.0 / 110, 15.0 / 110}} {
		p := pairing{impactOf: of, SuiteSignificance: runfile.SuiteSignificance{Metrics: []string{bench.MetricThroughput}}}
		p.base, p.candidate = single("a", 100, 97, 103).series(), single("b", 110, 106, 114).series()
		l := p.lines()[0]
		if l.WithinLow == nil || math.Abs(*l.WithinLow-want[0]) > 1e-9 || math.Abs(*l.WithinHigh-want[1]) > 1e-9 {
			t.Errorf("of %q: %+v", of, l)
		}
		if l.Impact < *l.WithinLow || l.Impact > *l.WithinHigh {
			t.Errorf("of %q: %v is not within %v and %v", of, l.Impact, *l.WithinLow, *l.WithinHigh)
		}
	}
}
