package benchmark

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/pass"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/trident"
)

// queueCheck bounds how long a freed target can go unnoticed if the watch on Leases misses it, and how long a place in
// the status can be out of date.
const queueCheck = 30 * time.Second

// toldAtOnce is the number of waiting benchmarks that are reconciled when a target is freed: the next one, and a few to
// update their place in the status. If all were reconciled, the writes would grow with the square of the queue.
const toldAtOnce = 5

// enqueue waits until no other run uses the target. The queue decides the order. The Leases make the decision visible,
// and keep it safe if two managers ever run at once.
func (r *Reconciler) enqueue(ctx context.Context, s *scope) (next, error) {
	return r.takeTarget(ctx, s, nil)
}

// takeTarget takes the Leases of all keys of the target or waits. While it waits the run keeps only the Leases of the
// keys in keep.
//
// Two rules prevent deadlock between runs. The Leases alone, and not the queue, decide which run holds a part of the
// target, because an older run may learn only later that it needs the same part. A run that waits takes no Lease, and
// releases those that it took, except the kept ones.
func (r *Reconciler) takeTarget(ctx context.Context, s *scope, keep []string) (next, error) {
	s.stage = v1alpha1.PhaseQueued
	if s.b.Status.StartTime != nil {
		return next{}, r.keepTarget(ctx, s) // the load runs: it is too late to wait
	}
	held, err := r.leasesOf(ctx, r.Client, s.b)
	if err != nil {
		return next{}, err
	}
	place := queuePlace{}
	if len(held) == 0 {
		place, err = r.placeOf(ctx, s)
	}
	if err == nil && place.Position == 0 {
		if place, err = r.acquireAll(ctx, s, keep); err == nil && place.Position == 0 && len(held) == 0 {
			r.uses.note(s.b.Namespace, s.target.Keys, s.now)
		}
	}
	if err != nil {
		return next{}, err
	}
	s.place = &place
	if place.Position > 0 {
		return s.wait(v1alpha1.ReasonQueued, fmt.Sprintf("position %d in the queue for the target, behind %s%s",
			place.Position, place.Behind, place.Why), queueCheck)
	}
	s.heldSince = s.now
	for _, l := range held {
		if at := l.Spec.AcquireTime; at != nil && at.Time.Before(s.heldSince) {
			s.heldSince = at.Time
		}
	}
	return next{}, nil
}

const (
	// holdSlack bounds the part of a hold besides the run itself: the volume, the images and the end.
	holdSlack = 30 * time.Minute
	// startPatience bounds the time between getting a target and the start of the load. After it the run goes to the end
	// of the queue.
	startPatience = 30 * time.Minute
)

// limitHold releases the target when its time is over, or when the run waits for something else before its load begins.
// So no namespace can keep a target from others, whatever its objects contain.
func (r *Reconciler) limitHold(ctx context.Context, s *scope, n *next) error {
	b := s.b
	over := isFinished(b) || !b.DeletionTimestamp.IsZero()
	if !over && s.outcome == nil && b.Status.StartTime == nil && s.load == nil {
		waits := s.stage == v1alpha1.PhasePending && s.waiting != nil && !s.keepsTarget
		late := !s.heldSince.IsZero() && s.now.Sub(s.heldSince) > startPatience && s.moving == nil
		if waits || late {
			s.gaveBack = true
			return r.releaseLeases(ctx, b)
		}
	}
	if b.Status.HoldEndTime == nil {
		return r.giveBackForgotten(ctx, s)
	}
	left := b.Status.HoldEndTime.Sub(s.now)
	switch {
	case over:
		return r.endHold(ctx, s, left, n)
	case left > 0:
		n.Within(left)
		return nil
	}
	var err error
	if s.outcome == nil {
		err = r.breakOff(ctx, s)
	}
	if left > -deletePatience {
		n.Within(soon)
		return err
	}
	// The status that ends the run could not be written, but the release of the target must not depend on that.
	if s.load != nil && jobEnd(s.load) == nil {
		err = errors.Join(err, r.delete(ctx, s.load))
	}
	return errors.Join(err, r.endHold(ctx, s, left, n))
}

