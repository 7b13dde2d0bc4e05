// Package workflow compiles a suite into objects of Argo Workflows: a Workflow, or a CronWorkflow, and the rights of
// its pods. It is pure, and knows only those fields of Argo that it writes and reads.
//
// The entrypoint is a list of steps, one for each benchmark, in the order of the
// matrix; each waits for the one before. A step calls the template of its cell,
// which creates an NFSBenchmark and waits until its status says how it ended:
//
//	main ── step nfs-16-r1  ── template cell-000 ── NFSBenchmark <workflow>-nfs-16-r1-0
//	     ── step dnfs-16-r1 ── template cell-001 ── NFSBenchmark <workflow>-dnfs-16-r1-0
//	     ── ...
//
// The pod of a step belongs to Argo, creates one object and polls it; the load
// runs in the pods of the benchmark. The Workflow owns its benchmarks, and the
// suite owns the Workflow.
package workflow

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/matrix"
)

// The kinds of Argo Workflows that are used.
//
//nolint:gochecknoglobals // constants
var (
	Workflow     = schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Workflow"}
	CronWorkflow = schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "CronWorkflow"}
)

// The annotations of a Workflow that explain its order.
const (
	AnnotationSeed  = "nfsbench.io/seed"
	AnnotationOrder = "nfsbench.io/order"
)

// Key is one benchmark of a run.
type Key struct {
	Cell       string
	Repetition int32
}

// Input holds a suite, its matrix, and the state of its run.
type Input struct {
	Suite  *v1alpha1.NFSBenchmarkSuite
	Matrix matrix.Matrix
	// Run is the name of the run, and Attempt counts its resubmissions from 0.
	// A CronWorkflow needs neither: each of its workflows is a run.
	Run     string
	Attempt int32
	// Done holds the benchmarks that earlier attempts finished. The Workflow leaves them out.
	Done map[Key]bool
	// FirstAttempt numbers the first attempts of a resubmission. It is larger than all earlier attempts, so that the
	// names of the benchmarks are new.
	FirstAttempt int32
}

// Name returns the name of the Workflow: the name of the run, from the second submission on with its number.
func (in Input) Name() string {
	if in.Attempt == 0 {
		return in.Run
	}
	return in.Run + "-" + strconv.Itoa(int(in.Attempt)+1)
}

// NewWorkflow compiles one run.
func NewWorkflow(in Input) *unstructured.Unstructured {
	spec := in.spec(in.Name(), in.Run)
	put(spec, "suspend", in.Suite.Spec.Suspend)
	put(spec, "shutdown", in.Suite.Spec.Shutdown)
	u := in.object(Workflow, in.Name(), spec)
	all := u.GetLabels()
	all[v1alpha1.LabelSuiteRun] = in.Run
	u.SetLabels(all)
	return u
}

// NewCronWorkflow compiles a suite with a schedule. Its workflows get their names
// from Argo, and their benchmarks take them from there.
func NewCronWorkflow(in Input) *unstructured.Unstructured {
	s, c := in.Suite, in.Suite.Spec.Schedule
	limit := max(c.HistoryLimit, 1)
	spec := in.spec(variableName, variableName)
	spec["workflowMetadata"] = object{
		"annotations": in.annotations(),
		"labelsFrom":  object{v1alpha1.LabelSuiteRun: object{"expression": "workflow.name"}},
	}
	cron := object{
		"schedules":                  []string{c.Cron},
		"suspend":                    c.Suspend || s.Spec.Suspend,
		"successfulJobsHistoryLimit": limit,
		"failedJobsHistoryLimit":     limit,
		"workflowMetadata":           object{"labels": labels(s)},
		"workflowSpec":               spec,
	}
	put(cron, "timezone", c.TimeZone)
	put(cron, "concurrencyPolicy", c.ConcurrencyPolicy)
	put(cron, "startingDeadlineSeconds", c.StartingDeadlineSeconds)
	return in.object(CronWorkflow, s.Name, cron)
}

