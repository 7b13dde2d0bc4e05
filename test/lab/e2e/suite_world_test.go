package e2e

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/archive"
	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/workflow"
	"github.com/nfsbench/nfsbench/test/kit/measure"
	"github.com/nfsbench/nfsbench/test/lab/ganesha"
	"github.com/nfsbench/nfsbench/test/statuscheck"
)

// suiteWorld is a namespace with suites in it, on a cluster with Argo Workflows.
type suiteWorld struct {
	*cluster
	ns string
}

// newSuiteWorld lets the test run beside others, makes the namespace, and demands at
// the end that deleting the suites leaves nothing of them.
func newSuiteWorld(t *testing.T) *suiteWorld {
	t.Helper()
	c := newCluster(t)
	needArgo(t)
	t.Parallel()
	return c.suiteWorld(t)
}

// needArgo skips a test where there is no Argo Workflows.
func needArgo(t *testing.T) {
	t.Helper()
	if os.Getenv("NFSBENCH_ARGO") != "1" {
		t.Skip("needs Argo Workflows on the cluster: `make test` installs it and sets NFSBENCH_ARGO=1")
	}
}

// suiteWorld is newSuiteWorld for a test that others must not run beside.
func (c *cluster) suiteWorld(t *testing.T) *suiteWorld {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "nfsbench-suite-",
		Labels:       map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	if err := c.Create(t.Context(), ns); err != nil {
		t.Fatalf("create a namespace: %v", err)
	}
	w := &suiteWorld{cluster: c, ns: ns.Name}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context()) // which has no end: what is waited for has its own
		if t.Failed() {
			w.dumpSuites(t)
		}
		w.noOrphan(ctx, t)
		c.nothingLeft(ctx, t, w.ns)
		if err := c.Delete(ctx, ns); err != nil {
			t.Errorf("delete namespace %s: %v", w.ns, err)
		}
	})
	return w
}

// array starts an array of this test alone, whose links carry so much.
func (w *suiteWorld) array(t *testing.T, name string, net int, rates ...string) ganesha.Array {
	t.Helper()
	needNodeHere(t, w.cluster)
	var subnets []string
	for i := range rates {
		subnets = append(subnets, fmt.Sprintf("10.%d.%d.0/24", net, i+1))
	}
	a := ganesha.Start(t, name, subnets, "--rate", strings.Join(rates, ","))
	if err := os.Chmod(a.Data, 0o777); err != nil { // as a storage administrator gives it to oracle
		t.Fatal(err)
	}
	return a
}

// apply creates a suite from the text that a user would write, with the
// addresses of the array in place of $1, $2 and its export in place of $export.
func (w *suiteWorld) apply(t *testing.T, text string, a ganesha.Array) *v1alpha1.NFSBenchmarkSuite {
	t.Helper()
	for i, lif := range a.LIFs {
		text = strings.ReplaceAll(text, "$"+strconv.Itoa(i+1), lif)
	}
	text = strings.ReplaceAll(text, "$export", a.Export)
	s := &v1alpha1.NFSBenchmarkSuite{}
	if err := yaml.UnmarshalStrict([]byte(text), s); err != nil {
		t.Fatal(err)
	}
	s.Namespace = w.ns
	if err := w.Create(t.Context(), s); err != nil {
		t.Fatalf("create suite %s: %v", s.Name, err)
	}
	return s
}

func (w *suiteWorld) suite(t *testing.T, s *v1alpha1.NFSBenchmarkSuite) *v1alpha1.NFSBenchmarkSuite {
	t.Helper()
	now := &v1alpha1.NFSBenchmarkSuite{}
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(s), now); err != nil {
		t.Fatalf("read suite %s: %v", s.Name, err)
	}
	return now
}

// reaches waits for a state of the suite. One that ends otherwise is not waited
// for.
func (w *suiteWorld) reaches(t *testing.T, s *v1alpha1.NFSBenchmarkSuite, what string, reached func(*v1alpha1.NFSBenchmarkSuite) bool) *v1alpha1.NFSBenchmarkSuite {
	t.Helper()
	var now *v1alpha1.NFSBenchmarkSuite
	known := map[string]bool{}
	poll(t, func() (bool, string) {
		before := now
		now = w.suite(t, s)
		for _, p := range suiteProblems(before, now) {
			if !known[p] {
				t.Errorf("status of %s: %s", now.Name, p)
			}
			known[p] = true
		}
		if !reached(now) && now.Status.Phase.IsFinished() && now.Status.ObservedGeneration == now.Generation {
			t.Fatalf("%s ended without %s: %s", now.Name, what, suiteState(now))
		}
		return reached(now), what + " of " + now.Name + "; it is " + suiteState(now)
	})
	return now
}