// giveBackForgotten releases Leases that a run took in a pass that could not write its status: the status then has no
// end of the hold.
func (r *Reconciler) giveBackForgotten(ctx context.Context, s *scope) error {
	if s.b.Status.StartTime != nil {
		return nil
	}
	held, err := r.leasesOf(ctx, r.Client, s.b)
	if err != nil {
		return err
	}
	return r.giveBack(ctx, slices.DeleteFunc(held, func(l coordinationv1.Lease) bool {
		at := l.Spec.AcquireTime
		return at != nil && s.now.Sub(at.Time) <= startPatience
	}))
}

// breakOff ends a run that has used its target for the longest time allowed, and keeps its measurements.
func (r *Reconciler) breakOff(ctx context.Context, s *scope) error {
	message := fmt.Sprintf("it had its target until %s, for as long as policy.limits.maxHold of the chart allows",
		s.b.Status.HoldEndTime.UTC().Format(time.RFC3339))
	if s.waiting != nil {
		message += "; it waited: " + s.waiting.Message
	}
	o := outcome{phase: v1alpha1.PhaseFailed, reason: v1alpha1.ReasonHoldEnded, message: message}
	if s.outcome = &o; s.plan == nil {
		return nil
	}
	_, err := r.endWithResults(ctx, s, o)
	return err
}

// endHold releases the target of a run that is over, although objects of the run cannot be removed. left is the time
// left of the hold. A database that may still write keeps the target, and the status reports it.
func (r *Reconciler) endHold(ctx context.Context, s *scope, left time.Duration, n *next) error {
	held, err := r.leasesOf(ctx, r.Client, s.b)
	if err != nil || len(held) == 0 {
		return err
	}
	n.Within(leftoverCheck) // a change of the objects that keep the target may not wake this benchmark
	since := cmp.Or(s.b.DeletionTimestamp, s.b.Status.CompletionTime)
	if left > 0 && (since == nil || s.now.Sub(since.Time) < deletePatience+shutdownOf(s.b)) {
		return nil
	}
	pods, err := r.podsOf(ctx, s.b, manifest.ComponentLoad)
	if err != nil {
		return err
	}
	runs := slices.ContainsFunc(pods, func(p corev1.Pod) bool {
		began := p.Spec.NodeName != "" || len(p.Status.InitContainerStatuses)+len(p.Status.ContainerStatuses) > 0
		return mayRun(p) && began
	})
	if runs && (databaseOf(s.b) != nil || left > -deletePatience) {
		return nil
	}
	return r.giveBack(ctx, held)
}

// acquireAll takes the Leases of all keys, or only keeps those of the keys in keep.
func (r *Reconciler) acquireAll(ctx context.Context, s *scope, keep []string) (queuePlace, error) {
	place, err := s.eachKey(ctx, r.leaseHolder)
	if err == nil && place.Position == 0 {
		place, err = s.eachKey(ctx, r.acquire)
	}
	if err != nil || place.Position == 0 {
		return place, err
	}
	// Read past the cache: it may not have the newest Leases yet.
	held, err := r.leasesOf(ctx, r.Reader, s.b)
	if err != nil {
		return queuePlace{}, err
	}
	return place, r.giveBack(ctx, slices.DeleteFunc(held, func(l coordinationv1.Lease) bool {
		return slices.Contains(keep, l.Annotations[manifest.AnnotationTarget])
	}))
}

// eachKey asks for the holder of each key of the target, up to the first key that another run holds. All runs ask in
// the same order of keys, so two runs cannot wait for each other.
func (s *scope) eachKey(
	ctx context.Context, ask func(ctx context.Context, s *scope, key string) (holder, error),
) (queuePlace, error) {
	for _, key := range slices.Sorted(slices.Values(s.target.Keys)) {
		if h, err := ask(ctx, s, key); err != nil || h.name != "" {
			return queuePlace{Position: 1, Behind: h.name, Why: h.why}, err
		}
	}
	return queuePlace{}, nil
}

// holder describes the holder of a target, as far as the author of a waiting benchmark may see it.
type holder struct {
	name string // "" = nobody
	why  string // what the holder does with the target, for a message; "" = not known
}

