package nfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/nfsbench/nfsbench/internal/nfs/stream"
)

// window is how many parts of one ReadAt or WriteAt are outstanding at once when
// the buffer is larger than the transfer size.
const window = 16

// File reads and writes one file. Its methods may be called from many goroutines.
type File struct {
	c      *Client
	handle FileHandle
	raw    []byte // handle as the wire wants it
	state  any    // of the protocol: opens and layouts
	closed atomic.Bool

	mu     sync.Mutex
	dirty  []unstable
	source io.ReaderAt

	commitTurn chan struct{} // holds a token while somebody commits
	resent     atomic.Int64
}

// OpenFile returns a File for a handle of NFSv3, which knows no open: nothing is sent. Open
// works with all versions.
func (c *Client) OpenFile(handle FileHandle) *File {
	f := c.newFile()
	f.handle, f.raw = handle, []byte(handle)
	return f
}

func (c *Client) newFile() *File { return &File{c: c, commitTurn: make(chan struct{}, 1)} }

// Open opens the regular file name in a directory for reading and writing. Close it.
func (c *Client) Open(ctx context.Context, dir FileHandle, name string) (*File, error) {
	f, err := c.open(ctx, dir, name, nil)
	return f, explain("open", name, err)
}

// Create makes a regular file and opens it. With exclusive a name that is taken is an error
// (IsExist); without, the existing file is opened as it is.
func (c *Client) Create(ctx context.Context, dir FileHandle, name string, mode uint32, exclusive bool) (*File, error) {
	f, err := c.open(ctx, dir, name, &creation{Mode: mode, Exclusive: exclusive})
	return f, explain("create", name, err)
}

func (c *Client) open(ctx context.Context, dir FileHandle, name string, how *creation) (*File, error) {
	f := c.newFile()
	if err := c.proto.open(ctx, f, dir, name, how); err != nil {
		return nil, err
	}
	f.raw = []byte(f.handle)
	return f, nil
}

// Close gives back what the server keeps for the open file. It does not commit. A second
// Close does nothing.
func (f *File) Close(ctx context.Context) error {
	if f.closed.Swap(true) {
		return nil
	}
	return f.explain("close", 0, f.c.proto.release(ctx, f))
}

// Prepare makes io an I/O of this file.
func (f *File) Prepare(io *stream.IO) { io.Handle, io.State = f.raw, f.state }

// Handle returns the file's handle.
func (f *File) Handle() FileHandle { return f.handle }

var errOffset = errors.New("negative offset")

// ReadAt reads into p from off, straight from the connection. More than the
// transfer size is read in parts, several at a time. As io.ReaderAt has it, n is
// less than len(p) only with an error, io.EOF at the end of the file.
func (f *File) ReadAt(ctx context.Context, p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, errOffset
	}
	if len(p) == 0 {
		return 0, nil
	}
	n, err = f.pipeline(ctx, int(f.c.info.TransferReadBytes), stream.IO{Buf: p, Offset: off})
	return n, f.explain("read", off, err)
}

// WriteAt writes p at off. More than the transfer size is written in parts,
// several at a time. Unstable data are remembered until Commit. n counts the bytes
// from the start of p that were surely accepted.
func (f *File) WriteAt(ctx context.Context, p []byte, off int64, s Stability) (n int, err error) {
	if off < 0 {
		return 0, errOffset
	}
	if len(p) == 0 {
		return 0, nil
	}
	n, err = f.pipeline(ctx, int(f.c.info.TransferWriteBytes), stream.IO{Buf: p, Offset: off, Write: true, Stable: s})
	if err == nil && s == Unstable {
		err = f.commitIfMany(ctx)
	}
	return n, f.explain("write", off, err)
}

// pipeline moves all of an I/O in parts of size, of which up to window are under way at
// once. It returns how many bytes were moved before the first part that failed.
func (f *File) pipeline(ctx context.Context, size int, all stream.IO) (n int, err error) {
	f.Prepare(&all)
	var ops [window]*op
	parts := (len(all.Buf) + size - 1) / size
	starved := false // the part that was begun last waits for its turn: then no other may overtake it
	for begun, ended := 0, 0; ended < begun || (begun < parts && err == nil); {
		if begun < parts && begun-ended < window && err == nil && !starved {
			o := f.c.ops.Get().(*op)
			ops[begun%window] = o
			from := begun * size
			o.io = all
			o.io.Buf, o.io.Offset = all.Buf[from:min(from+size, len(all.Buf))], all.Offset+int64(from)
			f.begin(ctx, o)
			starved = errors.Is(o.startErr, errNoTicket)
			begun++
			continue
		}
		o := ops[ended%window]
		k, e := f.end(ctx, o)
		o.io, o.call.Data, o.call.Dst, o.conn = stream.IO{}, nil, nil, nil // the buffers are the caller's
		f.c.ops.Put(o)
		if ended++; ended == begun {
			starved = false
		}
		if err == nil {
			n, err = n+k, e
		}
	}
	return n, err
}

func (f *File) begin(ctx context.Context, o *op) {
	o.moveData(f.c.data)
	f.c.transport.begin(ctx, o)
}

// end finishes a READ or WRITE and goes on where the server moved less.
func (f *File) end(ctx context.Context, o *op) (n int, err error) {
	for {
		if err := f.c.transport.await(ctx, o); err != nil {
			return n, err
		}
		r := &o.results
		if o.io.Write && r.Committed == Unstable {
			f.remember(r.Verifier, o.io.Offset, o.io.Offset+int64(r.Count))
		}
		n += r.Count
		o.io.Buf, o.io.Offset = o.io.Buf[r.Count:], o.io.Offset+int64(r.Count)
		switch {
		case len(o.io.Buf) == 0:
			return n, nil
		case r.EOF:
			return n, io.EOF
		case r.Count == 0:
			return n, io.ErrNoProgress
		}
		f.begin(ctx, o)
	}
}

// explain names what was tried; io.EOF stays bare, as readers expect it.
func (f *File) explain(verb string, off int64, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return fmt.Errorf("%s at offset %d: %w", verb, off, err)
}
