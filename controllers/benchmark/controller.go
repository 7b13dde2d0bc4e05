package benchmark

import (
	"cmp"
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/owned"
	"github.com/nfsbench/nfsbench/controllers/pass"
	"github.com/nfsbench/nfsbench/controllers/queue"
	"github.com/nfsbench/nfsbench/internal/diagnose"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/policy"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/trident"
)

// NewReconciler makes a Reconciler.
func NewReconciler(o Options) *Reconciler {
	if o.Grace == (diagnose.Grace{}) {
		o.Grace = diagnose.DefaultGrace()
	}
	o.TridentNamespace = cmp.Or(o.TridentNamespace, trident.DefaultNamespace)
	if o.Policy == nil {
		o.Policy = func(context.Context) (policy.Policy, error) { return policy.Default(), nil }
	}
	r := &Reconciler{
		Options: o, Objects: owned.New(o.Client, o.Reader, o.Clock.Now()), checker: policy.MustChecker(),
	}
	r.queue = queue.New(queue.Options{
		Client: o.Client, Reader: o.Reader, Namespace: o.LeaseNamespace, Finished: isFinished, Released: isReleased,
		Wants: wantsTarget, WithUID: r.withUID,
	})
	r.underWay = []phase{
		r.checkSuspend, r.checkPolicy, r.resolve, r.freeClaim, r.enqueue, r.provision, r.survey, r.mountExport, r.configure,
		r.runLoad, r.collect,
	}
	r.finished = []phase{
		r.retain, r.stopLoad, r.cleanFiles, r.reportMove, r.remove, r.removeClassVolume, r.removeTrident, r.release,
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
	switch has := controllerutil.ContainsFinalizer(b, owned.Finalizer); {
	case isSettled(b) && has && b.Spec.Cleanup.Results != v1alpha1.CleanupRetain:
		// Nothing is left to do before a deletion, which must be possible when the operator is gone.
		return ctrl.Result{}, r.changeFinalizers(ctx, b, controllerutil.RemoveFinalizer)
	case isSettled(b):
		return ctrl.Result{}, nil // the cache holds only a part of it, which must not be written
	case !has && b.Status.HoldEndTime != nil: // somebody removed it
		return ctrl.Result{}, r.changeFinalizers(ctx, b, controllerutil.AddFinalizer)
	}
	before := b.DeepCopy()
	phases := r.underWay
	if isFinished(b) {
		phases = r.finished
	}
	n, err := next{}, pass.CheckSize(b)
	if err == nil {
		n, err = pass.Run(ctx, s, phases)
		switch {
		case errors.Is(err, errBusy):
			return ctrl.Result{RequeueAfter: busyPause}, nil
		case errors.Is(err, owned.ErrNoFinalizer):
			return ctrl.Result{}, r.changeFinalizers(ctx, b, controllerutil.AddFinalizer)
		}
	} else {
		s.nothingToClean()
	}
	if bad := (*pass.Invalid)(nil); errors.As(err, &bad) {
		// An invalid benchmark ends the run: there is nothing to retry.
		n, err = next{}, nil
		s.outcome = &outcome{phase: v1alpha1.PhaseFailed, reason: bad.Reason, message: bad.Error()}
		s.storageFailed(bad)
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
	// A pod, an array or a server sent a value that the status does not accept. Fail the run: it could not end otherwise.
	if s.load != nil && jobEnd(s.load) == nil {
		if err := r.Delete(ctx, s.load); err != nil {
			return ctrl.Result{}, err
		}
	}
	s = &scope{b: before.DeepCopy(), names: s.names, now: s.now}
	_, _ = s.fail(runfile.FailureInternal, "what was found cannot be written: "+err.Error())
	setStatus(s, nil)
	return write(nil)
}

// AsReconciler adapts r to controller-runtime, which then fetches the object.
func (r *Reconciler) AsReconciler() reconcile.Reconciler {
	return reconcile.AsReconciler(r.Client, r)
}
