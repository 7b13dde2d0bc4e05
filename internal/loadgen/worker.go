package loadgen

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/nfsbench/nfsbench/internal/loadgen/fileset"
	"github.com/nfsbench/nfsbench/internal/loadgen/recorder"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// worker keeps one I/O of its job outstanding. What is below the line belongs
// to it alone while it runs, and is read when it has ended.
type worker struct {
	engine  *engine
	job     *job
	index   int // of the job
	shard   *recorder.Shard
	buf     []byte
	random  *rand.Rand
	movable bool // the buffer needs only new stamps for another block

	round    *round
	timer    *time.Timer   // open loop
	lastDone time.Duration // when its last counted operation ended
	started  int64         // operations due in the window that were started; open loop
	late     int64         // of them, those that were started after they were due
}

// begin makes the worker ready for a round.
func (w *worker) begin(r *round) {
	w.round, w.lastDone, w.started, w.late = r, 0, 0, 0
	if w.engine.rate != nil && w.timer == nil {
		w.timer = time.NewTimer(time.Hour)
		w.timer.Stop()
	}
}

// run is the hot path. Times are distances from the start of the round.
func (w *worker) run(ctx context.Context, r *round) {
	if w.engine.rate != nil {
		w.runOpen(ctx, r)
		return
	}
	at := w.elapsed()
	for at < r.to && !r.stopping.Load() {
		var ok bool
		if at, ok = w.operate(ctx, at); !ok {
			return
		}
	}
}

// runOpen takes one due time after the other.
func (w *worker) runOpen(ctx context.Context, r *round) {
	for !r.stopping.Load() {
		due := w.engine.rate.Due(r.ticket.Add(1) - 1)
		if due >= r.to || !w.await(due) {
			return
		}
		if _, ok := w.operate(ctx, due); !ok {
			return
		}
	}
}

// await waits until an operation is due and counts its start. It returns false
// when it may not start: the round has ended, or is being ended.
func (w *worker) await(due time.Duration) bool {
	at := w.elapsed()
	late := at > due
	if late && at >= w.round.to {
		return false // dropped
	}
	if !late && !w.sleep(due-at) {
		return false
	}
	if due >= w.round.from {
		w.started++
		if late {
			w.late++
		}
	}
	return true
}

func (w *worker) sleep(d time.Duration) bool {
	w.timer.Reset(d)
	select {
	case <-w.timer.C:
		return true
	case <-w.round.stopped:
		w.timer.Stop()
		return false
	}
}

// operate does the next operation of the pattern, whose latency counts from at,
// and returns when it ended.
func (w *worker) operate(ctx context.Context, at time.Duration) (time.Duration, bool) {
	block := w.block()
	switch w.engine.raw.Pattern {
	case runfile.PatternRead, runfile.PatternRandomRead:
		return w.read(ctx, block, at)
	case runfile.PatternCopy:
		at, ok := w.read(ctx, block, at)
		if !ok {
			return at, false
		}
		return w.write(ctx, block, at)
	default:
		return w.write(ctx, block, at)
	}
}

// block gives the number of the next block.
func (w *worker) block() int64 {
	blocks := w.engine.raw.FileSizeBytes / w.engine.raw.BlockSizeBytes
	switch w.engine.raw.Pattern {
	case runfile.PatternRandomRead, runfile.PatternRandomWrite:
		return w.random.Int64N(blocks)
	default:
		return int64((w.job.next.Add(1) - 1) % uint64(blocks))
	}
}

func (w *worker) read(ctx context.Context, block int64, at time.Duration) (time.Duration, bool) {
	f, off := w.job.Main, block*int64(len(w.buf))
	_, err := f.ReadAt(ctx, w.buf, off)
	end := w.elapsed()
	w.record(recorder.Read, at, end, err)
	if err != nil {
		w.fail(ctx, fmt.Errorf("read %q at offset %d: %w", f.Name, off, err))
	}
	return end, err == nil
}

// write overwrites one block. Making the data is not part of the latency, but
// of an open loop's waiting it is.
func (w *worker) write(ctx context.Context, block int64, at time.Duration) (time.Duration, bool) {
	f, off := w.writes(), block*int64(len(w.buf))
	gen := f.Tracker.Begin(block)
	// A copy has just read the base data of this very place.
	if !w.movable && f != w.job.Copy {
		f.Data.Base(w.buf, off)
	}
	f.Data.Stamp(w.buf, off, gen)
	if w.engine.rate == nil || f == w.job.Copy {
		at = w.elapsed()
	}
	err := f.WriteAt(ctx, w.buf, off)
	end := w.elapsed()
	f.Tracker.End(block, err == nil)
	w.record(recorder.Write, at, end, err)
	if err != nil {
		w.fail(ctx, fmt.Errorf("write %q at offset %d: %w", f.Name, off, err))
	}
	return end, err == nil
}

// fail ends the round, unless the I/O failed because we cancelled it.
func (w *worker) fail(ctx context.Context, err error) {
	if ctx.Err() == nil {
		w.round.fail(err)
	}
}

// record counts an operation in the window in which it ended, or not at all
// when that was after the last one.
func (w *worker) record(d recorder.Direction, at, end time.Duration, err error) {
	phase := recorder.Measure
	switch {
	case end >= w.round.to && err == nil:
		return
	case end < w.round.from:
		phase = recorder.Warmup
	default:
		w.lastDone = end
	}
	if err != nil {
		w.shard.RecordError(phase, d)
		return
	}
	w.shard.Record(phase, d, end-at, len(w.buf))
}

// writes gives the file that this worker writes to, or nil.
func (w *worker) writes() *fileset.File {
	switch w.engine.raw.Pattern {
	case runfile.PatternCopy:
		return w.job.Copy
	case runfile.PatternOverwrite, runfile.PatternRandomWrite:
		return w.job.Main
	default:
		return nil
	}
}

func (w *worker) elapsed() time.Duration { return w.engine.now().Sub(w.round.base) }
