package kernel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

type directory struct {
	t    *Target
	name string
}

func (d *directory) List(ctx context.Context) ([]string, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	f, err := d.t.root.Open(d.name)
	if err != nil {
		return nil, failure("list directory", err)
	}
	defer func() { _ = f.Close() }()
	names, err := f.Readdirnames(-1)
	return names, failure("list directory", err)
}

func (d *directory) Open(ctx context.Context, name string, opt target.OpenOptions) (target.File, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	full := path.Join(d.name, name)
	flags := os.O_RDWR | unix.O_DIRECT
	if opt.Stable {
		flags |= unix.O_DSYNC
	}
	if opt.Create {
		flags |= os.O_CREATE | os.O_EXCL
	} else if err := d.isRegular(full); err != nil {
		return nil, err
	}
	f, err := d.t.root.OpenFile(full, flags, 0o644)
	if errors.Is(err, syscall.EINVAL) {
		return nil, target.Fail(runfile.FailureUnsupported, fmt.Sprintf(
			"%s on %s knows no O_DIRECT, and through the page cache nothing would be measured but this machine's memory",
			d.t.facts.FilesystemType, d.t.path), err)
	}
	if err != nil {
		return nil, failure("open file", err)
	}
	return &file{f: f}, nil
}

// isRegular refuses what a name of ours might have been made to lead to.
func (d *directory) isRegular(full string) error {
	info, err := d.t.root.Lstat(full)
	if err != nil {
		return failure("open file", err)
	}
	if !info.Mode().IsRegular() {
		return target.Fail(runfile.FailureForeignFiles,
			fmt.Sprintf("%q is not a regular file (%s), so it is not ours", full, info.Mode()), nil)
	}
	return nil
}

func (d *directory) Remove(ctx context.Context, name string) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return failure("remove file", d.t.root.Remove(path.Join(d.name, name)))
}

type file struct{ f *os.File }

func (f *file) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	n, err := f.f.ReadAt(p, off)
	if err != nil && !errors.Is(err, io.EOF) {
		return n, failure("read", err)
	}
	return n, err
}

func (f *file) WriteAt(ctx context.Context, p []byte, off int64) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if _, err := f.f.WriteAt(p, off); err != nil {
		return failure("write", err)
	}
	return nil
}

func (f *file) Commit(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return failure("fsync", f.f.Sync())
}

func (f *file) Size(ctx context.Context) (int64, error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	info, err := f.f.Stat()
	if err != nil {
		return 0, failure("stat", err)
	}
	return info.Size(), nil
}

func (f *file) Close() error { return f.f.Close() }
