package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/test/experiments"
)

func compared(t *testing.T, table compare.Table, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := CompareText(&b, table, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// tables are one of each kind of comparison.
func tables() map[string]compare.Table {
	low, high, shift, p, deviation := -.12, -.04, -.08, .00004, .031
	line := compare.Line{
		Cell: "dnfs", Baseline: "nfs", Metric: bench.MetricThroughput, Unit: "B/s", Mean: 412e6, Base: []float64{430e6, 429e6, 431e6}, Candidate: []float64{395e6, 396e6, 394e6}, Impact: shift, ImpactDeviation: &deviation,
		ImpactMinimum: -.13, ImpactMaximum: .01, Shift: &shift, ShiftLow: &low, ShiftHigh: &high, P: &p, AdjustedP: &p, Outcome: bench.OutcomeWorse, Saturated: true,
	}
	short := line
	short.Metric, short.Unit, short.Mean, short.Step, short.Saturated = bench.MetricMeanLatency, "us", 820, "Users=8", false
	short.Base, short.Candidate = []float64{788}, []float64{852}
	short.ShiftLow, short.ShiftHigh, short.P, short.AdjustedP, short.ImpactDeviation, short.Outcome = nil, nil, nil, nil, nil, bench.OutcomeUnknown
	same, small := line, line
	same.Outcome, same.Cell, small.Outcome, small.Cell = bench.OutcomeNoDifference, "same", bench.OutcomeNegligible, "small"
	variation := .0123
	return map[string]compare.Table{
		"impact":   compare.Run(compare.Request{Run: new(experiments.ImpactRun())}),
		"outcomes": {Comparisons: []compare.Line{line, same, small, short}, Findings: []bench.Finding{{Code: "TooFewRepetitions", Severity: "Warning", Message: "Make more."}}},
		"cells":    {Cells: []compare.Cell{{Cell: "nfs", Metric: bench.MetricIOPS, Unit: "1/s", Values: []float64{1, 2}, Mean: 1.5, Median: 1, Minimum: 1, Maximum: 2, Variation: &variation, Saturated: true}}},
		"nothing":  {},
	}
}

func TestComparisonsAsText(t *testing.T) {
	t.Parallel()
	for name, table := range tables() {
		golden(t, "compare-"+name+".golden", compared(t, table, Options{}))
	}
}

func TestTheTableOfNFSVsDNFSHasItsNumbers(t *testing.T) {
	t.Parallel()
	var text string
	for _, r := range lineTable(tables()["impact"].Comparisons).Rows {
		text += fmt.Sprintln(r.Cells)
	}
	for _, row := range experiments.Impacts() {
		for _, share := range []float64{row.Impact, row.Minimum, row.Maximum} {
			if want := percent(share / 100); !strings.Contains(text, want) {
				t.Errorf("%d users: %s is missing", row.Users, want)
			}
		}
	}
}

func TestComparisonsFitTheWidth(t *testing.T) {
	t.Parallel()
	wide := tables()["outcomes"]
	for i := range wide.Comparisons {
		wide.Comparisons[i].Cell = strings.Repeat("cell ", 20)
		wide.Comparisons[i].Baseline = strings.Repeat("baseline ", i+5)
	}
	for _, width := range []int{80, 120} {
		for _, table := range []compare.Table{wide, tables()["impact"], tables()["cells"]} {
			for l := range strings.Lines(compared(t, table, Options{Width: width})) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(l, "\n")); n > width {
					t.Errorf("%d columns of %d: %s", n, width, l)
				}
			}
		}
	}
}

func TestAComparisonCannotDriveTheTerminal(t *testing.T) {
	t.Parallel()
	table, evil := tables()["outcomes"], "x\x1b]0;pwned\x07\r\u009b2J"
	for i := range table.Comparisons {
		l := &table.Comparisons[i]
		l.Cell, l.Baseline, l.Step, l.Metric, l.Unit = evil, strings.Repeat(evil, i+1), evil, evil, evil
	}
	table.Findings = []bench.Finding{{Code: evil, Severity: bench.Severity(evil), Message: evil}}
	for _, width := range []int{60, 120} {
		if text := compared(t, table, Options{Width: width}); strings.ContainsAny(text, "\x1b\x07\r\u009b") {
			t.Errorf("control characters came through:\n%q", text)
		}
	}
}
