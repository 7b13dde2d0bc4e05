package run

import (
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

func TestARunIsAsLongAsItsPlanSays(t *testing.T) {
	kit := &bench.SLOBWorkload{Users: []int32{2, 4}, Schemas: 1, Kit: &bench.SLOBKit{Directory: "/kit"}}
	for name, w := range map[string]bench.Workload{
		"ramp":      {SLOB: &bench.SLOBWorkload{Users: []int32{1, 4, 2}, Schemas: 1}},
		"kit":       {SLOB: kit},
		"calibrate": {Calibrate: &bench.CalibrateWorkload{WarmupRuns: new(int32(1))}},
	} {
		plan := testPlan()
		plan.Workload = w
		plan.Schedule = runfile.Schedule{BaselineSeconds: 3, WarmupSeconds: 5, DurationSeconds: 60, CooldownSeconds: 7, Repetitions: 3}
		says := plan.ScheduledSteps()
		total := newScript(&plan).Total()
		if says.Exact && total != time.Duration(says.Seconds)*time.Second || total > time.Duration(says.Seconds)*time.Second {
			t.Errorf("%s: %v, and the plan says %+v", name, total, says)
		}
		if says.Exact != (name == "ramp") {
			t.Errorf("%s: exact is %v", name, says.Exact)
		}
	}
}