// leaseHolder returns the other holder of the Lease of a key.
func (r *Reconciler) leaseHolder(ctx context.Context, s *scope, key string) (holder, error) {
	held := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.leaseNamespace(s.b), Name: manifest.LeaseName(key)},
	}
	found, err := find(ctx, r.Client, held)
	if err != nil || !found {
		return holder{}, err
	}
	return r.otherHolder(ctx, s, held)
}

func (r *Reconciler) placeOf(ctx context.Context, s *scope) (queuePlace, error) {
	list, err := r.contenders(ctx, s.target.Keys)
	if err != nil {
		return queuePlace{}, err
	}
	me := r.entryOf(s.b, s.target.Keys)
	if i := slices.IndexFunc(list, func(e queueEntry) bool { return e.ID == me.ID }); i >= 0 {
		me.Turn, me.LastUse = list[i].Turn, list[i].LastUse // the same values as for all others
	} else {
		me.Turn = turnOf(me, list)
	}
	place := placeAmong(me, list)
	if place.head != nil {
		h := s.seen(place.head)
		place.Behind, place.Why = h.name, h.why
	}
	return place, nil
}

// contenders returns the benchmarks that use one of these keys or wait for it, with their turns. A turn depends on all
// keys of a benchmark, so that every pass computes the same one: two benchmarks that saw each other ahead would never
// run.
func (r *Reconciler) contenders(ctx context.Context, keys []string) ([]queueEntry, error) {
	byID := map[string]queueEntry{} // a benchmark with several keys is found once for each
	if err := r.addWanting(ctx, byID, keys); err != nil {
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
	if err := r.addWanting(ctx, byID, slices.Collect(maps.Keys(theirs))); err != nil {
		return nil, err
	}
	all := slices.Collect(maps.Values(byID))
	for i := range direct {
		direct[i].Turn = turnOf(direct[i], all)
	}
	return direct, nil
}

// addWanting adds the benchmarks that use one of the targets or wait for it.
func (r *Reconciler) addWanting(ctx context.Context, byID map[string]queueEntry, keys []string) error {
	for _, key := range keys {
		list, err := r.wanting(ctx, key)
		if err != nil {
			return err
		}
		for _, e := range list {
			byID[e.ID] = e
		}
	}
	return nil
}

// seen describes another benchmark as far as the author of this one may see it: names and messages of other namespaces
// are private to their tenants.
func (s *scope) seen(b *v1alpha1.NFSBenchmark) holder {
	h, own := holder{name: "a benchmark of another namespace"}, b.Namespace == s.b.Namespace
	if own {
		h.name = b.Namespace + "/" + b.Name
	}
	if b.Status.Phase == "" {
		return h
	}
	h.why = fmt.Sprintf(", which is %s", b.Status.Phase)
	if end := b.Status.HoldEndTime; end != nil {
		h.why += fmt.Sprintf(" until %s at the latest", end.UTC().Format(time.RFC3339))
	}
	if own && b.Status.Phase != v1alpha1.PhaseQueued && b.Status.Message != "" {
		h.why += ": " + b.Status.Message
	}
	return h
}

// wanting returns the benchmarks that use a target or wait for it.
func (r *Reconciler) wanting(ctx context.Context, key string) ([]queueEntry, error) {
	list := &v1alpha1.NFSBenchmarkList{}
	err := r.Client.List(ctx, list, client.MatchingFields{IndexTarget: key}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list the benchmarks that want %q: %w", key, err)
	}
	var out []queueEntry
	for i := range list.Items {
		if o := &list.Items[i]; wantsTarget(o, r.Clock.Now()) {
			out = append(out, r.entryOf(o, knownKeys(o)))
		}
	}
	return out, nil
}

func (r *Reconciler) entryOf(b *v1alpha1.NFSBenchmark, keys []string) queueEntry {
	return queueEntry{
		ID: string(b.UID), Name: b.Namespace + "/" + b.Name, Keys: keys,
		Created: b.CreationTimestamp.Time, Active: b.Status.StartTime != nil && !isFinished(b),
		LastUse: r.uses.last(b.Namespace, keys), benchmark: b,
	}
}

// maxUses bounds the entries of uses.
const maxUses = 16_384

// uses remembers when each namespace last got each target. A new manager has no entries and starts with the oldest
// benchmark. It is safe for concurrent use.
type uses struct {
	mu sync.Mutex
	at map[use]time.Time
}

type use struct{ namespace, key string }

func (u *uses) note(namespace string, keys []string, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.at == nil || len(u.at) >= maxUses {
		u.at = map[use]time.Time{}
	}
	for _, key := range keys {
		u.at[use{namespace, key}] = now
	}
}

// last returns when a namespace last got one of the targets; zero if never.
func (u *uses) last(namespace string, keys []string) time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	var last time.Time
	for _, key := range keys {
		last = later(last, u.at[use{namespace, key}])
	}
	return last
}