// suiteProblems lists what is wrong with a status once the operator has seen the
// spec.
func suiteProblems(before, now *v1alpha1.NFSBenchmarkSuite) []string {
	if now.Status.ObservedGeneration != now.Generation {
		return nil
	}
	if before != nil && before.Status.ObservedGeneration == 0 {
		before = nil
	}
	return statuscheck.SuiteProblems(before, now)
}

// ends waits for the end of a suite's run, whichever.
func (w *suiteWorld) ends(t *testing.T, s *v1alpha1.NFSBenchmarkSuite) *v1alpha1.NFSBenchmarkSuite {
	t.Helper()
	done := w.reaches(t, s, "the end", func(s *v1alpha1.NFSBenchmarkSuite) bool { return s.Status.Phase.IsFinished() })
	for _, b := range w.benchmarks(t, s) {
		if b.Status.Phase == v1alpha1.PhaseSucceeded {
			measured(t, &b)
		}
	}
	return done
}

// table is the comparison of the newest run, as the plugin computes it from the record.
func (w *suiteWorld) table(t *testing.T, s *v1alpha1.NFSBenchmarkSuite) compare.Table {
	t.Helper()
	records, leftOut, err := archive.Records(t.Context(), w, s)
	if err != nil || len(records) == 0 || len(leftOut) > 0 {
		t.Fatalf("%d records of %s, without %q: %v", len(records), s.Name, leftOut, err)
	}
	return compare.Run(compare.Request{Run: &records[0]})
}

// sameAsComputed demands a comparison in the status for each of these cells, equal to what the
// results of the runs give when it is computed again. What is called better or worse depends
// on the machine, so the outcome is recorded, with those that are wanted.
func (w *suiteWorld) sameAsComputed(t *testing.T, s *v1alpha1.NFSBenchmarkSuite, wanted map[string][]bench.Outcome) {
	t.Helper()
	computed := w.table(t, s).Comparisons
	if len(s.Status.Comparisons) != len(wanted) || len(computed) != len(wanted) {
		t.Fatalf("%d comparisons in the status and %d computed, not %d: %+v", len(s.Status.Comparisons), len(computed), len(wanted), s.Status.Comparisons)
	}
	for i, line := range s.Status.Comparisons {
		c := computed[i]
		outcomes, ok := wanted[line.Cell]
		impact := int64(math.Round(1e4 * c.Impact))
		if !ok || line.Cell != c.Cell || string(line.Metric) != c.Metric || line.Outcome != c.Outcome || line.ImpactBasisPoints != impact {
			t.Errorf("the status compares %+v, and the results give %+v", line, c)
		}
		var words []string
		for _, o := range outcomes {
			words = append(words, string(o))
		}
		measure.Record(t, "impact of "+line.Cell, "%", 100*c.Impact)
		measure.Outcome(t, "outcome of "+line.Cell, string(line.Outcome), words...)
	}
}

func (w *suiteWorld) patchSuite(t *testing.T, s *v1alpha1.NFSBenchmarkSuite, merge string) {
	t.Helper()
	if err := w.Patch(t.Context(), s.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(merge))); err != nil {
		t.Fatalf("patch %s with %s: %v", s.Name, merge, err)
	}
}

func suiteState(s *v1alpha1.NFSBenchmarkSuite) string {
	text := string(s.Status.Phase) + ": " + s.Status.Message
	if r := s.Status.Run; r != nil {
		text += fmt.Sprintf(" (%d finished, %d failed, workflow %s)", r.Finished, r.Failed, r.Workflow)
	}
	return text
}

// benchmarks of a suite, by their position, as far as there are any.
func (w *suiteWorld) benchmarks(t *testing.T, s *v1alpha1.NFSBenchmarkSuite) []v1alpha1.NFSBenchmark {
	t.Helper()
	list := &v1alpha1.NFSBenchmarkList{}
	if err := w.List(t.Context(), list, client.InNamespace(w.ns), client.MatchingLabels{v1alpha1.LabelSuite: s.Name}); err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(list.Items, func(a, b v1alpha1.NFSBenchmark) int { return position(t, a) - position(t, b) })
	return list.Items
}

