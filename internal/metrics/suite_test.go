package metrics_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/metrics"
)

// suite is one with a schedule whose newest run regressed.
func suite() *v1alpha1.NFSBenchmarkSuite {
	worse := v1alpha1.RegressionChange{
		Cell: "dnfs-u8", Step: "Users=8", Metric: bench.MetricMeanLatency, ShiftBasisPoints: new(int64(-1150)), Outcome: bench.OutcomeWorse,
	}
	return &v1alpha1.NFSBenchmarkSuite{
		ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "nightly", CreationTimestamp: *ago(90 * 24 * time.Hour)},
		Spec:       v1alpha1.NFSBenchmarkSuiteSpec{Schedule: &v1alpha1.Schedule{Cron: "0 2 * * *", TimeZone: "Europe/Vienna"}},
		Status: v1alpha1.NFSBenchmarkSuiteStatus{
			Phase: v1alpha1.SuiteScheduled, Verdict: v1alpha1.SuiteRegressed,
			Matrix: &v1alpha1.MatrixStatus{Cells: 2, Benchmarks: 20},
			Run: &v1alpha1.SuiteRunStatus{
				Name: "nightly-1", Finished: 20, Succeeded: 19, Failed: 1, Suspect: 2, Percent: 100,
				StartTime: ago(10 * time.Hour), CompletionTime: ago(8 * time.Hour),
			},
			Cells: []v1alpha1.CellStatus{
				{Cell: "dnfs-u8", Step: "Users=8", Metric: bench.MetricThroughput, Median: 236e6, MedianLow: new(int64(230e6)), MedianHigh: new(int64(240e6))},
				{Cell: "dnfs-u8", Step: "Users=8", Metric: bench.MetricMeanLatency, Median: 402},
				{Cell: "dnfs-u8", Step: "Users=8", Metric: bench.MetricIOPS, Median: 28_000},
				{Cell: "dnfs-u8", Step: "Users=8", Metric: bench.MetricClientCPU, Median: 900},
				{Cell: "dnfs-u8", Step: "Users=8", Metric: bench.MetricClientCPUTime, Median: 510},
				{Cell: "dnfs-u8", Step: "Users=8", Metric: bench.MetricWire, Median: 985},
				{Cell: "dnfs-u8", Step: "Users=8", Metric: bench.MetricLongestPause, Median: 1_500_000},
				{Cell: "dnfs", Metric: bench.MetricCapacity, Median: 41_200, MedianLow: new(int64(40_500)), MedianHigh: new(int64(41_900))},
			},
			Comparisons: []v1alpha1.ComparisonStatus{{
				Cell: "dnfs-u8", Baseline: "nfs-u8", Step: "Users=8", Metric: bench.MetricMeanLatency,
				ImpactBasisPoints: 2345, Outcome: bench.OutcomeBetter,
			}},
			Left:       new(int32(3)),
			Regression: &v1alpha1.RegressionStatus{NoiseFloorBasisPoints: new(int64(180)), Changes: []v1alpha1.RegressionChange{worse}},
			History: []v1alpha1.SuiteHistoryEntry{
				{Run: "nightly-1", Phase: v1alpha1.SuiteFailed, CompletionTime: ago(8 * time.Hour)},
				{Run: "nightly-0", Phase: v1alpha1.SuiteSucceeded, CompletionTime: ago(32 * time.Hour)},
			},
		},
	}
}

// changed is what the API server writes down of a change.
func changed(at *metav1.Time, subresource string) []metav1.ManagedFieldsEntry {
	return []metav1.ManagedFieldsEntry{{
		Manager: "kubectl", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: v1alpha1.GroupVersion.String(),
		Time: at, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1("{}"), Subresource: subresource,
	}}
}

// as is a reader of one suite as it is: the fake client writes managedFields itself.
type as struct {
	client.Reader
	suite v1alpha1.NFSBenchmarkSuite
}

func (a as) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if suites, ok := list.(*v1alpha1.NFSBenchmarkSuiteList); ok {
		suites.Items = []v1alpha1.NFSBenchmarkSuite{a.suite}
		return nil
	}
	return a.Reader.List(ctx, list, opts...)
}

