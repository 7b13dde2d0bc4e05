package oracle

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nfsbench/nfsbench/internal/course"
)

// Faults are what goes wrong on request.
type Faults struct {
	Fallback bool // Direct NFS is set up and silently not used
	AsyncOff bool // ASYNCH_IO is ASYNC_OFF everywhere
	// NoKernelAIO is a node whose fs.aio-max-nr is used up: through the kernel's
	// mount files may be ASYNC_ON, and asynchronous I/O is not to be had: a scan has
	// one read under way.
	NoKernelAIO bool
	// FullAfter makes datafiles grow to so many bytes in all; 0 = no such limit.
	FullAfter int64
	// CheckpointWait is how long each commit waits for a checkpoint before a log
	// can be switched, as with redo logs that are too small.
	CheckpointWait time.Duration

	// KernelSessions is the percent of the sessions that Direct NFS cannot serve: they read
	// through the kernel's mount.
	KernelSessions int
	// CachedBlocks is the percent of the blocks that the buffer cache keeps once they are read.
	CachedBlocks int
	// BufferedScans reads large tables through the buffer cache, whatever a session asks for.
	BufferedScans bool
	// Batches is the percent of the range scans that are read in batches, whatever the
	// statement and the parameters say.
	Batches int
	// Waits are what sessions wait for beside their I/O.
	Waits []Waiting
	// ForeignReads is for how many percent of the reads of sessions a job of somebody else makes
	// a read of its own, from the first statement of the load on.
	ForeignReads int
	// ServiceTimes is the percent of the true time that V$IOSTAT_FILE says, and EventTimes that
	// of the waits for single blocks; 0 = 100.
	ServiceTimes, EventTimes int
	// BlockCPU is the processor time that a session spends on each block, and Cores how many
	// processors all sessions together may use; 0 = all of the machine.
	BlockCPU time.Duration
	Cores    float64
	// Running replaces what the instance runs with of init parameters.
	Running map[string]string
	// Instances are the names of the instances of a RAC. Sessions use them in turns, and
	// SlowInstance is how much longer the last of them takes for a read.
	Instances    []string
	SlowInstance time.Duration
}

// Waiting is a wait event that takes a share of the time that sessions wait.
type Waiting struct {
	Event, Class string
	Percent      int
}

// firstSession is the lowest number of the process of a session.
const firstSession = 40

// kernelSession says whether a session, by its number from 0, is of the percent that Direct NFS
// cannot serve. They are spread evenly.
func kernelSession(number int64, percent int) bool {
	return (number+1)*int64(percent)/100 > number*int64(percent)/100
}

// percentOf is true for so many percent of its calls.
func percentOf(percent int) bool { return percent > 0 && rand.IntN(100) < percent }

// scaled is a percentage of a time; 0 percent stands for all of it.
func scaled(d time.Duration, percent int) time.Duration {
	if percent == 0 {
		return d
	}
	return d * time.Duration(percent) / 100
}

// waitBeside makes a session wait for what is not its I/O, after a statement that took so long.
func (i *Instance) waitBeside(ctx context.Context, took time.Duration) error {
	sum := 0
	for _, w := range i.cfg.Faults.Waits {
		sum += w.Percent
	}
	for _, w := range i.cfg.Faults.Waits {
		began := i.now()
		if err := course.Wait(ctx, took*time.Duration(w.Percent)/time.Duration(100-sum)); err != nil {
			return err
		}
		i.stats.waited(w.Event, i.now().Sub(began))
	}
	return nil
}

// cache is a buffer cache: it really holds the blocks.
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

// cacheBlock keeps a block that was read or written.
func (i *Instance) cacheBlock(no, block int64, buf []byte) {
	if i.cfg.Faults.CachedBlocks == 0 {
		return
	}
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

// caches says whether the cache keeps a block: groups of 16 are spread by a multiplication.
func (i *Instance) caches(block int64) bool {
	return int(uint64(block/16)*0x9e3779b97f4a7c15>>32%100) < i.cfg.Faults.CachedBlocks
}

// missing are the blocks of a range that the cache does not hold, as runs of neighbours: what a
// scan through the cache reads.
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

// foreignJob is somebody else's work in the same database.
type foreignJob struct {
	due  chan struct{}
	stop context.CancelFunc
}

const foreignProcesses = 8

// startForeign starts processes that read the dictionary when they are provoked, so nobody
// sees them before the load.
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

// provoke lets them read once for the percent of the calls that is asked for.
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

// processors are those that the sessions of a database may use.
type processors struct {
	mu   sync.Mutex
	free time.Time // when the next may be used
	used atomic.Int64
}

// compute spends the processor time of blocks, as a cgroup lets it: with a quota it waits
// until there is some.
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
		if err := course.Wait(ctx, until); err != nil {
			return err
		}
	}
	for began := i.now(); i.now().Sub(began) < need; {
		_ = rand.Int64()
	}
	used := i.processors.used.Add(int64(need))
	hundredths := used/int64(10*time.Millisecond) - (used-int64(need))/int64(10*time.Millisecond)
	i.stats.add(map[string]int64{"CPU used by this session": hundredths})
	return nil
}

// kernelMount counts what went through the kernel's mount, as mountstats does.
type kernelMount struct{ read, written atomic.Int64 }

// KernelBytes are the bytes that went through the kernel's mount since the start of the
// instance.
func (i *Instance) KernelBytes() (read, written int64) {
	return i.kernel.read.Load(), i.kernel.written.Load()
}
