package nfs4

import (
	"context"
	"math/rand/v2"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs"
	"github.com/nfsbench/nfsbench/internal/nfs/stream"
	"github.com/nfsbench/nfsbench/test/kit/waiting"
)

// TestMain gives the server in this process processors of its own beside the threads of
// a stream, which wait in system calls. With two processors the scheduler takes
// milliseconds to notice that, for each I/O.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(64)
	os.Exit(waiting.Run(m))
}

func randomBytes(n int) []byte {
	p := make([]byte, n)
	r := rand.NewChaCha8([32]byte{byte(n)})
	_, _ = r.Read(p)
	return p
}

// waitFor waits for something that another goroutine does soon.
func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("it did not happen within 2 minutes")
		}
	}
}

// circle asks for the same I/O of a file a number of times.
type circle struct {
	f     *nfs.File
	write bool
	bufs  [][]byte // by slot
	left  atomic.Int64
	err   atomic.Pointer[error]
}

// newCircle makes a circle with buffers of size bytes.
func newCircle(f *nfs.File, write bool, slots, size int) *circle {
	d := &circle{f: f, write: write}
	for range slots {
		d.bufs = append(d.bufs, make([]byte, size))
	}
	return d
}

func (d *circle) Next(x *stream.IO) bool {
	x.Write, x.Stable, x.Buf = d.write, stream.FileSync, d.bufs[x.Slot]
	d.f.Prepare(x)
	return d.left.Add(-1) >= 0
}

func (d *circle) Done(x *stream.IO) {
	if x.Err != nil {
		err := x.Err // x is used again
		d.err.Store(&err)
	}
}

// allocates counts the allocations of the process during a number of operations.
// testing.AllocsPerRun takes all processors but one away, and with one an I/O waits for
// milliseconds until the scheduler takes it from a thread that is in a system call.
func (d *circle) allocates(t *testing.T, s *nfs.Stream, operations int64) int64 {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	d.left.Store(operations)
	s.Run(t.Context(), d)
	runtime.ReadMemStats(&after)
	if err := d.err.Load(); err != nil {
		t.Error(*err)
	}
	return int64(after.Mallocs) - int64(before.Mallocs)
}
