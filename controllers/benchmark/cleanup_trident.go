package benchmark

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/owned"
	"github.com/nfsbench/nfsbench/controllers/pass"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/trident"
)

const (
	// leftoverPatience bounds the removal of a volume. After it the status reports the volume as left behind, and
	// spec.cleanup.leftovers Abandon lets the benchmark go.
	leftoverPatience = 2 * time.Minute
)

// leftover describes an object that is not yet removed. what holds its description and the command to inspect it. since
// is the time from which leftoverPatience counts, unless the removal began later. stays marks an object that only its
// user can remove.
type leftover struct {
	what  string
	since time.Time
	stays bool
}

// removeTrident removes the volume and then the objects that it was made with. Each object is needed to remove the one
// before it: Trident can delete a volume only while it has the backend.
//
// The run may have ended in any phase, so some of the objects may be missing or half made.
func (r *Reconciler) removeTrident(ctx context.Context, s *scope) (next, error) {
	if s.b.Spec.Storage.Trident == nil {
		return next{}, nil
	}
	claim, class, config := manifest.TridentChildren(s.b, r.TridentNamespace)
	steps := []func() (*leftover, error){
		func() (*leftover, error) { return r.removeTridentClaim(ctx, s, claim) },
		func() (*leftover, error) { return r.volumeLeft(ctx, s) },
	}
	if s.b.Spec.Storage.Trident.BackendName != "" {
		steps = append(steps,
			func() (*leftover, error) { return r.removeTridentObject(ctx, s, class) },
			func() (*leftover, error) { return r.removeTridentObject(ctx, s, config) },
			func() (*leftover, error) { return r.backendLeft(ctx, s) })
	}
	for _, step := range steps {
		left, err := step()
		if err != nil {
			return next{}, err
		}
		if left != nil {
			return r.tridentLeft(ctx, s, *left)
		}
	}
	s.volumeGone = true
	if s.cleanup != nil {
		s.cleanup = &fact{Reason: v1alpha1.ReasonCleaningUp} // whatever was left behind has gone
	}
	return next{}, nil
}

// tridentLeft waits for a leftover and reports it. After leftoverPatience it also releases the target, because the load
// is over.
func (r *Reconciler) tridentLeft(ctx context.Context, s *scope, left leftover) (next, error) {
	if !left.stays && s.now.Sub(later(left.since, endedAt(s.b))) <= leftoverPatience {
		if s.cleanup != nil {
			s.cleanup = &fact{Reason: v1alpha1.ReasonCleaningUp}
		}
		return s.wait(v1alpha1.ReasonCleaningUp, "waiting for "+left.what, soon)
	}
	if err := r.queue.Release(ctx, s.b); err != nil {
		return next{}, err
	}
	s.cleanup = &fact{Reason: v1alpha1.ReasonLeftBehind, Message: "still there: " + left.what}
	return s.wait(v1alpha1.ReasonLeftBehind, s.cleanup.Message, leftoverCheck)
}

// removeTridentClaim deletes the claim. Only the claim names its volume, so the status must record the volume first.
func (r *Reconciler) removeTridentClaim(
	ctx context.Context, s *scope, claim *corev1.PersistentVolumeClaim,
) (*leftover, error) {
	if found, err := owned.Find(ctx, r.Reader, claim); err != nil || !found {
		return nil, err
	}
	if v := cmp.Or(claim.Spec.VolumeName, trident.VolumeName(claim.UID)); v != volumeOf(s.b) && owned.IsOurs(s.b, claim) {
		if s.b.Status.Resolved == nil {
			s.b.Status.Resolved = &v1alpha1.ResolvedStatus{}
		}
		s.b.Status.Resolved.VolumeName = v
		return &leftover{what: "volume " + v + " to be noted", since: s.now}, nil
	}
	gone, err := r.DeleteOurs(ctx, s.b, claim)
	if err != nil || gone {
		return nil, err
	}
	return &leftover{
		what: fmt.Sprintf("PersistentVolumeClaim %s/%s (finalizers %s): a pod may still use it, see kubectl -n %s "+
			"describe pvc %s",
			claim.Namespace, claim.Name, strings.Join(claim.Finalizers, ", "), claim.Namespace, claim.Name),
		since: deletedAt(claim, s.now),
	}, nil
}

