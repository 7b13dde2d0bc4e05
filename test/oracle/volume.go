package oracle

import (
	"context"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/nfs"
)

// volume is how one process reaches the files of the database. Names are below
// the data directory. It is safe for several goroutines.
type volume interface {
	// create makes a file, and the folders above it, or empties what is there.
	create(ctx context.Context, name string) (blockFile, error)
	open(ctx context.Context, name string) (blockFile, error)
	remove(ctx context.Context, name string) error
	// channels are those of Direct NFS, nil through the mounted directory.
	channels() []nfs.ChannelStats
	close() error
}

// blockFile is an open file. Offsets and lengths are multiples of 4096 and
// buffers come from aligned.
type blockFile interface {
	readAt(ctx context.Context, p []byte, off int64) error
	writeAt(ctx context.Context, p []byte, off int64) error
	close() error
}

// aligned makes a buffer as O_DIRECT wants it.
func aligned(n int) []byte {
	const page = 4096
	raw := make([]byte, n+page)
	at := int(-uintptr(unsafe.Pointer(&raw[0])) & (page - 1)) // how far to the next page
	return raw[at : at+n : at+n]
}

// mounted is the data directory as the kernel shows it.
type mounted struct{ dir string }

func (m mounted) create(_ context.Context, name string) (blockFile, error) {
	full := filepath.Join(m.dir, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o750); err != nil {
		return nil, err
	}
	return m.openWith(full, os.O_CREATE|os.O_TRUNC)
}

func (m mounted) open(_ context.Context, name string) (blockFile, error) {
	return m.openWith(filepath.Join(m.dir, name), 0)
}

func (m mounted) openWith(full string, flags int) (blockFile, error) {
	f, err := os.OpenFile(full, os.O_RDWR|unix.O_DIRECT|unix.O_DSYNC|flags, 0o640)
	if err != nil {
		return nil, err
	}
	return mountedFile{f}, nil
}

func (m mounted) remove(_ context.Context, name string) error {
	return os.Remove(filepath.Join(m.dir, name))
}

func (m mounted) channels() []nfs.ChannelStats { return nil }
func (m mounted) close() error                 { return nil }

type mountedFile struct{ f *os.File }

func (f mountedFile) readAt(ctx context.Context, p []byte, off int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	_, err := f.f.ReadAt(p, off)
	return err
}

func (f mountedFile) writeAt(ctx context.Context, p []byte, off int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	_, err := f.f.WriteAt(p, off)
	return err
}

func (f mountedFile) close() error { return f.f.Close() }

// exported is the data directory as an export shows it to our NFS client.
type exported struct {
	client *nfs.Client
	below  string // of the data directory in the export
	ops    *dnfsOps
}

func (e *exported) create(ctx context.Context, name string) (blockFile, error) {
	dir, base, err := e.walk(ctx, name, true)
	if err != nil {
		return nil, err
	}
	e.ops.create.Add(1)
	h, err := e.client.Create(ctx, dir, base, 0o640, false)
	if err != nil {
		return nil, err
	}
	e.ops.setattr.Add(1)
	if err := e.client.SetSize(ctx, h, 0); err != nil {
		return nil, err
	}
	return &exportedFile{e.client.OpenFile(h), e}, nil
}

func (e *exported) open(ctx context.Context, name string) (blockFile, error) {
	dir, base, err := e.walk(ctx, name, false)
	if err != nil {
		return nil, err
	}
	e.ops.lookup.Add(1)
	h, err := e.client.Lookup(ctx, dir, base)
	if err != nil {
		return nil, err
	}
	return &exportedFile{e.client.OpenFile(h), e}, nil
}

func (e *exported) remove(ctx context.Context, name string) error {
	dir, base, err := e.walk(ctx, name, false)
	if err != nil {
		return err
	}
	return e.client.Remove(ctx, dir, base)
}

// walk finds the folder of a name, and makes what of it is missing if asked to.
func (e *exported) walk(ctx context.Context, name string, missing bool) (nfs.FileHandle, string, error) {
	at := e.client.Root()
	folder, base := path.Split(path.Join(e.below, filepath.ToSlash(name)))
	for part := range strings.SplitSeq(strings.Trim(folder, "/"), "/") {
		if part == "" {
			continue
		}
		e.ops.lookup.Add(1)
		next, err := e.client.Lookup(ctx, at, part)
		if nfs.IsNotExist(err) && missing {
			next, err = e.client.Mkdir(ctx, at, part, 0o750)
		}
		if err != nil {
			return "", "", err
		}
		at = next
	}
	return at, base, nil
}

func (e *exported) channels() []nfs.ChannelStats { return e.client.Channels() }
func (e *exported) close() error                 { return e.client.Close() }

type exportedFile struct {
	f *nfs.File
	e *exported
}

func (f *exportedFile) readAt(ctx context.Context, p []byte, off int64) error {
	n, err := f.f.ReadAt(ctx, p, off)
	f.e.ops.read.Add(pieces(n, f.e.client.Info().TransferReadBytes))
	f.e.ops.readBytes.Add(int64(n))
	if n == len(p) && errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (f *exportedFile) writeAt(ctx context.Context, p []byte, off int64) error {
	n, err := f.f.WriteAt(ctx, p, off, nfs.FileSync)
	f.e.ops.write.Add(pieces(n, f.e.client.Info().TransferWriteBytes))
	f.e.ops.writeBytes.Add(int64(n))
	return err
}

func (f *exportedFile) close() error { return nil }

// pieces is how many calls of at most size bytes n bytes took.
func pieces(n int, size uint32) int64 {
	if size == 0 {
		return 1
	}
	return (int64(n) + int64(size) - 1) / int64(size)
}
