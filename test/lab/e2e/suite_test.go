package e2e

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/test/kit/measure"
)

// shortRamp is the experiment of config/samples/nfs-vs-dnfs, shortened: two kinds of
// client, two numbers of users, three repetitions, which are the fewest that can carry a
// claim. The kinds are Direct NFS over one path and over two, because the kernel of most
// test machines has no NFS client; TestKernelNodeSuite compares the original's.
const shortRamp = `
apiVersion: nfsbench.io/v1alpha1
kind: NFSBenchmarkSuite
metadata:
  name: nfs-vs-dnfs
spec:
  template:
    spec:
      storage:
        export: {servers: ["$1", "$2"], path: $export}
      protocol:
        version: NFSv3
        client: DirectNFS
        link: {bitsPerSecond: 100M}
      workload:
        raw: {pattern: RandomRead, blockSize: 8Ki, fileSize: 4Mi, jobs: 1, depth: 1}
      run: {durationSeconds: 3, warmupSeconds: 1, baselineSeconds: 0, cooldownSeconds: 0}
  axes:
  - name: client
    values:
    - {name: one-path, patch: {protocol: {paths: {select: Explicit, explicit: [{path: "$1"}]}}}}
    - {name: two-paths}
  - name: users
    values:
    - {name: "1", patch: {workload: {raw: {jobs: 1}}}}
    - {name: "8", patch: {workload: {raw: {jobs: 8}}}}
  repetitions: 3
  seed: 2
  compare:
    baseline: {client: one-path}
    alpha: "0.11"
    correction: None
`

// TestSuiteRunsInterleaved kills the controller of Argo in the middle of a run
// of 12 benchmarks. Managers are killed in TestFaultsOfTwoManagersDisturbNoRun.
func TestSuiteRunsInterleaved(t *testing.T) {
	w := newSuiteWorld(t)
	s := w.apply(t, shortRamp, w.array(t, "ramp", 226, "100mbit", "100mbit"))
	finished := func(n int32) func(*v1alpha1.NFSBenchmarkSuite) bool {
		return func(s *v1alpha1.NFSBenchmarkSuite) bool { return s.Status.Run != nil && s.Status.Run.Finished >= n }
	}
	w.reaches(t, s, "4 benchmarks", finished(4))
	for _, pid := range processesOf(t, w.argo(t), "workflow-controller\x00") {
		send(t, pid, syscall.SIGKILL)
	}
	done := w.ends(t, s)

	all := w.benchmarks(t, s)
	t.Run("each cell and repetition ran once", func(t *testing.T) { ranOnce(t, all, 4, 3) })
	t.Run("one at a time, in the order that was made", func(t *testing.T) { oneAtATime(t, all) })
	t.Run("interleaved", func(t *testing.T) { interleaved(t, all, 4) })
	t.Run("the status has the table", func(t *testing.T) { w.seedTable(t, done) })
	t.Run("kubectl shows it on one line", func(t *testing.T) {
		out, err := kubectl(t, "", "-n", w.ns, "get", "nfsbs", s.Name)
		if err != nil {
			t.Fatal(err)
		}
		mustSay(t, out, "PHASE", "VERDICT", "CELLS", "Succeeded", "12")
	})
}

// ranOnce demands one benchmark for each cell and repetition, all well.
func ranOnce(t *testing.T, all []v1alpha1.NFSBenchmark, cells, repetitions int) {
	t.Helper()
	seen := map[string]int{}
	names := map[string]bool{}
	for _, b := range all {
		seen[b.Labels[v1alpha1.LabelCell]+" "+b.Labels[v1alpha1.LabelRepetition]]++
		names[b.Labels[v1alpha1.LabelCell]] = true
		if b.Status.Phase != v1alpha1.PhaseSucceeded {
			t.Errorf("%s is %s", b.Name, state(&b))
		}
	}
	if len(names) != cells || len(seen) != cells*repetitions || len(all) != len(seen) {
		t.Errorf("%d benchmarks of %d cells, %d different ones: %v", len(all), len(names), len(seen), seen)
	}
}

// oneAtATime demands that no two ran at once, and that they ran by position.
func oneAtATime(t *testing.T, all []v1alpha1.NFSBenchmark) {
	t.Helper()
	for i, b := range all {
		if position(t, b) != i+1 {
			t.Errorf("benchmark %d has position %d", i+1, position(t, b))
		}
		if i == 0 || b.Status.StartTime == nil || all[i-1].Status.CompletionTime == nil {
			continue
		}
		if b.Status.StartTime.Before(all[i-1].Status.CompletionTime) {
			t.Errorf("%s began at %v, before the end of %s at %v", b.Name, b.Status.StartTime, all[i-1].Name, all[i-1].Status.CompletionTime)
		}
	}
}

// interleaved demands that each round holds each cell once, and that rounds
// differ in order.
func interleaved(t *testing.T, all []v1alpha1.NFSBenchmark, cells int) {
	t.Helper()
	var orders []string
	for round := range slices.Chunk(all, cells) {
		seen := map[string]bool{}
		var order []string
		for _, b := range round {
			cell := b.Labels[v1alpha1.LabelCell]
			seen[cell] = true
			order = append(order, cell)
		}
		if len(seen) != cells {
			t.Errorf("a round holds %d of %d cells: %v", len(seen), cells, order)
		}
		orders = append(orders, strings.Join(order, " "))
	}
	slices.Sort(orders)
	if len(slices.Compact(orders)) < 2 {
		t.Errorf("all rounds have one order: %v", orders)
	}
}

// seedTable demands the comparison in the shape of the seed's table. Eight users fill one path
// of 100 Mbit/s and not two.
func (w *suiteWorld) seedTable(t *testing.T, s *v1alpha1.NFSBenchmarkSuite) {
	t.Helper()
	if s.Status.Phase != v1alpha1.SuiteSucceeded || !meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionReady) {
		t.Errorf("the suite is %s", suiteState(s))
	}
	if s.Status.Matrix == nil || s.Status.Matrix.Cells != 4 || s.Status.Matrix.Benchmarks != 12 {
		t.Errorf("matrix: %+v", s.Status.Matrix)
	}
	if len(s.Status.Cells) != 8 || len(s.Status.Comparisons) != 4 {
		t.Errorf("%d cells and %d comparisons, not 8 and 4", len(s.Status.Cells), len(s.Status.Comparisons))
	}
	for _, line := range w.table(t, s).Comparisons {
		t.Logf("%-12s %-12s avg %7.0f %-4s impact %6.2f %% min %6.2f max %6.2f %s", line.Cell, line.Metric, line.Mean, line.Unit,
			line.Impact*100, line.ImpactMinimum*100, line.ImpactMaximum*100, line.Outcome)
		if len(line.Impacts) != 3 || line.P == nil || line.Shift == nil || line.ImpactMinimum > line.Impact || line.ImpactMaximum < line.Impact {
			t.Errorf("line is not whole: %+v", line)
		}
		if line.Cell == "two-paths-8" {
			measure.Outcome(t, line.Metric+" of eight users over two paths", string(line.Outcome), string(bench.OutcomeBetter))
		}
	}
	if s.Status.ResultRef == nil || s.Status.Message == "" {
		t.Errorf("no record or no message: %+v %q", s.Status.ResultRef, s.Status.Message)
	}
}
