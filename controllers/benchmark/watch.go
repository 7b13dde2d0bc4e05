package benchmark

import (
	"context"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/pass"
	"github.com/nfsbench/nfsbench/controllers/queue"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/plan"
)

// SetupWithManager registers the reconciler and its watches.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, workers int) error {
	if err := pass.IndexBenchmarks(context.Background(), mgr, Indexes()); err != nil {
		return err
	}
	deletions := predicate.Funcs{
		CreateFunc:  func(ctrlevent.CreateEvent) bool { return false },
		UpdateFunc:  func(ctrlevent.UpdateEvent) bool { return false },
		GenericFunc: func(ctrlevent.GenericEvent) bool { return false },
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("nfsbenchmark").
		For(&v1alpha1.NFSBenchmark{}, builder.WithPredicates(changes())).
		Owns(&batchv1.Job{}).
		Owns(&corev1.ConfigMap{}, builder.OnlyMetadata, builder.WithPredicates(r.unlessMeasuring())).
		Owns(&corev1.PersistentVolumeClaim{}).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(r.ofLabels)).
		Watches(&coordinationv1.Lease{}, handler.EnqueueRequestsFromMapFunc(r.waiting), builder.WithPredicates(deletions)).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r.AsReconciler())
}

// changes passes only those changes of a benchmark that a pass reads. A user who may label a benchmark must not keep
// the workers busy.
func changes() predicate.Funcs {
	return predicate.Funcs{UpdateFunc: func(e ctrlevent.UpdateEvent) bool {
		was, isOne := e.ObjectOld.(*v1alpha1.NFSBenchmark)
		is, areBoth := e.ObjectNew.(*v1alpha1.NFSBenchmark)
		return !isOne || !areBoth || was.ResourceVersion == is.ResourceVersion || was.Generation != is.Generation ||
			!is.DeletionTimestamp.Equal(was.DeletionTimestamp) || !slices.Equal(was.Finalizers, is.Finalizers) ||
			!equality.Semantic.DeepEqual(was.Status, is.Status)
	}}
}

// ofLabels finds the benchmark of a pod by its label: a load pod belongs to a Job, so its owner is not the benchmark.
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

// waiting finds the benchmarks that may continue when a target is freed, and the few behind them
// that move up at once.
func (r *Reconciler) waiting(ctx context.Context, lease client.Object) []reconcile.Request {
	first, err := r.queue.Next(ctx, lease.GetAnnotations()[manifest.AnnotationTarget], toldAtOnce, r.Clock.Now())
	if err != nil {
		return nil // as above
	}
	var out []reconcile.Request
	for _, b := range first {
		out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b)})
	}
	return out
}

// IndexUID is the field of the cache with the UID of a benchmark that is not settled. Without it and
// queue.IndexTarget, each pass would search all benchmarks, including finished ones.
const IndexUID = "uid"

// Indexes returns the index functions of each field. SetupWithManager adds them to the manager's cache; a client
// without that cache must provide them itself.
func Indexes() map[string]client.IndexerFunc {
	return map[string]client.IndexerFunc{
		IndexUID: func(obj client.Object) []string {
			if b, ok := obj.(*v1alpha1.NFSBenchmark); ok && isSettled(b) {
				return nil // it has no pods and no Leases
			}
			return []string{string(obj.GetUID())}
		},
		queue.IndexTarget: func(obj client.Object) []string {
			b, ok := obj.(*v1alpha1.NFSBenchmark)
			if !ok || isFinished(b) {
				return nil
			}
			return plan.KnownKeys(b)
		},
	}
}

// CacheOptions keeps in memory only the objects that the operator made, and no other pods or ConfigMaps of the cluster.
// The operator reads objects of users, such as their claims, past the cache.
//
// The operator also reads volumes and classes past the cache, because an operator that may see some namespaces only
// must not watch them: see ClientOptions. The same holds for Trident's objects, whose kinds may be missing.
//
// Of ConfigMaps that wake benchmarks the cache holds only the metadata, because anybody can create ConfigMaps with the
// operator's label. Of benchmarks and suites it holds the fields that passes read, and of settled benchmarks those that
// suites and metrics read. It drops the managedFields of other objects.
//
// No namespaces means all. The cache also watches the namespace of the Leases.
func CacheOptions(namespaces []string, leases string) cache.Options {
	ours := cache.ByObject{
		Label:     labels.SelectorFromSet(labels.Set{manifest.LabelManagedBy: manifest.ManagedBy}),
		Transform: boundedObject,
	}
	lease := ours
	o := cache.Options{DefaultNamespaces: inNamespaces(namespaces)}
	if leases != "" {
		lease.Namespaces = inNamespaces([]string{leases})
	}
	o.ByObject = map[client.Object]cache.ByObject{
		&v1alpha1.NFSBenchmark{}:        {Transform: reduceBenchmark},
		&v1alpha1.NFSBenchmarkSuite{}:   {Transform: reduceSuite},
		&batchv1.Job{}:                  ours,
		&corev1.ConfigMap{}:             {Label: ours.Label, Transform: ownerOnly},
		&corev1.PersistentVolumeClaim{}: ours,
		&corev1.Pod{}:                   ours,
		&corev1.Service{}:               ours,
		&corev1.ServiceAccount{}:        ours,
		&rbacv1.Role{}:                  ours,
		&rbacv1.RoleBinding{}:           ours,
		&networkingv1.NetworkPolicy{}:   ours,
		&coordinationv1.Lease{}:         lease,
	}
	return o
}

func inNamespaces(names []string) map[string]cache.Config {
	if len(names) == 0 {
		return nil
	}
	out := map[string]cache.Config{}
	for _, n := range names {
		out[n] = cache.Config{}
	}
	return out
}

// ClientOptions returns the client options that fit CacheOptions.
func ClientOptions() client.Options {
	return client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{
		&corev1.ConfigMap{},
		&corev1.PersistentVolume{},
		&storagev1.StorageClass{},
	}}}
}
