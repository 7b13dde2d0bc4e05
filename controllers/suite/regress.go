package suite

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/pass"
	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// regress compares the newest finished run of a schedule with the accepted run, and writes into each record the verdict
// that the run got when it was new.
func (r *Reconciler) regress(ctx context.Context, s *scope) (next, error) {
	if !s.scheduled() {
		return next{}, nil
	}
	over := s.over()
	s.accepted, s.unknown = acceptedOf(s.suite, over)
	for i := range over {
		if err := r.judge(ctx, s, over[:i], over[i], i == len(over)-1); err != nil {
			return next{}, err
		}
	}
	return next{}, nil
}

// judge compares a run that is the newest or has no verdict yet.
func (r *Reconciler) judge(ctx context.Context, s *scope, before []*run, one *run, newest bool) error {
	noted := one.record.Annotations[annotationVerdict]
	if noted != "" && !newest {
		return nil
	}
	found, err := r.compareRun(ctx, s, one, before)
	if err != nil {
		return err
	}
	if newest {
		s.regression = found
		if noted == reasonRegressed && (found == nil || !found.Regressed) {
			// The run was worse once and is accepted now: its verdict follows its benchmarks again.
			if err := r.load(ctx, s, one); err != nil {
				return err
			}
		}
	}
	if noted != "" {
		return nil
	}
	return r.noteVerdict(ctx, s, one, found)
}

// acceptedOf returns the run that others are compared with: the run that the annotation names, otherwise the oldest
// that succeeded. unknown is the named run if it does not exist.
func acceptedOf(suite *v1alpha1.NFSBenchmarkSuite, over []*run) (accepted, unknown string) {
	if name := suite.Annotations[v1alpha1.AnnotationAcceptRun]; name != "" {
		if slices.ContainsFunc(over, func(r *run) bool { return r.name == name }) {
			return name, ""
		}
		unknown = name
	}
	for _, one := range over {
		if one.succeeded() {
			return one.name, unknown
		}
	}
	return "", unknown
}

func (r *run) succeeded() bool {
	return r.record != nil && r.record.Annotations[annotationPhase] == string(v1alpha1.SuiteSucceeded)
}

// compareRun computes the regression of a run; nil if there is nothing to compare. The history, which measures the
// normal variation of the numbers, begins with the accepted run and leaves out regressed runs.
func (r *Reconciler) compareRun(ctx context.Context, s *scope, one *run, before []*run) (*compare.Table, error) {
	if !one.succeeded() || s.accepted == "" || s.accepted == one.name {
		return nil, nil //nolint:nilnil // no regression is an answer
	}
	i := slices.IndexFunc(before, func(r *run) bool { return r.name == s.accepted })
	if i < 0 {
		return nil, nil //nolint:nilnil // the accepted run came later
	}
	var history []*run
	for _, h := range before[i:] {
		if h.succeeded() && h.record.Annotations[annotationVerdict] != string(v1alpha1.SuiteRegressed) {
			history = append(history, h)
		}
	}
	limit := cmp.Or(int(ptr.Deref(s.suite.Spec.Regression, v1alpha1.Regression{}).History), defaultHistory)
	history = history[max(len(history)-limit, 0):]
	what := []string{one.key(), before[i].key()}
	for _, h := range history {
		what = append(what, h.key())
	}
	cached := r.memory.of(s.suite.UID, s.suite.Generation)
	if key := strings.Join(what, " "); cached.comparedWhat != key {
		found, err := r.regression(ctx, s, one, before[i], history)
		if err != nil {
			return nil, err
		}
		cached.comparedWhat, cached.regression = key, found
	}
	return cached.regression, nil
}

// key identifies the numbers of a record: it changes with each write.
func (r *run) key() string { return r.name + "/" + r.record.Annotations[annotationWritten] }

func (r *Reconciler) regression(
	ctx context.Context, s *scope, one, accepted *run, history []*run,
) (*compare.Table, error) {
	q, left := compare.Request{SuiteSignificance: significanceOf(s.suite)}, s.left
	for _, h := range history {
		whole := left // only one of these at a time is in memory
		f, err := r.read(ctx, s, h, &whole)
		if err != nil {
			return nil, err
		}
		f = compare.Medians(f, q.Metrics)
		text, err := json.Marshal(f)
		if err != nil {
			return nil, err
		}
		left.Bytes, left.Elements = max(left.Bytes-len(text), 0), max(left.Elements-runfile.ElementsOf(text), 0)
		q.History = append(q.History, f)
	}
	run, err := r.read(ctx, s, one, &left)
	if err != nil {
		return nil, err
	}
	base, err := r.read(ctx, s, accepted, &left)
	if err != nil {
		return nil, err
	}
	q.Run, q.Accepted = &run, &base
	return told(compare.Run(q)), nil
}

// told reduces a regression to what the status shows.
func told(t compare.Table) *compare.Table {
	out := &compare.Table{Message: t.Message, NoiseFloor: t.NoiseFloor, Regressed: t.Regressed}
	for _, l := range pass.Head(t.Changes(), maxChanges) {
		out.Comparisons = append(out.Comparisons, compare.Line{
			Cell: pass.ClipTo(l.Cell, 63), Step: pass.ClipTo(l.Step, 48), Metric: l.Metric, Shift: l.Shift, Outcome: l.Outcome,
		})
	}
	for _, f := range pass.Head(t.Findings, maxFindings) {
		f.Message = pass.Clip(f.Message)
		out.Findings = append(out.Findings, f)
	}
	return out
}

// noteVerdict writes into the record the verdict that a run got when it was new. If the run is accepted later, the
// status of the suite changes, but not the history.
func (r *Reconciler) noteVerdict(ctx context.Context, s *scope, one *run, found *compare.Table) error {
	left := s.left // a copy, because the record is not kept
	file, err := r.read(ctx, s, one, &left)
	if err != nil {
		return err
	}
	verdict := string(verdictOf(file, found))
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	m.Namespace, m.Name = s.suite.Namespace, one.record.Name
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, annotationVerdict, verdict)
	if err := r.Client.Patch(ctx, m, client.RawPatch(mergePatch, patch), pass.FieldOwner); err != nil {
		return fmt.Errorf("note the verdict in record %q: %w", m.Name, err)
	}
	metav1.SetMetaDataAnnotation(&one.record.ObjectMeta, annotationVerdict, verdict)
	return nil
}

// Bounds of the lists of a regression in the status.
const (
	maxChanges  = 32
	maxFindings = 32
)

// verdictOf returns the verdict of a run that has ended.
func verdictOf(f runfile.SuiteRun, found *compare.Table) v1alpha1.SuiteVerdict {
	if found != nil && found.Regressed {
		return v1alpha1.SuiteRegressed
	}
	return worstVerdict(f)
}
