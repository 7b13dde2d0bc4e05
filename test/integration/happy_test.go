package integration

import (
	"bytes"
	"testing"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

func TestARunComesToItsEnd(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		mods   []gen.Mod
		paths  int
	}{
		"EmbeddedDirect": {"The demo: a server of our own, two paths", []gen.Mod{gen.Embedded("1Gi", 2)}, 2},
		"EmbeddedKernel": {"The server of our own, mounted by the kernel", []gen.Mod{gen.Embedded("1Gi", 1), gen.Kernel}, 0},
		"ExportDirect":   {"An export by two addresses", nil, 2},
		"ExportKernel":   {"An export, mounted by the kernel through a volume of ours", []gen.Mod{gen.Kernel}, 0},
		"ThreeClients":   {"Several clients start together", []gen.Mod{gen.Clients(3)}, 6},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create("demo", tc.mods...)
			b := w.finish("demo")
			w.wantPhase(b, v1alpha1.PhaseSucceeded, "MB/s", "IOPS")
			w.wantCondition(b, v1alpha1.ConditionReady, "True", v1alpha1.ReasonCompleted)
			w.wantCondition(b, v1alpha1.ConditionStorageProvisioned, "True", v1alpha1.ReasonProvisioned)
			w.wantCondition(b, v1alpha1.ConditionProtocolVerified, "True", v1alpha1.ReasonVerified)
			w.wantCondition(b, v1alpha1.ConditionResultsCollected, "True", v1alpha1.ReasonCollected)
			w.wantCondition(b, v1alpha1.ConditionCleanedUp, "True", v1alpha1.ReasonCleanedUp)
			if got := len(b.Status.Paths); got != tc.paths {
				t.Errorf("%s: status shows %d paths, want %d", tc.reason, got, tc.paths)
			}
			if b.Status.Summary.ThroughputMegabytesPerSecond == nil || b.Status.ResultRef == nil {
				t.Errorf("%s: no numbers in %+v", tc.reason, b.Status)
			}
			cm := w.results(b)
			if cm == nil {
				t.Fatal("the result is gone with the clean-up")
			}
			points, err := runfile.ReadSuitePoints(bytes.NewReader(cm.BinaryData[runfile.KeySuitePoints]))
			if err != nil || len(points.Points) != 1 || points.Points[0].Metrics[bench.MetricThroughput] != float64(*b.Status.Summary.ThroughputBytesPerSecond) {
				t.Errorf("numbers for suites %+v, %v; want those of %+v", points, err, b.Status.Summary)
			}
		})
	}
}
