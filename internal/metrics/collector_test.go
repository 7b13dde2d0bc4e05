package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/metrics"
	"github.com/nfsbench/nfsbench/test/gen"
	"github.com/nfsbench/nfsbench/test/kit/golden"
)

// now is the moment of all scrapes.
func now() time.Time { return time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC) }

func ago(d time.Duration) *metav1.Time { return &metav1.Time{Time: now().Add(-d)} }

func reader(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}

func collector(r client.Reader, limits metrics.Limits) *metrics.Collector {
	return metrics.NewCollector(r, testclock.NewFakePassiveClock(now()), limits, nil)
}

// scrape is what Prometheus gets, family by family. A registry that is pedantic
// refuses what Describe does not announce.
func scrape(t *testing.T, c prometheus.Collector) map[string]*dto.MetricFamily {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*dto.MetricFamily{}
	for _, f := range families {
		out[strings.TrimPrefix(f.GetName(), "nfsbench_")] = f
	}
	return out
}

// text is a scrape as Prometheus reads it.
func text(t *testing.T, c prometheus.Collector) string {
	t.Helper()
	var out strings.Builder
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&out, f); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

// values are those of one metric by one of its labels.
func values(f *dto.MetricFamily, label string) map[string]float64 {
	out := map[string]float64{}
	for _, m := range f.GetMetric() {
		key := ""
		for _, l := range m.GetLabel() {
			if l.GetName() == label {
				key = l.GetValue()
			}
		}
		out[key] = m.GetGauge().GetValue()
	}
	return out
}

// ended is a benchmark that succeeded some time ago, with numbers.
func ended(name string, since time.Duration, mods ...gen.Mod) *v1alpha1.NFSBenchmark {
	b := gen.Benchmark(name, mods...)
	b.CreationTimestamp = *ago(since + time.Minute)
	b.Status = v1alpha1.NFSBenchmarkStatus{
		Phase: v1alpha1.PhaseSucceeded, Verdict: bench.VerdictPass, Validity: bench.ValidityValid,
		CompletionTime: ago(since),
		Summary: &v1alpha1.Summary{
			ThroughputBytesPerSecond: new(int64(117_000_000)), IOPS: new(int64(14_250)),
			MeanLatencyMicroseconds: new(int64(360)), P99LatencyMicroseconds: new(int64(1_200)),
			StorageMeanLatencyMicroseconds: new(int64(250)), WirePercent: new(int32(99)), ClientCPUPermille: new(int32(431)),
			ClientCPUMicrosecondsPerMiB: new(int64(380)), OpenLoopP99LatencyMicroseconds: new(int64(1_300)), LongestPauseMicroseconds: new(int64(12_500_000)),
			Intervals: &v1alpha1.SummaryIntervals{ThroughputLowBytesPerSecond: new(int64(115_830_000)), ThroughputHighBytesPerSecond: new(int64(118_170_000))},
		},
		StorageNodes: []v1alpha1.StorageNodeStatus{{Name: "fas-a", CPUPermille: new(int32(320))}, {Name: "fas-b"}},
	}
	return b
}

// withCapacity sets a capacity that was reached for one bound, and only a lower limit for the other.
func withCapacity(b *v1alpha1.NFSBenchmark) *v1alpha1.NFSBenchmark {
	b.Status.Capacity = []v1alpha1.CapacityStatus{
		{Percentile: "p99", Microseconds: 1000, OperationsPerSecond: 41_200, Low: 40_500, High: 41_900, Reached: true},
		{Percentile: "p999", Microseconds: 5_000_000, OperationsPerSecond: 64_000},
	}
	return b
}

func running(name string) *v1alpha1.NFSBenchmark {
	b := gen.Benchmark(name)
	b.Status = v1alpha1.NFSBenchmarkStatus{Phase: v1alpha1.PhaseRunning, Progress: &v1alpha1.ProgressStatus{
		Step: "Measure", Percent: 47, ETASeconds: new(int64(95)), ThroughputMegabytesPerSecond: new(int64(236)),
	}}
	return b
}

func waiting(name string, position int32) *v1alpha1.NFSBenchmark {
	b := gen.Benchmark(name)
	b.Status = v1alpha1.NFSBenchmarkStatus{Phase: v1alpha1.PhaseQueued, Queue: &v1alpha1.QueueStatus{Position: position, Behind: "bench/r"}}
	return b
}

func ofSuite(suite, cell string) gen.Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		b.Labels = map[string]string{v1alpha1.LabelSuite: suite, v1alpha1.LabelCell: cell}
	}
}

