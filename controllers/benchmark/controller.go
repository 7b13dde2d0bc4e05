package benchmark

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/pass"
	"github.com/nfsbench/nfsbench/internal/diagnose"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/policy"
	"github.com/nfsbench/nfsbench/internal/policy/rules"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/trident"
)

// Finalizer keeps a deleted benchmark until everything it made is gone.
const Finalizer = "nfsbench.io/cleanup"

// Options is what a Reconciler needs. All members but those with a default are
// required.
type Options struct {
	Client   client.Client // cached reads
	Reader   client.Reader // reads past the cache, for what must not be stale
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	Images   manifest.Images
	// LeaseNamespace holds the target Leases; empty = the benchmark's own,
	// which is right when the operator may see one namespace only.
	LeaseNamespace string
	// TridentNamespace is where Trident runs, with the backends that the operator makes;
	// empty = "trident". The volumes of claims are looked up there first.
	TridentNamespace string
	// NoNetworkPolicies leaves the pods of benchmarks open to connections.
	NoNetworkPolicies bool
	// Policy returns what benchmarks may use now, as admission knows it; nil = policy.Default.
	Policy func(context.Context) (policy.Policy, error)
	Grace  diagnose.Grace
}

// Reconciler reconciles NFSBenchmarks. Between passes it remembers only whose turn it is, since when there
// is no Trident, and which objects it has compared. It is safe for concurrent use.
type Reconciler struct {
	Options
	checker     *rules.Checker
	results     sync.Mutex // held by the pass that has some in memory
	compared    compared
	began       time.Time
	uses        uses
	tridentSeen tridentSeen
	underWay    []phase
	finished    []phase
	deleted     []phase
}

// NewReconciler makes a Reconciler.
func NewReconciler(o Options) *Reconciler {
	if o.Grace == (diagnose.Grace{}) {
		o.Grace = diagnose.DefaultGrace()
	}
	o.TridentNamespace = cmp.Or(o.TridentNamespace, trident.DefaultNamespace)
	if o.Policy == nil {
		o.Policy = func(context.Context) (policy.Policy, error) { return policy.Default(), nil }
	}
	r := &Reconciler{Options: o, checker: rules.MustChecker(), began: o.Clock.Now()}
	r.underWay = []phase{
		r.hold, r.admit, r.resolve, r.freeClaim, r.enqueue, r.provision, r.survey, r.mountExport, r.configure,
		r.runLoad, r.collect,
	}
	r.finished = []phase{
		r.keep, r.stopLoad, r.cleanFiles, r.reportMove, r.remove, r.removeClassVolume, r.removeTrident, r.release,
	}
	r.deleted = []phase{
		r.stopLoad, r.cleanFiles, r.reportMove, r.remove, r.removeClassVolume, r.removeTrident, r.removeResult, r.release,
	}
	return r
}

// +kubebuilder:rbac:groups=nfsbench.io,resources=nfsbenchmarks,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=nfsbench.io,resources=nfsbenchmarks/status,verbs=patch
// +kubebuilder:rbac:groups=nfsbench.io,resources=nfsbenchmarks/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=services;serviceaccounts;pods,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
// +kubebuilder:rbac:groups="",resources=events,verbs=list
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=roles;rolebindings,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=get;list;watch;create;update;delete
// +kubebuilder:rbac:groups="",resources=persistentvolumes,verbs=get;create;delete
// +kubebuilder:rbac:groups=storage.k8s.io,resources=storageclasses,verbs=get

