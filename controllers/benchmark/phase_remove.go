package benchmark

import (
	"context"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/plan"
)

// deletePatience is how long a deletion waits for what will not go. Then it
// says what is left and lets the benchmark go: an object that cannot be
// deleted is worse than a volume that must be removed by hand.
const deletePatience = 3 * time.Minute

// remove deletes what the run created, but its result, in an order in which
// nothing is still in use, and waits until it is gone.
func (r *Reconciler) remove(ctx context.Context, s *scope) (next, error) {
	var left []string
	for _, obj := range s.children() {
		gone, err := r.deleteOurs(ctx, s.b, obj)
		if err != nil {
			return next{}, err
		}
		if !gone {
			left = append(left, kindOf(obj)+" "+obj.GetName())
		}
	}
	if len(left) > 0 {
		return s.wait(v1alpha1.ReasonCleaningUp, "waiting for "+strings.Join(left, ", ")+" to go", soon)
	}
	return next{}, nil
}

// children are all that a run can have created, in the order of their removal.
// Not among them: the result, which stays; the load Job, which went before; a
// volume of Trident, which comes after; the plan and the clean-up Job, which tell
// of files and go last.
func (s *scope) children() []client.Object {
	named := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: s.b.Namespace, Name: name}
	}
	var out []client.Object
	if hasSurvey(s.b) {
		out = append(out, &batchv1.Job{ObjectMeta: named(s.names.Survey)}, &corev1.ConfigMap{ObjectMeta: named(s.names.Survey)})
	}
	if st := s.b.Spec.Storage; plan.NeedsVolume(s.b) && st.Claim == nil && st.Trident == nil {
		out = append(out,
			&corev1.PersistentVolumeClaim{ObjectMeta: named(s.names.Claim)},
			&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: s.names.Volume}})
	}
	if e := s.b.Spec.Storage.Embedded; e != nil {
		out = append(out, &corev1.Pod{ObjectMeta: named(s.names.Server)})
		for i := range max(int(e.Paths), 1) {
			out = append(out, &corev1.Service{ObjectMeta: named(s.names.PathService(i))})
		}
	}
	return append(out,
		&rbacv1.RoleBinding{ObjectMeta: named(s.names.Collector)},
		&rbacv1.Role{ObjectMeta: named(s.names.Collector)},
		&corev1.ServiceAccount{ObjectMeta: named(s.names.Collector)},
	)
}

// deleteOurs deletes an object if it is there and ours, and reports whether it
// is gone. What the operator may not even read it has not created.
func (r *Reconciler) deleteOurs(ctx context.Context, b *v1alpha1.NFSBenchmark, obj client.Object) (bool, error) {
	// Past the cache: what it has not yet seen would stay for ever.
	err := r.Reader.Get(ctx, client.ObjectKeyFromObject(obj), obj)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || meta.IsNoMatchError(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s %q: %w", kindOf(obj), obj.GetName(), err)
	}
	if !isOurs(b, obj) {
		return true, nil
	}
	if obj.GetDeletionTimestamp().IsZero() {
		err = r.Client.Delete(ctx, obj, client.PropagationPolicy(metav1.DeletePropagationBackground))
		if client.IgnoreNotFound(err) != nil {
			return false, fmt.Errorf("delete %s %q: %w", kindOf(obj), obj.GetName(), err)
		}
	}
	// Most kinds go at once, and nobody should wait for what is not there.
	err = r.Reader.Get(ctx, client.ObjectKeyFromObject(obj), obj)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("read %s %q: %w", kindOf(obj), obj.GetName(), err)
	}
	return err != nil, nil
}

// removeResult deletes the result with the benchmark that it belongs to. Its
// owner reference would do so too, but later: a benchmark that is made again
// under the same name would find it and wait.
func (r *Reconciler) removeResult(ctx context.Context, s *scope) (next, error) {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.b.Namespace, Name: s.names.Result}}
	gone, err := r.deleteOurs(ctx, s.b, cm)
	if err != nil {
		return next{}, err
	}
	if !gone {
		return s.wait(v1alpha1.ReasonCleaningUp, "waiting for the result to go", soon)
	}
	return next{}, nil
}

// release is the last phase of a clean-up: nothing of ours is left but the
// result, and the target is free.
func (r *Reconciler) release(ctx context.Context, s *scope) (next, error) {
	left, err := r.leftOnExport(ctx, s)
	if err != nil {
		return next{}, err
	}
	stays := s.reportKeptDatabase()
	deleted := !s.b.DeletionTimestamp.IsZero()
	if left != "" && !deleted && !isCleanedUp(s.b) {
		// The status must say so before its record goes.
		s.cleanup = &fact{reason: v1alpha1.ReasonLeftBehind, message: left}
		return waitFor(soon), nil
	}
	last := []client.Object{
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.b.Namespace, Name: s.names.Plan}},
		&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: s.b.Namespace, Name: s.names.Clean}},
	}
	for _, obj := range last {
		if _, err := r.deleteOurs(ctx, s.b, obj); err != nil {
			return next{}, err
		}
	}
	if err := r.releaseLeases(ctx, s.b); err != nil {
		return next{}, err
	}
	if left != "" && deleted {
		s.events = append(s.events, leftBehind(left))
	}
	if s.cleanup == nil || s.cleanup.reason != v1alpha1.ReasonLeftBehind {
		s.cleanup = &fact{ok: true, reason: v1alpha1.ReasonCleanedUp, message: stays}
	}
	return waitFor(0), nil
}

// reconcileDeleted cleans up after a benchmark that its user deletes, in
// whatever phase it is. It writes no status, for there is nobody left to read
// it, unless a volume of Trident may keep the benchmark for long.
func (r *Reconciler) reconcileDeleted(ctx context.Context, s *scope) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(s.b, Finalizer) {
		return ctrl.Result{}, nil
	}
	was := s.b.DeepCopy()
	res, err := runPhases(ctx, s, r.deleted)
	done := err == nil && s.waiting == nil
	if !done && !mayLetGo(s) {
		return r.reportDeletion(ctx, s, was, res, err)
	}
	if !done {
		s.events = append(s.events, leftBehind(r.whatIsLeft(ctx, s, err)))
		if err := r.releaseLeases(ctx, s.b); err != nil {
			log.FromContext(ctx).Error(err, "Releasing the leases of a benchmark that cannot be cleaned up")
		}
	}
	before := s.b.DeepCopy()
	controllerutil.RemoveFinalizer(s.b, Finalizer)
	if err := r.Client.Patch(ctx, s.b, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("remove finalizer: %w", err)
	}
	r.emit(s.b, s.events)
	return ctrl.Result{}, nil
}

func (r *Reconciler) whatIsLeft(ctx context.Context, s *scope, err error) string {
	message := ""
	switch {
	case err != nil:
		message = err.Error()
	default:
		message = s.waiting.message
	}
	if hasVolume(s) {
		return fmt.Sprintf("abandoned after %s, as spec.cleanup.leftovers says: %s; %s", leftoverPatience+shutdownOf(s.b), r.abandonTrident(ctx, s), message)
	}
	return fmt.Sprintf("not everything of the run could be removed within %s: %s", deletePatience+shutdownOf(s.b), message)
}
