package loadgen

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen/content"
	"github.com/nfsbench/nfsbench/internal/loadgen/fileset"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

func TestTheBuffersOfALoadAreThoseThatItsNeedCounts(t *testing.T) {
	scans, copies := slobPlan(bench.SLOBFullTableScan, 5), testPlan(bench.PatternCopy)
	scans.Workload.SLOB.ReadAhead, copies.Workload.Raw.Depth = 3, 7
	for name, plan := range map[string]runfile.Plan{
		"copies": copies, "scans": scans, "users": slobPlan(bench.SLOBRandomRead, 130), "calibration": calibratePlan(1),
	} {
		e, err := makeEngine(&plan)
		if err != nil {
			t.Fatal(err)
		}
		var bytes int64
		for i := range e.workers {
			switch w := &e.workers[i]; {
			case w.user == nil:
				bytes += int64(len(w.buf))
			case w.user.slot < e.users.most: // others never work
				bytes += int64(len(w.user.whole))
			}
		}
		if n := needOf(&plan); n.buffers != bytes {
			t.Errorf("%s: the workers have %d bytes, and the need counts %d", name, bytes, n.buffers)
		}
		if err := e.release(); err != nil {
			t.Error(err)
		}
	}
}

func makeEngine(plan *runfile.Plan) (*engine, error) {
	jobs := make([]fileset.Job, plan.Files().Count)
	if plan.Workload.Raw == nil {
		return newUserEngine(plan, 0, jobs, 3, time.Now)
	}
	f := &fileset.File{Data: content.NewPool(1).File("f")}
	for i := range jobs {
		jobs[i] = fileset.Job{Main: f, Copy: f}
	}
	return newEngine(plan, 0, jobs, time.Now)
}

func TestALoadThatNeedsMoreMemoryThanThereIsIsRefused(t *testing.T) {
	buffers, state := testPlan(bench.PatternRead), testPlan(bench.PatternOverwrite)
	buffers.Workload.Raw.Depth, buffers.Workload.Raw.BlockSize, buffers.Workload.Raw.FileSize = 512, bench.Bytes(1<<20), *bench.Bytes(1 << 30)
	state.Workload.Raw.FileSize = *bench.Bytes(200_000_000_000 / 4096 * 4096)
	for advice, plan := range map[string]runfile.Plan{"depth": buffers, "make the files smaller": state} {
		need := needOf(&plan).total()
		for _, limit := range []int64{0, need, need - 1} {
			_, err := New(Options{Plan: plan, MemoryBytes: limit})
			refused := limit == need-1
			if refused != (err != nil) {
				t.Errorf("with %d of %d bytes: %v", limit, need, err)
			}
			for _, want := range []string{"workload.raw", fmt.Sprint(need), fmt.Sprint(limit), advice, "spec.pods.resources.limits.memory"} {
				if refused && !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in: %v", want, err)
				}
			}
		}
	}
}
