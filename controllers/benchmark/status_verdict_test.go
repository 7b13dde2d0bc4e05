package benchmark

import (
	"testing"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/judge"
)

func TestARunThatDoesNotEndWellHasNoVerdictOfItsNumbers(t *testing.T) {
	t.Parallel()
	passed := &judge.Judgement{Verdict: judge.Pass}
	for _, tc := range []struct {
		outcome   *outcome
		judgement *judge.Judgement
		want      v1alpha1.Verdict
	}{
		{&outcome{phase: v1alpha1.PhaseSucceeded}, passed, v1alpha1.VerdictPass},
		{&outcome{phase: v1alpha1.PhaseFailed}, passed, v1alpha1.VerdictInconclusive},
		{&outcome{phase: v1alpha1.PhaseCancelled}, nil, v1alpha1.VerdictInconclusive},
		{&outcome{phase: v1alpha1.PhaseSucceeded}, nil, v1alpha1.VerdictNotEvaluated},
		{nil, nil, v1alpha1.VerdictNotEvaluated},
	} {
		if got := verdictOf(&scope{outcome: tc.outcome, judgement: tc.judgement}); got != tc.want {
			t.Errorf("%+v, %+v: %s, want %s", tc.outcome, tc.judgement, got, tc.want)
		}
	}
}
