package run

import (
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

func TestARunIsAsLongAsItsPlanSays(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	kit := &runfile.SLOB{Users: []int32{2, 4}, Schemas: 1, Kit: &runfile.SLOBKit{Directory: "/kit"}}
	for name, w := range map[string]runfile.Workload{
		"ramp":      {SLOB: &runfile.SLOB{Users: []int32{1, 4, 2}, Schemas: 1}},
		"kit":       {SLOB: kit},
		"calibrate": {Calibrate: &runfile.Calibrate{WarmupRuns: 1}},
	} {
		plan := testPlan()
		plan.Workload = w
		plan.Schedule = runfile.Schedule{BaselineSeconds: 3, WarmupSeconds: 5, DurationSeconds: 60, CooldownSeconds: 7, Repetitions: 3}
		says := plan.ScheduledSteps()
		left, known := (&timeLeft{plan: &plan, connected: true}).at(start)
		if !known || (says.Exact && left != time.Duration(says.Seconds)*time.Second) || left > time.Duration(says.Seconds)*time.Second {
			t.Errorf("%s: %v (%v), and the plan says %+v", name, left, known, says)
		}
		if says.Exact != (name == "ramp") {
			t.Errorf("%s: exact is %v", name, says.Exact)
		}
	}
}
