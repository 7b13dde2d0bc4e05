package judge

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

func localityCases() map[string]findingCase {
	local, remote := twoNodes("a"), twoNodes("b")
	asked := func(r *runfile.Result) { r.Plan.Engine.PathSelection = "Remote" }
	return map[string]findingCase{
		"IndirectPath": {
			remote, func(*runfile.Result) {}, IndirectPath, bench.SeverityWarning, bench.ValidityValid,
			`^Path 10\.0\.2\.61 \(lif2\) is indirect: node a owns volume ora1, and node b is busy 35\.0 % \(1\.0 % while idle\)\. Use protocol\.paths\.select: Local\. Node a has 10\.0\.1\.61 \(lif1\)\.$`,
		},
		"IndirectPathAskedFor": {remote, asked, IndirectPath, bench.SeverityInfo, bench.ValidityValid, `indirect.*35\.0 %.*\. protocol\.paths\.select: Remote asks for that`},
		"IndirectPathOfUnknownCPU": {
			remote, measured(func(w *runfile.StorageWindow) { w.Nodes = nil }), IndirectPath, bench.SeverityWarning, bench.ValidityValid,
			`, and the load enters at node b \(its CPU is not known\)`,
		},
		"IndirectPathOfAnIdleNode": {
			remote, measured(func(w *runfile.StorageWindow) { w.Nodes = cpus(330, 59) }), IndirectPath, bench.SeverityWarning, bench.ValidityValid,
			`the load enters at node b \(busy 5\.9 %, 1\.0 % while idle\)`,
		},
		"IndirectPathJustBusy":        {remote, measured(func(w *runfile.StorageWindow) { w.Nodes = cpus(330, 60) }), IndirectPath, bench.SeverityWarning, bench.ValidityValid, `node b is busy 6\.0 %`},
		"IndirectPathWithoutBaseline": {remote, inWindows(runfile.SpanBaseline, func(w *runfile.ObservedWindow) { w.Storage = nil }), IndirectPath, bench.SeverityWarning, bench.ValidityValid, `, and node b is busy 35\.0 %\. `},
		"IndirectPathBySurvey":        {remote, measured(func(w *runfile.StorageWindow) { w.Paths, w.VolumeNodes = nil, nil }), IndirectPath, bench.SeverityWarning, bench.ValidityValid, `10\.0\.2\.61 \(lif2\)`},
		"IndirectPathWithoutALocal": {
			remote, func(r *runfile.Result) { r.Plan.Survey.LIFs = r.Plan.Survey.LIFs[1:] }, IndirectPath, bench.SeverityWarning, bench.ValidityValid,
			`No LIF on node a is up: bring one up, or create one \(network interface create -vserver svm1 -home-node a`,
		},
		"IndirectPathWithoutASurvey": {remote, func(r *runfile.Result) { r.Plan.Survey = nil }, IndirectPath, bench.SeverityWarning, bench.ValidityValid, `node a owns the volume, and .* Local\.$`},
		"IndirectPathOfAMount":       {pnfsRun, func(r *runfile.Result) { r.Plan.Engine.NFSVersion = "NFSv4.1" }, IndirectPath, bench.SeverityWarning, bench.ValidityValid, `Path 10\.0\.2\.61 \(lif2\)`},
		"IndirectIsASuspect":         {remote, func(r *runfile.Result) { slower(r, 50) }, BelowWireSpeed, bench.SeverityWarning, bench.ValidityValid, `path 10\.0\.2\.61 \(lif2\) is indirect: node a owns the volume`},
		"LIFNotHome": {local, func(r *runfile.Result) {
			l := &r.Plan.Survey.LIFs[0]
			l.AtHome, l.HomeNode = new(false), "b"
		}, LIFNotHome, bench.SeverityWarning, bench.ValidityValid, `LIF lif1 \(10\.0\.1\.61\) is on node a and belongs on b: .*network interface revert -vserver svm1 -lif lif1`},
		"LIFNotOnItsPort":   {local, func(r *runfile.Result) { r.Plan.Survey.LIFs[0].AtHome = new(false) }, LIFNotHome, bench.SeverityWarning, bench.ValidityValid, `on node a, but not on its home port`},
		"LIFNotHomeOfPNFS":  {pnfsRun, func(r *runfile.Result) { r.Plan.Survey.LIFs[0].AtHome = new(false) }, LIFNotHome, bench.SeverityWarning, bench.ValidityValid, `lif1`},
		"LIFNotHomeUnused":  {local, func(r *runfile.Result) { r.Plan.Survey.LIFs[1].AtHome = new(false) }, LIFNotHome, "", bench.ValidityValid, ""},
		"LIFHomeUnknown":    {local, func(r *runfile.Result) { r.Plan.Survey.LIFs[0].AtHome = nil }, LIFNotHome, "", bench.ValidityValid, ""},
		"PNFSNotRedirected": {pnfsRun, measured(redirectNone), PNFSNotRedirected, bench.SeverityWarning, bench.ValidityValid, `100\.0 % of the bytes still went through 10\.0\.2\.61 lif2, which is not on the node that owns volume ora1\. Check .*-vserver svm1 -v4\.1-pnfs enabled`},
		"PNFSNearlyNotRedirected": {pnfsRun, measured(func(w *runfile.StorageWindow) {
			w.Paths[0].ReadBytes, w.Paths[1].ReadBytes = new(goodBytes/25), new(goodBytes/25*24)
		}), PNFSNotRedirected, bench.SeverityWarning, bench.ValidityValid, `96\.0 % of the bytes`},
		"PNFSWithoutLayout": {pnfsRun, inWindows(runfile.SpanMeasure, func(w *runfile.ObservedWindow) { w.Mount.PNFSReads = 0 }), PNFSNotRedirected, bench.SeverityWarning, bench.ValidityInvalid, `did not read or write through a layout`},
	}
}

