package benchmark

import (
	"testing"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/judge"
)

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
		if got := verdictOf(&scope{outcome: tc.outcome, judgement: tc.judgement}); got != tc.want {
			t.Errorf("%+v, %+v: %s, want %s", tc.outcome, tc.judgement, got, tc.want)
		}
	}
}
