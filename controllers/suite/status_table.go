package suite

import (
	"cmp"
	"math"
	"strconv"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/statussize"
)

// What the lists of the status hold at most.
const (
	maxLines    = 128
	maxChanges  = 32
	maxFindings = 32
)

// withCompare is the file of a run with the comparison as it is asked for now:
// that may change, and what was measured does not.
func withCompare(s *scope, one *run) runfile.SuiteRun {
	f := one.file
	f.Settings.Compare = compareOf(s.suite.Spec.Compare)
	return f
}

// setTable writes the numbers of the newest run, and how it compares.
func setTable(s *scope, v seen) {
	st := &s.suite.Status
	if v.table == nil {
		return
	}
	st.Cells, st.Comparisons, st.Findings, st.Left = nil, nil, nil, nil
	left := 0
	for _, c := range v.table.Cells {
		if len(st.Cells) < maxLines {
			st.Cells = append(st.Cells, cellStatus(c))
		} else {
			left++
		}
	}
	for _, l := range v.table.Comparisons {
		if len(st.Comparisons) < maxLines {
			st.Comparisons = append(st.Comparisons, comparisonStatus(l))
		} else {
			left++
		}
	}
	addLeft(st, left)
	addFindings(st, v.table.Findings)
	setRegression(s)
}

func addLeft(st *v1alpha1.NFSBenchmarkSuiteStatus, n int) {
	if n == 0 {
		return
	}
	if st.Left == nil {
		st.Left = new(int32(0))
	}
	*st.Left += int32(n) //nolint:gosec // lines of a table
}

func addFindings(st *v1alpha1.NFSBenchmarkSuiteStatus, all []compare.Finding) {
	for _, f := range all {
		if len(st.Findings) < maxFindings {
			st.Findings = append(st.Findings, v1alpha1.Finding{Code: f.Code, Severity: v1alpha1.Severity(f.Severity), Message: statussize.Clip(f.Message)})
		}
	}
}

func setRegression(s *scope) {
	st := &s.suite.Status
	st.Regression = nil
	found := s.regression
	if found == nil {
		return
	}
	out := &v1alpha1.RegressionStatus{
		NoiseFloorPercent: percent(found.NoiseFloor), Message: statussize.ClipTo(found.Message, 512),
	}
	if s.unknown != "" {
		out.Message = statussize.ClipTo("annotation "+v1alpha1.AnnotationAcceptRun+" names "+s.unknown+", of which there is no record, so the oldest run that succeeded counts; "+found.Message, 512)
	}
	for _, l := range found.Changes {
		if len(out.Changes) < maxChanges {
			out.Changes = append(out.Changes, v1alpha1.RegressionChange{
				Cell: statussize.ClipTo(l.Cell, 63), Step: statussize.ClipTo(l.Step, 48), Metric: v1alpha1.Metric(l.Metric),
				ShiftPercent: percent(l.Shift), Outcome: v1alpha1.Outcome(l.Outcome),
			})
		}
	}
	st.Regression = out
	addFindings(st, found.Findings)
}

func cellStatus(c compare.Cell) v1alpha1.CellStatus {
	return v1alpha1.CellStatus{
		Cell: statussize.ClipTo(c.Cell, 63), Step: statussize.ClipTo(c.Step, 48), Metric: v1alpha1.Metric(c.Metric), Unit: c.Unit,
		N:      int32(len(c.Values)), //nolint:gosec // bounded by repetitions
		Median: wholeNumber(c.Median), MedianLow: wholeOf(c.MedianLow), MedianHigh: wholeOf(c.MedianHigh),
	}
}

func comparisonStatus(l compare.Line) v1alpha1.ComparisonStatus {
	p := l.AdjustedP
	if p == nil {
		p = l.P
	}
	return v1alpha1.ComparisonStatus{
		Cell: statussize.ClipTo(l.Cell, 63), Baseline: statussize.ClipTo(l.Baseline, 63), Step: statussize.ClipTo(l.Step, 48),
		Metric: v1alpha1.Metric(l.Metric), ImpactPercent: cmp.Or(percent(&l.Impact), "0.00"), P: decimal(p, 1, 6), Outcome: v1alpha1.Outcome(l.Outcome),
	}
}

// percent writes a share in hundredths of a percent; empty where it is not known.
func percent(share *float64) v1alpha1.Decimal { return decimal(share, 100, 2) }

func decimal(v *float64, times float64, digits int) v1alpha1.Decimal {
	if v == nil || math.IsNaN(*v) || math.Abs(*v) > math.MaxInt64/1e4 {
		return ""
	}
	return v1alpha1.Decimal(strconv.FormatFloat(*v*times, 'f', digits, 64))
}

func wholeOf(v *float64) *int64 {
	if v == nil || math.IsNaN(*v) || math.IsInf(*v, 0) {
		return nil
	}
	return new(wholeNumber(*v))
}

// wholeNumber rounds; what is no number, or none that fits, becomes 0.
func wholeNumber(v float64) int64 {
	if math.IsNaN(v) || math.Abs(v) > math.MaxInt64/2 {
		return 0
	}
	return int64(math.Round(v))
}
