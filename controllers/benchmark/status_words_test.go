package benchmark

import (
	"testing"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

func TestWhatKindOfFailureEndedARun(t *testing.T) {
	t.Parallel()
	want := map[string]v1alpha1.FailureKind{
		v1alpha1.ReasonImagePullFailed: v1alpha1.FailureInfrastructure, v1alpha1.ReasonUnschedulable: v1alpha1.FailureInfrastructure,
		v1alpha1.ReasonPodRefused: v1alpha1.FailureInfrastructure, v1alpha1.ReasonPodLost: v1alpha1.FailureInfrastructure,
		v1alpha1.ReasonTargetTaken: v1alpha1.FailureInfrastructure, v1alpha1.ReasonArrayUnreachable: v1alpha1.FailureInfrastructure,
		v1alpha1.ReasonInvalidSpec: v1alpha1.FailureBenchmark, v1alpha1.ReasonMountFailed: v1alpha1.FailureBenchmark,
		v1alpha1.ReasonContainerFailed: v1alpha1.FailureBenchmark, v1alpha1.ReasonTimeout: v1alpha1.FailureBenchmark,
		v1alpha1.ReasonDatabaseNotReady: v1alpha1.FailureBenchmark, v1alpha1.ReasonForbidden: v1alpha1.FailureBenchmark,
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
