// Package target defines the interface to the files that carry the load: small, with a strict contract.
// Implementations live in the packages below it, and all run the same conformance suite, targettest.
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

// SectorBytes is the unit of all file I/O: every offset and every length is a multiple of it.
const SectorBytes = 512

// BufferAlignBytes is the alignment in memory of every buffer for a File. O_DIRECT requires it; an Arena
// provides it.
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
//     runfile and a sentence that says what is wrong, where, and what to do. The caller adds the operation and
//     the name of the file. IsNotExist, IsExist and IsNotEmpty tell the rest apart.
//   - No call is repeated by the caller because of an error: what may be
//     retried (a lost connection) was retried before the error came out.
type Target interface {
	// Directory opens the directory name, which is one path element, directly below the export or the mount.
	// With create it makes a missing directory; without, the error of a missing directory satisfies IsNotExist.
	Directory(ctx context.Context, name string, create bool) (Directory, error)
	// RemoveDirectory removes the directory name. If files are left in it, the error satisfies IsNotEmpty; if it
	// is missing, IsNotExist.
	RemoveDirectory(ctx context.Context, name string) error
	// NewStream connects one more stream, which performs the I/O of Files and keeps many I/Os outstanding. Close
	// it before the Target, or with it.
	NewStream(ctx context.Context, opt StreamOptions) (Stream, error)
	// Facts returns the facts that were found when the target was opened. It does no I/O.
	Facts() runfile.MountFacts
	// Channels returns the counters of every channel since the target was opened, in a stable order, or nil
	// without channels. It does no I/O and may be called while load runs.
	Channels() []runfile.Channel
	// Servers returns the NFS servers of the channels, with their counters since the target was opened, in a
	// stable order, or nil if the client keeps no state at a server. It does no I/O and may be called while load
	// runs.
	Servers() []runfile.NFSServer
	// Close releases all resources. Open files become useless. A second Close does nothing.
	Close() error
}

// Check tests a Target before a run for problems that would make the run hang, if the Target supports this.
// It is unnecessary before removing files. Its results are in Facts.
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
	// List returns the names of all entries except "." and "..", unsorted.
	List(ctx context.Context) ([]string, error)
	// Open opens the file name, which must be a regular file without a second name (a hard link), because
	// another name may belong to somebody else's file. For any other entry the error is an *Error with
	// runfile.FailureForeignFiles.
	Open(ctx context.Context, name string, opt OpenOptions) (File, error)
	// Remove removes the file name. If it is missing, the error satisfies IsNotExist.
	Remove(ctx context.Context, name string) error
	// Rename gives the file from the name to. A file that already has this name loses it and does not change.
	Rename(ctx context.Context, from, to string) error
}

// OpenOptions configures how a file is opened. Opening never truncates it.
type OpenOptions struct {
	// Create makes an empty file. The file must not exist: see IsExist.
	Create bool
	// Stable makes every WriteAt of this File return only when the data would survive a crash of the server, as
	// a database writer needs: FILE_SYNC writes over NFS, O_DSYNC through a mount. Without it data is safe only
	// after Commit, which suffices for filling files.
	Stable bool
}

// File is one open file. It never uses the page cache of this client.
//
// Buffers are aligned to BufferAlignBytes; their length and all offsets are
// multiples of SectorBytes. An implementation neither keeps nor changes a
// buffer after the call. ReadAt and WriteAt are for little data: a Stream moves
// the rest.
type File interface {
	// ReadAt fills p from off. It returns less than len(p) only with an error: with io.EOF at the end of the
	// file, the first n bytes are valid.
	ReadAt(ctx context.Context, p []byte, off int64) (n int, err error)
	// WriteAt writes all of p at off, or returns an error. After an error any part of p may have been written.
	WriteAt(ctx context.Context, p []byte, off int64) error
	// Commit makes all data written through this File survive a crash of the server. It returns the ranges that
	// the server has already lost in a restart: the caller must write them again.
	Commit(ctx context.Context) (lost []Span, err error)
	// Size returns the current size in bytes from the server.
	Size(ctx context.Context) (int64, error)
	// Close closes the file. It does not commit.
	Close() error
}

// Span is a range of bytes of a file: [From, To).
type Span struct{ From, To int64 }

// StreamOptions configures a stream.
type StreamOptions struct {
	// Slots bounds the outstanding I/Os, each of at most BlockBytes.
	Slots      int
	BlockBytes int64
	// Streams is the number of streams that the caller uses at the same time, including this one: a single
	// stream may get more connections than one of many.
	Streams int
}