func volumeOf(b *v1alpha1.NFSBenchmark) string {
	return ptr.Deref(b.Status.Resolved, v1alpha1.ResolvedStatus{}).VolumeName
}

// volumeLeft returns the volume of a claim that is gone, if the volume is still there. Kubernetes deletes the volume
// unless its class has the reclaim policy Retain.
func (r *Reconciler) volumeLeft(ctx context.Context, s *scope) (*leftover, error) {
	name, pv := volumeOf(s.b), &corev1.PersistentVolume{}
	if name == "" {
		return nil, nil
	}
	err := r.Reader.Get(ctx, client.ObjectKey{Name: name}, pv)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return r.tridentVolumeLeft(ctx, s, name)
	}
	if err != nil {
		return nil, fmt.Errorf("read volume %q: %w", name, err)
	}
	if c := pv.Spec.ClaimRef; c == nil || c.Namespace != s.b.Namespace || c.Name != s.names.Claim {
		return nil, nil // another claim has it now
	}
	if pv.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRetain && pv.DeletionTimestamp.IsZero() {
		return &leftover{stays: true, what: fmt.Sprintf(
			`PersistentVolume %s (%s), because its class has reclaimPolicy Retain: to remove it with its data, `+
				`kubectl patch pv %s -p '{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}'`,
			name, pv.Status.Phase, name)}, nil
	}
	// Events about cluster-scoped objects are in the default namespace.
	told, err := r.eventsOf(ctx, metav1.NamespaceDefault, "PersistentVolume", name, pv.UID)
	if err != nil {
		return nil, err
	}
	why := cmp.Or(lastWarning(told), pv.Status.Message, "finalizers "+strings.Join(pv.Finalizers, ", "))
	since := deletedAt(pv, pv.CreationTimestamp.Time)
	if t := pv.Status.LastPhaseTransitionTime; t != nil && pv.DeletionTimestamp.IsZero() {
		since = t.Time
	}
	if pv.Status.Phase == corev1.VolumeBound { // its claim went a moment ago
		since = s.now
	}
	return &leftover{
		what: fmt.Sprintf("PersistentVolume %s (%s, %s): Trident or the array may not answer, see kubectl describe pv %s",
			name, pv.Status.Phase, why, name),
		since: since,
	}, nil
}

// tridentVolumeLeft looks for a volume that has no PersistentVolume: the volume is gone, is not yet made, or its
// provisioning was interrupted, and then nobody deletes it. The class and the backend stay until the case is known:
// without them the provisioner abandons a volume that Trident has made.
func (r *Reconciler) tridentVolumeLeft(ctx context.Context, s *scope, name string) (*leftover, error) {
	u, err := r.findTridentVolume(ctx, name)
	if err != nil {
		return nil, err
	}
	if u != nil {
		v, _ := trident.ReadVolume(u) // a field that cannot be read is empty
		return &leftover{
			what: fmt.Sprintf("TridentVolume %s/%s (%s, on the array %s), which no PersistentVolume refers to: to remove it "+
				"with its data, tridentctl -n %s delete volume %s", u.GetNamespace(), name, cmp.Or(v.State, "without a state"),
				cmp.Or(v.InternalName, "without a name"), u.GetNamespace(), name),
			since: u.GetCreationTimestamp().Time,
		}, nil
	}
	asked, err := r.askedAt(ctx, s, name)
	if err != nil || asked.IsZero() {
		return nil, err
	}
	return &leftover{
		what: fmt.Sprintf("the provisioning of claim %s, requested from Trident at %s, which may go on until %s",
			s.names.Claim, until(asked), until(asked.Add(callTimeout))),
	}, nil
}

