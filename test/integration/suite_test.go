package integration

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

// deeper makes the cell high half as fast again as low, with a little noise.
func deeper(b *v1alpha1.NFSBenchmark) suiteEnding {
	n := int64(len(b.Name)+int(b.Labels[v1alpha1.LabelRepetition][0])) % 7
	if strings.Contains(b.Labels[v1alpha1.LabelCell], "high") {
		return suiteEnding{speed: 150e6 + n*100_000}
	}
	return suiteEnding{speed: 100e6 + n*100_000}
}

// small makes a suite of four benchmarks, without a question.
func small(s *v1alpha1.NFSBenchmarkSuite) { s.Spec.Repetitions, s.Spec.Compare = 2, nil }

// seeded gives suites of several worlds one order.
func seeded(s *v1alpha1.NFSBenchmarkSuite) { s.Spec.Seed = new(int64(7)) }

// record reads the record of a run as it is kept.
func (w *suiteWorld) record(run string) runfile.SuiteRun {
	w.Helper()
	cm := &corev1.ConfigMap{}
	if err := w.c.Get(w.Context(), client.ObjectKey{Namespace: w.ns, Name: run + "-record"}, cm); err != nil {
		w.Fatal(err)
	}
	f, err := runfile.ReadSuiteRun(bytes.NewReader(cm.BinaryData[runfile.KeySuiteRun]))
	if err != nil {
		w.Fatal(err)
	}
	return f
}

func TestASuiteRunsOnceAndAnswersItsQuestion(t *testing.T) {
	t.Parallel()
	w := newSuiteWorld(t)
	w.ends = deeper
	s := w.settle()
	if s.Status.Phase != v1alpha1.SuiteRunning || s.Status.Matrix == nil || s.Status.Matrix.Benchmarks != 8 || s.Status.Run == nil {
		t.Fatalf("at first: %+v", s.Status)
	}
	w.want(s, v1alpha1.ConditionMatrixValid, "True", v1alpha1.ReasonMatrixValid)
	w.want(s, v1alpha1.ConditionWorkflowsAvailable, "True", v1alpha1.ReasonArgoFound)
	for _, obj := range []client.Object{&corev1.ServiceAccount{}, &rbacv1.Role{}, &rbacv1.RoleBinding{}} {
		if err := w.c.Get(t.Context(), client.ObjectKey{Namespace: w.ns, Name: "depths-workflow"}, obj); err != nil {
			t.Error(err)
		} else if !metav1.IsControlledBy(obj, s) {
			t.Errorf("%T does not belong to the suite", obj)
		}
	}
	s = w.finished(3)
	if r := s.Status.Run; r.Percent < 37 || r.ETASeconds == nil || s.Status.Cells == nil {
		t.Errorf("under way: %+v", r)
	}
	w.says(s, "of 8 benchmarks finished")
	s = w.phase(v1alpha1.SuiteSucceeded)
	w.says(s, "% better than low in Throughput", "high", "p = 0.029")
	if c := s.Status.Comparisons; len(c) != 1 || c[0].Outcome != bench.OutcomeBetter || c[0].ImpactBasisPoints < 4900 || c[0].P != "0.028571" {
		t.Errorf("comparisons: %+v", c)
	}
	if r := s.Status.Run; r.Percent != 100 || r.Succeeded != 8 || r.CompletionTime == nil || s.Status.Verdict != v1alpha1.SuiteNotEvaluated {
		t.Errorf("at the end: %+v, verdict %s", r, s.Status.Verdict)
	}
	w.want(s, v1alpha1.ConditionReady, "True", v1alpha1.ReasonCompleted)
	f := w.record(s.Status.Run.Name)
	if f.Phase != "Succeeded" || len(f.Results) != 8 || len(f.Cells) != 2 || f.Settings.Compare.Baseline["depth"] != "low" {
		t.Errorf("record: %+v", f)
	}
	for i, r := range f.Results {
		if int(r.Position) != i+1 || len(r.Points) != 1 || r.Points[0].Metrics[bench.MetricThroughput] < 1e8 {
			t.Errorf("result %d: %+v", i, r)
		}
	}
	if got := strings.Join(w.rec.reasons(), " "); got != "Running Succeeded" {
		t.Errorf("events: %s", got)
	}
}

