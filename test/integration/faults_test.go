package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/benchmark"
)

var errDead = errors.New("the manager was killed")

// faults stands between the reconciler and the API server. It lists the writes,
// and can fail one, or kill the manager at one: then nothing works any more.
type faults struct {
	mu      sync.Mutex
	writes  []string // "create Job x", in order
	killAt  int      // just after the n-th write from now, from 1; 0 = never
	dead    bool
	dryRuns int
	fail    func(write string) error // a failure of one write; nil = none
	blind   bool                     // a cache that has not yet seen what was made

	unread  error                   // what every read of a child gives
	refused func(kind string) error // what a read of a kind gives; nil = nothing is refused
}

func (f *faults) reset() { f.writes, f.killAt, f.dead = nil, 0, false }

// write does one write, or not.
func (f *faults) write(verb string, obj any, do func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead {
		return errDead
	}
	name := verb + " " + describe(obj)
	f.writes = append(f.writes, name)
	if f.fail != nil {
		if err := f.fail(name); err != nil {
			return err
		}
	}
	if f.killAt == 0 || len(f.writes) < f.killAt {
		return do()
	}
	f.dead = true
	_ = do() // it is done, but nobody hears of it
	return errDead
}

func (f *faults) read(of any, do func() error) error {
	if f.dead {
		return errDead
	}
	if f.refused != nil {
		kind, _, _ := strings.Cut(describe(of), " ")
		if err := f.refused(strings.TrimSuffix(kind, "List")); err != nil {
			return err
		}
	}
	return do()
}

// describe names an object as people do.
func describe(obj any) string {
	kind := strings.TrimPrefix(fmt.Sprintf("%T", obj), "*")
	name := ""
	if o, ok := obj.(client.Object); ok {
		name = o.GetName()
		if gvk, err := apiutil.GVKForObject(o, scheme); err == nil {
			kind = gvk.Kind
		}
	}
	if l, ok := obj.(*unstructured.UnstructuredList); ok {
		kind = l.GetKind()
	}
	if a, ok := obj.(interface {
		GetName() string
		GetKind() string
	}); ok {
		name, kind = a.GetName(), a.GetKind()
	}
	return kind[strings.LastIndex(kind, ".")+1:] + " " + name
}

// cached is the client of the reconciler, which a lagging cache can blind;
// direct is its reader, which sees what is.
func (f *faults) cached(c client.WithWatch) client.Client {
	funcs := f.funcs()
	funcs.Get = func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
		if _, own := obj.(*v1alpha1.NFSBenchmark); f.blind && !own {
			return apierrors.NewNotFound(schema.GroupResource{Resource: "unseen"}, key.Name)
		} else if !own && f.unread != nil {
			return f.unread
		}
		return f.read(obj, func() error { return c.Get(ctx, key, obj, opts...) })
	}
	funcs.List = func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		if _, own := list.(*v1alpha1.NFSBenchmarkList); f.blind && !own {
			return nil
		}
		return f.read(list, func() error { return listByIndex(ctx, c, benchmark.Indexes(), list, opts...) })
	}
	return interceptor.NewClient(c, funcs)
}

// listByIndex offers the indexes that the cache of a reconciler has.
func listByIndex(ctx context.Context, c client.WithWatch, indexes map[string]client.IndexerFunc, list client.ObjectList, opts ...client.ListOption) error {
	all, ours := list.(*v1alpha1.NFSBenchmarkList)
	which := (&client.ListOptions{}).ApplyOptions(opts)
	if !ours || which.FieldSelector == nil {
		return c.List(ctx, list, opts...)
	}
	want := which.FieldSelector.Requirements()[0]
	which.FieldSelector = nil
	if err := c.List(ctx, list, which); err != nil {
		return err
	}
	values := indexes[want.Field]
	all.Items = slices.DeleteFunc(all.Items, func(b v1alpha1.NFSBenchmark) bool { return !slices.Contains(values(&b), want.Value) })
	return nil
}

func (f *faults) direct(c client.WithWatch) client.Reader {
	return interceptor.NewClient(c, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			return f.read(obj, func() error { return c.Get(ctx, key, obj, opts...) })
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			return f.read(list, func() error { return c.List(ctx, list, opts...) })
		},
	})
}

func (f *faults) funcs() interceptor.Funcs {
	return interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			if len((&client.CreateOptions{}).ApplyOptions(opts).DryRun) > 0 {
				f.dryRuns++
				return f.read(obj, func() error { return c.Create(ctx, obj, opts...) })
			}
			return f.write("create", obj, func() error { return c.Create(ctx, obj, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			return f.write("update", obj, func() error { return c.Update(ctx, obj, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			return f.write("delete", obj, func() error { return c.Delete(ctx, obj, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
			return f.write("patch", obj, func() error { return c.Patch(ctx, obj, p, opts...) })
		},
		Apply: func(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			return f.write("apply", obj, func() error { return c.Apply(ctx, obj, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			return f.write("patch "+sub+" of", obj, func() error { return c.SubResource(sub).Patch(ctx, obj, p, opts...) })
		},
	}
}
