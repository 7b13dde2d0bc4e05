package integration

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// dates are those of objects on the clock of a test: an object was made when it was first seen, and
// deleted when that was first seen. The API server dates objects by the time of the machine, which
// goes on while the machine is busy with other tests: no object would have the age that a test gives it.
type dates struct {
	mu            sync.Mutex
	clock         clock.PassiveClock
	made, deleted map[types.UID]time.Time
}

// onClock is a client whose objects have the dates of a clock.
func onClock(c client.WithWatch, clock clock.PassiveClock) client.WithWatch {
	d := &dates{clock: clock, made: map[types.UID]time.Time{}, deleted: map[types.UID]time.Time{}}
	return interceptor.NewClient(c, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			return d.see(obj, c.Get(ctx, key, obj, opts...))
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if err := c.List(ctx, list, opts...); err != nil {
				return err
			}
			return meta.EachListItem(list, func(obj runtime.Object) error { return d.see(obj, nil) })
		},
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			return d.see(obj, c.Create(ctx, obj, opts...))
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			return d.see(obj, c.Update(ctx, obj, opts...))
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
			return d.see(obj, c.Patch(ctx, obj, p, opts...))
		},
		Apply: func(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			return d.see(obj, c.Apply(ctx, obj, opts...))
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, obj client.Object, opts ...client.SubResourceUpdateOption) error {
			return d.see(obj, c.SubResource(sub).Update(ctx, obj, opts...))
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			return d.see(obj, c.SubResource(sub).Patch(ctx, obj, p, opts...))
		},
	})
}

// see dates an object that the API server gave, unless it gave an error.
func (d *dates) see(obj any, err error) error {
	if err != nil {
		return err
	}
	o, err := meta.Accessor(obj)
	if err != nil || o.GetUID() == "" {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	o.SetCreationTimestamp(d.first(d.made, o.GetUID(), 0))
	if o.GetDeletionTimestamp() != nil {
		var grace int64
		if s := o.GetDeletionGracePeriodSeconds(); s != nil {
			grace = *s
		}
		o.SetDeletionTimestamp(new(d.first(d.deleted, o.GetUID(), time.Duration(grace)*time.Second)))
	}
	return nil
}

// first is when something was first seen, and some time after.
func (d *dates) first(seen map[types.UID]time.Time, uid types.UID, after time.Duration) metav1.Time {
	at, known := seen[uid]
	if !known {
		at = d.clock.Now().Add(after)
		seen[uid] = at
	}
	return metav1.NewTime(at)
}
