package loadgen

import (
	"bytes"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/targettest"
)

// writingPlans are all loads that write, over files so small that each block is written many times, with several
// repetitions.
func writingPlans() map[string]runfile.Plan {
	plans := map[string]runfile.Plan{}
	for _, pattern := range bench.Patterns() {
		p := testPlan(pattern)
		p.Workload.Raw.FileSize = *bench.Bytes(16 * 4096)
		if strings.HasSuffix(string(pattern), "Mixed") {
			p.Workload.Raw.ReadPercent = new(int32(50))
		}
		if !p.Files().Writes {
			continue
		}
		plans[string(pattern)] = p
	}
	slob := slobPlan(bench.SLOBRandomRead, 2, 4)
	slob.Workload.SLOB.UpdatePercent = 50
	plans["SLOB"] = slob
	for name, p := range plans {
		p.Keep = true
		p.Schedule = runfile.Schedule{WarmupSeconds: 1, DurationSeconds: 2, Repetitions: 2}
		plans[name] = p
	}
	return plans
}

// A storage that recognizes what it has already would answer faster than it can write.
func TestEveryWriteDiffersFromWhatIsThere(t *testing.T) {
	t.Parallel()
	for name, plan := range writingPlans() {
		t.Run(name, func(t *testing.T) {
			eachWay(t, func(t bubble) {
				var writes, same atomic.Int64
				tgt := &targettest.Memory{Delay: 4 * time.Millisecond, Watch: func(op, name string, _ int64, before, data []byte) {
					if op != "write" || !strings.HasSuffix(name, ".dat") || len(before) < len(data) {
						return
					}
					writes.Add(1)
					for ; len(data) > 0; before, data = before[target.SectorBytes:], data[target.SectorBytes:] {
						if bytes.Equal(before[:target.SectorBytes], data[:target.SectorBytes]) {
							same.Add(1)
						}
					}
				}}
				for range 2 {
					load, _ := t.run(t.Context(), t.T, plan, tgt)
					v := load.Verification
					if load.Failure != nil || v == nil || v.Wrong() > 0 || v.WrittenBlocksChecked != v.BlocksWritten || v.BlocksInDoubt > 0 {
						t.Fatalf("failure %+v, verification %+v", load.Failure, v)
					}
				}
				if writes.Load() < 1000 || same.Load() > 0 {
					t.Errorf("%d of the sectors of %d overwrites were there already", same.Load(), writes.Load())
				}
			})
		})
	}
}

// spoiler changes the data of some of the reads of the load, and none of the reading back.
type spoiler struct {
	memory
	after  atomic.Bool // the load
	reads  atomic.Int64
	spoilt atomic.Int64
}

func (s *spoiler) Event(e runfile.Event) {
	s.after.Store(s.after.Load() || e.Span == runfile.SpanVerify)
}

func (s *spoiler) target(every int64, spoil func(data []byte)) *targettest.Memory {
	return &targettest.Memory{Delay: 4 * time.Millisecond, Watch: func(op, name string, _ int64, _, data []byte) {
		if op == "read" && strings.HasSuffix(name, ".dat") && !s.after.Load() && s.reads.Add(1)%every == 0 {
			s.spoilt.Add(1)
			spoil(data)
		}
	}}
}

func TestAReadOfTheLoadThatIsWrongFailsTheRun(t *testing.T) {
	t.Parallel()
	zeros := func(data []byte) { clear(data) }
	for name, tc := range map[string]struct {
		pattern bench.RawPattern
		every   int64
		spoil   func([]byte)
		says    string
	}{
		"zeros, in order":   {bench.PatternRead, 1, zeros, "holds zeros"},
		"zeros, at random":  {bench.PatternRandomRead, 50, zeros, "stale)"},
		"zeros, in a copy":  {bench.PatternCopy, 7, zeros, "holds zeros"},
		"zeros, in a mix":   {bench.PatternRandomMixed, 7, zeros, "holds zeros"},
		"one bit of each":   {bench.PatternRead, 1, func(data []byte) { data[100] ^= 1 }, "corrupted)"},
		"the end of a read": {bench.PatternRead, 1, func(data []byte) { clear(data[len(data)-512:]) }, "torn)"},
	} {
		t.Run(name, func(t *testing.T) {
			eachWay(t, func(t bubble) {
				plan := testPlan(tc.pattern)
				plan.Schedule = runfile.Schedule{DurationSeconds: 2, Repetitions: 1}
				if tc.pattern == bench.PatternRandomMixed {
					plan.Workload.Raw.ReadPercent = new(int32(50))
				}
				sp := &spoiler{}
				load, _ := t.run(t.Context(), t.T, plan, sp.target(tc.every, tc.spoil), func(o *Options) { o.Sink = sp })
				v := load.Verification
				if load.Failure == nil || load.Failure.Code != runfile.FailureVerify || !strings.Contains(load.Failure.Message, tc.says) ||
					!strings.Contains(load.Failure.Message, "reads of the load did not give what was written") {
					t.Fatalf("failure %+v, verification %+v", load.Failure, v)
				}
				// Stamps show every read of zeros. Bytes between them are found where all are compared.
				if clears := strings.HasPrefix(name, "zeros"); clears && v.ReadsWrong != sp.spoilt.Load() || v.ReadsWrong == 0 || v.BlocksWrong > 0 {
					t.Errorf("%d of %d wrong reads were found: %+v", v.ReadsWrong, sp.spoilt.Load(), v)
				}
				if e := v.Examples[0]; !e.Read || e.File == "" {
					t.Errorf("the example is %+v", e)
				}
			})
		})
	}
}
