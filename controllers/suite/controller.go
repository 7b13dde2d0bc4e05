package suite

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
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
)

// NewReconciler makes a Reconciler.
func NewReconciler(o Options) *Reconciler {
	r := &Reconciler{Options: o, memory: newMemory(), looks: lru.New(mostLooks)}
	r.phases = []phase{
		r.findRuns, r.validate, r.checkNeeds, r.checkArgo, r.grantRights, r.start, r.readResults, r.control, r.endRuns,
		r.writeRecords, r.regress, r.prune,
	}
	return r
}

// The pods of a workflow create benchmarks and report their results, so the operator, which grants these rights, must
// have them itself.
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
		return ctrl.Result{}, nil // the garbage collector deletes everything that the suite owns
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
			n.After = argoDelay // no watch shows that rights or quotas were corrected
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

// delay returns the time until the next pass: the operator does not watch Argo's objects, because their kinds may not
// exist.
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

// SetupWithManager registers the reconciler and its watches. It does not watch Argo's kinds, because they may not
// exist: it watches the benchmarks, and timed passes cover the rest.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, workers int) error {
	if err := pass.IndexBenchmarks(context.Background(), mgr, Indexes()); err != nil {
		return err
	}
	// A suite changes when a benchmark is created, is deleted or enters another phase. Timed passes read the progress of
	// benchmarks.
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

// ofLabels finds the suite of a benchmark by its label: a Workflow owns the benchmark, so its owner is not the suite.
func ofLabels(_ context.Context, obj client.Object) []reconcile.Request {
	name := obj.GetLabels()[v1alpha1.LabelSuite]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: name}}}
}

// Indexes returns the index functions of each field of NFSBenchmark. SetupWithManager adds them to the manager's cache;
// a client without that cache must provide them itself.
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