// askedAt returns the time at which the provisioner asked Trident for a volume, if the provisioner may still wait for
// the answer; otherwise zero.
func (r *Reconciler) askedAt(ctx context.Context, s *scope, name string) (time.Time, error) {
	if ptr.Deref(s.b.Status.Resolved, v1alpha1.ResolvedStatus{}).Export != "" {
		return time.Time{}, nil // there was a volume, and it has gone
	}
	told, err := r.eventsOf(ctx, s.b.Namespace, "PersistentVolumeClaim", s.names.Claim,
		types.UID(strings.TrimPrefix(name, trident.VolumeName(""))))
	if err != nil {
		return time.Time{}, err
	}
	is, asked := lastCall(told)
	if is != callBegins || s.now.Sub(asked) > callTimeout {
		return time.Time{}, nil
	}
	return asked, nil
}

// findTridentVolume returns the TridentVolume of that name; nil if there is none or the operator may not read it.
func (r *Reconciler) findTridentVolume(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	u, err := r.tridentVolume(ctx, name, r.TridentNamespace)
	if bad := (*pass.Invalid)(nil); errors.As(err, &bad) {
		return nil, nil //nolint:nilerr,nilnil // without the right to see volumes it has requested none
	}
	return u, err
}

// endedAt returns when the removal began: at the end of the run or at the deletion of the benchmark, whichever is
// later.
func endedAt(b *v1alpha1.NFSBenchmark) time.Time {
	none := metav1.Time{}
	return later(ptr.Deref(b.Status.CompletionTime, none).Time, ptr.Deref(b.DeletionTimestamp, none).Time)
}

// removeTridentObject deletes the class or the backend configuration. Trident keeps the configuration as long as the
// backend has a volume.
func (r *Reconciler) removeTridentObject(ctx context.Context, s *scope, obj client.Object) (*leftover, error) {
	gone, err := r.DeleteOurs(ctx, s.b, obj)
	if err != nil || gone {
		return nil, err
	}
	where := obj.GetName()
	look := "kubectl describe storageclass " + where
	if ns := obj.GetNamespace(); ns != "" {
		look, where = fmt.Sprintf("kubectl -n %s describe tbc %s", ns, where), ns+"/"+where
	}
	return &leftover{
		what:  fmt.Sprintf("%s %s%s: see %s", owned.KindOf(obj), where, tridentSays(obj), look),
		since: deletedAt(obj, s.now),
	}, nil
}

// backendLeft returns the backend of a configuration that is gone. Trident lets a configuration go without its backend
// if Trident stopped before it recorded the backend in the configuration.
func (r *Reconciler) backendLeft(ctx context.Context, s *scope) (*leftover, error) {
	name, ns := manifest.TridentName(s.b), r.TridentNamespace
	u, err := r.findBackend(ctx, ns, func(n, _ string) bool { return n == name })
	if bad := (*pass.Invalid)(nil); errors.As(err, &bad) {
		return nil, nil //nolint:nilerr,nilnil // without the right to see backends it has made none
	}
	if err != nil || u == nil {
		return nil, err
	}
	return &leftover{
		what: fmt.Sprintf("TridentBackend %s/%s (%s), which no TridentBackendConfig refers to: to remove it, tridentctl -n "+
			"%s delete backend %s", ns, u.GetName(), name, ns, name),
		since: u.GetCreationTimestamp().Time,
	}, nil
}

// tridentSays returns the state that Trident reports of its own object.
func tridentSays(obj client.Object) string {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return ""
	}
	c, err := trident.ReadBackendConfig(u)
	if err != nil || c.Phase == "" {
		return " (" + strings.Join(obj.GetFinalizers(), ", ") + ")"
	}
	if c.Message != "" {
		return fmt.Sprintf(" (%s: %s)", c.Phase, c.Message)
	}
	return fmt.Sprintf(" (%s, Trident keeps it while it has volumes)", c.Phase)
}

func deletedAt(obj client.Object, otherwise time.Time) time.Time {
	if t := obj.GetDeletionTimestamp(); t != nil {
		return t.Time
	}
	return otherwise
}

// hasVolume reports whether something of a Trident volume may still be there.
func hasVolume(s *scope) bool { return s.b.Spec.Storage.Trident != nil && !s.volumeGone }

// databaseMayRun reports whether a database may still write to its volume.
func databaseMayRun(s *scope) bool { return plan.Container(s.b) != nil && !s.loadGone }

