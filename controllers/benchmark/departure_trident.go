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
	"github.com/nfsbench/nfsbench/controllers/pass"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/trident"
)

const (
	// leftoverPatience is how long a volume may take to go until it is called
	// left behind, and until spec.cleanup.leftovers Abandon lets go.
	leftoverPatience = 2 * time.Minute
)

// leftover is what does not go: in words, with the command to look, and since
// when, at the earliest since the removal began. It stays for good where nothing but its user's
// hand can fix it.
type leftover struct {
	what  string
	since time.Time
	stays bool
}

// removeTrident removes the volume and what it was made with, in the order in
// which each is needed for the one before it: Trident can delete a volume only
// while it has the backend.
//
// It takes what is half made as it is, in whatever phase the run was left.
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

// tridentLeft waits, and says so. What has been left for long keeps nobody from
// the target: the load is over.
func (r *Reconciler) tridentLeft(ctx context.Context, s *scope, left leftover) (next, error) {
	if !left.stays && s.now.Sub(later(left.since, endedAt(s.b))) <= leftoverPatience {
		if s.cleanup != nil {
			s.cleanup = &fact{Reason: v1alpha1.ReasonCleaningUp}
		}
		return s.wait(v1alpha1.ReasonCleaningUp, "waiting for "+left.what, soon)
	}
	if err := r.releaseLeases(ctx, s.b); err != nil {
		return next{}, err
	}
	s.cleanup = &fact{Reason: v1alpha1.ReasonLeftBehind, Message: "still there: " + left.what}
	return s.wait(v1alpha1.ReasonLeftBehind, s.cleanup.Message, leftoverCheck)
}

// removeTridentClaim deletes the claim. It is the one that knows its volume, so
// the status must know it first.
func (r *Reconciler) removeTridentClaim(
	ctx context.Context, s *scope, claim *corev1.PersistentVolumeClaim,
) (*leftover, error) {
	if found, err := find(ctx, r.Reader, claim); err != nil || !found {
		return nil, err
	}
	if v := cmp.Or(claim.Spec.VolumeName, trident.VolumeName(claim.UID)); v != volumeOf(s.b) && isOurs(s.b, claim) {
		if s.b.Status.Resolved == nil {
			s.b.Status.Resolved = &v1alpha1.ResolvedStatus{}
		}
		s.b.Status.Resolved.VolumeName = v
		return &leftover{what: "volume " + v + " to be noted", since: s.now}, nil
	}
	gone, err := r.deleteOurs(ctx, s.b, claim)
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

// volumeLeft looks at the volume of a claim that is gone. Kubernetes deletes it,
// unless its class says otherwise.
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
		return nil, nil // somebody else has it now
	}
	if pv.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRetain && pv.DeletionTimestamp.IsZero() {
		return &leftover{stays: true, what: fmt.Sprintf(
			`PersistentVolume %s (%s), because its class has reclaimPolicy Retain: to remove it with its data, `+
				`kubectl patch pv %s -p '{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}'`,
			name, pv.Status.Phase, name)}, nil
	}
	// Events about what has no namespace are in this one.
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

