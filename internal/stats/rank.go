package stats

import (
	"math"
	"slices"

	moremath "github.com/aclements/go-moremath/stats"
)

// ExactLimit bounds the number of values on each side for which the p of the Mann-Whitney test and the
// interval of the shift are exact. With more values both come from the normal approximation, which is then
// within 0.005 of the exact p. The time for the exact distribution grows with the fourth power of the number
// of values: with ties it is 1 ms at 20 values.
const ExactLimit = 20

// MannWhitney returns the two-sided p of the Mann-Whitney test: the probability that chance alone orders two
// samples as unlike as these, or more. Ties count half. The p is twice the smaller of the tails, at most 1.
// It is exact up to ExactLimit values on each side, with ties too; with more values it comes from the normal
// approximation with the corrections for ties and for continuity. It is 1 if all values are equal.
// MannWhitney returns false if a side is empty.
//
// Without ties the distribution comes from go-moremath. With ties it is counted here, because the
// distribution of go-moremath is wrong: for small U it divides a negative number, and Go rounds towards zero.
// MannWhitneyUTest of go-moremath is not used, because it looks up the smaller U in the distribution of the
// first sample, which is not symmetric with ties and samples of different size.
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

// tiedTails returns two shares of all choices of n1 values: those with a U of at most u, and those with a U
// of at least u.
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

// rankSums counts the choices of n1 values by twice the sum of their ranks. Ties share the mean of their
// ranks, so twice a rank is an integer. The counts are integers, too, and below 2^53 up to ExactLimit.
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

// MinimumP returns the smallest two-sided p that the Mann-Whitney test can return for n1 and n2 values:
// 2/C(n1+n2,n1). No difference, however large, has a smaller p.
func MinimumP(n1, n2 int) float64 {
	p := 2.0
	for i := 1; i <= n1; i++ {
		p *= float64(i) / float64(n2+i)
	}
	return min(1, p)
}

// rankSum returns U of a, with ties as halves, and the number of equal values at each rank.
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

// Holm corrects the p of several tests for their number, by the method of Holm (1979). It multiplies the
// smallest p by the number of tests, the next one by one less, and so on; none is below the one before, and
// none is above 1. For results below alpha the rate of false alarms is at most alpha for all tests together,
// whether the tests depend on each other or not. The result is in the order of the argument, which does not
// change.
func Holm(p []float64) []float64 {
	adjusted, floor := make([]float64, len(p)), 0.0
	for i, at := range ascending(p) {
		floor = max(floor, min(1, p[at]*float64(len(p)-i)))
		adjusted[at] = floor
	}
	return adjusted
}

// power is the probability of finding the detectable effect: four times out of five, as is usual.
const power = 0.8

// rankEfficiency is the efficiency of the Mann-Whitney test relative to the t test for normal noise, 3/pi.
// For other noise it is rarely less.
const rankEfficiency = 3 / math.Pi

// Detectable returns the smallest shift that a comparison of n values on each side detects: at alpha the
// Mann-Whitney test finds it four times out of five, for values with this standard deviation. It is the shift
// of the t test, widened by the efficiency of ranks, and therefore a little too small below six values, where
// ranks are coarse. Detectable returns false if n values cannot be significant at all, see MinimumP.
func Detectable(n int, deviation, alpha float64) (float64, bool) {
	if n < 2 || alpha <= 0 || alpha >= 1 || MinimumP(n, n) >= alpha {
		return 0, false
	}
	quantile := moremath.InvCDF(moremath.TDist{V: float64(2*n - 2)})
	factor := (quantile(power) - quantile(alpha/2)) * math.Sqrt(2/(float64(n)*rankEfficiency))
	return factor * deviation, true
}

// NormalQuantile returns the value that a standard normal number stays below with probability p, between 0
// and 1.
func NormalQuantile(p float64) float64 { return moremath.StdNormal.InvCDF(p) }