// wantsTarget reports whether another benchmark counts in the queue at that time: it has not finished, and it has
// started or could start. A benchmark before its start does not count if it waits for anything but the target, if its
// passes fail, or if it is held back or deleted. A started benchmark does not count once its hold has been over for
// deletePatience, unless it has a database, which may still write.
func wantsTarget(o *v1alpha1.NFSBenchmark, now time.Time) bool {
	switch end := o.Status.HoldEndTime; {
	case isFinished(o) || isReleased(o):
		return false
	case o.Status.StartTime != nil:
		return end == nil || databaseOf(o) != nil || now.Sub(end.Time) < deletePatience
	case isRetrying(o):
		return false
	default:
		ready := o.Status.Phase != "" && o.Status.Phase != v1alpha1.PhasePending
		return ready && !o.Spec.Suspend && o.DeletionTimestamp.IsZero()
	}
}

// declaredKeys returns the keys of a target that the spec alone names: the array, if its address is declared, because
// the survey finds the addresses of a run too late for the queue; and an existing database, which two runs must not
// load at once.
func declaredKeys(b *v1alpha1.NFSBenchmark) []string {
	var keys []string
	switch a := b.Spec.Storage.Array; {
	case a == nil:
	case a.ONTAP != nil && a.ONTAP.ManagementLIF != "" && a.ONTAP.SVM != "":
		keys = append(keys, svmKey(a.ONTAP.ManagementLIF, a.ONTAP.SVM))
	case a.FlashBlade != nil:
		keys = append(keys, "flashblade/"+strings.ToLower(trident.Bare(a.FlashBlade.ManagementVIP)))
	}
	if p := b.Spec.Protocol.Paths; p != nil && b.Spec.Storage.Embedded == nil {
		for _, path := range p.Explicit {
			keys = append(keys, plan.ServerKeys([]string{path.Path})...)
		}
	}
	if d := b.Spec.Database; d != nil && d.External != nil {
		where, _, _ := strings.Cut(string(d.External.ConnectString), "?")
		keys = append(keys, "database/"+strings.ToLower(where))
	}
	return keys
}

// knownKeys returns the keys of another benchmark, from its spec and its resolved status, without reading its volumes
// again. It leaves out the addresses that an array names: no run takes them as keys, and a tenant may have written
// them. Where the mount decides, the volume names an address.
func knownKeys(o *v1alpha1.NFSBenchmark) []string {
	var keys, addresses []string
	st := o.Spec.Storage
	if st.Claim != nil {
		keys = append(keys, "claim/"+o.Namespace+"/"+st.Claim.Name)
	}
	if st.Trident != nil {
		keys = append(keys, tridentKey(st.Trident))
	}
	if st.StorageClass != nil {
		keys = append(keys, classKey(st.StorageClass.Name))
	}
	keys = append(keys, declaredKeys(o)...)
	if st.Export != nil {
		addresses = append(addresses, st.Export.Servers...)
	}
	ofVolume := isForeign(o) && plan.MountDecides(o.Spec.Protocol)
	if rs := o.Status.Resolved; rs != nil && st.Embedded == nil && (ofVolume || !hasSurvey(o)) {
		for _, p := range rs.Paths {
			addresses = append(addresses, p.Path)
		}
	}
	return distinct(append(keys, plan.ServerKeys(addresses)...))
}

func distinct(keys []string) []string {
	slices.Sort(keys)
	return slices.Compact(keys)
}