func redirectNone(w *runfile.StorageWindow) {
	w.Paths[0].ReadBytes, w.Paths[1].ReadBytes = new(int64(0)), new(goodBytes)
}

// quietCases are what must not be found.
func quietCases() map[string]findingCase {
	local, remote := twoNodes("a"), twoNodes("b")
	quiet := func(base func(testing.TB) runfile.Result, code Code, f func(*runfile.Result)) findingCase {
		return findingCase{base, f, code, "", bench.ValidityValid, ""}
	}
	nothing := func(*runfile.Result) {}
	flexGroup := func(r *runfile.Result) {
		r.Plan.Survey.Volume.Node = ""
		measured(func(w *runfile.StorageWindow) { w.VolumeNodes = nil })(r)
	}
	return map[string]findingCase{
		"a direct path":          quiet(local, IndirectPath, nothing),
		"a volume on many nodes": quiet(remote, IndirectPath, flexGroup),
		"the owner went to the path": quiet(remote, IndirectPath, func(r *runfile.Result) {
			r.Plan.Survey.Volume.Node = "b"
			measured(func(w *runfile.StorageWindow) { w.VolumeNodes = nil })(r)
		}),
		"pNFS mounted remotely": quiet(pnfsRun, IndirectPath, nothing),
		"an unused remote path": quiet(local, IndirectPath, func(r *runfile.Result) {
			eachRep(r, func(rep *runfile.Repetition) {
				rep.Channels = append(rep.Channels, runfile.Channel{Path: "10.0.2.61", State: "Up"})
			})
		}),
		"redirected":           quiet(pnfsRun, PNFSNotRedirected, nothing),
		"mounted at the owner": quiet(pnfsRun, PNFSNotRedirected, both(measured(redirectNone), measured(func(w *runfile.StorageWindow) { w.VolumeNodes = []string{"b"} }), func(r *runfile.Result) { r.Plan.Survey.Volume.Node = "b" })),
		"redirected in part": quiet(pnfsRun, PNFSNotRedirected, measured(func(w *runfile.StorageWindow) {
			w.Paths[0].ReadBytes, w.Paths[1].ReadBytes = new(goodBytes/10), new(goodBytes/10*9)
		})),
		"LIFs that count nothing": quiet(pnfsRun, PNFSNotRedirected, measured(func(w *runfile.StorageWindow) {
			w.Paths[0].ReadBytes, w.Paths[1].ReadBytes = new(int64(0)), new(int64(1000))
		})),
		"LIFs of unknown bytes": quiet(pnfsRun, PNFSNotRedirected, both(measured(redirectNone), measured(func(w *runfile.StorageWindow) { w.Paths[0].ReadBytes = nil }))),
		"v4.1 by the wrong LIF": quiet(pnfsRun, PNFSNotRedirected, both(measured(redirectNone), func(r *runfile.Result) { r.Plan.Engine.NFSVersion = "NFSv4.1" })),
		"at home":               quiet(local, LIFNotHome, nothing),
	}
}

func both(changes ...func(*runfile.Result)) func(*runfile.Result) {
	return func(r *runfile.Result) {
		for _, c := range changes {
			c(r)
		}
	}
}

func TestAGoodRunAgainstAnArrayHasNoFinding(t *testing.T) {
	t.Parallel()
	for name, base := range map[string]func(testing.TB) runfile.Result{"local": twoNodes("a"), "pNFS": pnfsRun} {
		if j := Judge(base(t)); len(j.Findings) > 0 || j.Validity != bench.ValidityValid {
			t.Errorf("%s: %s %+v", name, j.Validity, j.Findings)
		}
	}
}

