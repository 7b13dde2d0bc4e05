package benchmark

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/internal/policy"
)

// policySource reads the policy in a ConfigMap from the API server each time. The chart changes the ConfigMap before
// the admission policy, so the operator does not refuse by an older policy a benchmark that admission has accepted. The
// file of a mounted ConfigMap would be a minute or two late. policySource is safe for concurrent use.
type policySource struct {
	reader client.Reader
	name   client.ObjectKey

	mu      sync.Mutex
	version string // of the ConfigMap that was decoded last
	policy  policy.Policy
	err     error
}

// PolicyIn returns a function that reads the policy in a ConfigMap.
func PolicyIn(reader client.Reader, configMap client.ObjectKey) func(context.Context) (policy.Policy, error) {
	return (&policySource{reader: reader, name: configMap}).read
}

// read returns the current policy. It returns an error while the policy is gone or invalid: an older policy may allow
// what an administrator removed.
func (s *policySource) read(ctx context.Context) (policy.Policy, error) {
	cm := &corev1.ConfigMap{}
	if err := s.reader.Get(ctx, s.name, cm); err != nil {
		return policy.Policy{}, fmt.Errorf("read the policy: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if cm.ResourceVersion == s.version {
		return s.policy, s.err
	}
	s.version = cm.ResourceVersion
	if s.policy, s.err = policy.Of(cm.Data); s.err != nil {
		s.err = fmt.Errorf("ConfigMap %s: %w", s.name, s.err)
	}
	return s.policy, s.err
}
