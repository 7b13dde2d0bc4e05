// Package owned has the objects that the operator makes for a benchmark: it creates them, finds them, deletes them, and
// uses an object that is already there only if the operator would make the same one.
package owned

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/pass"
	"github.com/nfsbench/nfsbench/internal/manifest"
)

// Finalizer keeps a deleted benchmark until everything that the operator made for it is gone.
const Finalizer = "nfsbench.io/cleanup"

// ErrNoFinalizer is returned before the first object of a benchmark is made. Write the finalizer, and begin again.
var ErrNoFinalizer = errors.New("the benchmark has no finalizer yet")

// CheckFinalizer returns ErrNoFinalizer for a benchmark for which nothing may be made yet. A benchmark that only waits
// has no finalizer, so that it can be deleted when the operator is gone.
func CheckFinalizer(b *v1alpha1.NFSBenchmark) error {
	if !controllerutil.ContainsFinalizer(b, Finalizer) {
		return ErrNoFinalizer
	}
	return nil
}

// Objects creates and deletes the objects of benchmarks. It remembers which objects it has compared. It is safe for
// concurrent use.
type Objects struct {
	client   client.Client // cached reads
	reader   client.Reader // reads past the cache
	began    time.Time     // of this process
	compared compared
}

// New returns the objects that a client writes. Began is the time at which this process began.
func New(c client.Client, past client.Reader, began time.Time) *Objects {
	return &Objects{client: c, reader: past, began: began}
}

// Ensure creates obj for b unless it exists, and fills obj with the cluster's copy. The objects of a run never change
// after their creation, so Ensure leaves an existing object alone: see Adopt.
//
// The cache holds only objects of the operator, and may lag. Ensure therefore asks the API server for an object that
// the cache lacks. Ensure creates and does not apply, because an apply would merge obj with an object that somebody
// else creates at the same moment.
func (o *Objects) Ensure(ctx context.Context, b *v1alpha1.NFSBenchmark, obj client.Object) error {
	if err := CheckFinalizer(b); err != nil {
		return err
	}
	kind, name := KindOf(obj), obj.GetName()
	want := obj.DeepCopyObject().(client.Object) //nolint:forcetypeassert // a copy has the type of its original
	err := pass.Read(ctx, o.client, o.reader, obj)
	switch {
	case err == nil:
		return o.Adopt(ctx, b, want, obj)
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("read %s %q: %w", kind, name, err)
	}
	made := want.DeepCopyObject().(client.Object) //nolint:forcetypeassert // as above
	switch err := o.client.Create(ctx, made, pass.FieldOwner); {
	case err == nil:
		reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(made).Elem())
		content, err := contentOf(want, made)
		o.compared.add(obj.GetUID(), content)
		return err
	case apierrors.IsForbidden(err):
		// A quota, an admission rule or a missing right: trying again does
		// not fix it.
		reason := v1alpha1.ReasonForbidden
		if _, isPod := want.(*corev1.Pod); isPod {
			reason = v1alpha1.ReasonPodRefused
		}
		return invalid(reason, "the cluster refuses to create %s %q: %w", kind, name, err)
	default:
		return fmt.Errorf("create %s %q: %w", kind, name, err)
	}
}

// Find fills obj and reports whether the object exists.
func Find(ctx context.Context, from client.Reader, obj client.Object) (bool, error) {
	err := from.Get(ctx, client.ObjectKeyFromObject(obj), obj)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("read %s %q: %w", KindOf(obj), obj.GetName(), err)
	}
	return err == nil, nil
}

