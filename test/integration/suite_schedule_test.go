package integration

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/pass"
	"github.com/nfsbench/nfsbench/test/gen"
)

// fire starts the next run of the schedule, as Argo does when it is due. It gives
// the name of the run.
func (w *suiteWorld) fire() string {
	w.Helper()
	cron := w.cron()
	w.schedule++
	wf := &unstructured.Unstructured{Object: map[string]any{}}
	wf.SetAPIVersion("argoproj.io/v1alpha1")
	wf.SetKind("Workflow")
	wf.SetNamespace(w.ns)
	wf.SetName(w.name + "-" + strconv.Itoa(1_000_000_000+w.schedule))
	labels, _, _ := unstructured.NestedStringMap(cron.Object, "spec", "workflowMetadata", "labels")
	wf.SetLabels(labels)
	wf.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(cron, cron.GroupVersionKind())})
	spec, _, _ := unstructured.NestedMap(cron.Object, "spec", "workflowSpec")
	wf.Object["spec"] = runtime.DeepCopyJSON(spec)
	if err := w.c.Create(w.Context(), wf); err != nil {
		w.Fatal(err)
	}
	return wf.GetName()
}

func (w *suiteWorld) cron() *unstructured.Unstructured {
	w.Helper()
	all := w.objects("CronWorkflow")
	if len(all) != 1 {
		w.Fatalf("%d CronWorkflows", len(all))
	}
	return &all[0]
}

// scheduledRun lets one run of the schedule come to its end.
func (w *suiteWorld) scheduledRun() (string, *v1alpha1.NFSBenchmarkSuite) {
	w.Helper()
	name := w.fire()
	w.until("run "+name+" ends", func(s *v1alpha1.NFSBenchmarkSuite) bool {
		return len(s.Status.History) > 0 && s.Status.History[0].Run == name
	})
	return name, w.settle()
}

// reaching lets all benchmarks reach a throughput, in MB/s, with a little noise.
func reaching(speed *int64) func(*v1alpha1.NFSBenchmark) suiteEnding {
	return func(b *v1alpha1.NFSBenchmark) suiteEnding {
		n, _ := strconv.ParseInt(b.Labels[v1alpha1.LabelPosition], 10, 64)
		return suiteEnding{speed: *speed*1e6 + n*1000}
	}
}

func oneCell(s *v1alpha1.NFSBenchmarkSuite) {
	s.Spec.Axes, s.Spec.Compare, s.Spec.Repetitions = nil, nil, 4
	s.Spec.Regression = &v1alpha1.Regression{Significance: v1alpha1.Significance{Metrics: []bench.Metric{bench.MetricThroughput}}}
}

func TestAScheduleKeepsItsHistoryAndFindsARegression(t *testing.T) {
	t.Parallel()
	w := newSuiteWorld(t, oneCell, gen.Scheduled("0 2 * * 0", 2))
	speed := int64(100)
	w.ends = reaching(&speed)
	s := w.settle()
	w.want(s, v1alpha1.ConditionReady, "True", v1alpha1.ReasonScheduled)
	w.says(s, "waits for its time", "0 2 * * 0")
	if s.Status.Phase != v1alpha1.SuiteScheduled {
		t.Fatalf("phase %s", s.Status.Phase)
	}
	var runs []string
	for range 3 {
		name, s := w.scheduledRun()
		runs = append(runs, name)
		if s.Status.Verdict == v1alpha1.SuiteRegressed || s.Status.Phase != v1alpha1.SuiteScheduled {
			t.Errorf("run %s: phase %s, verdict %s", name, s.Status.Phase, s.Status.Verdict)
		}
	}
	s = w.get()
	var kept []string
	for _, h := range s.Status.History {
		kept = append(kept, h.Run)
	}
	if want := []string{runs[2], runs[1], runs[0]}; !slices.Equal(kept, want) || !s.Status.History[2].Accepted {
		t.Errorf("history %q, want %q with the last one accepted", kept, want)
	}
	if n := len(w.objects("Workflow")); n != 2 {
		t.Errorf("%d workflows are kept of 2", n)
	}
	speed = 80
	worse, s := w.scheduledRun()
	w.want(s, v1alpha1.ConditionReady, "False", string(v1alpha1.SuiteRegressed))
	w.want(s, v1alpha1.ConditionStalled, "True", string(v1alpha1.SuiteRegressed))
	if g := s.Status.Regression; s.Status.Verdict != v1alpha1.SuiteRegressed || g == nil || len(g.Changes) == 0 ||
		s.Status.History[0].Run != worse || !accepted(s, runs[0]) {
		t.Fatalf("verdict %s, regression %+v", s.Status.Verdict, g)
	}
	if w.rec.count(string(v1alpha1.SuiteRegressed)) != 1 {
		t.Errorf("events: %v", w.rec.reasons())
	}
	w.annotate(v1alpha1.AnnotationAcceptRun, worse)
	s = w.settle()
	w.want(s, v1alpha1.ConditionReady, "True", v1alpha1.ReasonScheduled)
	if s.Status.Verdict == v1alpha1.SuiteRegressed || s.Status.Regression != nil || s.Status.History[0].Verdict != v1alpha1.SuiteRegressed || !s.Status.History[0].Accepted {
		t.Errorf("after it was accepted: %s, %+v", s.Status.Verdict, s.Status.History[0])
	}
	if len(s.Status.History) != 2 { // the record of the first is no longer the accepted one
		t.Errorf("history: %+v", s.Status.History)
	}
}

