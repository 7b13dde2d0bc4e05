package compare

import (
	"testing"

	"github.com/nfsbench/nfsbench/api/bench"
)

func TestTheAnswerOfATableInOneSentence(t *testing.T) {
	t.Parallel()
	line := func(outcome bench.Outcome, shift float64) Line {
		return Line{Cell: "dnfs", Baseline: "nfs", Metric: "Throughput", Base: []float64{1e8}, Candidate: []float64{2e8}, Shift: &shift, AdjustedP: new(0.0004), Outcome: outcome}
	}
	ramp := line(bench.OutcomeWorse, -0.5)
	ramp.Step, ramp.Saturated = "Users=8", true
	cases := map[string]struct {
		lines []Line
		want  string
	}{
		"None":    {nil, ""},
		"Unknown": {[]Line{{Outcome: bench.OutcomeUnknown}}, "too few numbers for the comparison"},
		"Same":    {[]Line{line(bench.OutcomeNoDifference, 0.3), line(bench.OutcomeNegligible, 0.01), {Outcome: bench.OutcomeUnknown}}, "no difference that is significant and large enough in any of 3 comparisons"},
		"Better":  {[]Line{line(bench.OutcomeBetter, 0.1), line(bench.OutcomeBetter, 0.2)}, "of 2 comparisons with the baseline 2 are better and 0 worse; the largest difference: dnfs is 20.0 % better than nfs in Throughput (200.0 MB/s against 100.0 MB/s, p = 0.0004)"},
		"One":     {[]Line{line(bench.OutcomeBetter, 0.1)}, "dnfs is 10.0 % better than nfs in Throughput (200.0 MB/s against 100.0 MB/s, p = 0.0004)"},
		"Worse":   {[]Line{line(bench.OutcomeBetter, 0.1), ramp}, "of 2 comparisons with the baseline 1 are better and 1 worse; the largest difference: dnfs Users=8 is 50.0 % worse than nfs in Throughput (200.0 MB/s against 100.0 MB/s, p = 0.0004), with the line full"},
	}
	for name, tc := range cases {
		if got := answer(tc.lines); got != tc.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
