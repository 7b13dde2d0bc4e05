package suite

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/pass"
	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/matrix"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/workflow"
)

// argoHelp explains how to install Argo Workflows.
const argoHelp = "Argo Workflows is not installed: install v4.0 or newer, for example with " +
	"kubectl create namespace argo && kubectl apply -n argo --server-side -f " +
	"https://github.com/argoproj/argo-workflows/releases/latest/download/install.yaml, " +
	"or with helm install argo-workflows argo/argo-workflows; the suite starts by itself then"

// findRuns finds the existing runs by their workflows and their records. It reads only metadata.
func (r *Reconciler) findRuns(ctx context.Context, s *scope) (next, error) {
	byName := map[string]*run{}
	of := func(name string) *run {
		if byName[name] == nil {
			byName[name] = &run{name: name}
		}
		return byName[name]
	}
	records, err := r.list(ctx, s, schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
		client.MatchingLabels{manifest.LabelComponent: componentRecord})
	if err != nil {
		return next{}, err
	}
	for i := range records {
		if name := records[i].Labels[v1alpha1.LabelSuiteRun]; name != "" && isOurs(s, &records[i]) {
			of(name).record = &records[i]
		}
	}
	workflows, err := r.list(ctx, s, workflow.Workflow, nil)
	switch {
	case meta.IsNoMatchError(err) || apierrors.IsNotFound(err): // the API server never knew the kind, or its CRD is gone
		s.argo = &fact{Reason: v1alpha1.ReasonArgoMissing, Message: argoHelp}
	case err != nil:
		return next{}, err
	}
	for _, w := range workflows {
		if isOurs(s, &w) || isScheduled(s, &w) {
			one := of(cmp.Or(w.Labels[v1alpha1.LabelSuiteRun], w.Name))
			one.workflows = append(one.workflows, w)
		}
	}
	s.setRuns(byName)
	return next{}, nil
}

// list returns the metadata of a suite's objects, read past the cache.
func (r *Reconciler) list(ctx context.Context, s *scope, of schema.GroupVersionKind,
	more client.MatchingLabels,
) ([]metav1.PartialObjectMetadata, error) {
	which := client.MatchingLabels{v1alpha1.LabelSuite: s.suite.Name}
	maps.Copy(which, more)
	var out []metav1.PartialObjectMetadata
	list := pass.MetadataOf(of)
	add := func() error {
		for _, m := range list.Items {
			out = append(out, runMetadata(m))
		}
		return nil
	}
	err := pass.Pages(ctx, r.Reader, list, maxObjects, add, client.InNamespace(s.suite.Namespace), which)
	if err != nil {
		return nil, fmt.Errorf("list %ss of the suite: %w", of.Kind, err)
	}
	return out, nil
}

// maxObjects bounds the Workflows, and the records, of a suite that a pass reads: a suite keeps 50 runs, each with its
// attempts. Each object costs time, and users who may create Workflows or ConfigMaps can give them the labels of a
// suite.
const maxObjects = 500

// runMetadata returns the metadata of a record or workflow that passes read. The rest may be as large as the API server
// accepts.
func runMetadata(m metav1.PartialObjectMetadata) metav1.PartialObjectMetadata {
	out := metav1.PartialObjectMetadata{TypeMeta: m.TypeMeta, ObjectMeta: metav1.ObjectMeta{
		Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion,
		CreationTimestamp: m.CreationTimestamp,
	}}
	if owner := metav1.GetControllerOfNoCopy(&m); owner != nil {
		out.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	out.Labels = pass.Pick(m.Labels, v1alpha1.LabelSuiteRun)
	out.Annotations = pass.Pick(m.Annotations, annotationPhase, annotationVerdict, annotationStarted, annotationEnded,
		annotationWorkflow, annotationWritten)
	return out
}

// setRuns sorts the runs by their start. A run that had a workflow and has none has lost it: somebody deleted it.
func (s *scope) setRuns(byName map[string]*run) {
	argo := s.argo == nil
	if was := s.suite.Status.Run; was != nil && was.Workflow != "" && was.CompletionTime == nil &&
		byName[was.Name] == nil && argo {
		byName[was.Name] = &run{name: was.Name}
	}
	for _, one := range byName {
		slices.SortFunc(one.workflows, func(a, b metav1.PartialObjectMetadata) int {
			return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
				cmp.Compare(attemptOf(one.name, a.Name), attemptOf(one.name, b.Name)))
		})
		one.vanished = argo && len(one.workflows) == 0
		s.runs = append(s.runs, one)
	}
	slices.SortFunc(s.runs, func(a, b *run) int {
		return cmp.Or(a.started().Compare(b.started()), a.ended().Compare(b.ended()), cmp.Compare(a.name, b.name))
	})
}

