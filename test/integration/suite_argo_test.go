package integration

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// suiteEnding is how a benchmark ends. The zero value is well, at 100 MB/s.
type suiteEnding struct {
	fails   string // reason; empty = it succeeds
	kind    v1alpha1.FailureKind
	speed   int64 // bytes per second
	verdict bench.Verdict
}

// argo does the next thing that Argo, the garbage collector or the operator of
// benchmarks would do, and says what; "" when there is nothing to do. It keeps no
// memory but what is in the cluster.
func (w *suiteWorld) argo() string {
	w.Helper()
	if did := w.collectGarbage(); did != "" {
		return did
	}
	for _, b := range w.benchmarks() {
		if did := w.benchmark(&b); did != "" {
			return did
		}
	}
	for _, wf := range w.objects("Workflow") {
		if did := w.workflow(&wf); did != "" {
			return did
		}
	}
	return ""
}

// collectGarbage removes benchmarks whose workflow is gone.
func (w *suiteWorld) collectGarbage() string {
	w.Helper()
	alive := map[string]bool{}
	for _, wf := range w.objects("Workflow") {
		alive[string(wf.GetUID())] = true
	}
	for _, b := range w.benchmarks() {
		if len(b.OwnerReferences) > 0 && !alive[string(b.OwnerReferences[0].UID)] {
			if err := w.c.Delete(w.Context(), &b); err != nil {
				w.Fatal(err)
			}
			return "the garbage collector removes " + b.Name
		}
	}
	return ""
}

// benchmark takes a benchmark one step further.
func (w *suiteWorld) benchmark(b *v1alpha1.NFSBenchmark) string {
	w.Helper()
	now := metav1.NewTime(w.clock.Now())
	switch {
	case b.Status.Phase.IsFinished():
		return ""
	case b.Spec.Suspend && b.Status.StartTime == nil:
		return w.holdBack(b)
	case b.Status.StartTime == nil:
		b.Status.Phase, b.Status.StartTime = v1alpha1.PhaseRunning, &now
		w.tell(b)
		return b.Name + " runs"
	case b.Spec.Suspend:
		b.Status.Phase, b.Status.Verdict, b.Status.CompletionTime = v1alpha1.PhaseCancelled, bench.VerdictInconclusive, &now
		w.succeeded(b, metav1.ConditionFalse, runfile.FailureCancelled)
		return b.Name + " is cancelled"
	}
	w.step(10 * time.Second)
	now = metav1.NewTime(w.clock.Now())
	e := suiteEnding{}
	if w.ends != nil {
		e = w.ends(b)
	}
	b.Status.CompletionTime = &now
	if e.fails != "" {
		b.Status.Phase, b.Status.Verdict, b.Status.Message = v1alpha1.PhaseFailed, bench.VerdictInconclusive, e.fails+" it is"
		b.Status.Failure = e.kind
		w.succeeded(b, metav1.ConditionFalse, e.fails)
		return b.Name + " fails"
	}
	if e.speed == 0 {
		e.speed = 100e6
	}
	b.Status.Phase, b.Status.Verdict = v1alpha1.PhaseSucceeded, bench.VerdictNotEvaluated
	if e.verdict != "" {
		b.Status.Verdict = e.verdict
	}
	b.Status.Validity = bench.ValidityValid
	w.publish(b, runfile.SuitePoint{Metrics: map[string]float64{
		bench.MetricThroughput: float64(e.speed), bench.MetricMeanLatency: 1e12 / float64(e.speed),
	}})
	w.succeeded(b, metav1.ConditionTrue, v1alpha1.ReasonCompleted)
	return b.Name + " succeeds"
}

// publish keeps the numbers of a benchmark where the operator keeps them.
func (w *suiteWorld) publish(b *v1alpha1.NFSBenchmark, points ...runfile.SuitePoint) {
	w.Helper()
	var packed bytes.Buffer
	if err := runfile.WriteSuitePoints(&packed, runfile.SuitePoints{Points: points}); err != nil {
		w.Fatal(err)
	}
	b.Status.ResultRef = &v1alpha1.ResultReference{Name: b.Name + "-result"}
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Status.ResultRef.Name},
		BinaryData: map[string][]byte{runfile.KeySuitePoints: packed.Bytes()},
	}
	if err := w.c.Create(w.Context(), cm); err != nil && !apierrors.IsAlreadyExists(err) {
		w.Fatal(err)
	}
}

// holdBack is what the operator reports about a benchmark that may not start.
func (w *suiteWorld) holdBack(b *v1alpha1.NFSBenchmark) string {
	w.Helper()
	held := metav1.Condition{Type: v1alpha1.ConditionReconciling, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonSuspended, ObservedGeneration: b.Generation}
	b.Status.Phase = v1alpha1.PhasePending
	if !meta.SetStatusCondition(&b.Status.Conditions, held) {
		return ""
	}
	w.tell(b)
	return b.Name + " is held back"
}

func (w *suiteWorld) succeeded(b *v1alpha1.NFSBenchmark, status metav1.ConditionStatus, reason string) {
	w.Helper()
	meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionSucceeded, Status: status, Reason: reason})
	w.tell(b)
}

func (w *suiteWorld) tell(b *v1alpha1.NFSBenchmark) {
	w.Helper()
	if err := w.c.Status().Update(w.Context(), b); err != nil && !apierrors.IsNotFound(err) {
		w.Fatal(err)
	}
}

