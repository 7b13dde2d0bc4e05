package benchmark

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/experiments"
	"github.com/nfsbench/nfsbench/test/gen"
)

// statusOf is the status of a run that gave this result, and what was judged.
func statusOf(t *testing.T, r runfile.Result) (v1alpha1.NFSBenchmarkStatus, judge.Judgement) {
	t.Helper()
	s := finishedScope(t, gen.Oracle, gen.Calibrate(1))
	s.result, s.plan = &r, &r.Plan
	s.judgement = new(judge.Judge(*s.result))
	setStatus(s, nil)
	return s.b.Status, *s.judgement
}

// TestTheStatusHasTheTablesOfDNFSVsPNFS as they were printed: what CALIBRATE_IO gave, and
// the averages of V$IOSTAT_FILE, of which those of pNFS cannot be.
func TestTheStatusHasTheTablesOfDNFSVsPNFS(t *testing.T) {
	t.Parallel()
	for _, c := range experiments.Calibrations() {
		st, j := statusOf(t, c.Result())
		told := j.Calibrations
		if len(told) == 0 || *told[len(told)-1].MaxIOPS != c.MaxIOPS || *st.Summary.IOPS != c.MaxIOPS || *told[len(told)-1].ActualLatencyMilliseconds != c.Latency {
			t.Errorf("test %d: %+v, %d IOPS; printed were %d IOPS and %d ms", c.Test, told, *st.Summary.IOPS, c.MaxIOPS, c.Latency)
		}
		if c.MegabytesSecond > 0 && *st.Summary.ThroughputMegabytesPerSecond != c.MegabytesSecond {
			t.Errorf("test %d: %d MB/s, printed were %d", c.Test, *st.Summary.ThroughputMegabytesPerSecond, c.MegabytesSecond)
		}
		if len(j.Database.Files) != len(c.Files) {
			t.Errorf("test %d: %d files, printed were %d", c.Test, len(j.Database.Files), len(c.Files))
		}
		for _, f := range j.Database.Files {
			i := slices.IndexFunc(c.Files, func(p experiments.File) bool { return p.Number == f.Number })
			if i < 0 || *f.SmallReadNanoseconds != c.Files[i].Nanoseconds || *f.SmallSyncReadNanoseconds != c.Files[i].Syncs {
				t.Errorf("test %d, file %d: %d and %d ns", c.Test, f.Number, *f.SmallReadNanoseconds, *f.SmallSyncReadNanoseconds)
			}
		}
		suspect := slices.ContainsFunc(st.Findings, func(f bench.Finding) bool { return f.Code == judge.SuspectLatency })
		if suspect != (c.Version == "pNFS") {
			t.Errorf("test %d, %s: suspect latencies: %v", c.Test, c.Version, suspect)
		}
	}
}

// TestTheStatusProvesTheFourPathsOfDNFSThroughput by the channels, and does not when one
// path is missing.
func TestTheStatusProvesTheFourPathsOfDNFSThroughput(t *testing.T) {
	t.Parallel()
	paths := []string{"192.168.4.100", "192.168.5.100", "192.168.6.100", "192.168.7.100"}
	for n, proven := range map[int]bool{4: true, 3: false} {
		st, j := statusOf(t, experiments.Scan(paths[:n]...))
		if got := meta.IsStatusConditionTrue(st.Conditions, v1alpha1.ConditionProtocolVerified); got != proven {
			t.Errorf("%d of four channels: verified %v: %s", n, got, meta.FindStatusCondition(st.Conditions, v1alpha1.ConditionProtocolVerified).Message)
		}
		if len(j.Database.Channels) != n {
			t.Errorf("%d channels: %+v", n, j.Database.Channels)
		}
	}
}
