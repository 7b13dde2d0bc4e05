package judge

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/experiments"
)

// The figures of CALIBRATE_IO and the averages of V$IOSTAT_FILE come out as they
// were printed, and only those of pNFS are called what their author called them.
func TestTheCalibrationsOfDNFSVsPNFSComeOutAsPrinted(t *testing.T) {
	t.Parallel()
	for _, c := range experiments.Calibrations() {
		t.Run(fmt.Sprint(c.Test), func(t *testing.T) {
			t.Parallel()
			j := Judge(c.Result())
			if j.Engine != measure.EngineOracle || j.Summary == nil || j.Database == nil {
				t.Fatalf("%+v", j)
			}
			if d := j.Summary.Total; d.OperationsPerSecond != c.MaxIOPS || d.BytesPerSecond != c.MegabytesSecond*1_000_000 {
				t.Errorf("%d IOPS and %d bytes/s, want %d and %d MB/s", d.OperationsPerSecond, d.BytesPerSecond, c.MaxIOPS, c.MegabytesSecond)
			}
			one := measure.CalibrationSummary{MaxIOPS: &c.MaxIOPS, MaxMegabytesPerSecond: &c.MegabytesSecond, ActualLatencyMilliseconds: &c.Latency}
			warm := one
			warm.Warmup = true
			if diff := cmp.Diff([]measure.CalibrationSummary{warm, one}, j.Calibrations, cmpopts.IgnoreFields(measure.CalibrationSummary{}, "Phases")); diff != "" {
				t.Error(diff)
			}
			var want []measure.DatabaseFile
			for _, f := range c.Files {
				want = append(want, measure.DatabaseFile{Number: f.Number, AccessMethod: "DNFS_LIB", SmallReads: &f.Reads, SmallReadNanoseconds: &f.Nanoseconds, SmallSyncReadNanoseconds: &f.Syncs})
			}
			if diff := cmp.Diff(want, j.Database.Files); diff != "" {
				t.Error(diff)
			}
			if mean := float64(j.Summary.Total.Latency.MeanMicroseconds); math.Abs(mean-c.Files[0].SmallRead) > 4 || !j.Summary.Total.Latency.MeanOnly {
				t.Errorf("latency %+v", j.Summary.Total.Latency)
			}
			pnfs := c.Version == "pNFS"
			if hasFinding(j, SuspectLatency, "its number of reads is right") != pnfs || hasFinding(j, SuspectLatency, "") != pnfs {
				t.Errorf("%s: %+v", c.Version, j.Findings)
			}
			if v := map[bool]bench.Validity{true: bench.ValiditySuspect, false: bench.ValidityValid}[pnfs]; j.Validity != v {
				t.Errorf("validity %s, want %s: %+v", j.Validity, v, j.Findings)
			}
			if !hasFinding(j, CalibrationOnly, "") || hasFinding(j, LatencyResolution, "whole milliseconds") != (c.Latency <= 1) {
				t.Errorf("%+v", j.Findings)
			}
			if v := j.Protocol.Verified; v == nil || !*v || !strings.Contains(j.Protocol.Message, "V$DNFS_SERVERS ("+c.Text+")") {
				t.Errorf("protocol %+v", j.Protocol)
			}
		})
	}
}

func fourPaths() []string {
	return []string{"192.168.4.100", "192.168.5.100", "192.168.6.100", "192.168.7.100"}
}

