package benchmark

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/owned"
	"github.com/nfsbench/nfsbench/controllers/pass"
	"github.com/nfsbench/nfsbench/internal/diagnose"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// resultGrace bounds the wait for the last results after their pods have ended: the collector has 30 s to publish after
// it receives a signal to stop.
const resultGrace = 35 * time.Second

// watchDelay bounds how much later than a pod's end its last result may be seen: pods and results come from different
// watches.
const watchDelay = 3 * time.Second

// configure writes the plan and everything that the collectors need. If the status has the hash of a plan, configure
// keeps that plan: a newer manager must not change a run under way.
func (r *Reconciler) configure(ctx context.Context, s *scope) (next, error) {
	s.stage = v1alpha1.PhasePreparing
	p, err := r.knownPlan(ctx, s)
	if err == nil && p == nil {
		p, err = r.writePlan(ctx, s)
	}
	if err != nil {
		return next{}, err
	}
	if s.planHash != nil {
		return waitFor(0), nil // the status, whose change wakes us up, is written before anything uses the plan
	}
	s.plan = p
	return next{}, r.ensurePublishing(ctx, s)
}

// findPlan finds the plan of a run that has one.
func (r *Reconciler) findPlan(ctx context.Context, s *scope) (err error) {
	s.plan, err = r.knownPlan(ctx, s)
	return err
}

// forgetPlan makes the status forget the plan, because its ConfigMap is deleted.
func (s *scope) forgetPlan() { s.planHash = new("") }

// ensurePublishing creates the ConfigMap that a run's pods publish to, their access to it, and then the publishers.
func (r *Reconciler) ensurePublishing(ctx context.Context, s *scope, publisher ...client.Object) error {
	results, err := r.findConfigMap(ctx, s, s.names.Result)
	if err != nil {
		return err
	}
	var objects []client.Object
	if results == nil {
		objects = append(objects, manifest.ResultConfigMap(s.b))
	}
	account, role, binding := manifest.CollectorAccess(s.b)
	objects = append(objects, account, role, binding)
	for _, o := range append(objects, publisher...) {
		if err := r.Ensure(ctx, s.b, o); err != nil {
			return err
		}
	}
	return nil
}

// knownPlan returns the plan of the run; nil if there is none yet. It accepts the ConfigMap only with the content that
// the operator wrote: anybody who may write ConfigMaps in the namespace can replace it.
func (r *Reconciler) knownPlan(ctx context.Context, s *scope) (*runfile.Plan, error) {
	if s.b.Status.PlanHash == "" {
		return nil, nil
	}
	cm, err := r.findConfigMap(ctx, s, s.names.Plan)
	if err != nil || cm == nil {
		return nil, err
	}
	return readPlan(s.b, cm.Data[manifest.PlanKey])
}