// TestAManagerThatIsKilledAfterEveryWriteComesToTheSameEnd never lets a manager
// live for longer than one write.
func TestAManagerThatIsKilledAfterEveryWriteComesToTheSameEnd(t *testing.T) {
	t.Parallel()
	var got []v1alpha1.NFSBenchmarkSuiteStatus
	for _, killed := range []bool{false, true} {
		w := newSuiteWorld(t, seeded)
		w.ends = deeper
		w.killed = killed
		w.restart()
		s := w.phase(v1alpha1.SuiteSucceeded)
		if n := len(w.objects("Workflow")); n != 1 {
			t.Errorf("killed %v: %d workflows", killed, n)
		}
		if n := len(w.benchmarks()); n != 8 {
			t.Errorf("killed %v: %d benchmarks", killed, n)
		}
		got = append(got, s.Status)
	}
	names := cmpopts.IgnoreFields(v1alpha1.SuiteRunStatus{}, "Name", "Workflow", "StartTime", "CompletionTime")
	if diff := cmp.Diff(got[0], got[1], names, cmpopts.IgnoreFields(v1alpha1.NFSBenchmarkSuiteStatus{}, "History", "ResultRef", "Matrix"),
		cmpopts.IgnoreFields(metav1.Condition{}, "LastTransitionTime")); diff != "" {
		t.Errorf("(-lived +killed):\n%s", diff)
	}
}

func TestAnErrorOfTheInfrastructureIsTriedAgainAndCountsOnce(t *testing.T) {
	t.Parallel()
	w := newSuiteWorld(t, small)
	w.ends = func(b *v1alpha1.NFSBenchmark) suiteEnding {
		if b.Labels[v1alpha1.LabelAttempt] == "0" && b.Labels[v1alpha1.LabelPosition] == "2" {
			return suiteEnding{fails: v1alpha1.ReasonPodLost, kind: v1alpha1.FailureInfrastructure}
		}
		return deeper(b)
	}
	s := w.phase(v1alpha1.SuiteSucceeded)
	if r := s.Status.Run; r.Retried != 1 || r.Succeeded != 4 || r.Failed != 0 || len(w.benchmarks()) != 5 {
		t.Errorf("%d benchmarks: %+v", len(w.benchmarks()), r)
	}
	if r := w.record(s.Status.Run.Name).Results[1]; r.Attempt != 1 || r.Phase != "Succeeded" {
		t.Errorf("the second is %+v", r)
	}
}

func TestABenchmarkThatFailsFailsTheSuiteAtItsEndOrAtOnce(t *testing.T) {
	t.Parallel()
	for fast, finished := range map[bool]int32{false: 4, true: 2} {
		w := newSuiteWorld(t, small, func(s *v1alpha1.NFSBenchmarkSuite) { s.Spec.FailFast = fast })
		w.ends = func(b *v1alpha1.NFSBenchmark) suiteEnding {
			if b.Labels[v1alpha1.LabelPosition] == "2" {
				return suiteEnding{fails: v1alpha1.ReasonContainerFailed, kind: v1alpha1.FailureBenchmark}
			}
			return deeper(b)
		}
		s := w.phase(v1alpha1.SuiteFailed)
		r := s.Status.Run
		if r.Finished != finished || r.Failed != 1 || len(r.Failures) != 1 ||
			!strings.HasPrefix(r.Failures[0].Message, v1alpha1.ReasonContainerFailed+": ") || len(w.benchmarks()) != int(finished) {
			t.Errorf("failFast %v: %+v", fast, r)
		}
		w.want(s, v1alpha1.ConditionStalled, "True", v1alpha1.ReasonBenchmarkFailed)
		w.says(s, fmt.Sprintf("%d of 4 benchmarks succeeded, 1 failed", finished-1), "ContainerFailed it is")
		if s.Status.Verdict != v1alpha1.SuiteInconclusive {
			t.Errorf("verdict %s", s.Status.Verdict)
		}
	}
}

func TestASuiteIsSuspendedAndGoesOn(t *testing.T) {
	t.Parallel()
	w := newSuiteWorld(t, small)
	w.finished(2)
	w.update(func(s *v1alpha1.NFSBenchmarkSuite) { s.Spec.Suspend = true })
	s := w.phase(v1alpha1.SuiteSuspended)
	w.says(s, "suspended after", "set spec.suspend to false")
	w.want(s, v1alpha1.ConditionReconciling, "False", v1alpha1.ReasonSuspended)
	before := len(w.benchmarks())
	for range 5 {
		w.settle()
		w.argo()
	}
	if n := len(w.benchmarks()); n != before || n == 4 {
		t.Errorf("%d benchmarks became %d while suspended", before, n)
	}
	w.update(func(s *v1alpha1.NFSBenchmarkSuite) { s.Spec.Suspend = false })
	if s := w.phase(v1alpha1.SuiteSucceeded); s.Status.Run.Succeeded != 4 {
		t.Errorf("%+v", s.Status.Run)
	}
}

