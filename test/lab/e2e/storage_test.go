package e2e

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
	"github.com/nfsbench/nfsbench/test/kit/measure"
)

// TestWrongLIFShowsOnTheSecondNode is the lesson of the six tests of a real
// array: the client hardly sees a detour, the second node does.
func TestWrongLIFShowsOnTheSecondNode(t *testing.T) {
	c := newCluster(t)
	w := newTwoNodes(t, "wronglif", 231)
	ns := c.namespace(t)
	password := w.password(t, "nfsbench")
	c.secret(t, ns, arraySecret, "nfsbench", password)
	owner, other := w.Volumes()[0].Node, w.Nodes()[1]
	runs := map[bench.PathSelection]*v1alpha1.NFSBenchmark{}
	for _, s := range []bench.PathSelection{bench.PathsLocal, bench.PathsRemote, bench.PathsAll} {
		name := "paths-" + strings.ToLower(string(s))
		b := c.create(t, gen.Benchmark(name, gen.In(ns), w.export(), w.asked(arraySecret), gen.Select(s), blocks(6), directory(name)))
		runs[s] = c.succeeded(t, b)
		verified(t, runs[s])
		surveyed(t, runs[s], owner)
	}
	local, remote, all := runs[bench.PathsLocal], runs[bench.PathsRemote], runs[bench.PathsAll]
	uses(t, w, local, owner)
	uses(t, w, remote, other)
	uses(t, w, all, owner, other)

	read := !unread(t, local) && !unread(t, remote)
	if read {
		idle, busy := cpuOf(t, local, other), cpuOf(t, remote, other)
		serves, alone := cpuOf(t, remote, owner), cpuOf(t, local, owner)
		const permille = "‰ of the CPU"
		measure.Record(t, "the owner, by its own LIF", permille, float64(alone))
		measure.Expect(t, "the other node, with nothing to do", permille, measure.AtMost(float64(alone)/3), float64(idle))
		measure.Record(t, "the owner, by the LIF of the other node", permille, float64(serves))
		measure.Expect(t, "the other node, which passes everything on", permille, measure.Between(max(float64(serves)/3, float64(idle)+1), 3*float64(serves)), float64(busy))
	}
	wantRoles(t, local, owner, v1alpha1.StorageNodeOwner, v1alpha1.StorageNodeEntry)
	wantRoles(t, remote, owner, v1alpha1.StorageNodeOwner)
	wantRoles(t, remote, other, v1alpha1.StorageNodeEntry)
	if f := finding(remote, judge.IndirectPath); f == nil {
		t.Errorf("nothing says that the path is indirect: %+v", remote.Status.Findings)
	} else {
		mustSay(t, f.Message, other)
	}
	if f := finding(local, judge.IndirectPath); f != nil {
		t.Errorf("the right LIF is called indirect: %s", f.Message)
	}
	table, err := kubectl(t, "", "-n", ns, "get", "nfsb", "-o", "wide")
	if err != nil {
		t.Errorf("kubectl get nfsb -o wide: %v", err)
	}
	mustSay(t, table, "STORAGE CPU", "LATENCY", "1 Local", "1 Remote")
	if read {
		mustSay(t, table, owner+" ", other+" ")
	}
	t.Logf("as a user sees it:\n%s", table)
	c.secretsStay(t.Context(), t, ns, password)
}

// surveyed demands what every run with an array must show.
func surveyed(t *testing.T, b *v1alpha1.NFSBenchmark, owner string) {
	t.Helper()
	if !meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionPreflightPassed) {
		t.Errorf("PreflightPassed of %s is %+v", b.Name, meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionPreflightPassed))
	}
	rs, s := b.Status.Resolved, b.Status.Summary
	if rs == nil || !strings.HasSuffix(rs.Array, " of node "+owner) || !strings.Contains(rs.Array, "stand-in") {
		t.Fatalf("%s: resolved is %+v, want the owner %s", b.Name, rs, owner)
	}
	if finding(b, judge.SimulatedStorage) == nil {
		t.Errorf("%s: nothing says that a stand-in was measured", b.Name)
	}
	res, j := judged(t, b)
	operations, collector := j.Summary.Storage.OperationsPerSecond, j.Summary.CollectorCPUPermille
	windows := res.Clients[0].Observed.Windows
	switch {
	case collector != nil:
		measure.Expect(t, b.Name+": the collector", "‰ of a core", measure.AtMost(99), float64(*collector))
	case windows[len(windows)-1].NodeCPUPermille != nil:
		t.Errorf("%s: the CPU of the client is known, and not what collecting cost", b.Name)
	}
	t.Logf("%s: %s, storage %s", b.Name, b.Status.Message, s.StorageCPU)
	if unread(t, b) {
		return
	}
	if operations == nil || s.StorageMeanLatencyMicroseconds == nil || s.IOPS == nil {
		t.Fatalf("%s: the array's own view is missing: storage %+v/s, CPU %s, findings %+v", b.Name, operations, s.StorageCPU, b.Status.Findings)
	}
	// Both count the same reads; the windows differ by an interval at each end.
	measure.Expect(t, b.Name+": operations that the array counted", "of those of the client", measure.Between(0.7, 1.3), float64(*operations)/float64(max(*s.IOPS, 1)))
	measure.Expect(t, b.Name+": latency at the array", "of that at the client", measure.AtMost(1),
		float64(*s.StorageMeanLatencyMicroseconds)/float64(max(*s.MeanLatencyMicroseconds, 1)))
}

