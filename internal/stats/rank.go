package stats

import (
	"math"
	"slices"

	moremath "github.com/aclements/go-moremath/stats"
)

// ExactLimit is up to how many values on each side p of the Mann-Whitney test
// and the interval of the shift are exact; above, they are those of the normal
// approximation, which is then within 0.005 of the exact p. The exact distribution
// takes a time that grows with the fourth power: with ties 1 ms at 20 values.
const ExactLimit = 20

// MannWhitney is the two-sided p of the Mann-Whitney test of two samples: how
// often chance alone orders the two as unlike as this, or more. Ties count half.
// It is twice the smaller of the tails, at most 1, and exact up to ExactLimit
// values on each side, with ties too; above, it is the normal approximation with
// the corrections for ties and for continuity. It is 1 where all values are equal,
// and not known (false) where a side is empty.
//
// Without ties the distribution is that of go-moremath. With ties it is counted
// here, because that of go-moremath is wrong: for small U it divides a negative
// number, and Go rounds towards zero. Its MannWhitneyUTest is not used, because it
// looks the smaller U up in the distribution of the first one: with ties and sides
// of different size that is not symmetric.
func MannWhitney(a, b []float64) (float64, bool) {
	if len(a) == 0 || len(b) == 0 {
		return 0, false
	}
	u, ties := rankSum(a, b)
	var less, more float64
	switch {
	case len(ties) == 1:
		return 1, true
	case max(len(a), len(b)) > ExactLimit:
		return normalP(u, len(a), len(b), ties), true
	case len(ties) == len(a)+len(b):
		dist := moremath.UDist{N1: len(a), N2: len(b)}
		less, more = dist.CDF(u), dist.CDF(float64(len(a)*len(b))-u)
	default:
		less, more = tiedTails(u, len(a), ties)
	}
	return min(1, 2*min(less, more)), true
}

// tiedTails are the shares of all choices of n1 values whose U is at most u, and at
// least u.
func tiedTails(u float64, n1 int, ties []int) (less, more float64) {
	at, total := int(2*u)+n1*(n1+1), 0.0
	for sum, c := range rankSums(n1, ties) {
		total += c
		if sum <= at {
			less += c
		}
		if sum >= at {
			more += c
		}
	}
	return less / total, more / total
}

// rankSums counts the choices of n1 values by twice the sum of their ranks, which is
// whole: ranks of ties are their mean. The counts are whole, too, and below 2^53 up
// to ExactLimit.
func rankSums(n1 int, ties []int) []float64 {
	var ranks []int // of each value, twice
	for _, t := range ties {
		rank := 2*len(ranks) + t + 1
		for range t {
			ranks = append(ranks, rank)
		}
	}
	most := 0
	for _, r := range ranks[len(ranks)-n1:] {
		most += r
	}
	counts := make([][]float64, n1+1) // of choices of each size
	for i := range counts {
		counts[i] = make([]float64, most+1)
	}
	counts[0][0] = 1
	for seen, r := range ranks {
		for size := min(seen+1, n1); size > 0; size-- {
			for sum := r; sum <= most; sum++ {
				counts[size][sum] += counts[size-1][sum-r]
			}
		}
	}
	return counts[n1]
}

// MinimumP is the smallest two-sided p that the Mann-Whitney test can have with
// so many values on each side: 2/C(n1+n2,n1). Nothing less can be seen, however
// large the difference is.
func MinimumP(n1, n2 int) float64 {
	p := 2.0
	for i := 1; i <= n1; i++ {
		p *= float64(i) / float64(n2+i)
	}
	return min(1, p)
}

// rankSum is U of a, with ties as halves, and how many values are equal to each
// other at each rank.
func rankSum(a, b []float64) (u float64, ties []int) {
	all := slices.Sorted(slices.Values(slices.Concat(a, b)))
	mine := slices.Sorted(slices.Values(a))
	sum := 0.0
	for i, k := 0, 0; i < len(all); {
		first := i
		for i < len(all) && all[i] == all[first] {
			i++
		}
		for k < len(mine) && mine[k] == all[first] {
			sum += float64(first+1+i) / 2
			k++
		}
		ties = append(ties, i-first)
	}
	n := float64(len(a))
	return sum - n*(n+1)/2, ties
}

func normalP(u float64, n1, n2 int, ties []int) float64 {
	product, n, tied := float64(n1)*float64(n2), float64(n1+n2), 0.0
	for _, t := range ties {
		f := float64(t)
		tied += f*f*f - f
	}
	sd := math.Sqrt(product / 12 * (n + 1 - tied/(n*(n-1))))
	away := max(0, math.Abs(u-product/2)-0.5)
	return min(1, 2*moremath.StdNormal.CDF(-away/sd))
}

// Holm corrects p of several tests for their number, by the method of Holm
// (1979): the smallest is multiplied by the number of tests, the next by one
// less, and so on; none is below the one before, and none is above 1. What is
// then below alpha was found with a rate of false alarms of alpha for all tests
// together, whether they depend on each other or not. The answer is in the order
// of the argument, which is not changed.
func Holm(p []float64) []float64 {
	adjusted, floor := make([]float64, len(p)), 0.0
	for i, at := range ascending(p) {
		floor = max(floor, min(1, p[at]*float64(len(p)-i)))
		adjusted[at] = floor
	}
	return adjusted
}

// power is how often the detectable effect is found: four times out of five, as
// is usual.
const power = 0.8

// rankEfficiency is that of the Mann-Whitney test beside the t test where the
// noise is normal: 3/pi. It is rarely less for other noise.
const rankEfficiency = 3 / math.Pi

// Detectable is the smallest shift that the Mann-Whitney test of n values
// on each side finds at alpha four times out of five, where they scatter by this
// standard deviation: what a comparison could have seen. It is that of the t test,
// widened by the efficiency of ranks, and therefore a little too small
// below six values, where ranks are coarse. It is not known (false) where n
// values cannot be significant at all, see MinimumP.
func Detectable(n int, deviation, alpha float64) (float64, bool) {
	if n < 2 || alpha <= 0 || alpha >= 1 || MinimumP(n, n) >= alpha {
		return 0, false
	}
	quantile := moremath.InvCDF(moremath.TDist{V: float64(2*n - 2)})
	factor := (quantile(power) - quantile(alpha/2)) * math.Sqrt(2/(float64(n)*rankEfficiency))
	return factor * deviation, true
}

// NormalQuantile is the value that a standard normal number stays below with
// the probability p, which is above 0 and below 1.
func NormalQuantile(p float64) float64 { return moremath.StdNormal.InvCDF(p) }
