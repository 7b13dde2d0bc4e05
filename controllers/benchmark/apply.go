package benchmark

import (
	"context"
	"fmt"
	"net"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// ensure makes obj exist, and fills it with what the cluster has. What a run
// creates never changes afterwards, so one that exists is left alone.
func (r *Reconciler) ensure(ctx context.Context, obj client.Object) error {
	kind, name := kindOf(obj), obj.GetName()
	want := obj.DeepCopyObject().(client.Object) //nolint:forcetypeassert // a copy has the type of its original
	err := r.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj)
	if err == nil {
		return nil
	}
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("read %s %q: %w", kind, name, err)
	}
	if err := r.apply(ctx, want, obj); err != nil {
		return fmt.Errorf("create %s %q: %w", kind, name, err)
	}
	return nil
}

// apply is a server-side apply of a typed object; into becomes what the server
// made of it.
func (r *Reconciler) apply(ctx context.Context, obj, into client.Object) error {
	gvk, err := apiutil.GVKForObject(obj, r.Client.Scheme())
	if err != nil {
		return fmt.Errorf("find the kind of %T: %w", obj, err)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return fmt.Errorf("convert %s: %w", gvk.Kind, err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(gvk)
	// Typed objects write these even when they are empty.
	for _, path := range [][]string{
		{"status"},
		{"metadata", "creationTimestamp"},
		{"spec", "template", "metadata", "creationTimestamp"},
	} {
		unstructured.RemoveNestedField(u.Object, path...)
	}
	err = r.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(FieldOwner), client.ForceOwnership)
	if err != nil {
		return err
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, into)
}

func kindOf(obj client.Object) string {
	t := fmt.Sprintf("%T", obj)
	for i := len(t) - 1; i >= 0; i-- {
		if t[i] == '.' {
			return t[i+1:]
		}
	}
	return t
}

// isOurs guards against an object of somebody else that has one of our names.
func isOurs(b *v1alpha1.NFSBenchmark, obj client.Object) bool {
	for _, o := range obj.GetOwnerReferences() {
		if o.UID == b.UID {
			return true
		}
	}
	return obj.GetLabels()["nfsbench.io/benchmark-uid"] == string(b.UID)
}

func hostPort(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }
