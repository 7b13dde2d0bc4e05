package stats

import (
	"math"
	"slices"

	moremath "github.com/aclements/go-moremath/stats"
)

// StandardDeviation is that of a sample: the divisor is n-1. It is not known
// (false) of fewer than two values.
func StandardDeviation(values []float64) (float64, bool) {
	if len(values) < 2 {
		return 0, false
	}
	m, ss := Mean(values), 0.0
	for _, v := range values {
		ss += (v - m) * (v - m)
	}
	return math.Sqrt(ss / float64(len(values)-1)), true
}

// Interval is an interval of confidence, in the unit of the values.
type Interval struct {
	Low, High float64
	// Confidence that it really has, which is at least what was asked for: with
	// ranks only few levels can be had.
	Confidence float64
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
