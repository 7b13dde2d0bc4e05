package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

// The tests of this file are those that `make test` runs: one of each kind of work
// that the operator does.

// TestGateRawBenchmarkOverTwoLIFs runs one benchmark against an NFS server outside of
// the cluster, and looks at all that its user gets.
func TestGateRawBenchmarkOverTwoLIFs(t *testing.T) {
	p := newPlot(t, 2)
	least := int32(10) // a verdict of Pass on a machine that is nine times slower, too
	b := p.create(t, p.benchmark("two-lifs", gen.Link("100M", 1500), func(b *v1alpha1.NFSBenchmark) {
		// What is under way at both ends of the window is little of what it carries.
		w := b.Spec.Workload.Raw
		w.Jobs, w.Depth, w.BlockSize = 4, 1, new(resource.MustParse("256Ki"))
		b.Spec.Expect = &bench.Expect{MinWirePercent: &least}
	}))
	done := p.succeeded(t, b)
	t.Run("the numbers are honest", func(t *testing.T) { honest(t, done, 2*100e6) })
	t.Run("both paths carry bytes", func(t *testing.T) { balanced(t, done, 2) })
	t.Run("blocks were verified", func(t *testing.T) { verified(t, done) })
	t.Run("bytes were read", func(t *testing.T) { directions(t, done, true, false) })
	t.Run("the status shows the oranfstab", func(t *testing.T) { usedOranfstab(t, done, p.array) })
	t.Run("the result file is what its schema says", func(t *testing.T) { validResult(t, p.cluster, done) })
	// As TestDemoGivesANumberToBelieve says, its status may never say Running.
	t.Run("each transition has an event", func(t *testing.T) { hasEvents(t, p.cluster, done, "Preparing", "Succeeded") })
	t.Run("nothing but the result stays", func(t *testing.T) { resultStays(t, p.cluster, done); p.noFiles(t) })
}

// TestGateDeniedExportIsExplained runs on an export whose policy has no rule for the
// client.
func TestGateDeniedExportIsExplained(t *testing.T) {
	p := newPlot(t, 1)
	b := p.run(t, gen.Export(p.denied, p.lifs...))
	failed := p.finished(t, b)
	wantFailure(t, failed, runfile.FailureAccessDenied, p.denied, "export policy")
	p.cleanedUp(t, b)
	hasEvents(t, p.cluster, failed, "Failed")
	out, err := kubectl(t, "", "-n", p.ns, "get", "nfsb", b.Name, "-o", "wide")
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	mustSay(t, out, "Failed", p.denied)
}

// TestGateDeletingARunningBenchmarkLeavesNothing deletes a benchmark under load. Its window is
// long, so that the test can look at the pod before.
func TestGateDeletingARunningBenchmarkLeavesNothing(t *testing.T) {
	p := newPlot(t, 1)
	b := p.run(t, lasting(120))
	running := p.phase(t, b, v1alpha1.PhaseRunning)
	t.Run("the collector may touch one object only", func(t *testing.T) { oneObjectOnly(t, p.cluster, running) })
	t.Run("the loader has no token", func(t *testing.T) { noToken(t, p.cluster, running) })
	t.Run("the transition has an event", func(t *testing.T) {
		poll(t, func() (bool, string) { // the event comes after the status
			got := p.eventReasons(t, b)
			return slices.Contains(got, "Running"), fmt.Sprintf("no event Running among %v", got)
		})
	})
	haveFiles(t, p.array, p.ns)
	p.gone(t, b)
	p.noFiles(t)
}

