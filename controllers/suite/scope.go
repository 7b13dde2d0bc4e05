package suite

import (
	"context"
	"math"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/pass"
	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/matrix"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/workflow"
)

// Intervals until the next pass if no watch starts one.
const (
	soon          = 5 * time.Second  // Argo has not started yet, or a run is about to end
	underWayDelay = 10 * time.Second // a run is under way
	argoDelay     = 30 * time.Second // Argo is not installed
	idleDelay     = time.Minute      // a schedule waits
)

// IndexRun is the cache index of the benchmarks of a run.
const IndexRun = "suiteRun"

// Annotations of a record: the values that a history shows, so that no pass has to read all records for it.
const (
	annotationPhase    = "nfsbench.io/phase"    // absent while the run is under way
	annotationVerdict  = "nfsbench.io/verdict"  // set when the run ends
	annotationStarted  = "nfsbench.io/started"  // RFC 3339
	annotationEnded    = "nfsbench.io/ended"    // RFC 3339
	annotationWorkflow = "nfsbench.io/workflow" // the workflow whose end the phase describes
	annotationWritten  = "nfsbench.io/written"  // RFC 3339
)

// Options configures a Reconciler. All members are required.
type Options struct {
	Client   client.Client // cached reads
	Reader   client.Reader // reads past the cache
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	Checker  matrix.Checker
	// Missing returns what a benchmark would wait for, or fail with, before its run; nil if nothing is missing.
	Missing func(context.Context, *v1alpha1.NFSBenchmark) (*pass.Fact, error)
}

// Reconciler reconciles NFSBenchmarkSuites. It is safe for concurrent use on
// different suites.
type Reconciler struct {
	Options
	memory *memory
	looks  *lru.Cache // a look by the UID of a suite
	phases []phase
}

// scope holds the facts of one pass. Phases fill it in; setStatus reads it.
type scope struct {
	suite *v1alpha1.NFSBenchmarkSuite
	now   time.Time
	left  runfile.Budget // for records that the pass keeps

	matrix     *matrix.Matrix // nil = not valid, or not looked at
	valid      *fact          // of the matrix
	argo       *fact          // nil = not looked at, or not needed
	waiting    *fact          // what the suite waits for, in words
	blocked    *fact          // what only the user can fix
	missing    *fact          // what the next run of a schedule would wait for, or fail with
	runs       []*run         // all known runs, oldest first
	last       *metav1.Time   // when the schedule last started a run
	resubmit   bool           // the annotation was acted on, or has nothing to act on
	rerun      bool
	regression *compare.Table
	accepted   string // run that regressions are measured by
	unknown    string // run that nfsbench.io/accept-run names and that does not exist
	events     []event
	seen       seen // what setStatus derives from all this
}

// run is one run of the suite.
type run struct {
	name      string
	workflows []metav1.PartialObjectMetadata // oldest first; none = not begun, or gone
	record    *metav1.PartialObjectMetadata  // nil = none yet
	vanished  bool                           // it had a workflow, and has none

	file    runfile.SuiteRun // the record, and what followed it
	changed bool             // file is newer than the record
	state   workflow.State
	live    []underWay
	patch   []byte   // brings the newest workflow in line with the spec; nil = it is in line
	outcome *outcome // it has ended in this pass
	loaded  bool     // file was filled
}

// underWay is a benchmark that has not ended.
type underWay struct {
	name      string
	key       workflow.Key
	attempt   int32
	percent   int32  // of the benchmark
	waits     string // what the benchmark waits for, in words
	suspended bool   // it was asked to stop
}

// outcome describes how a run ended.
type outcome struct {
	phase   v1alpha1.SuitePhase // Succeeded, Failed or Cancelled
	reason  string
	message string
}

type (
	fact  = pass.Fact
	event = pass.Event
	next  = pass.Next
	phase = func(context.Context, *scope) (next, error)
)

// scheduled reports whether the suite has a schedule.
func (s *scope) scheduled() bool { return s.suite.Spec.Schedule != nil }

// current returns the newest run; nil = there is none.
func (s *scope) current() *run {
	if len(s.runs) == 0 {
		return nil
	}
	return s.runs[len(s.runs)-1]
}

// open returns the runs that have not ended, oldest first.
func (s *scope) open() []*run {
	var out []*run
	for _, r := range s.runs {
		if !r.isOver() {
			out = append(out, r)
		}
	}
	return out
}

// workflow returns the name of the newest workflow; "" = there is none.
func (r *run) workflow() string {
	if len(r.workflows) == 0 {
		return ""
	}
	return r.workflows[len(r.workflows)-1].Name
}

// isOver reports whether the record states how the run ended. A workflow that is newer than the record opens the run
// again.
func (r *run) isOver() bool {
	if r.record == nil || r.record.Annotations[annotationPhase] == "" {
		return false
	}
	w := r.workflow()
	return w == "" || w == r.record.Annotations[annotationWorkflow]
}

// started returns when the run began; zero = unknown.
func (r *run) started() time.Time {
	if t, ok := r.noted(annotationStarted); ok {
		return t
	}
	if len(r.workflows) > 0 {
		return r.workflows[0].CreationTimestamp.Time
	}
	return time.Time{}
}

// ended returns when the run ended. It orders runs that started in the same second, because records and objects have
// whole seconds. A run that is not over ends after all others.
func (r *run) ended() time.Time {
	if t, ok := r.noted(annotationEnded); ok {
		return t
	}
	return time.Unix(math.MaxInt32, 0)
}

// noted returns the time in an annotation of the record; false if there is none.
func (r *run) noted(annotation string) (time.Time, bool) {
	if r.record == nil {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339, r.record.Annotations[annotation])
	return t, err == nil
}

// total returns the number of benchmarks of the run.
func (r *run) total() int { return len(r.file.Cells) * int(r.file.Settings.Repetitions) }

func blocked(reason string, err error) error { return &pass.Invalid{Reason: reason, Err: err} }

func isSuccess(r runfile.SuiteResult) bool { return r.Phase == string(v1alpha1.PhaseSucceeded) }

// isDone reports whether Argo starts nothing more of a run.
func (r *run) isDone() bool { return r.vanished || r.state.IsFinished }

// wantsArgo reports whether the suite needs Argo.
func (s *scope) wantsArgo() bool {
	return s.scheduled() || len(s.open()) > 0 || s.due() != ""
}

// over returns the runs that have ended, oldest first.
func (s *scope) over() []*run {
	var out []*run
	for _, one := range s.runs {
		if one.isOver() {
			out = append(out, one)
		}
	}
	return out
}

func metadataOf(u *unstructured.Unstructured) metav1.PartialObjectMetadata {
	m := metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(u.GroupVersionKind())
	m.Name, m.Namespace, m.UID = u.GetName(), u.GetNamespace(), u.GetUID()
	m.ResourceVersion, m.CreationTimestamp = u.GetResourceVersion(), u.GetCreationTimestamp()
	m.Labels, m.Annotations = u.GetLabels(), u.GetAnnotations()
	return m
}
