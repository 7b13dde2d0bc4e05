package stats

import (
	"cmp"
	"math"
	"slices"
)

// Mean returns the arithmetic mean; 0 without values.
func Mean(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// Median returns the middle value, or the mean of the two middle ones; 0 without values. It does not change
// its argument.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return medianOfSorted(slices.Sorted(slices.Values(values)))
}

func medianOfSorted(s []float64) float64 {
	mid := len(s) / 2
	if len(s)%2 == 1 {
		return s[mid]
	}
	return s[mid-1] + (s[mid]-s[mid-1])/2
}

// MedianIndex returns the index of the lower median, or -1 without values. The lower median is a measured
// value, so that the other results of its repetition can stand beside it.
func MedianIndex(values []float64) int {
	if len(values) == 0 {
		return -1
	}
	return ascending(values)[(len(values)-1)/2]
}

// ascending returns the indexes of values, in ascending order of the values.
func ascending(values []float64) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	return order
}

// StandardDeviation returns the standard deviation of a sample, with the divisor n-1. It returns false for
// fewer than two values.
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

// CoefficientOfVariation returns the sample standard deviation divided by the mean. It returns false for
// fewer than two values and for a mean of zero.
func CoefficientOfVariation(values []float64) (float64, bool) {
	m := Mean(values)
	d, ok := StandardDeviation(values)
	if !ok || m == 0 {
		return 0, false
	}
	return d / math.Abs(m), true
}

// Slope returns the slope of the least-squares line through the values at 0, 1, 2, ...; 0 for fewer than two
// values.
func Slope(values []float64) float64 {
	n := float64(len(values))
	if n < 2 {
		return 0
	}
	mx, my := (n-1)/2, Mean(values)
	num, den := 0.0, 0.0
	for i, v := range values {
		dx := float64(i) - mx
		num += dx * (v - my)
		den += dx * dx
	}
	return num / den
}

// SteadyLimits bounds the movement of a steady series, in shares of its mean.
type SteadyLimits struct {
	MaxDeviation float64 // of the mean of any rolling window from the mean of all
	MaxDrift     float64 // of the regression line, from its beginning to its end
	MaxStep      float64 // of the mean after some sample from the mean before it
}

// Steadiness describes how much a series moved.
type Steadiness struct {
	Known     bool    // false: too few samples to tell
	Steady    bool    // all limits are kept
	Deviation float64 // largest |window mean - mean| / mean
	Drift     float64 // rise of the regression line over the series / mean; negative when it falls
	Step      float64 // change of level at some sample / mean; 0 when none stands out from the noise
}

// Steady tests a series of equidistant samples. Three conditions must hold, because each alone misses
// something: no rolling window deviates from the mean (a dip), the regression line is flat (a drift so slow
// that each window is still near the mean), and there is no step (the mean of each half differs from the mean
// of all by only half of the step).
//
// A window is a sixth of the series and at least five samples, because single seconds jitter on every
// network.
func Steady(values []float64, limits SteadyLimits) Steadiness {
	const least = 10 // samples to say anything
	mean := Mean(values)
	if len(values) < least || mean <= 0 {
		return Steadiness{}
	}
	s := Steadiness{Known: true}
	window, sum := max(5, len(values)/6), 0.0
	for i, v := range values {
		if sum += v; i >= window {
			sum -= values[i-window]
		}
		if i >= window-1 {
			s.Deviation = max(s.Deviation, math.Abs(sum/float64(window)-mean)/mean)
		}
	}
	s.Drift = Slope(values) * float64(len(values)-1) / mean
	s.Step = step(values, mean) / mean
	s.Steady = s.Deviation <= limits.MaxDeviation && math.Abs(s.Drift) <= limits.MaxDrift &&
		math.Abs(s.Step) <= limits.MaxStep
	return s
}

// step returns the change of level at the sample where the change stands out most, or 0. In the runs of "make
// believe", the noise of a series without a step reaches 6 standard errors, because neighbouring samples are
// alike.
func step(values []float64, mean float64) float64 {
	const (
		leastErrors = 8
		edge        = 3     // samples on each side, at least
		leastNoise  = 0.002 // of the mean: a series without noise has no errors
	)
	total, squares := 0.0, 0.0
	for _, v := range values {
		total, squares = total+v-mean, squares+(v-mean)*(v-mean)
	}
	n, before, errors, change := float64(len(values)), 0.0, 0.0, 0.0
	for i, v := range values[:len(values)-edge] {
		before += v - mean
		a := float64(i + 1)
		if i+1 < edge {
			continue
		}
		b := n - a
		by := (total-before)/b - before/a
		noise := math.Sqrt(max(0, squares-before*before/a-(total-before)*(total-before)/b) / (n - 2))
		if e := math.Abs(by) / (max(noise, leastNoise*mean) * math.Sqrt(1/a+1/b)); e > errors {
			errors, change = e, by
		}
	}
	if errors < leastErrors {
		return 0
	}
	return change
}
