package e2e

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/test/kit/measure"
	"github.com/nfsbench/nfsbench/test/lab/pnfs"
)

// sixTests is the pNFS array in the part of the two controllers of the experiment: all
// files lie on node a, and the LIF of node b is the wrong one.
type sixTests struct {
	*suiteWorld
	array *pnfs.Array
	rest  *pnfs.REST
}

// TestPNFSSuiteOfTheSixTests runs config/samples/dnfs-vs-pnfs/suite-native.yaml: NFSv3,
// NFSv4.0 and pNFS over the right LIF and the wrong one, with one client, on real servers.
// Of the sample, only addresses, sizes and times differ. No test runs beside it: all
// share the processors whose use it records.
func TestPNFSSuiteOfTheSixTests(t *testing.T) {
	c := newCluster(t)
	needArgo(t)
	needNodeHere(t, c)
	// The link between the nodes carries less than a LIF, so that a detour shows in IOPS.
	a := pnfs.Start(t, pnfs.Options{
		Name: "six", Subnets: []string{"10.235.1.0/24", "10.235.2.0/24"}, OneBrick: true,
		BitsPerSecond: 100_000_000, ClusterBitsPerSecond: 75_000_000,
	})
	w := sixTests{c.suiteWorld(t), a, a.StartREST(t, pnfs.RESTOptions{SVM: "vsdb122b", Grid: time.Second})}
	w.secret(t, w.ns, "nfsbench-array", w.rest.Account.User, w.rest.Account.Password)

	s := w.sample(t)
	if err := w.Create(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	done := w.ends(t, s)
	all := w.benchmarks(t, s)
	ranOnce(t, all, 6, 2)
	for _, b := range all {
		t.Run(b.Name, func(t *testing.T) { w.isTest(t, &b) })
	}
	t.Run("the table", func(t *testing.T) { w.comparison(t, done, all) })
	w.secretsStay(t.Context(), t, w.ns, w.rest.Account.Password)
}

// sample is the suite as users have it, for this array and this machine.
func (w sixTests) sample(t *testing.T) *v1alpha1.NFSBenchmarkSuite {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "config", "samples", "dnfs-vs-pnfs", "suite-native.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s := &v1alpha1.NFSBenchmarkSuite{}
	if err := yaml.UnmarshalStrict(text, s); err != nil {
		t.Fatal(err)
	}
	s.Namespace = w.ns
	b := &s.Spec.Template.Spec
	b.Storage.Export.Servers = []string{w.array.Nodes[0].Address, w.array.Nodes[1].Address}
	b.Storage.Export.Path = w.array.Export
	b.Storage.Array.IntervalSeconds = 1
	b.Storage.Array.ONTAP.ManagementLIF = strings.TrimPrefix(w.rest.URL, "https://")
	b.Storage.Array.ONTAP.TLS.CABundle = string(w.rest.CA)
	load := b.Workload.Calibrate
	load.PhysicalDisks, load.WarmupRuns = 1, new(int32) // up to 16 reads at once
	load.NativeFiles.Count, load.NativeFiles.Size = 2, resource.MustParse("8Mi")
	// The array is read once a second, late on a busy machine, and counts where the readings cover half of a window.
	b.Run.DurationSeconds, b.Run.WarmupSeconds, b.Run.BaselineSeconds, b.Run.CooldownSeconds = 5, new(int32), new(int32(3)), new(int32)
	// Two repetitions claim little, and say so in alpha.
	s.Spec.Repetitions = 2
	s.Spec.Compare.Alpha, s.Spec.Compare.Correction = "0.4", v1alpha1.CorrectionNone
	return s
}

// isTest demands of one of the six tests what it is about.
func (w sixTests) isTest(t *testing.T, b *v1alpha1.NFSBenchmark) {
	t.Helper()
	right, wrong := w.array.Nodes[0], w.array.Nodes[1]
	entry := right
	if b.Spec.Protocol.Paths.Select == bench.PathsRemote {
		entry = wrong
	}
	if !meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionProtocolVerified) {
		t.Errorf("ProtocolVerified is %+v", meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionProtocolVerified))
	}
	blocksVerified(t, b)
	w.honest(t, b)
	t.Logf("%s; CPU %s", b.Status.Message, b.Status.Summary.StorageCPU)
	if paths := b.Status.Resolved.Paths; len(paths) != 1 || paths[0].Path != entry.Address || paths[0].Node != entry.Name {
		t.Errorf("paths are %+v, want the one of node %s", paths, entry.Name)
	}
	data := entry
	if b.Spec.Protocol.Version == bench.PNFS {
		data = right
		w.redirected(t, b)
	}
	if unread(t, b) {
		return
	}
	for _, n := range w.array.Nodes {
		cpuOf(t, b, n.Name)
	}
	other := w.array.Nodes[1-slices.Index(w.array.Nodes, data)]
	if there, elsewhere := lifBytes(t, b, data.Address), lifBytes(t, b, other.Address); elsewhere*10 > there {
		t.Errorf("%d bytes left node %s and %d left node %s", there, data.Name, elsewhere, other.Name)
	}
}

