package benchmark

import (
	"context"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/pass"
	"github.com/nfsbench/nfsbench/internal/manifest"
)

// ensure makes obj exist for b, and fills it with what the cluster has. What a
// run creates never changes afterwards, so one that exists is left alone: see adopt.
//
// The cache holds what the operator made only, and may be behind. What it does
// not have is therefore asked of the API server. It is then created and not applied, because
// that would merge it with an object that somebody else makes at this moment.
func (r *Reconciler) ensure(ctx context.Context, b *v1alpha1.NFSBenchmark, obj client.Object) error {
	kind, name := kindOf(obj), obj.GetName()
	want := obj.DeepCopyObject().(client.Object) //nolint:forcetypeassert // a copy has the type of its original
	err := pass.Read(ctx, r.Client, r.Reader, obj)
	switch {
	case err == nil:
		return r.adopt(ctx, b, want, obj)
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("read %s %q: %w", kind, name, err)
	}
	made := want.DeepCopyObject().(client.Object) //nolint:forcetypeassert // as above
	switch err := r.Client.Create(ctx, made, pass.FieldOwner); {
	case err == nil:
		reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(made).Elem())
		content, err := contentOf(want, made)
		r.compared.add(obj.GetUID(), content)
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

// find fills obj, and reports whether there is one.
func find(ctx context.Context, from client.Reader, obj client.Object) (bool, error) {
	err := from.Get(ctx, client.ObjectKeyFromObject(obj), obj)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("read %s %q: %w", kindOf(obj), obj.GetName(), err)
	}
	return err == nil, nil
}

// findConfigMap reads a ConfigMap of the run, past the cache, which holds no contents, and
// once in a pass; nil where there is none, or one of somebody else.
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

// meta names a child of the benchmark.
func (s *scope) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: s.b.Namespace, Name: name}
}

// checkOurs refuses an object that another made under one of our names. One of
// an earlier benchmark of the same name is about to go; any other stays.
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

// isOurs guards against an object of somebody else that has one of our names. It decides what may be
// deleted; what a run uses must also be what the operator makes: see adopt. The label tells only where
// no tenant writes.
func isOurs(b *v1alpha1.NFSBenchmark, obj client.Object) bool {
	if !isTenants(b, obj) {
		return obj.GetLabels()[manifest.LabelUID] == string(b.UID)
	}
	owner := metav1.GetControllerOfNoCopy(obj)
	return owner != nil && owner.UID == b.UID
}

// isOrphan says that an object of a benchmark that is deleted has lost its owner, as with --cascade=orphan. Its label
// tells no more than that somebody who may write it wants it to go with the benchmark.
func isOrphan(b *v1alpha1.NFSBenchmark, obj client.Object) bool {
	return !b.DeletionTimestamp.IsZero() && metav1.GetControllerOfNoCopy(obj) == nil &&
		obj.GetLabels()[manifest.LabelUID] == string(b.UID)
}

// isTenants says that tenants may write such an object: it is in the namespace of the benchmark, and not
// one of Trident's.
func isTenants(b *v1alpha1.NFSBenchmark, obj client.Object) bool {
	_, ofTrident := obj.(*unstructured.Unstructured)
	return !ofTrident && obj.GetNamespace() == b.Namespace
}