// tridentKey returns the key of the target before Trident has made anything.
func tridentKey(t *v1alpha1.TridentStorage) string {
	if t.BackendName != "" {
		return "backend/" + t.BackendName
	}
	return classKey(t.StorageClassName)
}

func classKey(name string) string { return "class/" + name }

func svmKey(managementLIF, svm string) string {
	return "svm/" + strings.ToLower(trident.Bare(managementLIF)) + "/" + svm
}

func svmKeys(b *plan.Backend) []string {
	if b == nil || b.ManagementLIF == "" || b.SVM == "" {
		return nil
	}
	return []string{svmKey(b.ManagementLIF, b.SVM)}
}

// keepTarget restores the Leases of a run under way, within its time, that somebody deleted or took. If it cannot
// restore a Lease the run goes on, but the status names the Lease: another run may share the target.
func (r *Reconciler) keepTarget(ctx context.Context, s *scope) error {
	if end := s.b.Status.HoldEndTime; end != nil && s.now.After(end.Time) {
		return nil
	}
	place, err := s.eachKey(ctx, r.acquire)
	if err != nil || place.Position == 0 {
		return err
	}
	s.waiting = &fact{Reason: v1alpha1.ReasonTargetTaken, Message: fmt.Sprintf(
		"the run goes on, but its target was taken from it by %s: others may use it now, and the numbers may be shared "+
			"with theirs", place.Behind)}
	return nil
}

// acquire takes the Lease of a key, or returns its holder.
func (r *Reconciler) acquire(ctx context.Context, s *scope, key string) (holder, error) {
	lease := manifest.TargetLease(s.b, r.leaseNamespace(s.b), key, metav1.NewMicroTime(s.now))
	held := &coordinationv1.Lease{}
	err := r.Client.Get(ctx, client.ObjectKeyFromObject(lease), held)
	switch {
	case apierrors.IsNotFound(err):
		err = r.Client.Create(ctx, lease, pass.FieldOwner)
		if err == nil {
			return holder{}, nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return holder{}, fmt.Errorf("take the lease of %q: %w", key, err)
		}
		// The cache is behind, or does not hold another's Lease.
		if err := r.Reader.Get(ctx, client.ObjectKeyFromObject(lease), held); err != nil {
			return holder{name: "another run"}, client.IgnoreNotFound(err) // the next pass finds the holder
		}
	case err != nil:
		return holder{}, fmt.Errorf("read the lease of %q: %w", key, err)
	}
	if holderOf(held) == string(s.b.UID) {
		return holder{}, nil
	}
	if other, err := r.otherHolder(ctx, s, held); err != nil || other.name != "" {
		return other, err
	}
	lease.ResourceVersion = held.ResourceVersion
	if err := r.Client.Update(ctx, lease, pass.FieldOwner); err != nil {
		return holder{}, fmt.Errorf("take over the lease of %q: %w", key, err)
	}
	return holder{}, nil
}

// otherHolder returns the benchmark that holds a Lease, if it is another one.
func (r *Reconciler) otherHolder(ctx context.Context, s *scope, held *coordinationv1.Lease) (holder, error) {
	if holderOf(held) == string(s.b.UID) {
		return holder{}, nil
	}
	if held.Labels[manifest.LabelManagedBy] != manifest.ManagedBy {
		return holder{name: "Lease " + held.Namespace + "/" + held.Name + ", which is not ours"}, nil
	}
	// The holder may be gone, or may have released the target.
	list, err := r.withUID(ctx, holderOf(held))
	i := slices.IndexFunc(list, func(b v1alpha1.NFSBenchmark) bool { return !isReleased(&b) })
	if err != nil || i < 0 {
		return holder{}, err
	}
	return s.seen(&list[i]), nil
}

func holderOf(l *coordinationv1.Lease) string { return ptr.Deref(l.Spec.HolderIdentity, "") }

func (r *Reconciler) leaseNamespace(b *v1alpha1.NFSBenchmark) string {
	return cmp.Or(r.LeaseNamespace, b.Namespace)
}

// releaseLeases releases every target that the benchmark holds.
func (r *Reconciler) releaseLeases(ctx context.Context, b *v1alpha1.NFSBenchmark) error {
	held, err := r.leasesOf(ctx, r.Client, b)
	if err != nil {
		return err
	}
	return r.giveBack(ctx, held)
}