func TestAStoppedSuiteCancelsWhatIsUnderWayAndKeepsTheRest(t *testing.T) {
	t.Parallel()
	w := newSuiteWorld(t, small)
	w.finished(2)
	w.until("one is under way", func(s *v1alpha1.NFSBenchmarkSuite) bool { return s.Status.Run.Current != "" })
	w.update(func(s *v1alpha1.NFSBenchmarkSuite) { s.Spec.Shutdown = v1alpha1.ShutdownStop })
	s := w.phase(v1alpha1.SuiteCancelled)
	if r := s.Status.Run; r.Succeeded < 2 || r.Failed != 1 || r.Succeeded == 4 {
		t.Errorf("%+v", r)
	}
	w.says(s, "stopped by spec.shutdown")
	last := w.benchmarks()[len(w.benchmarks())-1]
	if last.Status.Phase != v1alpha1.PhaseCancelled || !last.Spec.Suspend {
		t.Errorf("the last benchmark is %s", last.Status.Phase)
	}
	if w.rec.count("BenchmarkStopped") == 0 {
		t.Errorf("events: %v", w.rec.reasons())
	}
}

func TestAFailedRunIsGoneOnWithWithoutWhatHasSucceeded(t *testing.T) {
	t.Parallel()
	w := newSuiteWorld(t, small)
	bad := true
	w.ends = func(b *v1alpha1.NFSBenchmark) suiteEnding {
		if bad && b.Labels[v1alpha1.LabelPosition] == "3" {
			return suiteEnding{fails: "IOError", kind: v1alpha1.FailureBenchmark}
		}
		return deeper(b)
	}
	failed := w.phase(v1alpha1.SuiteFailed)
	bad = false
	w.annotate(v1alpha1.AnnotationResubmit, "1")
	s := w.phase(v1alpha1.SuiteSucceeded)
	run := failed.Status.Run.Name
	if s.Status.Run.Name != run || s.Status.Run.Workflow != run+"-2" || s.Status.Run.Succeeded != 4 || len(w.benchmarks()) != 5 {
		t.Errorf("%d benchmarks: %+v", len(w.benchmarks()), s.Status.Run)
	}
	if h := s.Status.Handled; h == nil || h.Resubmit != "1" {
		t.Errorf("handled: %+v", h)
	}
	w.annotate(v1alpha1.AnnotationResubmit, "2") // there is nothing to go on with
	if s = w.settle(); s.Status.Phase != v1alpha1.SuiteSucceeded || s.Status.Handled.Resubmit != "2" || len(w.objects("Workflow")) != 2 {
		t.Errorf("%s, %+v", s.Status.Phase, s.Status.Handled)
	}
}

// TestADeletedWorkflowFailsTheSuiteAndItsResultsStay kills the manager at each
// write too.
func TestADeletedWorkflowFailsTheSuiteAndItsResultsStay(t *testing.T) {
	t.Parallel()
	w := newSuiteWorld(t)
	w.ends, w.killed = deeper, true
	w.restart()
	w.finished(5)
	w.step(time.Minute)
	before := w.settle() // the record is written
	wf := w.objects("Workflow")[0]
	if err := w.c.Delete(t.Context(), &wf); err != nil {
		t.Fatal(err)
	}
	s := w.phase(v1alpha1.SuiteFailed)
	w.want(s, v1alpha1.ConditionStalled, "True", v1alpha1.ReasonWorkflowMissing)
	w.says(s, "was deleted", v1alpha1.AnnotationResubmit)
	if s.Status.Run.Succeeded != before.Status.Run.Succeeded || len(s.Status.Cells) == 0 || len(w.objects("Workflow")) != 0 {
		t.Errorf("after the deletion: %+v", s.Status.Run)
	}
	w.annotate(v1alpha1.AnnotationResubmit, "1")
	s = w.phase(v1alpha1.SuiteSucceeded)
	if n := len(w.benchmarks()); s.Status.Run.Succeeded != 8 || n > 3 {
		t.Errorf("%d more benchmarks, %+v", n, s.Status.Run)
	}
	table := compare.Run(compare.Request{Run: new(w.record(s.Status.Run.Name))})
	if c := s.Status.Comparisons; len(c) != 1 || len(table.Comparisons[0].Impacts) != 4 || c[0].Outcome != bench.OutcomeBetter {
		t.Errorf("comparisons: %+v", c)
	}
}

func TestARerunIsAnotherRunBesideTheFirst(t *testing.T) {
	t.Parallel()
	w := newSuiteWorld(t, small, func(s *v1alpha1.NFSBenchmarkSuite) {
		s.Annotations = map[string]string{v1alpha1.AnnotationResubmit: "old"}
	})
	first := w.finished(2)
	w.annotate(v1alpha1.AnnotationRerun, "2026-11-22") // waits for the end of the first
	s := w.until("the first ends", func(s *v1alpha1.NFSBenchmarkSuite) bool { return len(s.Status.History) == 1 })
	if h := s.Status.History[0]; h.Run != first.Status.Run.Name || h.Phase != v1alpha1.SuiteSucceeded {
		t.Errorf("history: %+v", h)
	}
	s = w.until("the second ends", func(s *v1alpha1.NFSBenchmarkSuite) bool { return len(s.Status.History) == 2 })
	if s.Status.Run.Name == first.Status.Run.Name || s.Status.Run.Succeeded != 4 || len(w.benchmarks()) != 8 {
		t.Errorf("%d benchmarks, %+v", len(w.benchmarks()), s.Status.Run)
	}
	if h := s.Status.Handled; h == nil || h.Rerun != "2026-11-22" || h.Resubmit != "old" {
		t.Errorf("handled: %+v", h)
	}
	if w.settle(); len(w.objects("Workflow")) != 2 {
		t.Errorf("%d workflows", len(w.objects("Workflow")))
	}
}

