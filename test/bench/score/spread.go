package score

import (
	"slices"

	"github.com/nfsbench/nfsbench/internal/stats"
)

// Spread is a median and how much the repeats differed.
type Spread struct {
	Median   float64  `json:"median"`
	Min      float64  `json:"min"`
	Max      float64  `json:"max"`
	CV       *float64 `json:"cv,omitempty"` // sample standard deviation over mean; unknown of one repeat
	Repeats  int      `json:"repeats"`
	Failures int      `json:"failures,omitempty"` // repeats that hung or failed, and are in none of the figures
}

// SpreadOf summarises values; ok is false of nothing.
func SpreadOf(values []float64) (s Spread, ok bool) {
	if len(values) == 0 {
		return s, false
	}
	s = Spread{Median: stats.Median(values), Min: slices.Min(values), Max: slices.Max(values), Repeats: len(values)}
	if cv, known := stats.CoefficientOfVariation(values); known {
		s.CV = &cv
	}
	return s, true
}

// Of summarises one metric of one contender. It is false where no repeat knows it.
func (d Document) Of(row Row, contender, metric string) (Spread, bool) {
	var values []float64
	failures := 0
	for _, s := range d.SamplesOf(row.Name, contender) {
		if s.State != StateDone {
			failures++
		}
		if v, ok := s.Value(metric, row.Unit); ok {
			values = append(values, v)
		}
	}
	spread, ok := SpreadOf(values)
	spread.Failures = failures
	return spread, ok
}

// Ratio summarises one metric of one contender over that of another, taken
// within each repeat. It is false where no repeat has both.
func (d Document) Ratio(row Row, of, to, metric string) (Spread, bool) {
	theirs := map[int]float64{}
	for _, s := range d.SamplesOf(row.Name, to) {
		if v, ok := s.Value(metric, row.Unit); ok {
			theirs[s.Repeat] = v
		}
	}
	var ratios []float64
	for _, s := range d.SamplesOf(row.Name, of) {
		mine, ok := s.Value(metric, row.Unit)
		other, both := theirs[s.Repeat]
		if !ok || !both {
			continue
		}
		if r, ok := ratio(mine, other); ok {
			ratios = append(ratios, r)
		}
	}
	return SpreadOf(ratios)
}

// Outcome of a check.
type Outcome string

// The outcomes.
const (
	Met     Outcome = "met"
	Missed  Outcome = "missed"
	Unknown Outcome = "unknown" // one of the two was not measured
)

// Judge compares the median with the bounds of a check. A check whose subject
// hung or failed in any repeat is missed, whatever the other repeats gave.
func (d Document) Judge(row Row, c Check) (Spread, Outcome) {
	for _, s := range d.SamplesOf(row.Name, c.Of) {
		if s.State != StateDone {
			return Spread{}, Missed
		}
	}
	spread, ok := d.Of(row, c.Of, c.Metric)
	if c.To != "" {
		spread, ok = d.Ratio(row, c.Of, c.To, c.Metric)
	}
	switch {
	case !ok:
		return spread, Unknown
	case c.AtLeast > 0 && spread.Median < c.AtLeast, c.AtMost > 0 && spread.Median > c.AtMost:
		return spread, Missed
	default:
		return spread, Met
	}
}
