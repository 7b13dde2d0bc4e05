// Package compare compares the cells of a suite's run, two results, or two runs of a suite. It is pure.
//
// A difference is Better or Worse if it is significant after the correction, at least the minimum effect, and larger
// than the noise floor.
package compare

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Request names the input of a comparison: two results (Sides), a run of a suite with an accepted one (Run and
// Accepted), or the cells of a run with each other, as its settings say (Run alone).
type Request struct {
	runfile.SuiteSignificance // unused for a run alone, which has its own

	Sides []Side   // the baseline first
	Vary  []string // groups of conditions in which the sides are meant to differ; see Groups

	Run, Accepted *runfile.SuiteRun
	// History shows how far unchanged runs lie apart. It includes Accepted, but neither Run nor runs with the verdict
	// Regressed. Any order is allowed. The Medians of these runs suffice.
	History []runfile.SuiteRun
}

// Side is a result, whose repetitions are samples.
type Side struct {
	Name      string // for the output
	Judgement judge.Judgement
	Points    [][]runfile.SuitePoint // of each repetition
}

// NewSide judges a result.
func NewSide(name string, r runfile.Result) Side {
	return Side{Name: name, Judgement: judge.Judge(r), Points: judge.Points(r)}
}

// Table is the result of a comparison.
type Table struct {
	Cells       []Cell          `json:"cells,omitempty"`    // by the order of the cells, then steps, then metrics
	Comparisons []Line          `json:"comparisons"`        // by the order of the cells, then steps, then metrics
	Findings    []bench.Finding `json:"findings,omitempty"` // about the numbers
	Warnings    []string        `json:"warnings,omitempty"` // about the conditions of two results

	Message string `json:"message,omitempty"` // the answer in one sentence; empty if nothing is compared

	// Of a run and the accepted one:
	Baseline   string   `json:"baseline,omitempty"`
	Run        string   `json:"run,omitempty"`
	NoiseFloor *float64 `json:"-"` // largest over the lines, as a share; nil without history
	Regressed  bool     `json:"regressed,omitempty"`
}

// Changes returns the lines that are worse or better, worst first.
func (t Table) Changes() []Line {
	changes := slices.DeleteFunc(slices.Clone(t.Comparisons), func(l Line) bool { return !l.changed() })
	slices.SortStableFunc(changes, func(a, b Line) int { return cmp.Compare(*a.Shift, *b.Shift) })
	return changes
}

// Cell holds the numbers of one metric of one cell and step, over its repetitions,
// in the metric's unit.
type Cell struct {
	Cell    string    `json:"cell"`
	Step    string    `json:"step,omitempty"`
	Metric  string    `json:"metric"`
	Unit    string    `json:"unit"`
	Values  []float64 `json:"values"` // in the order in which they were measured
	Mean    float64   `json:"mean"`
	Median  float64   `json:"median"`
	Minimum float64   `json:"minimum"`
	Maximum float64   `json:"maximum"`
	// MedianLow and MedianHigh bound the median with a confidence of 95 % or more, by order statistics; nil with n < 6.
	// For a single capacity they are its own interval.
	MedianLow  *float64 `json:"medianLow,omitempty"`
	MedianHigh *float64 `json:"medianHigh,omitempty"`
	Variation  *float64 `json:"variationPercent,omitempty"` // coefficient of variation as a share; nil when not known
	Saturated  bool     `json:"saturated,omitempty"`
}

// Line compares one metric of a cell and step with the baseline's. Shares are
// fractions here, 0.02 is 2 %, and percent in JSON. Positive is better than the baseline.
type Line struct {
	Cell            string    `json:"candidate"`
	Baseline        string    `json:"baseline"` // the cell, or the accepted run, which has a cell of the same name
	Step            string    `json:"step,omitempty"`
	Metric          string    `json:"metric"`
	Unit            string    `json:"unit"`
	Candidate       []float64 `json:"candidateValues"` // what was compared
	Base            []float64 `json:"baselineValues"`
	Impacts         []float64 `json:"-"`             // of each pair, as shares, in the order of repetitions
	Mean            float64   `json:"mean"`          // of all values of both
	Impact          float64   `json:"impactPercent"` // mean of Impacts
	ImpactDeviation *float64  `json:"impactStandardDeviationPercent,omitempty"`
	ImpactMinimum   float64   `json:"impactMinimumPercent"`
	ImpactMaximum   float64   `json:"impactMaximumPercent"`
	// Shift is the Hodges-Lehmann estimate with its interval, as shares of the baseline's median.
	Shift     *float64 `json:"shiftPercent,omitempty"`
	ShiftLow  *float64 `json:"shiftLowPercent,omitempty"`
	ShiftHigh *float64 `json:"shiftHighPercent,omitempty"`
	// WithinLow and WithinHigh are a 95 % interval of the difference of two single runs, with the divisor of
	// Impact. They cover the variation within each run. Nil with more repetitions, or if a run has no interval.
	WithinLow  *float64 `json:"withinLowPercent,omitempty"`
	WithinHigh *float64 `json:"withinHighPercent,omitempty"`
	Confidence float64  `json:"confidence,omitempty"` // of ShiftLow and ShiftHigh, 0.95 unless alpha says otherwise
	P          *float64 `json:"p,omitempty"`          // two-sided Mann-Whitney
	AdjustedP  *float64 `json:"adjustedP,omitempty"`  // after the correction
	// ByIntervals reports that each side has one value with its own interval, and that Shift and P
	// come from these intervals: each side is the capacity of one search.
	ByIntervals bool `json:"byIntervals,omitempty"`
	// Detectable is the smallest shift that this number of pairs with this spread shows with a power of 80 % after the
	// correction, as a share; nil when not known.
	Detectable *float64 `json:"detectablePercent,omitempty"`
	// NoiseFloor is the distance of the medians that chance alone makes, as a share; nil when not known.
	NoiseFloor *float64      `json:"noiseFloorPercent,omitempty"`
	Outcome    bench.Outcome `json:"outcome"`
	Saturated  bool          `json:"saturated,omitempty"`
}

// MarshalJSON writes shares as percent.
func (l Line) MarshalJSON() ([]byte, error) {
	type plain Line
	l.Impact, l.ImpactMinimum, l.ImpactMaximum = 100*l.Impact, 100*l.ImpactMinimum, 100*l.ImpactMaximum
	for _, share := range []**float64{
		&l.ImpactDeviation, &l.Shift, &l.ShiftLow, &l.ShiftHigh, &l.WithinLow, &l.WithinHigh, &l.Detectable, &l.NoiseFloor,
	} {
		*share = percentOf(*share)
	}
	return json.Marshal(plain(l))
}

// MarshalJSON writes shares as percent.
func (c Cell) MarshalJSON() ([]byte, error) {
	type plain Cell
	c.Variation = percentOf(c.Variation)
	return json.Marshal(plain(c))
}

func percentOf(share *float64) *float64 {
	if share == nil || math.IsInf(100**share, 0) {
		return nil
	}
	return new(100 * *share)
}
