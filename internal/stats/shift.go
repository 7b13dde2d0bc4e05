package stats

import (
	"math"
	"slices"

	moremath "github.com/aclements/go-moremath/stats"
)

// Interval is a confidence interval, in the unit of the values.
type Interval struct {
	Low, High float64
	// Confidence is the actual confidence. It is at least the requested one, because ranks allow only a few
	// levels.
	Confidence float64
}

// Shift is the distance by which one sample lies above another.
type Shift struct {
	Estimate float64 // Hodges-Lehmann: the median of all differences
	// Interval of the shift; nil if the samples are too small for the requested confidence.
	Interval *Interval
}

// HodgesLehmann estimates how far b lies above a: the median of all differences of a value of b and a value
// of a. The interval is that of the Mann-Whitney test: it holds every shift that the test does not reject. It
// is exact up to ExactLimit values on each side; with ties the real confidence is at least the stated one.
// HodgesLehmann returns false if a side is empty, or if there are more than a million differences.
func HodgesLehmann(a, b []float64, confidence float64) (Shift, bool) {
	const most = 1 << 20 // bounds the memory; the values may come from a tenant
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

// shiftRank returns the rank of the ordered differences, counted from either end, that bounds the interval,
// and the confidence of that interval. It returns 0 if no rank reaches the confidence.
func shiftRank(n1, n2 int, confidence float64) (rank int, level float64) {
	outside := func(u int) float64 { return 2 * moremath.UDist{N1: n1, N2: n2}.CDF(float64(u)) }
	if max(n1, n2) > ExactLimit {
		product := float64(n1) * float64(n2)
		sd := math.Sqrt(product * float64(n1+n2+1) / 12)
		outside = func(u int) float64 { return 2 * moremath.StdNormal.CDF((float64(u)+0.5-product/2)/sd) }
	}
	// outside grows with u: search for the last u that leaves the confidence inside.
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

// MedianInterval returns an interval for the median of the distribution of the values. The bounds are two of
// the values, equally far from the ends. The confidence comes from the binomial distribution and holds for
// any distribution of the values. MedianInterval returns false if not even the smallest and the largest value
// reach the requested confidence: theirs is 1-2^(1-n), so that 95 % takes six values.
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
