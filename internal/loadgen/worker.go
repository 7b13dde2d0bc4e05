package loadgen

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen/content"
	"github.com/nfsbench/nfsbench/internal/loadgen/fileset"
	"github.com/nfsbench/nfsbench/internal/loadgen/recorder"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// worker keeps one I/O of its job outstanding. It defines that I/O (next) and records its result (done), for
// the target's stream that performs the I/O (driver). The fields below the line belong to the caller of next
// and done; the engine reads them after the end of the level.
type worker struct {
	engine  *engine
	job     *job
	index   int // of the job
	buf     []byte
	source  rand.PCG
	random  rand.Rand // of source
	movable bool      // the buffer needs only new stamps for another block
	user    *user     // nil in a raw load
	idle    bool      // has no I/O in this level
	turn    uint64    // counts reads, from a different number in each worker; see check
	checked int64     // reads that were checked, of all levels

	load    *levelLoad
	block   int64         // current block
	at      time.Duration // start of the current latency
	due     time.Duration // when the next operation is due; open loop
	waiting bool          // waiting until due
	half    bool          // a copy or an update has read the block and must write it
	updates bool          // the current operation is an update
	// overwrites reports that the current operation overwrites a block without reading it.
	overwrites bool
	claiming   bool          // the current operation waits for a block that nobody writes to
	gen        uint64        // of the block that is claimed for a write
	oldest     uint64        // generation that the current read may find
	tainted    bool          // the buffer may lack the base data of a file, under the stamps
	overdue    bool          // the current operation could not start at its due time; open loop
	lastDone   time.Duration // when its last counted operation ended
	last       *thread       // where its last I/O ended
	started    int64         // operations due in the window that started; open loop
	late       int64         // of these, the number that started after their due time

	_ [cacheLines]byte // another processor may use the neighbour
}

const cacheLines = 128 // bytes; two, because they are fetched in pairs

// thread is the state of one goroutine that calls next and done.
type thread struct {
	shard *recorder.Shard
	gaps  recorder.Gaps
	path  string // the path of its I/O; empty if unknown
	// The end of one I/O is the start of the next one in the same slot, which saves a reading of the clock. slot
	// is -1 or the slot whose I/O ended last, at ended. A slot that has since moved to another thread ended its
	// last I/O there.
	slot  int
	ended time.Duration

	_ [cacheLines]byte
}

// longestWait bounds the wait that next requests, so that a worker notices the end of a level.
const longestWait = 250 * time.Millisecond

// begin prepares the worker for a level.
func (w *worker) begin(on *levelLoad) {
	w.load = on
	w.waiting, w.half, w.updates, w.claiming = false, false, false, false
	w.lastDone, w.started, w.late = 0, 0, 0
	if w.user != nil {
		w.user.begin()
	}
}

// next fills in the next I/O of the pattern, or the time to wait before it. It returns false if there is
// none: the level has ended, or is being ended.
func (w *worker) next(io *target.IO, l *thread) bool {
	io.Wait = 0
	// In a search for capacity, the write of an update is due like any other I/O.
	if w.half && (w.engine.rate == nil || w.engine.copies) {
		w.toWrite(io, w.writes())
		w.at = w.elapsed()
		return true
	}
	if w.idle || w.load.stopping.Load() {
		return false
	}
	now := l.ended
	if l.slot != io.Slot || w.last != l {
		now = w.elapsed()
	}
	l.slot = -1
	if rate := w.engine.rate; rate == nil {
		if now >= w.load.to {
			return false
		}
		w.at = now
	} else if more, wait := w.await(now); !more || wait > 0 {
		io.Wait = wait
		return more
	}
	return w.fill(io, now)
}

