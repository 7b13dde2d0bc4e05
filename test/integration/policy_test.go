package integration

import (
	"errors"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/benchmark"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/policy"
	"github.com/nfsbench/nfsbench/test/gen"
)

// TestABenchmarkThatThePolicyRefusesCreatesNothing, also where no admission policy told the
// user so when the benchmark was created.
func TestABenchmarkThatThePolicyRefusesCreatesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var broken error
	allowed := policy.Default()
	w.r = benchmark.NewReconciler(benchmark.Options{
		Client: w.faults.cached(w.c), Reader: w.faults.direct(w.c), Recorder: w.rec, Clock: w.clock,
		Images: manifest.Images{NFSBench: "nfsbench:test"},
		Policy: func() (policy.Policy, error) { return allowed, broken },
	})
	w.create("kernel", gen.Kernel, gen.Export("/vol/hr", "198.51.100.1"))
	if s := w.settle("kernel").Status; s.Phase != v1alpha1.PhaseFailed || !strings.Contains(s.Message, "policy.exports") {
		t.Errorf("phase %s: %s", s.Phase, s.Message)
	}
	if left := w.ours(); len(left) > 0 {
		t.Errorf("it made %v", left)
	}

	broken = errors.New("policy.yaml: unknown field")
	w.create("waits")
	if s := w.settle("waits").Status; s.Phase != v1alpha1.PhasePending || !strings.Contains(s.Message, "unknown field") {
		t.Errorf("with a policy that cannot be read: phase %s: %s", s.Phase, s.Message)
	}
	broken = nil
	if s := w.settle("waits").Status; s.Phase == v1alpha1.PhasePending || strings.Contains(s.Message, "unknown field") {
		t.Errorf("with the policy corrected: phase %s: %s", s.Phase, s.Message)
	}
}
