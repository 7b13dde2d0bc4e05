package benchmark

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/pass"
	"github.com/nfsbench/nfsbench/internal/diagnose"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/policy"
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
	// TridentNamespace is where the volumes of claims are looked up first;
	// empty = "trident". storage.trident names its own.
	TridentNamespace string
	// Policy returns what benchmarks may use now; nil = policy.Default.
	Policy func() (policy.Policy, error)
	Grace  diagnose.Grace
}

// Reconciler reconciles NFSBenchmarks. It keeps no state between passes and is
// safe for concurrent use.
type Reconciler struct {
	Options
	checker  *policy.Checker
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
	if o.Policy == nil {
		o.Policy = func() (policy.Policy, error) { return policy.Default(), nil }
	}
	r := &Reconciler{Options: o, checker: policy.MustChecker()}
	r.underWay = []phase{
		r.hold, r.admit, r.resolve, r.enqueue, r.provision, r.survey, r.mountExport, r.configure,
		r.runLoad, r.collect,
	}
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
	n, err := pass.Run(ctx, s, phases)
	if bad := (*pass.Invalid)(nil); errors.As(err, &bad) {
		// The error has done its work: it is the end of the run.
		n, err = next{}, nil
		s.outcome = &outcome{phase: v1alpha1.PhaseFailed, reason: bad.Reason, message: bad.Error()}
		if s.storage != nil && !s.storage.OK {
			s.storage = &fact{Reason: bad.Reason, Message: bad.Error()} // the storage is where it ended
		}
	}
	setStatus(s, err)
	return r.finish(ctx, s, before, ctrl.Result{RequeueAfter: n.After}, err)
}

// finish writes the status of a pass and sends its events.
func (r *Reconciler) finish(
	ctx context.Context, s *scope, before *v1alpha1.NFSBenchmark, res ctrl.Result, err error,
) (ctrl.Result, error) {
	changed := !equality.Semantic.DeepEqual(before.Status, s.b.Status)
	return r.writer().Finish(ctx, before, s.b, changed, transitions(before, s.b, s.events), res, err)
}

func (r *Reconciler) writer() pass.Writer { return pass.Writer{Client: r.Client, Recorder: r.Recorder} }

func invalid(reason string, err error) error { return &pass.Invalid{Reason: reason, Err: err} }

func (r *Reconciler) addFinalizer(ctx context.Context, b *v1alpha1.NFSBenchmark) error {
	before := b.DeepCopy()
	controllerutil.AddFinalizer(b, Finalizer)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, b, patch); err != nil {
		return fmt.Errorf("add finalizer: %w", client.IgnoreNotFound(err))
	}
	return nil
}

// AsReconciler adapts r to controller-runtime, which then fetches the object.
func (r *Reconciler) AsReconciler() reconcile.Reconciler {
	return reconcile.AsReconciler(r.Client, r)
}

// soon is for what has no watch or may be missed by one.
const soon = 5 * time.Second

// scope is what one pass knows. Phases fill it in, setStatus reads it.
type scope struct {
	b     *v1alpha1.NFSBenchmark
	names manifest.Names
	now   time.Time

	stage      v1alpha1.Phase // how far this pass came
	waiting    *fact          // what the pass waits for, in words
	target     *plan.Target
	place      *queuePlace
	storage    *fact               // about the storage; nil = not looked at
	surveying  *fact               // the array is being asked
	moving     *runfile.VolumeMove // under way
	preflight  *fact               // about what the array said; nil = not looked at
	plan       *runfile.Plan
	load       *batchv1.Job
	progress   []runfile.Progress
	database   *diagnose.Database // in the pods; nil = not looked at, or there is none
	released   bool               // the clients may start their load
	result     *runfile.Result
	judgement  *judge.Judgement
	outcome    *outcome
	cleanup    *fact // about what the run left; nil = not looked at
	volumeGone bool  // nothing of a Trident volume is left
	events     []event
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
