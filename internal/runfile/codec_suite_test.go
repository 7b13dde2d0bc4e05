package runfile

import (
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
)

// fullSuiteRun sets every field.
func fullSuiteRun() SuiteRun {
	t0 := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	counts := SuiteSignificance{Metrics: []string{bench.MetricThroughput}, Alpha: 0.05, MinimumEffect: 0.02, Correction: "Holm"}
	return SuiteRun{
		Version: SuiteRunVersion, Suite: "paths", Namespace: "bench", Run: "paths-0a1b2c3d", Started: t0, Ended: t0.Add(time.Hour),
		Workflow: "paths-0a1b2c3d-2", Phase: "Failed", Reason: "BenchmarkFailed", Message: "1 of 2 failed", Retried: 1,
		Settings: SuiteSettings{
			Repetitions: 2, Order: "Interleaved", Blocks: "ABBA", Seed: 7, Regression: &counts,
			Compare: &SuiteCompare{SuiteSignificance: counts, Baseline: map[string]string{"path": "local"}, ImpactOf: "Baseline"},
		},
		Cells: []SuiteCell{{Name: "local", Values: []SuiteAxis{{Axis: "path", Value: "local"}}}},
		Results: []SuiteResult{{
			Cell: "local", Repetition: 1, Position: 2, Attempt: 1, Benchmark: "b", Phase: "Failed", Verdict: "Fail", Validity: "Suspect",
			Reason: "PodLost", Message: "gone", Findings: []string{"ShortWindow"}, Started: t0, Ended: t0.Add(time.Minute),
			Points: []SuitePoint{{Step: "Users=8", Metrics: map[string]float64{bench.MetricThroughput: 1e9}, Intervals: map[string]SuiteInterval{bench.MetricThroughput: {Low: 0.9e9, High: 1.1e9}}, WirePercent: new(94.0), Knee: true}},
		}},
		Simulated: true,
	}
}
