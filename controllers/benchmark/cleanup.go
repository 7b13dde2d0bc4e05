package benchmark

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/owned"
	"github.com/nfsbench/nfsbench/controllers/pass"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// retain leaves the objects of a finished run in place for the user: forever by policy, or until the time to live ends.
func (r *Reconciler) retain(ctx context.Context, s *scope) (next, error) {
	switch c := meta.FindStatusCondition(s.b.Status.Conditions, v1alpha1.ConditionCleanedUp); {
	case c != nil && c.Status == metav1.ConditionTrue:
		return waitFor(0), nil
	case c != nil && c.Reason == v1alpha1.ReasonLeftBehind:
		// The status has reported the leftover; the rest must still be removed.
		s.cleanup = &fact{Reason: c.Reason, Message: c.Message}
		return next{}, nil
	}
	policy := s.b.Spec.Cleanup.OnFailure
	if s.b.Status.Phase == v1alpha1.PhaseSucceeded {
		policy = s.b.Spec.Cleanup.OnSuccess
	}
	if policy == v1alpha1.CleanupRetain {
		// Other benchmarks may use the target: the objects that stay do not use it.
		s.cleanup = &fact{
			Reason:  v1alpha1.ReasonRetained,
			Message: "kept by spec.cleanup: delete the benchmark to remove everything",
		}
		return r.releaseTarget(ctx, s, 0)
	}
	if ttl, ended := s.b.Spec.TTLSecondsAfterFinished, s.b.Status.CompletionTime; ttl != nil && ended != nil {
		if left := ended.Add(time.Duration(*ttl) * time.Second).Sub(s.now); left > 0 {
			s.cleanup = &fact{Reason: v1alpha1.ReasonRetained, Message: "kept by spec.ttlSecondsAfterFinished"}
			return r.releaseTarget(ctx, s, left)
		}
	}
	s.cleanup = &fact{Reason: v1alpha1.ReasonCleaningUp, Message: "removing what the run created"}
	return next{}, nil
}

// releaseTarget releases the target of a run whose objects stay, and requeues after the given time. It deletes the Job
// of a load that the operator broke off, because that load runs until its Job is deleted. A benchmark with a database
// keeps its target until its load pods have ended: two databases would corrupt the files.
func (r *Reconciler) releaseTarget(ctx context.Context, s *scope, after time.Duration) (next, error) {
	switch c := meta.FindStatusCondition(s.b.Status.Conditions, v1alpha1.ConditionSucceeded); c.Reason {
	case v1alpha1.ReasonHoldEnded, v1alpha1.ReasonPlanChanged:
		job := &batchv1.Job{ObjectMeta: s.meta(s.names.Load)}
		if _, err := r.DeleteOurs(ctx, s.b, job); err != nil {
			return next{}, err
		}
	}
	if plan.Container(s.b) != nil {
		pods, err := r.Pods(ctx, s.b, manifest.ComponentLoad)
		if err != nil {
			return next{}, err
		}
		if slices.ContainsFunc(pods, mayRun) {
			return waitFor(soon), nil
		}
	}
	return waitFor(after), r.queue.Release(ctx, s.b)
}

// stopLoad removes the load Job and waits for its pods: files cannot be
// removed under a loader that still writes them.
func (r *Reconciler) stopLoad(ctx context.Context, s *scope) (next, error) {
	job := &batchv1.Job{ObjectMeta: s.meta(s.names.Load)}
	found, err := owned.Find(ctx, r.Reader, job)
	if err != nil {
		return next{}, err
	}
	if found && (owned.IsOurs(s.b, job) || owned.IsOrphan(s.b, job)) {
		if err := r.Delete(ctx, job); err != nil {
			return next{}, err
		}
	}
	pods, err := r.Pods(ctx, s.b, manifest.ComponentLoad)
	if err != nil {
		return next{}, err
	}
	if !found {
		if err := r.deletePods(ctx, pods); err != nil {
			return next{}, err
		}
	}
	if len(pods) > 0 {
		return s.wait(v1alpha1.ReasonCleaningUp, s.stopping(pods), soon)
	}
	s.loadGone = true
	return next{}, nil
}

