package oracle

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nfsbench/nfsbench/internal/runloop"
)

// Faults are the faults that a test requests.
type Faults struct {
	Fallback bool // Direct NFS is set up but silently not used
	AsyncOff bool // ASYNCH_IO is ASYNC_OFF everywhere
	// NoKernelAIO is a node whose fs.aio-max-nr is used up. Files on the kernel's mount may be
	// ASYNC_ON, but asynchronous I/O is not available: a scan has one read in flight.
	NoKernelAIO bool
	// FullAfter lets datafiles grow to this many bytes in total; 0 = no such limit.
	FullAfter int64
	// CheckpointWait is how long each commit waits for a checkpoint before it can switch logs, as with
	// redo logs that are too small.
	CheckpointWait time.Duration

	// KernelSessions is the percentage of sessions that Direct NFS cannot serve: they read through the
	// kernel's mount.
	KernelSessions int
	// Uncached is the percentage of blocks that the buffer cache does not keep after they are read. A
	// database keeps all that fit, and here all fit.
	Uncached int
	// BufferedScans reads large tables through the buffer cache, whatever a session requests.
	BufferedScans bool
	// Batches is the percentage of range scans that are read in batches, whatever the statement and
	// the parameters say.
	Batches int
	// Waits are the waits of sessions besides those for their I/O.
	Waits []Waiting
	// ForeignReads is the number of reads by another user's job per 100 reads of sessions, from the
	// first statement of the load on.
	ForeignReads int
	// ServiceTimes is the percentage of the true time that V$IOSTAT_FILE reports. EventTimes is the
	// same for waits for single blocks; 0 = 100.
	ServiceTimes, EventTimes int
	// BlockCPU is the processor time that a session spends on each block. Cores is the number of
	// processors for all sessions together; 0 = all processors of the machine.
	BlockCPU time.Duration
	Cores    float64
	// Running replaces init parameters of the running instance.
	Running map[string]string
	// Instances are the names of the instances of a RAC. Sessions use them in turn. SlowInstance is
	// the extra time of a read by the last instance.
	Instances    []string
	SlowInstance time.Duration
}

// Waiting is a wait event with its share of the time that sessions wait.
type Waiting struct {
	Event, Class string
	Percent      int
}

// firstSession is the lowest process number of a session.
const firstSession = 40

// kernelSession reports whether Direct NFS cannot serve a session, by its number from 0. Such
// sessions are spread evenly.
func kernelSession(number int64, percent int) bool {
	return (number+1)*int64(percent)/100 > number*int64(percent)/100
}

// percentOf returns true for the given percentage of calls.
func percentOf(percent int) bool { return percent > 0 && rand.IntN(100) < percent }

// scaled returns a percentage of a time; 0 stands for 100.
func scaled(d time.Duration, percent int) time.Duration {
	if percent == 0 {
		return d
	}
	return d * time.Duration(percent) / 100
}

// waitBeside makes a session wait for something besides its I/O, after a statement that took this long.
func (i *Instance) waitBeside(ctx context.Context, took time.Duration) error {
	sum := 0
	for _, w := range i.cfg.Faults.Waits {
		sum += w.Percent
	}
	for _, w := range i.cfg.Faults.Waits {
		began := i.now()
		if err := runloop.Wait(ctx, took*time.Duration(w.Percent)/time.Duration(100-sum)); err != nil {
			return err
		}
		i.stats.waited(w.Event, i.now().Sub(began))
	}
	return nil
}

// cache is a buffer cache that really holds the blocks.
type cache struct {
	mu     sync.Mutex
	blocks map[cachedBlock][]byte
}

type cachedBlock struct{ file, block int64 }

// cached copies a block from the buffer cache, if it is there.
func (i *Instance) cached(no, block int64, buf []byte) bool {
	if !i.caches(block) || len(buf) != blockBytes {
		return false
	}
	i.cache.mu.Lock()
	defer i.cache.mu.Unlock()
	held, ok := i.cache.blocks[cachedBlock{no, block}]
	copy(buf, held)
	return ok
}

// cacheBlock keeps blocks that were read. Those that are loaded go past the cache.
func (i *Instance) cacheBlock(no, block int64, buf []byte) {
	i.cache.mu.Lock()
	defer i.cache.mu.Unlock()
	if i.cache.blocks == nil {
		i.cache.blocks = map[cachedBlock][]byte{}
	}
	for at := 0; at+blockBytes <= len(buf); at += blockBytes {
		if b := block + int64(at/blockBytes); i.caches(b) {
			i.cache.blocks[cachedBlock{no, b}] = append([]byte(nil), buf[at:at+blockBytes]...)
		}
	}
}

