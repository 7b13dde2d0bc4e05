package kernel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/nanosleep"
)

const (
	// tick is the longest wait without a look at the context.
	tick = 100 * time.Millisecond
	// together bounds the I/Os of one submission, except the first submission. In larger ones each I/O would
	// wait until the others are ready.
	together = 2
	// never is the due time of nothing.
	never = time.Duration(math.MaxInt64)
)

// stream keeps the I/Os of a job outstanding from one thread, by the kernel's asynchronous I/O: one wait
// returns all completed I/Os, and the stream then starts others in their place.
type stream struct {
	t      *Target
	queue  *queue
	slots  []slot
	start  time.Time
	closed bool

	running atomic.Bool

	// The rest belongs to Run.
	ctx     context.Context
	ended   atomic.Bool // ctx is done
	driver  target.Driver
	flying  int
	waiting []*slot
	nextDue time.Duration // of waiting, since start
}

// slot holds one I/O of the job at a time.
type slot struct {
	io    target.IO
	block controlBlock
	due   time.Duration // when to ask the Driver again, since stream.start
}

// NewStream implements target.Target. If the kernel provides no queue, threads do the I/O: a seccomp profile
// may forbid it, and all processes of a machine share fs.aio-max-nr.
func (t *Target) NewStream(ctx context.Context, opt target.StreamOptions) (target.Stream, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if opt.Slots < 1 {
		return nil, fmt.Errorf("a stream of %d slots: use at least 1", opt.Slots)
	}
	q, err := openQueue(opt.Slots)
	if err != nil {
		return newThreads(t, opt.Slots), nil
	}
	s := &stream{t: t, queue: q, start: t.now(), slots: make([]slot, opt.Slots), waiting: make([]*slot, 0, opt.Slots)}
	for i := range s.slots {
		s.slots[i].io.Slot, s.slots[i].block.data = i, uint64(i)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.streams = append(t.streams, s)
	return s, nil
}

// closeStreams closes the streams that are still open. A stream in Run has unanswered I/Os: closing
// it would wait for them as well.
func (t *Target) closeStreams() error {
	t.mu.Lock()
	streams := slices.Clone(t.streams)
	t.mu.Unlock()
	var all error
	for _, s := range streams {
		if !s.running.Load() {
			all = errors.Join(all, s.Close())
		}
	}
	return all
}

// Threads implements target.Stream.
func (s *stream) Threads() int { return 1 }

// Close implements target.Stream.
func (s *stream) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	return s.queue.close()
}

// Run implements target.Stream. When ctx is done, it still waits for outstanding I/Os, because the kernel
// uses their buffers until the end.
func (s *stream) Run(ctx context.Context, d target.Driver) {
	s.running.Store(true)
	defer s.running.Store(false)
	s.ctx, s.driver, s.nextDue, s.waiting = ctx, d, never, s.waiting[:0]
	s.ended.Store(ctx.Err() != nil)
	defer context.AfterFunc(ctx, func() { s.ended.Store(true) })()
	for i := range s.slots {
		s.ask(&s.slots[i])
	}
	for {
		s.submit()
		if s.nextDue != never {
			s.wake()
			s.submit()
		}
		switch {
		case s.flying > 0:
			s.collect()
		case len(s.waiting) > 0 && !s.ended.Load():
			s.idle()
		default:
			return
		}
	}
}

// ask gets the next I/O of a slot from the Driver, and adds it to the next submission.
func (s *stream) ask(sl *slot) {
	if s.ended.Load() {
		return
	}
	sl.io.Wait, sl.io.Err = 0, nil
	if !s.driver.Next(&sl.io) {
		return
	}
	if sl.io.Wait > 0 {
		sl.due = s.now() + sl.io.Wait
		s.nextDue = min(s.nextDue, sl.due)
		s.waiting = append(s.waiting, sl)
		return
	}
	s.queue.add(sl.prepare())
}

// prepare fills in the control block. The I/O keeps the buffer alive.
func (sl *slot) prepare() *controlBlock {
	b := &sl.block
	b.opcode = opRead
	if sl.io.Write {
		b.opcode = opWrite
	}
	f := sl.io.File.(*file) //nolint:errcheck,forcetypeassert // files of another target are a bug of the caller
	b.fd = uint32(f.fd)
	b.buf = uint64(uintptr(unsafe.Pointer(unsafe.SliceData(sl.io.Buf))))
	b.bytes, b.offset = uint64(len(sl.io.Buf)), sl.io.Offset
	return b
}

// plain completes an I/O after its first done bytes with blocking calls of the file.
func plain(ctx context.Context, io *target.IO, done int) {
	rest, off := io.Buf[done:], io.Offset+int64(done)
	if io.Write {
		io.Err = io.File.WriteAt(ctx, rest, off)
		return
	}
	_, io.Err = io.File.ReadAt(ctx, rest, off)
}

// submit starts all requested I/Os. An I/O that the kernel rejects is done by a plain call, whose
// error gives the reason.
func (s *stream) submit() {
	for s.queue.count > 0 {
		n, err := s.queue.submit()
		if err == nil {
			s.flying += n
			continue
		}
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		sl := &s.slots[s.queue.blocks[0].data]
		s.queue.skip(1)
		plain(s.ctx, &sl.io, 0)
		s.done(sl)
	}
}

// collect waits for completed I/Os, and asks for others in their place.
func (s *stream) collect() {
	limit := tick
	if s.nextDue != never {
		limit = min(limit, max(0, s.nextDue-s.now()))
	}
	events, err := s.queue.wait(int64(limit))
	if err != nil { // impossible for a correct call; no I/O would ever complete again
		panic(err)
	}
	s.flying -= len(events)
	for i := range events {
		sl := &s.slots[events[i].data]
		sl.finish(s.ctx, events[i].result)
		s.done(sl)
		if s.queue.count >= together {
			s.submit()
		}
	}
}

// finish completes an I/O for which the kernel returned result. A read or write may be short at the
// end of the file and for other reasons; a plain call for the rest shows which.
func (sl *slot) finish(ctx context.Context, result int64) {
	switch {
	case result == int64(len(sl.io.Buf)):
		sl.io.Err = nil
	case result > 0:
		plain(ctx, &sl.io, int(result))
	case result < 0:
		sl.io.Err = failure(syscall.Errno(-result))
	case sl.io.Write:
		plain(ctx, &sl.io, 0)
	default:
		sl.io.Err = io.EOF
	}
}

func (s *stream) done(sl *slot) {
	s.driver.Done(&sl.io)
	s.ask(sl)
}

// wake asks the Driver again for the slots that are due.
func (s *stream) wake() {
	now := s.now()
	if now < s.nextDue {
		return
	}
	slots := s.waiting
	s.waiting, s.nextDue = s.waiting[:0], never
	for _, sl := range slots {
		if sl.due <= now {
			s.ask(sl) // appends at most to the part that was already read
			continue
		}
		s.waiting = append(s.waiting, sl)
		s.nextDue = min(s.nextDue, sl.due)
	}
}

// idle waits until shortly before a slot is due, or until the stream ends.
func (s *stream) idle() { pause(s.ctx, s.nextDue-s.now()) }

// pause waits for at most d, or until ctx is done.
func pause(ctx context.Context, d time.Duration) {
	if d <= nanosleep.Margin {
		nanosleep.For(d)
		return
	}
	timer := time.NewTimer(d - nanosleep.Margin)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (s *stream) now() time.Duration { return s.t.now().Sub(s.start) }
