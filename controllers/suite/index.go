package suite

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// IndexRun finds the benchmarks of a run in the cache.
const IndexRun = "suiteRun"

// Indexes gives the values of each field of NFSBenchmark. SetupWithManager adds
// them to the manager's cache; a client without that cache must offer them itself.
func Indexes() map[string]client.IndexerFunc {
	return map[string]client.IndexerFunc{IndexRun: func(obj client.Object) []string {
		if name := obj.GetLabels()[v1alpha1.LabelSuiteRun]; name != "" {
			return []string{name}
		}
		return nil
	}}
}