func slob(b *v1alpha1.NFSBenchmark) {
	b.Spec.Workload = bench.Workload{SLOB: &bench.SLOBWorkload{Access: bench.SLOBRandomRead}}
}

// world is one of each, for the golden file and for promtool.
func world() []client.Object {
	failed := ended("broken", 2*time.Hour)
	failed.Status.Phase, failed.Status.Verdict, failed.Status.Validity = v1alpha1.PhaseFailed, bench.VerdictNotEvaluated, ""
	failed.Status.Summary, failed.Status.StorageNodes = nil, nil
	fresh := gen.Benchmark("fresh")
	return []client.Object{
		withCapacity(ended("read", time.Hour)), ended("nightly-nfs-u8-r1-0", 3*time.Hour, slob, ofSuite("nightly", "nfs-u8")),
		failed, running("under-way"), waiting("next", 1), fresh, suite(),
	}
}

func TestAScrapeOfOneOfEach(t *testing.T) {
	golden.Compare(t, filepath.Join("testdata", "scrape.golden.txt"), []byte(text(t, collector(reader(t, world()...), metrics.DefaultLimits()))))
}

func TestPromtoolFindsNothingWrong(t *testing.T) {
	promtool := filepath.Join(os.Getenv("NFSBENCH_MONITORS"), "promtool")
	if os.Getenv("NFSBENCH_MONITORS") == "" {
		t.Skip("NFSBENCH_MONITORS is not set; try: export NFSBENCH_MONITORS=$(hack/lab/monitors.sh)")
	}
	check := func(scrape string) string {
		cmd := exec.CommandContext(t.Context(), promtool, "check", "metrics")
		cmd.Stdin = strings.NewReader(scrape)
		out, err := cmd.CombinedOutput()
		if err != nil && len(out) == 0 {
			t.Fatal(err)
		}
		return string(out)
	}
	if out := check(text(t, collector(reader(t, world()...), metrics.DefaultLimits()))); out != "" {
		t.Error(out)
	}
	if out := check("# HELP nfsbench_x_milliseconds x.\n# TYPE nfsbench_x_milliseconds gauge\nnfsbench_x_milliseconds 1\n"); !strings.Contains(out, "base unit") {
		t.Errorf("promtool finds nothing wrong with milliseconds: %q", out)
	}
}

