// Package queue decides which benchmark may use a target, and keeps the decision in Leases.
//
// Two rules prevent deadlock between runs. The Leases alone, and not the queue, decide which run holds a part of the
// target, because an older run may learn only later that it needs the same part. A run that waits takes no Lease, and
// releases those that it took, except those that its caller names. All runs ask for keys in the same order.
package queue

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/owned"
	"github.com/nfsbench/nfsbench/controllers/pass"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/plan"
)

// IndexTarget is the field of the cache with the keys of the targets of an unfinished benchmark.
const IndexTarget = "target"

// Options configures a Queue. All members are required.
type Options struct {
	Client client.Client // cached reads
	Reader client.Reader // reads past the cache
	// Namespace holds the Leases; empty = that of each benchmark.
	Namespace string
	// Finished reports whether the run of a benchmark has ended, and Released whether the benchmark no longer needs its
	// target.
	Finished, Released func(*v1alpha1.NFSBenchmark) bool
	// Wants reports whether a benchmark uses its target at that time, or could start.
	Wants func(*v1alpha1.NFSBenchmark, time.Time) bool
	// WithUID returns the benchmark with that UID. The Queue does not change it.
	WithUID func(ctx context.Context, uid string) ([]v1alpha1.NFSBenchmark, error)
}

// Queue gives targets to benchmarks. It remembers when each namespace last got a target. It is safe for concurrent use.
type Queue struct {
	Options
	uses uses
}

// New makes a Queue.
func New(o Options) *Queue { return &Queue{Options: o} }

// Take takes the Leases of all keys of a target, or returns the place of the benchmark in the queue. While the
// benchmark waits it keeps only the Leases of the keys in keep. Since is when it got the first Lease.
func (q *Queue) Take(
	ctx context.Context, b *v1alpha1.NFSBenchmark, keys, keep []string, now time.Time,
) (place Place, since time.Time, err error) {
	held, err := q.held(ctx, q.Client, b)
	if err != nil {
		return place, since, err
	}
	if len(held) == 0 {
		place, err = q.Place(ctx, b, keys, now)
	}
	if err == nil && place.Position == 0 {
		if place, err = q.acquireAll(ctx, b, keys, keep, now); err == nil && place.Position == 0 && len(held) == 0 {
			q.uses.note(b.Namespace, keys, now)
		}
	}
	since = now
	for _, l := range held {
		if at := l.Spec.AcquireTime; at != nil && at.Time.Before(since) {
			since = at.Time
		}
	}
	return place, since, err
}

// Keep restores the Leases of a benchmark that somebody deleted or took. It returns the place of the benchmark behind
// the holder of a Lease that it cannot restore.
func (q *Queue) Keep(ctx context.Context, b *v1alpha1.NFSBenchmark, keys []string, now time.Time) (Place, error) {
	return eachKey(keys, func(key string) (holder, error) { return q.acquire(ctx, b, key, now) })
}

// Release releases every target that the benchmark holds.
func (q *Queue) Release(ctx context.Context, b *v1alpha1.NFSBenchmark) error {
	held, err := q.Held(ctx, b)
	if err != nil {
		return err
	}
	return q.GiveBack(ctx, held)
}

// Held returns the Leases that the benchmark holds, as the cache knows them.
func (q *Queue) Held(ctx context.Context, b *v1alpha1.NFSBenchmark) ([]coordinationv1.Lease, error) {
	return q.held(ctx, q.Client, b)
}

// GiveBack deletes Leases.
func (q *Queue) GiveBack(ctx context.Context, held []coordinationv1.Lease) error {
	for i := range held {
		l := &held[i]
		if err := q.Client.Delete(ctx, l,
			client.Preconditions{ResourceVersion: &l.ResourceVersion}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("release the lease of %q: %w", l.Annotations[manifest.AnnotationTarget], err)
		}
	}
	return nil
}

// Next returns the first n benchmarks that wait for a target, in the order of their turns. They are those of the cache:
// the caller must not change them.
func (q *Queue) Next(ctx context.Context, key string, n int, now time.Time) ([]*v1alpha1.NFSBenchmark, error) {
	all, err := q.contenders(ctx, []string{key}, now)
	if err != nil {
		return nil, err
	}
	var out []*v1alpha1.NFSBenchmark
	for _, e := range firstWaiting(all, n) {
		out = append(out, e.benchmark)
	}
	return out, nil
}