func position(t *testing.T, b v1alpha1.NFSBenchmark) int {
	t.Helper()
	n, err := strconv.Atoi(b.Labels[v1alpha1.LabelPosition])
	if err != nil {
		t.Fatalf("benchmark %s has no position: %v", b.Name, b.Labels)
	}
	return n
}

// workflows of a suite.
func (w *suiteWorld) workflows(t *testing.T, s *v1alpha1.NFSBenchmarkSuite) []unstructured.Unstructured {
	t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(workflow.Workflow)
	if err := w.List(t.Context(), list, client.InNamespace(w.ns), client.MatchingLabels{v1alpha1.LabelSuite: s.Name}); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// argo is the pod of the workflow controller.
func (w *suiteWorld) argo(t *testing.T) corev1.Pod {
	t.Helper()
	list, err := w.typed.CoreV1().Pods("argo").List(t.Context(), metav1.ListOptions{LabelSelector: "app=workflow-controller"})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%d pods of the workflow controller (%v)", len(list.Items), err)
	}
	return list.Items[0]
}

// noOrphan deletes the suites and demands that everything that they made goes
// with them: not by way of the namespace.
func (w *suiteWorld) noOrphan(ctx context.Context, t *testing.T) {
	t.Helper()
	list := &v1alpha1.NFSBenchmarkSuiteList{}
	if err := w.List(ctx, list, client.InNamespace(w.ns)); err != nil {
		t.Errorf("list suites: %v", err)
	}
	for i := range list.Items {
		if err := w.Delete(ctx, &list.Items[i]); client.IgnoreNotFound(err) != nil {
			t.Errorf("delete suite: %v", err)
		}
	}
	var left []string
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		left = w.remains(ctx, t)
		if len(left) == 0 {
			return
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			t.Errorf("left behind in %s: %s", w.ns, strings.Join(left, ", "))
			return
		}
	}
}

// remains are all objects of the kinds that suites and their workflows make.
func (w *suiteWorld) remains(ctx context.Context, t *testing.T) []string {
	t.Helper()
	var left []string
	for _, gvk := range [][3]string{
		{"nfsbench.io", "v1alpha1", "NFSBenchmarkSuite"},
		{"nfsbench.io", "v1alpha1", "NFSBenchmark"},
		{"argoproj.io", "v1alpha1", "Workflow"},
		{"argoproj.io", "v1alpha1", "CronWorkflow"},
		{"argoproj.io", "v1alpha1", "WorkflowTaskResult"},
		{"", "v1", "Pod"},
		{"", "v1", "ConfigMap"},
		{"", "v1", "ServiceAccount"},
		{"rbac.authorization.k8s.io", "v1", "Role"},
		{"rbac.authorization.k8s.io", "v1", "RoleBinding"},
		{"batch", "v1", "Job"},
	} {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(strings.TrimPrefix(gvk[0]+"/"+gvk[1], "/"))
		list.SetKind(gvk[2] + "List")
		if err := w.List(ctx, list, client.InNamespace(w.ns)); err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("list %s: %v", gvk[2], err)
		}
		for _, o := range list.Items {
			if o.GetName() != "default" && o.GetName() != "kube-root-ca.crt" {
				left = append(left, gvk[2]+" "+o.GetName())
			}
		}
	}
	return left
}

func (w *suiteWorld) dumpSuites(t *testing.T) {
	t.Helper()
	for _, args := range [][]string{
		{"-n", w.ns, "get", "nfsbenchmarksuites", "-o", "yaml"},
		{"-n", w.ns, "get", "nfsb,workflows,cronworkflows,pods", "-o", "wide", "--show-labels"},
		{"-n", w.ns, "get", "workflows", "-o", `jsonpath={range .items[*].status.nodes.*}{.displayName} {.type} {.phase} {.message}{"\n"}{end}`},
		{"-n", w.ns, "get", "events", "--sort-by=.lastTimestamp"},
		{"-n", "argo", "logs", "deploy/workflow-controller", "--tail=40"},
	} {
		out, _ := kubectl(t, "", args...)
		t.Logf("kubectl %s\n%s", strings.Join(args, " "), out)
	}
	w.dump(t, w.ns)
}