// TestAScheduleSaysTodayWhatItsRunsNeed, and looks again once a day.
func TestAScheduleSaysTodayWhatItsRunsNeed(t *testing.T) {
	t.Parallel()
	w := newSuiteWorld(t, oneCell, gen.Scheduled("0 2 * * 0", 2))
	secret := &pass.Fact{Reason: v1alpha1.ReasonSecretNotFound, Message: `there is no Secret "ontap"`}
	w.missing = secret
	s := w.settle()
	w.want(s, v1alpha1.ConditionReady, "False", v1alpha1.ReasonSecretNotFound)
	w.says(s, `the next run could not begin: there is no Secret "ontap"`)
	w.missing = nil
	s = w.settle()
	w.want(s, v1alpha1.ConditionReady, "True", v1alpha1.ReasonScheduled)
	w.missing = secret
	w.want(w.settle(), v1alpha1.ConditionReady, "True", v1alpha1.ReasonScheduled)
	w.clock.SetTime(w.clock.Now().Add(24 * time.Hour))
	w.want(w.settle(), v1alpha1.ConditionReady, "False", v1alpha1.ReasonSecretNotFound)
}

// TestWhatABenchmarkWouldMissIsKnownWithoutIt: nothing is created.
func TestWhatABenchmarkWouldMissIsKnownWithoutIt(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		mod    gen.Mod
		reason string
	}{
		"nothing":      {gen.Embedded("1Gi", 1), ""},
		"a Secret":     {gen.ONTAP("10.0.9.1", "svm1", "nope"), v1alpha1.ReasonSecretNotFound},
		"a claim":      {gen.Claim("nope"), v1alpha1.ReasonClaimNotFound},
		"a class":      {gen.StorageClass("nope"), v1alpha1.ReasonClassNotFound},
		"the policy":   {func(b *v1alpha1.NFSBenchmark) { b.Spec.Clients = 65 }, v1alpha1.ReasonPolicyDenied},
		"time to fill": {func(b *v1alpha1.NFSBenchmark) { b.Spec.Workload.Raw.FileSize = resource.MustParse("10Ti") }, v1alpha1.ReasonPolicyDenied},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			b := gen.Benchmark("cell", gen.In(w.ns), gen.UID("cell"), tc.mod)
			missing, err := w.r.Missing(t.Context(), b)
			if err != nil {
				t.Fatal(err)
			}
			if (missing == nil) != (tc.reason == "") || missing != nil && (missing.Reason != tc.reason || missing.Message == "") {
				t.Errorf("missing %+v, want %q", missing, tc.reason)
			}
			if left := w.ours(); len(left) > 0 {
				t.Errorf("created %q", left)
			}
		})
	}
}

