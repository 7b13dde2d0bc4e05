package collect

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/test/metrictable"
)

func TestTheDocumentedLiveMetricsAreThoseThatAreServed(t *testing.T) {
	s, _ := underWay(t)
	if diff := cmp.Diff(metrictable.Read(t, "nfsbench_live_"), metrictable.Described(t, newLiveCollector(s))); diff != "" {
		t.Errorf("docs/observability.md (-) and what is served (+):\n%s", diff)
	}
}
