package metrics

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

const prefix = "nfsbench_"

// descs are the metrics by their name without prefix.
type descs struct {
	byName map[string]*prometheus.Desc
	all    []*prometheus.Desc
}

// metric is one row of docs/observability.md.
type metric struct {
	name, help string
	labels     []string
}

// rows lists all metrics.
func rows() []metric {
	out := []metric{
		{
			"exporter_success", "Whether the objects of a kind could be read, by kind. Absent where no manager leads.",
			[]string{"kind"},
		},
		{"benchmarks", "Benchmarks there are, by phase.", []string{"namespace", "phase"}},
		{
			"benchmarks_omitted", "Benchmarks without other metrics, because there are too many or they are too old.",
			[]string{"reason"},
		},
		{"suites_omitted", "Suites without other metrics, because there are too many.", nil},
	}
	return append(append(append(out, benchmarkRows()...), suiteRows()...), lineRows()...)
}

// benchmarkRows are those of one benchmark.
func benchmarkRows() []metric {
	of := func(more ...string) []string { return append(benchmarkLabels(), more...) }
	return []metric{
		{"benchmark_info", "1, with the phase and the outcome of a benchmark.", of("phase", "verdict", "validity")},
		{"benchmark_throughput_bytes_per_second", "Throughput of both directions, of the median repetition.", of()},
		{"benchmark_iops", "I/Os per second of both directions, of the median repetition.", of()},
		{"benchmark_latency_seconds", "Latency of one I/O, of the median repetition, by mean, p50, p95, p99, p999, max, " +
			"and storage for the mean that the storage measured.", of("stat")},
		{"benchmark_wire_ratio", "Share of what the links can carry that was reached.", of()},
		{"benchmark_client_cpu_ratio", "Busy share of the busiest client node.", of()},
		{"benchmark_storage_cpu_ratio", "Busy share of a storage node in the measured windows.", of("node")},
		{"benchmark_completion_timestamp_seconds", "When a benchmark ended, in seconds since 1970.", of()},
		{"benchmark_progress_ratio", "How far a run under way is.", of("step")},
		{"benchmark_eta_seconds", "Time to the end of a run under way.", of()},
		{
			"benchmark_live_throughput_bytes_per_second",
			"Throughput of the last second of a run under way, all clients.", of(),
		},
		{"benchmark_queue_position", "Place in the queue for a target, from 1.", of()},
	}
}

// suiteRows are those of one suite.
func suiteRows() []metric {
	of := []string{"namespace", "suite"}
	return []metric{
		{
			"suite_info", "1, with where a suite stands and the verdict of its newest finished run.",
			append(of[:2:2], "phase", "verdict", "scheduled"),
		},
		{"suite_planned_benchmarks", "Benchmarks of a run: cells times repetitions.", of},
		{"suite_finished_benchmarks", "Benchmarks of the newest run that have ended.", of},
		{"suite_failed_benchmarks", "Benchmarks of the newest run that did not succeed.", of},
		{"suite_suspect_benchmarks", "Benchmarks of the newest run whose numbers may not be believed.", of},
		{"suite_progress_ratio", "How far the newest run is.", of},
		{"suite_last_run_start_timestamp_seconds", "When the newest run began, in seconds since 1970.", of},
		{"suite_last_run_completion_timestamp_seconds", "When the newest finished run ended, in seconds since 1970.", of},
		{"suite_last_success_timestamp_seconds", "When the newest run that succeeded ended, in seconds since 1970.", of},
		{
			"suite_overdue_timestamp_seconds",
			"When a scheduled suite will have left out two of its times, in seconds since 1970. Absent while it runs or is " +
				"suspended.", of,
		},
		{"suite_regressed", "1 when the newest scheduled run is worse than the accepted one, 0 when it is not.", of},
		{"suite_noise_floor_ratio", "How far the medians of unchanged runs lie apart.", of},
		{"suite_lines_omitted", "Lines of cells and comparisons that are left out, because there are too many.", of},
	}
}

// lineRows are those of the cells of one suite.
func lineRows() []metric {
	cell := []string{"namespace", "suite", "cell", "step"}
	line := append(cell[:4:4], "baseline", "metric")
	return []metric{
		{"suite_cell_throughput_bytes_per_second", "Throughput of a cell in the newest run, by median, low and high: the " +
			"interval that holds the median with 95 %.", append(cell[:4:4], "stat")},
		{
			"suite_cell_iops", "I/Os per second of a cell in the newest run, by median, low and high.",
			append(cell[:4:4], "stat"),
		},
		{"suite_cell_latency_seconds", "Latency of a cell in the newest run, by what was measured, and of that the " +
			"median, low and high.", append(cell[:4:4], "latency", "stat")},
		{
			"suite_comparison_impact_ratio",
			"Difference of a cell to its baseline as a share of it; positive is better, whatever the metric.", append(line[:6:6],
				"outcome"),
		},
		{
			"suite_regression_shift_ratio",
			"Difference of the newest run to the accepted one where it counts; positive is better.", append(cell[:4:4], "metric",
				"outcome"),
		},
	}
}

// benchmarkLabels are those of each metric of a benchmark.
func benchmarkLabels() []string {
	return []string{"namespace", "name", "workload", "protocol", "suite", "cell"}
}

func newDescs() descs {
	d := descs{byName: map[string]*prometheus.Desc{}}
	for _, r := range rows() {
		desc := prometheus.NewDesc(prefix+r.name, r.help, r.labels, nil)
		d.byName[r.name] = desc
		d.all = append(d.all, desc)
	}
	return d
}

// sink sends gauges to one scrape.
type sink struct {
	ch    chan<- prometheus.Metric
	descs descs
	told  map[string]bool
}

// send tells one value, once: what a status holds twice would break the whole
// scrape. A wrong number of labels is a mistake of ours that breaks it too, and
// every test sees that.
func (s sink) send(name string, value float64, labels ...string) {
	key := name + "\x00" + strings.Join(labels, "\x00")
	if s.told[key] {
		return
	}
	s.told[key] = true
	desc, ok := s.descs.byName[name]
	if !ok {
		desc = prometheus.NewInvalidDesc(errUnknown(name))
	}
	m, err := prometheus.NewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	if err != nil {
		m = prometheus.NewInvalidMetric(desc, err)
	}
	s.ch <- m
}

// errUnknown is the name of a metric that rows does not list.
type errUnknown string

// Error implements error.
func (e errUnknown) Error() string { return "no metric " + prefix + string(e) }
