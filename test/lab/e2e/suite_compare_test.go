package e2e

import (
	"testing"

	"github.com/nfsbench/nfsbench/api/bench"
)

// slower has three clients of one server: two that are alike, and one whose link
// carries a tenth less. Blocks are so small that one more or less in the window is no
// difference.
const slower = `
apiVersion: nfsbench.io/v1alpha1
kind: NFSBenchmarkSuite
metadata:
  name: slower
spec:
  template:
    spec:
      storage:
        export: {servers: ["$1"], path: $export}
      protocol: {version: NFSv3, client: DirectNFS}
      workload:
        raw: {pattern: Read, blockSize: 64Ki, fileSize: 2Mi, jobs: 2, depth: 4}
      run: {durationSeconds: 3, warmupSeconds: 1, baselineSeconds: 0, cooldownSeconds: 0}
  axes:
  - name: link
    values:
    - {name: a}
    - {name: same}
    - {name: tenth, patch: {storage: {export: {servers: ["$2"]}}}}
  repetitions: 4
  blocks: ABBA
  compare:
    baseline: {link: a}
    alpha: "0.1"
    correction: None
    # A busy machine takes some percent from a client, which is no difference of links.
    minimumEffectPercent: 5
    metrics: [Throughput]
`

// TestMeasureSuiteFindsTheSlowerLink compares real links: what is the same is to be called
// so, and a tenth less is to be found.
func TestMeasureSuiteFindsTheSlowerLink(t *testing.T) {
	w := newSuiteWorld(t)
	s := w.apply(t, slower, w.array(t, "slower", 227, "50mbit", "45mbit"))
	done := w.ends(t, s)
	w.sameAsComputed(t, done, map[string][]bench.Outcome{
		"same":  {bench.OutcomeNoDifference, bench.OutcomeNegligible},
		"tenth": {bench.OutcomeWorse},
	})
}
