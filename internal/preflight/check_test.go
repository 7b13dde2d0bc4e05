package preflight

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

// good is a run over two LIFs of an SVM that has everything it needs.
func good() Input {
	b := gen.Benchmark("demo")
	b.Spec.Storage.Array = &v1alpha1.ArrayAccess{ONTAP: &v1alpha1.ONTAPAccess{ManagementLIF: "10.0.0.5", SVM: "svm1"}}
	return Input{Benchmark: b, Target: plan.Target{
		Export: "/vol/oradata",
		Paths:  []bench.ResolvedPath{{Path: "10.0.1.61"}, {Path: "10.0.2.61"}},
		Survey: &runfile.Survey{
			Version: runfile.SurveyVersion, Source: "array", Clients: []string{"10.244.0.7", "10.0.9.3"},
			Nodes: []runfile.SurveyNode{{Name: "a"}, {Name: "b"}},
			LIFs: []runfile.LIF{
				{Name: "lif1", Address: "10.0.1.61", Prefix: 24, Node: "a", HomeNode: "a", AtHome: new(true), Up: new(true)},
				{Name: "lif2", Address: "10.0.2.61", Prefix: 24, Node: "b", HomeNode: "b", AtHome: new(true), Up: new(true)},
			},
			Volume: &runfile.SurveyVolume{
				Name: "oradata", Export: "/vol/oradata", State: "online", Node: "a", Aggregate: "aggr1",
				SizeBytes: new(int64(10 << 30)), AvailableBytes: new(int64(1 << 30)), ExportPolicy: "oracle",
			},
			NFS: &runfile.NFSService{
				Enabled: new(true), V3: new(true), V40: new(true), V41: new(true), PNFS: new(true), TransferSizeBytes: new(int64(1 << 20)),
			},
			Rules: []runfile.ExportRule{{Index: 1, Clients: []string{"10.0.9.0/24"}, Protocols: []string{"nfs"}, ReadOnly: []string{"sys"}, ReadWrite: []string{"sys"}, SuperUser: []string{"none"}}},
		},
	}}
}

type checkCase struct {
	code   string
	change func(*Input)
	text   string // of the message; empty = the check passes
}

func TestEachCheckFindsWhatItIsForAndNothingElse(t *testing.T) {
	t.Parallel()
	for _, cases := range []map[string]checkCase{arrayCases(), volumeCases(), pathCases(), policyCases()} {
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				in := good()
				c.change(&in)
				failed := ""
				for _, r := range Check(in) {
					if r.Message != "" && r.Code != c.code {
						t.Errorf("%s failed, too: %s", r.Code, r.Message)
					}
					if r.Code == c.code {
						failed = r.Message
					}
				}
				if (failed == "") != (c.text == "") || !regexp.MustCompile(c.text).MatchString(failed) {
					t.Errorf("%s says %q, want %q", c.code, failed, c.text)
				}
			})
		}
	}
}

func TestAGoodRunPassesEveryCheckInAFixedOrder(t *testing.T) {
	t.Parallel()
	var codes []string
	for _, r := range Check(good()) {
		if r.Message != "" {
			t.Errorf("%s: %s", r.Code, r.Message)
		}
		codes = append(codes, r.Code)
	}
	want := []string{
		DriverRefused, UnknownLIF, ServiceDisabled, ProtocolDisabled, VolumeOffline, VolumeMoving,
		ExportPolicyDenies, TooManyPaths, SameSubnet, LIFDown, TransferSizeTooSmall, VolumeFull,
	}
	if diff := cmp.Diff(want, codes); diff != "" {
		t.Error(diff)
	}
}

func nfs(change func(*runfile.NFSService)) func(*Input) {
	return func(in *Input) { change(in.Target.Survey.NFS) }
}

// flash makes the array one whose commands are not ONTAP's.
func flash(in *Input) {
	in.Benchmark.Spec.Storage.Array = &v1alpha1.ArrayAccess{FlashBlade: &v1alpha1.FlashBladeAccess{ManagementVIP: "10.0.0.6"}}
}

func both(changes ...func(*Input)) func(*Input) {
	return func(in *Input) {
		for _, c := range changes {
			c(in)
		}
	}
}