// stopping returns the message about the load pods that a run waits for. The kubelet of a node that does not answer
// never confirms that a pod is gone, and a database on that node may still write.
func (s *scope) stopping(pods []corev1.Pod) string {
	t := plan.ShutdownTime(s.b)
	if t == 0 {
		return fmt.Sprintf("waiting for %d load pods to stop", len(pods))
	}
	late := func(p corev1.Pod) bool {
		return !p.DeletionTimestamp.IsZero() && s.now.Sub(p.DeletionTimestamp.Time) > deletePatience
	}
	if i := slices.IndexFunc(pods, late); i >= 0 {
		return fmt.Sprintf("pod %s on node %s should have stopped %s ago and may still run the database, so nobody else "+
			"gets its target. If the node is off: kubectl -n %s delete pod %s --force", pods[i].Name, pods[i].Spec.NodeName,
			s.now.Sub(pods[i].DeletionTimestamp.Time).Round(time.Second), s.b.Namespace, pods[i].Name)
	}
	return fmt.Sprintf("waiting for the database to shut down, for %s at most", t)
}

// deletePods deletes load pods whose Job is gone. The garbage collector deletes them unless somebody deleted the Job
// with --cascade=orphan.
func (r *Reconciler) deletePods(ctx context.Context, pods []corev1.Pod) error {
	for i := range pods {
		if err := r.Delete(ctx, &pods[i]); err != nil {
			return err
		}
	}
	return nil
}

// cleanFiles removes the run's files from an export that outlives it.
func (r *Reconciler) cleanFiles(ctx context.Context, s *scope) (next, error) {
	if plan.External(s.b) != nil { // the operator did not make it, and cannot clean it up
		return r.reportKeptSchemas(ctx, s)
	}
	if storageGoes(s.b) || isCleanedUp(s.b) || !manifest.CleansFiles(s.b) {
		return next{}, nil
	}
	left, err := r.filesMayBeLeft(ctx, s)
	bad := (*pass.Invalid)(nil)
	if errors.As(err, &bad) { // the plan that names the files is no longer the run's
		return s.reportLeftover(s.filesLeft() + ": " + err.Error())
	}
	if err != nil || !left {
		return next{}, err
	}
	job := manifest.CleanJob(s.b, claimOf(s.b), r.Images)
	err = r.Ensure(ctx, s.b, job)
	if errors.As(err, &bad) {
		return s.reportLeftover(s.filesLeft() + ": " + err.Error())
	}
	if err != nil {
		return next{}, err
	}
	if jobEnd(job) == nil && s.now.Sub(job.CreationTimestamp.Time) < cleanPatience {
		return s.wait(v1alpha1.ReasonCleaningUp, "removing the files of the run from the export", soon)
	}
	return next{}, nil
}

// nothingToClean records the end of a run that has created nothing.
func (s *scope) nothingToClean() {
	s.cleanup = &fact{OK: true, Reason: v1alpha1.ReasonCleanedUp, Message: "nothing was created"}
}

// cleanupWaits records that the clean-up waits for what the pass waits for.
func (s *scope) cleanupWaits() { s.cleanup = s.waiting }

// reportLeftover reports files or objects that the operator cannot remove. The status is their only record, so
// reportLeftover ends the pass, which writes the status, before the clean-up deletes anything else. For a deleted
// benchmark reportLeftover sends an event instead.
func (s *scope) reportLeftover(what string) (next, error) {
	s.cleanup = &fact{Reason: v1alpha1.ReasonLeftBehind, Message: what}
	if s.b.DeletionTimestamp.IsZero() {
		return waitFor(soon), nil
	}
	s.events = append(s.events, leftBehind(what))
	return next{}, nil
}

func (s *scope) filesLeft() string {
	directory := runfile.Plan{Workload: s.b.Spec.Workload}.Files().Directory
	return fmt.Sprintf("files in directory %q of %s could not be removed: remove them by hand", directory, exportsOf(s.b))
}