// honest demands that a run is not invalid, and records what it is doubted for besides its length
// and the machine.
func (w sixTests) honest(t *testing.T, b *v1alpha1.NFSBenchmark) {
	t.Helper()
	if b.Status.Validity == bench.ValidityInvalid {
		t.Errorf("the run is %s", b.Status.Validity)
	}
	expected := []judge.Code{
		judge.TooShort, judge.ForeignLoad, judge.ClientCPUBound, judge.ClientNoisy,
		// A window of 5 s has few readings of the array, whose counters of the volume are
		// written once a second.
		judge.ArrayMetricsPartial, judge.ArrayDisagrees,
	}
	doubts := 0.0
	for _, f := range b.Status.Findings {
		if f.Severity != bench.SeverityInfo && !slices.Contains(expected, f.Code) {
			t.Logf("%s %s: %s", f.Severity, f.Code, f.Message)
			doubts++
		}
	}
	measure.Expect(t, "findings that are not expected of a short run", "findings", measure.AtMost(0), doubts)
}

// redirected demands that the metadata server was the node of the path, and the data server
// the one with the files.
func (w sixTests) redirected(t *testing.T, b *v1alpha1.NFSBenchmark) {
	t.Helper()
	_, j := judged(t, b)
	right := w.array.Nodes[0]
	found := false
	for _, p := range j.Summary.Paths {
		found = found || p.Role == bench.PathDataServer
	}
	for _, p := range j.Summary.Paths {
		if p.Role == bench.PathDataServer && (p.Path != right.Address || p.Node != right.Name || p.LIF != right.LIF || p.Bytes() == 0) {
			t.Errorf("a data server is %s (%s of node %s) with %d bytes", p.Path, p.LIF, p.Node, p.Bytes())
		}
	}
	if !found {
		t.Errorf("no data server among %+v", j.Summary.Paths)
	}
	for _, p := range b.Status.Paths {
		if data := p.Role == bench.PathDataServer; data != (*p.ReadBytes > 0) || data && p.Node != right.Name {
			t.Errorf("path %s of node %s with the role %q carried %d bytes", p.Path, p.Node, p.Role, *p.ReadBytes)
		}
	}
	for _, code := range []judge.Code{judge.PNFSNotRedirected, judge.IndirectPath} {
		if f := finding(b, code); f != nil {
			t.Errorf("%s: %s", f.Code, f.Message)
		}
	}
}

// comparison demands the table of the experiment, and records what each test costs against
// NFSv3 over the right LIF.
func (w sixTests) comparison(t *testing.T, s *v1alpha1.NFSBenchmarkSuite, all []v1alpha1.NFSBenchmark) {
	t.Helper()
	if s.Status.Phase != v1alpha1.SuiteSucceeded {
		t.Fatal(suiteState(s))
	}
	impact := map[string]float64{}
	for _, l := range w.table(t, s).Comparisons {
		if l.Baseline != "nfsv3-local" {
			t.Errorf("%s is compared with %s", l.Cell, l.Baseline)
		}
		impact[l.Cell+" "+l.Metric] = l.Impact
		measure.Record(t, "impact on "+l.Metric+" of "+l.Cell, "%", 100*l.Impact)
	}
	if len(impact) != 10 {
		t.Errorf("%d comparisons, not five cells with two metrics each", len(impact))
	}
	if slices.ContainsFunc(all, func(b v1alpha1.NFSBenchmark) bool { return unread(t, &b) }) {
		return // there is no CPU to record
	}
	cpu := map[string][2]int32{} // of both nodes, in thousandths, by cell: the larger one of all repetitions
	for _, b := range all {
		cell := b.Labels[v1alpha1.LabelCell]
		for i, n := range w.array.Nodes {
			both := cpu[cell]
			both[i] = max(both[i], cpuOf(t, &b, n.Name))
			cpu[cell] = both
		}
	}
	const permille = "‰ of the CPU"
	for _, cell := range slices.Sorted(maps.Keys(cpu)) {
		measure.Record(t, "node a in "+cell, permille, float64(cpu[cell][0]))
		measure.Record(t, "node b in "+cell, permille, float64(cpu[cell][1]))
	}
	idle := float64(max(cpu["nfsv3-local"][1], 1))
	pnfs, metadata := impact["pnfs-remote IOPS"], float64(cpu["pnfs-remote"][1])
	for _, cell := range []string{"nfsv3-remote", "nfsv4-remote"} {
		detour, busy := impact[cell+" IOPS"], float64(cpu[cell][1])
		measure.Expect(t, "a detour over a link with a quarter less, in "+cell, "% of the IOPS", measure.AtMost(-10), 100*detour)
		measure.Expect(t, "node b in "+cell, "of that with nothing to do", measure.AtLeast(3), busy/idle)
		measure.Expect(t, "the wrong LIF for pNFS, against half of "+cell, "% of the IOPS", measure.AtLeast(100*detour/2), 100*pnfs)
		measure.Expect(t, "node b with the metadata of pNFS", "of that in "+cell, measure.AtMost(0.5), metadata/max(busy, 1))
	}
}
