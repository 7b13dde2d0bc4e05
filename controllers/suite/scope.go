package suite

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/matrix"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/workflow"
)

// scope is what one pass knows. Phases fill it in, setStatus reads it.
type scope struct {
	suite *v1alpha1.NFSBenchmarkSuite
	now   time.Time

	matrix     *matrix.Matrix // nil = not valid, or not looked at
	valid      *fact          // of the matrix
	argo       *fact          // nil = not looked at, or not needed
	waiting    *fact          // what the suite waits for, in words
	blocked    *fact          // what only the user can mend
	runs       []*run         // that anything is known of, oldest first
	last       *metav1.Time   // when the schedule last started a run
	resubmit   bool           // the annotation was acted on, or has nothing to act on
	rerun      bool
	regression *compare.Regression
	accepted   string // run that regressions are measured by
	unknown    string // run that nfsbench.io/accept-run names and nobody knows
	events     []event
}

// fact is one observation with its reason, for a condition.
type fact struct {
	ok      bool
	reason  string
	message string
}

// run is one run of the suite.
type run struct {
	name      string
	workflows []metav1.PartialObjectMetadata // oldest first; none = not begun, or gone
	record    *metav1.PartialObjectMetadata  // nil = none yet
	vanished  bool                           // it had a workflow, and has none

	file    runfile.SuiteRun // what is known: the record, and what came since
	changed bool             // file says more than the record
	state   workflow.State
	live    []underWay
	object  *unstructured.Unstructured // the newest workflow; nil = it is gone
	outcome *outcome                   // it has ended in this pass
	loaded  bool                       // file was filled
}

// underWay is a benchmark that has not ended.
type underWay struct {
	name      string
	key       workflow.Key
	attempt   int32
	started   time.Time // zero = not yet
	percent   int32     // of itself
	waits     string    // what it waits for, in words
	suspended bool      // it was asked to stop
}

// outcome is how a run ended.
type outcome struct {
	phase   v1alpha1.SuitePhase // Succeeded, Failed or Cancelled
	reason  string
	message string
}

// next says what follows a phase: the zero value means "go on".
type next struct {
	stop  bool
	after time.Duration
}

type phase func(context.Context, *scope) (next, error)

// scheduled says that the clock starts the runs.
func (s *scope) scheduled() bool { return s.suite.Spec.Schedule != nil }

// current is the newest run; nil = there is none.
func (s *scope) current() *run {
	if len(s.runs) == 0 {
		return nil
	}
	return s.runs[len(s.runs)-1]
}

// open are the runs that have not ended, oldest first.
func (s *scope) open() []*run {
	var out []*run
	for _, r := range s.runs {
		if !r.isOver() {
			out = append(out, r)
		}
	}
	return out
}

// workflow is the name of the newest workflow; "" = there is none.
func (r *run) workflow() string {
	if len(r.workflows) == 0 {
		return ""
	}
	return r.workflows[len(r.workflows)-1].Name
}

// isOver says that the record tells how the run ended. A workflow that came after
// that has opened it again.
func (r *run) isOver() bool {
	if r.record == nil || r.record.Annotations[annotationPhase] == "" {
		return false
	}
	w := r.workflow()
	return w == "" || w == r.record.Annotations[annotationWorkflow]
}

// started is when the run began; zero = nobody knows.
func (r *run) started() time.Time {
	if r.record != nil {
		if t, err := time.Parse(time.RFC3339, r.record.Annotations[annotationStarted]); err == nil {
			return t
		}
	}
	if len(r.workflows) > 0 {
		return r.workflows[0].CreationTimestamp.Time
	}
	return time.Time{}
}

// total is how many benchmarks the run has.
func (r *run) total() int { return len(r.file.Cells) * int(r.file.Settings.Repetitions) }
