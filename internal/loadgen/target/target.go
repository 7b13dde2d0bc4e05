// Package target defines what load is put on: a small file interface with a
// strict contract. Implementations live in the packages below it and all run
// the same conformance suite, targettest.
package target

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// SectorBytes is the unit in which offsets and lengths of all file I/O are
// counted: every offset and every length is a multiple of it.
const SectorBytes = 512

// BufferAlignBytes is the alignment in memory of every buffer handed to a
// File. O_DIRECT asks for it; an Arena gives it.
const BufferAlignBytes = 4096

// Target is one place that load can be put on: an export reached by the
// user-space client, a mounted directory, or memory in tests.
//
// Contract for all implementations, checked by the suite in targettest:
//
//   - All methods may be called from several goroutines at once.
//   - Methods that take a context do nothing when it is done already, and return
//     soon after it is done, with an error that wraps its cause or its Err. One
//     exception is stated where it applies: a system call on a dead hard mount
//     cannot be interrupted, see package kernel.
//   - An error that a user can act on is an *Error with a code of package
//     runfile and a sentence that says what, where and what to do. IsNotExist,
//     IsExist and IsNotEmpty tell the rest apart.
//   - No call is repeated by the caller because of an error: what may be
//     retried (a lost connection) was retried before the error came out.
type Target interface {
	// Directory opens the directory name, which is one path element, directly
	// below the export or the mount. With create it is made when it is missing;
	// without, the error of a missing one satisfies IsNotExist.
	Directory(ctx context.Context, name string, create bool) (Directory, error)
	// RemoveDirectory removes the directory name. An error that satisfies
	// IsNotEmpty says that files are left in it, IsNotExist that it was gone.
	RemoveDirectory(ctx context.Context, name string) error
	// NewStream connects one more stream, which does what the same calls of the Files would do and
	// keeps many I/Os outstanding. It is closed with the Target, or before.
	NewStream(ctx context.Context, opt StreamOptions) (Stream, error)
	// Facts says what was found when the target was opened. It does no I/O.
	Facts() runfile.MountFacts
	// Channels returns the counters of every channel since the target was
	// opened, in a stable order, or nil where there are no channels. It does
	// no I/O and may be called while load runs.
	Channels() []runfile.Channel
	// Servers returns the NFS servers that the channels lead to, with their counters since
	// the target was opened, in a stable order, or nil where the client keeps no state at a
	// server. It does no I/O and may be called while load runs.
	Servers() []runfile.NFSServer
	// Close releases everything. Files that are still open become useless.
	// A second Close does nothing.
	Close() error
}

// Check looks, before a run, for what the run would hang on, as far as a Target knows. Whoever
// only removes files has no need of it. What it finds is in Facts.
func Check(ctx context.Context, t Target) error {
	if c, ok := t.(interface {
		Check(ctx context.Context) error
	}); ok {
		return c.Check(ctx)
	}
	return nil
}

// Directory is one open directory of a Target.
type Directory interface {
	// List returns the names of all entries but "." and "..", in no order.
	List(ctx context.Context) ([]string, error)
	// Open opens the file name, which must be a regular file without a second name (a hard link): another name may be
	// that of somebody else's file. What is none is an *Error of runfile.FailureForeignFiles.
	Open(ctx context.Context, name string, opt OpenOptions) (File, error)
	// Remove removes the file name; of a missing one the error satisfies
	// IsNotExist.
	Remove(ctx context.Context, name string) error
	// Rename gives the file from the name to. A file that has that name loses it, and does not change.
	Rename(ctx context.Context, from, to string) error
}

// OpenOptions say how a file is opened. It is never truncated by opening.
type OpenOptions struct {
	// Create makes the file, empty. It must not exist: see IsExist.
	Create bool
	// Stable makes every WriteAt of this File return only when the data would
	// survive a crash of the server, as a database writer needs it: FILE_SYNC
	// writes over NFS, O_DSYNC through a mount. Without it data is safe after
	// Commit only, which is how files are filled.
	Stable bool
}