func TestNothingButTheNewestIsToldOf(t *testing.T) {
	var objects []client.Object
	for i := range 7 {
		objects = append(objects, ended(fmt.Sprintf("b%d", i), time.Duration(i)*time.Hour))
	}
	objects = append(objects, ended("old", 15*24*time.Hour), ended("older", 400*24*time.Hour), running("r1"), running("r2"))
	limits := metrics.DefaultLimits()
	limits.Benchmarks = 3
	got := scrape(t, collector(reader(t, objects...), limits))

	want := map[string]float64{"b0": 117e6, "b1": 117e6, "b2": 117e6}
	if diff := cmp.Diff(want, values(got["benchmark_throughput_bytes_per_second"], "name")); diff != "" {
		t.Errorf("told of (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]float64{"limit": 4, "age": 2}, values(got["benchmarks_omitted"], "reason")); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]float64{"r1": 0.47, "r2": 0.47}, values(got["benchmark_progress_ratio"], "name")); diff != "" {
		t.Errorf("those under way have a limit of their own (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]float64{"Succeeded": 9, "Running": 2}, values(got["benchmarks"], "phase")); diff != "" {
		t.Errorf("all are counted (-want +got):\n%s", diff)
	}
}

func TestTheLimitHoldsForThoseUnderWayToo(t *testing.T) {
	limits := metrics.DefaultLimits()
	limits.Benchmarks = 2
	got := scrape(t, collector(reader(t, running("a"), running("b"), running("c"), ended("d", time.Hour)), limits))
	if n := len(got["benchmark_info"].GetMetric()); n != 3 {
		t.Errorf("%d are told of, want two under way and one ended", n)
	}
	if got := values(got["benchmarks_omitted"], "reason")["limit"]; got != 1 {
		t.Errorf("%v are left out, want 1", got)
	}
}

// TestOneNamespaceHidesNoOther: 200 benchmarks that fail at once took the place of everybody else's.
func TestOneNamespaceHidesNoOther(t *testing.T) {
	var objects []client.Object
	for i := range 3 {
		name := fmt.Sprintf("new%d", i)
		s := suite()
		s.Namespace, s.Name, s.Status.Run.StartTime = "many", name, ago(0)
		objects = append(objects, s, ended(name, time.Minute, gen.In("many")), running(name+"r"))
		objects[len(objects)-1].SetNamespace("many")
		objects[len(objects)-1].SetCreationTimestamp(*ago(0))
	}
	theirs := suite()
	theirs.Namespace, theirs.Name, theirs.Status.Run.StartTime = "few", "old", ago(time.Hour)
	objects = append(objects, theirs, ended("old", time.Hour, gen.In("few")), running("oldr"))
	objects[len(objects)-1].SetNamespace("few")
	limits := metrics.DefaultLimits()
	limits.Benchmarks, limits.Suites = 2, 2
	got := scrape(t, collector(reader(t, objects...), limits))
	if diff := cmp.Diff(map[string]float64{"new0": 1, "old": 1, "new0r": 1, "oldr": 1}, values(got["benchmark_info"], "name")); diff != "" {
		t.Errorf("benchmarks (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]float64{"new0": 1, "old": 1}, values(got["suite_info"], "suite")); diff != "" {
		t.Errorf("suites (-want +got):\n%s", diff)
	}
}

func TestWhatWasDeletedIsGone(t *testing.T) {
	c := reader(t, ended("a", time.Hour), ended("b", time.Hour))
	under := collector(c, metrics.DefaultLimits())
	if n := len(scrape(t, under)["benchmark_info"].GetMetric()); n != 2 {
		t.Fatalf("%d are told of", n)
	}
	if err := c.Delete(t.Context(), ended("a", time.Hour)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]float64{"b": 1}, values(scrape(t, under)["benchmark_info"], "name")); diff != "" {
		t.Errorf("after a was deleted (-want +got):\n%s", diff)
	}
}

func TestOnlyTheLeaderTells(t *testing.T) {
	leads := make(chan struct{})
	c := metrics.NewCollector(reader(t, ended("a", time.Hour)), testclock.NewFakePassiveClock(now()), metrics.DefaultLimits(), leads)
	if got := scrape(t, c); len(got) != 0 {
		t.Errorf("one that does not lead tells %v", got)
	}
	close(leads)
	if got := scrape(t, c); len(got["benchmark_info"].GetMetric()) != 1 {
		t.Errorf("the leader tells %v", got)
	}
}

// away fails to list one kind.
type away struct {
	client.Reader
	suites bool
}

func (a away) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, isSuites := list.(*v1alpha1.NFSBenchmarkSuiteList); isSuites == a.suites {
		return errors.New("away")
	}
	return a.Reader.List(ctx, list, opts...)
}

func TestAKindThatCannotBeReadHidesNoOther(t *testing.T) {
	got := scrape(t, collector(away{reader(t, ended("a", time.Hour)), true}, metrics.DefaultLimits()))
	if diff := cmp.Diff(map[string]float64{"NFSBenchmark": 1, "NFSBenchmarkSuite": 0}, values(got["exporter_success"], "kind")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(got["benchmark_info"].GetMetric()) != 1 {
		t.Error("the benchmarks are not told of")
	}
	got = scrape(t, collector(away{reader(t), false}, metrics.DefaultLimits()))
	if got := values(got["exporter_success"], "kind")["NFSBenchmark"]; got != 0 {
		t.Errorf("benchmarks: success %v", got)
	}
}

func TestSuitesThatAreNotWantedAreNotRead(t *testing.T) {
	limits := metrics.DefaultLimits()
	limits.Suites = 0
	got := scrape(t, collector(away{reader(t), true}, limits))
	if _, told := values(got["exporter_success"], "kind")["NFSBenchmarkSuite"]; told {
		t.Error("suites are told of")
	}
}

func TestWhatIsNotKnownIsNotTold(t *testing.T) {
	b := ended("a", time.Hour)
	b.Status.Summary = &v1alpha1.Summary{IOPS: new(int64(0))}
	got := scrape(t, collector(reader(t, b), metrics.DefaultLimits()))
	if f := got["benchmark_iops"]; f == nil || f.GetMetric()[0].GetGauge().GetValue() != 0 {
		t.Error("a zero that was measured is not told")
	}
	for _, name := range []string{"benchmark_throughput_bytes_per_second", "benchmark_latency_seconds", "benchmark_wire_ratio"} {
		if got[name] != nil {
			t.Errorf("%s is told and not known", name)
		}
	}
}