// checkOurs refuses an object that has one of the benchmark's names and another owner. An object of an earlier
// benchmark of the same name will be deleted, so its error is temporary; any other is final.
func checkOurs(b *v1alpha1.NFSBenchmark, obj client.Object) error {
	kind, name := KindOf(obj), obj.GetName()
	owner := metav1.GetControllerOfNoCopy(obj)
	earlier := owner != nil && owner.Kind == "NFSBenchmark" && owner.Name == b.Name
	if !isTenants(b, obj) {
		earlier = obj.GetLabels()[manifest.LabelManagedBy] == manifest.ManagedBy
	}
	switch {
	case IsOurs(b, obj):
		return nil
	case earlier:
		return fmt.Errorf("%s %q still belongs to an earlier benchmark: waiting for it to go; if it stays, delete it",
			kind, name)
	default:
		return invalid(v1alpha1.ReasonNameTaken,
			"there is a %s %q that this benchmark did not make: delete it, or give the benchmark another name", kind, name)
	}
}

// KindOf returns the kind of an object, for messages.
func KindOf(obj client.Object) string {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return u.GetKind()
	}
	return reflect.TypeOf(obj).Elem().Name()
}

// IsOurs reports whether obj belongs to the benchmark. It decides what may be deleted; an object that a run uses must
// also have the operator's content: see Adopt. The label proves ownership only where no tenant can write it.
func IsOurs(b *v1alpha1.NFSBenchmark, obj client.Object) bool {
	if !isTenants(b, obj) {
		return obj.GetLabels()[manifest.LabelUID] == string(b.UID)
	}
	owner := metav1.GetControllerOfNoCopy(obj)
	return owner != nil && owner.UID == b.UID
}

// IsOrphan reports whether obj of a deleted benchmark has lost its owner, as with --cascade=orphan. The label proves
// only that somebody who may write obj wants it deleted with the benchmark.
func IsOrphan(b *v1alpha1.NFSBenchmark, obj client.Object) bool {
	return !b.DeletionTimestamp.IsZero() && metav1.GetControllerOfNoCopy(obj) == nil &&
		obj.GetLabels()[manifest.LabelUID] == string(b.UID)
}

// isTenants reports whether tenants may write obj: it is in the namespace of the benchmark, and not an object of
// Trident.
func isTenants(b *v1alpha1.NFSBenchmark, obj client.Object) bool {
	_, ofTrident := obj.(*unstructured.Unstructured)
	return !ofTrident && obj.GetNamespace() == b.Namespace
}

// Delete begins to delete obj, unless its deletion has begun.
func (o *Objects) Delete(ctx context.Context, obj client.Object) error {
	if !obj.GetDeletionTimestamp().IsZero() {
		return nil
	}
	err := o.client.Delete(ctx, obj, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s %q: %w", KindOf(obj), obj.GetName(), err)
	}
	return nil
}

// Pods returns the pods of one component of a benchmark, from the cache.
func (o *Objects) Pods(ctx context.Context, b *v1alpha1.NFSBenchmark, component string) ([]corev1.Pod, error) {
	list := &corev1.PodList{}
	err := o.client.List(ctx, list, client.InNamespace(b.Namespace), client.MatchingLabels(manifest.Labels(b, component)))
	if err != nil {
		return nil, fmt.Errorf("list %s pods: %w", component, err)
	}
	return list.Items, nil
}

// DeleteOurs deletes obj if it exists and is ours, and reports whether it is gone. The operator cannot have created an
// object that it may not read.
func (o *Objects) DeleteOurs(ctx context.Context, b *v1alpha1.NFSBenchmark, obj client.Object) (bool, error) {
	// Read past the cache: an object that the cache has not seen yet would stay forever.
	err := o.reader.Get(ctx, client.ObjectKeyFromObject(obj), obj)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || meta.IsNoMatchError(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s %q: %w", KindOf(obj), obj.GetName(), err)
	}
	if !IsOurs(b, obj) && !IsOrphan(b, obj) {
		return true, nil
	}
	if err := o.Delete(ctx, obj); err != nil {
		return false, err
	}
	// Most kinds are deleted at once: do not make the next pass wait for them.
	found, err := Find(ctx, o.reader, obj)
	return err == nil && !found, err
}

func invalid(reason, format string, args ...any) error {
	return &pass.Invalid{Reason: reason, Err: fmt.Errorf(format, args...)}
}
