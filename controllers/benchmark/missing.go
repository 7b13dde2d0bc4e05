package benchmark

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/owned"
	"github.com/nfsbench/nfsbench/controllers/pass"
	"github.com/nfsbench/nfsbench/internal/manifest"
)

// Missing returns what a benchmark that does not exist would wait for, or fail with, before its run: the policy, a
// Secret, a claim, or the class of storage.storageClass. It returns nil if nothing is missing. It creates nothing.
func (r *Reconciler) Missing(ctx context.Context, b *v1alpha1.NFSBenchmark) (*pass.Fact, error) {
	s := &scope{b: b, names: manifest.NamesOf(b), now: r.Clock.Now()}
	err := r.lookForMissing(ctx, s)
	if bad := (*pass.Invalid)(nil); errors.As(err, &bad) {
		return &pass.Fact{Reason: bad.Reason, Message: bad.Error()}, nil
	}
	if err != nil {
		return nil, err
	}
	return s.waiting, nil
}

func (r *Reconciler) lookForMissing(ctx context.Context, s *scope) error {
	if n, err := r.checkPolicy(ctx, s); err != nil || n.Stop {
		return err
	}
	switch st := s.b.Spec.Storage; {
	case st.StorageClass != nil:
		_, err := r.readClass(ctx, s, classAdvice)
		return err
	case st.Claim != nil:
		found, err := owned.Find(ctx, r.Reader, &corev1.PersistentVolumeClaim{ObjectMeta: s.meta(st.Claim.Name)})
		if err == nil && !found {
			s.waiting = noClaim(s.b)
		}
		return err
	default:
		return nil
	}
}

// noClaim says that the claim of a benchmark does not exist.
func noClaim(b *v1alpha1.NFSBenchmark) *fact {
	return &fact{Reason: v1alpha1.ReasonClaimNotFound, Message: fmt.Sprintf("there is no PersistentVolumeClaim %q in "+
		"namespace %q: create it, or correct spec.storage.claim.name", b.Spec.Storage.Claim.Name, b.Namespace)}
}
