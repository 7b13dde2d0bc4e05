package e2e

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/test/lab/ganesha"
)

// nightly is a suite with a schedule, for people in a hurry.
const nightly = `
apiVersion: nfsbench.io/v1alpha1
kind: NFSBenchmarkSuite
metadata:
  name: nightly
spec:
  template:
    spec:
      storage: {embedded: {size: 256Mi}}
      protocol: {version: NFSv3, client: DirectNFS}
      workload:
        raw: {pattern: Read, blockSize: 64Ki, fileSize: 8Mi}
      run: {durationSeconds: 1, warmupSeconds: 0, baselineSeconds: 0, cooldownSeconds: 0}
  repetitions: 2
  schedule:
    cron: "* * * * *"
    historyLimit: 1
  regression: {alpha: "0.5", correction: None, metrics: [Throughput], minimumEffectPercent: 95}
`

// TestSuiteWithAScheduleRunsByItself waits for two runs, of which one may stay.
func TestSuiteWithAScheduleRunsByItself(t *testing.T) {
	w := newSuiteWorld(t)
	s := w.apply(t, nightly, ganesha.Array{})
	w.reaches(t, s, "phase Scheduled", func(s *v1alpha1.NFSBenchmarkSuite) bool {
		return s.Status.Phase == v1alpha1.SuiteScheduled || s.Status.Phase == v1alpha1.SuiteRunning
	})
	var runs []string
	for len(runs) < 2 {
		poll(t, func() (bool, string) {
			now := w.suite(t, s)
			r := now.Status.Run
			if r == nil || r.CompletionTime == nil || len(runs) > 0 && runs[len(runs)-1] == r.Name {
				return false, "no further run has ended: " + suiteState(now)
			}
			if r.Succeeded != 2 || r.Failed != 0 {
				t.Errorf("run %s: %+v", r.Name, r)
			}
			runs = append(runs, r.Name)
			return true, ""
		})
	}
	w.patchSuite(t, s, `{"spec":{"schedule":{"suspend":true}}}`)
	poll(t, func() (bool, string) {
		n := len(w.workflows(t, s))
		return n == 1 && len(w.benchmarks(t, s)) == 2, "more than one run is kept"
	})
	now := w.reaches(t, s, "phase Suspended", func(s *v1alpha1.NFSBenchmarkSuite) bool {
		return s.Status.Phase == v1alpha1.SuiteSuspended
	})
	// The newest one, and the accepted one: the first, which may have ended between two looks.
	h := now.Status.History
	if len(h) != 2 || h[0].Accepted || !h[1].Accepted || !h[1].CompletionTime.Before(h[0].CompletionTime) {
		t.Fatalf("history %+v; want the newest run, and the accepted one before it", h)
	}
	if now.Status.Regression == nil {
		t.Errorf("no regression; want %s held against %s", h[0].Run, h[1].Run)
	}
	if meta.IsStatusConditionTrue(now.Status.Conditions, v1alpha1.ConditionStalled) {
		t.Errorf("a suspended schedule is stalled: %s", suiteState(now))
	}
}
