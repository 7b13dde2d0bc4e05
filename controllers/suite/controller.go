package suite

import (
	"context"
	"errors"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/pass"
	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/matrix"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/workflow"
)

// How long until the next pass, where no watch wakes us.
const (
	soon          = 5 * time.Second  // Argo has not begun yet, or a run is about to end
	underWayDelay = 10 * time.Second // a run is under way
	argoDelay     = 30 * time.Second // Argo is not there
	idleDelay     = time.Minute      // a schedule waits
)

// Options is what a Reconciler needs. All members are required.
type Options struct {
	Client   client.Client // cached reads
	Reader   client.Reader // reads past the cache
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	Checker  matrix.Checker
}

// Reconciler reconciles NFSBenchmarkSuites. It is safe for concurrent use on
// different suites.
type Reconciler struct {
	Options
	memory *memory
	phases []phase
}

// NewReconciler makes a Reconciler.
func NewReconciler(o Options) *Reconciler {
	r := &Reconciler{Options: o, memory: newMemory()}
	r.phases = []phase{
		r.recall, r.validate, r.checkArgo, r.grant, r.start, r.observe, r.control, r.conclude, r.keep, r.regress, r.prune,
	}
	return r
}

// A workflow's pods create benchmarks and report their results, so whoever grants
// them these rights must have them.
//
// +kubebuilder:rbac:groups=nfsbench.io,resources=nfsbenchmarksuites,verbs=get;list;watch
// +kubebuilder:rbac:groups=nfsbench.io,resources=nfsbenchmarksuites/status,verbs=patch
// +kubebuilder:rbac:groups=nfsbench.io,resources=nfsbenchmarksuites/finalizers,verbs=update
// +kubebuilder:rbac:groups=nfsbench.io,resources=nfsbenchmarks,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=argoproj.io,resources=workflows;cronworkflows,verbs=get;list;create;patch;delete
// +kubebuilder:rbac:groups=argoproj.io,resources=workflowtaskresults,verbs=create;patch
// +kubebuilder:rbac:groups=argoproj.io,resources=workflows/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=configmaps;serviceaccounts,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=roles;rolebindings,verbs=get;list;watch;create;patch;delete

// Reconcile runs the phases in order and writes the status exactly once.
func (r *Reconciler) Reconcile(ctx context.Context, suite *v1alpha1.NFSBenchmarkSuite) (ctrl.Result, error) {
	if !suite.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil // all that it made belongs to it, and goes with it
	}
	s := &scope{suite: suite, now: r.Clock.Now(), left: recordBudget()}
	before := suite.DeepCopy()
	n, err := next{}, pass.CheckSize(suite)
	if err == nil {
		n, err = pass.Run(ctx, s, r.phases)
	}
	if !n.Stop && err == nil {
		n.After = s.delay()
	}
	if bad := (*pass.Invalid)(nil); errors.As(err, &bad) {
		n, err = next{}, nil
		s.blocked = &fact{Reason: bad.Reason, Message: bad.Error()}
		if bad.Reason == v1alpha1.ReasonForbidden {
			n.After = argoDelay // rights and quotas are fixed elsewhere, which wakes nobody
		}
	}
	setStatus(s, err)
	changed := !equality.Semantic.DeepEqual(before.Status, suite.Status)
	res, err := pass.Writer{Client: r.Client, Recorder: r.Recorder}.Finish(
		ctx, before, suite, changed, transitions(before, suite, s.events), ctrl.Result{RequeueAfter: n.After}, err)
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: pass.ConflictDelay}, nil
	}
	return res, err
}

func blocked(reason string, err error) error { return &pass.Invalid{Reason: reason, Err: err} }

// delay is when to look again: Argo's objects are not watched, because their kinds
// need not exist.
func (s *scope) delay() time.Duration {
	open := s.open()
	switch {
	case len(open) > 0 && open[len(open)-1].state.Phase == "":
		return soon
	case len(open) > 0:
		return underWayDelay
	case s.scheduled():
		return idleDelay
	case s.argo != nil && !s.argo.OK:
		return argoDelay
	default:
		return 0
	}
}

