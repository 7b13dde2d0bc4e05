package report

import (
	"bytes"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
)

var update = flag.Bool("update", false, "rewrite the golden files")

//go:fix inline

func result() runfile.Result {
	return runfile.Result{Plan: runfile.Plan{
		Run: runfile.Identity{Namespace: "bench", Name: "demo"}, Clients: 1,
		Engine:   runfile.Engine{Client: bench.ClientDirectNFS, NFSVersion: "NFSv3"},
		Workload: bench.Workload{Raw: &bench.RawWorkload{Pattern: bench.PatternRead, BlockSize: bench.Bytes(1 << 20), FileSize: *bench.Bytes(4 << 30), Jobs: 4, Depth: 8}},
		Schedule: runfile.Schedule{DurationSeconds: 60, Repetitions: 3},
	}}
}

func judged() judge.Judgement {
	Latency := &stats.Latency{Count: 127_500, MeanMicroseconds: 14_481, P50Microseconds: 13_999, P95Microseconds: 18_100, P99Microseconds: 19_007, P999Microseconds: 41_343, MaxMicroseconds: 1_204_223}
	read := measure.Direction{Ops: 127_500, Bytes: 127_500 << 20, BytesPerSecond: 2_228_224_000, OperationsPerSecond: 2125, Latency: Latency, WirePermille: new(measure.Permille(900))}
	read.Intervals = measure.Intervals{
		BytesPerSecond:      &measure.Interval{Low: 2_221_000_000, High: 2_235_000_000},
		OperationsPerSecond: &measure.Interval{Low: 2118, High: 2132},
		MeanMicroseconds:    &measure.Interval{Low: 14_390, High: 14_570},
		P99Microseconds:     &measure.Interval{Low: 18_600, High: 19_500},
	}
	s := measure.Summary{
		OpenLoopP99Microseconds: new(int64(20_400)),
		Repetition:              2, Clients: 1, DurationMilliseconds: 60_000, Read: &read, Total: read, WirePermille: new(measure.Permille(900)),
		Paths: []measure.PathShare{
			{Local: "10.0.1.5", Path: "10.0.1.61", State: "Up", BytesRead: 63_750 << 20, BytesPerSecond: 1_114_112_000, SharePermille: 500},
			{Local: "10.0.2.5", Path: "10.0.2.61", State: "Up", BytesRead: 63_750 << 20, BytesPerSecond: 1_114_112_000, SharePermille: 500},
		},
		ClientCPU:    measure.ClientCPU{Millicores: 1100, MicrosecondsPerMiB: new(int64(517)), BusiestNodePermille: new(int32(400)), BusiestLimitPermille: new(int32(275)), CeilingPerSecond: new(int64(6800))},
		StorageNodes: []measure.StorageNode{{Source: "array", Name: "n1", CPUPermille: new(int32(300))}, {Source: "array", Name: "n2"}},
	}
	j := judge.Judgement{
		Facts: measure.Of(result()),
		Answer: judge.Answer{
			Limit:  "nothing that was counted was full: each I/O took 14.5 ms with 32 outstanding, and more depth or jobs may give more",
			Enough: "yes (asked: at least 2000.0 MB/s throughput)",
			Trust:  "yes, nothing speaks against the numbers",
		},
		Verdict: bench.VerdictPass, Validity: bench.ValidityValid, Summary: &s, Repetitions: []measure.Summary{s, s, s}, VariationPermille: new(measure.Permille(4)),
		Wire:     &measure.WireLimit{Source: measure.Declared, Arithmetic: "2 x 10 Gbit/s / 8 x 8948/9038 (MTU 9000) x 1048576/1048708 (RPC) = 2474.8 MB/s per direction"},
		Protocol: judge.Evidence{Verified: new(true), Observed: "DirectNFS NFSv3 over 2 of 2 paths", Message: "100.0 % of the load went over 2 Direct NFS channels with NFSv3."},
	}
	for i := range 60 {
		v := int64(2.2e9 + 2e8*math.Sin(float64(i)/6))
		if i == 40 {
			v = 1e9
		}
		j.Series = append(j.Series, measure.SeriesPoint{Second: float64(i + 1), ReadBytesPerSecond: v})
	}
	return j
}

func withFindings() judge.Judgement {
	j := judged()
	j.Facts.Simulated = true
	j.Verdict, j.Validity, j.Wire = bench.VerdictFail, bench.ValiditySuspect, nil
	j.Answer.Enough, j.Answer.Trust = "no (2228.2 MB/s instead of at least 2400.0 MB/s throughput)", "limited, a path carried nothing"
	j.Summary.WirePermille = nil
	j.Summary.Paths[1] = measure.PathShare{Local: "10.0.2.5", Path: "10.0.2.61", State: "Missing"}
	j.Protocol = judge.Evidence{Verified: new(false), Observed: "DirectNFS NFSv3 over 1 of 2 paths", Message: "1 of 2 declared paths are not connected: 10.0.2.5 -> 10.0.2.61 (Missing)."}
	j.Findings = []bench.Finding{
		{Code: judge.ExpectationMissed, Severity: bench.SeverityError, Message: "Expected at least 2400.0 MB/s throughput and got 2228.2 MB/s."},
		{Code: judge.PathUnused, Severity: bench.SeverityWarning, Message: "1 of 2 paths carried nothing, or next to nothing: 10.0.2.5 -> 10.0.2.61 (Missing). Check the LIF, the route and the local address; on Linux each path needs a subnet of its own."},
		{Code: judge.SimulatedStorage, Severity: bench.SeverityInfo, Message: "A stand-in took part."},
		{Code: judge.CacheSuspected, Severity: bench.SeverityInfo, Message: "Half of the reads took less than 120 µs."},
	}
	return j
}