// object makes an object of the suite. It cannot fail: what is written here is JSON.
func (in Input) object(kind schema.GroupVersionKind, name string, spec object) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	data, _ := json.Marshal(object{"apiVersion": kind.GroupVersion().String(), "kind": kind.Kind, "spec": spec})
	_ = u.UnmarshalJSON(data)
	u.SetName(name)
	u.SetNamespace(in.Suite.Namespace)
	u.SetLabels(labels(in.Suite))
	u.SetAnnotations(in.annotations())
	u.SetOwnerReferences([]metav1.OwnerReference{Owner(in.Suite)})
	return u
}

// Argo Workflows keeps a Workflow with its status in one object of at most 1 MiB
// (MAX_WORKFLOW_SIZE), and ends the run when it grows beyond that.
const (
	maxStoredBytes = 960_000 // of 1 048 576: the rest is for retries and messages
	// statusBytes is the size of a benchmark in the status: three packed nodes, and an entry in
	// taskResultsCompletionStatus.
	statusBytes = 215
)

// CheckSize returns an error if Argo Workflows could not hold a run of the suite.
func CheckSize(s *v1alpha1.NFSBenchmarkSuite, m matrix.Matrix) error {
	// Use the longest names: those of the tenth submission of a run.
	wf := NewWorkflow(Input{Suite: s, Matrix: m, Run: s.Name + "-00000000", Attempt: 9, FirstAttempt: 100})
	data, _ := json.Marshal(wf.Object) // it was made of JSON
	if n := len(data) + statusBytes*len(m.Sequence); n > maxStoredBytes {
		return fmt.Errorf("%d cells x %d repetitions come to a Workflow of about %d kB with its status, and Argo "+
			"Workflows keeps less than %d kB: lower spec.repetitions, take values out, or make several suites",
			len(m.Cells), max(s.Spec.Repetitions, 1), n/1000, maxStoredBytes/1000)
	}
	return nil
}

// labels returns the labels of everything that belongs to a suite.
func labels(s *v1alpha1.NFSBenchmarkSuite) map[string]string {
	return map[string]string{
		manifest.LabelManagedBy: manifest.ManagedBy,
		v1alpha1.LabelSuite:     s.Name,
	}
}

func (in Input) annotations() map[string]string {
	s := in.Suite.Spec
	order := string(s.Order)
	if s.Order == v1alpha1.OrderInterleaved {
		order += "/" + string(s.Blocks)
	}
	return map[string]string{
		AnnotationSeed:  strconv.FormatInt(in.Matrix.Seed, 10),
		AnnotationOrder: order,
	}
}

// Owner returns the owner reference that deletes an object together with its suite.
func Owner(s *v1alpha1.NFSBenchmarkSuite) metav1.OwnerReference {
	return *metav1.NewControllerRef(s, v1alpha1.GroupVersion.WithKind("NFSBenchmarkSuite"))
}

// Access returns the ServiceAccount, the Role and the RoleBinding of the workflow's pods; nil if the suite names an
// account of its own. The pods may do what a step needs: create a benchmark and watch it, and report the result to
// Argo.
func Access(s *v1alpha1.NFSBenchmarkSuite) []client.Object {
	if s.Spec.ServiceAccountName != "" {
		return nil
	}
	may := func(group, resource string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
	}
	account, role, binding := manifest.Access(
		metav1.ObjectMeta{
			Name: serviceAccount(s), Namespace: s.Namespace, Labels: labels(s),
			OwnerReferences: []metav1.OwnerReference{Owner(s)},
		},
		may(v1alpha1.GroupVersion.Group, "nfsbenchmarks", "create", "get", "list", "patch", "watch"),
		may(Workflow.Group, "workflowtaskresults", "create", "patch"),
		// The API server may require it for an owner reference that blocks the owner's deletion.
		may(Workflow.Group, "workflows/finalizers", "update"))
	return []client.Object{account, role, binding}
}

func serviceAccount(s *v1alpha1.NFSBenchmarkSuite) string {
	return cmp.Or(s.Spec.ServiceAccountName, s.Name+"-workflow")
}
