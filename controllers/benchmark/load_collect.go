package benchmark

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/diagnose"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// errBusy says that the pass of another benchmark has a result in memory.
var errBusy = errors.New("another result is being judged")

// readResult reads the published results and progress of the clients. It reads results when the run
// is over, and when its files are removed. One pass at a time has results, because they can take much memory and
// much time to judge: errBusy in any other.
func (r *Reconciler) readResult(ctx context.Context, s *scope) error {
	cm, err := r.readProgress(ctx, s)
	if err != nil || cm == nil {
		return err
	}
	if s.hasResults = s.hasResults || r.results.TryLock(); !s.hasResults {
		return errBusy
	}
	res, err := runfile.ReadPublished(cm.BinaryData, s.plan.Clients, s.plan)
	if other := (*runfile.VersionError)(nil); errors.As(err, &other) {
		return other
	}
	s.result, s.damaged = &res, err
	s.result.Simulated = isSimulated(s.result)
	s.kept = bytesOf(cm)
	return nil
}

// bytesOf is the size of a ConfigMap's contents.
func bytesOf(cm *corev1.ConfigMap) int64 {
	n := 0
	for key, value := range cm.Data {
		n += len(key) + len(value)
	}
	for key, value := range cm.BinaryData {
		n += len(key) + len(value)
	}
	return int64(n)
}

// readProgress reads the ConfigMap that the collectors publish in, and from it how far the clients
// have come; nil where there is none, or one of somebody else.
func (r *Reconciler) readProgress(ctx context.Context, s *scope) (*corev1.ConfigMap, error) {
	cm, err := r.findConfigMap(ctx, s, s.names.Result)
	if err != nil || cm == nil || s.plan == nil {
		return nil, err
	}
	s.progress, s.reports = nil, make([]*runfile.LevelReport, s.plan.Clients)
	_, s.released = cm.Data[runfile.KeyRelease]
	s.levels = []byte(cm.Data[runfile.KeyLevels])
	for i := range s.plan.Clients {
		if p := progressOf(cm, i); p != nil {
			s.progress = append(s.progress, *p)
			s.reports[i] = p.Level
		}
	}
	return cm, nil
}

// isSimulated says that a stand-in took part: for the array, or for Oracle.
func isSimulated(r *runfile.Result) bool {
	database := func(c runfile.ClientResult) bool { return c.Load.Oracle != nil && c.Load.Oracle.StandIn }
	return r.Plan.Survey.IsStandIn() || slices.ContainsFunc(r.Clients, database)
}

// progressOf reads one client's progress; one that cannot be read counts as
// none, because the next will come.
func progressOf(cm *corev1.ConfigMap, index int32) *runfile.Progress {
	p := &runfile.Progress{}
	if json.Unmarshal([]byte(cm.Data[runfile.ProgressKey(index)]), p) != nil {
		return nil
	}
	return p
}

// finals is how many clients have published their final progress.
func (s *scope) finals() int {
	n := 0
	for _, p := range s.progress {
		if p.Final {
			n++
		}
	}
	return n
}

func allFinal(s *scope) bool {
	return s.plan != nil && s.finals() == int(s.plan.Clients) &&
		s.result != nil && len(s.result.Clients) == int(s.plan.Clients)
}

// collect ends a run whose results are all there.
func (r *Reconciler) collect(ctx context.Context, s *scope) (next, error) {
	s.stage = v1alpha1.PhaseCollecting
	s.judgement = new(judge.Judge(*s.result))
	switch f := firstFailure(s.result); {
	case f == nil:
	case f.Code == runfile.FailureLoaderCrashed:
		return r.explainCrash(ctx, s, f)
	case f.Code == runfile.FailureDatabaseEnded && databaseOf(s.b) != nil:
		return r.explainDatabase(ctx, s, f)
	case f.Code == runfile.FailureCancelled && s.b.Spec.Suspend:
		return s.end(v1alpha1.PhaseCancelled, runfile.FailureCancelled,
			"stopped by spec.suspend"+s.partial())
	case f.Code == runfile.FailureCancelled:
		return r.explainStop(ctx, s)
	default:
		return s.fail(reasonOf(f), f.Message+s.notReported())
	}

	if err := r.keepPoints(ctx, s); err != nil {
		return next{}, err
	}
	return s.end(v1alpha1.PhaseSucceeded, v1alpha1.ReasonCompleted, "")
}