// Only client 0 asks an array, so that the others have nothing of it.
func TestClientsThatDoNotSampleTheArrayAreNotMissed(t *testing.T) {
	t.Parallel()
	r := twoNodes("b")(t)
	want := Judge(r).Summary
	other := client(t, 1)
	for i := range other.Observed.Windows {
		other.Observed.Windows[i].Storage = nil
	}
	for i := range other.Load.Repetitions { // it shares the path
		other.Load.Repetitions[i].Channels = r.Clients[0].Load.Repetitions[i].Channels
	}
	r.Clients, r.Plan.Clients = append(r.Clients, other), 2
	r.Plan.Link.BitsPerSecond = *bench.Bits(40e9)
	measured(func(w *runfile.StorageWindow) { *w.ReadBytes *= 2 })(&r)
	j := Judge(r)
	if hasFinding(j, ArrayMetricsPartial, "") || hasFinding(j, NotCollected, "") || hasFinding(j, ArrayDisagrees, "") {
		t.Errorf("%+v", j.Findings)
	}
	if diff := cmp.Diff(want.StorageNodes, j.Summary.StorageNodes); diff != "" {
		t.Error(diff)
	}
}

func TestTheSummaryHasTheStorageSide(t *testing.T) {
	t.Parallel()
	s := Judge(twoNodes("b")(t)).Summary
	wantNodes := []measure.StorageNode{
		{Source: "array", Name: "a", Owner: true, CPUPermille: new(int32(330)), BaselineCPUPermille: new(int32(20))},
		{Source: "array", Name: "b", Entry: true, CPUPermille: new(int32(350)), BaselineCPUPermille: new(int32(10))},
	}
	wantPaths := []measure.StoragePath{
		{Source: "array", Address: "10.0.1.61", LIF: "lif1", Node: "a", Local: new(true), ReadBytes: new(int64(0)), WriteBytes: new(int64(0))},
		{Source: "array", Address: "10.0.2.61", LIF: "lif2", Node: "b", Local: new(false), ReadBytes: new(goodBytes), WriteBytes: new(int64(0))},
	}
	wantLoad := measure.StorageLoad{OperationsPerSecond: new(int64(2125)), BytesPerSecond: new(goodBytes / 60), MeanLatencyMicroseconds: new(int64(9_000)), LatencyLayer: measure.LayerVolume}
	for name, diff := range map[string]string{
		"nodes": cmp.Diff(wantNodes, s.StorageNodes), "paths": cmp.Diff(wantPaths, s.StoragePaths),
		"load": cmp.Diff(wantLoad, s.Storage), "collector": cmp.Diff(new(int32(5)), s.CollectorCPUPermille),
	} {
		if diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// Two sources may call their nodes alike.
func TestTheIdleCPUOfANodeIsThatOfItsSource(t *testing.T) {
	t.Parallel()
	r := twoNodes("a")(t)
	for _, kind := range []string{runfile.SpanBaseline, runfile.SpanMeasure} {
		eachWindow(&r, kind, func(w *runfile.ObservedWindow) {
			w.Storage = append([]runfile.StorageWindow{{Source: "aaa", Seconds: 5, Nodes: cpus(7, 8)}}, w.Storage...)
		})
	}
	for _, n := range Judge(r).Summary.StorageNodes {
		if want := map[string]int32{"aaa/a": 7, "aaa/b": 8, "array/a": 20, "array/b": 10}[n.Source+"/"+n.Name]; *n.BaselineCPUPermille != want {
			t.Errorf("%s/%s was %d busy while idle, want %d", n.Source, n.Name, *n.BaselineCPUPermille, want)
		}
	}
}

func TestTheOwnerComesFirstAndThenWherePathsEnd(t *testing.T) {
	t.Parallel()
	r := twoNodes("a")(t)
	measured(func(w *runfile.StorageWindow) {
		w.VolumeNodes = []string{"b"}
		w.Nodes = append(w.Nodes, runfile.StorageNodeWindow{Name: "0"})
	})(&r)
	var names []string
	for _, n := range Judge(r).Summary.StorageNodes {
		names = append(names, n.Name)
	}
	if diff := cmp.Diff([]string{"b", "a", "0"}, names); diff != "" {
		t.Error(diff)
	}
}

// A table without the node that passes everything on would hide that it worked.
func TestANodeWhoseCPUMayNotBeReadStaysInTheTable(t *testing.T) {
	t.Parallel()
	r := twoNodes("b")(t)
	measured(func(w *runfile.StorageWindow) { w.Nodes = nil })(&r)
	want := []measure.StorageNode{{Source: "array", Name: "a", Owner: true}, {Source: "array", Name: "b", Entry: true}}
	if diff := cmp.Diff(want, Judge(r).Summary.StorageNodes); diff != "" {
		t.Error(diff)
	}
}
