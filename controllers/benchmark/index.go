package benchmark

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// The fields by which the reconciler looks benchmarks up in its cache. Without
// them each pass would look through all benchmarks there are, finished ones too.
const (
	IndexTarget = "target" // a key of the targets that an unfinished one wants
	IndexUID    = "uid"
)

// Indexes gives the values of each field. SetupWithManager adds them to the
// manager's cache; a client without that cache must offer them itself.
func Indexes() map[string]client.IndexerFunc {
	return map[string]client.IndexerFunc{IndexTarget: indexTargets, IndexUID: indexUID}
}

func indexTargets(obj client.Object) []string {
	b, ok := obj.(*v1alpha1.NFSBenchmark)
	if !ok || isFinished(b) {
		return nil
	}
	return knownKeys(b)
}

func indexUID(obj client.Object) []string { return []string{string(obj.GetUID())} }

// withUID finds a benchmark by its identity; it is not to be changed.
func (r *Reconciler) withUID(ctx context.Context, uid string) ([]v1alpha1.NFSBenchmark, error) {
	list := &v1alpha1.NFSBenchmarkList{}
	err := r.Client.List(ctx, list, client.MatchingFields{IndexUID: uid}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("find the benchmark with UID %q: %w", uid, err)
	}
	return list.Items, nil
}