// Reconcile runs the phases in order and writes the status exactly once.
func (r *Reconciler) Reconcile(ctx context.Context, b *v1alpha1.NFSBenchmark) (ctrl.Result, error) {
	s := &scope{b: b, names: manifest.NamesOf(b), now: r.Clock.Now()}
	defer r.dropResults(s)
	if !b.DeletionTimestamp.IsZero() {
		return r.reconcileDeleted(ctx, s)
	}
	if !controllerutil.ContainsFinalizer(b, Finalizer) {
		return ctrl.Result{}, r.changeFinalizers(ctx, b, controllerutil.AddFinalizer)
	}
	if isSettled(b) {
		return ctrl.Result{}, nil // and the cache has only a part of it, which must not be written
	}
	before := b.DeepCopy()
	phases := r.underWay
	if isFinished(b) {
		phases = r.finished
	}
	n, err := next{}, pass.CheckSize(b)
	if err == nil {
		n, err = pass.Run(ctx, s, phases)
		if errors.Is(err, errBusy) {
			return ctrl.Result{RequeueAfter: busyPause}, nil
		}
	} else {
		s.cleanup = &fact{OK: true, Reason: v1alpha1.ReasonCleanedUp, Message: "nothing was created"}
	}
	if bad := (*pass.Invalid)(nil); errors.As(err, &bad) {
		// The error has done its work: it is the end of the run.
		n, err = next{}, nil
		s.outcome = &outcome{phase: v1alpha1.PhaseFailed, reason: bad.Reason, message: bad.Error()}
		if s.storage != nil && !s.storage.OK {
			s.storage = &fact{Reason: bad.Reason, Message: bad.Error()} // the storage is where it ended
		}
	}
	if other := (*runfile.VersionError)(nil); errors.As(err, &other) {
		n, err = next{}, nil
		s.waitForRelease(other)
	}
	held := r.limitHold(ctx, s, &n)
	if errors.Is(held, errBusy) {
		return ctrl.Result{RequeueAfter: busyPause}, nil
	}
	err = cmp.Or(err, held)
	setStatus(s, err)
	return r.finish(ctx, s, before, ctrl.Result{RequeueAfter: n.After}, err)
}

// dropResults lets another pass have results in memory.
func (r *Reconciler) dropResults(s *scope) {
	if s.hasResults {
		r.results.Unlock()
	}
}

// changeFinalizers adds our finalizer, or removes it. The cache has none of others, so it reads them first.
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

// waitForRelease waits for an operator that reads a file which another release wrote, as after
// a rollback. It deletes nothing and does not try again: a new operator looks at every
// benchmark, and a change of the file wakes this one.
func (s *scope) waitForRelease(err *runfile.VersionError) {
	s.waiting = &fact{Reason: v1alpha1.ReasonOtherRelease, Message: err.Error() + " as the operator, and the benchmark " +
		"goes on"}
	if isFinished(s.b) {
		s.cleanup = s.waiting
	}
}

// finish writes the status of a pass and sends its events.
func (r *Reconciler) finish(
	ctx context.Context, s *scope, before *v1alpha1.NFSBenchmark, res ctrl.Result, err error,
) (ctrl.Result, error) {
	write := func(err error) (ctrl.Result, error) {
		changed := !equality.Semantic.DeepEqual(before.Status, s.b.Status)
		return r.writer().Finish(ctx, before, s.b, changed, transitions(before, s.b, s.events), res, err)
	}
	done, err := write(err)
	if !errors.Is(err, pass.ErrStatus) || !apierrors.IsInvalid(err) || isFinished(before) {
		return done, err
	}
	// A pod, an array or a server sent what no status takes. That is the end of the run, or it would have none.
	if s.load != nil && jobEnd(s.load) == nil {
		if err := r.delete(ctx, s.load); err != nil {
			return ctrl.Result{}, err
		}
	}
	s = &scope{b: before.DeepCopy(), names: s.names, now: s.now}
	_, _ = s.fail(runfile.FailureInternal, "what was found cannot be written: "+err.Error())
	setStatus(s, nil)
	return write(nil)
}

func (r *Reconciler) writer() pass.Writer { return pass.Writer{Client: r.Client, Recorder: r.Recorder} }

// invalid is a problem that only the user can fix. It ends the run, and is the state of the storage
// if that is being made ready.
func invalid(reason, format string, args ...any) error {
	return &pass.Invalid{Reason: reason, Err: fmt.Errorf(format, args...)}
}

// AsReconciler adapts r to controller-runtime, which then fetches the object.
func (r *Reconciler) AsReconciler() reconcile.Reconciler {
	return reconcile.AsReconciler(r.Client, r)
}

const (
	// soon is for what has no watch or may be missed by one.
	soon = 5 * time.Second
	// busyPause is between two tries to read a result.
	busyPause = time.Second
)

