package loadgen

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/targettest"
)

// aboutTheTest are the findings about what a run of these tests lacks: counters, links, NFS, and large files.
var aboutTheTest = []judge.Code{judge.NotCollected, judge.WireLimitUnknown, judge.NotNFS, judge.CacheSuspected}

// A storage that answers each I/O in the same time, with what was written, gives a run without a finding about it.
func TestACleanStorageHasNoFinding(t *testing.T) {
	t.Parallel()
	for _, pattern := range bench.Patterns() {
		for _, perSecond := range []int64{0, 20} {
			t.Run(fmt.Sprintf("%s/%d a second", pattern, perSecond), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					plan := testPlan(pattern)
					plan.Schedule = runfile.Schedule{BaselineSeconds: 5, WarmupSeconds: 5, DurationSeconds: 60, CooldownSeconds: 5, Repetitions: 1}
					if perSecond > 0 {
						plan.Workload.Raw.OperationsPerSecond = new(perSecond)
					}
					if pattern == bench.PatternMixed || pattern == bench.PatternRandomMixed {
						plan.Workload.Raw.ReadPercent = new(int32(70))
					}
					load, _ := runMem(t.Context(), t, plan, &targettest.Memory{Delay: 100 * time.Millisecond})
					j := judge.Judge(runfile.Result{
						Version: runfile.ResultVersion, Plan: plan, Clients: []runfile.ClientResult{{Load: *load}},
					})
					for _, f := range j.Findings {
						if !slices.Contains(aboutTheTest, f.Code) {
							t.Errorf("%s: %s", f.Code, f.Message)
						}
					}
				})
			})
		}
	}
}