// TestGateManagerKilledInMidRunLosesNothing ends every manager without warning while
// a load runs. The run must not notice: its one pod is the same from its beginning to
// its end. No other test runs beside it: one that looks at the phases of a short run
// would miss those in which nobody leads.
func TestGateManagerKilledInMidRunLosesNothing(t *testing.T) {
	p := newCluster(t).plot(t, 1)
	b := p.run(t, lasting(10))
	p.watch(t, b, "a load that runs", func(b *v1alpha1.NFSBenchmark) bool { // a slow machine may look after its end only
		return b.Status.Phase == v1alpha1.PhaseRunning || b.Status.Phase.IsFinished()
	})
	killed := time.Now()
	p.killManager(t)
	done := p.undisturbed(t, b)
	load := p.results(t, done)[0].Clients[0].Load
	if start := load.Spans[0].Start; start.After(killed) {
		t.Errorf("the load began at %v, and the managers were killed at %v, when it ran: it ran twice", start, killed)
	}
	p.noFiles(t)
}

// TestGateOracleOverFourPaths runs a load with one user and then with four in the
// stand-in for Oracle, with its own NFS client.
func TestGateOracleOverFourPaths(t *testing.T) {
	w := newOracleWorld(t, 4)
	w.volume(t, "wide", w.lifs[0])
	b := w.ran(t, w.database("ramp", "wide", w.over(w.lifs...), slob(func(s *bench.SLOBWorkload) { s.Users = []int32{1, 4} })))
	proven(t, b, w.lifs...)
	if len(b.Status.Steps) != 2 || b.Status.Steps[0].Users != 1 || b.Status.Steps[1].Users != 4 {
		t.Errorf("steps %+v; want one user, then four", b.Status.Steps)
	}
	if res, _ := judged(t, b); res.Clients[0].Load.Oracle.ReadyMilliseconds == nil {
		t.Error("the result does not say how long the database took to be created")
	}
	s := b.Status.Summary
	if s.MeanLatencyMicroseconds == nil || *s.MeanLatencyMicroseconds <= 0 || s.P99LatencyMicroseconds == nil {
		t.Errorf("latency of db file sequential read: %+v", s)
	}
	w.secretsStay(t.Context(), t, w.ns, "first-Pa55word")
}

// twoLinks has two clients of one server, one of which has half of the link. Two repetitions
// are the fewest that can be compared: p is 0.33 at least, so alpha is above.
const twoLinks = `
apiVersion: nfsbench.io/v1alpha1
kind: NFSBenchmarkSuite
metadata:
  name: two-links
spec:
  template:
    spec:
      storage:
        export: {servers: ["$1"], path: $export}
      protocol: {version: NFSv3, client: DirectNFS}
      workload:
        raw: {pattern: Read, blockSize: 1Mi, fileSize: 4Mi, depth: 2}
      run: {durationSeconds: 2, warmupSeconds: 1, baselineSeconds: 0, cooldownSeconds: 0}
  axes:
  - name: link
    values:
    - {name: whole}
    - {name: half, patch: {storage: {export: {servers: ["$2"]}}}}
  repetitions: 2
  compare:
    baseline: {link: whole}
    alpha: "0.34"
    metrics: [Throughput]
`

// TestGateSuiteComparesTwoLinks runs a suite on the real Argo Workflows, to its
// comparison.
func TestGateSuiteComparesTwoLinks(t *testing.T) {
	w := newSuiteWorld(t)
	s := w.apply(t, twoLinks, w.array(t, "gate", 225, "100mbit", "50mbit"))
	done := w.ends(t, s)
	all := w.benchmarks(t, s)
	ranOnce(t, all, 2, 2)
	oneAtATime(t, all)
	if done.Status.Phase != v1alpha1.SuiteSucceeded || !meta.IsStatusConditionTrue(done.Status.Conditions, v1alpha1.ConditionReady) {
		t.Errorf("the suite is %s", suiteState(done))
	}
	w.sameAsComputed(t, done, map[string][]bench.Outcome{"half": {bench.OutcomeWorse}})
	if pairs := len(w.table(t, done).Comparisons[0].Impacts); pairs != 2 {
		t.Errorf("%d pairs were compared, not 2", pairs)
	}
	if done.Status.ResultRef == nil {
		t.Error("the suite has no record")
	}
}
