package e2e

import (
	"testing"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/test/kit/measure"
	"github.com/nfsbench/nfsbench/test/lab/ganesha"
)

// nfsAndDNFS is what config/samples/nfs-vs-dnfs compares: the kernel's client and Direct NFS, on one
// path of one server, in turns. Two repetitions claim little, and say so in alpha.
const nfsAndDNFS = `
apiVersion: nfsbench.io/v1alpha1
kind: NFSBenchmarkSuite
metadata:
  name: nfs-and-dnfs
spec:
  template:
    spec:
      storage:
        export: {servers: ["$1"], path: $export}
      protocol: {version: NFSv3, client: Kernel}
      workload:
        raw: {pattern: RandomRead, blockSize: 8Ki, fileSize: 16Mi}
      run: {durationSeconds: 5, warmupSeconds: 1, baselineSeconds: 0, cooldownSeconds: 0}
      pods:
        nodeSelector: {nfsbench.io/kernel-nfs: "yes"}
        tolerations: [{key: nfsbench.io/kernel-nfs, operator: Exists}]
  axes:
  - name: client
    values:
    - {name: nfs}
    - {name: dnfs, patch: {protocol: {client: DirectNFS}}}
  repetitions: 2
  blocks: ABBA
  compare:
    baseline: {client: nfs}
    alpha: "0.4"
    correction: None
    metrics: [MeanLatency]
`

// TestKernelNodeSuiteComparesNFSAndDirectNFS has both clients on one node.
func TestKernelNodeSuiteComparesNFSAndDirectNFS(t *testing.T) {
	newKernelNode(t, newCluster(t))
	a := newArray(t)
	w := newSuiteWorld(t)
	s := w.apply(t, nfsAndDNFS, ganesha.Array{LIFs: a.lifs, Export: a.export})
	done := w.ends(t, s)
	all := w.benchmarks(t, s)
	ranOnce(t, all, 2, 2)
	oneAtATime(t, all)
	for _, b := range all {
		if want := b.Labels[v1alpha1.LabelCell] == "dnfs"; (b.Spec.Protocol.Client == bench.ClientDirectNFS) != want {
			t.Errorf("%s of cell %s has client %s", b.Name, b.Labels[v1alpha1.LabelCell], b.Spec.Protocol.Client)
		}
		verified(t, &b)
	}
	if done.Status.Phase != v1alpha1.SuiteSucceeded || len(done.Status.Comparisons) != 1 {
		t.Fatalf("%s: %+v", suiteState(done), done.Status.Comparisons)
	}
	line := w.table(t, done).Comparisons[0]
	measure.Record(t, "mean latency of dNFS", "µs", line.Mean)
	measure.Record(t, "impact of dNFS against NFS on it", "%", 100*line.Impact)
	if line.Baseline != "nfs" || line.Cell != "dnfs" || len(line.Impacts) != 2 || line.Mean <= 0 {
		t.Errorf("line: %+v", line)
	}
}