// caches reports whether the cache keeps a block. A multiplication spreads groups of 16 blocks.
func (i *Instance) caches(block int64) bool {
	return int(uint64(block/16)*0x9e3779b97f4a7c15>>32%100) >= i.cfg.Faults.Uncached
}

// uncache forgets blocks that are written past the cache.
func (i *Instance) uncache(no, first, count int64) {
	i.cache.mu.Lock()
	defer i.cache.mu.Unlock()
	for at := range count {
		delete(i.cache.blocks, cachedBlock{no, first + at})
	}
}

// flushCache is ALTER SYSTEM FLUSH BUFFER_CACHE.
func (i *Instance) flushCache(context.Context, *session, statement) ([]row, error) {
	i.cache.mu.Lock()
	defer i.cache.mu.Unlock()
	clear(i.cache.blocks)
	return nil, nil
}

// missing returns the blocks of a range that the cache does not hold, as runs of neighbours. A scan
// through the cache reads these.
func (i *Instance) missing(no, first, count int64) (runs []struct{ at, count int64 }) {
	i.cache.mu.Lock()
	defer i.cache.mu.Unlock()
	for at := range count {
		_, held := i.cache.blocks[cachedBlock{no, first + at}]
		last := len(runs) - 1
		switch {
		case held:
		case last >= 0 && runs[last].at+runs[last].count == at:
			runs[last].count++
		default:
			runs = append(runs, struct{ at, count int64 }{at, 1})
		}
	}
	return runs
}

// foreignJob is another user's job in the same database.
type foreignJob struct {
	due  chan struct{}
	stop context.CancelFunc
}

const foreignProcesses = 8

// startForeign starts processes that read the dictionary only when provoked. They are invisible
// before the load.
func (i *Instance) startForeign() {
	if i.cfg.Faults.ForeignReads == 0 {
		return
	}
	i.foreign.due = make(chan struct{}, 1024)
	var ctx context.Context
	ctx, i.foreign.stop = context.WithCancel(context.Background()) //nolint:usetesting // no test; the life of the instance
	system := i.cat.tablespace(1, "SYSTEM")
	for range foreignProcesses {
		p := i.newProcess("P000", 80)
		i.serving.Go(func() {
			defer i.endProcess(p)
			buf := aligned(blockBytes)
			for {
				select {
				case <-i.foreign.due:
				case <-ctx.Done():
					return
				}
				if _, err := p.read(ctx, system, buf, rand.Int64N(system.Formatted), eventSingle); err != nil {
					return
				}
			}
		})
	}
}

// provoke makes them read once for the requested percentage of calls.
func (i *Instance) provoke() {
	for left := i.cfg.Faults.ForeignReads; left > 0; left -= 100 {
		if left >= 100 || percentOf(left) {
			select {
			case i.foreign.due <- struct{}{}:
			default: // the job is behind
			}
		}
	}
}

// processors are the processors that the sessions of a database may use.
type processors struct {
	mu   sync.Mutex
	free time.Time // when the next may be used
}

// compute spends the processor time of blocks. With a quota it waits for its turn, as in a cgroup.
func (i *Instance) compute(ctx context.Context, blocks int64) error {
	need := i.cfg.Faults.BlockCPU * time.Duration(blocks)
	if need == 0 {
		return nil
	}
	if cores := i.cfg.Faults.Cores; cores > 0 {
		i.processors.mu.Lock()
		now := i.now()
		if i.processors.free.Before(now) {
			i.processors.free = now
		}
		until := i.processors.free.Sub(now)
		i.processors.free = i.processors.free.Add(time.Duration(float64(need) / cores))
		i.processors.mu.Unlock()
		if err := runloop.Wait(ctx, until); err != nil {
			return err
		}
	}
	for began := i.now(); i.now().Sub(began) < need; {
		_ = rand.Int64()
	}
	i.stats.add(map[string]int64{"DB CPU": need.Microseconds()})
	return nil
}

// kernelMount counts the bytes on the kernel's mount, like mountstats.
type kernelMount struct{ read, written atomic.Int64 }

// KernelBytes returns the bytes on the kernel's mount since the start of the instance.
func (i *Instance) KernelBytes() (read, written int64) {
	return i.kernel.read.Load(), i.kernel.written.Load()
}
