package compare

import (
	"fmt"
	"strconv"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
)

// CheckRepetitions says, as an error with the arithmetic, when n repetitions in
// each cell cannot make one of so many comparisons significant.
func CheckRepetitions(n, comparisons int, s runfile.SuiteSignificance) error {
	tests := 1
	if s.Correction != correctionNone {
		tests = max(1, comparisons)
	}
	least := func(n int) float64 { return float64(tests) * stats.MinimumP(n, n) }
	if n > 0 && least(n) < alpha(s) {
		return nil
	}
	arithmetic := fmt.Sprintf("the smallest two-sided p of the Mann-Whitney test is 2/C(%d,%d) = %s", 2*n, n,
		short(stats.MinimumP(n, n)))
	if tests > 1 {
		arithmetic += fmt.Sprintf(", and Holm's correction for %d comparisons makes it %s", tests, short(least(n)))
	}
	return fmt.Errorf("%s cannot show a difference at alpha %s: %s; %s", repetitions(n), short(alpha(s)), arithmetic,
		advice(n, tests, alpha(s), least))
}

func advice(n, tests int, alpha float64, least func(int) float64) string {
	other := "or raise alpha"
	if tests > 1 {
		other = "raise alpha, compare fewer metrics, or set correction None"
	}
	more := max(2, n+1)
	for least(more) >= alpha {
		more++
	}
	p := "p " + short(stats.MinimumP(more, more))
	if tests > 1 {
		p += ", corrected " + short(least(more))
	}
	return fmt.Sprintf("give at least %d (%s), %s", more, p, other)
}

func repetitions(n int) string {
	if n == 1 {
		return "1 repetition"
	}
	return fmt.Sprintf("%d repetitions", n)
}

// short writes a probability with two digits that count.
func short(p float64) string { return strconv.FormatFloat(p, 'g', 2, 64) }
