// Package experiments builds results that have the figures which people published
// of their own experiments. Tests judge and show them: the output must be what was
// printed. It holds figures only; config/samples repeats the experiments, and each
// file has the name of its sample.
package experiments

import (
	"fmt"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Start is when all results begin.
func Start() time.Time { return time.Date(2017, 6, 1, 12, 0, 0, 0, time.UTC) }

func basePlan(name string) runfile.Plan {
	return runfile.Plan{
		Version: runfile.PlanVersion, Run: runfile.Identity{Name: name}, Clients: 1,
		Schedule: runfile.Schedule{DurationSeconds: 300, Repetitions: 1},
		Database: &runfile.Database{Kind: runfile.DatabaseContainer, DirectNFS: true, User: "sys", Role: "SYSDBA"},
	}
}

// engine is Direct NFS over what an oranfstab says, with keyword as its nfs_version.
func engine(format, keyword string) runfile.Engine {
	e := runfile.Engine{Client: bench.ClientDirectNFS, MountPath: "/opt/oracle/oradata"}
	if err := e.UseOranfstab(fmt.Sprintf(format, keyword)); err != nil {
		panic(err) // the text is in this package
	}
	return e
}

func database(banner string, instances ...string) *runfile.Oracle {
	o := &runfile.Oracle{Banner: banner}
	for i, name := range instances {
		o.Instances = append(o.Instances, runfile.OracleInstance{ID: int32(i + 1), Name: name, Host: "host" + fmt.Sprint(i+1)}) //nolint:gosec // a few
	}
	return o
}

func repetition(index int32, seconds int) runfile.Repetition {
	start := Start().Add(time.Duration(index) * time.Hour)
	return runfile.Repetition{Index: index, Start: start, End: start.Add(time.Duration(seconds) * time.Second)}
}

func result(plan runfile.Plan, load runfile.Load) runfile.Result {
	load.LoopMode = "closed"
	return runfile.Result{
		Version: runfile.ResultVersion, Plan: plan,
		Clients: []runfile.ClientResult{{
			Host: runfile.Host{Name: "loader", Node: "node0", CPUs: 4}, Load: load, Observed: &runfile.Observed{IntervalMilliseconds: 1000},
		}},
	}
}