// readPlan reads the plan of a benchmark from text, whose hash must be status.planHash. Sizes and loops depend on a
// plan, so readPlan validates the plan even then.
func readPlan(b *v1alpha1.NFSBenchmark, text string) (*runfile.Plan, error) {
	name := manifest.NamesOf(b).Plan
	if hashOf(text) != b.Status.PlanHash {
		return nil, invalid(v1alpha1.ReasonPlanChanged, "ConfigMap %s has another plan than status.planHash names: "+
			"somebody replaced it; create a new NFSBenchmark to run it again", name)
	}
	p, err := runfile.ReadKeptPlan(strings.NewReader(text))
	if other := (*runfile.VersionError)(nil); errors.As(err, &other) {
		return nil, err
	}
	if err == nil {
		err = p.Validate()
	}
	if err == nil {
		err = plan.Belongs(p, b)
	}
	if err != nil {
		return nil, invalid(v1alpha1.ReasonPlanChanged, "the plan in ConfigMap %s cannot be used: %w; create a new "+
			"NFSBenchmark to run it again", name, err)
	}
	return &p, nil
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// writePlan writes the plan if its hash is status.planHash. Otherwise it only records the new hash, and only before the
// start: a run never changes its plan.
func (r *Reconciler) writePlan(ctx context.Context, s *scope) (*runfile.Plan, error) {
	p, err := plan.Build(s.b, *s.target)
	var text strings.Builder
	if err == nil {
		err = runfile.WritePlan(&text, p)
	}
	hash := hashOf(text.String())
	switch {
	case s.b.Status.StartTime != nil && (err != nil || hash != s.b.Status.PlanHash):
		return nil, invalid(v1alpha1.ReasonPlanChanged, "ConfigMap %s with the plan of the run is lost, and what is known "+
			"of the storage now gives another plan: create a new NFSBenchmark to run it again", s.names.Plan)
	case err != nil:
		return nil, invalid(v1alpha1.ReasonInvalidSpec, "%w", err)
	case hash != s.b.Status.PlanHash:
		err := r.checkRoom(ctx, s)
		if err == nil {
			s.planHash = &hash
		}
		return nil, err
	}
	oranfstab, err := p.Oranfstab()
	if err != nil {
		return nil, err
	}
	return &p, r.Ensure(ctx, s.b, manifest.PlanConfigMap(s.b, text.String(), oranfstab))
}

// runLoad starts the load Job and follows it until all results are final or
// none can come any more.
func (r *Reconciler) runLoad(ctx context.Context, s *scope) (next, error) {
	if _, err := r.readProgress(ctx, s); err != nil {
		return next{}, err
	}
	if n, err := r.ensureLoad(ctx, s); err != nil || n.Stop {
		return n, err
	}
	s.stage = stageOf(s.progress)
	if s.finals() == int(s.plan.Clients) {
		if err := r.readResult(ctx, s); err != nil || allFinal(s) {
			return next{}, err
		}
	}
	pods, err := r.Pods(ctx, s.b, manifest.ComponentLoad)
	if err != nil {
		return next{}, err
	}
	if plan.Container(s.b) != nil {
		s.database = diagnose.DatabaseOf(pods)
	}
	if s.b.Spec.Suspend {
		return r.cancelLoad(ctx, s, pods)
	}
	if n, err := r.watchPods(ctx, s, pods); err != nil || n.Stop || s.outcome != nil || allFinal(s) {
		return n, err
	}
	if err := r.releaseClients(ctx, s); err != nil {
		return next{}, err
	}
	return r.nextLevel(ctx, s)
}

// ensureLoad creates the load Job once. If the Job is gone although the run has started, somebody deleted it, and
// ensureLoad does not create it again: one benchmark is one run. The run ends once its pods are gone, because pods
// publish what they measured when they are told to stop. Pods that survive their Job, as with --cascade=orphan, can
// still complete the run.
func (r *Reconciler) ensureLoad(ctx context.Context, s *scope) (next, error) {
	job := manifest.LoadJob(s.b, *s.plan, s.target.ClaimName, r.Images)
	if s.b.Status.StartTime == nil {
		if n, err := r.freeClaim(ctx, s); err != nil || n.Stop {
			return n, err
		}
		if err := r.Ensure(ctx, s.b, job); err != nil {
			return next{}, err
		}
		s.load = job
		return next{}, nil
	}
	// Every report of progress starts a pass: read the Job from the cache, and from the API server only if the cache lacks
	// it.
	switch err := pass.Read(ctx, r.Client, r.Reader, job); {
	case err == nil && owned.IsOurs(s.b, job):
		s.load = job
		return next{}, nil
	case client.IgnoreNotFound(err) != nil:
		return next{}, fmt.Errorf("read job %q: %w", job.Name, err)
	case s.b.Spec.Suspend || s.finals() == int(s.plan.Clients):
		return next{}, nil
	}
	pods, err := r.Pods(ctx, s.b, manifest.ComponentLoad)
	if err != nil {
		return next{}, err
	}
	message := jobDeleted(s)
	// The deletion timestamp is the end of a pod's grace period; until then the pod may publish.
	stopping := func(p corev1.Pod) bool {
		return !p.DeletionTimestamp.IsZero() && s.now.Before(p.DeletionTimestamp.Add(watchDelay))
	}
	if slices.ContainsFunc(pods, func(p corev1.Pod) bool { return isActive(p) || stopping(p) }) {
		s.stage = stageOf(s.progress)
		return s.wait(v1alpha1.ReasonCollecting, message+"; waiting for the last results of its pods", soon)
	}
	return r.endWithResults(ctx, s, outcome{phase: v1alpha1.PhaseFailed, reason: v1alpha1.ReasonPodLost, message: message})
}

// freeClaim waits until no other pod mounts the claim that a database starts on: that pod may run another database,
// which the operator does not know. A run that waits here holds no target.
func (r *Reconciler) freeClaim(ctx context.Context, s *scope) (next, error) {
	claim := s.b.Spec.Storage.Claim
	if plan.Container(s.b) == nil || claim == nil || s.b.Status.StartTime != nil {
		return next{}, nil
	}
	mounts := func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim.Name
	}
	pods, other := &corev1.PodList{}, "" // the cache holds only the operator's pods
	find := func() error {
		for _, p := range pods.Items {
			if mayRun(p) && p.Labels[manifest.LabelUID] != string(s.b.UID) && slices.ContainsFunc(p.Spec.Volumes, mounts) {
				other = p.Name
			}
		}
		return nil
	}
	if err := pass.Pages(ctx, r.Reader, pods, maxObjects, find, client.InNamespace(s.b.Namespace)); err != nil {
		return next{}, fmt.Errorf("list the pods of namespace %q: %w", s.b.Namespace, err)
	}
	if other == "" {
		return next{}, nil
	}
	s.stage = v1alpha1.PhasePending
	return s.wait(v1alpha1.ReasonClaimInUse, fmt.Sprintf(
		"pod %s uses claim %q, and a second database would ruin its files: stop the pod, or name another claim in "+
			"spec.storage.claim", other, claim.Name), soon)
}