func version(v bench.NFSVersion) func(*Input) {
	return func(in *Input) {
		in.Benchmark.Spec.Protocol.Version = v
		in.Target.Paths = in.Target.Paths[:1]
	}
}

func transfer(size string) func(*Input) {
	return func(in *Input) { in.Benchmark.Spec.Protocol.TransferSize = new(resource.MustParse(size)) }
}

func backend(driver string) func(*Input) {
	return func(in *Input) {
		in.Benchmark.Spec.Storage.Array = nil
		in.Target.Backend = &plan.Backend{Name: "tbe1", Driver: driver, SVM: "svm9"}
	}
}

func arrayCases() map[string]checkCase {
	off := new(false)
	at := func(bytes int64) func(*Input) {
		return nfs(func(n *runfile.NFSService) { n.TransferSizeBytes = &bytes })
	}
	return map[string]checkCase{
		"SAN":                 {DriverRefused, backend("ontap-san"), `driver ontap-san, which does not serve NFS`},
		"nas":                 {DriverRefused, backend("ontap-nas"), ""},
		"flexgroup":           {DriverRefused, backend("ontap-nas-flexgroup"), ""},
		"driver not known":    {DriverRefused, backend(""), ""},
		"service off":         {ServiceDisabled, nfs(func(n *runfile.NFSService) { n.Enabled = off }), `vserver nfs modify -vserver svm1 -access true`},
		"service off, other":  {ServiceDisabled, both(flash, nfs(func(n *runfile.NFSService) { n.Enabled = off })), `^the NFS service of the array is off`},
		"service not known":   {ServiceDisabled, nfs(func(n *runfile.NFSService) { n.Enabled = nil }), ""},
		"v3 off":              {ProtocolDisabled, nfs(func(n *runfile.NFSService) { n.V3 = off }), `vserver nfs modify -vserver svm1 -v3 enabled`},
		"v3 off, not used":    {ProtocolDisabled, both(version(bench.NFSv41), nfs(func(n *runfile.NFSService) { n.V3 = off })), ""},
		"v4.0 off":            {ProtocolDisabled, both(version(bench.NFSv40), nfs(func(n *runfile.NFSService) { n.V40 = off })), `-vserver svm1 -v4\.0 enabled`},
		"v4.0 off, v4.1 used": {ProtocolDisabled, both(version(bench.NFSv41), nfs(func(n *runfile.NFSService) { n.V40, n.PNFS = off, off })), ""},
		"v4.1 off":            {ProtocolDisabled, both(version(bench.NFSv41), nfs(func(n *runfile.NFSService) { n.V41 = off })), `protocol\.version is NFSv4\.1 .*-v4\.1 enabled, or`},
		"pNFS off":            {ProtocolDisabled, both(version(bench.PNFS), nfs(func(n *runfile.NFSService) { n.PNFS = off })), `does not offer pNFS: .* -v4\.1-pnfs enabled`},
		"pNFS without v4.1":   {ProtocolDisabled, both(version(bench.PNFS), nfs(func(n *runfile.NFSService) { n.V41, n.PNFS = off, off })), `-v4\.1 enabled -v4\.1-pnfs enabled`},
		"v3 off, other":       {ProtocolDisabled, both(flash, nfs(func(n *runfile.NFSService) { n.V3 = off })), `the array does not offer NFSv3 for this file system`},
		"SVM of the backend":  {ProtocolDisabled, both(backend("ontap-nas"), nfs(func(n *runfile.NFSService) { n.V3 = off })), `-vserver svm9 `},
		"SVM of the source": {ProtocolDisabled, both(func(in *Input) {
			in.Benchmark.Spec.Storage.Array.ONTAP.SVM = ""
			in.Target.Sources = []runfile.Source{{Kind: runfile.SourceONTAP, SVM: "svm7"}}
		}, nfs(func(n *runfile.NFSService) { n.V3 = off })), `-vserver svm7 `},
		"transfer too small": {TransferSizeTooSmall, both(transfer("256Ki"), at(65536)), `transferSize is 262144 bytes and SVM svm1 moves at most 65536 .*-tcp-max-xfer-size 262144 .*advanced`},
		"transfer in steps":  {TransferSizeTooSmall, both(transfer("65Ki"), at(65536)), `-tcp-max-xfer-size 69632 `},
		"transfer, other":    {TransferSizeTooSmall, both(flash, transfer("1Mi"), at(524288)), `at most 524288 .*lower protocol.transferSize`},
		"transfer just fits": {TransferSizeTooSmall, both(transfer("64Ki"), at(65536)), ""},
		"transfer not asked": {TransferSizeTooSmall, at(65536), ""},
		"transfer not known": {TransferSizeTooSmall, both(transfer("1Mi"), nfs(func(n *runfile.NFSService) { n.TransferSizeBytes = nil })), ""},
		"transfer told as 0": {TransferSizeTooSmall, both(transfer("1Mi"), at(0)), ""},
	}
}