// leasesOf returns the Leases that the benchmark holds.
func (r *Reconciler) leasesOf(ctx context.Context, from client.Reader,
	b *v1alpha1.NFSBenchmark,
) ([]coordinationv1.Lease, error) {
	list := &coordinationv1.LeaseList{}
	err := from.List(ctx, list, client.InNamespace(r.leaseNamespace(b)),
		client.MatchingLabels{manifest.LabelUID: string(b.UID)})
	if err != nil {
		return nil, fmt.Errorf("list leases: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(l coordinationv1.Lease) bool {
		return holderOf(&l) != string(b.UID) // somebody changed the holder by hand and left our labels
	}), nil
}

func (r *Reconciler) giveBack(ctx context.Context, held []coordinationv1.Lease) error {
	for i := range held {
		l := &held[i]
		if err := r.Client.Delete(ctx, l,
			client.Preconditions{ResourceVersion: &l.ResourceVersion}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("release the lease of %q: %w", l.Annotations[manifest.AnnotationTarget], err)
		}
	}
	return nil
}

// queueEntry is a run that waits for its targets or uses them.
type queueEntry struct {
	ID      string   // unique, such as a UID
	Name    string   // for people, namespace/name
	Keys    []string // keys of the targets
	Created time.Time
	Active  bool // uses its targets now
	Turn    int  // number of its namespace's benchmarks that wait before it for the same targets
	// LastUse is when its namespace last got a target.
	LastUse   time.Time
	benchmark *v1alpha1.NFSBenchmark // must not be changed
}

// turnOf counts the older benchmarks of the namespace of e that wait for one of its targets. The first benchmark of
// each namespace comes before the second of any, so that a namespace with a hundred benchmarks does not keep the target
// for a hundred runs.
func turnOf(e queueEntry, all []queueEntry) int {
	namespace, _, _ := strings.Cut(e.Name, "/")
	n := 0
	for _, o := range all {
		waits := !o.Active && strings.HasPrefix(o.Name, namespace+"/")
		if waits && compareAges(o, e) < 0 && shareTarget(o, e) {
			n++
		}
	}
	return n
}

func shareTarget(a, b queueEntry) bool {
	return slices.ContainsFunc(a.Keys, func(k string) bool { return slices.Contains(b.Keys, k) })
}

// queuePlace is the place of a run in the queue.
type queuePlace struct {
	Position int32  // 0 = the run is next
	Behind   string // name of the first run ahead
	Why      string // what the first run ahead does, for a message
	head     *v1alpha1.NFSBenchmark
}

// placeAmong returns the place of me among others; others may include me.
func placeAmong(me queueEntry, others []queueEntry) queuePlace {
	if me.Active {
		return queuePlace{}
	}
	var ahead []queueEntry
	for _, o := range others {
		if o.ID != me.ID && shareTarget(o, me) && compareTurns(o, me) < 0 {
			ahead = append(ahead, o)
		}
	}
	if len(ahead) == 0 {
		return queuePlace{}
	}
	slices.SortFunc(ahead, compareTurns)
	return queuePlace{Position: int32(len(ahead)), Behind: ahead[0].Name, head: ahead[0].benchmark} //nolint:gosec // a count of objects
}

// nextInQueue returns the first n waiting benchmarks, in the order of their turns.
func nextInQueue(all []queueEntry, n int) []queueEntry {
	waiting := slices.DeleteFunc(slices.Clone(all), func(e queueEntry) bool { return e.Active })
	slices.SortFunc(waiting, compareTurns)
	return waiting[:min(n, len(waiting))]
}

// compareTurns is a total order: first the active benchmarks; then the first of each namespace, ordered by when the
// namespace last got a target, the oldest first; then the second of each.
func compareTurns(a, b queueEntry) int {
	switch {
	case a.Active && !b.Active:
		return -1
	case b.Active && !a.Active:
		return 1
	default:
		return cmp.Or(cmp.Compare(a.Turn, b.Turn), a.LastUse.Compare(b.LastUse), compareAges(a, b))
	}
}

// compareAges orders by age, then by name, because creation times have whole seconds only.
func compareAges(a, b queueEntry) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
}
