package benchmark

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// TestALostTargetIsOneEvent: the condition stays until the run ends, and each pass sees it.
func TestALostTargetIsOneEvent(t *testing.T) {
	t.Parallel()
	reconciling := func(reason string) *v1alpha1.NFSBenchmark {
		b := &v1alpha1.NFSBenchmark{}
		if reason != "" {
			meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{
				Type: v1alpha1.ConditionReconciling, Status: metav1.ConditionTrue, Reason: reason, Message: "taken by x",
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
