package benchmark

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/experiments"
	"github.com/nfsbench/nfsbench/test/gen"
)

func TestARunThatFailsWaitsForResultsThatMayStillCome(t *testing.T) {
	t.Parallel()
	underWay, final := runfile.Progress{}, runfile.Progress{Final: true}
	for reason, tc := range map[string]struct {
		progress []runfile.Progress
		ended    time.Duration // since the pods ended
		waits    bool
	}{
		"nothing was ever heard, just now":   {nil, watchDelay - time.Second, true},
		"nothing was ever heard":             {nil, watchDelay, false},
		"all is there":                       {[]runfile.Progress{final, final}, watchDelay, false},
		"a collector may still publish":      {[]runfile.Progress{final, underWay}, resultGrace - time.Second, true},
		"a collector had its time and ended": {[]runfile.Progress{final, underWay}, resultGrace, false},
	} {
		s := &scope{b: gen.Benchmark("demo"), loadPart: loadPart{progress: tc.progress}}
		if _, err := reconcilerWith(t).endEarly(t.Context(), s, outcome{phase: v1alpha1.PhaseFailed}, tc.ended); err != nil {
			t.Fatal(err)
		}
		if waits := s.outcome == nil; waits != tc.waits {
			t.Errorf("%s: waits %v, want %v", reason, waits, tc.waits)
		}
	}
}

// TestARunWhoseResultsAreAllThereHasNotFailed: the cache of a manager that has just
// started may know an old progress and the end of the Job.
func TestARunWhoseResultsAreAllThereHasNotFailed(t *testing.T) {
	t.Parallel()
	result := experiments.Ramp()
	var packed bytes.Buffer
	zw := gzip.NewWriter(&packed)
	if err := errors.Join(json.NewEncoder(zw).Encode(result), zw.Close()); err != nil {
		t.Fatal(err)
	}
	for name, final := range map[string]bool{"all is there": true, "the collector was still at work": false} {
		b := &v1alpha1.NFSBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "demo", UID: "1"}}
		progress, err := json.Marshal(runfile.Progress{Final: final})
		if err != nil {
			t.Fatal(err)
		}
		published := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "result", OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "nfsbench.io/v1alpha1", Kind: "NFSBenchmark", Name: "demo", UID: "1", Controller: new(true)},
			}},
			Data:       map[string]string{runfile.ProgressKey(0): string(progress)},
			BinaryData: map[string][]byte{runfile.ResultKey(0): packed.Bytes()},
		}
		s := &scope{b: b, loadPart: loadPart{plan: &result.Plan, progress: []runfile.Progress{{}}}}
		s.names.Result = "result"
		r := reconcilerWith(t, published)
		if _, err := r.endEarly(t.Context(), s, outcome{phase: v1alpha1.PhaseFailed}, resultGrace); err != nil {
			t.Fatal(err)
		}
		if failed := s.outcome != nil; failed == final {
			t.Errorf("%s: failed %v; %d final results of %d", name, failed, s.finals(), s.plan.Clients)
		}
	}
}

func TestALongLevelIsNotLookedAtEverySecond(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		seconds int32
		missing int
		want    time.Duration
	}{
		{4, 2, time.Second},
		{16, 2, 2 * time.Second},
		{3600, 2, soon},
		{3600, 1, time.Second}, // one client has reported, so the other will soon
	} {
		if got := untilReports(runfile.CapacityLevel{Seconds: tc.seconds}, tc.missing, 2); got != tc.want {
			t.Errorf("level of %d s, %d of 2 clients missing: %v, want %v", tc.seconds, tc.missing, got, tc.want)
		}
	}
}

// A run that was stopped while it filled its files has nothing that could be partial.
func TestOnlyARunThatMeasuredIsPartial(t *testing.T) {
	t.Parallel()
	for want, j := range map[string]*judge.Judgement{
		"": {}, "; what was measured until then is partial": {Summary: &measure.Summary{}},
	} {
		if got := (&scope{loadPart: loadPart{judgement: j}}).partial(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := new(scope).partial(); got != "" {
		t.Errorf("without results: %q", got)
	}
}
