package metrics

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/measure"
)

const (
	perMicros      = 1e6 // microseconds per second
	perMille       = 1e3
	perCent        = 1e2
	perTenThousand = 1e4
	megabyte       = 1e6
)

// phaseOf returns the phase of a benchmark; Pending before the operator sets one.
func phaseOf(b *v1alpha1.NFSBenchmark) string {
	return string(cmp.Or(b.Status.Phase, v1alpha1.PhasePending))
}

func exportBenchmark(s sink, b *v1alpha1.NFSBenchmark) {
	protocol := strings.TrimSpace(string(b.Spec.Protocol.Version) + " " + string(b.Spec.Protocol.Client))
	own := []string{
		b.Namespace, b.Name, b.Spec.Workload.Name(), protocol, b.Labels[v1alpha1.LabelSuite], b.Labels[v1alpha1.LabelCell],
	}
	with := func(more ...string) []string { return append(slices.Clip(own), more...) }
	st := b.Status
	s.send("benchmark_info", 1, with(phaseOf(b), string(st.Verdict), string(st.Validity))...)
	if !st.Phase.IsFinished() {
		if q := st.Queue; q != nil && st.Phase == v1alpha1.PhaseQueued {
			s.send("benchmark_queue_position", float64(q.Position), own...)
		}
		if p := st.Progress; p != nil {
			s.send("benchmark_progress_ratio", float64(p.Percent)/perCent, with(p.Step)...)
			sendKnown(s, "benchmark_eta_seconds", p.ETASeconds, 1, own)
			sendKnown(s, "benchmark_live_throughput_bytes_per_second", p.ThroughputMegabytesPerSecond, 1/megabyte, own)
		}
		return
	}
	if t := st.CompletionTime; t != nil {
		s.send("benchmark_completion_timestamp_seconds", float64(t.Unix()), own...)
	}
	if st.Summary != nil {
		exportSummary(s, st.Summary, with)
	}
	for _, q := range st.Capacity {
		exportCapacity(s, q, with)
	}
	for _, n := range st.StorageNodes {
		if n.CPUPermille != nil {
			s.send("benchmark_storage_cpu_ratio", float64(*n.CPUPermille)/perMille, with(n.Name)...)
		}
	}
}

func exportCapacity(s sink, q v1alpha1.CapacityStatus, with func(...string) []string) {
	bound := strconv.FormatFloat(float64(q.Microseconds)/perMicros, 'f', -1, 64)
	for stat, rate := range map[string]int64{"capacity": q.OperationsPerSecond, "low": q.Low, "high": q.High} {
		if rate > 0 { // 0 = not known
			s.send("benchmark_capacity_operations_per_second", float64(rate), with(q.Percentile, bound, stat)...)
		}
	}
}

func exportSummary(s sink, sum *v1alpha1.Summary, with func(...string) []string) {
	numbers := sum.Numbers()
	for _, m := range measure.Metrics() {
		v, ok := numbers[m.Field]
		if !ok {
			continue
		}
		value := float64(v)
		if m.Name != bench.MetricCapacity { // each bound has a series of its own
			var labels []string
			if m.Stat != "" {
				labels = append(labels, m.Stat)
			}
			s.send("benchmark_"+m.Series, value*float64(max(m.Divisor, 1))/m.PerUnit(), with(labels...)...)
		}
		low, high := m.Bounds()
		for stat, field := range map[string]string{"low": low, "high": high} {
			if bound, ok := numbers[field]; ok && value != 0 {
				s.send("benchmark_interval_ratio", float64(bound)/value, with(m.Name, stat)...)
			}
		}
	}
}

// sendKnown exports a value in the base unit; unknown values are omitted.
func sendKnown[T int32 | int64](s sink, name string, value *T, per float64, labels []string) {
	if value != nil {
		s.send(name, float64(*value)/per, labels...)
	}
}
