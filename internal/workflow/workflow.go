// Package workflow compiles a suite into what Argo Workflows runs: a Workflow, or
// a CronWorkflow, and the rights of its pods. It is pure, and knows of Argo no more
// than the fields that it writes and reads.
package workflow

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/matrix"
)

// The kinds of Argo Workflows that are used.
var (
	Workflow     = schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Workflow"}
	CronWorkflow = schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "CronWorkflow"}
)

// Key is one benchmark of a run.
type Key struct {
	Cell       string
	Repetition int32
}

// Input is what a suite compiles from.
type Input struct {
	Suite  *v1alpha1.NFSBenchmarkSuite
	Matrix matrix.Matrix
	// Run is the name of the run, and Attempt counts its resubmissions from 0.
	// A CronWorkflow needs neither: each of its workflows is a run.
	Run     string
	Attempt int32
	// Done is what an earlier attempt finished: it is left out.
	Done map[Key]bool
	// FirstAttempt of the benchmarks of a resubmission, so that their names are
	// new: more than any attempt before.
	FirstAttempt int32
}

// NewWorkflow compiles one run.
func NewWorkflow(in Input) *unstructured.Unstructured { return nil }

// NewCronWorkflow compiles a suite with a schedule.
func NewCronWorkflow(in Input) *unstructured.Unstructured { return nil }

// Access is the ServiceAccount, the Role and the RoleBinding of the workflow's
// pods; nothing when the suite names an account of its own.
func Access(s *v1alpha1.NFSBenchmarkSuite) []client.Object { return nil }

// Patch is what brings a Workflow that exists in line with spec.suspend and
// spec.shutdown; nil when it is. It is a JSON merge patch.
func Patch(s *v1alpha1.NFSBenchmarkSuite, wf *unstructured.Unstructured) []byte { return nil }

// State is what a Workflow says of itself.
type State struct {
	Phase      string // Pending, Running, Succeeded, Failed, Error; empty = no controller has seen it
	Message    string
	Started    *metav1.Time
	Finished   *metav1.Time
	IsFinished bool
}

// Observe reads a Workflow.
func Observe(wf *unstructured.Unstructured) State { return State{} }

// LastScheduled is when a CronWorkflow last started a run.
func LastScheduled(cron *unstructured.Unstructured) *metav1.Time { return nil }
