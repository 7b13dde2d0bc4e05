package benchmark

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// keep leaves what a finished run created where the user wants to look at it:
// for ever by policy, or until its time to live is over.
func (r *Reconciler) keep(ctx context.Context, s *scope) (next, error) {
	switch c := meta.FindStatusCondition(s.b.Status.Conditions, v1alpha1.ConditionCleanedUp); {
	case c != nil && c.Status == metav1.ConditionTrue:
		return waitFor(0), nil
	case c != nil && c.Reason == v1alpha1.ReasonLeftBehind:
		// Said once and for all; the rest must still go.
		s.cleanup = &fact{reason: c.Reason, message: c.Message}
		return next{}, nil
	}
	policy := s.b.Spec.Cleanup.OnFailure
	if s.b.Status.Phase == v1alpha1.PhaseSucceeded {
		policy = s.b.Spec.Cleanup.OnSuccess
	}
	if policy == v1alpha1.CleanupRetain {
		// Others may use the target; only our traces stay.
		s.cleanup = &fact{reason: v1alpha1.ReasonRetained, message: "kept by spec.cleanup: delete the benchmark to remove everything"}
		return waitFor(0), r.releaseLeases(ctx, s.b)
	}
	left := timeToLive(s.b, s.now)
	if left > 0 {
		s.cleanup = &fact{reason: v1alpha1.ReasonRetained, message: "kept by spec.ttlSecondsAfterFinished"}
		return waitFor(left), r.releaseLeases(ctx, s.b)
	}
	s.cleanup = &fact{reason: v1alpha1.ReasonCleaningUp, message: "removing what the run created"}
	return next{}, nil
}

func timeToLive(b *v1alpha1.NFSBenchmark, now time.Time) time.Duration {
	if b.Spec.TTLSecondsAfterFinished == nil || b.Status.CompletionTime == nil {
		return 0
	}
	ttl := time.Duration(*b.Spec.TTLSecondsAfterFinished) * time.Second
	return b.Status.CompletionTime.Add(ttl).Sub(now)
}

// stopLoad removes the load Job and waits for its pods: files cannot be
// removed under a loader that still writes them.
func (r *Reconciler) stopLoad(ctx context.Context, s *scope) (next, error) {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: s.b.Namespace, Name: s.names.Load}}
	err := r.Reader.Get(ctx, client.ObjectKeyFromObject(job), job)
	if client.IgnoreNotFound(err) != nil {
		return next{}, fmt.Errorf("read job %q: %w", job.Name, err)
	}
	if err == nil && isOurs(s.b, job) && job.DeletionTimestamp.IsZero() {
		if err := r.deleteJob(ctx, job); err != nil {
			return next{}, err
		}
	}
	gone := apierrors.IsNotFound(err)
	pods, err := r.loadPods(ctx, s)
	if err != nil {
		return next{}, err
	}
	if gone {
		if err := r.deletePods(ctx, pods); err != nil {
			return next{}, err
		}
	}
	if len(pods) > 0 {
		what := fmt.Sprintf("waiting for %d load pods to stop", len(pods))
		if t := shutdownOf(s.b); t > 0 {
			what = fmt.Sprintf("waiting for the database to shut down, for %s at most", t)
		}
		return s.wait(v1alpha1.ReasonCleaningUp, what, soon)
	}
	return next{}, nil
}

// deletePods deletes those whose Job is gone. Mostly they go with it, but not
// when it was deleted by hand and they were left (--cascade=orphan).
func (r *Reconciler) deletePods(ctx context.Context, pods []corev1.Pod) error {
	for i := range pods {
		if !pods[i].DeletionTimestamp.IsZero() {
			continue
		}
		if err := r.Client.Delete(ctx, &pods[i]); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete pod %q: %w", pods[i].Name, err)
		}
	}
	return nil
}

func (r *Reconciler) deleteJob(ctx context.Context, job *batchv1.Job) error {
	err := r.Client.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete job %q: %w", job.Name, err)
	}
	return nil
}

// cleanFiles removes the run's files from an export that outlives it.
func (r *Reconciler) cleanFiles(ctx context.Context, s *scope) (next, error) {
	if hasOthersDatabase(s.b) {
		return r.reportKeptSchemas(ctx, s)
	}
	left, err := r.filesMayBeLeft(ctx, s)
	if err != nil || !left {
		return next{}, err
	}
	job := manifest.CleanJob(s.b, claimOf(s.b), r.Images)
	err = r.ensure(ctx, s.b, job)
	if bad := (*specError)(nil); errors.As(err, &bad) {
		return s.leave(s.filesLeft() + ": " + err.Error())
	}
	if err != nil {
		return next{}, err
	}
	if ended, _ := jobState(job); !ended && s.now.Sub(job.CreationTimestamp.Time) < cleanPatience {
		return s.wait(v1alpha1.ReasonCleaningUp, "removing the files of the run from the export", soon)
	}
	return next{}, nil
}

