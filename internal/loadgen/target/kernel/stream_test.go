package kernel

import (
	"context"
	"errors"
	"io"
	"slices"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/nanosleep"
	"github.com/nfsbench/nfsbench/test/targettest"
)

func TestTheStructuresHaveTheSizesOfTheKernel(t *testing.T) {
	if n := unsafe.Sizeof(controlBlock{}); n != 64 {
		t.Errorf("struct iocb has %d bytes, want 64", n)
	}
	if n := unsafe.Sizeof(completion{}); n != 32 {
		t.Errorf("struct io_event has %d bytes, want 32", n)
	}
}

func openTest(t *testing.T) *Target {
	t.Helper()
	tgt, err := Open(t.Context(), Options{MountPath: targettest.DirectIODir(t), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tgt.Close() })
	return tgt.(*Target) //nolint:errcheck,forcetypeassert // Open makes no other
}

// misaligned is a Driver of two slots, one of which asks for what O_DIRECT refuses.
type misaligned struct {
	f    target.File
	buf  [2][]byte
	done [2]int
	errs [2]error
}

func (d *misaligned) Next(o *target.IO) bool {
	o.Write, o.File, o.Buf, o.Offset = false, d.f, d.buf[o.Slot], int64(o.Slot) // 1 is no multiple of a sector
	return d.done[o.Slot] < 10
}

func (d *misaligned) Done(o *target.IO) {
	d.done[o.Slot]++
	d.errs[o.Slot] = errors.Join(d.errs[o.Slot], o.Err)
}

func TestAnIOThatTheKernelRefusesFailsAlone(t *testing.T) {
	tgt := openTest(t)
	dir, err := tgt.Directory(t.Context(), "d", true)
	if err != nil {
		t.Fatal(err)
	}
	f, err := dir.Open(t.Context(), "f", target.OpenOptions{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	arena, err := target.NewArena(2, 4096)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.WriteAt(t.Context(), arena.Buffer(0), 0); err != nil {
		t.Fatal(err)
	}
	s, err := tgt.NewStream(t.Context(), target.StreamOptions{Slots: 2, BlockBytes: 4096, Streams: 1})
	if err != nil {
		t.Fatal(err)
	}
	d := &misaligned{f: f, buf: [2][]byte{arena.Buffer(0), arena.Buffer(1)}}
	s.Run(t.Context(), d)
	if d.done != [2]int{10, 10} {
		t.Errorf("the slots ended %v I/Os, want 10 each", d.done)
	}
	if d.errs[0] != nil || d.errs[1] == nil {
		t.Errorf("the good reads gave %v, the others %v", d.errs[0], d.errs[1])
	}
}

// asking is a Driver whose first I/O calls it.
type asking struct {
	misaligned
	call func()
}

func (d *asking) Next(*target.IO) bool {
	if d.call != nil {
		d.call()
		d.call = nil
	}
	return false
}

func TestATargetDoesNotCloseAStreamThatRuns(t *testing.T) {
	tgt := openTest(t)
	made, err := tgt.NewStream(t.Context(), target.StreamOptions{Slots: 2, BlockBytes: 4096, Streams: 1})
	if err != nil {
		t.Fatal(err)
	}
	s := made.(*stream) //nolint:errcheck,forcetypeassert // NewStream makes no other
	s.Run(t.Context(), &asking{call: func() {
		if err := tgt.Close(); err != nil || s.closed {
			t.Errorf("the target closed it: %v, %v", s.closed, err)
		}
	}})
	if err := tgt.Close(); err != nil || !s.closed {
		t.Errorf("after Run the target did not close it: %v, %v", s.closed, err)
	}
}

// noted is a file that notes where it was called.
type noted struct {
	target.File
	reads, writes []int64 // offset and length of each
}

func (n *noted) ReadAt(_ context.Context, p []byte, off int64) (int, error) {
	n.reads = append(n.reads, off, int64(len(p)))
	return len(p), nil
}

func (n *noted) WriteAt(_ context.Context, p []byte, off int64) error {
	n.writes = append(n.writes, off, int64(len(p)))
	return nil
}

func TestTheRestOfAShortIOIsDoneByAPlainCall(t *testing.T) {
	for name, c := range map[string]struct {
		write         bool
		result        int64
		reads, writes []int64
		err           error
	}{
		"a whole read":     {result: 4096},
		"a whole write":    {write: true, result: 4096},
		"a short read":     {result: 512, reads: []int64{8192 + 512, 4096 - 512}},
		"a short write":    {write: true, result: 1024, writes: []int64{8192 + 1024, 4096 - 1024}},
		"a read of none":   {err: io.EOF},
		"a write of none":  {write: true, writes: []int64{8192, 4096}},
		"a failed read":    {result: -int64(syscall.EIO), err: syscall.EIO},
		"a write, no room": {write: true, result: -int64(syscall.ENOSPC), err: syscall.ENOSPC},
	} {
		f := &noted{}
		sl := &slot{io: target.IO{File: f, Buf: make([]byte, 4096), Offset: 8192, Write: c.write, Err: errors.New("of the I/O before")}}
		sl.finish(t.Context(), c.result)
		if !errors.Is(sl.io.Err, c.err) || (c.err == nil) != (sl.io.Err == nil) {
			t.Errorf("%s: error %v, want %v", name, sl.io.Err, c.err)
		}
		if !slices.Equal(f.reads, c.reads) || !slices.Equal(f.writes, c.writes) {
			t.Errorf("%s: reads %v and writes %v, want %v and %v", name, f.reads, f.writes, c.reads, c.writes)
		}
	}
}

func TestAStreamWithNothingUnderWayWakesUpWhenASlotIsDue(t *testing.T) {
	s := &stream{t: &Target{now: time.Now}, start: time.Now(), ctx: t.Context()}
	for _, wait := range []time.Duration{300 * time.Microsecond, 3 * nanosleep.Margin} {
		for s.nextDue = s.now() + wait; s.now() < s.nextDue; { // a signal may end a wait early
			s.idle()
		}
	}
}
