package loadgen

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen/content"
	"github.com/nfsbench/nfsbench/internal/loadgen/fileset"
	"github.com/nfsbench/nfsbench/internal/loadgen/recorder"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/runloop"
)

// engine keeps the load of one client running, for one window after another.
type engine struct {
	blockBytes int64 // of the largest operation
	perStream  int   // workers of each stream, or job
	blocks     int64 // of each file
	overwrites bool  // pattern: the kind of each operation,
	copies     bool
	reads      int  // reads among 100 operations of a mixed pattern; 0 = not mixed
	draws      bool // and whether its place is random
	now        func() time.Time
	rate       *pacer   // nil in a closed loop
	paces      arrivals // rate of each level in a search for capacity
	rec        *recorder.Recorder
	workers    []worker // of one job after the other
	arenas     []*target.Arena
	streams    []target.Stream // one for each job
	drivers    []driver        // of the streams
	load       *levelLoad      // the current level; set while no worker runs
	users      *users          // nil in a raw load
	wrong      wrongReads
}

// job is the state that the workers of one job share.
type job struct {
	fileset.Job

	_    [cacheLines]byte // all read the fields above, all write those below:
	next atomic.Uint64    // sequential patterns: number of the next block, without wrapping
}

// levelLoad is the load of one level: a warm-up and the window after it.
type levelLoad struct {
	base     time.Time      // when load started; the times below count from it
	from, to time.Duration  // of the measured window
	until    atomic.Int64   // to, or the time at which the level was ended early
	stopping atomic.Bool    // no further I/O may start
	failed   chan error     // the first failure
	running  sync.WaitGroup // streams

	_      [cacheLines]byte // all read the fields above, all write those below:
	ticket atomic.Uint64    // open loop: number of the next I/O
}

func newLevelLoad(base time.Time, warmup, window time.Duration) *levelLoad {
	on := &levelLoad{base: base, from: warmup, to: warmup + window, failed: make(chan error, 1)}
	on.until.Store(int64(on.to))
	return on
}

func (on *levelLoad) stop() { on.stopping.Store(true) }

func (on *levelLoad) fail(err error) {
	select {
	case on.failed <- err:
	default: // one failure is enough
	}
	on.stop()
}

// newEngine prepares the workers of a raw load. Call open before the first level. release frees all
// resources.
func newEngine(plan *runfile.Plan, client int32, jobs []fileset.Job, now func() time.Time) (*engine, error) {
	raw := *plan.Workload.Raw
	depth := int(raw.Depth)
	e := &engine{
		blockBytes: raw.BlockBytes(), perStream: depth, blocks: raw.FileSize.Value() / raw.BlockBytes(), now: now,
		workers: make([]worker, len(jobs)*depth),
	}
	arena, err := e.buffers(len(e.workers), e.blockBytes)
	if err != nil {
		return nil, err
	}
	e.overwrites, e.copies, e.draws = patternOf(&raw)
	e.reads, e.paces = int(bench.OrZero(raw.ReadPercent)), newArrivals(plan, client)
	if bench.OrZero(raw.OperationsPerSecond) > 0 {
		rate := newPacer(bench.OrZero(raw.OperationsPerSecond))
		e.rate = &rate
	}
	for j := range jobs {
		shared := &job{Job: jobs[j]}
		for slot := range depth {
			i := j*depth + slot
			w := &e.workers[i]
			w.engine, w.job, w.index, w.buf, w.overwrites = e, shared, j, arena.Buffer(i), e.overwrites
			w.turn = uint64(i)
			w.source = *rand.NewPCG(plan.Seed, uint64(client)<<48|uint64(j)<<24|uint64(slot))
			w.random = *rand.New(&w.source)
			if f := w.writes(); f != nil {
				f.Data.Base(w.buf, 0)
				w.movable = content.Movable(int64(len(w.buf)))
			}
		}
	}
	return e, nil
}

// buffers maps buffers for the I/Os of workers.
func (e *engine) buffers(count int, bytes int64) (*target.Arena, error) {
	arena, err := target.NewArena(count, bytes)
	if err != nil {
		return nil, fmt.Errorf("buffers of the load: %w", err)
	}
	e.arenas = append(e.arenas, arena)
	return arena, nil
}