func copied() judge.Judgement {
	j := judged()
	j.Facts.Plan.Workload.Raw.Pattern = bench.PatternCopy
	write := *j.Summary.Read
	j.Summary.Write = &write
	j.Summary.Total.OperationsPerSecond = 4250
	j.Summary.WakeUps = &runfile.WakeUps{Count: 60_000, P50Microseconds: 21, P95Microseconds: 64, P99Microseconds: 190, P999Microseconds: 1815, MaxMicroseconds: 3630}
	return j
}

func lost() judge.Judgement {
	j := judged()
	j.Validity, j.Answer.Trust = bench.ValiditySuspect, "limited, a path was down for a part of the time"
	j.Summary.Paths[0].DownMilliseconds, j.Summary.Paths[0].Reconnects = 8240, 3
	j.Findings = []bench.Finding{{Code: judge.ChannelLost, Severity: bench.SeverityWarning, Message: "Path 10.0.1.5 -> 10.0.1.61 was down for 8.2 s of 180.0 s that were measured (4.5 %), in repetition 2."}}
	return j
}

// paused is a run in which the client had no answer for a while.
func paused() judge.Judgement {
	j := judged()
	j.Summary.LongestPauseMicroseconds = new(int64(12_500_000))
	j.Findings = []bench.Finding{{Code: judge.Paused, Severity: bench.SeverityWarning, Message: "Client 0 had no answer for 12.5 s."}}
	return j
}

// indirect is a run through the wrong LIF, with everything that an array reports.
func indirect() judge.Judgement {
	j := judged()
	s := j.Summary
	s.Paths = []measure.PathShare{{Path: "10.0.2.61", State: "Up", BytesRead: 127_500 << 20, BytesPerSecond: 2_228_224_000, SharePermille: 1000}}
	s.StorageNodes = []measure.StorageNode{
		{Source: "array", Name: "fas-a", Owner: true, CPUPermille: new(int32(330)), BaselineCPUPermille: new(int32(20))},
		{Source: "array", Name: "fas-b", Entry: true, CPUPermille: new(int32(350)), BaselineCPUPermille: new(int32(10))},
	}
	s.StoragePaths = []measure.StoragePath{
		{Source: "array", Address: "10.0.1.61", LIF: "lif1", Node: "fas-a", Local: new(true), ReadBytes: new(int64(0)), WriteBytes: new(int64(0))},
		{Source: "array", Address: "10.0.2.61", LIF: "lif2", Node: "fas-b", Local: new(false), ReadBytes: new(int64(127_500 << 20)), WriteBytes: new(int64(0))},
		{Source: "array", Address: "10.0.3.61"},
	}
	s.Storage = measure.StorageLoad{OperationsPerSecond: new(int64(2125)), BytesPerSecond: new(int64(2_228_224_000)), MeanLatencyMicroseconds: new(int64(9_000)), LatencyLayer: measure.LayerVolume}
	s.CollectorCPUPermille = new(int32(5))
	j.Findings = []bench.Finding{{Code: judge.IndirectPath, Severity: bench.SeverityWarning, Message: "Path 10.0.2.61 (lif2) is indirect: node fas-a owns volume ora1, and node fas-b is busy 35.0 % (1.0 % while idle)."}}
	return j
}

// redirected is pNFS by the wrong LIF: metadata at one node, data at the other.
func redirected() judge.Judgement {
	j := judged()
	j.Facts.Plan.Engine.NFSVersion = bench.PNFS
	s := j.Summary
	s.Paths = []measure.PathShare{
		{Path: "10.0.2.61", State: "Up", Replies: 40, LIF: "lif2", Node: "fas-b"},
		{Path: "10.0.1.61", State: "Up", Role: bench.PathDataServer, BytesRead: 127_500 << 20, BytesPerSecond: 2_228_224_000, SharePermille: 1000, Replies: 127_500, LIF: "lif1", Node: "fas-a"},
	}
	s.Servers = []runfile.NFSServer{
		{
			ID: 1, Role: bench.PathMetadata, NFSVersion: "NFSv4.1", Addresses: []string{"10.0.2.61"}, Owner: "svm1", OwnerMinor: "1", Scope: "c1",
			Slots: 180, Sessions: 1, LeaseSeconds: 30, LayoutType: runfile.LayoutTypeFiles, LayoutsGranted: 4, LayoutFallbacks: 12,
		},
		{
			ID: 2, Role: bench.PathDataServer, NFSVersion: "NFSv4.1", Addresses: []string{"10.0.1.61", "10.0.3.61"}, Trunking: bench.TrunkingSession,
			Slots: 180, Sessions: 1, Recoveries: 2, RecoveryMilliseconds: 1500,
		},
	}
	j.Protocol = judge.Evidence{Verified: new(true), Observed: "DirectNFS pNFS over 1 path and 1 data server", Message: "100.0 % of the load went over Direct NFS channels with NFSv4.1, and 100.0 % of that by layouts to 1 data server. Metadata went to node fas-b, and data to node fas-a."}
	return j
}