func (q *Queue) held(
	ctx context.Context, from client.Reader, b *v1alpha1.NFSBenchmark,
) ([]coordinationv1.Lease, error) {
	list := &coordinationv1.LeaseList{}
	err := from.List(ctx, list, client.InNamespace(q.namespace(b)),
		client.MatchingLabels{manifest.LabelUID: string(b.UID)})
	if err != nil {
		return nil, fmt.Errorf("list leases: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(l coordinationv1.Lease) bool {
		return holderOf(&l) != string(b.UID) // somebody changed the holder by hand and left our labels
	}), nil
}

func (q *Queue) namespace(b *v1alpha1.NFSBenchmark) string { return cmp.Or(q.Namespace, b.Namespace) }

func holderOf(l *coordinationv1.Lease) string { return ptr.Deref(l.Spec.HolderIdentity, "") }

// acquireAll takes the Leases of all keys, or only keeps those of the keys in keep.
func (q *Queue) acquireAll(
	ctx context.Context, b *v1alpha1.NFSBenchmark, keys, keep []string, now time.Time,
) (Place, error) {
	place, err := eachKey(keys, func(key string) (holder, error) { return q.leaseHolder(ctx, b, key, now) })
	if err == nil && place.Position == 0 {
		place, err = q.Keep(ctx, b, keys, now)
	}
	if err != nil || place.Position == 0 {
		return place, err
	}
	// Read past the cache: it may not have the newest Leases yet.
	held, err := q.held(ctx, q.Reader, b)
	if err != nil {
		return Place{}, err
	}
	return place, q.GiveBack(ctx, slices.DeleteFunc(held, func(l coordinationv1.Lease) bool {
		return slices.Contains(keep, l.Annotations[manifest.AnnotationTarget])
	}))
}

// eachKey asks for the holder of each key of a target, up to the first key that another run holds.
func eachKey(keys []string, ask func(key string) (holder, error)) (Place, error) {
	for _, key := range slices.Sorted(slices.Values(keys)) {
		if h, err := ask(key); err != nil || h.name != "" {
			return Place{Position: 1, Behind: h.name, Why: h.why}, err
		}
	}
	return Place{}, nil
}

// holder describes the holder of a target, as far as the author of a waiting benchmark may see it.
type holder struct {
	name string // "" = nobody
	why  string // what the holder does with the target, for a message; "" = not known
}

// endSoon is the time before the end of a hold in which a message names the end. The end is a limit: most runs end
// hours before it.
const endSoon = time.Hour

// seen describes a benchmark as far as the author of b may see it: names and messages of other namespaces are private
// to their tenants.
func seen(b, other *v1alpha1.NFSBenchmark, now time.Time) holder {
	h, own := holder{name: "a benchmark of another namespace"}, other.Namespace == b.Namespace
	if own {
		h.name = other.Namespace + "/" + other.Name
	}
	if other.Status.Phase == "" {
		return h
	}
	h.why = fmt.Sprintf(", which is %s", other.Status.Phase)
	if end := other.Status.HoldEndTime; end != nil && end.Sub(now) <= endSoon {
		h.why += " and gives the target back at the latest at " + end.UTC().Format(time.RFC3339)
	}
	if own && other.Status.Phase != v1alpha1.PhaseQueued && other.Status.Message != "" {
		h.why += ": " + other.Status.Message
	}
	return h
}

// leaseHolder returns the other holder of the Lease of a key.
func (q *Queue) leaseHolder(
	ctx context.Context, b *v1alpha1.NFSBenchmark, key string, now time.Time,
) (holder, error) {
	held := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: q.namespace(b), Name: manifest.LeaseName(key)},
	}
	found, err := owned.Find(ctx, q.Client, held)
	if err != nil || !found {
		return holder{}, err
	}
	return q.otherHolder(ctx, b, held, now)
}

// acquire takes the Lease of a key, or returns its holder.
func (q *Queue) acquire(
	ctx context.Context, b *v1alpha1.NFSBenchmark, key string, now time.Time,
) (holder, error) {
	if err := owned.CheckFinalizer(b); err != nil {
		return holder{}, err
	}
	lease := manifest.TargetLease(b, q.namespace(b), key, metav1.NewMicroTime(now))
	held := &coordinationv1.Lease{}
	err := q.Client.Get(ctx, client.ObjectKeyFromObject(lease), held)
	switch {
	case apierrors.IsNotFound(err):
		err = q.Client.Create(ctx, lease, pass.FieldOwner)
		if err == nil {
			return holder{}, nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return holder{}, fmt.Errorf("take the lease of %q: %w", key, err)
		}
		// The cache is behind, or does not hold another's Lease.
		if err := q.Reader.Get(ctx, client.ObjectKeyFromObject(lease), held); err != nil {
			return holder{name: "another run"}, client.IgnoreNotFound(err) // the next pass finds the holder
		}
	case err != nil:
		return holder{}, fmt.Errorf("read the lease of %q: %w", key, err)
	}
	if holderOf(held) == string(b.UID) {
		return holder{}, nil
	}
	if other, err := q.otherHolder(ctx, b, held, now); err != nil || other.name != "" {
		return other, err
	}
	lease.ResourceVersion = held.ResourceVersion
	if err := q.Client.Update(ctx, lease, pass.FieldOwner); err != nil {
		return holder{}, fmt.Errorf("take over the lease of %q: %w", key, err)
	}
	return holder{}, nil
}