// uses demands that reads went by the LIFs of these nodes and by no other, as the array
// counted them. A LIF that is not used carries a few calls that are no reads.
func uses(t *testing.T, w *twoNodes, b *v1alpha1.NFSBenchmark, nodes ...string) {
	t.Helper()
	const severalReads = 64 << 10
	lifs := w.LIFs()
	if unread(t, b) {
		lifs = nil
	}
	for _, l := range lifs {
		got := lifBytes(t, b, l.Address)
		if wanted := slices.Contains(nodes, l.Node); wanted != (got >= severalReads) {
			t.Errorf("%s: %d bytes went by %s on node %s, which is used: %v", b.Name, got, l.Address, l.Node, wanted)
		}
	}
	var found []string
	for _, p := range b.Status.Resolved.Paths {
		found = append(found, p.Node)
	}
	slices.Sort(found)
	if !slices.Equal(found, nodes) {
		t.Errorf("%s: the paths end on %v, want %v", b.Name, found, nodes)
	}
}

func cpuOf(t *testing.T, b *v1alpha1.NFSBenchmark, name string) int32 {
	t.Helper()
	n := storageNode(b, name)
	if n.CPUPermille == nil {
		t.Fatalf("%s: the CPU of node %s is not known: %+v", b.Name, name, b.Status.StorageNodes)
	}
	return *n.CPUPermille
}

func wantRoles(t *testing.T, b *v1alpha1.NFSBenchmark, name string, roles ...v1alpha1.StorageNodeRole) {
	t.Helper()
	got := storageNode(b, name).Roles
	slices.Sort(got)
	slices.Sort(roles)
	if !slices.Equal(got, roles) {
		t.Errorf("%s: node %s is %v, want %v", b.Name, name, got, roles)
	}
}

// TestVolumeThatMovesUnderLoadIsNoticed moves the data to the other node in the middle of a run, and stops the
// run when the array has told of that. A run after a move is in TestTridentVolumeIsMadeMovedMeasuredAndRemoved.
func TestVolumeThatMovesUnderLoadIsNoticed(t *testing.T) {
	c := newCluster(t)
	needNodeHere(t, c)
	w := newTwoNodes(t, "moves", 232)
	ns := c.namespace(t)
	c.secret(t, ns, arraySecret, "nfsbench", w.password(t, "nfsbench"))
	first, second := w.Nodes()[0], w.Nodes()[1]
	b := c.create(t, gen.Benchmark("moved", gen.In(ns), w.export(), w.asked(arraySecret), gen.Select(bench.PathsLocal), blocks(600)))
	pod := c.running(t, b, 1)[0]
	pod.measured(t)
	if err := w.Move(t.Context(), w.Volumes()[0].Name, second); err != nil {
		t.Fatal(err)
	}
	// With so many, the readings cover most of the window, however long it takes to stop the load.
	pod.sampled(t, "of the array with its volume on "+second, 6, func(s collected) bool {
		return s.Reading != nil && s.Reading.Sample.VolumeNode == second
	})
	c.suspend(t, b)
	done := c.phase(t, b, v1alpha1.PhaseCancelled)
	partialResult(t, c, done, runfile.FailureCancelled)
	if v := c.results(t, done)[0].Clients[0].Load.Verification; v == nil || v.ReadsChecked == 0 || v.Wrong() != 0 {
		t.Errorf("what was read was not checked, or is wrong: %+v", v)
	}
	if f := finding(done, judge.VolumeMoved); f == nil {
		t.Errorf("nothing says that the volume moved: %+v", done.Status.Findings)
	} else {
		mustSay(t, f.Message, first, second)
	}
	if f := finding(done, judge.IOErrors); f != nil {
		t.Errorf("an online move cost I/O: %s", f.Message)
	}
	c.cleanedUp(t, b)
}

// TestArrayThatRefusesIsExplained has what a real pod meets: a password that the array
// refuses, and a certificate that nobody trusts. What else may be wrong with an array is
// tested in test/lab/ontap, and what becomes of a run then in test/integration.
func TestArrayThatRefusesIsExplained(t *testing.T) {
	c := newCluster(t)
	w := newTwoNodes(t, "refuses", 233)
	ns := c.namespace(t)
	password := w.password(t, "nfsbench")
	c.secret(t, ns, arraySecret, "nfsbench", password)
	c.secret(t, ns, "wrong-password", "nfsbench", "not-the-password")
	untrusted := func(b *v1alpha1.NFSBenchmark) { b.Spec.Storage.Array.ONTAP.TLS.CABundle = "" }
	cases := map[string]struct {
		mods   []gen.Mod
		reason string
		word   string
	}{
		"wrong-password": {[]gen.Mod{w.asked("wrong-password")}, runfile.SurveyRefused, "user"},
		"untrusted":      {[]gen.Mod{w.asked(arraySecret), untrusted}, runfile.SurveyUntrusted, "caBundle"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := c.create(t, gen.Benchmark(name, append([]gen.Mod{gen.In(ns), w.export(), quick}, tc.mods...)...))
			failed := c.finished(t, b)
			wantFailure(t, failed, tc.reason, tc.word)
			cond := meta.FindStatusCondition(failed.Status.Conditions, v1alpha1.ConditionPreflightPassed)
			if cond == nil || cond.Status != metav1.ConditionFalse || cond.Reason != tc.reason {
				t.Errorf("PreflightPassed is %+v", cond)
			}
			c.cleanedUp(t, b)
		})
	}
	c.secretsStay(t.Context(), t, ns, password, "not-the-password")
}
