package suite

import (
	"fmt"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// points are the numbers that a benchmark's status holds: one for each level of
// load where there are several, otherwise one. What is not known is absent.
func points(st v1alpha1.NFSBenchmarkStatus) []runfile.SuitePoint {
	if len(st.Steps) == 0 {
		if st.Summary == nil {
			return nil
		}
		p := runfile.SuitePoint{Metrics: summaryMetrics(*st.Summary), WirePermille: permille(st.Summary.WirePercent)}
		if len(p.Metrics) == 0 {
			return nil
		}
		return []runfile.SuitePoint{p}
	}
	var out []runfile.SuitePoint
	most := mostUsers(st.Steps)
	for i, step := range st.Steps {
		p := stepPoint(step)
		if i == most && st.Summary != nil { // the summary describes this step in more detail
			more := summaryMetrics(*st.Summary)
			maps.Copy(more, p.Metrics)
			p.Metrics = more
		}
		out = append(out, p)
	}
	return out
}

// mostUsers is the index of the step that the summary of a ramp describes, or -1.
func mostUsers(steps []v1alpha1.StepStatus) int {
	best := -1
	for i, s := range steps {
		if s.Kind == runfile.StepUsers && (best < 0 || s.Users > steps[best].Users) {
			best = i
		}
	}
	return best
}

func stepPoint(s v1alpha1.StepStatus) runfile.SuitePoint {
	return runfile.SuitePoint{
		Step: fmt.Sprintf("%s=%d", s.Kind, s.Users),
		Metrics: known(map[string]*int64{
			runfile.MetricThroughput: s.ThroughputBytesPerSecond, runfile.MetricIOPS: s.IOPS,
			runfile.MetricMeanLatency: s.MeanLatencyMicroseconds, runfile.MetricP99Latency: s.P99LatencyMicroseconds,
		}),
		WirePermille: permille(s.WirePercent), Knee: s.Knee,
	}
}

func summaryMetrics(s v1alpha1.Summary) map[string]float64 {
	return known(map[string]*int64{
		runfile.MetricThroughput: s.ThroughputBytesPerSecond, runfile.MetricIOPS: s.IOPS,
		runfile.MetricMeanLatency: s.MeanLatencyMicroseconds, runfile.MetricP50Latency: s.P50LatencyMicroseconds,
		runfile.MetricP95Latency: s.P95LatencyMicroseconds, runfile.MetricP99Latency: s.P99LatencyMicroseconds,
		runfile.MetricStorageLatency: s.StorageMeanLatencyMicroseconds, runfile.MetricClientCPU: s.ClientCPUMicrosecondsPerMebibyte,
	})
}

func known(all map[string]*int64) map[string]float64 {
	out := map[string]float64{}
	for name, v := range all {
		if v != nil {
			out[name] = float64(*v)
		}
	}
	return out
}

func permille(percent *int32) *int64 {
	if percent == nil {
		return nil
	}
	return new(int64(*percent) * 10)
}

func timeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}