// watchPods ends the run when its pods cannot complete it.
func (r *Reconciler) watchPods(ctx context.Context, s *scope, pods []corev1.Pod) (next, error) {
	t, err := r.troubleOf(ctx, s, s.load, pods,
		s.target.ClaimName != "" || plan.SecretName(s.b) != "" || s.b.Spec.Database != nil)
	if err != nil {
		return next{}, err
	}
	if t != nil && !t.Fatal {
		s.waiting = &fact{Reason: t.Reason, Message: t.Message}
	}
	o, ended := outcome{phase: v1alpha1.PhaseFailed}, time.Duration(0)
	switch end := jobEnd(s.load); {
	case t != nil && t.Fatal:
		o.reason, o.message, ended = t.Reason, t.Message, podsEnded(pods, s.now)
	case end == nil:
		return next{}, nil
	case end.reason == batchv1.JobReasonDeadlineExceeded:
		o.reason, o.message = s.deadlineMessage()
		ended = s.now.Sub(end.at)
	default:
		o.reason, o.message, ended = end.reason, end.message, s.now.Sub(end.at)
	}
	return r.endEarly(ctx, s, o, ended)
}

// endEarly ends the run after the collectors had time to publish what was measured and the watch had time to deliver
// it. Pods that never ran have nothing to publish.
func (r *Reconciler) endEarly(ctx context.Context, s *scope, o outcome, ended time.Duration) (next, error) {
	patience := watchDelay
	if len(s.progress) > s.finals() {
		patience = resultGrace
	}
	if ended < patience {
		s.stage = v1alpha1.PhaseCollecting
		return s.wait(v1alpha1.ReasonCollecting, "waiting for the last results of a run that failed: "+o.message, soon)
	}
	return r.endWithResults(ctx, s, o)
}

