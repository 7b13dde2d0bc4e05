package e2e

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
)

func inNamespace(b *v1alpha1.NFSBenchmark) client.ListOption { return client.InNamespace(b.Namespace) }

func loadJob(b *v1alpha1.NFSBenchmark) string { return manifest.NamesOf(b).Load }

// TestFaultOfOneRunEndsClearlyOrNotAtAll breaks one thing of each run. Each kind of
// fault is here once; in which span of a run it happens is tested in
// internal/collect and test/integration.
func TestFaultOfOneRunEndsClearlyOrNotAtAll(t *testing.T) {
	t.Parallel()
	needNodeHere(t, newCluster(t))
	for _, group := range []map[string]func(*plot){
		loaderKilled(), collectorKilled(), deletedByHand(), storageFaults(),
	} {
		for name, fault := range group {
			t.Run(name, func(t *testing.T) { fault(newPlot(t, 1)) })
		}
	}
}

// jobKind is that of Jobs, of which these tests need the metadata only.
var jobKind = batchv1.SchemeGroupVersion.WithKind("Job")
