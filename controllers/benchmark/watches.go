package benchmark

import (
	"context"

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
)

// SetupWithManager registers the reconciler and what wakes it.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, workers int) error {
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
	uid := obj.GetLabels()[manifest.LabelUID]
	return r.requests(ctx, client.InNamespace(obj.GetNamespace()), func(b *v1alpha1.NFSBenchmark) bool { return string(b.UID) == uid })
}

// waiting finds the benchmarks that a freed target may let go on.
func (r *Reconciler) waiting(ctx context.Context, _ client.Object) []reconcile.Request {
	return r.requests(ctx, nil, func(b *v1alpha1.NFSBenchmark) bool { return b.Status.Queue != nil && !isFinished(b) })
}

func (r *Reconciler) requests(ctx context.Context, where client.ListOption, match func(*v1alpha1.NFSBenchmark) bool) []reconcile.Request {
	list := &v1alpha1.NFSBenchmarkList{}
	var opts []client.ListOption
	if where != nil {
		opts = append(opts, where)
	}
	if err := r.Client.List(ctx, list, opts...); err != nil {
		return nil // the cache cannot fail once it is synced; passes also wake by time
	}
	var out []reconcile.Request
	for i := range list.Items {
		if b := &list.Items[i]; match(b) {
			out = append(out, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: b.Namespace, Name: b.Name}})
		}
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