// checkArgo ends the pass if Argo is needed and missing.
func (r *Reconciler) checkArgo(_ context.Context, s *scope) (next, error) {
	switch {
	case !s.wantsArgo():
		s.argo = nil
		return next{}, nil
	case s.argo != nil:
		s.waiting = s.argo
		return next{Stop: true, After: argoDelay}, nil
	default:
		s.argo = &fact{OK: true, Reason: v1alpha1.ReasonArgoFound}
		return next{}, nil
	}
}

// silence is how long Argo may ignore a new workflow before the status reports it.
const silence = time.Minute

// maxOpen bounds the unfinished runs that a pass reads. A schedule briefly has two when one replaces another. Users who
// may create ConfigMaps can make hundreds.
const maxOpen = 3

// recordBudget bounds all records that a pass keeps: two with all levels of load that a suite may have.
func recordBudget() runfile.Budget {
	return runfile.Budget{Bytes: runfile.MaxStoredRunBytes, Elements: 200_000}
}

// readResults reads the progress of the oldest unfinished runs, and the result of the newest run if it has ended. A
// problem of a later run does not delay the end of an earlier one.
func (r *Reconciler) readResults(ctx context.Context, s *scope) (next, error) {
	open := s.open()
	look := open[:min(len(open), maxOpen)]
	if len(look) < len(open) {
		s.blocked = &fact{Reason: v1alpha1.ReasonNameTaken, Message: fmt.Sprintf("%d runs of the suite are not over, and "+
			"the operator looks at %d, the oldest first: delete the Workflows and the ConfigMaps with the label %s that "+
			"nobody needs", len(open), maxOpen, v1alpha1.LabelSuiteRun)}
	}
	if cur := s.current(); len(open) <= maxOpen && cur != nil && cur.isOver() {
		look = append(look, cur)
	}
	for i, one := range look {
		err := r.load(ctx, s, one)
		if err == nil && one.loaded && !one.isOver() {
			err = r.readRun(ctx, s, one)
		}
		if bad := (*pass.Invalid)(nil); i > 0 && errors.As(err, &bad) {
			s.blocked = &fact{Reason: bad.Reason, Message: bad.Error()}
			break
		}
		if err != nil {
			return next{}, err
		}
	}
	return next{}, nil
}

// load reads the record of a run, or begins a new record.
func (r *Reconciler) load(ctx context.Context, s *scope, one *run) error {
	if one.loaded {
		return nil
	}
	if one.record == nil {
		if s.matrix != nil {
			one.file, one.loaded, one.changed = newFile(s, one), true, true
		}
		return nil
	}
	file, err := r.read(ctx, s, one, &s.left)
	one.file, one.loaded = file, err == nil
	return err
}

// read returns the record of a run. It reads past the cache, which does not hold records, and subtracts the record's
// size from left.
func (r *Reconciler) read(ctx context.Context, s *scope, one *run, left *runfile.Budget) (runfile.SuiteRun, error) {
	if one.loaded {
		return one.file, nil
	}
	name, cm := one.record.Name, &corev1.ConfigMap{}
	if err := r.Reader.Get(ctx, client.ObjectKey{Namespace: s.suite.Namespace, Name: name}, cm); err != nil {
		return runfile.SuiteRun{}, fmt.Errorf("read record %q: %w", name, err)
	}
	file, err := runfile.ReadSuiteRunWithin(bytes.NewReader(cm.BinaryData[runfile.KeySuiteRun]), left)
	if other := (*runfile.VersionError)(nil); errors.As(err, &other) {
		return runfile.SuiteRun{}, otherRelease(name, other)
	}
	if err != nil {
		return runfile.SuiteRun{}, blocked(v1alpha1.ReasonInvalidSpec,
			fmt.Errorf("the record in ConfigMap %q is damaged, or too large beside those of other runs: delete it, or lower "+
				"spec.regression.history: %w", name, err))
	}
	return file, nil
}

// otherRelease stops a suite until an operator runs that can read the file in a ConfigMap.
func otherRelease(name string, err *runfile.VersionError) error {
	return blocked(v1alpha1.ReasonOtherRelease, fmt.Errorf("ConfigMap %q: %w as the operator", name, err))
}

