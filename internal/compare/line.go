package compare

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
)

// impactOfCandidate divides an impact by the candidate's value, as some published tables did.
const impactOfCandidate = "Candidate"

// pairing is the input of lines: two cells and the rules.
type pairing struct {
	base, candidate *series
	impactOf        string
	runfile.SuiteSignificance
}

// lines returns one line for each step and metric that both cells have, before any correction.
func (p pairing) lines() []Line {
	var lines []Line
	for _, step := range p.candidate.steps {
		for _, metric := range Metrics(p.Metrics) {
			b, c := p.base.numbers[key{step, metric}], p.candidate.numbers[key{step, metric}]
			base, candidate := paired(b, c)
			if len(base) == 0 {
				continue
			}
			l := p.line(step, metric, base, candidate)
			if metric == bench.MetricCapacity {
				l.byIntervals(b.interval(), c.interval())
			} else {
				l.within(b.interval(), c.interval(), p.impactOf)
			}
			lines = append(lines, l)
		}
	}
	return lines
}

// paired returns the values of the repetitions that both columns have, in the order in which the candidate's values
// were measured.
func paired(base, candidate column) (b, c []float64) {
	at := make(map[int32]float64, len(base.values))
	for i, r := range base.repetitions {
		at[r] = base.values[i]
	}
	for i, r := range candidate.repetitions {
		if v, ok := at[r]; ok {
			b, c = append(b, v), append(c, candidate.values[i])
		}
	}
	return b, c
}

func (p pairing) line(step, metric string, base, candidate []float64) Line {
	l := Line{
		Cell: p.candidate.name, Baseline: p.base.name, Step: step, Metric: metric, Unit: measure.MetricOf(metric).Unit,
		Candidate: candidate, Base: base, Mean: (stats.Mean(base) + stats.Mean(candidate)) / 2,
		Confidence: 1 - alpha(p.SuiteSignificance), Outcome: bench.OutcomeUnknown,
		Saturated: p.base.saturated(step) || p.candidate.saturated(step),
	}
	l.impacts(p.impactOf)
	l.shift()
	if v, ok := stats.MannWhitney(base, candidate); ok {
		l.P, l.AdjustedP = &v, &v
	}
	return l
}

// alpha returns the rate of false alarms, or the default if a record has none.
func alpha(s runfile.SuiteSignificance) float64 {
	if s.Alpha > 0 && s.Alpha < 1 {
		return max(s.Alpha, minAlpha)
	}
	return runfile.DefaultAlpha
}

// minAlpha is the least alpha, far below useful rates. With it, some number of repetitions always reaches alpha, and
// the normal quantile of alpha is finite.
const minAlpha = 1e-12

// sign returns 1 if more is better, and else -1.
func sign(metric string) float64 {
	if measure.MetricOf(metric).Higher {
		return 1
	}
	return -1
}

// divisor returns the value that a difference of two values is divided by.
func divisor(of string, base, candidate float64) float64 {
	if of == impactOfCandidate {
		return candidate
	}
	return base
}

func (l *Line) impacts(of string) {
	for i, b := range l.Base {
		c := l.Candidate[i]
		if v := sign(l.Metric) * (c - b) / divisor(of, b, c); b == c {
			l.Impacts = append(l.Impacts, 0)
		} else if finite(v) {
			l.Impacts = append(l.Impacts, v)
		}
	}
	if len(l.Impacts) == 0 {
		return
	}
	l.Impact = stats.Mean(l.Impacts)
	l.ImpactMinimum, l.ImpactMaximum = slices.Min(l.Impacts), slices.Max(l.Impacts)
	if v, ok := stats.StandardDeviation(l.Impacts); ok {
		l.ImpactDeviation = &v
	}
}

// shift sets the shift with its interval. They stay unknown if the baseline's median is zero.
func (l *Line) shift() {
	median := stats.Median(l.Base)
	s, ok := stats.HodgesLehmann(l.Base, l.Candidate, l.Confidence)
	if !ok || !finite(1/median) {
		return
	}
	share := func(v float64) *float64 {
		v = sign(l.Metric) * v / median
		if v == 0 {
			v = 0 // and not -0
		}
		return &v
	}
	l.Shift = share(s.Estimate)
	if s.Interval != nil {
		low, high := share(s.Interval.Low), share(s.Interval.High)
		l.ShiftLow, l.ShiftHigh = share(0), share(0)
		*l.ShiftLow, *l.ShiftHigh = min(*low, *high), max(*low, *high)
	}
}

// distances returns the distances from the difference of two values to the ends of its interval,
// from the interval of each value. The values are independent, so the squares of the distances to
// their bounds add up (Zou and Donner's MOVER).
func (l *Line) distances(base, candidate runfile.SuiteInterval) (down, up float64) {
	b, c := l.Base[0], l.Candidate[0]
	return math.Hypot(c-candidate.Low, base.High-b), math.Hypot(candidate.High-c, b-base.Low)
}

// within sets the interval of the difference of two single runs, with the same divisor as Impact.
func (l *Line) within(base, candidate *runfile.SuiteInterval, of string) {
	if base == nil || candidate == nil {
		return
	}
	b, c := l.Base[0], l.Candidate[0]
	down, up := l.distances(*base, *candidate)
	whole := divisor(of, b, c)
	low, high := sign(l.Metric)*(c-b-down)/whole, sign(l.Metric)*(c-b+up)/whole
	if low, high = min(low, high), max(low, high); finite(low) && finite(high) {
		l.WithinLow, l.WithinHigh = &low, &high
	}
}

// intervalConfidence is the confidence of a SuiteInterval.
const intervalConfidence = 0.95

