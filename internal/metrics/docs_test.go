package metrics_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/metrics"
	"github.com/nfsbench/nfsbench/test/metrictable"
)

func TestTheDocumentedMetricsAreThoseThatAreExported(t *testing.T) {
	want := metrictable.Read(t, "nfsbench_")
	live := metrictable.Read(t, "nfsbench_live_")
	maps.DeleteFunc(want, func(name string, _ metrictable.Row) bool { _, is := live[name]; return is })
	if diff := cmp.Diff(want, metrictable.Described(t, collector(reader(t), metrics.DefaultLimits()))); diff != "" {
		t.Errorf("docs/observability.md (-) and what is exported (+):\n%s", diff)
	}
}

func TestEveryMetricIsToldOfByTheExamples(t *testing.T) {
	told := scrape(t, collector(reader(t, world()...), metrics.DefaultLimits()))
	for name := range metrictable.Described(t, collector(reader(t), metrics.DefaultLimits())) {
		if told[name[len("nfsbench_"):]] == nil {
			t.Errorf("no example has %s, so no golden file shows it", name)
		}
	}
}