// fill fills in the next I/O if it may start, or the remaining think time of its user.
func (w *worker) fill(io *target.IO, now time.Duration) bool {
	if w.half {
		w.toWrite(io, w.writes())
		w.count()
		return true
	}
	if !w.claiming {
		if w.user != nil {
			if io.Wait = w.pause(now); io.Wait > 0 {
				return true
			}
			w.draw()
		}
		w.block = w.choose()
		if reads := w.engine.reads; reads > 0 {
			w.overwrites = w.random.IntN(100) >= reads
		}
	}
	if f := w.writes(); f != nil && !w.claim(f) {
		w.claiming, io.Wait = true, claimWait
		// An open loop counts an operation without time to start as never started.
		w.waiting, w.overdue = w.engine.rate != nil, true
		return now < w.load.to
	}
	w.claiming = false
	w.count()
	if !w.overwrites {
		io.Write, io.File, io.Buf, io.Offset = false, w.job.Main.File, w.buf, w.block*int64(len(w.buf))
		w.oldest = w.job.Main.Tracker.Oldest(w.block)
		return true
	}
	w.toWrite(io, w.job.Main)
	if w.engine.rate == nil {
		w.at = w.elapsed()
	}
	return true
}

const (
	claimTries = 8 // blocks that a worker tries before it waits
	claimWait  = 100 * time.Microsecond
)

// claim reserves the current block for a write of this worker alone until End or Cancel, or takes another
// block. A copy and an update keep the block that they claimed before the read.
func (w *worker) claim(f *fileset.File) (ok bool) {
	for range claimTries {
		if w.gen, ok = f.Tracker.Begin(w.block); ok {
			return true
		}
		w.block = w.choose()
	}
	return false
}

// cancel gives up the claim of an operation whose write was not sent.
func (w *worker) cancel() {
	if w.half {
		w.writes().Tracker.Cancel(w.block)
		w.half = false
	}
}

// await reports whether an open loop may start another operation, and returns the time until it is due.
// Waiting workers look up at multiples of longestWait, so that they notice the end of the level; at common
// moments this costs the fewest wake-ups.
func (w *worker) await(now time.Duration) (more bool, wait time.Duration) {
	if !w.waiting {
		w.due = w.engine.rate.due(w.load.ticket.Add(1) - 1)
		if w.due >= w.load.to {
			return false, 0
		}
		if w.overdue = now > w.due; w.overdue && now >= w.load.to {
			w.waiting = true
			return false, 0 // dropped
		}
	}
	if w.waiting = now < w.due; w.waiting {
		return true, min(w.due, now.Truncate(longestWait)+longestWait) - now
	}
	return true, 0
}

// count records the start of a due operation.
func (w *worker) count() {
	if w.engine.rate == nil {
		return
	}
	if w.due >= w.load.from {
		w.started++
		if w.overdue {
			w.late++
		}
	}
	w.at = w.due
}

// choose returns the number of the next block.
func (w *worker) choose() int64 {
	if w.engine.draws {
		return w.random.Int64N(w.engine.blocks)
	}
	return int64((w.job.next.Add(1) - 1) % uint64(w.engine.blocks))
}

// toWrite makes the data of one block and fills in the write. The time for it is not part of a latency in a
// closed loop. In an open loop it is part of the wait.
func (w *worker) toWrite(io *target.IO, f *fileset.File) {
	off := w.block * int64(len(w.buf))
	// A copy or an update has just read the base data of the same place.
	if !w.movable && !w.half || w.tainted {
		f.Data.Base(w.buf, off)
		w.tainted = false
	}
	f.Data.Stamp(w.buf, off, w.gen)
	io.Write, io.File, io.Buf, io.Offset = true, f.File, w.buf, off
}

// done records the result of an I/O from next.
func (w *worker) done(io *target.IO, l *thread) {
	end := w.elapsed()
	l.slot, l.ended, w.last = io.Slot, end, l
	d := recorder.Read
	switch {
	case io.Write:
		d = recorder.Write
		w.writes().Tracker.End(w.block, io.Err == nil, io.SentAgain)
	case io.Err == nil:
		w.check(io, l)
	default:
		w.tainted = true
	}
	w.record(l.shard, d, end, io.Err)
	if io.Err == nil {
		l.gaps.Answered(w.at, end)
	} else {
		l.gaps.Failed(w.at)
	}
	w.half = (w.engine.copies || w.updates) && !io.Write
	if io.Err != nil {
		w.cancel()
		w.fail(io)
	}
}

const (
	// wholeEvery is the number of reads of which one is compared byte by byte. Of the others, one stamp per 4
	// KiB is checked. All checks together take less than 1 % of the CPU time of an operation of 8 KiB, and less
	// than 2 % of an operation of 1 MiB.
	wholeEvery = 100
	// noticeableBytes is the length from which the check of the stamps takes longer than reading the clock.
	noticeableBytes = 64 << 10
)