// File is one open file. The page cache of this client is never used.
//
// Buffers are aligned to BufferAlignBytes; their length and all offsets are
// multiples of SectorBytes. An implementation neither keeps nor changes a
// buffer after the call. ReadAt and WriteAt are for little data: a Stream moves
// the rest.
type File interface {
	// ReadAt fills p from off. It returns less than len(p) only with an error:
	// io.EOF at the end of the file, in which case n bytes are good.
	ReadAt(ctx context.Context, p []byte, off int64) (n int, err error)
	// WriteAt writes all of p at off, or returns an error; then any part of p
	// may have been written.
	WriteAt(ctx context.Context, p []byte, off int64) error
	// Commit makes everything that was written through this File survive a crash of the
	// server. It returns what the server has lost already, in a restart: the caller writes
	// that again.
	Commit(ctx context.Context) (lost []Span, err error)
	// Size asks the server for the present size in bytes.
	Size(ctx context.Context) (int64, error)
	// Close forgets the file. It does not commit.
	Close() error
}

// Span is a range of bytes of a file: [From, To).
type Span struct{ From, To int64 }

// StreamOptions say what a stream is for.
type StreamOptions struct {
	// Slots is how many I/Os may be outstanding, each of at most BlockBytes.
	Slots      int
	BlockBytes int64
	// Streams is how many of them the caller uses at the same time, this one
	// included: one alone may be worth more connections than one of many.
	Streams int
}

// Stream carries the I/O of one job.
type Stream interface {
	// Lanes is how many goroutines Run calls the Driver from.
	Lanes() int
	// Run asks d for the I/O of every slot, in the order of the slots, and
	// again whenever one is done, until d has no more for any slot and nothing
	// is outstanding. Soon after ctx is done no further I/O is asked for, what is
	// outstanding ends with an error that wraps the cause of ctx, and Run
	// returns. It may be called again afterwards, never twice at once.
	Run(ctx context.Context, d Driver)
	// Close ends the connections; not during Run. A second Close does nothing.
	Close() error
}

// maxProcessors is what ProvideThreads asks for at most; each costs some memory.
const maxProcessors = 512

// ProvideThreads makes room for lanes, which hold a processor while they block. With no more
// processors than cores, the Go scheduler would notice a blocked one only after tens of
// microseconds, and start others late by the same time.
func ProvideThreads(lanes int) (restore func()) {
	before := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(min(before+lanes, max(maxProcessors, before)))
	return func() { runtime.GOMAXPROCS(before) }
}

// Paths is implemented by a Stream that knows over which path a lane carries its I/O.
type Paths interface {
	// Path names the path of a lane.
	Path(lane int) string
}

// Ceiling is implemented by a Stream that can tell what the client does at most.
type Ceiling interface {
	// Ceiling counts the I/Os that the client does in a window behind a warm-up, with as many lanes and slots as the
	// Stream, without the storage. bufs has a buffer for each slot, whose content a read changes. Not during Run.
	Ceiling(ctx context.Context, bufs [][]byte, write bool, warmup, window time.Duration) (ops int64, err error)
}

// Driver says what a Stream does, and is called with the outcome. Different lanes call
// it at the same time, but never for the same slot.
type Driver interface {
	// Next fills in the next I/O of a slot. With Wait above zero nothing is
	// started, and Next is called again that much later at the earliest. False
	// means that the slot has no more to do in this Run.
	Next(io *IO) bool
	// Done is called when the I/O is done, or failed as io.Err says. Next of the
	// slot is best called right after it, on the same lane.
	Done(io *IO)
}

// IO is one I/O of one slot. The buffer belongs to the stream from Next to Done.
// The File is one of the Target's.
type IO struct {
	// Slot counts from 0; Lane is who calls, from 0. Both are set by the stream.
	Slot, Lane int

	Write  bool
	File   File
	Buf    []byte
	Offset int64
	Wait   time.Duration

	// SentAgain says that a part was sent a second time, because the connection was lost before the answer.
	// The server may execute both calls, and the first one late. Set by the stream, as far as it knows.
	SentAgain bool
	// Err is nil when all of Buf was read or written; io.EOF when the file
	// ended before.
	Err error
}