func one(t *testing.T, s *v1alpha1.NFSBenchmarkSuite, name string) (float64, bool) {
	t.Helper()
	got, told := scrape(t, collector(as{reader(t), *s}, metrics.DefaultLimits()))[name]
	if !told {
		return 0, false
	}
	return got.GetMetric()[0].GetGauge().GetValue(), true
}

func TestASuiteIsOverdueWhenItHasLeftOutTwoOfItsTimes(t *testing.T) {
	// It began at 03:00 in Vienna on November 22nd, a Sunday.
	cases := map[string]struct {
		change func(*v1alpha1.NFSBenchmarkSuite)
		want   time.Time // zero: not told
	}{
		"each night": {func(*v1alpha1.NFSBenchmarkSuite) {}, time.Date(2026, 11, 24, 1, 0, 0, 0, time.UTC)},
		"on working days": {
			func(s *v1alpha1.NFSBenchmarkSuite) { s.Spec.Schedule.Cron = "0 2 * * 1-5" },
			time.Date(2026, 11, 24, 1, 0, 0, 0, time.UTC),
		},
		"on Sundays": {
			func(s *v1alpha1.NFSBenchmarkSuite) { s.Spec.Schedule.Cron = "0 2 * * 0" },
			time.Date(2026, 12, 6, 1, 0, 0, 0, time.UTC),
		},
		"in UTC without a zone": {
			func(s *v1alpha1.NFSBenchmarkSuite) { s.Spec.Schedule.TimeZone = "" },
			time.Date(2026, 11, 24, 2, 0, 0, 0, time.UTC),
		},
		"never run": {
			func(s *v1alpha1.NFSBenchmarkSuite) { s.Status.Run, s.CreationTimestamp = nil, *ago(time.Hour) },
			time.Date(2026, 11, 24, 1, 0, 0, 0, time.UTC),
		},
		"changed since": {
			func(s *v1alpha1.NFSBenchmarkSuite) {
				s.ManagedFields = changed(ago(-24*time.Hour), "")
			},
			time.Date(2026, 11, 25, 1, 0, 0, 0, time.UTC),
		},
		"a status that was written is no change": {
			func(s *v1alpha1.NFSBenchmarkSuite) {
				s.ManagedFields = changed(ago(-24*time.Hour), "status")
			},
			time.Date(2026, 11, 24, 1, 0, 0, 0, time.UTC),
		},
		"no schedule":            {change: func(s *v1alpha1.NFSBenchmarkSuite) { s.Spec.Schedule = nil }},
		"suspended":              {change: func(s *v1alpha1.NFSBenchmarkSuite) { s.Spec.Schedule.Suspend = true }},
		"its run is suspended":   {change: func(s *v1alpha1.NFSBenchmarkSuite) { s.Spec.Suspend = true }},
		"shut down":              {change: func(s *v1alpha1.NFSBenchmarkSuite) { s.Spec.Shutdown = v1alpha1.ShutdownStop }},
		"a run is under way":     {change: func(s *v1alpha1.NFSBenchmarkSuite) { s.Status.Phase = v1alpha1.SuiteRunning }},
		"a zone that is none":    {change: func(s *v1alpha1.NFSBenchmarkSuite) { s.Spec.Schedule.TimeZone = "Europe/Nowhere" }},
		"a time that never is":   {change: func(s *v1alpha1.NFSBenchmarkSuite) { s.Spec.Schedule.Cron = "0 2 30 2 *" }},
		"a zone in the times":    {change: func(s *v1alpha1.NFSBenchmarkSuite) { s.Spec.Schedule.Cron = "TZ=0\t*\t*\t*\t*" }},
		"an expression of words": {change: func(s *v1alpha1.NFSBenchmarkSuite) { s.Spec.Schedule.Cron = "at two each day !" }},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := suite()
			c.change(s)
			got, told := one(t, s, "suite_overdue_timestamp_seconds")
			if told != !c.want.IsZero() {
				t.Fatalf("told: %t", told)
			}
			if at := time.Unix(int64(got), 0).UTC(); told && !at.Equal(c.want) {
				t.Errorf("overdue at %s, want %s", at, c.want)
			}
		})
	}
}

