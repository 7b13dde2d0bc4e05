package suite

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/matrix"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// recorded is a run that has ended, with its record.
func recorded(name string, phase v1alpha1.SuitePhase, verdict v1alpha1.SuiteVerdict) *run {
	return &run{name: name, record: &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: "bench", Name: name, Annotations: map[string]string{
			annotationPhase: string(phase), annotationVerdict: string(verdict), annotationWritten: "2026-11-01T00:00:00Z",
		},
	}}}
}

// writing is a client that shows what is written and keeps nothing.
func writing(t *testing.T, seen func(*unstructured.Unstructured)) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	show := func(v any) error {
		raw, err := json.Marshal(v)
		if err != nil {
			return err
		}
		u := &unstructured.Unstructured{}
		if err := json.Unmarshal(raw, &u.Object); err != nil {
			return err
		}
		seen(u)
		return nil
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			return show(o)
		},
		Apply: func(_ context.Context, _ client.WithWatch, o runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
			return show(o)
		},
	}).Build()
}

func TestTheAcceptedRunIsTheOneThatIsNamed(t *testing.T) {
	t.Parallel()
	over := []*run{
		recorded("a", v1alpha1.SuiteFailed, ""), recorded("b", v1alpha1.SuiteSucceeded, ""), recorded("c", v1alpha1.SuiteSucceeded, ""),
	}
	for name, want := range map[string][2]string{"": {"b", ""}, "c": {"c", ""}, "gone": {"b", "gone"}} {
		s := &v1alpha1.NFSBenchmarkSuite{}
		s.Annotations = map[string]string{v1alpha1.AnnotationAcceptRun: name}
		if accepted, unknown := acceptedOf(s, over); accepted != want[0] || unknown != want[1] {
			t.Errorf("%q is named: accepted %q, unknown %q; want %q", name, accepted, unknown, want)
		}
	}
}

// TestWhatWasWorseIsNoHistory: the noise of the runs before would hide the next regression.
func TestWhatWasWorseIsNoHistory(t *testing.T) {
	t.Parallel()
	runs := []*run{
		recorded("accepted", v1alpha1.SuiteSucceeded, v1alpha1.SuitePass), recorded("worse", v1alpha1.SuiteSucceeded, v1alpha1.SuiteRegressed),
		recorded("failed", v1alpha1.SuiteFailed, ""), recorded("good", v1alpha1.SuiteSucceeded, v1alpha1.SuitePass),
	}
	newest := recorded("newest", v1alpha1.SuiteSucceeded, "")
	var objects []client.Object
	for _, one := range append(runs, newest) {
		var packed bytes.Buffer
		if err := runfile.WriteSuiteRunGzip(&packed, runfile.SuiteRun{Version: runfile.SuiteRunVersion, Run: one.name}); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, &corev1.ConfigMap{ObjectMeta: one.record.ObjectMeta, BinaryData: map[string][]byte{runfile.KeySuiteRun: packed.Bytes()}})
	}
	r := NewReconciler(Options{Reader: fake.NewClientBuilder().WithObjects(objects...).Build()})
	s := &scope{suite: &v1alpha1.NFSBenchmarkSuite{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", UID: "1"}}, accepted: "accepted", left: recordBudget()}
	if _, err := r.compareRun(t.Context(), s, newest, runs); err != nil {
		t.Fatal(err)
	}
	var names []string
	for key := range strings.FieldsSeq(r.memory.of("1", 0).comparedWhat) {
		name, _, _ := strings.Cut(key, "/")
		names = append(names, name)
	}
	if want := []string{"newest", "accepted", "accepted", "good"}; !slices.Equal(names, want) {
		t.Errorf("compared %q, want %q: the run, the accepted one, and the history", names, want)
	}
}

// TestBenchmarksOfAResubmissionHaveNewNames: a benchmark never runs twice.
func TestBenchmarksOfAResubmissionHaveNewNames(t *testing.T) {
	t.Parallel()
	var made *unstructured.Unstructured
	r := NewReconciler(Options{Client: writing(t, func(u *unstructured.Unstructured) { made = u })})
	suite := &v1alpha1.NFSBenchmarkSuite{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "s", UID: "1"}}
	suite.Spec.Repetitions = 1
	s := &scope{suite: suite, matrix: &matrix.Matrix{
		Cells: []matrix.Cell{{SuiteCell: runfile.SuiteCell{Name: "x"}}, {SuiteCell: runfile.SuiteCell{Name: "y"}}}, Sequence: []matrix.Slot{{Cell: 0, Repetition: 1}, {Cell: 1, Repetition: 1}},
	}}
	one := recorded("s-1", v1alpha1.SuiteFailed, "")
	one.loaded, one.file.Results = true, []runfile.SuiteResult{
		{Cell: "x", Repetition: 1, Attempt: 0, Phase: string(v1alpha1.PhaseSucceeded)}, {Cell: "y", Repetition: 1, Attempt: 2, Phase: string(v1alpha1.PhaseFailed)},
	}
	if err := r.resubmit(t.Context(), s, one); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(made.Object)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(raw); !strings.Contains(text, "asInt(retries)+3") {
		t.Errorf("the third attempt was the last one: %s", text)
	}
}

// TestARecordIsLocked: two managers may believe that they lead.
func TestARecordIsLocked(t *testing.T) {
	t.Parallel()
	var written *unstructured.Unstructured
	r := NewReconciler(Options{Client: writing(t, func(u *unstructured.Unstructured) { written = u })})
	s := &scope{suite: &v1alpha1.NFSBenchmarkSuite{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "s", UID: "1"}}}
	one := recorded("s-1", "", "")
	one.record.ResourceVersion = "42"
	if err := r.write(t.Context(), s, one); err != nil {
		t.Fatal(err)
	}
	if got := written.GetResourceVersion(); got != "42" {
		t.Errorf("the record is written over version %q, and it was read in version 42", got)
	}
}

// Records know seconds, and two short runs can start in the same one.
func TestRunsOfTheSameSecondAreInTheOrderOfTheirEnds(t *testing.T) {
	t.Parallel()
	byName := map[string]*run{}
	for name, ended := range map[string]string{"c": "2026-11-24T10:00:01Z", "b": "2026-11-24T10:00:05Z", "a": ""} {
		one := recorded(name, v1alpha1.SuiteSucceeded, "")
		one.record.Annotations[annotationStarted] = "2026-11-24T10:00:00Z"
		one.record.Annotations[annotationEnded] = ended
		byName[name] = one
	}
	s := &scope{suite: &v1alpha1.NFSBenchmarkSuite{}}
	s.setRuns(byName)
	var got string
	for _, one := range s.runs {
		got += one.name
	}
	if got != "cba" {
		t.Errorf("the order is %s; want cba", got)
	}
}