// cleanPatience bounds the wait for a clean-up Job whose pod cannot start: the Job's own deadline does not cover it.
const cleanPatience = 60 * time.Second

// filesMayBeLeft reports whether files or schemas of this run may be left: a client began to fill them, and not every
// client reports that it has removed them.
func (r *Reconciler) filesMayBeLeft(ctx context.Context, s *scope) (bool, error) {
	if err := r.findPlan(ctx, s); err != nil || s.plan == nil {
		return false, err // no plan, no load
	}
	if err := r.readResult(ctx, s); err != nil {
		return false, err
	}
	return filesTouched(s) && !filesRemoved(s), nil
}

// filesTouched reports whether a client came as far as the files. For a client that has ended it reads the spans of the
// result, because the final event of a client that never reached the export is Done as well.
func filesTouched(s *scope) bool {
	ended := 0
	for _, p := range s.progress {
		switch p.Span {
		case "", runfile.SpanConnect:
		case runfile.SpanDone:
			ended++
		default:
			return true
		}
	}
	if s.result == nil || len(s.result.Clients) < ended {
		return ended > 0
	}
	return slices.ContainsFunc(s.result.Clients, func(c runfile.ClientResult) bool {
		return slices.ContainsFunc(c.Load.Spans, func(sp runfile.Span) bool {
			return sp.Kind != runfile.SpanConnect && sp.Kind != runfile.SpanDone
		})
	})
}

func filesRemoved(s *scope) bool {
	if s.result == nil || len(s.result.Clients) < int(s.plan.Clients) || s.plan.Keep {
		return false
	}
	for _, c := range s.result.Clients {
		cleaned := func(sp runfile.Span) bool { return sp.Kind == runfile.SpanClean && !sp.End.IsZero() }
		if c.Load.FilesLeft || !slices.ContainsFunc(c.Load.Spans, cleaned) {
			return false
		}
	}
	return true
}

// remove deletes everything that the run created except the result, users before the objects that they use, and waits
// until all are gone.
func (r *Reconciler) remove(ctx context.Context, s *scope) (next, error) {
	var left []string
	for _, obj := range s.children() {
		gone, err := r.DeleteOurs(ctx, s.b, obj)
		if pv, is := obj.(*corev1.PersistentVolume); is && err == nil && !gone {
			err = r.deleteClaimOf(ctx, s.b, pv)
		}
		if err != nil {
			return next{}, err
		}
		if !gone {
			left = append(left, owned.KindOf(obj)+" "+obj.GetName())
		}
	}
	if len(left) > 0 {
		return s.wait(v1alpha1.ReasonCleaningUp, "waiting for "+strings.Join(left, ", ")+" to go", soon)
	}
	return next{}, nil
}