// leave gives up on what cannot be removed from here. There is no record of that
// but the status, which must say so before anything else goes.
func (s *scope) leave(what string) (next, error) {
	s.cleanup = &fact{reason: v1alpha1.ReasonLeftBehind, message: what}
	if s.b.DeletionTimestamp.IsZero() {
		return waitFor(soon), nil
	}
	s.events = append(s.events, leftBehind(what))
	return next{}, nil
}

func (s *scope) filesLeft() string {
	return fmt.Sprintf("files in directory %q of %s could not be removed: remove them by hand", directoryOf(s.b), exportsOf(s.b))
}

// leftOnExport says which files the clean-up Job could not remove; empty where
// it did, or was not needed. The Job itself is the record of that, so it goes
// last.
func (r *Reconciler) leftOnExport(ctx context.Context, s *scope) (string, error) {
	job := &batchv1.Job{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.b.Namespace, Name: s.names.Clean}, job)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read job %q: %w", s.names.Clean, err)
	}
	if ended, failed := jobState(job); ended && !failed {
		return "", nil
	}
	return s.filesLeft(), nil
}

// cleanPatience bounds the wait for a clean-up Job whose own deadline does not
// come, because its pod cannot even start.
const cleanPatience = 60 * time.Second

func jobState(j *batchv1.Job) (ended, failed bool) {
	for _, c := range j.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		if c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed {
			return true, c.Type == batchv1.JobFailed
		}
	}
	return false, false
}

// filesMayBeLeft tells whether there can be files of this run on an export
// that outlives it: some client came as far as filling them, and not all say
// that they have removed them.
func (r *Reconciler) filesMayBeLeft(ctx context.Context, s *scope) (bool, error) {
	own := s.b.Spec.Storage.Embedded != nil || s.b.Spec.Storage.Trident != nil // goes with all that is on it
	if own || isCleanedUp(s.b) || !manifest.CleansFiles(s.b) {
		return false, nil
	}
	if err := r.readPlan(ctx, s); err != nil || s.plan == nil {
		return false, err // no plan, no load
	}
	if err := errors.Join(r.readProgress(ctx, s), r.readResult(ctx, s)); err != nil {
		return false, err
	}
	return filesTouched(s) && !filesRemoved(s), nil
}

// readPlan reads the plan that the run went by, where there is one.
func (r *Reconciler) readPlan(ctx context.Context, s *scope) error {
	cm := &corev1.ConfigMap{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.b.Namespace, Name: s.names.Plan}, cm)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the plan: %w", err)
	}
	if !isOurs(s.b, cm) {
		return nil
	}
	s.plan, err = decodePlan(cm.Data[manifest.PlanKey])
	return err
}

// filesTouched believes the spans of a client that has ended, for the last word
// of one that never reached the export is Done as well.
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
	if s.result == nil || len(s.result.Clients) < int(s.plan.Clients) || keepsFiles(s.plan.Workload) {
		return false
	}
	for _, c := range s.result.Clients {
		if c.Load.FilesLeft || !hasEnded(c.Load.Spans, runfile.SpanClean) {
			return false
		}
	}
	return true
}

// keepsFiles says that the loader leaves its files for the next run.
func keepsFiles(w runfile.Workload) bool {
	switch {
	case w.Raw != nil:
		return w.Raw.KeepFiles
	case w.Calibrate != nil && w.Calibrate.Files != nil:
		return w.Calibrate.Files.KeepFiles
	case w.SLOB != nil && w.SLOB.Files != nil:
		return w.SLOB.Files.KeepFiles
	default: // of a database, its schemas
		return w.SLOB != nil && w.SLOB.KeepSchemas
	}
}

func hasEnded(spans []runfile.Span, kind string) bool {
	for _, sp := range spans {
		if sp.Kind == kind && !sp.End.IsZero() {
			return true
		}
	}
	return false
}

// claimOf is the claim that the pods mount; "" where they mount none.
func claimOf(b *v1alpha1.NFSBenchmark) string {
	switch {
	case !plan.NeedsVolume(b):
		return ""
	case b.Spec.Storage.Claim != nil:
		return b.Spec.Storage.Claim.Name
	default:
		return manifest.NamesOf(b).Claim
	}
}

func directoryOf(b *v1alpha1.NFSBenchmark) string {
	switch w := b.Spec.Workload; {
	case w.Raw != nil:
		return w.Raw.Directory
	case w.Calibrate != nil:
		return w.Calibrate.NativeFiles.Directory
	case w.SLOB != nil:
		return w.SLOB.NativeFiles.Directory
	default:
		return ""
	}
}

func exportsOf(b *v1alpha1.NFSBenchmark) string {
	switch st := b.Spec.Storage; {
	case st.Export != nil:
		return st.Export.Servers[0] + ":" + st.Export.Path
	case st.Claim != nil:
		return "claim " + st.Claim.Name
	default:
		return "the embedded server"
	}
}