// Stream carries the I/O of one job.
type Stream interface {
	// Threads returns the number of goroutines from which Run calls the Driver.
	Threads() int
	// Run asks d for the I/O of every slot, in the order of the slots, and again after each I/O, until d has no
	// more I/O for any slot and nothing is outstanding. Soon after ctx is done, Run asks for no further I/O,
	// outstanding I/Os end with an error that wraps the cause of ctx, and Run returns. It may be called again
	// afterwards, but never concurrently.
	Run(ctx context.Context, d Driver)
	// Close closes the connections. It must not be called during Run. A second Close does nothing.
	Close() error
}

// maxProcessors bounds the processors that ProvideThreads requests; each costs some memory.
const maxProcessors = 512

// ProvideThreads raises GOMAXPROCS by threads, because a thread holds a processor while it blocks. With no more
// processors than cores, the Go scheduler would notice a blocked thread only after tens of microseconds, and
// start others late by the same time.
func ProvideThreads(threads int) (restore func()) {
	before := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(min(before+threads, max(maxProcessors, before)))
	return func() { runtime.GOMAXPROCS(before) }
}

// Paths is implemented by a Stream that knows the path of each thread.
type Paths interface {
	// Path returns the path of a thread.
	Path(thread int) string
}

// Ceiling is implemented by a Stream that can measure the limit of the client.
type Ceiling interface {
	// Ceiling counts the I/Os that the client does in a window after a warm-up, without the storage, with as
	// many threads and slots as the Stream. bufs has a buffer for each slot; reads change their content. It must
	// not be called during Run.
	Ceiling(ctx context.Context, bufs [][]byte, write bool, warmup, window time.Duration) (ops int64, err error)
}

// Driver provides the I/Os of a Stream and receives their results. Different threads call it at the same time,
// but never for the same slot.
type Driver interface {
	// Next fills in the next I/O of a slot. If Wait is above zero, the stream starts nothing and calls Next
	// again after at least that time. False means that the slot has no more I/Os in this Run.
	Next(io *IO) bool
	// Done receives a completed I/O, or a failed one with io.Err. A stream should call Next of the slot right
	// after it, on the same thread.
	Done(io *IO)
}

// IO is one I/O of one slot. The buffer belongs to the stream from Next to Done. The File is a file of the
// stream's Target.
type IO struct {
	// Slot counts from 0; Thread is the calling thread, from 0. The stream sets both.
	Slot, Thread int

	Write  bool
	File   File
	Buf    []byte
	Offset int64
	Wait   time.Duration

	// SentAgain means that a part of the I/O was sent a second time, because the connection was lost before the
	// answer. The server may execute both calls, and the first one late. The stream sets it as far as it knows.
	SentAgain bool
	// Err is nil if all of Buf was read or written; io.EOF if the file ended before.
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

// IsNotExist reports whether err means that a name does not exist. Targets wrap fs.ErrNotExist.
func IsNotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// IsExist reports whether err means that a name already exists. Targets wrap fs.ErrExist.
func IsExist(err error) bool { return errors.Is(err, fs.ErrExist) && !IsNotEmpty(err) }

// IsNotEmpty reports whether err means that a directory has entries. Targets wrap syscall.ENOTEMPTY.
func IsNotEmpty(err error) bool { return errors.Is(err, syscall.ENOTEMPTY) }

// IsStale reports whether err means that an open file no longer exists: somebody removed it, or gave its name to
// another file. Targets wrap syscall.ESTALE, as the kernel's NFS client does.
func IsStale(err error) bool { return errors.Is(err, syscall.ESTALE) }

// Arena is page-aligned memory outside the Go heap, cut into equal buffers: O_DIRECT requires the alignment,
// and the garbage collector does not scan it.
type Arena struct {
	mapped   []byte
	mem      []byte // of mapped, from a boundary of large pages
	stride   int
	size     int
	released bool
}

// NewArena maps count buffers of size bytes each. The memory is zero and costs nothing until it is used. Call
// Release when no I/O can use it any more.
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
		// An I/O on one large page costs less than on 256 small ones: the kernel pins and maps it at once. Oracle's
		// buffer cache uses large pages, too. Without a large page, small ones work.
		_ = syscall.Madvise(mem[skip:whole-hugePageBytes+skip], madvHugePage)
	}
	return &Arena{mapped: mem, mem: mem[skip:], stride: int(stride), size: int(size)}, nil
}

const (
	hugePageBytes = 2 << 20
	hugeFromBytes = 1 << 20 // smaller arenas are not worth a large page
	madvHugePage  = 14      // MADV_HUGEPAGE of Linux
)

// Buffer returns buffer i, from 0. Its capacity equals its length.
func (a *Arena) Buffer(i int) []byte {
	from := i * a.stride
	return a.mem[from : from+a.size : from+a.size]
}

// Release unmaps the memory. Using a buffer afterwards is a fault. A second call does nothing.
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
