package metrics

import (
	"cmp"
	"slices"
	"strconv"
	"time"
	_ "time/tzdata" // the manager's image has no time zones of its own

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/matrix"
	"github.com/nfsbench/nfsbench/internal/measure"
)

// exportSuite exports a suite and its newest run.
func exportSuite(s sink, suite *v1alpha1.NFSBenchmarkSuite, limit int) {
	st, own := suite.Status, []string{suite.Namespace, suite.Name}
	s.send("suite_info", 1, suite.Namespace, suite.Name, string(cmp.Or(st.Phase, v1alpha1.SuitePending)),
		string(st.Verdict), strconv.FormatBool(suite.Spec.Schedule != nil))
	if m := st.Matrix; m != nil {
		s.send("suite_planned_benchmarks", float64(m.Benchmarks), own...)
	}
	if r := st.Run; r != nil {
		s.send("suite_finished_benchmarks", float64(r.Finished), own...)
		s.send("suite_failed_benchmarks", float64(r.Failed), own...)
		s.send("suite_suspect_benchmarks", float64(r.Suspect), own...)
		s.send("suite_progress_ratio", float64(r.Percent)/perCent, own...)
		sendTime(s, "suite_last_run_start_timestamp_seconds", r.StartTime, own)
	}
	sendTime(s, "suite_last_run_completion_timestamp_seconds",
		lastEnd(st, func(v1alpha1.SuiteHistoryEntry) bool { return true }), own)
	sendTime(s, "suite_last_success_timestamp_seconds", lastEnd(st, func(e v1alpha1.SuiteHistoryEntry) bool {
		return e.Phase == v1alpha1.SuiteSucceeded
	}), own)
	if t, ok := overdue(suite); ok {
		s.send("suite_overdue_timestamp_seconds", float64(t.Unix()), own...)
	}
	exportRegression(s, suite, own)
	exportLines(s, suite, limit, own)
}

// lastEnd returns the latest end of the runs that match is, in the history and of the newest run, which may not be in
// the history yet.
func lastEnd(st v1alpha1.NFSBenchmarkSuiteStatus, is func(v1alpha1.SuiteHistoryEntry) bool) *metav1.Time {
	var last *metav1.Time
	take := func(e v1alpha1.SuiteHistoryEntry) {
		if t := e.CompletionTime; t != nil && is(e) && (last == nil || t.After(last.Time)) {
			last = t
		}
	}
	for _, e := range st.History {
		take(e)
	}
	if r := st.Run; r != nil {
		// A suite with a schedule waits for its next time, and its own phase does not say how the run ended.
		phase := st.Phase
		if st.Matrix != nil && r.Succeeded == st.Matrix.Benchmarks {
			phase = v1alpha1.SuiteSucceeded
		}
		take(v1alpha1.SuiteHistoryEntry{Phase: phase, CompletionTime: r.CompletionTime})
	}
	return last
}

// exportRegression exports the verdict of a suite with a schedule, once it has one.
func exportRegression(s sink, suite *v1alpha1.NFSBenchmarkSuite, own []string) {
	st := suite.Status
	if suite.Spec.Schedule == nil || st.Verdict == "" {
		return
	}
	regressed := 0.0
	if st.Verdict == v1alpha1.SuiteRegressed {
		regressed = 1
	}
	s.send("suite_regressed", regressed, own...)
	r := st.Regression
	if r == nil {
		return
	}
	sendKnown(s, "suite_noise_floor_ratio", r.NoiseFloorBasisPoints, perTenThousand, own)
	for _, c := range r.Changes { // at most 32 by the schema
		sendKnown(s, "suite_regression_shift_ratio", c.ShiftBasisPoints, perTenThousand,
			[]string{suite.Namespace, suite.Name, c.Cell, c.Step, string(c.Metric), string(c.Outcome)})
	}
}

// exportLines exports cells and comparisons, as many of each as the limit allows.
func exportLines(s sink, suite *v1alpha1.NFSBenchmarkSuite, limit int, own []string) {
	st := suite.Status
	for _, c := range upTo(st.Cells, limit) {
		exportCell(s, c, own)
	}
	for _, c := range upTo(st.Comparisons, limit) {
		s.send("suite_comparison_impact_ratio", float64(c.ImpactBasisPoints)/perTenThousand,
			suite.Namespace, suite.Name, c.Cell, c.Step, c.Baseline, string(c.Metric), string(c.Outcome))
	}
	omitted := max(0, len(st.Cells)-limit) + max(0, len(st.Comparisons)-limit)
	if st.Left != nil {
		omitted += int(*st.Left)
	}
	s.send("suite_lines_omitted", float64(omitted), own...)
}

func exportCell(s sink, c v1alpha1.CellStatus, own []string) {
	labels := append(own[:2:2], c.Cell, c.Step)
	m := measure.MetricOf(string(c.Metric))
	if m.Series == "" {
		return // unknown metric of a later version
	}
	if m.Stat != "" {
		labels = append(labels, m.Name)
	}
	name := "suite_cell_" + m.Series
	with := func(stat string) []string { return append(slices.Clip(labels), stat) }
	sendKnown(s, name, &c.Median, m.PerUnit(), with("median"))
	sendKnown(s, name, c.MedianLow, m.PerUnit(), with("low"))
	sendKnown(s, name, c.MedianHigh, m.PerUnit(), with("high"))
}

func sendTime(s sink, name string, t *metav1.Time, labels []string) {
	if t != nil {
		s.send(name, float64(t.Unix()), labels...)
	}
}

// overdue returns the second scheduled time after waitingSince: from then on the suite has left out two of its times.
// It returns false while a run is under way, and while no run is to begin.
func overdue(suite *v1alpha1.NFSBenchmarkSuite) (time.Time, bool) {
	schedule := suite.Spec.Schedule
	switch {
	case schedule == nil, schedule.Suspend, suite.Spec.Suspend, suite.Spec.Shutdown != "",
		suite.Status.Phase == v1alpha1.SuiteRunning:
		return time.Time{}, false
	}
	zone, err := time.LoadLocation(cmp.Or(schedule.TimeZone, "Etc/UTC"))
	if err != nil {
		return time.Time{}, false // a condition of the suite reports it
	}
	times, err := matrix.ParseCron(schedule.Cron)
	if err != nil {
		return time.Time{}, false
	}
	due := times.Next(times.Next(waitingSince(suite).In(zone)))
	// Next returns the zero time if there is none within five years.
	return due, !due.IsZero()
}

// waitingSince returns when a suite last began, or was last changed: a suite whose schedule is new, or that was
// suspended until now, has left nothing out.
func waitingSince(suite *v1alpha1.NFSBenchmarkSuite) time.Time {
	since := suite.CreationTimestamp.Time
	if r := suite.Status.Run; r != nil && r.StartTime != nil && r.StartTime.After(since) {
		since = r.StartTime.Time
	}
	for _, f := range suite.ManagedFields {
		if f.Subresource == "" && f.Time != nil && f.Time.After(since) {
			since = f.Time.Time
		}
	}
	return since
}
