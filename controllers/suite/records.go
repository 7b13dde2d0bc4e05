package suite

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/pass"
	"github.com/nfsbench/nfsbench/internal/archive"
	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/matrix"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/workflow"
)

// componentRecord labels the ConfigMaps that hold records of runs.
const componentRecord = "suite-record"

// runName returns the name of the run that a suite without a schedule asks for. The name depends on the fields that
// cannot change in such a suite, on the annotation that asks for another run, and on the UID: objects of an earlier
// suite of the same name may still exist.
func runName(suite *v1alpha1.NFSBenchmarkSuite) string {
	sp := suite.Spec
	raw, err := json.Marshal([]any{
		suite.UID, suite.Annotations[v1alpha1.AnnotationRerun],
		sp.Template, sp.Axes, sp.Include, sp.Exclude, sp.Repetitions, sp.Order, sp.Blocks,
	})
	if err != nil {
		raw = []byte(suite.UID) // a spec that was read from JSON always encodes
	}
	sum := sha256.Sum256(raw)
	return suite.Name + "-" + hex.EncodeToString(sum[:4])
}

// attemptOf returns the attempt of a run from the name of its workflow: 0 for the first, 1 for the one that ends in -2.
func attemptOf(run, workflow string) int32 {
	n, err := strconv.ParseInt(strings.TrimPrefix(workflow, run+"-"), 10, 32)
	if err != nil || n < 2 {
		return 0
	}
	return int32(n) - 1
}

// maxBenchmarks bounds the benchmarks of a run that are read: the largest matrix, with four attempts each.
const maxBenchmarks = 4 * matrix.MaxBenchmarks

// endRuns ends the runs that have nothing under way. Its decision is final, so it reads past the cache.
func (r *Reconciler) endRuns(ctx context.Context, s *scope) (next, error) {
	for _, one := range s.open() {
		if !one.loaded || !one.isDone() || len(one.live) > 0 {
			continue
		}
		if err := r.lookAgain(ctx, s, one); err != nil {
			return next{}, err
		}
		if len(one.live) > 0 {
			continue // the cache was behind
		}
		one.outcome = outcomeOf(s.suite, one)
		one.file.Phase, one.file.Reason, one.file.Message = string(one.outcome.phase), one.outcome.reason, one.outcome.message
		one.file.Ended = s.now.UTC()
		later := func(res runfile.SuiteResult) bool { return !res.Ended.Before(one.state.Finished.Time) }
		if t := one.state.Finished; t != nil && !slices.ContainsFunc(one.file.Results, later) {
			one.file.Ended = t.UTC()
		}
	}
	return next{}, nil
}

// lookAgain reads the benchmarks of a run past the cache. It keeps at most one page of them in memory.
func (r *Reconciler) lookAgain(ctx context.Context, s *scope, one *run) error {
	all := gathered{results: one.file.Results}
	list := &v1alpha1.NFSBenchmarkList{}
	add := func() error {
		g, err := gather(all.results, list.Items,
			func(b *v1alpha1.NFSBenchmark, to *runfile.SuiteResult) error { return r.addPoints(ctx, b, to) })
		all.results, all.live = g.results, append(all.live, g.live...)
		return err
	}
	err := pass.Pages(ctx, r.Reader, list, maxBenchmarks, add, client.InNamespace(s.suite.Namespace),
		client.MatchingLabels{v1alpha1.LabelSuite: s.suite.Name, v1alpha1.LabelSuiteRun: one.name})
	if err != nil {
		return fmt.Errorf("list the benchmarks of run %q: %w", one.name, err)
	}
	one.take(all)
	return nil
}

// outcomeOf returns how a run ended. If all its benchmarks have succeeded, the state of Argo's workflow does not
// matter.
func outcomeOf(suite *v1alpha1.NFSBenchmarkSuite, one *run) *outcome {
	total, good, bad := one.total(), 0, []runfile.SuiteResult(nil)
	for _, r := range one.file.Results {
		if isSuccess(r) {
			good++
		} else {
			bad = append(bad, r)
		}
	}
	const unknown = "it does not say why"
	done := fmt.Sprintf("%d of %d benchmarks succeeded", good, total)
	switch {
	case good >= total && total > 0:
		return &outcome{v1alpha1.SuiteSucceeded, v1alpha1.ReasonCompleted, done}
	case one.vanished:
		return &outcome{v1alpha1.SuiteFailed, v1alpha1.ReasonWorkflowMissing, fmt.Sprintf(
			"the Workflow was deleted while it ran, and its benchmarks with it; %s before and are kept in the record: "+
				"annotate the suite with %s to run the others", done, v1alpha1.AnnotationResubmit)}
	case suite.Spec.Shutdown == v1alpha1.ShutdownStop:
		return &outcome{v1alpha1.SuiteCancelled, runfile.FailureCancelled, "stopped by spec.shutdown: " + done}
	case len(bad) > 0:
		return &outcome{v1alpha1.SuiteFailed, v1alpha1.ReasonBenchmarkFailed, fmt.Sprintf(
			"%s, %d failed, the first of them %s: %s", done, len(bad), bad[0].Benchmark, cmp.Or(bad[0].Message, unknown))}
	default:
		return &outcome{v1alpha1.SuiteFailed, v1alpha1.ReasonWorkflowFailed, fmt.Sprintf(
			"%s, and Argo gave the run up: %s", done, cmp.Or(one.state.Message, unknown))}
	}
}

