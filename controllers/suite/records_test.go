package suite

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// What a suite is compared by, now or by a later run, is left out last.
func TestASmallRecordKeepsWhatIsCompared(t *testing.T) {
	t.Parallel()
	metrics := map[string]float64{}
	for _, m := range []string{
		bench.MetricThroughput, bench.MetricIOPS, bench.MetricMeanLatency, bench.MetricP50Latency, bench.MetricP99Latency, bench.MetricClientCPU,
	} {
		metrics[m] = 1
	}
	f := runfile.SuiteRun{Results: []runfile.SuiteResult{{Points: []runfile.SuitePoint{{Metrics: metrics}}}}}
	always := []string{bench.MetricMeanLatency, bench.MetricThroughput}
	for _, c := range []struct {
		reason     string
		compare    *runfile.SuiteCompare
		regression *runfile.SuiteSignificance
		want       []string
	}{
		{"nothing is said", nil, nil, always},
		{"cells are compared", &runfile.SuiteCompare{SuiteSignificance: runfile.SuiteSignificance{Metrics: []string{bench.MetricIOPS}}}, nil, append([]string{bench.MetricIOPS}, always...)},
		{"runs are compared", nil, &runfile.SuiteSignificance{Metrics: []string{bench.MetricP99Latency}}, append([]string{bench.MetricP99Latency}, always...)},
	} {
		f.Settings.Compare, f.Settings.Regression = c.compare, c.regression
		got := slices.Sorted(maps.Keys(comparedOnly(f).Results[0].Points[0].Metrics))
		if diff := cmp.Diff(slices.Sorted(slices.Values(c.want)), got); diff != "" {
			t.Errorf("%s:\n%s", c.reason, diff)
		}
	}
	if len(metrics) != 6 {
		t.Error("the record of the pass is changed")
	}
}
