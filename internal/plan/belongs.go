package plan

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Belongs returns an error if a plan is not one of this benchmark: if its identity, number of clients, time, files or
// servers differ.
func Belongs(p runfile.Plan, b *v1alpha1.NFSBenchmark) error {
	run, limit, e := b.Spec.Run, b.Spec.Run.TimeoutSeconds, b.Spec.Storage.Export
	switch {
	case p.Run != identity(b):
		return fmt.Errorf("it is the plan of run %+v", p.Run)
	case p.Clients != max(b.Spec.Clients, 1):
		return fmt.Errorf("it has %d clients, and spec.clients are %d", p.Clients, b.Spec.Clients)
	case limit != nil && p.Schedule.TimeoutSeconds != *limit:
		return fmt.Errorf("its timeout is %d s, and spec.run.timeoutSeconds is %d", p.Schedule.TimeoutSeconds, *limit)
	case p.Schedule.DurationSeconds != run.DurationSeconds || p.Schedule.Repetitions != max(run.Repetitions, 1):
		return fmt.Errorf("its load is %d times %d s, which is not that of spec.run", p.Schedule.Repetitions,
			p.Schedule.DurationSeconds)
	case !equality.Semantic.DeepEqual(p.Workload, b.Spec.Workload):
		return fmt.Errorf("its workload is not spec.workload")
	case e != nil && p.Survey == nil && b.Spec.Protocol.Paths == nil:
		for _, c := range p.Engine.Channels {
			if !slices.Contains(e.Servers, c.Path) {
				return fmt.Errorf("its server %q is not in spec.storage.export.servers", c.Path)
			}
		}
	}
	return nil
}