// endWithResults ends the run with the results that exist. A run with all its results has not failed,
// whatever the cache shows: it continues to its normal end.
func (r *Reconciler) endWithResults(ctx context.Context, s *scope, o outcome) (next, error) {
	if err := r.readResult(ctx, s); err != nil || allFinal(s) {
		return next{}, err
	}
	if s.result != nil && len(s.result.Clients) > 0 {
		s.judgement = new(judge.Judge(*s.result))
		// The loader's own failure is closer to the cause.
		if f := firstFailure(s.result); f != nil && o.phase == v1alpha1.PhaseFailed &&
			o.reason == v1alpha1.ReasonContainerFailed {
			o.reason, o.message = reasonOf(f), f.Message
		}
	}
	o.message += s.partial()
	if s.damaged != nil {
		o.message += fmt.Sprintf("; results that cannot be used: %v", s.damaged)
	}
	s.outcome = &o
	return waitFor(0), nil
}

// cancelLoad stops a run whose user has suspended it.
func (r *Reconciler) cancelLoad(ctx context.Context, s *scope, pods []corev1.Pod) (next, error) {
	if s.load != nil {
		if err := r.Delete(ctx, s.load); err != nil {
			return next{}, err
		}
	}
	if len(pods) > 0 {
		s.stage = v1alpha1.PhaseCollecting
		return s.wait(runfile.FailureCancelled, "stopping the load; what was measured is kept", soon)
	}
	return r.endWithResults(ctx, s, outcome{
		phase: v1alpha1.PhaseCancelled, reason: runfile.FailureCancelled,
		message: "stopped by spec.suspend",
	})
}

// releaseClients starts all clients together as soon as every one is ready.
func (r *Reconciler) releaseClients(ctx context.Context, s *scope) error {
	if s.released || s.plan.Clients < 2 || len(s.progress) < int(s.plan.Clients) {
		return nil
	}
	if slices.ContainsFunc(s.progress, func(p runfile.Progress) bool { return !p.Ready }) {
		return nil
	}
	signal := map[string]string{runfile.KeyRelease: s.now.UTC().Format(time.RFC3339Nano)}
	if s.searches() {
		levels, err := levelsText(*s.plan, nil)
		if err != nil {
			return err
		}
		signal[runfile.KeyLevels] = levels
	}
	return r.patchResult(ctx, s, map[string]any{"data": signal})
}

// troubleOf returns what prevents the pods of a Job from working, or the Job from creating pods; nil if
// there is no trouble. A nil Job is not checked. It reads only the events about pods that wait for a volume,
// or about a Job without pods: nothing else is explained by events alone, and there are many events.
func (r *Reconciler) troubleOf(
	ctx context.Context, s *scope, job *batchv1.Job, pods []corev1.Pod, mounts bool,
) (*diagnose.Trouble, error) {
	const patience = 5 * time.Second
	stuck := slices.ContainsFunc(pods, func(p corev1.Pod) bool {
		return p.Status.Phase == corev1.PodPending && !diagnose.Begun(&p) && s.now.Sub(p.CreationTimestamp.Time) > patience
	})
	var about client.MatchingFields
	switch {
	case len(pods) == 0 && job != nil && s.now.Sub(job.CreationTimestamp.Time) > patience:
		about = client.MatchingFields{"involvedObject.kind": "Job", "involvedObject.name": job.Name}
	case stuck && mounts:
		about = client.MatchingFields{"involvedObject.kind": "Pod"}
	}
	list := &corev1.EventList{}
	if about != nil {
		about["type"] = corev1.EventTypeWarning
		if err := r.Reader.List(ctx, list, client.InNamespace(s.b.Namespace), about, client.Limit(maxEvents)); err != nil {
			return nil, fmt.Errorf("list events: %w", err)
		}
		slices.SortFunc(list.Items, func(a, b corev1.Event) int {
			return cmp.Compare(b.LastTimestamp.Unix(), a.LastTimestamp.Unix())
		})
	}
	t := diagnose.Pods(pods, list.Items, s.now, r.graceFor(s.b))
	if t == nil && len(pods) == 0 && job != nil {
		t = diagnose.NoPods(job, list.Items, s.now, r.Grace)
	}
	return t, nil
}

// jobEnding describes how a Job ended, why it published nothing more, and when.
type jobEnding struct {
	failed          bool
	reason, message string
	at              time.Time
}

