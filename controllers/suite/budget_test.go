package suite

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/workflow"
	"github.com/nfsbench/nfsbench/test/gen"
)

// strange is a record as anybody who may write ConfigMaps can write it: 200 bytes a result in memory, and two in the
// text, which compresses to nearly nothing.
func strange(name string, phase v1alpha1.SuitePhase, results int) *corev1.ConfigMap {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: "bench", Name: name, Annotations: map[string]string{annotationStarted: "2026-11-01T00:00:00Z", annotationWritten: name},
		Labels:          map[string]string{v1alpha1.LabelSuite: "demo", v1alpha1.LabelSuiteRun: name, manifest.LabelComponent: componentRecord},
		OwnerReferences: []metav1.OwnerReference{workflow.Owner(suiteOne())},
	}}
	if phase != "" {
		cm.Annotations[annotationPhase], cm.Annotations[annotationVerdict] = string(phase), "Pass"
	}
	text := `{"version":"` + runfile.SuiteRunVersion + `","cells":[],"results":[` + strings.Repeat("{},", results-1) + "{}]}"
	cm.BinaryData = map[string][]byte{runfile.KeySuiteRun: []byte(text)}
	return cm
}

func suiteOne() *v1alpha1.NFSBenchmarkSuite {
	s := gen.Suite("demo")
	s.UID = "1"
	return s
}

// observed is a pass over what there is, as far as readResults.
func observed(t *testing.T, objects ...client.Object) *scope {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	scheme.AddKnownTypeWithName(workflow.Workflow, &unstructured.Unstructured{})
	scheme.AddKnownTypeWithName(workflow.Workflow.GroupVersion().WithKind("WorkflowList"), &unstructured.UnstructuredList{})
	b := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...)
	for field, of := range Indexes() {
		b = b.WithIndex(&v1alpha1.NFSBenchmark{}, field, of)
	}
	c := b.Build()
	r := NewReconciler(Options{Client: c, Reader: c, Clock: testclock.NewFakePassiveClock(noon)})
	s := &scope{suite: suiteOne(), now: noon, left: recordBudget()}
	for _, p := range []phase{r.findRuns, r.readResults} {
		if _, err := p(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// TestTheRecordsOfAPassShareABudget: eight ConfigMaps of 543 bytes took 261 MiB of the manager.
func TestTheRecordsOfAPassShareABudget(t *testing.T) {
	var objects []client.Object
	for i := range 3 {
		objects = append(objects, strange(fmt.Sprintf("run-%d", i), "", 149_001))
	}
	read := 0
	s := observed(t, objects...)
	for _, one := range s.runs {
		if one.loaded {
			read++
		}
	}
	if read != 1 || s.left.Elements < 0 {
		t.Errorf("%d records of 149,001 elements are in memory, %+v is left", read, s.left)
	}
	if s.blocked == nil || !strings.Contains(s.blocked.Message, `ConfigMap "run-1"`) || !strings.Contains(s.blocked.Message, "too large") {
		t.Errorf("the status says %+v", s.blocked)
	}
}

func TestOfManyOpenRunsTheOldestAreLookedAt(t *testing.T) {
	var objects []client.Object
	for i := range 5 {
		objects = append(objects, strange(fmt.Sprintf("run-%d", i), "", 1))
	}
	s := observed(t, objects...)
	var read string
	for _, one := range s.runs {
		if one.loaded {
			read += one.name + " "
		}
	}
	if read != "run-0 run-1 run-2 " {
		t.Errorf("the records of %sare read", read)
	}
	if s.blocked == nil || s.blocked.Reason != v1alpha1.ReasonNameTaken || !strings.Contains(s.blocked.Message, "5 runs") {
		t.Errorf("the status says %+v", s.blocked)
	}
	if s = observed(t, objects[:2]...); s.blocked != nil {
		t.Errorf("two runs that are not over: %+v", s.blocked)
	}
}

// TestARegressionKeepsLittleOfEachRecord: a comparison held up to 52 records.
func TestARegressionKeepsLittleOfEachRecord(t *testing.T) {
	var objects []client.Object
	for i := range 6 {
		objects = append(objects, strange(fmt.Sprintf("run-%d", i), v1alpha1.SuiteSucceeded, 90_000))
	}
	s := observed(t, objects...)
	r := NewReconciler(Options{Reader: fake.NewClientBuilder().WithObjects(objects...).Build()})
	s.accepted = "run-0"
	if _, err := r.compareRun(t.Context(), s, s.runs[5], s.runs[:5]); err != nil {
		t.Errorf("six records of which one or two are in memory at a time: %v", err)
	}
	for _, one := range s.runs[:5] {
		if one.loaded {
			t.Errorf("%s is kept", one.name)
		}
	}
	large := []client.Object{strange("run-6", v1alpha1.SuiteSucceeded, 120_000), strange("run-7", v1alpha1.SuiteSucceeded, 120_000)}
	s = observed(t, large...)
	r.Reader = fake.NewClientBuilder().WithObjects(large...).Build()
	s.accepted = "run-6"
	if _, err := r.compareRun(t.Context(), s, s.runs[1], s.runs[:1]); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("two records of 120,000 elements: %v", err)
	}
}

func TestOfARegressionIsRememberedWhatTheStatusTells(t *testing.T) {
	t.Parallel()
	long, shift := strings.Repeat("x", 1<<20), -0.5
	table := compare.Table{Message: "worse", Regressed: true, Cells: make([]compare.Cell, 1000)}
	for range 100 {
		table.Comparisons = append(table.Comparisons, compare.Line{Cell: long, Step: long, Shift: &shift, Outcome: "Worse"})
	}
	got := told(table)
	if len(got.Cells) > 0 || len(got.Comparisons) != maxChanges || len(got.Comparisons[0].Cell+got.Comparisons[0].Step) > 63+48 || !got.Regressed {
		t.Errorf("%d cells and %d lines are remembered", len(got.Cells), len(got.Comparisons))
	}
}

func TestAWorkflowThatIsNotOfTheSuiteIsNoRun(t *testing.T) {
	made := func(name string, owner ...metav1.OwnerReference) *unstructured.Unstructured {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(workflow.Workflow)
		u.SetNamespace("bench")
		u.SetName(name)
		u.SetLabels(map[string]string{v1alpha1.LabelSuite: "demo"})
		u.SetOwnerReferences(owner)
		return u
	}
	cron := metav1.OwnerReference{APIVersion: "argoproj.io/v1alpha1", Kind: "CronWorkflow", Name: "demo", UID: "2", Controller: new(true)}
	other := cron
	other.Name = "other"
	s := observed(t, made("stranger"), made("foreign", other), made("ours", workflow.Owner(suiteOne())), made("scheduled", cron))
	var names []string
	for _, one := range s.runs {
		names = append(names, one.name)
	}
	if got := strings.Join(names, " "); got != "ours scheduled" {
		t.Errorf("the runs are %q", got)
	}
}