// scope is what one pass knows. Phases fill it in, setStatus reads it.
type scope struct {
	b     *v1alpha1.NFSBenchmark
	names manifest.Names
	now   time.Time

	configMaps map[string]*corev1.ConfigMap // of the run, as this pass has read them

	policy  policy.Policy  // until the load starts
	stage   v1alpha1.Phase // how far this pass came
	waiting *fact          // what the pass waits for, in words
	target  *plan.Target
	place   *queuePlace
	// heldSince is when the run got its target; zero = not looked at, or the load has begun.
	heldSince time.Time
	gaveBack  bool // the target, before the load began
	// keepsTarget: the run waits, and its survey may still move the volume.
	keepsTarget bool
	storage     *fact // about the storage; nil = not looked at
	// tridentSilent: Trident has not yet answered to what it was asked for.
	tridentSilent bool
	attachedOnly  bool                // Trident writes the export rules of the volume: for the nodes that mount it
	surveying     *fact               // the array is being asked
	moving        *runfile.VolumeMove // under way
	preflight     *fact               // about what the array said; nil = not looked at
	plan          *runfile.Plan
	planHash      *string // of the plan that this pass decides on, or forgets; nil = neither
	load          *batchv1.Job
	progress      []runfile.Progress
	reports       []*runfile.LevelReport // last report of each client in a search for capacity; nil = none yet
	database      *diagnose.Database     // what was found in the pods; nil = not checked, or no database
	released      bool                   // the clients may start their load
	levels        []byte                 // published levels of a search with several clients; nil = none
	hasResults    bool                   // the pass holds Reconciler.results
	result        *runfile.Result
	damaged       error // names the clients whose results cannot be used
	kept          int64 // bytes of the ConfigMap with the result; 0 = not looked at
	judgement     *judge.Judgement
	outcome       *outcome
	cleanup       *fact // about what the run left; nil = not looked at
	volumeGone    bool  // nothing of a Trident volume is left
	loadGone      bool  // no pod of the load is left
	events        []event
}

// outcome is how the run ended.
type outcome struct {
	phase   v1alpha1.Phase // Succeeded, Failed or Cancelled
	reason  string
	message string
}

type (
	fact  = pass.Fact
	event = pass.Event
	next  = pass.Next
	phase = func(context.Context, *scope) (next, error)
)

// waitFor ends the pass. With a zero duration a watch must wake us up.
func waitFor(after time.Duration) next { return next{Stop: true, After: after} }

// wait records why the pass ends here.
func (s *scope) wait(reason, message string, after time.Duration) (next, error) {
	s.waiting = &fact{Reason: reason, Message: message}
	return waitFor(after), nil
}

// end records how the run ended.
func (s *scope) end(phase v1alpha1.Phase, reason, message string) (next, error) {
	s.outcome = &outcome{phase: phase, reason: reason, message: message}
	return waitFor(0), nil
}

func (s *scope) fail(reason, message string) (next, error) {
	return s.end(v1alpha1.PhaseFailed, reason, message)
}

// SetupWithManager registers the reconciler and what wakes it.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, workers int) error {
	if err := pass.IndexBenchmarks(context.Background(), mgr, Indexes()); err != nil {
		return err
	}
	deletions := predicate.Funcs{
		CreateFunc:  func(ctrlevent.CreateEvent) bool { return false },
		UpdateFunc:  func(ctrlevent.UpdateEvent) bool { return false },
		GenericFunc: func(ctrlevent.GenericEvent) bool { return false },
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("nfsbenchmark").
		For(&v1alpha1.NFSBenchmark{}, builder.WithPredicates(changes())).
		Owns(&batchv1.Job{}).
		Owns(&corev1.ConfigMap{}, builder.OnlyMetadata, builder.WithPredicates(r.unlessMeasuring())).
		Owns(&corev1.PersistentVolumeClaim{}).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(r.ofLabels)).
		Watches(&coordinationv1.Lease{}, handler.EnqueueRequestsFromMapFunc(r.waiting), builder.WithPredicates(deletions)).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r.AsReconciler())
}

// changes are those of a benchmark that a pass looks at. Whoever may label a benchmark must not keep the workers busy.
func changes() predicate.Funcs {
	return predicate.Funcs{UpdateFunc: func(e ctrlevent.UpdateEvent) bool {
		was, isOne := e.ObjectOld.(*v1alpha1.NFSBenchmark)
		is, areBoth := e.ObjectNew.(*v1alpha1.NFSBenchmark)
		return !isOne || !areBoth || was.ResourceVersion == is.ResourceVersion || was.Generation != is.Generation ||
			!is.DeletionTimestamp.Equal(was.DeletionTimestamp) || !slices.Equal(was.Finalizers, is.Finalizers) ||
			!equality.Semantic.DeepEqual(was.Status, is.Status)
	}}
}

// ofLabels finds the benchmark of a pod: load pods belong to a Job, so their
// owner does not tell.
func (r *Reconciler) ofLabels(ctx context.Context, obj client.Object) []reconcile.Request {
	list, err := r.withUID(ctx, obj.GetLabels()[manifest.LabelUID])
	if err != nil {
		return nil // the cache cannot fail once it is synced; passes also wake by time
	}
	var out []reconcile.Request
	for i := range list {
		out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list[i])})
	}
	return out
}

