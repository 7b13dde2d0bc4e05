// Package pass holds the code that the reconcilers of both kinds share in each pass: it runs the phases, writes the
// status once, and then sends the events.
package pass

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// FieldOwner is the field manager of everything that the operator applies.
const FieldOwner = client.FieldOwner("nfsbench")

// ConflictDelay gives the cache time to catch up.
const ConflictDelay = time.Second

// Fact is one observation with its reason, for a condition.
type Fact struct {
	OK      bool
	Reason  string
	Message string
}

// Event reports one transition to the user. It is sent after the status is written.
type Event struct {
	Reason, Action, Note string
	Warning              bool
}

// Next controls what follows a phase: the zero value means "go on".
type Next struct {
	Stop  bool
	After time.Duration // zero: a watch must wake us up
}

// Within limits the time until the next pass.
func (n *Next) Within(after time.Duration) {
	if n.After == 0 || n.After > after {
		n.After = after
	}
}

// Run runs the phases in order, up to the first that fails or ends the pass.
func Run[S any, P ~func(context.Context, S) (Next, error)](ctx context.Context, s S, phases []P) (Next, error) {
	for _, p := range phases {
		if n, err := p(ctx, s); err != nil || n.Stop {
			return n, err
		}
	}
	return Next{}, nil
}

// Invalid is a problem that only the user can fix. It is reported in the status: controller-runtime would only count it
// as a crash of the operator.
type Invalid struct {
	Reason string
	Err    error
}

func (e *Invalid) Error() string { return e.Err.Error() }
func (e *Invalid) Unwrap() error { return e.Err }

// ErrStatus is returned by Writer.Finish if the status could not be written.
var ErrStatus = errors.New("patch status")

// Writer writes the result of a pass.
type Writer struct {
	Client   client.Client
	Recorder events.EventRecorder
}

// Finish writes the status of after, if it changed, and then sends the events. res and err are the result of the
// phases. A conflict with another writer is no error: the pass worked on an old copy, and the next pass repeats it.
func (w Writer) Finish(
	ctx context.Context, before, after client.Object, changed bool, list []Event, res ctrl.Result, err error,
) (ctrl.Result, error) {
	if changed {
		// The lock stops a pass over a copy from before the end of a run from undoing or re-dating final conditions.
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		perr := client.IgnoreNotFound(w.Client.Status().Patch(ctx, after, patch))
		switch {
		case apierrors.IsConflict(perr):
			return ctrl.Result{RequeueAfter: ConflictDelay}, nil
		case perr != nil:
			// A lost status write must be repeated, even after a terminal error.
			if err != nil {
				log.FromContext(ctx).Error(err, "Reconciling failed before the status patch failed too")
			}
			return ctrl.Result{}, fmt.Errorf("%w: %w", ErrStatus, perr)
		}
	}
	w.Emit(after, list)
	return res, err
}

// Emit sends events, with notes cut to the longest that the API server accepts.
func (w Writer) Emit(about runtime.Object, list []Event) {
	const longest = 1000
	for _, e := range list {
		kind := corev1.EventTypeNormal
		if e.Warning {
			kind = corev1.EventTypeWarning
		}
		if len(e.Note) > longest {
			e.Note = strings.ToValidUTF8(e.Note[:longest], "")
		}
		w.Recorder.Eventf(about, nil, kind, e.Reason, e.Action, "%s", e.Note)
	}
}

// PhaseChanged returns the event of a new phase, with the message of the status.
func PhaseChanged(phase, message string, warning bool) Event {
	if message == "" {
		message = "Phase is " + phase
	}
	return Event{Reason: phase, Action: "Reconcile", Note: message, Warning: warning}
}

// Changed returns the new condition if its status or reason differs from before, or if it is new; nil if not, or if it
// is gone.
func Changed(before, after []metav1.Condition, kind string) *metav1.Condition {
	was, is := meta.FindStatusCondition(before, kind), meta.FindStatusCondition(after, kind)
	if is != nil && was != nil && was.Status == is.Status && was.Reason == is.Reason {
		return nil
	}
	return is
}

// Condition is one row of the table of the conditions of a kind.
type Condition[S any] struct {
	Type string
	// State computes the condition. The zero value keeps the condition of an earlier pass, or makes it Unknown if there is
	// none.
	State func(s S, err error) State
}

// State is the state of a condition.
type State struct {
	Status          metav1.ConditionStatus
	Reason, Message string
	Absent          bool // the object has no such condition
}

// True returns the state of a condition that is true.
func True(reason, message string) State {
	return State{Status: metav1.ConditionTrue, Reason: reason, Message: message}
}

