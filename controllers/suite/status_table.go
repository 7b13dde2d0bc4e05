package suite

import (
	"math"

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
		BaselineRun: statussize.ClipTo(found.Baseline, maxRunLength), Run: statussize.ClipTo(found.Run, maxRunLength),
		NoiseFloorBasisPoints: basisPoints(found.NoiseFloor), Message: statussize.ClipTo(found.Message, 512),
	}
	if s.unknown != "" {
		out.Message = statussize.ClipTo("annotation "+v1alpha1.AnnotationAcceptRun+" names "+s.unknown+", of which there is no record, so the oldest run that succeeded counts; "+found.Message, 512)
	}
	for _, l := range found.Changes {
		if len(out.Changes) < maxChanges {
			out.Changes = append(out.Changes, comparisonStatus(l))
		}
	}
	st.Regression = out
	addFindings(st, found.Findings)
}

func cellStatus(c compare.Cell) v1alpha1.CellStatus {
	out := v1alpha1.CellStatus{
		Cell: statussize.ClipTo(c.Cell, 63), Step: statussize.ClipTo(c.Step, 48), Metric: v1alpha1.Metric(c.Metric), Unit: c.Unit, N: int32(len(c.Values)), //nolint:gosec // bounded by repetitions
		Mean: whole64(c.Mean), Median: whole64(c.Median), Minimum: whole64(c.Minimum), Maximum: whole64(c.Maximum),
		MedianLow: wholeOf(c.MedianLow), MedianHigh: wholeOf(c.MedianHigh), Saturated: c.Saturated,
	}
	if c.Variation != nil {
		out.VariationPermille = new(int32(math.Round(*c.Variation * 1000)))
	}
	return out
}

func comparisonStatus(l compare.Line) v1alpha1.ComparisonStatus {
	return v1alpha1.ComparisonStatus{
		Cell: statussize.ClipTo(l.Cell, 63), Baseline: statussize.ClipTo(l.Baseline, 63), Step: statussize.ClipTo(l.Step, 48), Metric: v1alpha1.Metric(l.Metric), Unit: l.Unit,
		Pairs: int32(len(l.Impacts)), Mean: whole64(l.Mean), //nolint:gosec // bounded by repetitions
		ImpactBasisPoints: toBasisPoints(l.Impact), ImpactStandardDeviationBasisPoints: basisPoints(l.ImpactDeviation),
		ImpactMinimumBasisPoints: toBasisPoints(l.ImpactMinimum), ImpactMaximumBasisPoints: toBasisPoints(l.ImpactMaximum),
		ShiftBasisPoints: basisPoints(l.Shift), ShiftLowBasisPoints: basisPoints(l.ShiftLow), ShiftHighBasisPoints: basisPoints(l.ShiftHigh),
		PMillionths: millionths(l.P), AdjustedPMillionths: millionths(l.AdjustedP),
		Outcome: v1alpha1.Outcome(l.Outcome), Saturated: l.Saturated,
	}
}

func toBasisPoints(share float64) int64 { return whole64(share * 10_000) }

func basisPoints(share *float64) *int64 { return scaled(share, 10_000) }

func millionths(p *float64) *int64 { return scaled(p, 1e6) }

func wholeOf(v *float64) *int64 { return scaled(v, 1) }

func scaled(v *float64, by float64) *int64 {
	if v == nil || math.IsNaN(*v) || math.IsInf(*v, 0) {
		return nil
	}
	return new(whole64(*v * by))
}

// whole64 rounds; what is no number, or none that fits, becomes 0.
func whole64(v float64) int64 {
	if math.IsNaN(v) || math.Abs(v) > math.MaxInt64/2 {
		return 0
	}
	return int64(math.Round(v))
}
