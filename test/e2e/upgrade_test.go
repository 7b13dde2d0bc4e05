package e2e

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/test/lab"
)

// throughUpgrades is a suite that is under way for longer than an upgrade and a
// rollback take.
const throughUpgrades = `
apiVersion: nfsbench.io/v1alpha1
kind: NFSBenchmarkSuite
metadata:
  name: through-upgrades
spec:
  template:
    spec:
      storage: {embedded: {size: 256Mi}}
      protocol: {version: NFSv3, client: DirectNFS}
      workload:
        raw: {pattern: Read, blockSize: 64Ki, fileSize: 8Mi}
      run: {durationSeconds: 5, warmupSeconds: 0, baselineSeconds: 0, cooldownSeconds: 0}
  axes:
  - name: depth
    values:
    - {name: one, patch: {workload: {raw: {depth: 1}}}}
    - {name: four, patch: {workload: {raw: {depth: 4}}}}
  repetitions: 6
  compare: {baseline: {depth: one}}
`

// TestUpgradeAndRollbackLoseNoRun upgrades from the previous release and rolls back
// with Helm, each time with a run under way, one in its queue and a suite. The charts,
// the CRDs, the roles and the images are those of each release. No other test runs
// beside it.
func TestUpgradeAndRollbackLoseNoRun(t *testing.T) {
	c := newCluster(t)
	needArgo(t)
	h := newHelm(t)
	h.installPrevious(t)

	ended := c.plot(t, 1)
	before := ended.succeeded(t, ended.run(t))
	resultBefore := c.results(t, before)
	w := c.suiteWorld(t)
	s := w.apply(t, throughUpgrades, lab.Array{})

	for _, step := range []struct {
		name   string
		change func(*testing.T)
	}{{"upgrade", h.upgrade}, {"rollback", h.rollBack}} {
		p := c.plot(t, 1)
		first := p.run(t, lasting(30))
		c.phase(t, first, v1alpha1.PhaseRunning, endsWithin)
		second := c.create(t, p.benchmark("second"))
		c.phase(t, second, v1alpha1.PhaseQueued, endsWithin)
		w.reaches(t, s, endsWithin, "a benchmark under way", func(s *v1alpha1.NFSBenchmarkSuite) bool {
			return s.Status.Run != nil && s.Status.Run.Current != ""
		})
		step.change(t)
		if now := c.get(t, first); now.Status.Phase != v1alpha1.PhaseRunning {
			t.Errorf("%s: the run is no longer under way: %s", step.name, state(now))
		}
		if now := w.suite(t, s); now.Status.Phase != v1alpha1.SuiteRunning {
			t.Errorf("%s: the suite is no longer under way: %s", step.name, suiteState(now))
		}
		firstDone, secondDone := c.undisturbed(t, first), c.undisturbed(t, second)
		c.transitionsOnce(t, firstDone, false, func(eventsv1.Event) bool { return true })
		if secondDone.Status.StartTime.Before(firstDone.Status.CompletionTime) {
			t.Errorf("%s: the second run started at %v, before the first ended at %v", step.name, secondDone.Status.StartTime, firstDone.Status.CompletionTime)
		}
		p.noFiles(t)
		sameEnd(t, step.name, before, c.get(t, before))
	}

	h.upgrade(t)
	if done := w.ends(t, s, 4*time.Minute); done.Status.Phase != v1alpha1.SuiteSucceeded {
		t.Errorf("the suite is %s", suiteState(done))
	}
	ranOnce(t, w.benchmarks(t, s), 2, 6)
	oneAtATime(t, w.benchmarks(t, s))
	if lines := w.table(t, s).Comparisons; len(lines) == 0 || lines[0].Cell != "four" || len(lines[0].Candidate) != 6 {
		t.Errorf("the runs of both releases are not compared: %+v", lines)
	}
	sameEnd(t, "the last upgrade", before, c.get(t, before))
	if now := c.results(t, before); !reflect.DeepEqual(now, resultBefore) {
		t.Error("the result of a benchmark that had ended is another one")
	}
}

// sameEnd demands that a manager of another release leaves what has ended alone.
func sameEnd(t *testing.T, after string, want, got *v1alpha1.NFSBenchmark) {
	t.Helper()
	if got.Status.Phase != want.Status.Phase || !got.Status.CompletionTime.Equal(want.Status.CompletionTime) ||
		got.Status.Validity != want.Status.Validity || got.Status.ResultRef == nil {
		t.Errorf("after %s a benchmark that had ended as %s is %s", after, state(want), state(got))
	}
}

// helm changes the release of the operator as an administrator does.
type helm struct {
	previous string // folder of the source of the previous release
	values   string // file with the values of this release
}

// newHelm notes the values of the release that is installed. At the end of the test
// that release is installed again.
func newHelm(t *testing.T) helm {
	t.Helper()
	h := helm{previous: os.Getenv("NFSBENCH_PREVIOUS"), values: filepath.Join(t.TempDir(), "values.yaml")}
	if h.previous == "" {
		t.Skip("needs the previous release and a cluster that takes its images: run `hack/test.sh upgrade` in a clone with history, which sets NFSBENCH_PREVIOUS")
	}
	out := h.run(t, "get", "values", "nfsbench", "--output=yaml")
	if err := os.WriteFile(h.values, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.upgrade(t) })
	return h
}

func (h helm) upgrade(t *testing.T) {
	t.Helper()
	h.run(t, "upgrade", "nfsbench", "../../charts/nfsbench", "--values", h.values, "--reset-values", "--wait", "--timeout=120s")
}

func (h helm) rollBack(t *testing.T) {
	t.Helper()
	h.run(t, "rollback", "nfsbench", "--wait", "--timeout=120s")
}

// installPrevious installs the previous release with its defaults.
func (h helm) installPrevious(t *testing.T) {
	t.Helper()
	h.run(t, "upgrade", "nfsbench", filepath.Join(h.previous, "charts", "nfsbench"), "--reset-values", "--wait", "--timeout=120s",
		"--set=image.manager.repository=nfsbench/manager,image.manager.tag=previous",
		"--set=image.nfsbench.repository=nfsbench/nfsbench,image.nfsbench.tag=previous",
		"--set=resources.requests.cpu=250m")
}

// run runs Helm and returns what it prints.
func (h helm) run(t *testing.T, args ...string) string {
	t.Helper()
	began := time.Now()
	args = append([]string{cmp.Or(os.Getenv("HELM"), "helm"), "--namespace=" + systemNamespace}, args...)
	cmd := exec.Command("../../hack/tool.sh", args...) // not bound to t.Context: it also runs after its end
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, &problems)
	}
	t.Logf("%s took %v", strings.Join(args, " "), time.Since(began).Round(time.Second))
	return string(out)
}