// False returns the state of a condition that is false.
func False(reason, message string) State {
	return State{Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

// Unknown returns the state of a condition that is not known yet.
func Unknown(reason, message string) State {
	return State{Status: metav1.ConditionUnknown, Reason: reason, Message: message}
}

// StateOf returns the state of a fact; the zero value if the fact was not checked.
func StateOf(f *Fact) State {
	switch {
	case f == nil:
		return State{}
	case f.OK:
		return True(f.Reason, f.Message)
	default:
		return False(f.Reason, f.Message)
	}
}

// Health is the state of an object for generic tools, by the conditions of kstatus.
type Health struct {
	Kind            HealthKind
	Reason, Message string
}

// HealthKind is a status of kstatus, or Held: kstatus reads Held as Current, and the object is not
// Ready.
type HealthKind string

// The kinds of health.
const (
	InProgress HealthKind = "InProgress"
	Failed     HealthKind = "Failed"
	Current    HealthKind = "Current"
	Held       HealthKind = "Held"
)

// HealthConditions returns the conditions of kstatus, which end the table of a kind. Only Ready carries the message, so
// that a description says it once. As kstatus asks, Reconciling and Stalled are absent where they are not true; a
// benchmark that is held back keeps Reconciling, with the reason.
func HealthConditions[S any](of func(S, error) Health) []Condition[S] {
	reconciling := func(s S, err error) State {
		switch h := of(s, err); h.Kind {
		case Held:
			return False(h.Reason, h.Message)
		case InProgress:
			return True(h.Reason, "")
		default:
			return State{Absent: true}
		}
	}
	stalled := func(s S, err error) State {
		if h := of(s, err); h.Kind == Failed {
			return True(h.Reason, "the condition Ready says why")
		}
		return State{Absent: true}
	}
	ready := func(s S, err error) State {
		switch h := of(s, err); h.Kind {
		case Held:
			return State{Absent: true}
		case Current:
			return True(h.Reason, h.Message)
		default:
			return False(h.Reason, h.Message)
		}
	}
	return []Condition[S]{
		{Type: v1alpha1.ConditionReconciling, State: reconciling},
		{Type: v1alpha1.ConditionStalled, State: stalled},
		{Type: v1alpha1.ConditionReady, State: ready},
	}
}

// SetConditions computes all conditions of a table, in its order, and sets the observed generation of all conditions of
// the object. A condition whose status changes gets the current time.
func SetConditions[S any](
	table []Condition[S], s S, err error, to *[]metav1.Condition, generation int64, now time.Time,
) {
	for _, c := range table {
		SetCondition(to, c.Type, c.State(s, err), generation, now)
	}
	for i := range *to {
		(*to)[i].ObservedGeneration = generation
	}
}

// SetCondition sets one condition.
func SetCondition(to *[]metav1.Condition, kind string, st State, generation int64, now time.Time) {
	switch {
	case st.Absent:
		meta.RemoveStatusCondition(to, kind)
		return
	case st.Status == "" && meta.FindStatusCondition(*to, kind) != nil:
		return
	case st.Status == "":
		st = Unknown(v1alpha1.ReasonPending, "")
	}
	meta.SetStatusCondition(to, metav1.Condition{
		Type: kind, Status: st.Status, ObservedGeneration: generation,
		Reason: st.Reason, Message: Clip(st.Message), LastTransitionTime: metav1.NewTime(now),
	})
}

// Unstructured returns obj in the form for an apply: with its kind, and without the empty fields that typed objects
// encode.
func Unstructured(scheme *runtime.Scheme, obj client.Object) (*unstructured.Unstructured, error) {
	gvk, err := apiutil.GVKForObject(obj, scheme)
	if err != nil {
		return nil, fmt.Errorf("find the kind of %T: %w", obj, err)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("convert %s: %w", gvk.Kind, err)
	}
	u := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(content)}
	u.SetGroupVersionKind(gvk)
	for _, path := range [][]string{
		{"status"},
		{"metadata", "creationTimestamp"},
		{"spec", "template", "metadata", "creationTimestamp"},
	} {
		unstructured.RemoveNestedField(u.Object, path...)
	}
	return u, nil
}

// Apply does a server-side apply and fills u with the answer of the server. A resourceVersion in u is a lock.
func Apply(ctx context.Context, c client.Client, u *unstructured.Unstructured) error {
	return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), FieldOwner, client.ForceOwnership)
}

// Read fills obj from the cache, or else past it: the cache holds only objects of the operator, and may be behind. It
// holds no contents of ConfigMaps.
func Read(ctx context.Context, cached, past client.Reader, obj client.Object) error {
	key := client.ObjectKeyFromObject(obj)
	if _, ok := obj.(*corev1.ConfigMap); ok {
		return past.Get(ctx, key, obj)
	}
	if err := cached.Get(ctx, key, obj); !apierrors.IsNotFound(err) {
		return err
	}
	return past.Get(ctx, key, obj)
}

// IndexBenchmarks adds the fields by which a reconciler finds benchmarks in its cache.
func IndexBenchmarks(ctx context.Context, mgr ctrl.Manager, indexes map[string]client.IndexerFunc) error {
	for field, values := range indexes {
		if err := mgr.GetFieldIndexer().IndexField(ctx, &v1alpha1.NFSBenchmark{}, field, values); err != nil {
			return fmt.Errorf("index benchmarks by %s: %w", field, err)
		}
	}
	return nil
}