func TestChannelsProveTheFourPathsOfDNFSThroughput(t *testing.T) {
	t.Parallel()
	j := Judge(experiments.Scan(fourPaths()...))
	if v := j.Protocol.Verified; v == nil || !*v || !strings.Contains(j.Protocol.Message, "4 of 4 paths") || j.Protocol.Observed != "DirectNFS NFSv3 over 4 of 4 paths" {
		t.Errorf("protocol %+v", j.Protocol)
	}
	if len(j.Summary.Paths) != 4 || j.Summary.Paths[3].SharePermille != 250 || j.Summary.Paths[3].Calls != 1_200_000 {
		t.Errorf("paths %+v", j.Summary.Paths)
	}
	if j.Validity != bench.ValidityValid || hasFinding(j, PathUnused, "") || hasFinding(j, BufferedScan, "") || hasFinding(j, OranfstabNotUsed, "") {
		t.Errorf("%s %+v", j.Validity, j.Findings)
	}
	// 4 x 10GbE of 1500 bytes carry 4.7 GB/s, and 4.03 were reached.
	if *j.Summary.WirePermille < 850 || *j.Summary.WirePermille > 860 || j.Wire.ReadBytesPerSecond/100_000_000 != 47 {
		t.Errorf("%d permille of %d", *j.Summary.WirePermille, j.Wire.ReadBytesPerSecond)
	}
}

func TestOnePathDeclaredAsFourIsSeen(t *testing.T) {
	t.Parallel()
	r := experiments.Scan("192.168.4.100")
	j := Judge(r)
	if !hasFinding(j, PathUnused, "3 of 4 paths carried nothing") || j.Validity != bench.ValiditySuspect {
		t.Errorf("%s %+v", j.Validity, j.Findings)
	}
	if v := j.Protocol.Verified; v == nil || *v || j.Protocol.Mismatch || !strings.Contains(j.Protocol.Message, "3 of 4 paths sent nothing") {
		t.Errorf("protocol %+v", j.Protocol)
	}
	r.Clients[0].Load.Repetitions[0].Oracle.DirectNFS.Channels[0].Server = "192.168.4.100"
	r.Clients[0].Load.Repetitions[0].Oracle.DirectNFS.Servers[0].Server = "192.168.4.100"
	if j := Judge(r); !hasFinding(j, OranfstabNotUsed, "calls the server flashblade and V$DNFS_SERVERS 192.168.4.100") {
		t.Errorf("%+v", j.Findings)
	}
}

func TestTwoNodesOfARACHaveTwiceTheLinks(t *testing.T) {
	t.Parallel()
	half := int64(experiments.MegabytesPerSecondRAC) * 150_000_000
	j := Judge(experiments.RAC(half, half))
	if len(j.Wire.Links) != 8 || j.Wire.ReadBytesPerSecond/100_000_000 != 94 || *j.Summary.WirePermille/10 != 88 {
		t.Errorf("%d permille of %+v", *j.Summary.WirePermille, j.Wire)
	}
	if hasFinding(j, RACImbalance, "") || len(j.Database.Channels) != 8 {
		t.Errorf("%+v %+v", j.Findings, j.Database.Channels)
	}
	if j := Judge(experiments.RAC(half*3/2, half/2)); !hasFinding(j, RACImbalance, "fb1 75.0 %, fb2 25.0 %") {
		t.Errorf("%+v", j.Findings)
	}
	if j := Judge(experiments.RAC(2*half, 0)); !hasFinding(j, RACImbalance, "fb2 0.0 %") {
		t.Errorf("an instance that read nothing: %+v", j.Findings)
	}
}