// keepPoints writes the numbers that suites compare beside the result. Suites read these
// and not the status, which is rounded and cut to a size. Another pass writes the same.
func (r *Reconciler) keepPoints(ctx context.Context, s *scope) error {
	var packed bytes.Buffer
	if err := runfile.WriteSuitePoints(&packed, runfile.SuitePoints{Points: judge.Headline(*s.judgement)}); err != nil {
		return err
	}
	return r.patchResult(ctx, s, map[string]any{"binaryData": map[string][]byte{runfile.KeySuitePoints: packed.Bytes()}})
}

// reasonOf makes a condition reason of a failure. The code comes out of a pod;
// one that the API server would refuse as a reason must not hold up the status.
func reasonOf(f *runfile.Failure) string {
	if !reasonPattern.MatchString(f.Code) || len(f.Code) > 128 {
		return runfile.FailureInternal
	}
	return f.Code
}

// reasonPattern is what the API server takes as a reason, without the marks
// that ours never have.
var reasonPattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`) //nolint:gochecknoglobals // a constant in all but name

// explainCrash explains why a loader ended without a final event. A loader that was stopped before
// it began leaves no event either, because a database takes time to start. Otherwise it asks the
// pods: only Kubernetes knows, for example, that the loader used too much memory. The pods report
// that after they have ended, which follows the end of their loader.
func (r *Reconciler) explainCrash(ctx context.Context, s *scope, f *runfile.Failure) (next, error) {
	begun := func(c runfile.ClientResult) bool { return len(c.Load.Spans) > 0 }
	end := jobEnd(s.load)
	switch {
	case slices.ContainsFunc(s.result.Clients, begun):
	case s.b.Spec.Suspend:
		return s.end(v1alpha1.PhaseCancelled, runfile.FailureCancelled, "stopped by spec.suspend before the load began")
	case end != nil && end.reason == batchv1.JobReasonDeadlineExceeded:
		return s.fail(s.deadlineMessage())
	case s.load == nil || !s.load.DeletionTimestamp.IsZero():
		return s.fail(v1alpha1.ReasonPodLost, jobDeleted(s))
	}
	pods, err := r.podsOf(ctx, s.b, manifest.ComponentLoad)
	if err != nil {
		return next{}, err
	}
	// A pod that was told to stop ended because of the one that crashed.
	if t := diagnose.Pods(pods, nil, s.now, r.graceFor(s.b)); t != nil && t.Fatal && t.Reason != runfile.FailureCancelled {
		reason := f.Code
		if isOfDatabase(t.Reason) {
			reason = t.Reason // without it no load could begin
		}
		return s.fail(reason, t.Message+"; "+f.Message)
	}
	if slices.ContainsFunc(pods, isActive) {
		return s.wait(v1alpha1.ReasonCollecting, "waiting for the pods of a loader that crashed to end", soon)
	}
	return s.fail(f.Code, f.Message)
}

// mayRun says that a pod has not ended, as far as its node has told: one that is being deleted
// runs until its node confirms that it does not.
func mayRun(p corev1.Pod) bool {
	return p.Status.Phase != corev1.PodFailed && p.Status.Phase != corev1.PodSucceeded
}

// firstFailure is the failure that explains the run. A client that was stopped
// because another failed is not the cause.
func firstFailure(res *runfile.Result) *runfile.Failure {
	var stopped *runfile.Failure
	for _, c := range res.Clients {
		f := c.Load.Failure
		switch {
		case f == nil:
		case f.Code == runfile.FailureCancelled:
			stopped = f
		default:
			return f
		}
	}
	return stopped
}

// stageOf says where the slowest client stands.
func stageOf(progress []runfile.Progress) v1alpha1.Phase {
	stages := []v1alpha1.Phase{v1alpha1.PhasePreparing, v1alpha1.PhaseRunning, v1alpha1.PhaseCollecting}
	slowest := 0
	for i, p := range progress {
		at := 0
		switch p.Span {
		case runfile.SpanBaseline, runfile.SpanWarmup, runfile.SpanMeasure, runfile.SpanCooldown:
			at = 1
		case runfile.SpanVerify, runfile.SpanClean, runfile.SpanDone:
			at = 2
		}
		if i == 0 || at < slowest {
			slowest = at
		}
	}
	return stages[slowest]
}
