package plan_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

func TestAPlanOfAnotherBenchmarkDoesNotBelong(t *testing.T) {
	b := gen.Benchmark("demo", gen.UID("uid-1"), gen.Clients(2))
	b.Spec.Run.TimeoutSeconds = new(int32(600))
	servers := b.Spec.Storage.Export.Servers
	for reason, change := range map[string]func(*runfile.Plan){
		"":                 func(*runfile.Plan) {},
		"another run":      func(p *runfile.Plan) { p.Run.UID = "uid-2" },
		"more clients":     func(p *runfile.Plan) { p.Clients = 1024 },
		"more time":        func(p *runfile.Plan) { p.Schedule.TimeoutSeconds = 604800 },
		"more windows":     func(p *runfile.Plan) { p.Schedule.Repetitions = 1000 },
		"longer windows":   func(p *runfile.Plan) { p.Schedule.DurationSeconds = 3600 },
		"larger files":     func(p *runfile.Plan) { p.Workload.Raw.FileSize = resource.MustParse("1Ti") },
		"another server":   func(p *runfile.Plan) { p.Engine.Channels = runfile.ChannelsTo(servers[0], "203.0.113.66") },
		"another workload": func(p *runfile.Plan) { p.Workload = bench.Workload{} },
	} {
		p, err := plan.Build(b, target(servers...))
		if err != nil {
			t.Fatal(err)
		}
		b := b.DeepCopy()
		b.Spec.Workload = *p.Workload.DeepCopy() // with the defaults of the CRD
		change(&p)
		if err := plan.Belongs(p, b); (err != nil) != (reason != "") {
			t.Errorf("%q: %v", reason, err)
		}
	}
}
