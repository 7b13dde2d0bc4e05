package gen

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// SuiteMod changes a suite.
type SuiteMod func(*v1alpha1.NFSBenchmarkSuite)

// Suite compares two depths of the benchmark that Benchmark makes, four times each,
// one after the other, with the defaults that the API server would fill in, changed
// by mods in their order.
func Suite(name string, mods ...SuiteMod) *v1alpha1.NFSBenchmarkSuite {
	two, one := int32(2), int32(1)
	s := &v1alpha1.NFSBenchmarkSuite{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "NFSBenchmarkSuite"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "bench"},
		Spec: v1alpha1.NFSBenchmarkSuiteSpec{
			Template: v1alpha1.BenchmarkTemplate{Spec: Benchmark("template").Spec},
			Axes: []v1alpha1.Axis{{Name: "depth", Values: []v1alpha1.AxisValue{
				{Name: "low", Patch: raw(`{"workload":{"raw":{"depth":1}}}`)},
				{Name: "high", Patch: raw(`{"workload":{"raw":{"depth":8}}}`)},
			}}},
			Repetitions: 4, Order: v1alpha1.OrderInterleaved, Blocks: v1alpha1.BlocksABBA, Retries: &one,
			Compare: &v1alpha1.Compare{
				Significance: v1alpha1.Significance{
					Metrics: []v1alpha1.Metric{v1alpha1.MetricThroughput}, Alpha: "0.05", MinimumEffectPercent: &two, Correction: v1alpha1.CorrectionHolm,
				},
				Baseline: map[string]v1alpha1.ShortName{"depth": "low"}, ImpactOf: v1alpha1.DenominatorBaseline,
			},
		},
	}
	for _, m := range mods {
		m(s)
	}
	return s
}

func raw(patch string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(patch)} }

// Scheduled runs a suite by the clock, and keeps so many runs.
func Scheduled(cron string, historyLimit int32) SuiteMod {
	return func(s *v1alpha1.NFSBenchmarkSuite) {
		s.Spec.Schedule = &v1alpha1.Schedule{Cron: cron, TimeZone: "Etc/UTC", ConcurrencyPolicy: "Forbid", HistoryLimit: historyLimit}
	}
}
