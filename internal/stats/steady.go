package stats

import "math"

// minSteadySamples is how many samples are needed to say anything of steadiness.
const minSteadySamples = 10

// SteadyLimits are the two limits that a series must keep, as shares of its
// mean.
type SteadyLimits struct {
	MaxDeviation float64 // of the mean of any rolling window from the mean of all
	MaxDrift     float64 // of the regression line, from its beginning to its end
}

// Steadiness says how much a series moved.
type Steadiness struct {
	Known     bool    // false: too few samples to tell
	Steady    bool    // both limits are kept
	Deviation float64 // largest |window mean - mean| / mean
	Drift     float64 // rise of the regression line over the series / mean; negative when it falls
	Window    int     // samples of each rolling window
}

// Steady tests a series of equidistant samples. Two things must hold, because
// each alone is blind to something: no rolling window may stray from the mean
// (a dip or a step), and the regression line must be flat (a drift so slow that
// each window is still near the mean).
//
// A window is a sixth of the series and at least five samples: single seconds
// jitter on every network and say nothing.
func Steady(values []float64, limits SteadyLimits) Steadiness {
	mean := Mean(values)
	if len(values) < minSteadySamples || mean <= 0 {
		return Steadiness{}
	}
	s := Steadiness{Known: true, Window: max(5, len(values)/6)}
	for i := 0; i+s.Window <= len(values); i++ {
		d := math.Abs(Mean(values[i:i+s.Window])-mean) / mean
		s.Deviation = max(s.Deviation, d)
	}
	s.Drift = Slope(values) * float64(len(values)-1) / mean
	s.Steady = s.Deviation <= limits.MaxDeviation && math.Abs(s.Drift) <= limits.MaxDrift
	return s
}
