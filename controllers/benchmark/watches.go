package benchmark

import (
	"context"
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
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
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/queue"
)

// SetupWithManager registers the reconciler and what wakes it.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, workers int) error {
	for field, values := range Indexes() {
		if err := mgr.GetFieldIndexer().IndexField(context.Background(), &v1alpha1.NFSBenchmark{}, field, values); err != nil {
			return fmt.Errorf("index benchmarks by %s: %w", field, err)
		}
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("nfsbenchmark").
		For(&v1alpha1.NFSBenchmark{}).
		Owns(&batchv1.Job{}).
		Owns(&corev1.ConfigMap{}).
		Owns(&corev1.PersistentVolumeClaim{}).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(r.ofLabels)).
		Watches(&coordinationv1.Lease{}, handler.EnqueueRequestsFromMapFunc(r.waiting), builder.WithPredicates(deletions())).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r.AsReconciler())
}

// ofLabels finds the benchmark of a pod: load pods belong to a Job, so their
// owner does not tell.
func (r *Reconciler) ofLabels(ctx context.Context, obj client.Object) []reconcile.Request {
	list, err := r.withUID(ctx, obj.GetLabels()[manifest.LabelUID])
	if err != nil {
		return nil // the cache cannot fail once it is synced; passes also wake by time
	}
	var out []reconcile.Request
	for i := range list {
		out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list[i])})
	}
	return out
}

// waiting finds the benchmarks that a freed target may let go on, and the few
// behind them that get their new place at once.
func (r *Reconciler) waiting(ctx context.Context, lease client.Object) []reconcile.Request {
	entries, err := r.wanting(ctx, lease.GetAnnotations()[manifest.AnnotationTarget])
	if err != nil {
		return nil // as above
	}
	var out []reconcile.Request
	for _, e := range queue.Next(entries, toldAtOnce) {
		space, name, _ := strings.Cut(e.Name, "/")
		out = append(out, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: space, Name: name}})
	}
	return out
}

func deletions() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(ctrlevent.CreateEvent) bool { return false },
		UpdateFunc:  func(ctrlevent.UpdateEvent) bool { return false },
		GenericFunc: func(ctrlevent.GenericEvent) bool { return false },
	}
}