// waiting finds the benchmarks that may continue when a target is freed, and the few behind them
// that move up at once.
func (r *Reconciler) waiting(ctx context.Context, lease client.Object) []reconcile.Request {
	entries, err := r.contenders(ctx, []string{lease.GetAnnotations()[manifest.AnnotationTarget]})
	if err != nil {
		return nil // as above
	}
	var out []reconcile.Request
	for _, e := range nextInQueue(entries, toldAtOnce) {
		space, name, _ := strings.Cut(e.Name, "/")
		out = append(out, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: space, Name: name}})
	}
	return out
}

// The fields by which the reconciler looks benchmarks up in its cache. Without
// them each pass would look through all benchmarks there are, finished ones too.
const (
	IndexTarget = "target" // a key of the targets that an unfinished one wants
	IndexUID    = "uid"    // of one that is not settled
)

// Indexes gives the values of each field. SetupWithManager adds them to the
// manager's cache; a client without that cache must offer them itself.
func Indexes() map[string]client.IndexerFunc {
	return map[string]client.IndexerFunc{
		IndexUID: func(obj client.Object) []string {
			if b, ok := obj.(*v1alpha1.NFSBenchmark); ok && isSettled(b) {
				return nil // it has no pods and no Leases
			}
			return []string{string(obj.GetUID())}
		},
		IndexTarget: func(obj client.Object) []string {
			b, ok := obj.(*v1alpha1.NFSBenchmark)
			if !ok || isFinished(b) {
				return nil
			}
			return knownKeys(b)
		},
	}
}

// withUID finds a benchmark by its identity; it is not to be changed.
func (r *Reconciler) withUID(ctx context.Context, uid string) ([]v1alpha1.NFSBenchmark, error) {
	list := &v1alpha1.NFSBenchmarkList{}
	err := r.Client.List(ctx, list, client.MatchingFields{IndexUID: uid}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("find the benchmark with UID %q: %w", uid, err)
	}
	return list.Items, nil
}

// CacheOptions keep in memory what the operator made and nothing else: a
// cluster's other pods and ConfigMaps are none of its business. Objects of
// users, such as their claims, are read past the cache.
//
// Volumes and classes are read past the cache too, because an operator that may
// see some namespaces only must not watch them: see ClientOptions. So are
// Trident's objects, whose kinds need not be there.
//
// The cache has only the metadata of ConfigMaps that wake benchmarks, not their contents: anybody
// can create some with the operator's label. Of benchmarks and suites it has what passes read, and of
// settled benchmarks what suites and metrics read. Other objects have no managedFields in it.
//
// No namespaces means all. The Leases' namespace is watched as well.
func CacheOptions(namespaces []string, leases string) cache.Options {
	ours := cache.ByObject{
		Label:     labels.SelectorFromSet(labels.Set{manifest.LabelManagedBy: manifest.ManagedBy}),
		Transform: boundedObject,
	}
	lease := ours
	o := cache.Options{DefaultNamespaces: inNamespaces(namespaces)}
	if leases != "" {
		lease.Namespaces = inNamespaces([]string{leases})
	}
	o.ByObject = map[client.Object]cache.ByObject{
		&v1alpha1.NFSBenchmark{}:        {Transform: reduceBenchmark},
		&v1alpha1.NFSBenchmarkSuite{}:   {Transform: reduceSuite},
		&batchv1.Job{}:                  ours,
		&corev1.ConfigMap{}:             {Label: ours.Label, Transform: ownerOnly},
		&corev1.PersistentVolumeClaim{}: ours,
		&corev1.Pod{}:                   ours,
		&corev1.Service{}:               ours,
		&corev1.ServiceAccount{}:        ours,
		&rbacv1.Role{}:                  ours,
		&rbacv1.RoleBinding{}:           ours,
		&networkingv1.NetworkPolicy{}:   ours,
		&coordinationv1.Lease{}:         lease,
	}
	return o
}

func inNamespaces(names []string) map[string]cache.Config {
	if len(names) == 0 {
		return nil
	}
	out := map[string]cache.Config{}
	for _, n := range names {
		out[n] = cache.Config{}
	}
	return out
}

// ClientOptions belong to CacheOptions.
func ClientOptions() client.Options {
	return client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{
		&corev1.ConfigMap{},
		&corev1.PersistentVolume{},
		&storagev1.StorageClass{},
	}}}
}
