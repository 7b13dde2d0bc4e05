package stats

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// ordered are two samples without ties of which the first has this U.
func ordered(n1, n2, u int) (a, b []float64) {
	for i := range n1 {
		below := min(n2, max(0, u-n2*(n1-1-i))) // how many of b are less than it
		a = append(a, float64(below)+float64(i+1)/100)
	}
	for i := range n2 {
		b = append(b, float64(i)+0.5)
	}
	return a, b
}

func TestCriticalValuesAreThoseOfPublishedTables(t *testing.T) {
	t.Parallel()
	// The largest U that is significant at 0.05, two-sided, as printed in every
	// textbook's table of the Mann-Whitney test.
	for _, row := range []struct{ n1, n2, u int }{
		{4, 4, 0},
		{5, 5, 2},
		{6, 6, 5},
		{7, 7, 8},
		{8, 8, 13},
		{9, 9, 17},
		{10, 10, 23},
		{12, 12, 37},
		{15, 15, 64},
		{20, 20, 127},
		{3, 5, 0},
		{5, 8, 6},
		{8, 5, 6},
		{5, 10, 8},
		{8, 10, 17},
		{10, 20, 55},
	} {
		at, _ := MannWhitney(ordered(row.n1, row.n2, row.u))
		beyond, _ := MannWhitney(ordered(row.n1, row.n2, row.u+1))
		if at > 0.05 || beyond <= 0.05 {
			t.Errorf("n = %d and %d: p of U=%d is %v, of U=%d %v", row.n1, row.n2, row.u, at, row.u+1, beyond)
		}
	}
}

func TestTheSmallestPIsThatOfCompleteSeparation(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]float64{1: 1, 2: 1.0 / 3, 3: 0.1, 4: 0.028571, 5: 0.0079365, 6: 0.0021645, 10: 1.0825e-5} {
		if got := MinimumP(n, n); math.Abs(got-want) > want*1e-4 {
			t.Errorf("n = %d: %v, want %v", n, got, want)
		}
		if got, _ := MannWhitney(ordered(n, n, 0)); math.Abs(got-MinimumP(n, n)) > 1e-15 {
			t.Errorf("n = %d: the test says %v, and its bound %v", n, got, MinimumP(n, n))
		}
	}
	if got, other := MinimumP(3, 8), MinimumP(8, 3); math.Abs(got-2.0/165) > 1e-15 || math.Abs(got-other) > 1e-15 {
		t.Errorf("of 3 and 8 values: %v and %v, want 2/165", got, other)
	}
}

// Hollander and Wolfe, Nonparametric Statistical Methods, chapter 4: permeability
// of a membrane at term and at 12 to 26 weeks. One-sided p 0.1272, shift 0.305,
// and a 96 % interval from -0.15 to 0.76.
func TestHodgesLehmannOnATextbooksExample(t *testing.T) {
	t.Parallel()
	term := []float64{0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46}
	weeks := []float64{1.15, 0.88, 0.90, 0.74, 1.21}
	if p, _ := MannWhitney(term, weeks); math.Abs(p/2-0.1272) > 0.00005 {
		t.Errorf("one-sided p = %v, printed 0.1272", p/2)
	}
	got, ok := HodgesLehmann(weeks, term, 0.95)
	want := Shift{Estimate: 0.305, Interval: &Interval{Low: -0.15, High: 0.76, Confidence: 0.96}}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 0.002)); diff != "" || !ok {
		t.Error(diff)
	}
}

func TestHolmOnATextbooksExample(t *testing.T) {
	t.Parallel()
	in := []float64{0.01, 0.04, 0.03, 0.005}
	if diff := cmp.Diff([]float64{0.03, 0.06, 0.06, 0.02}, Holm(in), cmpopts.EquateApprox(0, 1e-12)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]float64{0.01, 0.04, 0.03, 0.005}, in); diff != "" {
		t.Errorf("the argument was changed: %s", diff)
	}
	if diff := cmp.Diff([]float64{1, 1}, Holm([]float64{0.7, 0.9})); diff != "" {
		t.Errorf("above 1: %s", diff)
	}
	if got := Holm(nil); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

func TestMedianIntervalsHaveThePublishedRanks(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		n         int
		low, high float64 // ranks
		percent   float64
	}{{6, 1, 6, 96.9}, {7, 1, 7, 98.4}, {8, 1, 8, 99.2}, {9, 2, 8, 96.1}, {10, 2, 9, 97.9}, {15, 4, 12, 96.5}, {20, 6, 15, 95.9}, {25, 8, 18, 95.7}, {30, 10, 21, 95.7}} {
		values := make([]float64, row.n)
		for i := range values {
			values[(i*7+3)%row.n] = float64(i + 1) // not in order, and equal to its rank
		}
		if row.n%7 == 0 {
			for i := range values {
				values[i] = float64(row.n - i)
			}
		}
		got, ok := MedianInterval(values, 0.95)
		want := Interval{row.low, row.high, row.percent / 100}
		if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 0.0005)); diff != "" || !ok {
			t.Errorf("n = %d: %v %s", row.n, ok, diff)
		}
	}
	for n := range 6 {
		if got, ok := MedianInterval(make([]float64, n), 0.95); ok {
			t.Errorf("%d values have %+v: even their range has less than 95 %%", n, got)
		}
	}
	if got, ok := MedianInterval([]float64{3, 1, 2, 5, 4}, 0.9); !ok || got.Low != 1 || got.High != 5 || math.Abs(got.Confidence-0.9375) > 1e-9 {
		t.Errorf("five values have a 93.75 %% interval: %+v %v", got, ok)
	}
}
