package compare

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/stats"
)

// answer returns the result of a table in one sentence.
func answer(lines []Line) string {
	if len(lines) == 0 {
		return ""
	}
	better, worse, unknown := 0, 0, 0
	var largest *Line
	for i, l := range lines {
		switch l.Outcome {
		case bench.OutcomeBetter:
			better++
		case bench.OutcomeWorse:
			worse++
		case bench.OutcomeUnknown:
			unknown++
			continue
		default:
			continue
		}
		if largest == nil || effect(l) > effect(*largest) {
			largest = &lines[i]
		}
	}
	each := "the comparison"
	if len(lines) > 1 {
		each = fmt.Sprintf("any of %d comparisons", len(lines))
	}
	switch {
	case unknown == len(lines):
		return "too few numbers for " + each
	case largest == nil:
		return "no difference that is significant and large enough in " + each
	case len(lines) == 1:
		return lineWords(*largest)
	}
	return fmt.Sprintf("of %d comparisons with the baseline %d are better and %d worse; the largest difference: %s",
		len(lines), better, worse, lineWords(*largest))
}

// effect is the size of a difference, without its direction.
func effect(l Line) float64 {
	return math.Abs(*cmp.Or(l.Shift, &l.Impact))
}

// lineWords shows both sides: a percentage alone does not say of what.
func lineWords(l Line) string {
	m := measure.MetricOf(l.Metric)
	base, candidate := l.Medians()
	words := fmt.Sprintf("%s is %.1f %% %s than %s in %s (%s against %s", Label(l.Cell, l.Step), effect(l)*100,
		strings.ToLower(string(l.Outcome)), l.Baseline, m.Label, m.Text(candidate), m.Text(base))
	if p := cmp.Or(l.AdjustedP, l.P); p != nil {
		words += fmt.Sprintf(", p = %.2g", *p)
	}
	words += ")"
	if l.Saturated {
		words += ", with the line full"
	}
	return words
}

// Medians returns the median of each side.
func (l Line) Medians() (base, candidate float64) {
	return stats.Median(l.Base), stats.Median(l.Candidate)
}

// Change turns a share that is positive where the candidate is better into one that is positive where its value is
// higher.
func (l Line) Change(better float64) float64 { return sign(l.Metric) * better }