func nothing() judge.Judgement {
	return judge.Judgement{
		Facts:   measure.Of(result()),
		Verdict: bench.VerdictInconclusive, Validity: bench.ValiditySuspect,
		Protocol: judge.Evidence{Message: "Nothing was measured, so no protocol was seen under load."},
		Findings: []bench.Finding{{Code: judge.Partial, Severity: bench.SeverityError, Message: "Client 0 ended with ServerUnreachable: 10.0.1.61 port 111 did not answer within 30 s; check the LIF and the network policy."}},
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		page    func() judge.Judgement
		options Options
	}{
		"good":           {judged, Options{}},
		"color":          {judged, Options{Color: true, Width: 100}},
		"ascii":          {withFindings, Options{ASCII: true}},
		"findings":       {withFindings, Options{}},
		"copy":           {copied, Options{Width: 100}},
		"nothing":        {nothing, Options{}},
		"indirect":       {indirect, Options{}},
		"indirect-color": {indirect, Options{Color: true, Width: 60}},
		"lost":           {lost, Options{}},
		"paused":         {paused, Options{}},
		"redirected":     {redirected, Options{}},
		"narrow":         {withFindings, Options{Width: 20}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := c.page()
			var b bytes.Buffer
			if err := Text(&b, j, c.options); err != nil {
				t.Fatal(err)
			}
			golden(t, name+".golden", b.String())
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-file +page); run go test ./internal/report -update if that is meant:\n%s", file, diff)
	}
}

func TestASCIIModeWritesNothingElse(t *testing.T) {
	t.Parallel()
	for _, page := range []func() judge.Judgement{withFindings, copied, nothing, indirect, longNames} {
		j := page()
		var b bytes.Buffer
		if err := Text(&b, j, Options{ASCII: true}); err != nil {
			t.Fatal(err)
		}
		for _, c := range b.String() {
			if c > 126 || (c < 32 && c != '\n') {
				t.Fatalf("%q in\n%s", c, b.String())
			}
		}
	}
}

func TestLinesFitTheWidth(t *testing.T) {
	t.Parallel()
	for _, width := range []int{60, 80, 100, 120} {
		for _, page := range []func() judge.Judgement{withFindings, copied, nothing, indirect, longNames} {
			j := page()
			var b bytes.Buffer
			if err := Text(&b, j, Options{Width: width}); err != nil {
				t.Fatal(err)
			}
			for l := range strings.Lines(b.String()) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(l, "\n")); n > width {
					t.Errorf("%d columns of %d: %s", n, width, l)
				}
			}
		}
	}
}

func TestAResultFileCannotDriveTheTerminal(t *testing.T) {
	t.Parallel()
	j := indirect()
	evil := "x\x1b]0;pwned\x07\r\u009b2J"
	j.Facts.Plan.Run.Name, j.Facts.Plan.Workload.Raw.Pattern = evil, bench.RawPattern(evil)
	j.Summary.Paths[0].Path, j.Summary.Paths[0].State = evil, evil
	j.Summary.StorageNodes[0].Source = evil
	sp := &j.Summary.StoragePaths[0]
	sp.Address, sp.LIF, sp.Node = evil, evil, evil
	j.Summary.StorageNodes[0].Name, j.Findings[0].Message, j.Protocol.Message = evil, evil, evil
	var b bytes.Buffer
	if err := Text(&b, j, Options{}); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x1b\x07\r\u009b") {
		t.Errorf("control characters came through:\n%q", b.String())
	}
}

func longNames() judge.Judgement {
	j := indirect()
	long := strings.Repeat("node-", 30)
	j.Summary.StorageNodes[0].Name, j.Summary.StorageNodes[1].Source = long, "another"
	j.Summary.StoragePaths[0].Node, j.Summary.StoragePaths[1].LIF = long, long
	j.Summary.StoragePaths[1].ReadBytes, j.Summary.StorageNodes[0].CPUPermille = new(int64(900<<40)), new(int32(1000))
	j.Summary.StoragePaths[0].Address = "fd00:1234:5678:9abc:def0:1234:5678:9abc"
	return j
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("pipe closed") }

func TestTheErrorOfTheWriterIsReturned(t *testing.T) {
	t.Parallel()
	if err := Text(brokenWriter{}, judged(), Options{}); err == nil {
		t.Error("no error")
	}
}
