package suite

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/pass"
	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

const (
	maxFailures  = 8
	etaGrain     = 10 * time.Second // a finer grain would write the status in each pass
	maxRunLength = 63
)

// setRun describes the newest run. Without its record the status stays unchanged.
func setRun(s *scope) {
	cur := s.current()
	if cur == nil || !cur.loaded {
		return
	}
	rs := runStatus(s, cur)
	s.suite.Status.Run = &rs
	if cur.record != nil {
		s.suite.Status.ResultRef = &v1alpha1.ResultReference{Name: cur.record.Name}
	}
}

func runStatus(s *scope, cur *run) v1alpha1.SuiteRunStatus {
	f := cur.file
	out := v1alpha1.SuiteRunStatus{
		Name: pass.ClipTo(cur.name, maxRunLength), Workflow: cmp.Or(cur.workflow(), f.Workflow), Retried: f.Retried,
	}
	if was := s.suite.Status.Run; was != nil && was.Name == out.Name && out.Workflow == "" {
		out.Workflow = was.Workflow
	}
	if !f.Started.IsZero() {
		out.StartTime = timestamp(metav1.NewTime(f.Started))
	}
	if cur.isOver() {
		out.CompletionTime = timestamp(metav1.NewTime(f.Ended))
	}
	for _, r := range f.Results { // each cell and repetition once
		out.Finished++
		switch {
		case !isSuccess(r):
			out.Failed++
			if len(out.Failures) < maxFailures {
				out.Failures = append(out.Failures, v1alpha1.BenchmarkFailure{
					Benchmark: r.Benchmark, Message: pass.ClipTo(strings.TrimPrefix(r.Reason+": "+r.Message, ": "), 324),
				})
			}
		case r.Validity == string(bench.ValiditySuspect), r.Validity == string(bench.ValidityInvalid):
			out.Succeeded++
			out.Suspect++
		default:
			out.Succeeded++
		}
	}
	setPace(s, cur, &out)
	return out
}

// setPace computes the progress of a run, and the remaining time if the other benchmarks take as long as those that
// have ended.
func setPace(s *scope, cur *run, out *v1alpha1.SuiteRunStatus) {
	total := cur.total()
	switch {
	case total == 0:
		return
	case cur.isOver():
		out.Percent = int32(min(len(cur.file.Results)*100/total, 100)) //nolint:gosec // a percentage
		return
	}
	done := float64(len(cur.file.Results))
	for _, b := range cur.live {
		done += float64(b.percent) / 100
		out.Current = b.name
	}
	out.Percent = min(int32(done*100/float64(total)), 99)
	if each := meanDuration(cur.file.Results); each > 0 && !s.suite.Spec.Suspend {
		left := time.Duration(max(float64(total)-done, 0) * float64(each))
		left = (left + etaGrain - 1).Truncate(etaGrain)
		out.ETASeconds = new(int64(left / time.Second))
	}
}

