package benchmark

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/pass"
	"github.com/nfsbench/nfsbench/internal/manifest"
)

// find fills obj and reports whether the object exists.
func find(ctx context.Context, from client.Reader, obj client.Object) (bool, error) {
	err := from.Get(ctx, client.ObjectKeyFromObject(obj), obj)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("read %s %q: %w", kindOf(obj), obj.GetName(), err)
	}
	return err == nil, nil
}

// findConfigMap reads a ConfigMap of the run; nil if it does not exist or belongs to somebody else. It reads past the
// cache, which holds no contents, and once per pass.
func (r *Reconciler) findConfigMap(ctx context.Context, s *scope, name string) (*corev1.ConfigMap, error) {
	if cm := s.configMaps[name]; cm != nil {
		return cm, nil
	}
	cm := &corev1.ConfigMap{ObjectMeta: s.meta(name)}
	if found, err := find(ctx, r.Reader, cm); err != nil || !found || !isOurs(s.b, cm) && !isOrphan(s.b, cm) {
		return nil, err
	}
	if s.configMaps == nil {
		s.configMaps = map[string]*corev1.ConfigMap{}
	}
	s.configMaps[name] = cm
	return cm, nil
}

// meta returns the metadata of a child of the benchmark.
func (s *scope) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: s.b.Namespace, Name: name}
}

// checkOurs refuses an object that has one of the benchmark's names and another owner. An object of an earlier
// benchmark of the same name will be deleted, so its error is temporary; any other is final.
func checkOurs(b *v1alpha1.NFSBenchmark, obj client.Object) error {
	kind, name := kindOf(obj), obj.GetName()
	owner := metav1.GetControllerOfNoCopy(obj)
	earlier := owner != nil && owner.Kind == "NFSBenchmark" && owner.Name == b.Name
	if !isTenants(b, obj) {
		earlier = obj.GetLabels()[manifest.LabelManagedBy] == manifest.ManagedBy
	}
	switch {
	case isOurs(b, obj):
		return nil
	case earlier:
		return fmt.Errorf("%s %q still belongs to an earlier benchmark: waiting for it to go; if it stays, delete it",
			kind, name)
	default:
		return invalid(v1alpha1.ReasonNameTaken,
			"there is a %s %q that this benchmark did not make: delete it, or give the benchmark another name", kind, name)
	}
}

func kindOf(obj client.Object) string {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return u.GetKind()
	}
	return reflect.TypeOf(obj).Elem().Name()
}

// isOurs reports whether obj belongs to the benchmark. It decides what may be deleted; an object that a run uses must
// also have the operator's content: see adopt. The label proves ownership only where no tenant can write it.
func isOurs(b *v1alpha1.NFSBenchmark, obj client.Object) bool {
	if !isTenants(b, obj) {
		return obj.GetLabels()[manifest.LabelUID] == string(b.UID)
	}
	owner := metav1.GetControllerOfNoCopy(obj)
	return owner != nil && owner.UID == b.UID
}

// isOrphan reports whether obj of a deleted benchmark has lost its owner, as with --cascade=orphan. The label proves
// only that somebody who may write obj wants it deleted with the benchmark.
func isOrphan(b *v1alpha1.NFSBenchmark, obj client.Object) bool {
	return !b.DeletionTimestamp.IsZero() && metav1.GetControllerOfNoCopy(obj) == nil &&
		obj.GetLabels()[manifest.LabelUID] == string(b.UID)
}

// isTenants reports whether tenants may write obj: it is in the namespace of the benchmark, and not an object of
// Trident.
func isTenants(b *v1alpha1.NFSBenchmark, obj client.Object) bool {
	_, ofTrident := obj.(*unstructured.Unstructured)
	return !ofTrident && obj.GetNamespace() == b.Namespace
}

// maxEvents bounds the events that one list reads. Their senders limit events too.
const maxEvents = 500

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// deletePatience bounds the wait for objects that are not deleted. After it the operator reports what is left and lets
// the benchmark go: a benchmark that cannot be deleted is worse than an object that must be removed by hand.
const deletePatience = 3 * time.Minute

// delete begins to delete obj, unless its deletion has begun.
func (r *Reconciler) delete(ctx context.Context, obj client.Object) error {
	if !obj.GetDeletionTimestamp().IsZero() {
		return nil
	}
	err := r.Client.Delete(ctx, obj, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s %q: %w", kindOf(obj), obj.GetName(), err)
	}
	return nil
}

func (r *Reconciler) podsOf(ctx context.Context, b *v1alpha1.NFSBenchmark, component string) ([]corev1.Pod, error) {
	list := &corev1.PodList{}
	err := r.Client.List(ctx, list, client.InNamespace(b.Namespace), client.MatchingLabels(manifest.Labels(b, component)))
	if err != nil {
		return nil, fmt.Errorf("list %s pods: %w", component, err)
	}
	return list.Items, nil
}

// patchResult merges keys into the ConfigMap with the results, whose other keys belong to
// the collectors.
func (r *Reconciler) patchResult(ctx context.Context, s *scope, keys map[string]any) error {
	body, err := json.Marshal(keys)
	if err != nil {
		return fmt.Errorf("encode the keys of a ConfigMap: %w", err)
	}
	cm := &corev1.ConfigMap{ObjectMeta: s.meta(s.names.Result)}
	if err := r.Client.Patch(ctx, cm, client.RawPatch(types.MergePatchType, body), pass.FieldOwner); err != nil {
		return fmt.Errorf("patch ConfigMap %q: %w", cm.Name, err)
	}
	return nil
}

func isActive(p corev1.Pod) bool { return p.DeletionTimestamp.IsZero() && mayRun(p) }

// withUID returns the benchmark with that UID. Callers must not change it.
func (r *Reconciler) withUID(ctx context.Context, uid string) ([]v1alpha1.NFSBenchmark, error) {
	list := &v1alpha1.NFSBenchmarkList{}
	err := r.Client.List(ctx, list, client.MatchingFields{IndexUID: uid}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("find the benchmark with UID %q: %w", uid, err)
	}
	return list.Items, nil
}

// changeFinalizers adds or removes our finalizer. It reads the benchmark past the cache, which drops other finalizers.
func (r *Reconciler) changeFinalizers(
	ctx context.Context, b *v1alpha1.NFSBenchmark, change func(client.Object, string) bool,
) error {
	live := &v1alpha1.NFSBenchmark{}
	err := r.Reader.Get(ctx, client.ObjectKeyFromObject(b), live)
	if err == nil && live.UID == b.UID {
		before := live.DeepCopy()
		change(live, Finalizer)
		err = r.Client.Patch(ctx, live, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	}
	if err = client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("change the finalizers: %w", err)
	}
	return nil
}
