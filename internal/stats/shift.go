package stats

import (
	"math"
	"slices"

	moremath "github.com/aclements/go-moremath/stats"
)

// Interval is an interval of confidence, in the unit of the values.
type Interval struct {
	Low, High float64
	// Confidence that it really has, which is at least what was asked for: with
	// ranks only few levels can be had.
	Confidence float64
}

// Shift is by how much one sample lies above another.
type Shift struct {
	Estimate float64 // Hodges-Lehmann: the median of all differences
	// Interval of the shift; nil where the samples are too small for the
	// confidence that was asked for.
	Interval *Interval
}

// HodgesLehmann estimates how far b lies above a: the median of all differences
// of a value of b and one of a. The interval is the one that belongs to the
// Mann-Whitney test: a shift is in it when the test does not reject it. It is
// exact up to ExactLimit values on each side; with ties its confidence is at
// least what it says. It is not known (false) if a side is empty, or if there are more than a million
// differences.
func HodgesLehmann(a, b []float64, confidence float64) (Shift, bool) {
	const most = 1 << 20 // in memory; the values may come from a tenant
	if len(a) == 0 || len(b) > most/max(len(a), 1) || len(b) == 0 {
		return Shift{}, false
	}
	differences := make([]float64, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			differences = append(differences, y-x)
		}
	}
	slices.Sort(differences)
	s := Shift{Estimate: medianOfSorted(differences)}
	if rank, level := shiftRank(len(a), len(b), confidence); rank > 0 {
		s.Interval = &Interval{Low: differences[rank-1], High: differences[len(differences)-rank], Confidence: level}
	}
	return s, true
}

// shiftRank is which of the ordered differences, counted from either end, bounds
// the interval, and the confidence that it then has; 0 where none does.
func shiftRank(n1, n2 int, confidence float64) (rank int, level float64) {
	outside := func(u int) float64 { return 2 * moremath.UDist{N1: n1, N2: n2}.CDF(float64(u)) }
	if max(n1, n2) > ExactLimit {
		product := float64(n1) * float64(n2)
		sd := math.Sqrt(product * float64(n1+n2+1) / 12)
		outside = func(u int) float64 { return 2 * moremath.StdNormal.CDF((float64(u)+0.5-product/2)/sd) }
	}
	// The distribution grows with u: the last u that leaves enough inside.
	low, high := -1, (n1*n2-1)/2
	for low < high {
		mid := (low + high + 1) / 2
		if 1-outside(mid) >= confidence {
			low = mid
		} else {
			high = mid - 1
		}
	}
	if low < 0 {
		return 0, 0
	}
	return low + 1, 1 - outside(low)
}

// MedianInterval holds the median of what the values were drawn from. Its bounds
// are two of the values, equally far from the ends, and its confidence is that
// of the binomial distribution, whatever the values are distributed like. It is
// not known (false) where even the smallest and the largest value have not the
// confidence that is asked for: their own is 1-2^(1-n), so that 95 % takes six
// values.
func MedianInterval(values []float64, confidence float64) (Interval, bool) {
	n := len(values)
	below := moremath.BinomialDist{N: n, P: 0.5}
	outside := func(rank int) float64 { return 2 * below.CDF(float64(rank-1)) }
	rank := 0
	for rank < n/2 && 1-outside(rank+1) >= confidence {
		rank++
	}
	if rank == 0 {
		return Interval{}, false
	}
	s := slices.Sorted(slices.Values(values))
	return Interval{Low: s[rank-1], High: s[n-rank], Confidence: 1 - outside(rank)}, true
}
