package kernel

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The operations of Linux' asynchronous I/O (io_setup(2)), as in linux/aio_abi.h.
const (
	opRead  = 0 // IOCB_CMD_PREAD
	opWrite = 1 // IOCB_CMD_PWRITE
)

// controlBlock is struct iocb.
type controlBlock struct {
	data   uint64
	_      uint64 // key and flags
	opcode uint16
	_      uint16 // priority
	fd     uint32
	buf    uint64
	bytes  uint64
	offset int64
	_      uint64
	_      uint64 // flags and descriptor of an eventfd
}

// completion is struct io_event.
type completion struct {
	data   uint64
	object uint64
	result int64 // bytes, or the negative error number
	_      int64
}

// queue is a context of the kernel with room for a number of I/Os.
type queue struct {
	id     uintptr
	blocks []*controlBlock // to be submitted, of which the first count are
	count  int
	done   []completion
	limit  unix.Timespec
}

// openQueue makes a queue for size outstanding I/Os.
func openQueue(size int) (*queue, error) {
	q := &queue{}
	if _, _, errno := unix.Syscall(unix.SYS_IO_SETUP, uintptr(size), uintptr(unsafe.Pointer(&q.id)), 0); errno != 0 {
		return nil, fmt.Errorf("io_setup for %d I/Os: %w", size, errno)
	}
	q.blocks, q.done = make([]*controlBlock, size), make([]completion, size)
	return q, nil
}

// add appends an I/O to the requests of the next submit.
func (q *queue) add(b *controlBlock) {
	q.blocks[q.count] = b
	q.count++
}

// submit starts as many of the first requests as the kernel accepts, and removes them. An error belongs to
// the first request. The call goes through the scheduler, because a file system may block in it.
func (q *queue) submit() (int, error) {
	n, _, errno := unix.Syscall(unix.SYS_IO_SUBMIT, q.id, uintptr(q.count), uintptr(unsafe.Pointer(&q.blocks[0])))
	if errno != 0 {
		return 0, errno
	}
	q.skip(int(n))
	return int(n), nil
}

// skip removes the first n requests.
func (q *queue) skip(n int) {
	copy(q.blocks, q.blocks[n:q.count])
	q.count -= n
}

// wait returns completed I/Os. It waits for them no longer than nanoseconds.
func (q *queue) wait(nanoseconds int64) ([]completion, error) {
	q.limit = unix.NsecToTimespec(nanoseconds)
	// A raw call: if the scheduler knew of each wait, it would take the processor away and give it back on
	// another thread. The scheduler can still preempt the thread: its signal ends the wait with EINTR. The
	// pointers come from fields of q, which the heap does not move.
	n, _, errno := unix.RawSyscall6(unix.SYS_IO_GETEVENTS, q.id, 1, uintptr(len(q.done)),
		uintptr(unsafe.Pointer(unsafe.SliceData(q.done))), uintptr(unsafe.Pointer(&q.limit)), 0)
	switch errno {
	case 0:
		return q.done[:n], nil
	case unix.EINTR:
		return nil, nil
	default:
		return nil, fmt.Errorf("io_getevents: %w", errno)
	}
}

// close destroys the context. It waits for running I/Os.
func (q *queue) close() error {
	if _, _, errno := unix.Syscall(unix.SYS_IO_DESTROY, q.id, 0, 0); errno != 0 {
		return fmt.Errorf("io_destroy: %w", errno)
	}
	return nil
}