// tridentVolumeLeft looks at a volume that has no PersistentVolume: it has gone, is not yet made,
// or its provisioning was interrupted, and then nobody deletes it. The class and the backend stay
// until that is known: without them the provisioner abandons a volume that Trident has made.
func (r *Reconciler) tridentVolumeLeft(ctx context.Context, s *scope, name string) (*leftover, error) {
	u, err := r.findTridentVolume(ctx, name)
	if err != nil {
		return nil, err
	}
	if u != nil {
		v, _ := trident.ReadVolume(u) // what cannot be read of it is empty
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

// askedAt is when the provisioner asked Trident for a volume for which it may still wait; zero where
// it has had its answer, or waits no longer.
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

// findTridentVolume gives the TridentVolume of a name; nil where there is none, or the operator
// may not see it.
func (r *Reconciler) findTridentVolume(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	u, err := r.tridentVolume(ctx, name, r.TridentNamespace)
	if bad := (*pass.Invalid)(nil); errors.As(err, &bad) {
		return nil, nil //nolint:nilerr,nilnil // without the right to see volumes it has requested none
	}
	return u, err
}

// endedAt is when the removal began: at the end of the run, or when somebody deleted it.
func endedAt(b *v1alpha1.NFSBenchmark) time.Time {
	none := metav1.Time{}
	return later(ptr.Deref(b.Status.CompletionTime, none).Time, ptr.Deref(b.DeletionTimestamp, none).Time)
}

// removeTridentObject deletes the class or the backend configuration, which
// Trident keeps as long as it has a volume of it.
func (r *Reconciler) removeTridentObject(ctx context.Context, s *scope, obj client.Object) (*leftover, error) {
	gone, err := r.deleteOurs(ctx, s.b, obj)
	if err != nil || gone {
		return nil, err
	}
	where := obj.GetName()
	look := "kubectl describe storageclass " + where
	if ns := obj.GetNamespace(); ns != "" {
		look, where = fmt.Sprintf("kubectl -n %s describe tbc %s", ns, where), ns+"/"+where
	}
	return &leftover{
		what:  fmt.Sprintf("%s %s%s: see %s", kindOf(obj), where, tridentSays(obj), look),
		since: deletedAt(obj, s.now),
	}, nil
}

// backendLeft looks at the backend of a configuration that is gone. Trident lets the configuration go
// without its backend if it ended before it wrote that it had made one.
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

// tridentSays is what Trident reports about its own objects.
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

// hasVolume says that something of a Trident volume may still be there.
func hasVolume(s *scope) bool { return s.b.Spec.Storage.Trident != nil && !s.volumeGone }

// databaseMayRun says that a database may still write to its volume.
func databaseMayRun(s *scope) bool { return databaseOf(s.b) != nil && !s.loadGone }

// mayLetGo says that a deleted benchmark has been kept for long enough: a
// volume on an array that nobody remembers is worse than a benchmark that
// stays, unless its user says otherwise.
func mayLetGo(s *scope) bool {
	age := s.now.Sub(s.b.DeletionTimestamp.Time) - shutdownOf(s.b)
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

// reportDeletion says what keeps a deleted benchmark with a volume: in its status,
// and once in an event when that takes long.
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

// abandonTrident tells everybody to delete what is left and waits for nobody:
// Trident goes on when it can. It says what there still is.
//
// Class and backend stay where a volume may still be made: with them the provisioner removes it
// when it finds that its claim is gone, and without them it leaves it there.
func (r *Reconciler) abandonTrident(ctx context.Context, s *scope) string {
	claim, class, config := manifest.TridentChildren(s.b, r.TridentNamespace)
	var list []client.Object
	if s.b.Spec.Storage.Trident.BackendName != "" {
		list = append(list, class, config)
	}
	var left []string
	try := func(obj client.Object, leave bool) (gone bool) {
		act := r.deleteOurs
		if leave {
			act = r.isGone
		}
		gone, err := act(ctx, s.b, obj)
		if err != nil {
			log.FromContext(ctx).Error(err, "Deleting what is abandoned")
		}
		if !gone {
			left = append(left, kindOf(obj)+" "+strings.TrimPrefix(obj.GetNamespace()+"/"+obj.GetName(), "/"))
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
		configGone = try(obj, underWay) // it is the last
	}
	if b, err := r.backendLeft(ctx, s); err == nil && b != nil && configGone {
		left = append(left, b.what)
	}
	if len(left) == 0 {
		return "nothing is left"
	}
	return "left are " + strings.Join(left, ", ")
}

// abandonedVolume names the volume that is left, or that Trident may still make; "" where there is
// none. It is under way while the provisioner may still wait for it.
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