func volumeCases() map[string]checkCase {
	volume := func(change func(*runfile.SurveyVolume)) func(*Input) {
		return func(in *Input) { change(in.Target.Survey.Volume) }
	}
	left := func(bytes int64) func(*Input) {
		return volume(func(v *runfile.SurveyVolume) { v.AvailableBytes = &bytes })
	}
	mod := func(m gen.Mod) func(*Input) { return func(in *Input) { m(in.Benchmark) } }
	copies := func(in *Input) { in.Benchmark.Spec.Workload.Raw.Pattern = bench.PatternCopy }
	kept := mod(gen.Cleanup(v1alpha1.CleanupRetain, v1alpha1.CleanupDelete))
	const need = 2 * 64 << 20 // of good: two jobs, one client
	return map[string]checkCase{
		"offline":          {VolumeOffline, volume(func(v *runfile.SurveyVolume) { v.State = "offline" }), `volume oradata is offline: volume online -vserver svm1 -volume oradata`},
		"restricted":       {VolumeOffline, volume(func(v *runfile.SurveyVolume) { v.State = "restricted" }), `is restricted`},
		"destroyed":        {VolumeOffline, both(flash, volume(func(v *runfile.SurveyVolume) { v.State = "destroyed" })), `file system oradata is destroyed: bring it back`},
		"state not known":  {VolumeOffline, volume(func(v *runfile.SurveyVolume) { v.State = "" }), ""},
		"moving":           {VolumeMoving, volume(func(v *runfile.SurveyVolume) { v.Moving = true }), `volume move show -vserver svm1 -volume oradata`},
		"not moving":       {VolumeMoving, func(*Input) {}, ""},
		"full":             {VolumeFull, left(need - 1), `the files need a little more than 128 MiB \(fileSize 64Mi x 2 jobs x 1 clients\) and volume oradata has left only 128 MiB: volume size -vserver svm1`},
		"just fits":        {VolumeFull, left(need), ""},
		"full for clients": {VolumeFull, both(left(3*need), mod(gen.Clients(4))), `x 4 clients`},
		"fits clients":     {VolumeFull, both(left(4*need), mod(gen.Clients(4))), ""},
		"full for a copy":  {VolumeFull, both(left(2*need-1), copies), `x 2 files of a copy`},
		"fits a copy":      {VolumeFull, both(left(2*need), copies), ""},
		"full, Trident": {VolumeFull, both(left(0), func(in *Input) {
			in.Benchmark.Spec.Storage.Trident = &v1alpha1.TridentStorage{}
		}), `raise storage\.trident\.size`},
		"full of kept files":   {VolumeFull, both(left(0), kept), ""},
		"too small altogether": {VolumeFull, both(left(0), kept, volume(func(v *runfile.SurveyVolume) { v.SizeBytes = new(int64(need - 1)) })), `volume oradata holds only 128 MiB`},
		"more than fits an int": {VolumeFull, func(in *Input) {
			in.Benchmark.Spec.Workload.Raw.FileSize = resource.MustParse("4Ei")
			in.Benchmark.Spec.Workload.Raw.Jobs = 64
		}, `need 8192 PiB`},
		"space not known": {VolumeFull, volume(func(v *runfile.SurveyVolume) { v.AvailableBytes = nil }), ""},
	}
}

