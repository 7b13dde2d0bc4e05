package suite

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// one is a benchmark of a run: phase of cell, repetition and attempt.
func one(phase v1alpha1.Phase, cell string, repetition, attempt int) v1alpha1.NFSBenchmark {
	b := v1alpha1.NFSBenchmark{}
	b.Name = fmt.Sprintf("run-%s-r%d-%d", cell, repetition, attempt)
	b.Labels = map[string]string{
		v1alpha1.LabelCell: cell, v1alpha1.LabelRepetition: fmt.Sprint(repetition), v1alpha1.LabelAttempt: fmt.Sprint(attempt),
		v1alpha1.LabelPosition: fmt.Sprint(repetition),
	}
	b.Status.Phase = phase
	return b
}

func noPoints(*v1alpha1.NFSBenchmark, *runfile.SuiteResult) error { return nil }

const (
	good = v1alpha1.PhaseSucceeded
	bad  = v1alpha1.PhaseFailed
	runs = v1alpha1.PhaseRunning
)

func TestWhichAttemptCounts(t *testing.T) {
	t.Parallel()
	old := runfile.SuiteResult{Cell: "a", Repetition: 1, Position: 1, Attempt: 0, Benchmark: "gone", Phase: string(good)}
	lost := old
	lost.Phase = string(bad)
	held := one("", "a", 1, 1)
	held.Spec.Suspend, held.Status.Phase = true, v1alpha1.PhasePending
	held.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReconciling, Reason: v1alpha1.ReasonSuspended}}
	leaving := one(runs, "a", 1, 1)
	leaving.DeletionTimestamp = new(metav1.NewTime(time.Unix(1, 0)))
	unlabelled := one(good, "a", 1, 0)
	unlabelled.Labels = nil
	cases := map[string]struct {
		reason  string
		old     []runfile.SuiteResult
		all     []v1alpha1.NFSBenchmark
		want    string // benchmarks that count
		live    string
		retried int32
	}{
		"Order":      {"by position", nil, []v1alpha1.NFSBenchmark{one(good, "a", 2, 0), one(good, "b", 1, 0)}, "run-b-r1-0 run-a-r2-0", "", 0},
		"Retried":    {"success after a failure", nil, []v1alpha1.NFSBenchmark{one(bad, "a", 1, 0), one(good, "a", 1, 1)}, "run-a-r1-1", "", 1},
		"FirstGood":  {"the first success", nil, []v1alpha1.NFSBenchmark{one(good, "a", 1, 1), one(good, "a", 1, 0)}, "run-a-r1-0", "", 1},
		"NewestBad":  {"the newest failure", nil, []v1alpha1.NFSBenchmark{one(bad, "a", 1, 0), one(bad, "a", 1, 2), one(bad, "a", 1, 1)}, "run-a-r1-2", "", 2},
		"Trying":     {"a failure that is tried again is none yet", nil, []v1alpha1.NFSBenchmark{one(bad, "a", 1, 0), one(runs, "a", 1, 1)}, "", "run-a-r1-1", 1},
		"Gone":       {"a benchmark that is gone has its record", []runfile.SuiteResult{old}, nil, "gone", "", 0},
		"GoneBad":    {"which a later success replaces", []runfile.SuiteResult{lost}, []v1alpha1.NFSBenchmark{one(good, "a", 1, 1)}, "run-a-r1-1", "", 0},
		"GoneGood":   {"and a later failure does not", []runfile.SuiteResult{old}, []v1alpha1.NFSBenchmark{one(bad, "a", 1, 1)}, "gone", "", 0},
		"Held":       {"what was held back does nothing", nil, []v1alpha1.NFSBenchmark{held}, "", "", 0},
		"Leaving":    {"nor does what is being deleted", nil, []v1alpha1.NFSBenchmark{leaving}, "", "", 0},
		"Unlabelled": {"nobody knows what it is", nil, []v1alpha1.NFSBenchmark{unlabelled}, "", "", 0},
	}
	for name, tc := range cases {
		g, err := gather(tc.old, tc.all, noPoints)
		if err != nil {
			t.Fatal(err)
		}
		var names, live []string
		for _, r := range g.results {
			names = append(names, r.Benchmark)
		}
		for _, l := range g.live {
			live = append(live, l.name)
		}
		if got := strings.Join(names, " "); got != tc.want || strings.Join(live, " ") != tc.live || g.retried != tc.retried {
			t.Errorf("%s (%s): got %q, under way %q, retried %d", name, tc.reason, got, live, g.retried)
		}
	}
}