// workflow takes a Workflow one step further, as Argo does.
func (w *suiteWorld) workflow(wf *unstructured.Unstructured) string {
	w.Helper()
	phase, _, _ := unstructured.NestedString(wf.Object, "status", "phase")
	shutdown, _, _ := unstructured.NestedString(wf.Object, "spec", "shutdown")
	suspended, _, _ := unstructured.NestedBool(wf.Object, "spec", "suspend")
	switch {
	case phase == "Succeeded" || phase == "Failed" || phase == "Error":
		return ""
	case phase == "":
		return w.workflowIs(wf, "Running", "")
	case shutdown != "":
		return w.workflowIs(wf, "Failed", "Stopped with strategy 'Stop'")
	case suspended:
		return ""
	}
	spec, _, _ := unstructured.NestedMap(wf.Object, "spec")
	templates := spec["templates"].([]any)                  //nolint:forcetypeassert // compiled so
	steps := templates[0].(map[string]any)["steps"].([]any) //nolint:forcetypeassert // compiled so
	failed := false
	for _, group := range steps {
		step := group.([]any)[0].(map[string]any) //nolint:forcetypeassert // compiled so
		did, waits, bad := w.runStep(wf, templates, step)
		if did != "" || waits {
			return did
		}
		failed = failed || bad
		if _, goesOn := step["continueOn"]; bad && !goesOn {
			break
		}
	}
	if failed {
		return w.workflowIs(wf, "Failed", "child failed")
	}
	return w.workflowIs(wf, "Succeeded", "")
}

func (w *suiteWorld) workflowIs(wf *unstructured.Unstructured, phase, message string) string {
	w.Helper()
	now := w.clock.Now().UTC().Format(time.RFC3339)
	status := map[string]any{"phase": phase, "message": message, "startedAt": now}
	if phase != "Running" {
		status["finishedAt"] = now
	}
	wf.Object["status"] = status
	if err := w.c.Update(w.Context(), wf); err != nil {
		w.Fatal(err)
	}
	return wf.GetName() + " is " + phase
}

// runStep creates the benchmark of a step, waits for it, and tries it again after
// an error of the infrastructure.
func (w *suiteWorld) runStep(wf *unstructured.Unstructured, templates []any, step map[string]any) (did string, waits, failed bool) {
	w.Helper()
	i := slices.IndexFunc(templates, func(t any) bool { return t.(map[string]any)["name"] == step["template"] }) //nolint:forcetypeassert // compiled so
	template := templates[i].(map[string]any)                                                                    //nolint:forcetypeassert // compiled so
	limit, _, _ := unstructured.NestedFieldNoCopy(template, "retryStrategy", "limit")
	most := 0
	if n, err := strconv.Atoi(asText(limit)); err == nil {
		most = n
	}
	for attempt := 0; ; attempt++ {
		b := w.manifest(wf, template, step, attempt)
		is := &v1alpha1.NFSBenchmark{}
		err := w.c.Get(w.Context(), client.ObjectKeyFromObject(b), is)
		switch {
		case apierrors.IsNotFound(err):
			if err := w.c.Create(w.Context(), b); err != nil {
				w.Fatal(err)
			}
			w.benchmark(b)
			return wf.GetName() + " creates " + b.Name, false, false
		case err != nil:
			w.Fatal(err)
		case !is.Status.Phase.IsFinished():
			return "", true, false
		case is.Status.Phase == v1alpha1.PhaseSucceeded:
			return "", false, false
		case is.Status.Failure != v1alpha1.FailureInfrastructure || attempt >= most:
			return "", false, true
		}
	}
}

func asText(v any) string {
	switch n := v.(type) {
	case int64:
		return strconv.FormatInt(n, 10)
	case string:
		return n
	default:
		return ""
	}
}

// manifest fills in the variables of a template, as Argo does.
func (w *suiteWorld) manifest(wf *unstructured.Unstructured, template, step map[string]any, attempt int) *v1alpha1.NFSBenchmark {
	w.Helper()
	text, _, _ := unstructured.NestedString(template, "resource", "manifest")
	params, _, _ := unstructured.NestedSlice(step, "arguments", "parameters")
	for _, p := range params {
		one := p.(map[string]any) //nolint:forcetypeassert // compiled so
		text = strings.ReplaceAll(text, "{{inputs.parameters."+asText(one["name"])+"}}", asText(one["value"]))
	}
	text = strings.ReplaceAll(text, "{{workflow.name}}", wf.GetName())
	text = strings.ReplaceAll(text, "{{retries}}", strconv.Itoa(attempt))
	text = regexp.MustCompile(`\{\{=asInt\(retries\)\s*\+\s*(\d+)\}\}`).ReplaceAllStringFunc(text, func(m string) string {
		n, _ := strconv.Atoi(regexp.MustCompile(`\d+`).FindString(m))
		return strconv.Itoa(n + attempt)
	})
	if strings.Contains(text, "{{") {
		w.Fatalf("a variable that Argo does not know here:\n%s", text)
	}
	b := &v1alpha1.NFSBenchmark{}
	if err := yaml.UnmarshalStrict([]byte(text), b); err != nil {
		w.Fatalf("%v in\n%s", err, text)
	}
	b.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(wf, wf.GroupVersionKind())}
	return b
}
