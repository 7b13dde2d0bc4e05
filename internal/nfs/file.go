package nfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
)

// window is how many parts of one ReadAt or WriteAt are outstanding at once when
// the buffer is larger than the transfer size.
const window = 16

// File reads and writes one file. Its methods may be called from many goroutines.
type File struct {
	c      *Client
	handle FileHandle
	raw    []byte // handle as the wire wants it

	mu     sync.Mutex
	dirty  []unstable
	source io.ReaderAt

	commitTurn chan struct{} // holds a token while somebody commits
	resent     atomic.Int64
}

// OpenFile returns a File for a handle. NFSv3 knows no open, so nothing is sent.
func (c *Client) OpenFile(handle FileHandle) *File {
	return &File{c: c, handle: handle, raw: []byte(handle), commitTurn: make(chan struct{}, 1)}
}

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
	n, err = pipeline(f.c, len(p), int(f.c.info.TransferReadBytes),
		func(o *op, from, to int) { f.c.proto.beginRead(ctx, o, f.raw, p[from:to], uint64(off)+uint64(from)) },
		func(o *op, from, to int) (int, error) { return f.endRead(ctx, o, p[from:to], off+int64(from)) })
	return n, f.explain("read", off, err)
}

// endRead finishes the READ of o and reads on where the server gave less.
func (f *File) endRead(ctx context.Context, o *op, p []byte, off int64) (n int, err error) {
	for {
		k, eof, err := f.c.proto.endRead(ctx, o)
		n += k
		switch {
		case err != nil || n == len(p):
			return n, err
		case eof:
			return n, io.EOF
		case k == 0:
			return n, io.ErrNoProgress
		}
		f.c.proto.beginRead(ctx, o, f.raw, p[n:], uint64(off)+uint64(n))
	}
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
	n, err = pipeline(f.c, len(p), int(f.c.info.TransferWriteBytes),
		func(o *op, from, to int) {
			f.c.proto.beginWrite(ctx, o, f.raw, p[from:to], uint64(off)+uint64(from), s)
		},
		func(o *op, from, to int) (int, error) { return f.endWrite(ctx, o, p[from:to], off+int64(from), s) })
	if err == nil && s == Unstable {
		err = f.commitIfMany(ctx)
	}
	return n, f.explain("write", off, err)
}

// endWrite finishes the WRITE of o and writes on where the server took less.
func (f *File) endWrite(ctx context.Context, o *op, p []byte, off int64, s Stability) (n int, err error) {
	for {
		k, got, v, err := f.c.proto.endWrite(ctx, o)
		if err != nil {
			return n, err
		}
		if got < s {
			return n, violation("WRITE asked for stability %d and got %d", s, got)
		}
		if got == Unstable {
			f.remember(v, off+int64(n), off+int64(n+k))
		}
		if n += k; n == len(p) {
			return n, nil
		}
		f.c.proto.beginWrite(ctx, o, f.raw, p[n:], uint64(off)+uint64(n), s)
	}
}

// pipeline moves total bytes in parts of size, of which up to window are under way
// at once. It returns how many bytes were moved before the first part that failed.
func pipeline(
	c *Client, total, size int,
	begin func(o *op, from, to int), end func(o *op, from, to int) (int, error),
) (n int, err error) {
	var ops [window]*op
	parts := (total + size - 1) / size
	for begun, ended := 0, 0; ended < begun || (begun < parts && err == nil); {
		if begun < parts && begun-ended < window && err == nil {
			o := c.ops.Get().(*op)
			ops[begun%window] = o
			begin(o, begun*size, min(begun*size+size, total))
			begun++
			continue
		}
		o := ops[ended%window]
		k, e := end(o, ended*size, min(ended*size+size, total))
		o.call.Data, o.call.Dst, o.conn = nil, nil, nil // the buffers are the caller's
		c.ops.Put(o)
		ended++
		if err == nil {
			n, err = n+k, e
		}
	}
	return n, err
}

// explain names what was tried; io.EOF stays bare, as readers expect it.
func (f *File) explain(verb string, off int64, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return fmt.Errorf("%s at offset %d: %w", verb, off, err)
}
