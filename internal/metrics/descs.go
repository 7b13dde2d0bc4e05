package metrics

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

const prefix = "nfsbench_"

// descs holds the metrics by their name without prefix, each a row of docs/observability.md.
type descs map[string]*prometheus.Desc

func newDescs() descs {
	out := descs{}
	// with describes metrics that have some labels in common.
	with := func(common ...string) func(name, help string, more ...string) {
		return func(name, help string, more ...string) {
			out[name] = prometheus.NewDesc(prefix+name, help, slices.Concat(common, more), nil)
		}
	}

	all := with()
	all("exporter_success", "Whether the objects of a kind could be read, by kind. Absent where no manager leads.", "kind")
	all("benchmarks", "Benchmarks there are, by phase.", "namespace", "phase")
	all("benchmarks_omitted", "Benchmarks without other metrics, because there are too many or they are too old.",
		"reason")
	all("suites_omitted", "Suites without other metrics, because there are too many.")

	one := with("namespace", "name", "workload", "protocol", "suite", "cell")
	one("benchmark_info", "1, with the phase and the outcome of a benchmark.", "phase", "verdict", "validity")
	one("benchmark_throughput_bytes_per_second", "Throughput of both directions, of the median repetition.")
	one("benchmark_iops", "I/Os per second of both directions, of the median repetition.")
	one("benchmark_capacity_operations_per_second", "Highest rate of operations whose latency keeps a bound, by the "+
		"percentile and the bound in seconds: the capacity, and low and high of the interval that contains it with 95 %.",
		"percentile", "bound", "stat")
	one("benchmark_latency_seconds", "Latency of one I/O, of the median repetition, by mean, p50, p95, p99, p999, max, "+
		"open_loop_p99, and storage for the mean that the storage measured.", "stat")
	one("benchmark_longest_pause_seconds", "Longest time in which a client had no answer, in all repetitions. 0 if none "+
		"was 100 ms or longer.")
	one("benchmark_wire_ratio", "Share of what the links can carry that was reached.")
	one("benchmark_client_cpu_ratio", "Busy share of the busiest client machine above idle.")
	one("benchmark_client_cpu_seconds_per_mebibyte", "CPU time of the clients' machines above idle for 2^20 bytes.")
	one("benchmark_interval_ratio", "Bounds of the interval of 95 % of a number, low and high, as shares of the number.",
		"metric", "stat")
	one("benchmark_storage_cpu_ratio", "Busy share of a storage node in the measured windows.", "node")
	one("benchmark_completion_timestamp_seconds", "When a benchmark ended, in seconds since 1970.")
	one("benchmark_progress_ratio", "How far a run under way is.", "step")
	one("benchmark_eta_seconds", "Time to the end of a run under way.")
	one("benchmark_live_throughput_bytes_per_second", "Throughput of the last second of a run under way, all clients.")
	one("benchmark_queue_position", "Place in the queue for a target, from 1.")

	suite := with("namespace", "suite")
	suite("suite_info", "1, with where a suite stands and the verdict of its newest finished run.",
		"phase", "verdict", "scheduled")
	suite("suite_planned_benchmarks", "Benchmarks of a run: cells times repetitions.")
	suite("suite_finished_benchmarks", "Benchmarks of the newest run that have ended.")
	suite("suite_failed_benchmarks", "Benchmarks of the newest run that did not succeed.")
	suite("suite_suspect_benchmarks", "Benchmarks of the newest run whose numbers may not be believed.")
	suite("suite_progress_ratio", "How far the newest run is.")
	suite("suite_last_run_start_timestamp_seconds", "When the newest run began, in seconds since 1970.")
	suite("suite_last_run_completion_timestamp_seconds", "When the newest finished run ended, in seconds since 1970.")
	suite("suite_last_success_timestamp_seconds", "When the newest run that succeeded ended, in seconds since 1970.")
	suite("suite_overdue_timestamp_seconds", "When a scheduled suite will have left out two of its times, in seconds "+
		"since 1970. Absent while it runs or is suspended.")
	suite("suite_regressed", "1 when the newest scheduled run is worse than the accepted one, 0 when it is not.")
	suite("suite_noise_floor_ratio", "How far the medians of unchanged runs lie apart.")
	suite("suite_lines_omitted", "Lines of cells and comparisons that are left out, because there are too many.")

	cell := with("namespace", "suite", "cell", "step")
	cell("suite_cell_throughput_bytes_per_second", "Throughput of a cell in the newest run, by median, low and high: the "+
		"interval that holds the median with 95 %.", "stat")
	cell("suite_cell_iops", "I/Os per second of a cell in the newest run, by median, low and high.", "stat")
	cell("suite_cell_capacity_operations_per_second", "Highest rate of operations within the first bound of a search, of "+
		"a cell in the newest run, by median, low and high.", "stat")
	cell("suite_cell_latency_seconds", "Latency of a cell in the newest run, by what was measured, and of that the "+
		"median, low and high.", "latency", "stat")
	cell("suite_cell_longest_pause_seconds", "Longest time in which a client of a cell had no answer in the newest run, "+
		"by median, low and high.", "stat")
	cell("suite_cell_wire_ratio", "Share of the wire limit of a cell in the newest run, by median, low and high.", "stat")
	cell("suite_cell_client_cpu_ratio", "Busy share of the busiest client machine of a cell above idle in the newest "+
		"run, by median, low and high.", "stat")
	cell("suite_cell_client_cpu_seconds_per_mebibyte", "CPU time of the clients' machines above idle for 2^20 bytes of a "+
		"cell in the newest run, by median, low and high.", "stat")
	cell("suite_comparison_impact_ratio", "Difference of a cell to its baseline as a share of it; positive is better, "+
		"whatever the metric.", "baseline", "metric", "outcome")
	cell("suite_regression_shift_ratio", "Difference of the newest run to the accepted one where it counts; positive is "+
		"better.", "metric", "outcome")
	return out
}

// sink sends gauges to one scrape.
type sink struct {
	ch    chan<- prometheus.Metric
	descs descs
	told  map[string]bool
}

// send emits one value, only once: a duplicate in a status would break the whole scrape. A wrong
// number of labels is a programming error that breaks it too; every test detects that.
func (s sink) send(name string, value float64, labels ...string) {
	key := name + "\x00" + strings.Join(labels, "\x00")
	if s.told[key] {
		return
	}
	s.told[key] = true
	desc, ok := s.descs[name]
	if !ok {
		desc = prometheus.NewInvalidDesc(fmt.Errorf("no metric %s%s", prefix, name))
	}
	m, err := prometheus.NewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	if err != nil {
		m = prometheus.NewInvalidMetric(desc, err)
	}
	s.ch <- m
}
