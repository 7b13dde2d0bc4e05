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

// File reads and writes one file. Its methods are safe for concurrent use.
type File struct {
	c      *Client
	handle FileHandle
	raw    []byte // handle in wire format
	state  any    // protocol state: opens and layouts
	closed atomic.Bool

	mu    sync.Mutex
	dirty []unstable

	commitTurn chan struct{} // holds a token during a commit
}

// OpenFile returns a File for an NFSv3 handle without any call: NFSv3 has no open. Open works with all versions.
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

// Create creates and opens a regular file. If the name exists, exclusive makes this an error (IsExist); otherwise
// Create opens the existing file unchanged.
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

// Close releases the server's state of the open file. It does not commit. A second Close does nothing.
func (f *File) Close(ctx context.Context) error {
	if f.closed.Swap(true) {
		return nil
	}
	return f.explain("close", 0, f.c.proto.release(ctx, f))
}

// Prepare sets the file of an I/O.
func (f *File) Prepare(io *stream.IO) { io.Handle, io.State = f.raw, f.state }

// Handle returns the file's handle.
func (f *File) Handle() FileHandle { return f.handle }

var errOffset = errors.New("negative offset")

// ReadAt reads into p from off, in sequential parts of the transfer size, so it suits little data only. Like
// io.ReaderAt it returns n < len(p) only with an error, which is io.EOF at the end of the file.
func (f *File) ReadAt(ctx context.Context, p []byte, off int64) (n int, err error) {
	n, err = f.move(ctx, int(f.c.info.TransferReadBytes), stream.IO{Buf: p, Offset: off})
	return n, f.explain("read", off, err)
}

// WriteAt writes p at off, in sequential parts of the transfer size, so it suits little data only. The File records
// unstable data until Commit. The result n counts the bytes from the start of p that were certainly accepted.
func (f *File) WriteAt(ctx context.Context, p []byte, off int64, s Stability) (n int, err error) {
	n, err = f.move(ctx, int(f.c.info.TransferWriteBytes), stream.IO{Buf: p, Offset: off, Write: true, Stable: s})
	return n, f.explain("write", off, err)
}

// move transfers an I/O in parts of size and returns the number of bytes before the first failed part.
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

// movePart makes one READ or WRITE, which may transfer less than requested.
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

// Wrote records a write of a Stream to this file: unstable data waits for Commit.
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

// explain adds the operation to err. It returns io.EOF unchanged, as readers expect.
func (f *File) explain(verb string, off int64, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return fmt.Errorf("%s at offset %d: %w", verb, off, err)
}
