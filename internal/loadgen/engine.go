package loadgen

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nfsbench/nfsbench/internal/loadgen/content"
	"github.com/nfsbench/nfsbench/internal/loadgen/fileset"
	"github.com/nfsbench/nfsbench/internal/loadgen/pacer"
	"github.com/nfsbench/nfsbench/internal/loadgen/recorder"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// engine keeps the load of one client running, for one window after another.
type engine struct {
	raw     runfile.Raw
	now     func() time.Time
	rate    *pacer.Constant // nil in a closed loop
	rec     *recorder.Recorder
	workers []*worker
	arena   *target.Arena
	round   *round // the present one; set while no worker runs
}

// job is what the workers of one job share.
type job struct {
	fileset.Job
	next atomic.Uint64 // sequential patterns: number of the next block, without wrapping
}

// round is one stretch of load: a warm-up and the window behind it.
type round struct {
	base     time.Time     // when load started; the times below count from it
	from, to time.Duration // of the measured window
	ticket   atomic.Uint64 // open loop: number of the next I/O
	stopping atomic.Bool   // no further I/O may start
	stopped  chan struct{} // closed with it
	once     sync.Once
	failed   chan error     // the first failure
	running  sync.WaitGroup // workers
}

func (r *round) stop() {
	r.once.Do(func() {
		r.stopping.Store(true)
		close(r.stopped)
	})
}

func (r *round) fail(err error) {
	select {
	case r.failed <- err:
	default: // one failure is enough
	}
	r.stop()
}

// newEngine prepares the workers. Release gives its memory back.
func newEngine(plan *runfile.Plan, client int32, jobs []fileset.Job, now func() time.Time) (*engine, error) {
	raw := *plan.Workload.Raw
	depth := int(raw.Depth)
	arena, err := target.NewArena(len(jobs)*depth, raw.BlockSizeBytes)
	if err != nil {
		return nil, fmt.Errorf("buffers for %d jobs of depth %d: %w", len(jobs), depth, err)
	}
	e := &engine{raw: raw, now: now, arena: arena, rec: recorder.New(len(jobs) * depth)}
	if raw.OperationsPerSecond > 0 {
		rate := pacer.NewConstant(raw.OperationsPerSecond)
		e.rate = &rate
	}
	for j := range jobs {
		shared := &job{Job: jobs[j]}
		for slot := range depth {
			i := len(e.workers)
			w := &worker{
				engine: e, job: shared, index: j, shard: e.rec.Shard(i), buf: arena.Buffer(i),
				random: rand.New(rand.NewPCG(plan.Seed, uint64(client)<<48|uint64(j)<<24|uint64(slot))),
			}
			w.prepare()
			e.workers = append(e.workers, w)
		}
	}
	return e, nil
}

func (e *engine) release() error { return e.arena.Release() }

// start sets all workers going, for a warm-up of the first length and a window
// of the second. They stop by themselves at its end.
func (e *engine) start(ctx context.Context, warmup, window time.Duration) *round {
	e.rec.Reset()
	r := &round{from: warmup, to: warmup + window, stopped: make(chan struct{}), failed: make(chan error, 1)}
	e.round = r
	r.base = e.now()
	for _, w := range e.workers {
		w.begin(r)
		r.running.Go(func() { w.run(ctx, r) })
	}
	return r
}

var (
	// errNotAnswered: I/Os had to be cancelled.
	errNotAnswered = errors.New("I/Os were not answered")
	// errStuck: something is in a call that does not return.
	errStuck = errors.New("a call does not return")
)

// drain waits until no I/O is outstanding. After patience it cancels them,
// which is an error, for they would not have been answered; when even that does
// not end them it leaves their workers behind, and the error is errStuck too.
func (e *engine) drain(r *round, cancel context.CancelFunc, patience time.Duration) error {
	done := make(chan struct{})
	go func() {
		r.running.Wait()
		close(done)
	}()
	if within(done, patience) {
		return nil
	}
	cancel()
	err := fmt.Errorf("%w within %v after the load was to end; look at the server and the network", errNotAnswered, patience)
	if !within(done, cancelPatience) {
		return fmt.Errorf("%w: %w", err, errStuck)
	}
	return err
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

// cancelPatience is how long a cancelled I/O may take to return.
const cancelPatience = 5 * time.Second

// prepare fills the buffer of a worker that writes.
func (w *worker) prepare() {
	if f := w.writes(); f != nil {
		f.Data.Base(w.buf, 0)
		w.movable = content.Movable(int64(len(w.buf)))
	}
}
