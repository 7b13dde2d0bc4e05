package benchmark

import (
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
	"github.com/nfsbench/nfsbench/test/gen"
	"github.com/nfsbench/nfsbench/test/kit/repository"
)

func TestTheSummaryHasIntervals(t *testing.T) {
	t.Parallel()
	total := measure.Direction{BytesPerSecond: 412_400_000, Latency: &stats.Latency{P99Microseconds: 1250}, Intervals: measure.Intervals{
		BytesPerSecond:  &measure.Interval{Low: 406_000_000, High: 418_800_000},
		P99Microseconds: &measure.Interval{Low: 1100, High: 1400},
	}}
	want := &v1alpha1.SummaryIntervals{
		Throughput: "406.0 to 418.8", P99Latency: "1.10 ms to 1.40 ms",
		ThroughputLowBytesPerSecond: new(int64(406_000_000)), ThroughputHighBytesPerSecond: new(int64(418_800_000)),
		P99LatencyLowMicroseconds: new(int64(1100)), P99LatencyHighMicroseconds: new(int64(1400)),
	}
	sum := &v1alpha1.Summary{}
	fillSummary(sum, &judge.Judgement{Summary: &measure.Summary{Total: total, OpenLoopP99Microseconds: new(int64(9000))}})
	if diff := cmp.Diff(want, sum.Intervals); diff != "" || *sum.OpenLoopP99LatencyMicroseconds != 9000 {
		t.Error(diff, sum.OpenLoopP99LatencyMicroseconds)
	}
	fillSummary(sum, &judge.Judgement{Summary: &measure.Summary{}})
	if sum.Intervals != nil || sum.OpenLoopP99LatencyMicroseconds != nil {
		t.Errorf("of an unknown interval: %+v", sum.Intervals)
	}
}

// The table of the judge has a row for each number of the API, and the API a name for each row.
func TestTheAPIHasEachMetric(t *testing.T) {
	t.Parallel()
	fields := map[string]bool{"throughputMegabytesPerSecond": true} // for people
	var names []string
	for _, m := range measure.Metrics() {
		low, high := m.Bounds()
		fields[m.Field], fields[low], fields[high] = true, true, true
		names = append(names, m.Name)
	}
	delete(fields, "")
	for _, of := range []reflect.Type{reflect.TypeFor[v1alpha1.Summary](), reflect.TypeFor[v1alpha1.SummaryIntervals]()} {
		for f := range of.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() != reflect.Struct && !fields[name] {
				t.Errorf("no metric has the field %s", name)
			}
			delete(fields, name)
		}
	}
	if len(fields) > 0 {
		t.Errorf("status.summary has no %v", slices.Sorted(maps.Keys(fields)))
	}
	types, err := repository.Path("api/bench/metric.go")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(types)
	if err != nil {
		t.Fatal(err)
	}
	if want := "Enum=" + strings.Join(names, ";") + "\n"; !strings.Contains(string(text), want) {
		t.Errorf("%s has no %s", types, want)
	}
}

func TestWhatKindOfFailureEndedARun(t *testing.T) {
	t.Parallel()
	want := map[string]v1alpha1.FailureKind{
		v1alpha1.ReasonImagePullFailed: v1alpha1.FailureInfrastructure, v1alpha1.ReasonUnschedulable: v1alpha1.FailureInfrastructure,
		v1alpha1.ReasonPodRefused: v1alpha1.FailureInfrastructure, v1alpha1.ReasonPodLost: v1alpha1.FailureInfrastructure,
		v1alpha1.ReasonTargetTaken: v1alpha1.FailureInfrastructure, runfile.SurveyUnreachable: v1alpha1.FailureInfrastructure,
		v1alpha1.ReasonInvalidSpec: v1alpha1.FailureBenchmark, v1alpha1.ReasonMountFailed: v1alpha1.FailureBenchmark,
		v1alpha1.ReasonContainerFailed: v1alpha1.FailureBenchmark, runfile.FailureTimeout: v1alpha1.FailureBenchmark,
		runfile.FailureDatabaseNotReady: v1alpha1.FailureBenchmark, v1alpha1.ReasonForbidden: v1alpha1.FailureBenchmark,
		runfile.FailureLoaderCrashed: v1alpha1.FailureBenchmark, runfile.FailureIO: v1alpha1.FailureBenchmark,
	}
	for reason, kind := range want {
		s := &scope{b: gen.Benchmark("demo"), now: noon, outcome: &outcome{phase: v1alpha1.PhaseFailed, reason: reason, message: "because"}}
		setStatus(s, nil)
		if got := s.b.Status.Failure; got != kind {
			t.Errorf("%s: got %q, want %s", reason, got, kind)
		}
	}
	for _, phase := range []v1alpha1.Phase{v1alpha1.PhaseCancelled, v1alpha1.PhaseSucceeded} {
		s := &scope{b: gen.Benchmark("demo"), now: noon, outcome: &outcome{phase: phase, reason: v1alpha1.ReasonPodLost, message: "because"}}
		setStatus(s, nil)
		if got := s.b.Status.Failure; got != "" {
			t.Errorf("a run that is %s has the failure %q", phase, got)
		}
	}
}

func TestARunThatDoesNotEndWellHasNoVerdictOfItsNumbers(t *testing.T) {
	t.Parallel()
	passed := &judge.Judgement{Verdict: bench.VerdictPass}
	for _, tc := range []struct {
		outcome   *outcome
		judgement *judge.Judgement
		want      bench.Verdict
	}{
		{&outcome{phase: v1alpha1.PhaseSucceeded}, passed, bench.VerdictPass},
		{&outcome{phase: v1alpha1.PhaseFailed}, passed, bench.VerdictInconclusive},
		{&outcome{phase: v1alpha1.PhaseCancelled}, nil, bench.VerdictInconclusive},
		{&outcome{phase: v1alpha1.PhaseSucceeded}, nil, bench.VerdictNotEvaluated},
		{nil, nil, bench.VerdictNotEvaluated},
	} {
		if got := verdictOf(&scope{outcome: tc.outcome, loadPart: loadPart{judgement: tc.judgement}}); got != tc.want {
			t.Errorf("%+v, %+v: %s, want %s", tc.outcome, tc.judgement, got, tc.want)
		}
	}
}

// TestALostTargetIsOneEvent: the condition stays until the run ends, and each pass sees it.
func TestALostTargetIsOneEvent(t *testing.T) {
	t.Parallel()
	reconciling := func(reason string) *v1alpha1.NFSBenchmark {
		b := &v1alpha1.NFSBenchmark{Status: v1alpha1.NFSBenchmarkStatus{Message: "taken by x"}}
		if reason != "" {
			meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{
				Type: v1alpha1.ConditionReconciling, Status: metav1.ConditionTrue, Reason: reason,
			})
		}
		return b
	}
	const taken = v1alpha1.ReasonTargetTaken
	for _, tc := range []struct {
		before, after string
		want          bool
	}{
		{"", taken, true},
		{v1alpha1.ReasonPending, taken, true},
		{taken, taken, false},
		{taken, v1alpha1.ReasonPending, false},
		{taken, "", false},
	} {
		got := transitions(reconciling(tc.before), reconciling(tc.after), nil)
		if (len(got) == 1) != tc.want || len(got) == 1 && (got[0].Reason != taken || got[0].Note != "taken by x" || !got[0].Warning) {
			t.Errorf("from %q to %q: %+v", tc.before, tc.after, got)
		}
	}
}