// byIntervals compares two values by their own intervals. P comes from a normal distribution as
// wide as the interval of the difference.
func (l *Line) byIntervals(base, candidate *runfile.SuiteInterval) {
	if base == nil || candidate == nil || !finite(1/l.Base[0]) {
		return
	}
	b, c := l.Base[0], l.Candidate[0]
	down, up := l.distances(*base, *candidate)
	// Scale the distances from intervalConfidence to the confidence of l.
	given := stats.NormalQuantile((1 + intervalConfidence) / 2)
	width := stats.NormalQuantile((1+l.Confidence)/2) / given
	low, high := (c-b-width*down)/b, (c-b+width*up)/b
	shift := (c - b) / b
	if sign(l.Metric) < 0 {
		shift, low, high = -shift, -high, -low
	}
	towardsZero := down
	if c < b {
		towardsZero = up
	}
	p := 1.0
	if c != b {
		p = max(math.Erfc(math.Abs(c-b)/max(towardsZero, 1e-30)*given/math.Sqrt2), minAlpha)
	}
	l.Shift, l.ShiftLow, l.ShiftHigh, l.P, l.AdjustedP, l.ByIntervals = &shift, &low, &high, &p, &p, true
}

// leastP returns the smallest p that a line can have.
func (l *Line) leastP() float64 {
	if l.ByIntervals {
		return 0
	}
	return stats.MinimumP(len(l.Base), len(l.Candidate))
}

// spread returns the standard deviation of one value, as a share of the baseline's median. It pools the deviations
// within each side, so that a shift between the sides does not count.
func (l *Line) spread() (float64, bool) {
	b, ok := stats.StandardDeviation(l.Base)
	c, _ := stats.StandardDeviation(l.Candidate)
	median := stats.Median(l.Base)
	if !ok || !finite(1/median) {
		return 0, false
	}
	return math.Sqrt((b*b+c*c)/2) / median, true
}

// decide corrects p for the number of lines, and sets the noise floor and the outcome of each line.
func decide(lines []Line, s runfile.SuiteSignificance, floors noise) {
	detectable(lines, s)
	var p, least []float64
	var tested []*Line
	for i := range lines {
		if l := &lines[i]; l.P != nil {
			tested = append(tested, l)
			p, least = append(p, *l.P), append(least, l.leastP())
		}
	}
	if s.Correction != correctionNone {
		p, least = stats.Holm(p), stats.Holm(least)
	}
	for i, l := range tested {
		l.AdjustedP = &p[i]
		if floor, ok := floors.of(l); ok && finite(floor) {
			l.NoiseFloor = &floor
		}
		l.Outcome = l.outcome(least[i], s)
	}
}

// detectable sets the smallest shift that the number of pairs could have shown, given their spread. With a
// correction, that is the shift that would be needed if the line had the smallest p.
func detectable(lines []Line, s runfile.SuiteSignificance) {
	rate := alpha(s) / float64(tests(len(lines), s))
	factors := map[int]float64{} // factors of the spread, by the number of pairs; most lines have the same number
	for i := range lines {
		l := &lines[i]
		n := len(l.Base)
		if _, ok := factors[n]; !ok {
			factors[n], _ = stats.Detectable(n, 1, rate)
		}
		if spread, ok := l.spread(); ok && factors[n] > 0 {
			v := factors[n] * spread
			l.Detectable = &v
		}
	}
}

// correctionNone leaves p unchanged; any other value means Holm's correction.
const correctionNone = "None"

// outcome returns the outcome of a line, where least is the smallest p that so few values can have.
func (l *Line) outcome(least float64, s runfile.SuiteSignificance) bench.Outcome {
	switch {
	case least >= alpha(s) || l.Shift == nil:
		return bench.OutcomeUnknown
	case *l.AdjustedP >= alpha(s):
		return bench.OutcomeNoDifference
	case math.Abs(*l.Shift) < s.MinimumEffect, l.NoiseFloor != nil && math.Abs(*l.Shift) <= *l.NoiseFloor:
		return bench.OutcomeNegligible
	case *l.Shift > 0:
		return bench.OutcomeBetter
	case *l.Shift < 0:
		return bench.OutcomeWorse
	default: // the values differ in shape only
		return bench.OutcomeNegligible
	}
}

// CheckRepetitions returns an error with the arithmetic if n repetitions in each cell cannot make any of the
// comparisons significant.
func CheckRepetitions(n, comparisons int, s runfile.SuiteSignificance) error {
	corrected := tests(comparisons, s)
	least := func(n int) float64 { return float64(corrected) * stats.MinimumP(n, n) }
	if n > 0 && least(n) < alpha(s) {
		return nil
	}
	more := max(2, n+1)
	for least(more) >= alpha(s) {
		more++
	}
	given := fmt.Sprintf("%d repetitions", n)
	if n == 1 {
		given = "1 repetition"
	}
	arithmetic := fmt.Sprintf("the smallest two-sided p of the Mann-Whitney test is 2/C(%d,%d) = %s", 2*n, n,
		short(stats.MinimumP(n, n)))
	p, other := short(stats.MinimumP(more, more)), "or raise alpha"
	if corrected > 1 {
		arithmetic += fmt.Sprintf(", and Holm's correction for %d comparisons makes it %s", corrected, short(least(n)))
		p += ", corrected " + short(least(more))
		other = "raise alpha, compare fewer metrics, or set correction None"
	}
	return fmt.Errorf("%s cannot show a difference at alpha %s: %s; give at least %d (p %s), %s", given, short(alpha(s)),
		arithmetic, more, p, other)
}

// tests returns the number of tests for which p is corrected.
func tests(comparisons int, s runfile.SuiteSignificance) int {
	if s.Correction == correctionNone {
		return 1
	}
	return max(1, comparisons)
}

// short writes a probability with two significant digits.
func short(p float64) string { return strconv.FormatFloat(p, 'g', 2, 64) }