func TestAScheduleOfAnInvalidSpecStartsNothing(t *testing.T) {
	t.Parallel()
	w := newSuiteWorld(t, oneCell, gen.Scheduled("0 2 * * 0", 3))
	w.settle()
	valid := w.cron()
	depth := func(n string) {
		w.update(func(s *v1alpha1.NFSBenchmarkSuite) {
			s.Spec.Axes = []v1alpha1.Axis{{Name: "depth", Values: []v1alpha1.AxisValue{{Name: "x", Patch: &runtime.RawExtension{Raw: []byte(`{"workload":{"raw":{"depth":` + n + `}}}`)}}}}}
		})
	}
	depth("-1")
	s := w.settle()
	w.want(s, v1alpha1.ConditionMatrixValid, "False", v1alpha1.ReasonInvalidSpec)
	w.want(s, v1alpha1.ConditionStalled, "True", v1alpha1.ReasonInvalidSpec)
	if held, _, _ := unstructured.NestedBool(w.cron().Object, "spec", "suspend"); !held || s.Status.Phase != v1alpha1.SuitePending {
		t.Errorf("phase %s, suspend %v", s.Status.Phase, held)
	}
	depth("2")
	s = w.settle()
	if held, _, _ := unstructured.NestedBool(w.cron().Object, "spec", "suspend"); held || s.Status.Phase != v1alpha1.SuiteScheduled {
		t.Errorf("phase %s, suspend %v", s.Status.Phase, held)
	}
	if is := w.cron(); is.GetUID() != valid.GetUID() || !strings.Contains(asJSON(t, is), `depth: 2`) {
		t.Errorf("the CronWorkflow is not what is declared: %s", asJSON(t, is))
	}
	w.faults.writes = nil
	w.restart() // which has forgotten what it has compiled
	if w.settle(); len(w.faults.writes) > 0 {
		t.Errorf("a new manager writes %q", w.faults.writes)
	}
	w.update(func(s *v1alpha1.NFSBenchmarkSuite) { s.Spec.Schedule.Suspend = true })
	s = w.settle()
	if held, _, _ := unstructured.NestedBool(w.cron().Object, "spec", "suspend"); !held || s.Status.Phase != v1alpha1.SuiteSuspended {
		t.Errorf("phase %s, suspend %v", s.Status.Phase, held)
	}
}

func asJSON(t *testing.T, u *unstructured.Unstructured) string {
	t.Helper()
	raw, err := u.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestARunThatIsReplacedIsStoppedAndRecorded(t *testing.T) {
	t.Parallel()
	w := newSuiteWorld(t, oneCell, gen.Scheduled("0 2 * * 0", 3))
	w.settle()
	first := w.fire()
	w.finished(1)
	w.until("one is under way", func(s *v1alpha1.NFSBenchmarkSuite) bool { return s.Status.Run.Current != "" })
	for _, wf := range w.objects("Workflow") {
		w.workflowIs(&wf, "Failed", "replaced by its CronWorkflow") // concurrencyPolicy Replace
	}
	second := w.fire()
	s := w.until("the second ends", func(s *v1alpha1.NFSBenchmarkSuite) bool {
		return len(s.Status.History) == 2 && s.Status.History[0].Run == second
	})
	if h := s.Status.History[1]; h.Run != first || h.Phase != v1alpha1.SuiteFailed || h.Verdict != v1alpha1.SuiteInconclusive {
		t.Errorf("history: %+v", s.Status.History)
	}
	for _, b := range w.benchmarks() {
		if strings.HasPrefix(b.Name, first) && !b.Status.Phase.IsFinished() {
			t.Errorf("%s goes on unseen", b.Name)
		}
	}
	cms := &corev1.ConfigMapList{}
	if err := w.c.List(t.Context(), cms, client.InNamespace(w.ns), client.MatchingLabels{v1alpha1.LabelSuite: w.name}); err != nil || len(cms.Items) != 2 {
		t.Errorf("%d records, %v", len(cms.Items), err)
	}
}

// accepted says that the history marks this run, and no other.
func accepted(s *v1alpha1.NFSBenchmarkSuite, run string) bool {
	is := false
	for _, h := range s.Status.History {
		if h.Accepted && h.Run != run {
			return false
		}
		is = is || h.Accepted
	}
	return is
}
