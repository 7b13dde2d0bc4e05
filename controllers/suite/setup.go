package suite

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
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

// SetupWithManager registers the reconciler and what wakes it. Argo's kinds are not
// watched, as they need not exist: their benchmarks are, and the clock does the rest.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, workers int) error {
	if err := pass.IndexBenchmarks(context.Background(), mgr, Indexes()); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("nfsbenchmarksuite").
		For(&v1alpha1.NFSBenchmarkSuite{}).
		Watches(&v1alpha1.NFSBenchmark{}, handler.EnqueueRequestsFromMapFunc(ofLabels), builder.WithPredicates(moves())).
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

// moves lets through what changes a suite: benchmarks that come, go, or enter
// another phase. Their progress is looked at from time to time.
func moves() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e ctrlevent.UpdateEvent) bool {
		was, ok1 := e.ObjectOld.(*v1alpha1.NFSBenchmark)
		is, ok2 := e.ObjectNew.(*v1alpha1.NFSBenchmark)
		return !ok1 || !ok2 || was.Status.Phase != is.Status.Phase
	}}
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