// meanDuration returns the mean duration of the benchmarks that ran; 0 = none ran.
func meanDuration(results []runfile.SuiteResult) time.Duration {
	sum, n := time.Duration(0), 0
	for _, r := range results {
		if !r.Started.IsZero() && r.Ended.After(r.Started) {
			sum += r.Ended.Sub(r.Started)
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return sum / time.Duration(n)
}

// progressMessage describes a run under way.
func progressMessage(s *scope, cur *run) string {
	done := fmt.Sprintf("%d of %d benchmarks finished", len(cur.file.Results), cur.total())
	switch {
	case len(cur.live) == 0 && s.suite.Spec.Suspend:
		return "suspended after " + done + ": set spec.suspend to false to go on"
	case cur.isDone() && len(cur.live) > 0:
		return done + ", waiting for " + cur.live[0].name + " to stop"
	case len(cur.live) == 0:
		return done
	}
	b := cur.live[0]
	msg := fmt.Sprintf("%s, repetition %d of %s is under way", done, b.key.Repetition, b.key.Cell)
	if b.waits != "" {
		msg += ": " + b.waits
	}
	return msg
}

// maxLines bounds the table of the status, because every watcher of the suites receives it.
const maxLines = 64

// withCompare returns the file of a run with the current comparison settings: these may change after the measurement.
func withCompare(s *scope, one *run) runfile.SuiteRun {
	f := one.file
	f.Settings.Compare = compareOf(s.suite.Spec.Compare)
	return f
}

// setTable writes the numbers of the newest run and its comparisons.
func setTable(s *scope, v seen) {
	st := &s.suite.Status
	if v.table == nil {
		return
	}
	st.Cells, st.Comparisons, st.Findings, st.Left = nil, nil, nil, nil
	cells, lines := v.table.Cells, v.table.Comparisons
	for _, c := range pass.Head(cells, maxLines) {
		st.Cells = append(st.Cells, cellStatus(c))
	}
	for _, l := range pass.Head(lines, maxLines) {
		st.Comparisons = append(st.Comparisons, comparisonStatus(l))
	}
	if n := len(cells) - len(st.Cells) + len(lines) - len(st.Comparisons); n > 0 {
		st.Left = new(int32(n)) //nolint:gosec // lines of a table
	}
	addFindings(st, v.table.Findings)
	setRegression(s)
}

func addFindings(st *v1alpha1.NFSBenchmarkSuiteStatus, all []bench.Finding) {
	for _, f := range all {
		f.Message = pass.Clip(f.Message)
		if len(st.Findings) < maxFindings && !slices.Contains(st.Findings, f) {
			st.Findings = append(st.Findings, f)
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
		NoiseFloorBasisPoints: basisPoints(found.NoiseFloor), Message: pass.ClipTo(found.Message, 512),
	}
	if s.unknown != "" {
		out.Message = pass.ClipTo("annotation "+v1alpha1.AnnotationAcceptRun+" names "+s.unknown+", of which there is no "+
			"record, so the oldest run that succeeded counts; "+found.Message, 512)
	}
	for _, l := range found.Comparisons {
		out.Changes = append(out.Changes, v1alpha1.RegressionChange{
			Cell: l.Cell, Step: l.Step, Metric: bench.Metric(l.Metric),
			ShiftBasisPoints: basisPoints(l.Shift), Outcome: l.Outcome,
		})
	}
	st.Regression = out
	addFindings(st, found.Findings)
}

func cellStatus(c compare.Cell) v1alpha1.CellStatus {
	return v1alpha1.CellStatus{
		Cell: pass.ClipTo(c.Cell, 63), Step: pass.ClipTo(c.Step, 48),
		Metric: bench.Metric(c.Metric), Unit: c.Unit,
		N:      int32(len(c.Values)), //nolint:gosec // bounded by repetitions
		Median: wholeNumber(c.Median), MedianLow: wholeOf(c.MedianLow), MedianHigh: wholeOf(c.MedianHigh),
	}
}

func comparisonStatus(l compare.Line) v1alpha1.ComparisonStatus {
	return v1alpha1.ComparisonStatus{
		Cell: pass.ClipTo(l.Cell, 63), Baseline: pass.ClipTo(l.Baseline, 63), Step: pass.ClipTo(l.Step, 48),
		Metric: bench.Metric(l.Metric), Outcome: l.Outcome,
		ImpactBasisPoints: wholeNumber(l.Impact * 1e4), P: probability(cmp.Or(l.AdjustedP, l.P)),
	}
}

// basisPoints returns a share in hundredths of a percent; nil if the share is not known.
func basisPoints(share *float64) *int64 {
	if share == nil {
		return nil
	}
	return wholeOf(new(*share * 1e4))
}

// probability formats p; empty if p is not known.
func probability(p *float64) v1alpha1.Decimal {
	if p == nil || !(*p >= 0 && *p <= 1) {
		return ""
	}
	return v1alpha1.Decimal(strconv.FormatFloat(*p, 'f', 6, 64))
}

func wholeOf(v *float64) *int64 {
	if v == nil || math.IsNaN(*v) || math.IsInf(*v, 0) {
		return nil
	}
	return new(wholeNumber(*v))
}

// wholeNumber rounds v; NaN and values that do not fit become 0.
func wholeNumber(v float64) int64 {
	if math.IsNaN(v) || math.Abs(v) > math.MaxInt64/2 {
		return 0
	}
	return int64(math.Round(v))
}

// setHistory lists the runs that have ended, newest first, by the annotations of their records.
func setHistory(s *scope, v seen) {
	st := &s.suite.Status
	st.History = nil
	over := s.over()
	for i := len(over) - 1; i >= 0 && len(st.History) <= maxHistory; i-- {
		one := over[i]
		notes := one.record.Annotations
		e := v1alpha1.SuiteHistoryEntry{
			Run: pass.ClipTo(one.name, maxRunLength), Phase: v1alpha1.SuitePhase(notes[annotationPhase]),
			Verdict:  v1alpha1.SuiteVerdict(notes[annotationVerdict]),
			Accepted: one.name == s.accepted,
		}
		if t, ok := one.noted(annotationEnded); ok {
			e.CompletionTime = timestamp(metav1.NewTime(t))
		}
		if e.Verdict == "" && one == v.ended {
			e.Verdict = v.verdict
		}
		st.History = append(st.History, e)
	}
}
