package benchmark

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/pass"
	"github.com/nfsbench/nfsbench/internal/manifest"
)

// ensure makes obj exist for b, and fills it with what the cluster has. What a
// run creates never changes afterwards, so one that exists is left alone.
//
// The cache holds what the operator made only, and may be behind. What it does
// not have is therefore asked of the API server before it is applied, or an
// object of somebody else would be taken over.
func (r *Reconciler) ensure(ctx context.Context, b *v1alpha1.NFSBenchmark, obj client.Object) error {
	kind, name := kindOf(obj), obj.GetName()
	want := obj.DeepCopyObject().(client.Object) //nolint:forcetypeassert // a copy has the type of its original
	err := pass.Read(ctx, r.Client, r.Reader, obj)
	switch {
	case err == nil:
		return checkOurs(b, obj)
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("read %s %q: %w", kind, name, err)
	}
	switch err := r.apply(ctx, want, obj); {
	case err == nil:
		return nil
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
	if found, err := find(ctx, r.Reader, cm); err != nil || !found || !isOurs(s.b, cm) {
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
	switch {
	case isOurs(b, obj):
		return nil
	case obj.GetLabels()[manifest.LabelManagedBy] == manifest.ManagedBy:
		return fmt.Errorf("%s %q still belongs to an earlier benchmark: waiting for it to go; if it stays, delete it",
			kind, name)
	default:
		return invalid(v1alpha1.ReasonNameTaken,
			"there is a %s %q that this benchmark did not make: delete it, or give the benchmark another name", kind, name)
	}
}

// apply is a server-side apply; into becomes what the server made of it.
func (r *Reconciler) apply(ctx context.Context, obj, into client.Object) error {
	u, err := pass.Unstructured(r.Client.Scheme(), obj)
	if err != nil {
		return err
	}
	if err := pass.Apply(ctx, r.Client, u); err != nil {
		return err
	}
	if is, ok := into.(*unstructured.Unstructured); ok {
		is.Object = u.Object
		return nil
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, into)
}

func kindOf(obj client.Object) string {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return u.GetKind()
	}
	return reflect.TypeOf(obj).Elem().Name()
}

// isOurs guards against an object of somebody else that has one of our names.
func isOurs(b *v1alpha1.NFSBenchmark, obj client.Object) bool {
	owned := slices.ContainsFunc(obj.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.UID == b.UID })
	return owned || obj.GetLabels()[manifest.LabelUID] == string(b.UID)
}