func TestNumbersAreReadOnce(t *testing.T) {
	t.Parallel()
	lost := one(bad, "a", 1, 0)
	lost.Status.Message = "lost"
	lost.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Reason: v1alpha1.ReasonPodLost}}
	reads := 0
	read := func(b *v1alpha1.NFSBenchmark, r *runfile.SuiteResult) error {
		reads++
		r.Points = []runfile.SuitePoint{{Step: b.Name}}
		return nil
	}
	g, err := gather(nil, []v1alpha1.NFSBenchmark{lost, one(good, "b", 1, 0)}, read)
	if err != nil || len(g.results) != 2 {
		t.Fatalf("%+v, %v", g, err)
	}
	if r := g.results[0]; r.Reason != v1alpha1.ReasonPodLost || r.Message != "lost" {
		t.Errorf("failed: %+v", r)
	}
	if r := g.results[1]; len(r.Points) != 1 || r.Points[0].Step != "run-b-r1-0" || r.Reason != "" || r.Message != "" {
		t.Errorf("succeeded: %+v", r)
	}
	if _, err = gather(g.results, []v1alpha1.NFSBenchmark{lost, one(good, "b", 1, 0)}, read); err != nil || reads != 3 {
		t.Errorf("%d reads, %v; want one of the benchmark that succeeded and one for each look at the other", reads, err)
	}
	broken := errors.New("no API server")
	if _, err = gather(nil, []v1alpha1.NFSBenchmark{one(good, "b", 1, 0)}, func(*v1alpha1.NFSBenchmark, *runfile.SuiteResult) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("error %v is not that of the API server", err)
	}
}

