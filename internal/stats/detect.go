package stats

import (
	"math"

	moremath "github.com/aclements/go-moremath/stats"
)

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