func pathCases() map[string]checkCase {
	lif := func(change func(*runfile.LIF)) func(*Input) {
		return func(in *Input) { change(&in.Target.Survey.LIFs[1]) }
	}
	path := func(address string) func(*Input) {
		return func(in *Input) { in.Target.Paths[1].Path = address }
	}
	server := func(address string) func(*Input) {
		return func(in *Input) { in.Benchmark.Spec.Storage.Export.Servers[0] = address }
	}
	near := func(prefix int32) func(*Input) {
		return both(path("10.0.1.200"), lif(func(l *runfile.LIF) { l.Address, l.Prefix = "10.0.1.200", prefix }), server("10.0.1.61"), func(in *Input) {
			in.Benchmark.Spec.Storage.Export.Servers = in.Benchmark.Spec.Storage.Export.Servers[:1]
			in.Target.Survey.LIFs[0].Prefix = prefix
		})
	}
	native := func(in *Input) { in.Benchmark.Spec.Protocol.Version = bench.NFSv41 }
	v4 := both(native, func(in *Input) {
		in.Benchmark.Spec.Database = &v1alpha1.Database{Container: &v1alpha1.DatabaseContainer{}}
	})
	return map[string]checkCase{
		"unknown path":       {UnknownLIF, path("10.0.2.99"), `the path 10\.0\.2\.99 is no address that the array serves NFS at: use one of 10\.0\.1\.61 lif1, 10\.0\.2\.61 lif2`},
		"unknown explicit":   {UnknownLIF, both(path("10.0.2.99"), func(in *Input) { in.Benchmark.Spec.Protocol.Paths = &bench.Paths{Select: bench.PathsExplicit} }), `^protocol\.paths\.explicit 10\.0\.2\.99`},
		"unknown server":     {UnknownLIF, server("10.0.7.7"), `^storage\.export\.servers 10\.0\.7\.7`},
		"host name":          {UnknownLIF, server("array.example"), ""},
		"no LIFs known":      {UnknownLIF, both(server("10.0.7.7"), func(in *Input) { in.Target.Survey.LIFs = nil }), ""},
		"another spelling":   {UnknownLIF, path("::ffff:10.0.2.61"), ""},
		"LIF down":           {LIFDown, lif(func(l *runfile.LIF) { l.Up = new(false) }), `path 10\.0\.2\.61 \(LIF lif2\) is down.*network interface modify -vserver svm1 -lif lif2 -status-admin up.* -node b`},
		"VIP down":           {LIFDown, both(flash, lif(func(l *runfile.LIF) { l.Up = new(false) })), `\(lif2\) is down or disabled on the array`},
		"another LIF down":   {LIFDown, both(lif(func(l *runfile.LIF) { l.Up = new(false) }), func(in *Input) { in.Target.Paths = in.Target.Paths[:1] }), ""},
		"LIF not known":      {LIFDown, lif(func(l *runfile.LIF) { l.Up = nil }), ""},
		"two paths with 4.1": {TooManyPaths, v4, `2 paths with NFSv4\.1: .*one path`},
		"one path with 4.1":  {TooManyPaths, version(bench.NFSv41), ""},
		"two paths with v3":  {TooManyPaths, func(*Input) {}, ""},
		"native with 4.1":    {TooManyPaths, native, ""},
		"not ONTAP":          {TooManyPaths, both(flash, v4), ""},
		"Harvest": {TooManyPaths, both(v4, func(in *Input) {
			in.Benchmark.Spec.Storage.Array = &v1alpha1.ArrayAccess{Prometheus: &v1alpha1.PrometheusAccess{Harvest: &v1alpha1.HarvestSelector{}}}
		}), `2 paths`},
		"one subnet":           {SameSubnet, near(24), `paths 10\.0\.1\.61 \(lif1\) and 10\.0\.1\.200 \(lif2\) are both in 10\.0\.1\.0/24`},
		"smaller subnets":      {SameSubnet, near(25), ""},
		"prefix not known":     {SameSubnet, near(0), ""},
		"one LIF, two clients": {SameSubnet, path("10.0.1.61"), ""},
	}
}