// mayLetGo reports whether the operator may release a deleted benchmark that it could not clean up. A forgotten volume
// on an array is worse than a benchmark that stays, unless spec.cleanup.leftovers is Abandon.
func mayLetGo(s *scope) bool {
	age := s.now.Sub(s.b.DeletionTimestamp.Time) - plan.ShutdownTime(s.b)
	switch {
	case databaseMayRun(s):
		return false
	case !hasVolume(s):
		return age > deletePatience
	case s.b.Spec.Cleanup.Leftovers == v1alpha1.LeftoversAbandon:
		return age > leftoverPatience
	default:
		return false
	}
}

// reportDeletion reports what keeps a deleted benchmark with a Trident volume or a database: in its status, and once in
// an event if the wait is long.
func (r *Reconciler) reportDeletion(
	ctx context.Context, s *scope, was *v1alpha1.NFSBenchmark, res ctrl.Result, err error,
) (ctrl.Result, error) {
	if !hasVolume(s) && !databaseMayRun(s) {
		return res, err
	}
	reason, message := v1alpha1.ReasonCleaningUp, ""
	if err != nil {
		message = "trying again: " + err.Error()
	} else {
		reason, message = s.waiting.Reason, s.waiting.Message
	}
	if reason == v1alpha1.ReasonLeftBehind {
		message += "; the benchmark stays until that is gone: to let go of it, set spec.cleanup.leftovers to Abandon"
	}
	pass.SetCondition(&s.b.Status.Conditions, v1alpha1.ConditionCleanedUp, pass.False(reason, message), s.b.Generation,
		s.now)
	s.b.Status.Message = pass.Clip("deleting: " + message)
	s.events = nil // they are sent once the benchmark goes
	return r.finish(ctx, s, was, res, err)
}

// abandonTrident deletes everything of Trident that is left, and waits for nothing: Trident finishes when it can. It
// returns a description of what is still there.
//
// The class and the backend stay while a volume may still be made: with them the provisioner removes the volume when it
// finds that its claim is gone; without them the volume stays.
func (r *Reconciler) abandonTrident(ctx context.Context, s *scope) string {
	claim, class, config := manifest.TridentChildren(s.b, r.TridentNamespace)
	var list []client.Object
	if s.b.Spec.Storage.Trident.BackendName != "" {
		list = append(list, class, config)
	}
	var left []string
	try := func(obj client.Object, leave bool) (gone bool) {
		act := r.DeleteOurs
		if leave {
			act = r.isGone
		}
		gone, err := act(ctx, s.b, obj)
		if err != nil {
			log.FromContext(ctx).Error(err, "Deleting what is abandoned")
		}
		if !gone {
			left = append(left, owned.KindOf(obj)+" "+strings.TrimPrefix(obj.GetNamespace()+"/"+obj.GetName(), "/"))
		}
		return gone
	}
	try(claim, false)
	volume, underWay := r.abandonedVolume(ctx, s)
	if volume != "" {
		left = append(left, volume)
	}
	configGone := false
	for _, obj := range list {
		configGone = try(obj, underWay) // the configuration is the last
	}
	if b, err := r.backendLeft(ctx, s); err == nil && b != nil && configGone {
		left = append(left, b.what)
	}
	if len(left) == 0 {
		return "nothing is left"
	}
	return "left are " + strings.Join(left, ", ")
}

// abandonedVolume returns the name of the volume that is left or that Trident may still make; "" if there is none.
// underWay reports whether the provisioner may still wait for the volume.
func (r *Reconciler) abandonedVolume(ctx context.Context, s *scope) (left string, underWay bool) {
	name := volumeOf(s.b)
	if name == "" {
		return "", false
	}
	if err := r.Reader.Get(ctx, client.ObjectKey{Name: name}, &corev1.PersistentVolume{}); err == nil {
		return "PersistentVolume " + name, false
	}
	asked, err := r.askedAt(ctx, s, name)
	underWay = err != nil || !asked.IsZero()
	where := "TridentVolume " + r.TridentNamespace + "/" + name
	if u, err := r.findTridentVolume(ctx, name); err == nil && u != nil {
		return where, underWay
	}
	if underWay {
		return where + ", which Trident may still make", true
	}
	return "", false
}
