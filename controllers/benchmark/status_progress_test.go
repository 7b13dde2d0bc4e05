package benchmark

import (
	"testing"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

func TestProgressIsToldInTheRepetitionsOfTheSpec(t *testing.T) {
	t.Parallel()
	ramp := &runfile.Plan{Workload: bench.Workload{SLOB: &bench.SLOBWorkload{Users: []int32{1, 4, 16}}}}
	calibrate := &runfile.Plan{Workload: bench.Workload{Calibrate: &bench.CalibrateWorkload{WarmupRuns: new(int32(1))}}, Database: &runfile.Database{}}
	native := &runfile.Plan{Workload: bench.Workload{Calibrate: &bench.CalibrateWorkload{WarmupRuns: new(int32(1))}}}
	cases := map[string]struct {
		plan       *runfile.Plan
		index      int32
		repetition int32
		want       string
	}{
		"first level":   {ramp, 1, 1, "Measure 1 with 1 user, 40 %"},
		"last of one":   {ramp, 3, 1, "Measure 1 with 16 users, 40 %"},
		"next round":    {ramp, 5, 2, "Measure 2 with 4 users, 40 %"},
		"warm-up":       {calibrate, 1, 0, "Measure, warm-up run, 40 %"},
		"calibration":   {calibrate, 3, 2, "Measure 2, 40 %"},
		"own levels":    {native, 7, 0, "Measure, level 7, 40 %"},
		"raw":           {&runfile.Plan{}, 2, 2, "Measure 2, 40 %"},
		"none":          {ramp, 0, 0, "Measure, 40 %"},
		"of a bad pod":  {ramp, -5, 0, "Measure, 40 %"},
		"plan not read": {nil, 2, 2, "Measure 2, 40 %"},
	}
	for name, tc := range cases {
		all := []runfile.Progress{{Event: runfile.Event{Span: "Measure", Repetition: tc.index, Percent: 40}}}
		if got := progressMessage(tc.plan, all); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
		if got, _ := levelOf(tc.plan, tc.index); got != tc.repetition {
			t.Errorf("%s: repetition %d, want %d", name, got, tc.repetition)
		}
	}
}

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