func TestTheNumbersStayWhenTheWorkflowGoes(t *testing.T) {
	t.Parallel()
	w := newSuiteWorld(t)
	w.ends = deeper
	before := w.phase(v1alpha1.SuiteSucceeded)
	wf := w.objects("Workflow")[0] // ttlSecondsAfterFinished
	if err := w.c.Delete(t.Context(), &wf); err != nil {
		t.Fatal(err)
	}
	for did := "-"; did != ""; {
		did = w.argo()
	}
	if n := len(w.benchmarks()); n != 0 {
		t.Fatalf("%d benchmarks are left", n)
	}
	w.restart()
	after := w.settle()
	if diff := cmp.Diff(before.Status, after.Status); diff != "" {
		t.Errorf("the status changed:\n%s", diff)
	}
	if len(w.objects("Workflow")) != 0 {
		t.Error("it runs again")
	}
}

func TestAnInvalidMatrixRunsNothing(t *testing.T) {
	t.Parallel()
	w := newSuiteWorld(t, func(s *v1alpha1.NFSBenchmarkSuite) {
		s.Spec.Axes[0].Values[1].Patch.Raw = []byte(`{"workload":{"raw":{"depth":-1}}}`)
	})
	s := w.settle()
	w.want(s, v1alpha1.ConditionMatrixValid, "False", v1alpha1.ReasonInvalidSpec)
	w.want(s, v1alpha1.ConditionStalled, "True", v1alpha1.ReasonInvalidSpec)
	w.says(s, "depth", "high")
	if s.Status.Phase != v1alpha1.SuiteFailed || len(w.objects("Workflow")) != 0 {
		t.Errorf("phase %s, %d workflows", s.Status.Phase, len(w.objects("Workflow")))
	}
	if w.rec.count(v1alpha1.ReasonInvalidSpec) != 1 {
		t.Errorf("events: %v", w.rec.events)
	}
}

// TestASuiteWaitsUntilArgoIsInstalled is the only one that takes Argo's kinds away;
// the others are parallel, and begin when it has ended.
func TestASuiteWaitsUntilArgoIsInstalled(t *testing.T) { //nolint:paralleltest // see above
	c := apiClient(t)
	uninstallArgo(t)
	w := suiteWorldOn(t, c, small)
	s := w.settle()
	w.want(s, v1alpha1.ConditionWorkflowsAvailable, "False", v1alpha1.ReasonArgoMissing)
	w.want(s, v1alpha1.ConditionReconciling, "True", v1alpha1.ReasonArgoMissing)
	w.says(s, "Argo Workflows is not installed", "install v4.0 or newer")
	if s.Status.Phase != v1alpha1.SuitePending {
		t.Errorf("phase %s", s.Status.Phase)
	}
	installArgo(t)
	s = w.settle()
	w.want(s, v1alpha1.ConditionWorkflowsAvailable, "True", v1alpha1.ReasonArgoFound)
	if s.Status.Phase != v1alpha1.SuiteRunning {
		t.Fatalf("phase %s: %s", s.Status.Phase, s.Status.Message)
	}
	w.step(2 * time.Minute) // and nobody acts on the workflow
	s = w.settle()
	w.want(s, v1alpha1.ConditionWorkflowsAvailable, "False", v1alpha1.ReasonArgoSilent)
	w.says(s, "workflow-controller", w.ns)
	if s = w.phase(v1alpha1.SuiteSucceeded); s.Status.Run.Succeeded != 4 {
		t.Errorf("%+v", s.Status.Run)
	}
}

func TestAWorkflowOfSomebodyElseIsNotTakenOver(t *testing.T) {
	t.Parallel()
	w := newSuiteWorld(t, gen.Scheduled("0 2 * * 0", 2))
	other := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"theirs": true}}}
	other.SetAPIVersion("argoproj.io/v1alpha1")
	other.SetKind("CronWorkflow")
	other.SetNamespace(w.ns)
	other.SetName(w.name)
	if err := w.c.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	s := w.settle()
	w.want(s, v1alpha1.ConditionStalled, "True", v1alpha1.ReasonNameTaken)
	w.says(s, "CronWorkflow", "give the suite another name")
}
