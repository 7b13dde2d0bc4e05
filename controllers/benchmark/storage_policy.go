package benchmark

import (
	"context"
	"errors"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/policy"
)

// admit refuses a benchmark that the policy of the cluster does not allow, before
// anything is created for it. A run that has begun is not stopped by a new policy.
func (r *Reconciler) admit(_ context.Context, s *scope) (next, error) {
	if s.b.Status.StartTime != nil {
		return next{}, nil
	}
	p, err := r.Policy()
	if err != nil {
		return s.wait(v1alpha1.ReasonPolicyInvalid, err.Error()+": ask an administrator to correct policy in the values of "+
			"the chart", soon)
	}
	err = r.checker.Check(p, s.b)
	if denied := (*policy.Denied)(nil); errors.As(err, &denied) {
		return next{}, invalid(v1alpha1.ReasonPolicyDenied, denied)
	}
	return next{}, err
}