// Error is a failure with a code of package runfile and one sentence for the
// person who has to act on it. Err is the cause, and may be nil.
type Error struct {
	Code    string // one of runfile.Failure*
	Message string // what, where, and what to check; without a final stop
	Err     error
}

// Error returns the sentence, with the cause behind it.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Message
	}
	return e.Message + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Fail makes an Error.
func Fail(code, message string, cause error) error {
	return &Error{Code: code, Message: message, Err: cause}
}

// CodeOf returns the failure code that err carries, or "".
func CodeOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}

// IsNotExist reports whether err says that a name is not there. Targets wrap
// fs.ErrNotExist.
func IsNotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// IsExist reports whether err says that a name is there already. Targets wrap
// fs.ErrExist.
func IsExist(err error) bool { return errors.Is(err, fs.ErrExist) && !IsNotEmpty(err) }

// IsNotEmpty reports whether err says that a directory has entries. Targets
// wrap syscall.ENOTEMPTY.
func IsNotEmpty(err error) bool { return errors.Is(err, syscall.ENOTEMPTY) }

// Arena is page-aligned memory outside the Go heap, cut into equal buffers:
// O_DIRECT needs the alignment, and the garbage collector need not know it.
type Arena struct {
	mapped   []byte
	mem      []byte // of mapped, from a boundary of large pages
	stride   int
	size     int
	released bool
}

// NewArena maps count buffers of size bytes each. The memory is zero and costs
// nothing until it is touched. Call Release when no I/O can use it any more.
func NewArena(count int, size int64) (*Arena, error) {
	if count < 1 || size < 1 {
		return nil, fmt.Errorf("map %d buffers of %d bytes: both must be positive", count, size)
	}
	stride := (size + BufferAlignBytes - 1) / BufferAlignBytes * BufferAlignBytes
	total := stride * int64(count)
	if total/int64(count) != stride || int64(int(total)) != total {
		return nil, fmt.Errorf("map %d buffers of %d bytes: more than this machine can address", count, size)
	}
	whole, skip := total, int64(0)
	if total >= hugeFromBytes {
		whole = (total+hugePageBytes-1)/hugePageBytes*hugePageBytes + hugePageBytes
	}
	mem, err := syscall.Mmap(-1, 0, int(whole), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		return nil, fmt.Errorf("map %d buffers of %d bytes: %w", count, size, err)
	}
	if total >= hugeFromBytes {
		skip = (hugePageBytes - int64(uintptr(unsafe.Pointer(&mem[0]))%hugePageBytes)) % hugePageBytes
		// An I/O on one large page costs less than on 256 small ones: the kernel pins
		// and maps it at once. It is what Oracle's buffer cache lies on. Where there is
		// no large page, small ones do.
		_ = syscall.Madvise(mem[skip:whole-hugePageBytes+skip], madvHugePage)
	}
	return &Arena{mapped: mem, mem: mem[skip:], stride: int(stride), size: int(size)}, nil
}

const (
	hugePageBytes = 2 << 20
	hugeFromBytes = 1 << 20 // smaller arenas are not worth a large page
	madvHugePage  = 14      // MADV_HUGEPAGE of Linux
)

// Buffer returns buffer i, from 0. Its capacity ends where its length does.
func (a *Arena) Buffer(i int) []byte {
	from := i * a.stride
	return a.mem[from : from+a.size : from+a.size]
}

// Release gives the memory back. Using a buffer afterwards is a fault. A
// second call does nothing.
func (a *Arena) Release() error {
	if a.released {
		return nil
	}
	a.released = true
	err := syscall.Munmap(a.mapped)
	runtime.KeepAlive(a)
	if err != nil {
		return fmt.Errorf("unmap buffers: %w", err)
	}
	return nil
}
