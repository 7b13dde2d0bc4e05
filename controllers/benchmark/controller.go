package benchmark

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/diagnose"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/trident"
)

// Finalizer keeps a deleted benchmark until everything it made is gone.
const Finalizer = "nfsbench.io/cleanup"

// FieldOwner is the field manager of everything that the operator applies.
const FieldOwner = "nfsbench"

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
	// TridentNamespace is where the volumes of claims are looked up first;
	// empty = "trident". storage.trident names its own.
	TridentNamespace string
	Grace            diagnose.Grace
}

// Reconciler reconciles NFSBenchmarks. It keeps no state between passes and is
// safe for concurrent use.
type Reconciler struct {
	Options
	underWay []phase
	finished []phase
	deleted  []phase
}

// NewReconciler makes a Reconciler.
func NewReconciler(o Options) *Reconciler {
	if o.Grace == (diagnose.Grace{}) {
		o.Grace = diagnose.DefaultGrace()
	}
	o.TridentNamespace = cmp.Or(o.TridentNamespace, trident.DefaultNamespace)
	r := &Reconciler{Options: o}
	r.underWay = []phase{r.hold, r.resolve, r.enqueue, r.provision, r.survey, r.mountExport, r.configure, r.runLoad, r.collect}
	r.finished = []phase{r.keep, r.stopLoad, r.cleanFiles, r.reportMove, r.remove, r.removeTrident, r.release}
	r.deleted = []phase{r.stopLoad, r.cleanFiles, r.reportMove, r.remove, r.removeTrident, r.removeResult, r.release}
	return r
}

// +kubebuilder:rbac:groups=nfsbench.io,resources=nfsbenchmarks,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=nfsbench.io,resources=nfsbenchmarks/status,verbs=patch
// +kubebuilder:rbac:groups=nfsbench.io,resources=nfsbenchmarks/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=configmaps;services;serviceaccounts;pods,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=events,verbs=list
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=roles;rolebindings,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=get;list;watch;create;update;delete
// +kubebuilder:rbac:groups="",resources=persistentvolumes,verbs=get;create;patch;delete

// Reconcile runs the phases in order and writes the status exactly once.
func (r *Reconciler) Reconcile(ctx context.Context, b *v1alpha1.NFSBenchmark) (ctrl.Result, error) {
	s := &scope{b: b, names: manifest.NamesOf(b), now: r.Clock.Now()}
	if !b.DeletionTimestamp.IsZero() {
		return r.reconcileDeleted(ctx, s)
	}
	if !controllerutil.ContainsFinalizer(b, Finalizer) {
		return ctrl.Result{}, r.addFinalizer(ctx, b)
	}
	before := b.DeepCopy()
	phases := r.underWay
	if isFinished(b) {
		phases = r.finished
	}
	res, err := runPhases(ctx, s, phases)
	res, err = settle(s, res, err)
	setStatus(s, err)

	perr := r.patchStatus(ctx, before, b)
	if apierrors.IsConflict(perr) {
		// Our copy was old, and so was all that this pass concluded from it.
		return ctrl.Result{RequeueAfter: conflictDelay}, nil
	}
	if perr != nil {
		// A lost status write must be repeated, even after a terminal error.
		if err != nil {
			log.FromContext(ctx).Error(err, "Reconciling failed before the status patch failed too")
		}
		return ctrl.Result{}, fmt.Errorf("patch status: %w", perr)
	}
	r.emit(b, transitions(before, b, s.events))
	return res, err
}

func runPhases(ctx context.Context, s *scope, phases []phase) (ctrl.Result, error) {
	for _, p := range phases {
		n, err := p(ctx, s)
		if err != nil {
			return ctrl.Result{}, err
		}
		if n.stop {
			return ctrl.Result{RequeueAfter: n.after}, nil
		}
	}
	return ctrl.Result{}, nil
}

// settle makes a terminal error what it is: the end of the run. The error has
// then done its work; returned, it would only be counted as a crash of ours.
func settle(s *scope, res ctrl.Result, err error) (ctrl.Result, error) {
	var bad *specError
	if !errors.As(err, &bad) {
		return res, err
	}
	s.outcome = &outcome{phase: v1alpha1.PhaseFailed, reason: bad.reason, message: bad.Error()}
	if s.storage != nil && !s.storage.ok {
		s.storage = &fact{reason: bad.reason, message: bad.Error()} // the storage is where it ended
	}
	return ctrl.Result{}, nil
}

// specError is a problem that only the user can fix.
type specError struct {
	reason string
	err    error
}

func (e *specError) Error() string { return e.err.Error() }
func (e *specError) Unwrap() error { return e.err }

func invalid(reason string, err error) error { return &specError{reason: reason, err: err} }

func (r *Reconciler) addFinalizer(ctx context.Context, b *v1alpha1.NFSBenchmark) error {
	before := b.DeepCopy()
	controllerutil.AddFinalizer(b, Finalizer)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, b, patch); err != nil {
		return fmt.Errorf("add finalizer: %w", client.IgnoreNotFound(err))
	}
	return nil
}

func (r *Reconciler) patchStatus(ctx context.Context, before, after *v1alpha1.NFSBenchmark) error {
	if equality.Semantic.DeepEqual(before.Status, after.Status) {
		return nil
	}
	// With the lock a pass over a copy from before the end of the run cannot
	// undo or date anew what is settled.
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return client.IgnoreNotFound(r.Client.Status().Patch(ctx, after, patch))
}

// AsReconciler adapts r to controller-runtime, which then fetches the object.
func (r *Reconciler) AsReconciler() reconcile.Reconciler {
	return reconcile.AsReconciler(r.Client, r)
}

func (r *Reconciler) emit(b *v1alpha1.NFSBenchmark, list []event) {
	for _, e := range list {
		kind := corev1.EventTypeNormal
		if e.warning {
			kind = corev1.EventTypeWarning
		}
		r.Recorder.Eventf(b, nil, kind, e.reason, e.action, "%s", e.note)
	}
}

// conflictDelay lets the cache catch up.
const conflictDelay = time.Second

// soon is for what has no watch or may be missed by one.
const soon = 5 * time.Second