// readRun reads the newest workflow of a run, and its benchmarks.
func (r *Reconciler) readRun(ctx context.Context, s *scope, one *run) error {
	if name := one.workflow(); name != "" {
		wf := &unstructured.Unstructured{}
		wf.SetGroupVersionKind(workflow.Workflow)
		err := r.Reader.Get(ctx, client.ObjectKey{Namespace: s.suite.Namespace, Name: name}, wf)
		switch {
		case apierrors.IsNotFound(err):
			one.vanished = true
		case err != nil:
			return fmt.Errorf("read workflow %q: %w", name, err)
		default:
			one.patch, one.state = workflow.Patch(s.suite, wf), workflow.Observe(wf)
			one.file.Workflow = name
			if one.state.Phase == "" && s.now.Sub(wf.GetCreationTimestamp().Time) >= silence {
				s.argo = &fact{Reason: v1alpha1.ReasonArgoSilent, Message: fmt.Sprintf(
					"no workflow-controller acts on Workflow %s: is it running (kubectl get pods -A -l app=workflow-controller), "+
						"and does it watch namespace %s?",
					name, s.suite.Namespace)}
			}
		}
	}
	list := &v1alpha1.NFSBenchmarkList{}
	err := r.Client.List(ctx, list, client.InNamespace(s.suite.Namespace), client.MatchingFields{IndexRun: one.name},
		client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("list the benchmarks of run %q: %w", one.name, err)
	}
	g, err := gather(one.file.Results, list.Items,
		func(b *v1alpha1.NFSBenchmark, to *runfile.SuiteResult) error { return r.addPoints(ctx, b, to) })
	if err != nil {
		return err
	}
	one.take(g)
	return nil
}

// take stores the gathered results in the run.
func (one *run) take(g gathered) {
	if !reflect.DeepEqual(one.file.Results, g.results) {
		one.changed = true
	}
	one.file.Results, one.live = g.results, g.live
	one.file.Retried = max(one.file.Retried, g.retried)
	one.file.Simulated = one.file.Simulated || g.simulated
}

// gathered holds the results of a run's benchmarks.
type gathered struct {
	results   []runfile.SuiteResult // finished ones, by position
	live      []underWay
	retried   int32
	simulated bool
}

// addPoints adds the numbers of a benchmark to its result.
type addPoints func(*v1alpha1.NFSBenchmark, *runfile.SuiteResult) error

// gather adds the results of benchmarks to the known results, whose benchmarks may be gone. Of several attempts the
// first that succeeded counts, otherwise the newest; an attempt under way after a failure removes the failure. gather
// calls add once for each benchmark, and returns the error of add.
func gather(old []runfile.SuiteResult, all []v1alpha1.NFSBenchmark, add addPoints) (gathered, error) {
	best := map[workflow.Key]runfile.SuiteResult{}
	for _, r := range old {
		best[keyOf(r)] = r
	}
	g, seen := gathered{}, map[workflow.Key]int32{}
	for i := range all {
		b := &all[i]
		r, ok := resultOf(b)
		if !ok {
			continue
		}
		seen[keyOf(r)]++
		switch is, known := best[keyOf(r)]; {
		case isUnderWay(b):
			g.live = append(g.live, liveOf(b, r))
		case !b.Status.Phase.IsFinished():
		case !known || isBetter(r, is):
			if err := add(b, &r); err != nil {
				return gathered{}, err
			}
			best[keyOf(r)] = r
			g.simulated = g.simulated || slices.ContainsFunc(b.Status.Findings, func(f bench.Finding) bool {
				return f.Code == "SimulatedStorage" || f.Code == "SimulatedDatabase"
			})
		}
	}
	for _, n := range seen {
		g.retried += n - 1
	}
	maps.DeleteFunc(best, func(key workflow.Key, r runfile.SuiteResult) bool {
		return slices.ContainsFunc(g.live,
			func(l underWay) bool { return l.key == key && !isSuccess(r) && l.attempt > r.Attempt })
	})
	for _, r := range best {
		g.results = append(g.results, r)
	}
	slices.SortFunc(g.results, func(a, b runfile.SuiteResult) int {
		return cmp.Or(cmp.Compare(a.Position, b.Position), strings.Compare(a.Benchmark, b.Benchmark))
	})
	slices.SortFunc(g.live, func(a, b underWay) int { return strings.Compare(a.name, b.name) })
	return g, nil
}

func timeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

func keyOf(r runfile.SuiteResult) workflow.Key {
	return workflow.Key{Cell: r.Cell, Repetition: r.Repetition}
}

// isBetter reports whether a counts rather than b: the first attempt that succeeded, otherwise the newest.
func isBetter(a, b runfile.SuiteResult) bool {
	if isSuccess(a) != isSuccess(b) {
		return isSuccess(a)
	}
	return isSuccess(a) == (a.Attempt < b.Attempt)
}

