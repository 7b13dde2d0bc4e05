package direct

import (
	"context"
	"fmt"
	"io"
	"io/fs"

	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/nfs"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

const (
	directoryMode = 0o755
	fileMode      = 0o644
)

// Directory implements target.Target.
func (t *Target) Directory(ctx context.Context, name string, create bool) (target.Directory, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	fh, err := t.client.Lookup(ctx, t.client.Root(), name)
	if nfs.IsNotExist(err) && create {
		fh, err = t.client.Mkdir(ctx, t.client.Root(), name, directoryMode)
		if nfs.IsExist(err) { // another client was faster
			fh, err = t.client.Lookup(ctx, t.client.Root(), name)
		}
	}
	if err != nil {
		return nil, t.explain("open directory", err)
	}
	if err := t.expect(ctx, fh, name, nfs.TypeDirectory, "a directory"); err != nil {
		return nil, err
	}
	return &directory{t: t, fh: fh}, nil
}

// expect refuses what a name of ours might have been made to lead to.
func (t *Target) expect(ctx context.Context, fh nfs.FileHandle, name string, kind nfs.FileType, text string) error {
	attr, err := t.client.Getattr(ctx, fh)
	if err != nil {
		return t.explain(fmt.Sprintf("look at %q", name), err)
	}
	if attr.Type != kind {
		return target.Fail(runfile.FailureForeignFiles,
			fmt.Sprintf("%q on %s is not %s, so it is not ours; choose another directory", name, t.where, text), nil)
	}
	return nil
}

// RemoveDirectory implements target.Target.
func (t *Target) RemoveDirectory(ctx context.Context, name string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return t.explain("clean up", t.client.Rmdir(ctx, t.client.Root(), name))
}

type directory struct {
	t  *Target
	fh nfs.FileHandle
}

func (d *directory) List(ctx context.Context) ([]string, error) {
	names, err := d.t.client.ReadDir(ctx, d.fh)
	if err != nil {
		return nil, d.t.explain("list directory", err)
	}
	return names, nil
}

func (d *directory) Open(ctx context.Context, name string, opt target.OpenOptions) (target.File, error) {
	fh, err := d.handle(ctx, name, opt.Create)
	if err != nil {
		return nil, err
	}
	f := &file{t: d.t, fh: fh, raw: []byte(fh), f: d.t.client.OpenFile(fh), stability: nfs.Unstable}
	if opt.Stable {
		f.stability = nfs.FileSync
	}
	return f, nil
}

func (d *directory) handle(ctx context.Context, name string, create bool) (nfs.FileHandle, error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	fh, err := d.t.client.Lookup(ctx, d.fh, name)
	switch {
	case create && err == nil:
		// Not left to an exclusive CREATE alone: servers may take a repeated
		// one for a retransmission and let it pass.
		return "", fmt.Errorf("create %q: %w", name, fs.ErrExist)
	case create && nfs.IsNotExist(err):
		fh, err = d.t.client.Create(ctx, d.fh, name, fileMode, true)
		return fh, d.t.explain("open file", err)
	case err != nil:
		return "", d.t.explain("open file", err)
	}
	return fh, d.t.expect(ctx, fh, name, nfs.TypeRegular, "a regular file")
}

func (d *directory) Remove(ctx context.Context, name string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return d.t.explain("remove file", d.t.client.Remove(ctx, d.fh, name))
}

type file struct {
	t         *Target
	fh        nfs.FileHandle
	raw       []byte // fh, for streams
	f         *nfs.File
	stability nfs.Stability
}

func (f *file) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	n, err := f.f.ReadAt(ctx, p, off)
	if err != nil {
		return n, f.t.explain("read", err)
	}
	return n, nil
}

func (f *file) WriteAt(ctx context.Context, p []byte, off int64) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if _, err := f.f.WriteAt(ctx, p, off, f.stability); err != nil {
		return f.t.explain("write", err)
	}
	return nil
}

func (f *file) Commit(ctx context.Context) error {
	return f.t.explain("commit", f.f.Commit(ctx))
}

func (f *file) Size(ctx context.Context) (int64, error) {
	attr, err := f.t.client.Getattr(ctx, f.fh)
	if err != nil {
		return 0, f.t.explain("ask for the size", err)
	}
	return clampInt64(attr.SizeBytes), nil
}

// SetSource implements target.Resender.
func (f *file) SetSource(src io.ReaderAt) { f.f.SetSource(src) }

func (f *file) Close() error { return nil } // NFSv3 knows no open files
