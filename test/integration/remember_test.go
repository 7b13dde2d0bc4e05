package integration

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// reads remembers what clients of this process read of a namespace, until one of them writes an object of
// that kind there. In a cluster a pass reads from a cache; without one, two thirds of the work of the API
// server were the same objects again. Nobody else writes to the namespaces of the tests: no controller runs.
type reads struct {
	mu    sync.Mutex
	kinds map[string]*kindReads // by namespace and kind
}

type kindReads struct {
	open   int // writes under way
	writes int // begun and ended ones
	found  map[string]found
}

type found struct {
	obj runtime.Object
	err error // that there is none
}

var remembered = &reads{kinds: map[string]*kindReads{}}

// remembering is a client that remembers.
func remembering(c client.WithWatch) client.WithWatch {
	r := remembered
	return interceptor.NewClient(c, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			return r.read(c, key.Namespace, "get "+key.Name, obj, func() error { return c.Get(ctx, key, obj, opts...) })
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			o := (&client.ListOptions{}).ApplyOptions(opts)
			what := fmt.Sprint("list ", o.LabelSelector, " ", o.FieldSelector, " ", o.Limit, " ", o.Continue)
			return r.read(c, o.Namespace, what, list, func() error { return c.List(ctx, list, opts...) })
		},
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			return r.write(c, obj, func() error { return c.Create(ctx, obj, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			return r.write(c, obj, func() error { return c.Update(ctx, obj, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
			return r.write(c, obj, func() error { return c.Patch(ctx, obj, p, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			return r.write(c, obj, func() error { return c.Delete(ctx, obj, opts...) })
		},
		DeleteAllOf: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteAllOfOption) error {
			obj.SetNamespace((&client.DeleteAllOfOptions{}).ApplyOptions(opts).Namespace)
			return r.write(c, obj, func() error { return c.DeleteAllOf(ctx, obj, opts...) })
		},
		Apply: func(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			return r.write(c, obj, func() error { return c.Apply(ctx, obj, opts...) })
		},
		SubResourceCreate: func(ctx context.Context, c client.Client, sub string, obj client.Object, in client.Object, opts ...client.SubResourceCreateOption) error {
			return r.write(c, obj, func() error { return c.SubResource(sub).Create(ctx, obj, in, opts...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, obj client.Object, opts ...client.SubResourceUpdateOption) error {
			return r.write(c, obj, func() error { return c.SubResource(sub).Update(ctx, obj, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			return r.write(c, obj, func() error { return c.SubResource(sub).Patch(ctx, obj, p, opts...) })
		},
		SubResourceApply: func(ctx context.Context, c client.Client, sub string, obj runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
			return r.write(c, obj, func() error { return c.SubResource(sub).Apply(ctx, obj, opts...) })
		},
	})
}

// read answers from what is remembered, or asks. It remembers nothing of the whole cluster, and nothing
// that was read during a write. That there is no object is remembered for the kinds that are always there.
func (r *reads) read(c client.Client, namespace, what string, into runtime.Object, ask func() error) error {
	kind := kindOf(c, into)
	if namespace == "" || kind == "" {
		return ask()
	}
	what += fmt.Sprintf(" %T", into)
	r.mu.Lock()
	k := r.of(namespace, kind)
	f, ok := k.found[what]
	writes := k.writes
	r.mu.Unlock()
	if ok && f.err == nil {
		reflect.ValueOf(into).Elem().Set(reflect.ValueOf(f.obj.DeepCopyObject()).Elem())
	}
	if ok {
		return f.err
	}
	err := ask()
	_, foreign := into.(*unstructured.Unstructured)
	_, isList := into.(client.ObjectList)
	switch {
	case err == nil:
		f.obj = into.DeepCopyObject()
	case apierrors.IsNotFound(err) && !foreign && !isList:
		f.err = err
	default:
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if k.open == 0 && k.writes == writes {
		k.found[what] = f
	}
	return err
}

// write forgets what is remembered of the kind of an object in its namespace, before and after.
func (r *reads) write(c client.Client, obj any, do func() error) error {
	var kind, namespace string
	switch o := obj.(type) {
	case client.Object:
		kind, namespace = kindOf(c, o), o.GetNamespace()
	case interface{ GetKind() string }: // what is applied: its namespace is that of the suite or benchmark
		kind = o.GetKind()
		namespace = obj.(interface{ GetNamespace() string }).GetNamespace()
	}
	if namespace == "" {
		return do()
	}
	r.mu.Lock()
	k := r.of(namespace, kind)
	k.change(1)
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		k.change(-1)
	}()
	return do()
}

// change notes the begin (1) or end (-1) of a write.
func (k *kindReads) change(by int) {
	k.open += by
	k.writes++
	clear(k.found)
}

// of is what is remembered of a kind in a namespace.
func (r *reads) of(namespace, kind string) *kindReads {
	k := r.kinds[namespace+"/"+kind]
	if k == nil {
		k = &kindReads{found: map[string]found{}}
		r.kinds[namespace+"/"+kind] = k
	}
	return k
}

func kindOf(c client.Client, obj runtime.Object) string {
	gvk, err := c.GroupVersionKindFor(obj)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(gvk.Kind, "List")
}
