package integration

import (
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

// TestSuspendDuringASurveyStopsIt: others may have the target then, and must
// not find that somebody moves its volume.
func TestSuspendDuringASurveyStopsIt(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		published *runfile.Survey
		told      int // events that name the move
	}{
		"Asking":   {nil, 0},
		"Moving":   {new(moving(40)), 1},
		"Answered": {new(gen.Survey("/vol/old", "10.97.0.61", "10.97.1.61")), 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			b, _ := w.asking(ontap(""))
			if tc.published != nil {
				w.surveyed(b, *tc.published)
			}
			w.update("demo", func(b *v1alpha1.NFSBenchmark) { b.Spec.Suspend = true })
			b = w.finish("demo")
			w.wantPhase(b, v1alpha1.PhasePending, "spec.suspend")
			w.wantCondition(b, v1alpha1.ConditionPreflightPassed, "Unknown", v1alpha1.ReasonSuspended)
			if left := w.ours(); len(left) > 0 || w.leases(b) > 0 {
				t.Errorf("these are left: %q, and %d leases", left, w.leases(b))
			}
			if n := w.rec.count(v1alpha1.ReasonMoving); n != tc.told {
				t.Errorf("%d events tell of a move, want %d: %q", n, tc.told, w.rec.events)
			}
			w.update("demo", func(b *v1alpha1.NFSBenchmark) { b.Spec.Suspend = false })
			w.wantPhase(w.settle("demo"), v1alpha1.PhaseProvisioning, "asking the array")
			w.wantPhase(w.finish("demo"), v1alpha1.PhaseSucceeded)
		})
	}
}

// TestARunThatIsSuspendedInTheMomentOfItsStartIsStopped: the change of the spec
// makes the status write of that pass fail, which would have dated the start.
func TestARunThatIsSuspendedInTheMomentOfItsStartIsStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("demo")
	w.faults.fail = func(write string) error {
		if strings.HasPrefix(write, "create Job") {
			w.update("demo", func(b *v1alpha1.NFSBenchmark) { b.Spec.Suspend = true })
		}
		return nil
	}
	w.silent = true // a pass that cannot write leaves the status of the old spec
	for range 4 {
		if _, err := w.pass("demo"); err != nil {
			t.Fatal(err)
		}
	}
	w.silent, w.faults.fail = false, nil
	b := w.get("demo")
	if b.Status.StartTime == nil && w.loadJob(b) != nil {
		t.Errorf("the load runs, and the status says %s: %s", b.Status.Phase, b.Status.Message)
	}
	w.wantPhase(w.finish("demo"), v1alpha1.PhaseCancelled, "spec.suspend")
}
