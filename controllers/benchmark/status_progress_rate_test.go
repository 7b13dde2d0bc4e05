package benchmark

import (
	"testing"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Unknown is not zero: before the load begins there is no throughput to tell.
func TestProgressHasAThroughputWhileThereIsOne(t *testing.T) {
	t.Parallel()
	progress := func(rates ...int64) *v1alpha1.ProgressStatus {
		s := &scope{b: &v1alpha1.NFSBenchmark{}}
		for _, r := range rates {
			s.progress = append(s.progress, runfile.Progress{Event: runfile.Event{Span: "Measure", BytesPerSecond: r}})
		}
		setProgress(s)
		return s.b.Status.Progress
	}
	if p := progress(0, 0); p == nil || p.ThroughputMegabytesPerSecond != nil {
		t.Errorf("nothing is moved, and the progress is %+v", p)
	}
	if p := progress(60_000_000, 57_600_000); p == nil || p.ThroughputMegabytesPerSecond == nil || *p.ThroughputMegabytesPerSecond != 117 {
		t.Errorf("two clients move 117.6 MB/s, and the progress is %+v", p)
	}
	if p := progress(); p != nil {
		t.Errorf("no client has said anything, and the progress is %+v", p)
	}
}
