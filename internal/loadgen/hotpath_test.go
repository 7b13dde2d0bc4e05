package loadgen

import (
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/loadgen/fileset"
	"github.com/nfsbench/nfsbench/internal/loadgen/target/mem"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// hotWorker gives one worker of a round that lasts for ever.
func hotWorker(tb testing.TB, pattern string, rate int64) *worker {
	tb.Helper()
	plan := testPlan(pattern)
	plan.Workload.Raw.OperationsPerSecond = rate
	tgt := &mem.Target{}
	set, err := fileset.Prepare(tb.Context(), tgt, fileset.Spec{
		Directory: "d", Jobs: 2, Copy: pattern == runfile.PatternCopy,
		FileSizeBytes: plan.Workload.Raw.FileSizeBytes, BlockSizeBytes: plan.Workload.Raw.BlockSizeBytes,
	})
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
	e, err := newEngine(&plan, 0, jobs, time.Now)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = e.release() })
	r := &round{base: time.Now(), to: 1 << 62, stopped: make(chan struct{}), failed: make(chan error, 1)}
	w := e.workers[0]
	w.begin(r)
	return w
}

func patterns() []string {
	return []string{
		runfile.PatternRead, runfile.PatternOverwrite, runfile.PatternCopy, runfile.PatternRandomRead, runfile.PatternRandomWrite,
	}
}

func TestNoOperationAllocates(t *testing.T) {
	for _, pattern := range patterns() {
		t.Run(pattern, func(t *testing.T) {
			w := hotWorker(t, pattern, 0)
			ctx := t.Context()
			at := w.elapsed()
			if n := testing.AllocsPerRun(1000, func() { at, _ = w.operate(ctx, at) }); n != 0 {
				t.Errorf("%v allocations for each operation", n)
			}
			select {
			case err := <-w.round.failed:
				t.Errorf("the operations failed: %v", err)
			default:
			}
		})
	}
}

func TestNoPacedOperationAllocates(t *testing.T) {
	w := hotWorker(t, runfile.PatternRandomRead, 1_000_000)
	ctx := t.Context()
	n := testing.AllocsPerRun(1000, func() {
		w.round.stopping.Store(false)
		w.sleep(time.Microsecond)
		w.operate(ctx, w.engine.rate.Due(w.round.ticket.Add(1)))
	})
	if n != 0 {
		t.Errorf("%v allocations for each operation", n)
	}
}

func BenchmarkOperation(b *testing.B) {
	for _, pattern := range patterns() {
		b.Run(pattern, func(b *testing.B) {
			w := hotWorker(b, pattern, 0)
			ctx := b.Context()
			b.ReportAllocs()
			at := w.elapsed()
			for b.Loop() {
				at, _ = w.operate(ctx, at)
			}
		})
	}
}
