package nfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/stream"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// File reads and writes one file. Its methods may be called from many goroutines.
type File struct {
	c      *Client
	handle FileHandle
	raw    []byte // handle as the wire wants it
	state  any    // of the protocol: opens and layouts
	closed atomic.Bool

	mu    sync.Mutex
	dirty []unstable

	commitTurn chan struct{} // holds a token while somebody commits
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

// ReadAt reads into p from off, in one part after the other of the transfer size: it is for
// little data. As io.ReaderAt has it, n is less than len(p) only with an error, io.EOF at the
// end of the file.
func (f *File) ReadAt(ctx context.Context, p []byte, off int64) (n int, err error) {
	n, err = f.move(ctx, int(f.c.info.TransferReadBytes), stream.IO{Buf: p, Offset: off})
	return n, f.explain("read", off, err)
}

// WriteAt writes p at off, in one part after the other of the transfer size: it is for little
// data. Unstable data are remembered until Commit. n counts the bytes from the start of p that
// were surely accepted.
func (f *File) WriteAt(ctx context.Context, p []byte, off int64, s Stability) (n int, err error) {
	n, err = f.move(ctx, int(f.c.info.TransferWriteBytes), stream.IO{Buf: p, Offset: off, Write: true, Stable: s})
	return n, f.explain("write", off, err)
}

// move moves an I/O in parts of size and returns how many bytes were moved before the first
// part that failed.
func (f *File) move(ctx context.Context, size int, io stream.IO) (n int, err error) {
	if io.Offset < 0 {
		return 0, errOffset
	}
	f.Prepare(&io)
	for n < len(io.Buf) {
		part := io
		part.Buf, part.Offset = io.Buf[n:min(n+size, len(io.Buf))], io.Offset+int64(n)
		k, err := f.movePart(ctx, &part)
		if n += k; err != nil {
			return n, err
		}
	}
	return n, nil
}

// movePart makes one READ or WRITE, which may move less than all.
func (f *File) movePart(ctx context.Context, x *stream.IO) (int, error) {
	o := &op{part: stream.Part{IO: x, To: len(x.Buf)}, encode: f.c.encodePart, decode: f.c.decodePart}
	if err := f.c.transport.do(ctx, o); err != nil {
		return 0, err
	}
	r := &o.results
	if x.Write {
		o.ch.counters.BytesWritten.Add(int64(r.Count))
		if r.Committed == Unstable {
			f.remember(r.Verifier, x.Offset, x.Offset+int64(r.Count))
		}
		return r.Count, nil
	}
	o.ch.counters.BytesRead.Add(int64(r.Count))
	switch {
	case r.Count == len(x.Buf):
		return r.Count, nil
	case r.EOF:
		return r.Count, io.EOF
	case r.Count == 0:
		return 0, io.ErrNoProgress
	}
	return r.Count, nil
}

func (c *Client) encodePart(o *op) (err error) {
	if o.call.Request, err = c.data.Append(o.call.Request, &o.part); err == nil && o.part.IO.Write {
		o.call.Request = xdr.AppendFixed(o.call.Request, o.part.IO.Buf)
	}
	return err
}

func (c *Client) decodePart(o *op) stream.Results {
	d := xdr.NewDecoder(o.call.Results)
	r := c.data.Decode(&d, &o.part)
	if r.Err != nil || r.Next != stream.Finish {
		return r
	}
	if d.Err() == nil {
		r.Err = o.part.Check(&r)
	}
	if r.Err == nil {
		copy(o.part.IO.Buf, d.Fixed(r.Data))
	}
	if err := d.Err(); err != nil {
		r.Err = &rpc.ProtocolError{Err: err}
	}
	return r
}

// Wrote notes an I/O of this file that a Stream has written: what is not stable is remembered
// until Commit.
func (f *File) Wrote(x *stream.IO) {
	if !x.Unstable {
		return
	}
	for i, v := range x.Verifiers {
		if i == 0 || v != x.Verifiers[0] {
			f.remember(v, x.Offset, x.Offset+int64(len(x.Buf)))
		}
	}
}

// explain names what was tried; io.EOF stays bare, as readers expect it.
func (f *File) explain(verb string, off int64, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return fmt.Errorf("%s at offset %d: %w", verb, off, err)
}