// check compares the data of a read with the possible writes: the last write that had ended when the read
// began, or any write that has begun since. Its time is not part of a latency.
func (w *worker) check(io *target.IO, l *thread) {
	f := w.job.Main
	last := f.Tracker.Newest(w.block)
	if w.updates {
		last = w.gen - 1 // the write that follows has the block to itself
	}
	w.checked++
	w.turn++
	whole := w.turn%wholeEvery == 0
	if whole || len(io.Buf) >= noticeableBytes {
		l.slot = -1
	}
	if f.Data.Stamped(io.Buf, io.Offset, w.turn, w.oldest, last) && !whole {
		return
	}
	if bad := f.Data.Check(io.Buf, io.Offset, w.oldest, last); bad != nil {
		w.tainted = true
		w.engine.wrong.note(f, bad, l.path)
	}
}

// wrongReads collects the reads of the load that returned wrong data.
type wrongReads struct {
	mu    sync.Mutex
	found runfile.Verification
}

func (r *wrongReads) note(f *fileset.File, bad *content.Difference, path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found.ReadsWrong++
	fileset.NoteFault(&r.found.WrongReads, bad.Fault)
	example := fileset.WrongData(f, bad)
	example.Read, example.Path = true, path
	r.found.AddExample(example)
}

// fail ends the level. For an I/O that the engine cancelled the level has already ended.
func (w *worker) fail(io *target.IO) {
	verb, name := "read", w.job.Main.Name
	if io.Write {
		verb, name = "write", w.writes().Name
	}
	w.load.fail(fmt.Errorf("%s %q at offset %d: %w", verb, name, io.Offset, io.Err))
}

// record counts an operation in the window in which it ended. After the end of the level it records a
// successful operation only as unended.
func (w *worker) record(to *recorder.Shard, d recorder.Direction, end time.Duration, err error) {
	phase := recorder.Measure
	switch until := time.Duration(w.load.until.Load()); {
	case end >= until && err == nil:
		if w.engine.rate == nil || w.at >= w.load.from {
			to.Record(recorder.Unended, d, until-w.at, len(w.buf))
		}
		return
	case end < w.load.from:
		phase = recorder.Warmup
	default:
		w.lastDone = end
	}
	if err != nil {
		to.RecordError(d, end-w.at)
		return
	}
	to.Record(phase, d, end-w.at, len(w.buf))
}

// writes returns the file that this worker writes to, or nil.
func (w *worker) writes() *fileset.File {
	switch {
	case w.engine.copies:
		return w.job.Copy
	case w.overwrites, w.updates:
		return w.job.Main
	default:
		return nil
	}
}

func (w *worker) elapsed() time.Duration { return w.engine.now().Sub(w.load.base) }

// patternOf returns the kinds of operations in a pattern. In a mixed pattern they differ.
func patternOf(raw *bench.RawWorkload) (overwrites, copies, draws bool) {
	switch raw.Pattern {
	case bench.PatternRead, bench.PatternMixed:
		return false, false, false
	case bench.PatternRandomRead, bench.PatternRandomMixed:
		return false, false, true
	case bench.PatternCopy:
		return false, true, false
	case bench.PatternRandomWrite:
		return true, false, true
	default:
		return true, false, false
	}
}

// driver serves a stream with the workers of one job, by slot.
type driver struct {
	workers []worker
	threads []thread
}

// ready resets the state of the threads from an earlier level.
func (d *driver) ready() *driver {
	for i := range d.threads {
		d.threads[i].slot = -1
		d.threads[i].gaps.Reset()
	}
	return d
}

// Next implements target.Driver.
func (d *driver) Next(io *target.IO) bool { return d.workers[io.Slot].next(io, &d.threads[io.Thread]) }

// Done implements target.Driver.
func (d *driver) Done(io *target.IO) { d.workers[io.Slot].done(io, &d.threads[io.Thread]) }

// busy reports whether any of the workers is not idle.
func (d *driver) busy() bool {
	for i := range d.workers {
		if !d.workers[i].idle {
			return true
		}
	}
	return false
}