func TestTheNewestRunCountsBeforeItIsInTheHistory(t *testing.T) {
	s := suite()
	s.Status.History = s.Status.History[1:]
	s.Status.Run.Succeeded, s.Status.Run.Failed = 20, 0
	for _, name := range []string{"suite_last_run_completion_timestamp_seconds", "suite_last_success_timestamp_seconds"} {
		if got, _ := one(t, s, name); int64(got) != ago(8*time.Hour).Unix() {
			t.Errorf("%s is %s", name, time.Unix(int64(got), 0).UTC())
		}
	}
	s.Status.Run.Succeeded, s.Status.Run.Failed = 19, 1
	if got, _ := one(t, s, "suite_last_success_timestamp_seconds"); int64(got) != ago(32*time.Hour).Unix() {
		t.Errorf("a run that failed counts as one that succeeded, at %s", time.Unix(int64(got), 0).UTC())
	}
}

func TestARegressionIsToldOfSchedulesWithAVerdict(t *testing.T) {
	s := suite()
	if got, _ := one(t, s, "suite_regressed"); got != 1 {
		t.Errorf("regressed: %v", got)
	}
	s.Status.Verdict = v1alpha1.SuitePass
	if got, told := one(t, s, "suite_regressed"); got != 0 || !told {
		t.Errorf("passed: %v, told: %t", got, told)
	}
	s.Status.Verdict = ""
	if _, told := one(t, s, "suite_regressed"); told {
		t.Error("without a verdict it is told")
	}
	s = suite()
	s.Spec.Schedule = nil
	if _, told := one(t, s, "suite_regressed"); told {
		t.Error("without a schedule it is told")
	}
}

func TestLinesAreBounded(t *testing.T) {
	s := suite()
	s.Status.Left = nil
	s.Status.Cells, s.Status.Comparisons = nil, nil
	for i := range 10 {
		cell := fmt.Sprintf("c%d", i)
		s.Status.Cells = append(s.Status.Cells, v1alpha1.CellStatus{Cell: cell, Metric: bench.MetricIOPS, Median: 1})
		s.Status.Comparisons = append(s.Status.Comparisons, v1alpha1.ComparisonStatus{Cell: cell, Baseline: "b", Metric: bench.MetricIOPS, ImpactBasisPoints: 100, Outcome: bench.OutcomeBetter})
	}
	limits := metrics.DefaultLimits()
	limits.Lines = 4
	got := scrape(t, collector(reader(t, s), limits))
	if cells, lines := len(got["suite_cell_iops"].GetMetric()), len(got["suite_comparison_impact_ratio"].GetMetric()); cells != 4 || lines != 4 {
		t.Errorf("%d cells and %d comparisons are told of, want 4 of each", cells, lines)
	}
	if got := values(got["suite_lines_omitted"], "suite")["nightly"]; got != 12 {
		t.Errorf("%v lines are left out, want 12", got)
	}
}

func TestALineThatIsThereTwiceBreaksNoScrape(t *testing.T) {
	s := suite()
	s.Status.Cells = append(s.Status.Cells, s.Status.Cells...)
	if got := scrape(t, collector(reader(t, s), metrics.DefaultLimits())); len(got["suite_cell_iops"].GetMetric()) != 1 {
		t.Errorf("cells: %v", got["suite_cell_iops"])
	}
}

func TestTheNewestSuitesAreToldOf(t *testing.T) {
	var objects []client.Object
	for i, name := range []string{"a", "b", "c"} {
		s := suite()
		s.Name, s.Status.Run.StartTime = name, ago(time.Duration(i)*time.Hour)
		objects = append(objects, s)
	}
	limits := metrics.DefaultLimits()
	limits.Suites = 2
	got := scrape(t, collector(reader(t, objects...), limits))
	if diff := cmp.Diff(map[string]float64{"a": 1, "b": 1}, values(got["suite_info"], "suite")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := got["suites_omitted"].GetMetric()[0].GetGauge().GetValue(); got != 1 {
		t.Errorf("%v are left out", got)
	}
}