func TestEachInstanceOfARACUsesTheOranfstab(t *testing.T) {
	t.Parallel()
	const half = int64(experiments.MegabytesPerSecondRAC) * 150_000_000
	cases := map[string]struct {
		second         func(*runfile.DirectNFS) // changes what instance 2 shows
		verified       bool
		unused, notTab string
	}{
		"both do": {func(*runfile.DirectNFS) {}, true, "", ""},
		"the second found the mount by itself": {func(d *runfile.DirectNFS) {
			d.Servers[1].Server, d.Servers[1].Export = "10.0.0.9", "/other"
			d.Channels = append(d.Channels[:4:4], runfile.DNFSChannel{Instance: 2, Server: "10.0.0.9", Path: "10.0.0.9", Sends: 2_400_000, Receives: 2_400_000})
		}, false, "instance 2 sent nothing to 192.168.4.100, instance 2 sent nothing to 192.168.5.100", "V$DNFS_SERVERS 10.0.0.9 (instance 2): Oracle did not use it"},
		"the oranfstab of the second has one path": {func(d *runfile.DirectNFS) { d.Channels = d.Channels[:5] }, false, "instance 2 sent nothing to 192.168.5.100", ""},
		"the second does no load": {func(d *runfile.DirectNFS) {
			d.Channels = d.Channels[:5]
			d.Channels[4].Sends, d.Channels[4].Receives = 900, 900
		}, true, "", ""},
	}
	for name, tc := range cases {
		r := experiments.RAC(half, half)
		d := &r.Clients[0].Load.Repetitions[0].Oracle.DirectNFS
		d.Servers = append(d.Servers, d.Servers[0])
		d.Servers[0].Instance, d.Servers[1].Instance = 1, 2
		tc.second(d)
		j := Judge(r)
		if v := j.Protocol.Verified; v == nil || *v != tc.verified || !strings.Contains(j.Protocol.Message, tc.unused) {
			t.Errorf("%s: %s", name, j.Protocol.Message)
		}
		for code, text := range map[Code]string{PathUnused: tc.unused, OranfstabNotUsed: tc.notTab} {
			if hasFinding(j, code, text) != (text != "") {
				t.Errorf("%s: %s should say %q: %+v", name, code, text, j.Findings)
			}
		}
	}
}

func TestTheAveragesOfNFSVsDNFSAgreeToTheDigit(t *testing.T) {
	t.Parallel()
	for _, client := range []string{"DNFS", "NFS"} {
		j := Judge(experiments.Kit(client))
		if len(j.Steps) != 10 {
			t.Fatalf("%s: %d steps", client, len(j.Steps))
		}
		for _, w := range experiments.Waits() {
			if w.Client != client {
				continue
			}
			l := j.Steps[w.Users-1].Summary.Total.Latency
			exact := w.Seconds / float64(w.Waits) * 1000
			if l == nil || l.Count != w.Waits || !l.MeanOnly || math.Abs(float64(l.MeanMicroseconds)/1000-exact) > 0.0005 || fmt.Sprintf("%.2f", exact) != w.Average {
				t.Errorf("%s %d users: %+v, want %f ms (printed %s)", client, w.Users, l, exact, w.Average)
			}
		}
	}
}

// Throughput here is users over latency. The author saw most to gain around 10
// users, and the line full just above 16: at 16 it is at 93 % of the wire.
func TestTheRampOfNFSVsDNFSHasItsKneeAtTenUsers(t *testing.T) {
	t.Parallel()
	j := Judge(experiments.Ramp())
	var knees []int32
	for i, s := range j.Steps {
		if s.Users != int32(i+1) || s.Kind != runfile.StepUsers {
			t.Errorf("step %d is %s %d", i, s.Kind, s.Users)
		}
		if l := s.Summary.Total.Latency; l == nil || !l.Bucketed || math.Abs(float64(l.MeanMicroseconds)-experiments.Averages()[i]*1000) > 1 || l.P50Microseconds != 512 || l.P99Microseconds != 2048 {
			t.Errorf("%d users: %+v", s.Users, l)
		}
		if s.Knee {
			knees = append(knees, s.Users)
		}
	}
	if diff := cmp.Diff([]int32{10}, knees); diff != "" {
		t.Error(diff)
	}
	if j.Summary.Step.Users != 16 || len(j.Repetitions) != 2 || *j.VariationPermille != 0 || *j.Steps[15].WirePermille/10 != 93 {
		t.Errorf("summary of %+v, %d repetitions, %d", j.Summary.Step, len(j.Repetitions), *j.Steps[15].WirePermille)
	}
	if j.Validity != bench.ValidityValid || hasFinding(j, Partial, "") {
		t.Errorf("%s %+v", j.Validity, j.Findings)
	}
}
