package suite

import (
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
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/matrix"
)

// FieldOwner is the field manager of everything that the operator applies.
const FieldOwner = "nfsbench"

// How long until the next pass, where no watch wakes us.
const (
	conflictDelay = time.Second      // lets the cache catch up
	soon          = 5 * time.Second  // Argo has not begun yet, or a run is about to end
	underWayDelay = 10 * time.Second // a run is under way
	argoDelay     = 30 * time.Second // Argo is not there
	idleDelay     = time.Minute      // a schedule waits
)

// Options is what a Reconciler needs. All members are required.
type Options struct {
	Client   client.Client // cached reads
	Reader   client.Reader // reads past the cache
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	Checker  matrix.Checker
}

// Reconciler reconciles NFSBenchmarkSuites. It is safe for concurrent use on
// different suites.
type Reconciler struct {
	Options
	memory *memory
	phases []phase
}

// NewReconciler makes a Reconciler.
func NewReconciler(o Options) *Reconciler {
	r := &Reconciler{Options: o, memory: newMemory()}
	r.phases = []phase{
		r.recall, r.validate, r.checkArgo, r.grant, r.start, r.observe, r.control, r.conclude, r.keep, r.regress, r.prune,
	}
	return r
}

// A workflow's pods create benchmarks and report their results, so whoever grants
// them these rights must have them.
//
// +kubebuilder:rbac:groups=nfsbench.io,resources=nfsbenchmarksuites,verbs=get;list;watch
// +kubebuilder:rbac:groups=nfsbench.io,resources=nfsbenchmarksuites/status,verbs=patch
// +kubebuilder:rbac:groups=nfsbench.io,resources=nfsbenchmarksuites/finalizers,verbs=update
// +kubebuilder:rbac:groups=nfsbench.io,resources=nfsbenchmarks,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=argoproj.io,resources=workflows;cronworkflows,verbs=get;list;create;patch;delete
// +kubebuilder:rbac:groups=argoproj.io,resources=workflowtaskresults,verbs=create;patch
// +kubebuilder:rbac:groups=argoproj.io,resources=workflows/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=configmaps;serviceaccounts,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=roles;rolebindings,verbs=get;list;watch;create;patch;delete

// Reconcile runs the phases in order and writes the status exactly once.
func (r *Reconciler) Reconcile(ctx context.Context, suite *v1alpha1.NFSBenchmarkSuite) (ctrl.Result, error) {
	if !suite.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil // all that it made belongs to it, and goes with it
	}
	s := &scope{suite: suite, now: r.Clock.Now()}
	before := suite.DeepCopy()
	res, err := r.runPhases(ctx, s)
	err = settle(s, err)
	if s.blocked != nil && s.blocked.reason == v1alpha1.ReasonForbidden {
		res.RequeueAfter = argoDelay // rights and quotas are mended elsewhere, which wakes nobody
	}
	setStatus(s, err)

	perr := r.patchStatus(ctx, before, suite)
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
	r.emit(suite, transitions(before, suite, s.events))
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: conflictDelay}, nil
	}
	return res, err
}

func (r *Reconciler) runPhases(ctx context.Context, s *scope) (ctrl.Result, error) {
	for _, p := range r.phases {
		n, err := p(ctx, s)
		if err != nil {
			return ctrl.Result{}, err
		}
		if n.stop {
			return ctrl.Result{RequeueAfter: n.after}, nil
		}
	}
	return ctrl.Result{RequeueAfter: s.delay()}, nil
}

// delay is when to look again: Argo's objects are not watched, because their kinds
// need not exist.
func (s *scope) delay() time.Duration {
	open := s.open()
	switch {
	case len(open) > 0 && open[len(open)-1].state.Phase == "":
		return soon
	case len(open) > 0:
		return underWayDelay
	case s.scheduled():
		return idleDelay
	case s.argo != nil && !s.argo.ok:
		return argoDelay
	default:
		return 0
	}
}

// settle makes an error that only the user can mend what it is: a state.
func settle(s *scope, err error) error {
	var bad *specError
	if !errors.As(err, &bad) {
		return err
	}
	s.blocked = &fact{reason: bad.reason, message: bad.Error()}
	return nil
}

// specError is a problem that only the user can mend.
type specError struct {
	reason string
	err    error
}

func (e *specError) Error() string { return e.err.Error() }
func (e *specError) Unwrap() error { return e.err }

func blocked(reason string, err error) error { return &specError{reason: reason, err: err} }

func (r *Reconciler) patchStatus(ctx context.Context, before, after *v1alpha1.NFSBenchmarkSuite) error {
	if equality.Semantic.DeepEqual(before.Status, after.Status) {
		return nil
	}
	// With the lock a pass over a copy from before a run ended cannot undo what is
	// settled.
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return client.IgnoreNotFound(r.Client.Status().Patch(ctx, after, patch))
}

// AsReconciler adapts r to controller-runtime, which then fetches the object.
func (r *Reconciler) AsReconciler() reconcile.Reconciler {
	return reconcile.AsReconciler(r.Client, r)
}

func (r *Reconciler) emit(suite *v1alpha1.NFSBenchmarkSuite, list []event) {
	for _, e := range list {
		kind := corev1.EventTypeNormal
		if e.warning {
			kind = corev1.EventTypeWarning
		}
		r.Recorder.Eventf(suite, nil, kind, e.reason, e.action, "%s", e.note)
	}
}