// jobEnd returns how a Job ended; nil if it has not ended. If its pod failure policy ended the Job, its pods were
// disrupted. The Job keeps that reason after the pods are gone.
func jobEnd(j *batchv1.Job) *jobEnding {
	if j == nil {
		return nil
	}
	i := slices.IndexFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobFailed || c.Type == batchv1.JobComplete)
	})
	if i < 0 {
		return nil
	}
	c := j.Status.Conditions[i]
	e := &jobEnding{failed: c.Type == batchv1.JobFailed, at: c.LastTransitionTime.Time}
	switch why := strings.TrimSpace(c.Message); {
	case !e.failed:
		e.reason = v1alpha1.ReasonContainerFailed
		e.message = fmt.Sprintf("Job %s completed, but its collectors published no result: see the log of container "+
			"collector", j.Name)
	case c.Reason == batchv1.JobReasonPodFailurePolicy:
		e.reason = v1alpha1.ReasonPodLost
		e.message = fmt.Sprintf("a pod of the load was evicted, as kubectl drain and autoscalers do, or lost with its "+
			"node: run the benchmark again, under another name, when the node is back or on another (%s)", why)
	default:
		e.reason = cmp.Or(c.Reason, v1alpha1.ReasonPodLost)
		e.message = fmt.Sprintf("Job %s failed: %s", j.Name, why)
	}
	return e
}

// podsEnded returns how long ago the last container of the run stopped; zero while one is running. The other pods end
// only if one has failed or was disrupted. If one cannot start instead, the others would wait for it until the timeout
// and have measured nothing: podsEnded then returns resultGrace, so that nobody waits for them.
func podsEnded(pods []corev1.Pod, now time.Time) time.Duration {
	ending := func(p corev1.Pod) bool {
		return p.Status.Phase == corev1.PodFailed || p.DeletionTimestamp != nil || diagnose.Disruption([]corev1.Pod{p}) != nil
	}
	if !slices.ContainsFunc(pods, ending) {
		return resultGrace
	}
	var last time.Time
	running := false
	for _, p := range pods {
		if d := p.DeletionTimestamp; d != nil && now.After(d.Add(watchDelay)) {
			return resultGrace // its grace period is over: no node is there to end it
		}
		for _, c := range slices.Concat(p.Status.ContainerStatuses, p.Status.InitContainerStatuses) {
			running = running || c.State.Running != nil
			if e := c.State.Terminated; e != nil && e.FinishedAt.After(last) {
				last = e.FinishedAt.Time
			}
		}
	}
	switch {
	case running:
		return 0
	case last.IsZero():
		return resultGrace
	default:
		return now.Sub(last)
	}
}

func jobDeleted(s *scope) string {
	return fmt.Sprintf("Job %s was deleted while the benchmark ran: create a new NFSBenchmark to run it again",
		s.names.Load)
}

// explainStop ends a run whose load was stopped unexpectedly, and names the cause. The pods show it as long as they
// exist.
func (r *Reconciler) explainStop(ctx context.Context, s *scope) (next, error) {
	pods, err := r.Pods(ctx, s.b, manifest.ComponentLoad)
	if err != nil {
		return next{}, err
	}
	t, end := diagnose.Disruption(pods), jobEnd(s.load)
	switch {
	case t != nil:
		return s.fail(t.Reason, t.Message+s.partial())
	case end != nil && end.reason == v1alpha1.ReasonPodLost:
		return s.fail(end.reason, end.message+s.partial())
	case s.load == nil || !s.load.DeletionTimestamp.IsZero():
		return s.fail(v1alpha1.ReasonPodLost, jobDeleted(s)+s.partial())
	default:
		return s.fail(v1alpha1.ReasonPodLost,
			"a pod of the load was stopped before its end: somebody deleted it, or its node was drained or shut down; "+
				"create a new NFSBenchmark to run it again"+s.partial())
	}
}

// partial ends the message of a run that was stopped early. It is empty if nothing was measured.
func (s *scope) partial() string {
	if s.judgement == nil || s.judgement.Summary == nil {
		return ""
	}
	return "; what was measured until then is partial"
}