// resultOf reads a benchmark; false if its labels do not identify its cell and repetition.
func resultOf(b *v1alpha1.NFSBenchmark) (runfile.SuiteResult, bool) {
	repetition, ok := number(b, v1alpha1.LabelRepetition)
	cell := b.Labels[v1alpha1.LabelCell]
	if !ok || cell == "" {
		return runfile.SuiteResult{}, false
	}
	position, _ := number(b, v1alpha1.LabelPosition)
	attempt, _ := number(b, v1alpha1.LabelAttempt)
	st := b.Status
	r := runfile.SuiteResult{
		Cell: cell, Repetition: repetition, Position: position, Attempt: attempt, Benchmark: b.Name,
		Phase: string(st.Phase), Verdict: string(st.Verdict), Validity: string(st.Validity),
		Started: timeOf(st.StartTime), Ended: timeOf(st.CompletionTime),
	}
	for _, f := range st.Findings {
		r.Findings = append(r.Findings, f.Code)
	}
	if c := meta.FindStatusCondition(st.Conditions, v1alpha1.ConditionSucceeded); c != nil && !isSuccess(r) {
		r.Reason, r.Message = c.Reason, pass.ClipTo(st.Message, 256)
	}
	return r, true
}

func number(b *v1alpha1.NFSBenchmark, label string) (int32, bool) {
	n, err := strconv.ParseInt(b.Labels[label], 10, 32)
	return int32(n), err == nil
}

// isUnderWay reports whether a benchmark works or will work. A benchmark that is being deleted, or that was held back
// before it began, does not.
func isUnderWay(b *v1alpha1.NFSBenchmark) bool {
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReconciling)
	held := b.Spec.Suspend && b.Status.StartTime == nil &&
		c != nil && c.Reason == v1alpha1.ReasonSuspended && c.ObservedGeneration == b.Generation
	return !b.Status.Phase.IsFinished() && b.DeletionTimestamp.IsZero() && !held
}

func liveOf(b *v1alpha1.NFSBenchmark, r runfile.SuiteResult) underWay {
	l := underWay{name: b.Name, key: keyOf(r), attempt: r.Attempt, suspended: b.Spec.Suspend}
	if b.Status.Progress != nil {
		l.percent = b.Status.Progress.Percent
	}
	if q := b.Status.Queue; q != nil {
		l.waits = "it waits for " + q.Behind
	}
	return l
}

// addPoints adds the numbers of a benchmark to its result. The benchmark's controller stores them beside the result, in
// a ConfigMap, which the cache does not hold. A benchmark that failed has no numbers, because its measurements cannot
// be compared. A benchmark whose result was deleted or damaged has none either, and the message says so.
func (r *Reconciler) addPoints(ctx context.Context, b *v1alpha1.NFSBenchmark, to *runfile.SuiteResult) error {
	switch {
	case !isSuccess(*to):
		return nil
	case b.Status.ResultRef == nil:
		to.Message = "it has no result"
		return nil
	}
	name, cm := b.Status.ResultRef.Name, corev1.ConfigMap{}
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: name}, &cm)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read the numbers of benchmark %q: %w", b.Name, err)
	}
	packed, ok := cm.BinaryData[runfile.KeySuitePoints]
	if !ok {
		to.Message = fmt.Sprintf("ConfigMap %q with its result has no key %s", name, runfile.KeySuitePoints)
		return nil
	}
	file, err := runfile.ReadSuitePoints(bytes.NewReader(packed))
	if other := (*runfile.VersionError)(nil); errors.As(err, &other) {
		return otherRelease(name, other)
	}
	if err != nil {
		to.Message = fmt.Sprintf("ConfigMap %q with its result is damaged: %v", name, err)
	}
	to.Points = file.Points
	return nil
}

// remembered bounds the suites in the memory of the reconciler.
const remembered = 16

// memory caches values that are expensive to compute and do not change: matrices and regressions, of a few megabytes at
// most, and no records. A new manager computes them again.
type memory struct{ suites *lru.Cache }

// recollection holds the cached values of one suite. Only the pass over that suite uses it.
type recollection struct {
	generation int64
	matrix     *matrix.Matrix
	invalid    string // what is wrong with the spec
	compiled   string // hash of the CronWorkflow; "" = not compiled

	comparedWhat string // key of the records that regression compares
	regression   *compare.Table
}

func newMemory() *memory { return &memory{suites: lru.New(remembered)} }

// of returns the cached values of a suite in this generation.
func (m *memory) of(uid types.UID, generation int64) *recollection {
	if found, ok := m.suites.Get(uid); ok {
		old := found.(*recollection) //nolint:forcetypeassert // there is nothing else in it
		if old.generation == generation {
			return old
		}
	}
	c := &recollection{generation: generation}
	m.suites.Add(uid, c)
	return c
}
