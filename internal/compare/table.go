// Package compare holds the runs of a suite, or any two results, against each
// other: tables of percent impact, tests of significance, regressions. It is pure.
package compare

// The answers of a line; the API's names.
const (
	Better       = "Better"       // significant, and large enough
	Worse        = "Worse"        // significant, and large enough
	NoDifference = "NoDifference" // not significant
	Negligible   = "Negligible"   // significant, but smaller than what matters
	Unknown      = "Unknown"      // too few numbers
)

// Table is everything that the record of a suite's run says.
type Table struct {
	Cells       []Cell // by the order of the cells, then steps, then metrics
	Comparisons []Line // by the order of the cells, then steps, then metrics; nothing without SuiteSettings.Compare
	Findings    []Finding
}

// Cell holds the numbers of one metric of one cell and step, over its repetitions,
// in the metric's unit.
type Cell struct {
	Cell, Step, Metric, Unit string
	Values                   []float64 // in the order in which they were measured
	Mean, Median             float64
	Minimum, Maximum         float64
	MedianLow, MedianHigh    *float64 // 95 % or more, by order statistics; nil with n < 6. One capacity: its own interval
	Variation                *float64 // coefficient of variation as a share; nil when it is not known
	Saturated                bool
}

// Line compares one metric of a cell and step with the baseline's. Shares are
// fractions: 0.02 is 2 %. Positive is better than the baseline.
type Line struct {
	Cell, Baseline, Step, Metric, Unit string
	Candidate, Base                    []float64 // what was compared
	Impacts                            []float64 // of each pair, as shares, in the order of repetitions
	Mean                               float64   // of all values of both
	Impact                             float64   // mean of Impacts
	ImpactDeviation                    *float64  // standard deviation of Impacts
	ImpactMinimum, ImpactMaximum       float64
	Shift, ShiftLow, ShiftHigh         *float64 // Hodges-Lehmann, as shares of the baseline's median, better is positive
	// WithinLow and WithinHigh are a 95 % interval of the difference of two single runs, with the divisor of
	// Impact. They cover the variation within each run. Nil with more repetitions, or if a run has no interval.
	WithinLow, WithinHigh *float64
	Confidence            float64  // of ShiftLow and ShiftHigh, 0.95 unless alpha says otherwise
	P, AdjustedP          *float64 // two-sided Mann-Whitney; after the correction
	// ByIntervals reports that each side has one value with its own interval, and that Shift and P
	// come from these intervals: each side is the capacity of one search.
	ByIntervals bool
	// Detectable is the smallest shift that so many pairs of this spread show four
	// times out of five after the correction, as a share; nil when not known.
	Detectable *float64
	Outcome    string
	Saturated  bool
}

// Finding explains a table.
type Finding struct {
	Code     string // for docs/findings.md
	Severity string // Error, Warning or Info, as of the judge
	Message  string
}

// Regression is how a run compares with the accepted one.
type Regression struct {
	Baseline, Run string
	NoiseFloor    *float64 // largest over the cells, as a share; nil without history
	Changes       []Line   // worse and better, worst first
	Regressed     bool
	Message       string
	Findings      []Finding
}
