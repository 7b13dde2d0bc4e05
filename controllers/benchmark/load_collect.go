package benchmark

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/diagnose"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// errBusy reports that the pass of another benchmark holds a result in memory.
var errBusy = errors.New("another result is being judged")

// readResult reads the published results and progress of the clients, when the run is over and when its files are
// removed. Only one pass at a time holds results, because they can take much memory and much time to judge: readResult
// returns errBusy to any other pass.
func (r *Reconciler) readResult(ctx context.Context, s *scope) error {
	cm, err := r.readProgress(ctx, s)
	if err != nil || cm == nil {
		return err
	}
	if s.hasResults = s.hasResults || r.results.take(s.b.Namespace, s.now); !s.hasResults {
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

// resultTurns lets one pass at a time have results. Namespaces take turns, so that one whose many results take half a
// minute each does not keep another's run from its end. It is safe for concurrent use.
type resultTurns struct {
	mu         sync.Mutex
	taken      bool
	asked, had map[string]time.Time // when a namespace last asked in vain, and when it last had its turn
}

// asksAgain is how long a namespace that asked in vain keeps its turn. Its passes ask again after busyPause, and after
// those that wait for a worker.
const asksAgain = 10 * time.Second

// take reports whether a pass of a namespace may have results now.
func (t *resultTurns) take(namespace string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.asked == nil {
		t.asked, t.had = map[string]time.Time{}, map[string]time.Time{}
	}
	maps.DeleteFunc(t.asked, func(_ string, at time.Time) bool { return now.Sub(at) > asksAgain })
	maps.DeleteFunc(t.had, func(_ string, at time.Time) bool { return now.Sub(at) > time.Hour })
	waits := t.taken
	for other := range t.asked {
		waits = waits || t.had[other].Before(t.had[namespace])
	}
	if waits {
		t.asked[namespace] = now
		return false
	}
	delete(t.asked, namespace)
	t.taken, t.had[namespace] = true, now
	return true
}

func (t *resultTurns) giveBack() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taken = false
}

// bytesOf returns the size of a ConfigMap's contents.
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

// readProgress reads the ConfigMap in which the collectors publish, and the progress of the clients in it. It returns
// nil if the ConfigMap does not exist or belongs to somebody else.
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

// isSimulated reports whether a stand-in replaced the array or Oracle.
func isSimulated(r *runfile.Result) bool {
	database := func(c runfile.ClientResult) bool { return c.Load.Oracle != nil && c.Load.Oracle.StandIn }
	return r.Plan.Survey.IsStandIn() || slices.ContainsFunc(r.Clients, database)
}

// progressOf returns the progress of one client; nil if it cannot be read, because the next one will come.
func progressOf(cm *corev1.ConfigMap, index int32) *runfile.Progress {
	p := &runfile.Progress{}
	if json.Unmarshal([]byte(cm.Data[runfile.ProgressKey(index)]), p) != nil {
		return nil
	}
	return p
}

// finals returns the number of clients that have published their final progress.
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
	case f.Code == runfile.FailureDatabaseEnded && plan.Container(s.b) != nil:
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

// keepPoints stores the numbers that suites compare beside the result. Suites do not read them from the status, which
// rounds and truncates them. A repeated pass writes the same numbers.
func (r *Reconciler) keepPoints(ctx context.Context, s *scope) error {
	var packed bytes.Buffer
	if err := runfile.WriteSuitePoints(&packed, runfile.SuitePoints{Points: judge.Headline(*s.judgement)}); err != nil {
		return err
	}
	return r.patchResult(ctx, s, map[string]any{"binaryData": map[string][]byte{runfile.KeySuitePoints: packed.Bytes()}})
}

// reasonOf returns the condition reason of a failure. The code comes from a pod: a code that the API server would
// refuse as a reason must not block the status.
func reasonOf(f *runfile.Failure) string {
	if !reasonPattern.MatchString(f.Code) || len(f.Code) > 128 {
		return runfile.FailureInternal
	}
	return f.Code
}

// reasonPattern matches those condition reasons that the API server accepts and that have no punctuation, as all
// reasons of the operator.
var reasonPattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`) //nolint:gochecknoglobals // a constant in all but name

// explainCrash explains why a loader ended without a final event. A loader that was stopped before it began leaves no
// event either, because a database takes time to start. Otherwise explainCrash reads the pods: only Kubernetes knows,
// for example, that the loader used too much memory. A pod reports that once it has ended, later than its loader.
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
	pods, err := r.Pods(ctx, s.b, manifest.ComponentLoad)
	if err != nil {
		return next{}, err
	}
	// Cancelled marks a pod that was told to stop because another pod crashed.
	if t := diagnose.Pods(pods, nil, s.now, r.graceFor(s.b)); t != nil && t.Fatal && t.Reason != runfile.FailureCancelled {
		reason := f.Code
		if isOfDatabase(t.Reason) {
			reason = t.Reason // no load begins without its database
		}
		return s.fail(reason, t.Message+"; "+f.Message)
	}
	if slices.ContainsFunc(pods, isActive) {
		return s.wait(v1alpha1.ReasonCollecting, "waiting for the pods of a loader that crashed to end", soon)
	}
	return s.fail(f.Code, f.Message)
}

// mayRun reports whether a pod may still run. A pod that is being deleted runs until its node reports its end.
func mayRun(p corev1.Pod) bool {
	return p.Status.Phase != corev1.PodFailed && p.Status.Phase != corev1.PodSucceeded
}

// firstFailure returns the failure that explains the run. A client that was stopped because another failed is not the
// cause.
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

// stageOf returns the phase of the slowest client.
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