// children returns every object that a run can have created, in the order of removal. It leaves out the result, which
// stays; the load Job, which stopLoad has deleted; the Trident volume, which removeTrident deletes later; the plan and
// the clean-up Job, which record the files and which release deletes last.
func (s *scope) children() []client.Object {
	var out []client.Object
	if plan.HasSurvey(s.b) {
		out = append(out,
			&batchv1.Job{ObjectMeta: s.meta(s.names.Survey)},
			&corev1.ConfigMap{ObjectMeta: s.meta(s.names.Survey)})
	}
	if t := s.b.Spec.Storage.Trident; t != nil && t.BackendName != "" {
		out = append(out, &batchv1.Job{ObjectMeta: s.meta(s.names.Probe)})
	}
	if st := s.b.Spec.Storage; st.Claim != nil || st.StorageClass != nil {
		out = append(out, &batchv1.Job{ObjectMeta: s.meta(s.names.Mount)})
	}
	if s.b.Spec.Storage.StorageClass != nil {
		out = append(out, &corev1.PersistentVolumeClaim{ObjectMeta: s.meta(s.names.Claim)})
	}
	if plan.NeedsVolume(s.b) && !plan.IsForeign(s.b) {
		out = append(out,
			&corev1.PersistentVolumeClaim{ObjectMeta: s.meta(s.names.Claim)},
			&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: s.names.Volume}})
		if plan.RedoExport(s.b) != "" {
			out = append(out,
				&corev1.PersistentVolumeClaim{ObjectMeta: s.meta(s.names.RedoClaim)},
				&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: s.names.RedoVolume}})
		}
	}
	if e := s.b.Spec.Storage.Embedded; e != nil {
		out = append(out, &corev1.Pod{ObjectMeta: s.meta(s.names.Server)},
			&networkingv1.NetworkPolicy{ObjectMeta: s.meta(s.names.Server)})
		for i := range max(int(e.Paths), 1) {
			out = append(out, &corev1.Service{ObjectMeta: s.meta(s.names.PathService(i))})
		}
	}
	return append(out,
		&networkingv1.NetworkPolicy{ObjectMeta: s.meta(s.names.Clients)},
		&rbacv1.RoleBinding{ObjectMeta: s.meta(s.names.Collector)},
		&rbacv1.Role{ObjectMeta: s.meta(s.names.Collector)},
		&corev1.ServiceAccount{ObjectMeta: s.meta(s.names.Collector)},
	)
}

// deleteClaimOf deletes the claim that keeps a volume of ours from being deleted, whoever owns the claim: the claim's
// pods would mount the export.
func (r *Reconciler) deleteClaimOf(ctx context.Context, b *v1alpha1.NFSBenchmark, pv *corev1.PersistentVolume) error {
	c := pv.Spec.ClaimRef
	if c == nil || c.UID == "" || c.Namespace != b.Namespace {
		return nil
	}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name}}
	err := r.Client.Delete(ctx, claim, client.Preconditions{UID: &c.UID})
	if err = client.IgnoreNotFound(err); err != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete claim %q: %w", c.Name, err)
	}
	return nil
}

// isGone reports whether obj does not exist or is not ours. It deletes nothing.
func (r *Reconciler) isGone(ctx context.Context, b *v1alpha1.NFSBenchmark, obj client.Object) (bool, error) {
	found, err := owned.Find(ctx, r.Reader, obj)
	return err == nil && (!found || !owned.IsOurs(b, obj)), err
}

// removeResult deletes the result of a benchmark that is deleted before it is settled, or whose result is kept. The
// garbage collector would delete the result too, as it does of a settled one, but later: a new benchmark of the same
// name would find it and wait.
func (r *Reconciler) removeResult(ctx context.Context, s *scope) (next, error) {
	if s.b.Spec.Cleanup.Results == v1alpha1.CleanupRetain {
		if n, err := r.keepResult(ctx, s); err != nil || n.Stop {
			return n, err
		}
	}
	gone, err := r.DeleteOurs(ctx, s.b, &corev1.ConfigMap{ObjectMeta: s.meta(s.names.Result)})
	if err != nil {
		return next{}, err
	}
	if !gone {
		return s.wait(v1alpha1.ReasonCleaningUp, "waiting for the result to go", soon)
	}
	return next{}, nil
}

// keepResult copies the result of a deleted benchmark to a ConfigMap that stays.
func (r *Reconciler) keepResult(ctx context.Context, s *scope) (next, error) {
	cm := &corev1.ConfigMap{ObjectMeta: s.meta(s.names.Result)}
	found, err := owned.Find(ctx, r.Reader, cm)
	if err != nil || !found || !owned.IsOurs(s.b, cm) && !owned.IsOrphan(s.b, cm) || len(cm.BinaryData) == 0 {
		return next{}, err
	}
	kept := manifest.KeptResult(s.b, cm)
	err = r.Client.Create(ctx, kept)
	switch {
	case apierrors.IsForbidden(err):
		return s.wait(v1alpha1.ReasonCleaningUp, fmt.Sprintf("the result cannot be kept in ConfigMap %q: %v; make "+
			"room, or set spec.cleanup.results to Delete", kept.Name, err), leftoverCheck)
	case err != nil && !apierrors.IsAlreadyExists(err):
		return next{}, fmt.Errorf("keep the result in ConfigMap %q: %w", kept.Name, err)
	}
	return next{}, nil
}

