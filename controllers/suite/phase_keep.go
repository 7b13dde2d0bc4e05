package suite

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

const (
	// maxRecordBytes is what a record may take, compressed, of the 1 MiB of a
	// ConfigMap.
	maxRecordBytes = 900 << 10
	// recordEvery is how often the record of a run under way is written.
	recordEvery = 30 * time.Second
)

// keep writes the records: when a run begins, from time to time while it is under
// way, and when it has ended. So what was measured outlives the benchmarks.
func (r *Reconciler) keep(ctx context.Context, s *scope) (next, error) {
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

// isDue says that the record of a run has to be written.
func (r *run) isDue(now time.Time) bool {
	if r.record == nil || r.outcome != nil {
		return true
	}
	if r.record.Annotations[annotationPhase] != "" {
		return true // it was opened again
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
	cached := r.memory.of(s.suite.UID, s.suite.Generation)
	if one == s.current() {
		cached.recordVersion, cached.record = string(m.UID)+"/"+m.ResourceVersion, one.file
	}
	return nil
}

// recordOf is the ConfigMap of a run. It has no label of what the cache holds:
// records are large, and read seldom.
func recordOf(s *scope, one *run, raw []byte) *unstructured.Unstructured {
	notes := map[string]any{
		annotationStarted: one.file.Started.Format(time.RFC3339), annotationWritten: s.now.UTC().Format(time.RFC3339),
	}
	if one.outcome != nil {
		notes[annotationPhase] = one.file.Phase
		notes[annotationEnded] = one.file.Ended.Format(time.RFC3339)
		notes[annotationWorkflow] = one.file.Workflow
		if !s.scheduled() { // otherwise its regressions have a word to say
			notes[annotationVerdict] = string(worstVerdict(one.file))
		}
	}
	u := &unstructured.Unstructured{Object: map[string]any{
		"metadata":   map[string]any{"annotations": notes},
		"binaryData": map[string]any{runfile.KeySuiteRun: base64.StdEncoding.EncodeToString(raw)},
	}}
	u.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	u.SetNamespace(s.suite.Namespace)
	u.SetName(recordName(one.name))
	u.SetLabels(map[string]string{
		v1alpha1.LabelSuite: s.suite.Name, v1alpha1.LabelSuiteRun: one.name, manifest.LabelComponent: componentRecord,
	})
	u.SetOwnerReferences([]metav1.OwnerReference{owner(s.suite)})
	return u
}

// pack compresses a record, and leaves out of it what matters least until it takes
// no more than so many bytes:
// first words about what went well, then metrics that nothing is compared by.
func pack(f runfile.SuiteRun, limit int) ([]byte, error) {
	for _, smaller := range []func(runfile.SuiteRun) runfile.SuiteRun{whole, withoutWords, comparedOnly} {
		f = smaller(f)
		var b bytes.Buffer
		if err := runfile.WriteSuiteRunGzip(&b, f); err != nil {
			return nil, err
		}
		if b.Len() <= limit {
			return b.Bytes(), nil
		}
	}
	return nil, fmt.Errorf("the record of run %s does not fit into a ConfigMap: use fewer repetitions, cells, metrics or levels of load", f.Run)
}

func whole(f runfile.SuiteRun) runfile.SuiteRun { return f }

func withoutWords(f runfile.SuiteRun) runfile.SuiteRun {
	return mapResults(f, func(r runfile.SuiteResult) runfile.SuiteResult {
		if isSuccess(r) {
			r.Findings, r.Message = nil, ""
		}
		return r
	})
}

func comparedOnly(f runfile.SuiteRun) runfile.SuiteRun {
	keep := map[string]bool{runfile.MetricThroughput: true, runfile.MetricMeanLatency: true}
	if f.Settings.Compare != nil {
		for _, m := range f.Settings.Compare.Metrics {
			keep[m] = true
		}
	}
	if f.Settings.Regression != nil {
		for _, m := range f.Settings.Regression.Metrics {
			keep[m] = true
		}
	}
	return mapResults(f, func(r runfile.SuiteResult) runfile.SuiteResult {
		all := r.Points
		r.Points = nil
		for _, p := range all {
			some := map[string]float64{}
			for name, v := range p.Metrics {
				if keep[name] {
					some[name] = v
				}
			}
			p.Metrics = some
			r.Points = append(r.Points, p)
		}
		return r
	})
}

func mapResults(f runfile.SuiteRun, change func(runfile.SuiteResult) runfile.SuiteResult) runfile.SuiteRun {
	all := f.Results
	f.Results = make([]runfile.SuiteResult, 0, len(all))
	for _, r := range all {
		f.Results = append(f.Results, change(r))
	}
	return f
}