func TestHowARunEnded(t *testing.T) {
	t.Parallel()
	result := func(phase v1alpha1.Phase, n int) []runfile.SuiteResult {
		var out []runfile.SuiteResult
		for range n {
			out = append(out, runfile.SuiteResult{Phase: string(phase), Benchmark: "b", Message: "no space"})
		}
		return out
	}
	suite := func(s v1alpha1.Shutdown) *v1alpha1.NFSBenchmarkSuite {
		return &v1alpha1.NFSBenchmarkSuite{Spec: v1alpha1.NFSBenchmarkSuiteSpec{Shutdown: s}}
	}
	cases := map[string]struct {
		results  []runfile.SuiteResult
		vanished bool
		shutdown v1alpha1.Shutdown
		message  string // of Argo
		phase    v1alpha1.SuitePhase
		reason   string
		says     string
	}{
		"Good":        {results: result(good, 2), phase: v1alpha1.SuiteSucceeded, reason: v1alpha1.ReasonCompleted, says: "2 of 2"},
		"GoodStopped": {results: result(good, 2), shutdown: "Stop", phase: v1alpha1.SuiteSucceeded, reason: v1alpha1.ReasonCompleted, says: "2 of 2"},
		"GoodGone":    {results: result(good, 2), vanished: true, phase: v1alpha1.SuiteSucceeded, reason: v1alpha1.ReasonCompleted, says: "2 of 2"},
		"Bad":         {results: append(result(good, 1), result(bad, 1)...), phase: v1alpha1.SuiteFailed, reason: v1alpha1.ReasonBenchmarkFailed, says: "the first of them b: no space"},
		"Stopped":     {results: result(bad, 1), shutdown: "Stop", phase: v1alpha1.SuiteCancelled, reason: runfile.FailureCancelled, says: "spec.shutdown"},
		"Gone":        {results: result(good, 1), vanished: true, phase: v1alpha1.SuiteFailed, reason: v1alpha1.ReasonWorkflowMissing, says: "1 of 2 benchmarks succeeded before"},
		"Argo":        {results: result(good, 1), message: "exceeded quota", phase: v1alpha1.SuiteFailed, reason: v1alpha1.ReasonWorkflowFailed, says: "exceeded quota"},
		"ArgoMute":    {phase: v1alpha1.SuiteFailed, reason: v1alpha1.ReasonWorkflowFailed, says: "does not say why"},
	}
	for name, tc := range cases {
		r := &run{vanished: tc.vanished}
		r.state.Message = tc.message
		r.file = runfile.SuiteRun{Results: tc.results, Cells: []runfile.SuiteCell{{Name: "a"}}, Settings: runfile.SuiteSettings{Repetitions: 2}}
		o := outcomeOf(suite(tc.shutdown), r)
		if o.phase != tc.phase || o.reason != tc.reason || !strings.Contains(o.message, tc.says) {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

func TestTheWorstVerdictCounts(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		phase    v1alpha1.SuitePhase
		verdicts string
		want     v1alpha1.SuiteVerdict
	}{
		"Nobody": {v1alpha1.SuiteSucceeded, "NotEvaluated", v1alpha1.SuiteNotEvaluated},
		"Pass":   {v1alpha1.SuiteSucceeded, "Pass NotEvaluated", v1alpha1.SuitePass},
		"Doubt":  {v1alpha1.SuiteSucceeded, "Pass Inconclusive", v1alpha1.SuiteInconclusive},
		"Fail":   {v1alpha1.SuiteSucceeded, "Inconclusive Fail Pass", v1alpha1.SuiteFail},
		"Broken": {v1alpha1.SuiteFailed, "Pass", v1alpha1.SuiteInconclusive},
		"Worst":  {v1alpha1.SuiteFailed, "Fail", v1alpha1.SuiteFail},
	}
	for name, tc := range cases {
		f := runfile.SuiteRun{Phase: string(tc.phase)}
		for v := range strings.FieldsSeq(tc.verdicts) {
			f.Results = append(f.Results, runfile.SuiteResult{Verdict: v})
		}
		if got := worstVerdict(f); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// TestABenchmarkWithoutItsPlaceIsNoResult: somebody may have taken labels off.
func TestABenchmarkWithoutItsPlaceIsNoResult(t *testing.T) {
	t.Parallel()
	labels := map[string]string{v1alpha1.LabelCell: "one", v1alpha1.LabelRepetition: "3"}
	for _, missing := range []string{"", v1alpha1.LabelCell, v1alpha1.LabelRepetition} {
		b := &v1alpha1.NFSBenchmark{}
		b.Labels = maps.Clone(labels)
		delete(b.Labels, missing)
		r, ok := resultOf(b)
		if ok != (missing == "") || ok && (r.Cell != "one" || r.Repetition != 3) {
			t.Errorf("without %q: %v, %+v", missing, ok, r)
		}
	}
}

func TestPointsAreReadFromTheResult(t *testing.T) {
	t.Parallel()
	want := []runfile.SuitePoint{{Step: "Users=8", Metrics: map[string]float64{bench.MetricP95Latency: 5}, WirePercent: new(94.3), Knee: true}}
	var packed, huge bytes.Buffer
	if err := runfile.WriteSuitePoints(&packed, runfile.SuitePoints{Points: want}); err != nil {
		t.Fatal(err)
	}
	if err := runfile.WriteSuitePoints(&huge, runfile.SuitePoints{Points: []runfile.SuitePoint{{Step: strings.Repeat("8", runfile.MaxSuitePointsBytes)}}}); err != nil {
		t.Fatal(err)
	}
	with := func(key string, value []byte) []runtime.Object {
		return []runtime.Object{&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "result"}, BinaryData: map[string][]byte{key: value},
		}}
	}
	here := with(runfile.KeySuitePoints, packed.Bytes())
	ref := &v1alpha1.ResultReference{Name: "result"}
	cases := map[string]struct {
		ref          *v1alpha1.ResultReference
		cache, there []runtime.Object
		points       []runfile.SuitePoint
		lost         string
	}{
		"there":           {ref, nil, here, want, ""},
		"without":         {ref, here, with("client-0.result", nil), nil, `has no key points.json.gz`},
		"deleted":         {ref, here, nil, nil, `ConfigMap "result" with its result has no key points.json.gz`},
		"no result":       {nil, here, here, nil, "it has no result"},
		"damaged":         {ref, here, with(runfile.KeySuitePoints, []byte("{")), nil, `ConfigMap "result" with its result is damaged: read points`},
		"more than it is": {ref, here, with(runfile.KeySuitePoints, huge.Bytes()), nil, "is damaged: read points"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := NewReconciler(Options{
				Client: fake.NewClientBuilder().WithRuntimeObjects(tc.cache...).Build(),
				Reader: fake.NewClientBuilder().WithRuntimeObjects(tc.there...).Build(),
			})
			b := one(good, "a", 1, 0)
			b.Namespace, b.Status.ResultRef = "bench", tc.ref
			got := runfile.SuiteResult{Phase: string(v1alpha1.PhaseSucceeded)}
			err := r.addPoints(t.Context(), &b, &got)
			if err != nil || (got.Message == "") != (tc.lost == "") || !strings.Contains(got.Message, tc.lost) {
				t.Errorf("message %q, error %v; want %q", got.Message, err, tc.lost)
			}
			if diff := cmp.Diff(tc.points, got.Points); diff != "" {
				t.Error(diff)
			}
			failed := runfile.SuiteResult{Phase: string(v1alpha1.PhaseFailed), Message: "no space"}
			if err := r.addPoints(t.Context(), &b, &failed); err != nil || failed.Points != nil || failed.Message != "no space" {
				t.Errorf("a benchmark that failed has numbers: %+v, %v", failed, err)
			}
		})
	}
}