// open opens a stream on the target for each job.
func (e *engine) open(ctx context.Context, t target.Target) error {
	slots := e.perStream
	streams := len(e.workers) / slots
	for i := range streams {
		s, err := t.NewStream(ctx, target.StreamOptions{Slots: slots, BlockBytes: e.blockBytes, Streams: streams})
		if err != nil {
			return fmt.Errorf("open stream %d of %d: %w", i+1, streams, errors.Join(err, e.closeStreams()))
		}
		e.streams = append(e.streams, s)
		e.drivers = append(e.drivers, driver{workers: e.workers[i*slots : (i+1)*slots], threads: make([]thread, s.Threads())})
	}
	threads := e.threads()
	e.rec = recorder.New(threads)
	for s, d := range e.drivers {
		for i := range d.threads {
			threads--
			d.threads[i].shard = e.rec.Shard(threads)
			if paths, ok := e.streams[s].(target.Paths); ok {
				d.threads[i].path = paths.Path(i)
			}
		}
	}
	return nil
}

const (
	ceilingWarmup  = 100 * time.Millisecond
	ceilingWindow  = 400 * time.Millisecond
	ceilingTimeout = 5 * time.Second
)

// ceiling measures how many I/Os a second all workers reach if nothing but the client limits them; nil if the
// target cannot measure it. Reads change the buffers; a pattern with only writes keeps their content.
func (e *engine) ceiling(ctx context.Context) (perSecond *int64, err error) {
	defer target.ProvideThreads(2 * e.threads())() // for the client and for the answering side
	ctx, cancel := context.WithTimeout(ctx, ceilingTimeout)
	defer cancel()
	ops, errs := make([]int64, len(e.streams)), make([]error, len(e.streams))
	var running sync.WaitGroup
	for i, s := range e.streams {
		c, ok := s.(target.Ceiling)
		if !ok {
			return nil, nil
		}
		var bufs [][]byte
		for k := range e.drivers[i].workers {
			w := &e.drivers[i].workers[k]
			if bufs = append(bufs, w.buf); w.user != nil {
				bufs[len(bufs)-1] = w.user.whole
			}
		}
		running.Go(func() { ops[i], errs[i] = c.Ceiling(ctx, bufs, e.overwrites, ceilingWarmup, ceilingWindow) })
	}
	running.Wait()
	var sum int64
	for _, n := range ops {
		sum += n
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return new(sum * int64(time.Second/time.Millisecond) / ceilingWindow.Milliseconds()), nil
}

// threads returns the number of threads of all streams.
func (e *engine) threads() (n int) {
	for i := range e.drivers {
		n += len(e.drivers[i].threads)
	}
	return n
}

// closeStreams closes all streams. It may be called twice, but not while a level is running.
func (e *engine) closeStreams() error {
	var all error
	for _, s := range e.streams {
		all = errors.Join(all, s.Close())
	}
	return all
}

// release frees the resources of newEngine and open.
func (e *engine) release() error {
	all := e.closeStreams()
	for _, arena := range e.arenas {
		all = errors.Join(all, arena.Release())
	}
	return all
}

// start starts all workers that are not idle, for a warm-up and a window of the given lengths. They stop on
// their own at the end of the window.
func (e *engine) start(ctx context.Context, warmup, window time.Duration) *levelLoad {
	e.rec.Reset()
	on := newLevelLoad(e.now(), warmup, window)
	e.load = on
	for i := range e.workers {
		e.workers[i].begin(on)
	}
	for i, s := range e.streams {
		if d := e.drivers[i].ready(); d.busy() {
			on.running.Go(func() { s.Run(ctx, d) })
		}
	}
	return on
}

// errNotAnswered means that I/Os were cancelled.
var errNotAnswered = errors.New("I/Os were not answered")

// drain waits until no I/O is outstanding. After patience it cancels the rest and returns an error, because
// they were not answered. If they still do not end, it abandons their workers, and the error is
// runloop.ErrStuck, too.
func (e *engine) drain(on *levelLoad, cancel context.CancelFunc, patience time.Duration) error {
	done := make(chan struct{})
	go func() {
		on.running.Wait()
		close(done)
	}()
	if within(done, patience) {
		e.settle()
		return nil
	}
	cancel()
	err := fmt.Errorf("%w within %v after the load was to end; look at the server and the network",
		errNotAnswered, patience)
	if !within(done, cancelPatience) {
		return fmt.Errorf("%w: %w", err, runloop.ErrStuck)
	}
	e.settle()
	return err
}

// settle cancels the claims of writes that no worker will send. No level may be running.
func (e *engine) settle() {
	for i := range e.workers {
		e.workers[i].cancel()
	}
}

// checked returns the result of checking the reads so far. No level may be running.
func (e *engine) checked() runfile.Verification {
	out := e.wrong.found
	for i := range e.workers {
		out.ReadsChecked += e.workers[i].checked
	}
	return out
}

func within(done <-chan struct{}, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// cancelPatience bounds the return of a cancelled I/O.
const cancelPatience = 5 * time.Second