// otherHolder returns the benchmark that holds a Lease, if it is another one.
func (q *Queue) otherHolder(
	ctx context.Context, b *v1alpha1.NFSBenchmark, held *coordinationv1.Lease, now time.Time,
) (holder, error) {
	if holderOf(held) == string(b.UID) {
		return holder{}, nil
	}
	if held.Labels[manifest.LabelManagedBy] != manifest.ManagedBy {
		return holder{name: "Lease " + held.Namespace + "/" + held.Name + ", which is not ours"}, nil
	}
	// The holder may be gone, or may have released the target.
	list, err := q.WithUID(ctx, holderOf(held))
	i := slices.IndexFunc(list, func(b v1alpha1.NFSBenchmark) bool { return !q.Released(&b) })
	if err != nil || i < 0 {
		return holder{}, err
	}
	return seen(b, &list[i], now), nil
}

// Place returns the place of a benchmark among those that want one of its keys.
func (q *Queue) Place(
	ctx context.Context, b *v1alpha1.NFSBenchmark, keys []string, now time.Time,
) (Place, error) {
	list, err := q.contenders(ctx, keys, now)
	if err != nil {
		return Place{}, err
	}
	me := q.entryOf(b, keys)
	if i := slices.IndexFunc(list, func(e entry) bool { return e.ID == me.ID }); i >= 0 {
		me.Turn, me.LastUse = list[i].Turn, list[i].LastUse // the same values as for all others
	} else {
		alone := []entry{me}
		setTurns(alone, append(slices.Clone(list), me))
		me = alone[0]
	}
	place := placeAmong(me, list)
	if place.head != nil {
		h := seen(b, place.head, now)
		place.Behind, place.Why = h.name, h.why
	}
	return place, nil
}

// contenders returns the benchmarks that use one of these keys or wait for it, with their turns. A turn depends on all
// keys of a benchmark, so that every pass computes the same one: two benchmarks that saw each other ahead would never
// run.
func (q *Queue) contenders(ctx context.Context, keys []string, now time.Time) ([]entry, error) {
	byID := map[string]entry{} // a benchmark with several keys is found once for each
	if err := q.addWanting(ctx, byID, keys, now); err != nil {
		return nil, err
	}
	direct, theirs := slices.Collect(maps.Values(byID)), map[string]bool{}
	for _, e := range direct {
		for _, key := range e.Keys {
			if !slices.Contains(keys, key) {
				theirs[key] = true
			}
		}
	}
	if err := q.addWanting(ctx, byID, slices.Collect(maps.Keys(theirs)), now); err != nil {
		return nil, err
	}
	setTurns(direct, slices.Collect(maps.Values(byID)))
	return direct, nil
}

// addWanting adds the benchmarks that use one of the targets or wait for it.
func (q *Queue) addWanting(ctx context.Context, byID map[string]entry, keys []string, now time.Time) error {
	for _, key := range keys {
		list := &v1alpha1.NFSBenchmarkList{}
		err := q.Client.List(ctx, list, client.MatchingFields{IndexTarget: key}, client.UnsafeDisableDeepCopy)
		if err != nil {
			return fmt.Errorf("list the benchmarks that want %q: %w", key, err)
		}
		for i := range list.Items {
			o := &list.Items[i]
			if _, known := byID[string(o.UID)]; !known && q.Wants(o, now) {
				byID[string(o.UID)] = q.entryOf(o, plan.KnownKeys(o))
			}
		}
	}
	return nil
}

func (q *Queue) entryOf(b *v1alpha1.NFSBenchmark, keys []string) entry {
	return entry{
		ID: string(b.UID), Name: b.Namespace + "/" + b.Name, Keys: keys,
		Created: b.CreationTimestamp.Time, Active: b.Status.StartTime != nil && !q.Finished(b),
		LastUse: q.uses.last(b.Namespace, keys), benchmark: b,
	}
}