const (
	// maxRecordBytes bounds a compressed record: a ConfigMap holds 1 MiB.
	maxRecordBytes = 900 << 10
	// recordEvery is the interval between writes of the record of a run under way.
	recordEvery = 30 * time.Second
)

// writeRecords writes the records: when a run begins, at intervals while it is under way, and when it has ended. The
// measurements then outlive the benchmarks.
func (r *Reconciler) writeRecords(ctx context.Context, s *scope) (next, error) {
	for _, one := range s.open() {
		if !one.loaded || !one.isDue(s.now) {
			continue
		}
		if err := r.write(ctx, s, one); err != nil {
			return next{}, err
		}
	}
	return next{}, nil
}

// isDue reports whether the record of a run must be written.
func (r *run) isDue(now time.Time) bool {
	if r.record == nil || r.outcome != nil {
		return true
	}
	if r.record.Annotations[annotationPhase] != "" {
		return true // the run was opened again
	}
	last, err := time.Parse(time.RFC3339, r.record.Annotations[annotationWritten])
	return r.changed && (err != nil || now.Sub(last) >= recordEvery)
}

func (r *Reconciler) write(ctx context.Context, s *scope, one *run) error {
	if one.outcome == nil { // opened again, or never ended
		one.file.Phase, one.file.Reason, one.file.Message, one.file.Ended = "", "", "", time.Time{}
	}
	raw, err := pack(one.file, maxRecordBytes)
	if err != nil {
		return blocked(v1alpha1.ReasonForbidden, err)
	}
	u := recordOf(s, one, raw)
	if one.record != nil {
		u.SetResourceVersion(one.record.ResourceVersion) // a lock
	}
	if err := r.apply(ctx, u); err != nil {
		return err
	}
	m := metadataOf(u)
	one.record, one.changed = &m, false
	return nil
}

// recordOf returns the ConfigMap of a run. It lacks the label that the cache selects, because records are large and
// seldom read.
func recordOf(s *scope, one *run, raw []byte) *unstructured.Unstructured {
	notes := map[string]any{
		annotationStarted: one.file.Started.Format(time.RFC3339), annotationWritten: s.now.UTC().Format(time.RFC3339),
	}
	if one.outcome != nil {
		notes[annotationPhase] = one.file.Phase
		notes[annotationEnded] = one.file.Ended.Format(time.RFC3339)
		notes[annotationWorkflow] = one.file.Workflow
		if !s.scheduled() { // a scheduled run's verdict also depends on its regression
			notes[annotationVerdict] = string(worstVerdict(one.file))
		}
	}
	u := &unstructured.Unstructured{Object: map[string]any{
		"metadata":   map[string]any{"annotations": notes},
		"binaryData": map[string]any{runfile.KeySuiteRun: base64.StdEncoding.EncodeToString(raw)},
	}}
	u.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	u.SetNamespace(s.suite.Namespace)
	u.SetName(archive.RecordName(one.name))
	u.SetLabels(map[string]string{
		v1alpha1.LabelSuite: s.suite.Name, v1alpha1.LabelSuiteRun: one.name, manifest.LabelComponent: componentRecord,
	})
	u.SetOwnerReferences([]metav1.OwnerReference{workflow.Owner(s.suite)})
	return u
}

// pack compresses a record. Until the record fits within limit bytes, pack first drops messages about successes, then
// metrics that nothing compares.
func pack(f runfile.SuiteRun, limit int) ([]byte, error) {
	for _, smaller := range []func(runfile.SuiteRun) runfile.SuiteRun{nil, withoutWords, comparedOnly} {
		if smaller != nil {
			f = smaller(f)
		}
		var b bytes.Buffer
		if err := runfile.WriteSuiteRunGzip(&b, f); err != nil {
			return nil, err
		}
		if b.Len() <= limit {
			return b.Bytes(), nil
		}
	}
	return nil, fmt.Errorf("the record of run %s does not fit into a ConfigMap: use fewer repetitions, cells, metrics "+
		"or levels of load", f.Run)
}

func withoutWords(f runfile.SuiteRun) runfile.SuiteRun {
	f.Results = slices.Clone(f.Results)
	for i := range f.Results {
		if r := &f.Results[i]; isSuccess(*r) {
			r.Findings, r.Message = nil, ""
		}
	}
	return f
}