// SetupWithManager registers the reconciler and what wakes it. Argo's kinds are not
// watched, as they need not exist: their benchmarks are, and the clock does the rest.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, workers int) error {
	if err := pass.IndexBenchmarks(context.Background(), mgr, Indexes()); err != nil {
		return err
	}
	// What changes a suite are benchmarks that come, go, or enter another phase. Their progress is
	// looked at from time to time.
	moves := predicate.Funcs{UpdateFunc: func(e ctrlevent.UpdateEvent) bool {
		was, ok1 := e.ObjectOld.(*v1alpha1.NFSBenchmark)
		is, ok2 := e.ObjectNew.(*v1alpha1.NFSBenchmark)
		return !ok1 || !ok2 || was.Status.Phase != is.Status.Phase
	}}
	return ctrl.NewControllerManagedBy(mgr).
		Named("nfsbenchmarksuite").
		For(&v1alpha1.NFSBenchmarkSuite{}).
		Watches(&v1alpha1.NFSBenchmark{}, handler.EnqueueRequestsFromMapFunc(ofLabels), builder.WithPredicates(moves)).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r.AsReconciler())
}

// ofLabels finds the suite of a benchmark: a Workflow owns it, so its owner does
// not tell.
func ofLabels(_ context.Context, obj client.Object) []reconcile.Request {
	name := obj.GetLabels()[v1alpha1.LabelSuite]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: name}}}
}

// IndexRun finds the benchmarks of a run in the cache.
const IndexRun = "suiteRun"

// Indexes gives the values of each field of NFSBenchmark. SetupWithManager adds
// them to the manager's cache; a client without that cache must offer them itself.
func Indexes() map[string]client.IndexerFunc {
	return map[string]client.IndexerFunc{IndexRun: func(obj client.Object) []string {
		if name := obj.GetLabels()[v1alpha1.LabelSuiteRun]; name != "" {
			return []string{name}
		}
		return nil
	}}
}

// AsReconciler adapts r to controller-runtime, which then fetches the object.
func (r *Reconciler) AsReconciler() reconcile.Reconciler {
	return reconcile.AsReconciler(r.Client, r)
}

// scope is what one pass knows. Phases fill it in, setStatus reads it.
type scope struct {
	suite *v1alpha1.NFSBenchmarkSuite
	now   time.Time
	left  runfile.Budget // for records that the pass keeps

	matrix     *matrix.Matrix // nil = not valid, or not looked at
	valid      *fact          // of the matrix
	argo       *fact          // nil = not looked at, or not needed
	waiting    *fact          // what the suite waits for, in words
	blocked    *fact          // what only the user can fix
	runs       []*run         // that anything is known of, oldest first
	last       *metav1.Time   // when the schedule last started a run
	resubmit   bool           // the annotation was acted on, or has nothing to act on
	rerun      bool
	regression *compare.Table
	accepted   string // run that regressions are measured by
	unknown    string // run that nfsbench.io/accept-run names and that does not exist
	events     []event
	seen       seen // what setStatus draws from all this
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
	patch   []byte   // of the newest workflow, which brings it in line with the spec; nil = it is
	outcome *outcome // it has ended in this pass
	loaded  bool     // file was filled
}

// underWay is a benchmark that has not ended.
type underWay struct {
	name      string
	key       workflow.Key
	attempt   int32
	percent   int32  // of itself
	waits     string // what it waits for, in words
	suspended bool   // it was asked to stop
}

// outcome is how a run ended.
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

// started is when the run began; zero = unknown.
func (r *run) started() time.Time {
	if t, ok := r.noted(annotationStarted); ok {
		return t
	}
	if len(r.workflows) > 0 {
		return r.workflows[0].CreationTimestamp.Time
	}
	return time.Time{}
}

// ended orders runs that started in the same second, which is all that records and objects know.
// A run that is not over ends after all others.
func (r *run) ended() time.Time {
	if t, ok := r.noted(annotationEnded); ok {
		return t
	}
	return time.Unix(math.MaxInt32, 0)
}

// noted is the time in an annotation of the record; false where there is none.
func (r *run) noted(annotation string) (time.Time, bool) {
	if r.record == nil {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339, r.record.Annotations[annotation])
	return t, err == nil
}

// total is how many benchmarks the run has.
func (r *run) total() int { return len(r.file.Cells) * int(r.file.Settings.Repetitions) }
