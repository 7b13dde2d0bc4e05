package loadgen

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/targettest"
)

// knowing is a target whose streams know their ceiling, and leave in the buffers what was read.
type knowing struct {
	target.Target

	writes *atomic.Int64 // streams that were asked for writes
	err    error
}

func (k knowing) NewStream(ctx context.Context, opt target.StreamOptions) (target.Stream, error) {
	s, err := k.Target.NewStream(ctx, opt)
	return knowingStream{s, k, opt.Slots}, err
}

type knowingStream struct {
	target.Stream

	k     knowing
	slots int
}

func (s knowingStream) Ceiling(_ context.Context, bufs [][]byte, write bool, _, window time.Duration) (int64, error) {
	if len(bufs) != s.slots {
		return 0, errors.New("there is not one buffer for each slot")
	}
	if write {
		s.k.writes.Add(1)
	}
	for _, b := range bufs {
		for i := range b {
			if !write {
				b[i] = 0xee
			}
		}
	}
	return 1000 * window.Milliseconds(), s.k.err
}

// ceilingOf runs a plan on a target whose every stream does 1,000 operations in a millisecond.
func ceilingOf(t *testing.T, plan runfile.Plan, failure error) (load *runfile.Load, writes int64) {
	t.Helper()
	plan.Schedule = runfile.Schedule{DurationSeconds: 1, Repetitions: 1}
	var asked atomic.Int64
	load, _ = runMem(t.Context(), t, plan, &targettest.Memory{Delay: 10 * time.Millisecond}, func(o *Options) {
		o.Ceiling = true
		open := o.Open
		o.Open = func(ctx context.Context) (target.Target, error) {
			inner, err := open(ctx)
			return knowing{inner, &asked, failure}, err
		}
	})
	return load, asked.Load()
}

func TestTheCeilingIsThatOfAllStreams(t *testing.T) {
	t.Parallel()
	for _, pattern := range []bench.RawPattern{
		bench.PatternRead, bench.PatternRandomWrite, bench.PatternRandomMixed, bench.PatternCopy,
	} {
		t.Run(string(pattern), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				plan := testPlan(pattern)
				if pattern == bench.PatternRandomMixed {
					plan.Workload.Raw.ReadPercent = new(int32(50))
				}
				plan.Workload.Raw.Verify = bench.VerifyAll
				load, writes := ceilingOf(t, plan, nil)
				jobs := int64(plan.Workload.Raw.Jobs)
				if load.Failure != nil || load.CeilingPerSecond == nil || *load.CeilingPerSecond != jobs*1_000_000 {
					t.Fatalf("failure %+v, ceiling %v of %d jobs", load.Failure, load.CeilingPerSecond, jobs)
				}
				if only := pattern == bench.PatternRandomWrite; (writes == jobs) != only {
					t.Errorf("%d of %d streams were asked for writes", writes, jobs)
				}
				// What the ceiling left in the buffers is not written.
				if v := load.Verification; v == nil || v.BlocksChecked == 0 || v.Wrong() != 0 {
					t.Errorf("verification %+v", v)
				}
			})
		})
	}
}

func TestALoadRunsWithoutACeiling(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		load, _ := ceilingOf(t, testPlan(bench.PatternRead), errors.New("no loopback"))
		if load.Failure != nil || load.CeilingPerSecond != nil || len(load.Repetitions) == 0 {
			t.Errorf("failure %+v, ceiling %v", load.Failure, load.CeilingPerSecond)
		}
	})
}