func comparedOnly(f runfile.SuiteRun) runfile.SuiteRun {
	keep := compare.Metrics[string](nil)
	if f.Settings.Compare != nil {
		keep = append(keep, f.Settings.Compare.Metrics...)
	}
	if f.Settings.Regression != nil {
		keep = append(keep, f.Settings.Regression.Metrics...)
	}
	f.Results = slices.Clone(f.Results)
	for i := range f.Results {
		r := &f.Results[i]
		r.Points = slices.Clone(r.Points)
		for j := range r.Points {
			p := &r.Points[j]
			p.Metrics = maps.Clone(p.Metrics)
			maps.DeleteFunc(p.Metrics, func(name string, _ float64) bool { return !slices.Contains(keep, name) })
		}
	}
	return f
}

// Defaults of the CRD.
const (
	defaultHistory      = 10
	defaultHistoryLimit = 10
)

// newFile begins the record of a run with its settings.
func newFile(s *scope, one *run) runfile.SuiteRun {
	sp := s.suite.Spec
	f := runfile.SuiteRun{
		Version: runfile.SuiteRunVersion, Suite: s.suite.Name, Namespace: s.suite.Namespace, Run: one.name,
		Started: one.started().UTC(), Settings: runfile.SuiteSettings{
			Repetitions: sp.Repetitions, Order: string(sp.Order), Seed: s.matrix.Seed, Compare: compareOf(sp.Compare),
		},
	}
	if sp.Order == v1alpha1.OrderInterleaved {
		f.Settings.Blocks = string(sp.Blocks)
	}
	if sp.Schedule != nil {
		f.Settings.Regression = new(significanceOf(s.suite))
	}
	for _, c := range s.matrix.Cells {
		f.Cells = append(f.Cells, c.SuiteCell)
	}
	return f
}

// significanceOf returns the thresholds of a regression.
func significanceOf(suite *v1alpha1.NFSBenchmarkSuite) runfile.SuiteSignificance {
	return matrix.Significance(ptr.Deref(suite.Spec.Regression, v1alpha1.Regression{}).Significance)
}

func compareOf(c *v1alpha1.Compare) *runfile.SuiteCompare {
	if c == nil {
		return nil
	}
	out := &runfile.SuiteCompare{
		SuiteSignificance: matrix.Significance(c.Significance), Baseline: map[string]string{},
		ImpactOf: string(cmp.Or(c.ImpactOf, v1alpha1.DenominatorBaseline)),
	}
	for axis, value := range c.Baseline {
		out.Baseline[axis] = string(value)
	}
	return out
}

// maxHistory bounds the kept runs of a suite without a schedule.
const maxHistory = 50

// prune removes the finished runs beyond the history limit, each with its workflow and the workflow's benchmarks. The
// record of the accepted run stays.
func (r *Reconciler) prune(ctx context.Context, s *scope) (next, error) {
	over := s.over()
	limit := maxHistory
	if s.scheduled() {
		limit = cmp.Or(int(s.suite.Spec.Schedule.HistoryLimit), defaultHistoryLimit)
	}
	for _, one := range over[:max(len(over)-limit, 0)] {
		for i := range one.workflows {
			if err := r.remove(ctx, s, one.workflows[i].Name, workflow.Workflow); err != nil {
				return next{}, err
			}
		}
		one.workflows = nil
		if one.name == s.accepted {
			continue
		}
		if err := r.remove(ctx, s, one.record.Name, corev1.SchemeGroupVersion.WithKind("ConfigMap")); err != nil {
			return next{}, err
		}
		s.runs = slices.DeleteFunc(s.runs, func(r *run) bool { return r == one })
	}
	return next{}, nil
}

func (r *Reconciler) remove(ctx context.Context, s *scope, name string, kind schema.GroupVersionKind) error {
	obj := &metav1.PartialObjectMetadata{}
	obj.SetGroupVersionKind(kind)
	obj.Namespace, obj.Name = s.suite.Namespace, name
	err := r.Client.Delete(ctx, obj, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if err = client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("remove %s %q of an old run: %w", kind.Kind, name, err)
	}
	return nil
}

// worstVerdict returns the worst verdict of the benchmarks. A run that has not succeeded is Inconclusive at best.
func worstVerdict(f runfile.SuiteRun) v1alpha1.SuiteVerdict {
	order := []v1alpha1.SuiteVerdict{v1alpha1.SuiteFail, v1alpha1.SuiteInconclusive, v1alpha1.SuitePass}
	at := len(order)
	for _, r := range f.Results {
		if i := slices.Index(order, v1alpha1.SuiteVerdict(r.Verdict)); i >= 0 {
			at = min(at, i)
		}
	}
	if f.Phase != string(v1alpha1.SuiteSucceeded) {
		at = min(at, 1)
	}
	if at == len(order) {
		return v1alpha1.SuiteNotEvaluated
	}
	return order[at]
}