// release is the last phase of a clean-up. It deletes the plan and the clean-up Job and frees the target; only the
// result stays.
func (r *Reconciler) release(ctx context.Context, s *scope) (next, error) {
	// The clean-up Job is the record of files that it could not remove, so it goes last.
	clean, left := &batchv1.Job{ObjectMeta: s.meta(s.names.Clean)}, ""
	found, err := owned.Find(ctx, r.Client, clean)
	if err != nil {
		return next{}, err
	}
	if end := jobEnd(clean); found && (end == nil || end.failed) {
		left = s.filesLeft()
	}
	stays := s.reportKeptDatabase()
	deleted := !s.b.DeletionTimestamp.IsZero()
	if left != "" && !deleted && !isCleanedUp(s.b) {
		// Write the status before the Job that records the files is deleted.
		s.cleanup = &fact{Reason: v1alpha1.ReasonLeftBehind, Message: left}
		return waitFor(soon), nil
	}
	for _, obj := range []client.Object{
		&corev1.ConfigMap{ObjectMeta: s.meta(s.names.Plan)}, &batchv1.Job{ObjectMeta: s.meta(s.names.Clean)},
	} {
		if _, err := r.DeleteOurs(ctx, s.b, obj); err != nil {
			return next{}, err
		}
	}
	if err := r.queue.Release(ctx, s.b); err != nil {
		return next{}, err
	}
	if left != "" && deleted {
		s.events = append(s.events, leftBehind(left))
	}
	if s.cleanup == nil || s.cleanup.Reason != v1alpha1.ReasonLeftBehind {
		s.cleanup = &fact{OK: true, Reason: v1alpha1.ReasonCleanedUp, Message: stays}
	}
	return waitFor(0), nil
}

// reconcileDeleted cleans up after a benchmark that its user deletes, in whatever phase it is. It writes no status,
// which nobody would read, unless a Trident volume or a database may keep the benchmark for long.
func (r *Reconciler) reconcileDeleted(ctx context.Context, s *scope) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(s.b, owned.Finalizer) {
		return ctrl.Result{}, nil
	}
	if pass.CheckSize(s.b) != nil { // it has created nothing
		return ctrl.Result{}, r.changeFinalizers(ctx, s.b, controllerutil.RemoveFinalizer)
	}
	was := s.b.DeepCopy()
	n, err := pass.Run(ctx, s, r.deleted)
	if errors.Is(err, errBusy) {
		return ctrl.Result{RequeueAfter: busyPause}, nil
	}
	if held := r.limitHold(ctx, s, &n); err == nil {
		err = held
	}
	done := err == nil && s.waiting == nil
	if !done && !mayLetGo(s) {
		return r.reportDeletion(ctx, s, was, ctrl.Result{RequeueAfter: n.After}, err)
	}
	if !done {
		if err == nil {
			err = errors.New(s.waiting.Message)
		}
		what := fmt.Sprintf("not everything of the run could be removed within %s: %s",
			deletePatience+plan.ShutdownTime(s.b), err)
		if hasVolume(s) {
			what = fmt.Sprintf("abandoned after %s, as spec.cleanup.leftovers says: %s; %s",
				leftoverPatience+plan.ShutdownTime(s.b), r.abandonTrident(ctx, s), err)
		}
		s.events = append(s.events, leftBehind(what))
		if err := r.queue.Release(ctx, s.b); err != nil {
			log.FromContext(ctx).Error(err, "Releasing the leases of a benchmark that cannot be cleaned up")
		}
	}
	if err := r.changeFinalizers(ctx, s.b, controllerutil.RemoveFinalizer); err != nil {
		return ctrl.Result{}, err
	}
	r.writer().Emit(s.b, s.events)
	return ctrl.Result{}, nil
}
