package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/test/lab/ganesha"
)

// short is a suite on an embedded server. %s is what else its spec says; cells are
// a, b and c, and b fails where its patch is given.
const short = `
apiVersion: nfsbench.io/v1alpha1
kind: NFSBenchmarkSuite
metadata:
  name: short
spec:
  template:
    spec:
      storage: {embedded: {size: 256Mi}}
      protocol: {version: NFSv3, client: DirectNFS}
      workload:
        raw: {pattern: Read, blockSize: 64Ki, fileSize: 8Mi}
      run: {durationSeconds: 2, warmupSeconds: 0, baselineSeconds: 0, cooldownSeconds: 0}
  axes:
  - name: cell
    values:
    - {name: a}
    - %s
    - {name: c}
  repetitions: 1
  order: Sequential
  %s
`

// A benchmark that fails by itself: nobody has its class.
const (
	good = `{name: b}`
	bad  = `{name: b, patch: {storage: {embedded: null, storageClass: {name: absent, size: 1Gi}}}}`
)

func (w *suiteWorld) short(t *testing.T, b, spec string) *v1alpha1.NFSBenchmarkSuite {
	t.Helper()
	return w.apply(t, fmt.Sprintf(short, b, spec), ganesha.Array{})
}

// TestSuiteGoesOnAfterAFailureUnlessItIsToFailFast has a cell in the middle that
// fails by itself, which is no reason to try it again.
func TestSuiteGoesOnAfterAFailureUnlessItIsToFailFast(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		failFast string
		phases   []v1alpha1.Phase
	}{
		"goes on":   {"failFast: false", []v1alpha1.Phase{v1alpha1.PhaseSucceeded, v1alpha1.PhaseFailed, v1alpha1.PhaseSucceeded}},
		"fail fast": {"failFast: true", []v1alpha1.Phase{v1alpha1.PhaseSucceeded, v1alpha1.PhaseFailed}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newSuiteWorld(t)
			s := w.short(t, bad, tc.failFast)
			done := w.ends(t, s)
			var got []v1alpha1.Phase
			for _, b := range w.benchmarks(t, s) {
				got = append(got, b.Status.Phase)
				if b.Labels[v1alpha1.LabelAttempt] != "0" {
					t.Errorf("%s was tried again: %s", b.Name, state(&b))
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(tc.phases) {
				t.Errorf("benchmarks: %v, want %v", got, tc.phases)
			}
			r := done.Status.Run
			if done.Status.Phase != v1alpha1.SuiteFailed || r.Failed != 1 || len(r.Failures) != 1 ||
				!strings.Contains(r.Failures[0].Benchmark, "-b-") || r.Failures[0].Message == "" {
				t.Errorf("status: %s, %+v", suiteState(done), r)
			}
			if !meta.IsStatusConditionTrue(done.Status.Conditions, v1alpha1.ConditionStalled) {
				t.Errorf("a failed suite is not stalled: %+v", done.Status.Conditions)
			}
			mustSay(t, done.Status.Message, "b")
		})
	}
}

// TestSuiteIsSuspendedResumedStoppedAndResubmitted goes through what a user may do
// with a suite under way, and ends with every cell done once.
func TestSuiteIsSuspendedResumedStoppedAndResubmitted(t *testing.T) {
	w := newSuiteWorld(t)
	s := w.short(t, good, "failFast: false")
	running := func(s *v1alpha1.NFSBenchmarkSuite) bool { return s.Status.Run != nil && s.Status.Run.Current != "" }
	w.reaches(t, s, "a benchmark under way", running)

	w.patchSuite(t, s, `{"spec":{"suspend":true}}`)
	held := w.reaches(t, s, "phase Suspended with nothing under way", func(s *v1alpha1.NFSBenchmarkSuite) bool {
		return s.Status.Phase == v1alpha1.SuiteSuspended && s.Status.Run.Current == ""
	})
	// Argo begins the next step when it sees the end of the one before.
	poll(t, func() (bool, string) {
		phases := w.stepPhases(t, s)
		return !slices.ContainsFunc(phases, func(p string) bool { return p != "Succeeded" }), fmt.Sprintf("Argo has not seen the end: %v", phases)
	})
	if n := len(w.benchmarks(t, s)); int32(n) != held.Status.Run.Finished || n == 3 {
		t.Errorf("%d benchmarks of a suspended suite, %d finished", n, held.Status.Run.Finished)
	}
	w.patchSuite(t, s, `{"spec":{"suspend":false}}`)
	w.reaches(t, s, "the second benchmark under way", func(s *v1alpha1.NFSBenchmarkSuite) bool {
		return running(s) && s.Status.Run.Finished >= 1
	})

	w.patchSuite(t, s, `{"spec":{"shutdown":"Stop"}}`)
	stopped := w.ends(t, s)
	if stopped.Status.Phase != v1alpha1.SuiteCancelled {
		t.Errorf("a stopped suite is %s", suiteState(stopped))
	}
	poll(t, func() (bool, string) {
		for _, b := range w.benchmarks(t, s) {
			// One that had not begun is held back, and has nothing to show.
			held := b.Status.Phase == v1alpha1.PhasePending && b.Spec.Suspend
			if !b.Status.Phase.IsFinished() && !held {
				return false, b.Name + " goes on: " + state(&b)
			}
		}
		return true, ""
	})

	w.patchSuite(t, s, `{"spec":{"shutdown":null},"metadata":{"annotations":{"nfsbench.io/resubmit":"again"}}}`)
	poll(t, func() (bool, string) {
		now := w.suite(t, s)
		return now.Status.Phase != v1alpha1.SuiteCancelled, "not running again: " + suiteState(now)
	})
	done := w.ends(t, s)
	succeeded := map[string]int{}
	for _, b := range w.benchmarks(t, s) {
		if b.Status.Phase == v1alpha1.PhaseSucceeded {
			succeeded[b.Labels[v1alpha1.LabelCell]]++
		}
	}
	if done.Status.Phase != v1alpha1.SuiteSucceeded || fmt.Sprint(succeeded) != "map[a:1 b:1 c:1]" {
		t.Errorf("%s; succeeded: %v", suiteState(done), succeeded)
	}
	if n := len(w.workflows(t, s)); n != 2 {
		t.Errorf("%d workflows, not the first and its resubmission", n)
	}
}

// stepPhases are those that Argo has recorded of the steps that it has begun.
func (w *suiteWorld) stepPhases(t *testing.T, s *v1alpha1.NFSBenchmarkSuite) []string {
	t.Helper()
	var phases []string
	for _, wf := range w.workflows(t, s) {
		nodes, _, err := unstructured.NestedMap(wf.Object, "status", "nodes")
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range nodes {
			if node, ok := n.(map[string]any); ok && node["type"] == "Pod" {
				phases = append(phases, fmt.Sprint(node["phase"]))
			}
		}
	}
	return phases
}

// TestSuiteThatIsDeletedUnderWayLeavesNothing deletes it while a benchmark runs;
// that nothing is left is demanded by every test of suites.
func TestSuiteThatIsDeletedUnderWayLeavesNothing(t *testing.T) {
	w := newSuiteWorld(t)
	s := w.short(t, good, "failFast: false")
	w.reaches(t, s, "a benchmark under way", func(s *v1alpha1.NFSBenchmarkSuite) bool {
		return s.Status.Run != nil && s.Status.Run.Current != ""
	})
	if err := w.Delete(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	poll(t, func() (bool, string) {
		left := w.remains(t.Context(), t)
		return len(left) == 0, "left: " + strings.Join(left, ", ")
	})
}
