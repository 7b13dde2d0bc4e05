package nfs

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/nfsbench/nfsbench/internal/nfs/stream"
)

// circle asks for the same I/O a number of times.
type circle struct {
	left atomic.Int64
	io   stream.IO
	err  atomic.Pointer[error]
	bufs [][]byte
	f    *File // instead of a handle
}

func (d *circle) Next(x *stream.IO) bool {
	x.Write, x.Handle, x.Stable, x.Buf = d.io.Write, d.io.Handle, d.io.Stable, d.bufs[x.Slot]
	if d.f != nil {
		d.f.Prepare(x)
	}
	return d.left.Add(-1) >= 0
}

func (d *circle) Done(x *stream.IO) {
	if x.Err != nil {
		d.err.Store(&x.Err)
	}
}

// mallocs counts the allocations of the process during f. testing.AllocsPerRun takes all
// processors but one away, and with one an I/O waits for milliseconds until the scheduler
// takes it from a thread that is in a system call.
func mallocs(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.Mallocs) - int64(before.Mallocs) //nolint:gosec // far from the limit
}

func TestAStreamAllocatesNothingForAnOperation(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for name, tc := range map[string]struct {
		size  int
		write bool
	}{"read 8 KiB": {8 << 10, false}, "read 256 KiB": {256 << 10, false}, "write 8 KiB": {8 << 10, true}, "write 256 KiB": {256 << 10, true}} {
		t.Run(name, func(t *testing.T) {
			c, handle := mountElsewhere(t)
			s, err := c.NewStream(t.Context(), StreamConfig{Slots: 16, BlockBytes: int64(tc.size)})
			if err != nil {
				t.Fatal(err)
			}
			d := &circle{io: stream.IO{Handle: []byte(handle), Write: tc.write, Stable: stream.FileSync}}
			for range 16 {
				d.bufs = append(d.bufs, make([]byte, tc.size))
			}
			run := func(count int64) int64 {
				return mallocs(func() {
					d.left.Store(count)
					s.Run(t.Context(), d)
				})
			}
			run(200)
			// A Run costs something, an operation nothing.
			few, many := run(100), run(600)
			if many-few > 50 {
				t.Errorf("500 more operations allocate %d times more", many-few)
			}
			if err := d.err.Load(); err != nil {
				t.Error(*err)
			}
		})
	}
}
