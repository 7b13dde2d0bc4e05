package stats

import (
	"math"

	moremath "github.com/aclements/go-moremath/stats"
)

// Parameters of MeanInterval and RatioInterval. Their coverage is documented in docs/method.md and tested.
const (
	intervalConfidence = 0.95
	intervalBatches    = 32   // maximum number of batch means of a series
	intervalLeast      = 8    // minimum number of values for an autocorrelation
	mostCorrelation    = 0.92 // between neighbouring batches; above, the run is one trend
)

// MeanInterval returns a 95 % interval for the mean of a series whose values depend on earlier
// values, as the seconds of a run do. It returns false for fewer than 8 values.
//
// The series is reduced to at most 32 batch means. Their lag-1 autocorrelation determines how many
// independent values they are worth. It is corrected for the bias of short series and raised by one
// standard error, because a short series often looks independent by chance.
func MeanInterval(values []float64) (Interval, bool) {
	half, ok := meanHalfWidth(values)
	mean := Mean(values)
	return Interval{Low: mean - half, High: mean + half, Confidence: intervalConfidence}, ok
}

func meanHalfWidth(values []float64) (float64, bool) {
	if len(values) < intervalLeast {
		return 0, false
	}
	means, size := batchSums(values)
	for i := range means {
		means[i] /= size
	}
	n := float64(len(means))
	mean, squares, products := Mean(means), 0.0, 0.0
	for i, v := range means {
		squares += (v - mean) * (v - mean)
		if i > 0 {
			products += (v - mean) * (means[i-1] - mean)
		}
	}
	if math.IsNaN(squares) || math.IsInf(squares, 0) {
		return 0, false
	}
	if squares == 0 {
		return 0, true
	}
	// Kendall's bias correction, plus one standard error.
	correlation := (n*products/squares+1)/(n-4) + 1/math.Sqrt(n)
	correlation = min(max(correlation, 0), mostCorrelation)
	worth := (1 + correlation) / (1 - correlation) // values per independent value
	// The deviation within a short series is smaller than that of the process.
	variance := squares / (n - 1) / max(0.3, 1-(worth-1)/(n-1))
	return tQuantile(len(means)-1) * math.Sqrt(variance*worth/n), true
}

// batchSums returns the sums of at most intervalBatches parts of equal size. It ignores the
// remainder at the beginning.
func batchSums(values []float64) (sums []float64, size float64) {
	n := (len(values) + intervalBatches - 1) / intervalBatches
	sums = make([]float64, len(values)/n)
	rest := values[len(values)-len(sums)*n:]
	for i := range sums {
		sums[i] = float64(n) * Mean(rest[i*n:(i+1)*n])
	}
	return sums, float64(n)
}

// tQuantile returns the two-sided quantile of Student's t for intervalConfidence.
func tQuantile(degrees int) float64 {
	return moremath.InvCDF(moremath.TDist{V: float64(degrees)})((1 + intervalConfidence) / 2)
}

// RatioInterval returns a 95 % interval for a share: over[i] events among of[i] trials in each equal part
// of a window. A part depends on earlier parts. The estimate is all events over all trials. The interval
// lies within 0 to 1 and is never empty: it is Wilson's, for as many independent trials as the parts are
// worth. Fewer than 8 parts, and parts without events, show no dependence and count as independent
// trials. It returns false without trials, for negative counts, and for lists of different length.
func RatioInterval(over, of []float64) (Interval, bool) {
	return ratioInterval(over, of, residualHalfWidth)
}

func ratioInterval(
	over, of []float64, halfWidth func(over, of []float64, share float64) float64,
) (Interval, bool) {
	events, trials := 0.0, 0.0
	for i := range of {
		if len(over) != len(of) || !(over[i] >= 0) || !(of[i] >= over[i]) {
			return Interval{}, false
		}
		events, trials = events+over[i], trials+of[i]
	}
	if !(trials > 0) || math.IsInf(trials, 0) {
		return Interval{}, false
	}
	share, z := events/trials, NormalQuantile((1+intervalConfidence)/2)
	if half := halfWidth(over, of, share); half > 0 {
		trials = min(trials, z*z*share*(1-share)/(half*half))
	}
	return wilson(share, trials, z), true
}

// residualHalfWidth returns the half width from the residuals of the parts; 0 is unknown.
func residualHalfWidth(over, of []float64, share float64) float64 {
	mean, residuals := Mean(of), make([]float64, len(of))
	for i := range of {
		residuals[i] = (over[i] - share*of[i]) / mean
	}
	half, _ := meanHalfWidth(residuals)
	return half
}

// skewedHalfWidth returns residualHalfWidth unless a few parts have most of the events. If such
// parts are rare, a window often has none of them and looks both good and calm. The half width then
// comes from the logarithms of the shares if that is larger, up to twice residualHalfWidth.
func skewedHalfWidth(over, of []float64, share float64) float64 {
	half := residualHalfWidth(over, of, share)
	over, _ = batchSums(over)
	of, _ = batchSums(of)
	logarithms := make([]float64, len(of))
	for i := range of {
		logarithms[i] = math.Log((over[i] + 0.5) / (of[i] + 1))
	}
	relative, _ := meanHalfWidth(logarithms)
	return max(half, min(2*half, share*math.Expm1(relative)))
}

// wilson returns Wilson's interval of a share among independent trials, which may be fractional.
func wilson(share, trials, z float64) Interval {
	middle := share + z*z/(2*trials)
	half := z * math.Sqrt(share*(1-share)/trials+z*z/(4*trials*trials))
	scale := 1 + z*z/trials
	return Interval{
		Low: max(0, (middle-half)/scale), High: min(1, (middle+half)/scale), Confidence: intervalConfidence,
	}
}

// PercentileInterval returns a 95 % interval for the latency in microseconds that percent of all
// operations did not exceed. The histogram has all latencies of a window. over[i] of the of[i]
// operations in part i of the window were slower than about that percentile. The variation of this
// share determines which percentiles of the histogram are the bounds.
func (h *Histogram) PercentileInterval(percent float64, over, of []float64) (Interval, bool) {
	in, ok := ratioInterval(over, of, skewedHalfWidth)
	share := Mean(over) / Mean(of)
	if !ok || len(of) < intervalLeast || !(share > 0) || h.Count() == 0 {
		return Interval{}, false
	}
	at := func(bound float64) float64 {
		slow := min((100-percent)*bound/share, 100)
		return float64(h.Percentile(100 - slow))
	}
	return Interval{Low: at(in.High), High: at(in.Low), Confidence: intervalConfidence}, true
}
