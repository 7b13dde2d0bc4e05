package suite

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

func TestPointsOfAStatus(t *testing.T) {
	t.Parallel()
	n := func(v int64) *int64 { return &v }
	full := &v1alpha1.Summary{
		ThroughputBytesPerSecond: n(1), IOPS: n(2), MeanLatencyMicroseconds: n(3), P50LatencyMicroseconds: n(4), P95LatencyMicroseconds: n(5),
		P99LatencyMicroseconds: n(6), StorageMeanLatencyMicroseconds: n(7), ClientCPUMicrosecondsPerMebibyte: n(8), WirePercent: new(int32(94)),
	}
	all := map[string]float64{
		runfile.MetricThroughput: 1, runfile.MetricIOPS: 2, runfile.MetricMeanLatency: 3, runfile.MetricP50Latency: 4,
		runfile.MetricP95Latency: 5, runfile.MetricP99Latency: 6, runfile.MetricStorageLatency: 7, runfile.MetricClientCPU: 8,
	}
	step := func(kind string, users int32, speed int64) v1alpha1.StepStatus {
		return v1alpha1.StepStatus{Kind: kind, Users: users, ThroughputBytesPerSecond: n(speed), WirePercent: new(int32(50)), Knee: users == 4}
	}
	one := func(step string, speed float64, knee bool) runfile.SuitePoint {
		return runfile.SuitePoint{Step: step, Metrics: map[string]float64{runfile.MetricThroughput: speed}, WirePermille: n(500), Knee: knee}
	}
	topped := one("Users=8", 80, false)
	topped.Metrics = map[string]float64{runfile.MetricP95Latency: 5, runfile.MetricThroughput: 80}
	cases := map[string]struct {
		st   v1alpha1.NFSBenchmarkStatus
		want []runfile.SuitePoint
	}{
		"Nothing":      {v1alpha1.NFSBenchmarkStatus{}, nil},
		"EmptySummary": {v1alpha1.NFSBenchmarkStatus{Summary: &v1alpha1.Summary{}}, nil},
		"Summary":      {v1alpha1.NFSBenchmarkStatus{Summary: full}, []runfile.SuitePoint{{Metrics: all, WirePermille: n(940)}}},
		"Ramp": {
			v1alpha1.NFSBenchmarkStatus{
				Summary: &v1alpha1.Summary{P95LatencyMicroseconds: n(5), ThroughputBytesPerSecond: n(1)},
				Steps:   []v1alpha1.StepStatus{step("Users", 4, 40), step("Users", 8, 80)},
			},
			[]runfile.SuitePoint{one("Users=4", 40, true), topped},
		},
		"Calibration": {
			v1alpha1.NFSBenchmarkStatus{Summary: full, Steps: []v1alpha1.StepStatus{step("SmallReads", 8, 80)}},
			[]runfile.SuitePoint{one("SmallReads=8", 80, false)},
		},
	}
	for name, tc := range cases {
		if diff := cmp.Diff(tc.want, points(tc.st)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}
