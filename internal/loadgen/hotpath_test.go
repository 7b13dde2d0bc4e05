package loadgen

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen/fileset"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
	allocations "github.com/nfsbench/nfsbench/test/kit/memory"
	"github.com/nfsbench/nfsbench/test/targettest"
)

// hotEngine gives an engine in a level that lasts forever.
func hotEngine(tb testing.TB, pattern bench.RawPattern, rate int64) *engine {
	tb.Helper()
	tgt, plan := &targettest.Memory{ThreadCount: 2}, testPlan(pattern)
	plan.Workload.Raw.OperationsPerSecond = new(rate)
	if strings.HasSuffix(string(pattern), "Mixed") {
		plan.Workload.Raw.ReadPercent = new(int32(50))
	}
	plan.Workload.Raw.Jobs = 2
	return hot(tb, tgt, plan, nil, func(jobs []fileset.Job) (*engine, error) { return newEngine(&plan, 0, jobs, time.Now) })
}

// hot gives an engine in a level that lasts forever, over files that are filled.
func hot(tb testing.TB, tgt target.Target, plan runfile.Plan, step *runfile.Step, build func([]fileset.Job) (*engine, error)) *engine {
	tb.Helper()
	set, err := fileset.Prepare(tb.Context(), tgt, filesetOf(&plan, 0))
	if err != nil {
		tb.Fatal(err)
	}
	if err := set.Fill(tb.Context(), func(int64) {}); err != nil {
		tb.Fatal(err)
	}
	jobs, err := set.Open(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	e, err := build(jobs)
	if err != nil {
		tb.Fatal(err)
	}
	if err := e.open(tb.Context(), tgt); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = e.release() })
	e.take(step)
	e.load = newLevelLoad(time.Now(), 0, 1<<62)
	for i := range e.workers {
		e.workers[i].begin(e.load)
	}
	return e
}

// checkAllocations lets a stream of an engine do operations, none of which may allocate or fail.
func checkAllocations(t *testing.T, e *engine, stream int) {
	t.Helper()
	n := allocations.PerOperation(100, 4100, func(operations int) {
		b := &budget{Driver: e.drivers[stream].ready()}
		b.left.Store(int64(operations))
		e.streams[stream].Run(t.Context(), b)
	})
	if n > 0.001 {
		t.Errorf("%v allocations for each operation", n)
	}
	select {
	case err := <-e.load.failed:
		t.Errorf("the operations failed: %v", err)
	default:
	}
}

// budget allows a worker or a stream a number of further operations.
type budget struct {
	target.Driver
	left atomic.Int64
}

func (b *budget) Next(io *target.IO) bool { return b.left.Add(-1) >= 0 && b.Driver.Next(io) }

func TestNoOperationAllocates(t *testing.T) {
	for _, pattern := range bench.Patterns() {
		for name, rate := range map[string]int64{"closed": 0, "open": 1_000_000} {
			t.Run(string(pattern)+"/"+name, func(t *testing.T) {
				e := hotEngine(t, pattern, rate)
				checkAllocations(t, e, 1)
			})
		}
	}
}

func TestNoOperationOfASearchAllocates(t *testing.T) {
	for _, arrivals := range []bench.Arrivals{bench.ArrivalsFixed, bench.ArrivalsPoisson} {
		for name, load := range userLoads() {
			plan, step := load()
			if plan.Workload.SLOB == nil {
				continue
			}
			t.Run(string(arrivals)+"/"+name, func(t *testing.T) {
				plan.Workload.SLOB.Capacity = &bench.Capacity{Arrivals: arrivals}
				step.Kind, step.OperationsPerSecond = runfile.StepRate, 1_000_000
				e := hotUsers(t, &targettest.Memory{ThreadCount: 2}, plan, step)
				checkAllocations(t, e, 0)
			})
		}
	}
}

func benchmarkDriver(b *testing.B, e *engine) {
	b.Helper()
	d := e.drivers[0].ready()
	var io target.IO
	b.ReportAllocs()
	for b.Loop() {
		d.Next(&io)
		d.Done(&io)
	}
}

// BenchmarkEngine measures what the engine adds to each operation of a stream.
func BenchmarkEngine(b *testing.B) {
	for _, pattern := range bench.Patterns() {
		b.Run(string(pattern), func(b *testing.B) {
			benchmarkDriver(b, hotEngine(b, pattern, 0))
		})
	}
}

// hotUsers gives an engine of users in a step that lasts forever.
func hotUsers(tb testing.TB, tgt target.Target, plan runfile.Plan, step runfile.Step) *engine {
	tb.Helper()
	return hotUsersOver(tb, tgt, 0, plan, step)
}

func hotUsersOver(tb testing.TB, tgt target.Target, channels int, plan runfile.Plan, step runfile.Step) *engine {
	tb.Helper()
	return hot(tb, tgt, plan, &step, func(jobs []fileset.Job) (*engine, error) {
		return newUserEngine(&plan, 0, jobs, channels, time.Now)
	})
}

func userLoads() map[string]func() (runfile.Plan, runfile.Step) {
	users := runfile.Step{Kind: runfile.StepUsers, Users: 4}
	return map[string]func() (runfile.Plan, runfile.Step){
		"random reads": func() (runfile.Plan, runfile.Step) { return slobPlan(bench.SLOBRandomRead, 4), users },
		"updates": func() (runfile.Plan, runfile.Step) {
			p := slobPlan(bench.SLOBRandomRead, 4)
			p.Workload.SLOB.UpdatePercent = 50
			return p, users
		},
		"scans": func() (runfile.Plan, runfile.Step) { return slobPlan(bench.SLOBFullTableScan, 4), users },
		"calibration": func() (runfile.Plan, runfile.Step) {
			return calibratePlan(1), runfile.Step{Kind: runfile.StepSmallReads, Users: 16}
		},
	}
}

func TestNoOperationOfAUserAllocates(t *testing.T) {
	for name, load := range userLoads() {
		t.Run(name, func(t *testing.T) {
			plan, step := load()
			e := hotUsers(t, &targettest.Memory{ThreadCount: 2}, plan, step)
			checkAllocations(t, e, 0)
		})
	}
}

func BenchmarkUser(b *testing.B) {
	for name, load := range userLoads() {
		b.Run(name, func(b *testing.B) {
			plan, step := load()
			benchmarkDriver(b, hotUsers(b, &targettest.Memory{ThreadCount: 2}, plan, step))
		})
	}
}
