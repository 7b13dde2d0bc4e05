// Package kernel puts load on a directory that the operating system mounted, past its page cache.
//
// Files are opened with O_DIRECT, and for measured writes also with O_DSYNC, as Oracle opens data files on
// NFS (filesystemio_options=setall). As in Oracle, one thread for each job keeps the I/Os of the job
// outstanding by the kernel's asynchronous I/O (io_submit). Container runtimes allow these calls by default,
// but not those of io_uring. If the kernel provides no queue, a thread for each slot makes blocking calls.
//
// An I/O on a hard mount whose server is gone cannot be interrupted. Therefore the calls of an opened Target
// look at their context only before they start, and a Stream waits for outstanding I/Os. Open itself returns
// in time and abandons the call. A process that ends with such I/Os in a queue stays until they are answered,
// or until the mount is removed by force.
package kernel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/collect/procfs"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/shareddir"
)

// Options configures Open.
type Options struct {
	MountPath string
	// RequireNFS refuses every file system except NFS.
	RequireNFS bool
	Now        func() time.Time
}

// Target is a mounted directory.
type Target struct {
	path  string
	root  *os.Root
	facts runfile.MountFacts
	now   func() time.Time

	mu      sync.Mutex
	streams []*stream
}

// Open checks the path and opens it. It returns when ctx is done, even if the mount does not answer.
func Open(ctx context.Context, opt Options) (target.Target, error) {
	type result struct {
		t   target.Target
		err error
	}
	done := make(chan result, 1)
	go func() {
		t, err := open(opt)
		done <- result{t, err}
	}()
	select {
	case r := <-done:
		return r.t, r.err
	case <-ctx.Done():
		return nil, target.Fail(runfile.FailureUnreachable, fmt.Sprintf(
			"the mount at %s does not answer; look at the NFS server and the network (a hard mount waits forever), and at "+
				"dmesg for \"not responding\"",
			opt.MountPath), context.Cause(ctx))
	}
}

func open(opt Options) (target.Target, error) {
	path, err := filepath.EvalSymlinks(opt.MountPath)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, target.Fail(runfile.FailureNotNFS, fmt.Sprintf("there is no directory %s: mount the export there, or "+
			"correct the path", opt.MountPath), nil)
	}
	if err != nil {
		return nil, fmt.Errorf("open mount %q: %w", opt.MountPath, failure(err))
	}
	facts, isNFS, err := inspect(path)
	if err != nil {
		return nil, err
	}
	if opt.RequireNFS && !isNFS {
		return nil, target.Fail(runfile.FailureNotNFS, fmt.Sprintf(
			"%s is %s from %s, not NFS; mount the export there, or allow it (storage.claim.nonNFS: Measure; --allow-non-nfs) "+
				"if local storage is what you want to measure",
			opt.MountPath, facts.FilesystemType, facts.Source), nil)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("open mount %q: %w", opt.MountPath, failure(err))
	}
	return &Target{path: path, root: root, facts: facts, now: opt.Now}, nil
}

// inspect reads the kind of the file system, and its options from the mount table.
func inspect(path string) (facts runfile.MountFacts, isNFS bool, err error) {
	var fsys unix.Statfs_t
	if err := unix.Statfs(path, &fsys); err != nil {
		return facts, false, fmt.Errorf("statfs %q: %w", path, failure(err))
	}
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return facts, false, fmt.Errorf("stat %q: %w", path, failure(err))
	}
	isNFS = fsys.Type == unix.NFS_SUPER_MAGIC
	abs, err := filepath.Abs(path)
	if err != nil {
		return facts, isNFS, fmt.Errorf("absolute path of %q: %w", path, err)
	}
	entry := procfs.Mount{Type: fmt.Sprintf("a file system of type %#x", fsys.Type), Source: "an unknown source"}
	if mounts, err := procfs.Host().Mounts(); err == nil {
		if m, ok := findMount(mounts, abs, st.Dev); ok {
			entry = m
		}
	}
	return factsOf(entry, &fsys), isNFS, nil
}

// Directory implements target.Target.
func (t *Target) Directory(ctx context.Context, name string, create bool) (target.Directory, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if create {
		if err := t.root.Mkdir(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, failure(err)
		}
	}
	info, err := t.root.Lstat(name)
	if err != nil {
		return nil, failure(err)
	}
	if !info.IsDir() {
		return nil, target.Fail(runfile.FailureForeignFiles, fmt.Sprintf(
			"%q below %s is not a directory; choose another name for ours", name, t.path), nil)
	}
	return &directory{t: t, name: name}, nil
}

// RemoveDirectory implements target.Target.
func (t *Target) RemoveDirectory(ctx context.Context, name string) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return failure(t.root.Remove(name))
}

// Facts implements target.Target.
func (t *Target) Facts() runfile.MountFacts { return t.facts }

// Channels implements target.Target. It returns nil: mountstats counts the kernel's connections.
func (t *Target) Channels() []runfile.Channel { return nil }

// Servers implements target.Target. It returns nil, because the kernel keeps the state.
func (t *Target) Servers() []runfile.NFSServer { return nil }

// Close implements target.Target.
func (t *Target) Close() error {
	err := t.closeStreams()
	if closed := t.root.Close(); closed != nil && !errors.Is(closed, fs.ErrClosed) {
		err = errors.Join(err, fmt.Errorf("close mount: %w", closed))
	}
	return err
}

// failure adds a failure code to err, if one applies. It returns io.EOF unchanged.
func failure(err error) error {
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return err
	case errors.Is(err, shareddir.ErrNotPlain):
		return target.Fail(runfile.FailureForeignFiles,
			"it is not ours; remove it, or choose another directory", err)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return target.Fail(runfile.FailureNoSpace,
			"the file system or the quota is full; make the files smaller or the volume larger", err)
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EROFS):
		return target.Fail(runfile.FailureAccessDenied, fmt.Sprintf(
			"this user (uid %d, gid %d) may not; look at the owner and mode of the export's directory, at root_squash "+
				"and at read-only mounts",
			os.Geteuid(), os.Getegid()), err)
	default:
		return err
	}
}

type directory struct {
	t    *Target
	name string
}

func (d *directory) List(ctx context.Context) ([]string, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	f, err := shareddir.OpenFolder(d.t.path, d.name)
	if err != nil {
		return nil, failure(err)
	}
	defer func() { _ = f.Close() }()
	names, err := readNames(f.Readdirnames)
	return names, failure(err)
}

// maxNamesBytes bounds the names of a directory, because a server may send names without end. It allows some
// hundred thousand names, far above any benchmark. Direct NFS has the same bound.
const maxNamesBytes = 16 << 20

func readNames(read func(n int) ([]string, error)) (all []string, err error) {
	for left := maxNamesBytes; ; {
		some, err := read(1024)
		for _, name := range some {
			left -= len(name) + 16 // and the string
		}
		all = append(all, some...)
		switch {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		case left < 0:
			return nil, fmt.Errorf("the directory does not end after %d names; name another path", len(all))
		}
	}
}

func (d *directory) Open(ctx context.Context, name string, opt target.OpenOptions) (target.File, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	flags := os.O_RDWR | unix.O_DIRECT
	if opt.Stable {
		flags |= unix.O_DSYNC
	}
	if opt.Create {
		flags |= os.O_CREATE | os.O_EXCL
	}
	f, err := shareddir.OpenOnly(d.t.path, path.Join(d.name, name), flags, 0o644)
	if errors.Is(err, syscall.EINVAL) {
		return nil, target.Fail(runfile.FailureUnsupported, fmt.Sprintf(
			"%s on %s knows no O_DIRECT, and through the page cache nothing would be measured but this machine's memory",
			d.t.facts.FilesystemType, d.t.path), err)
	}
	if err != nil {
		return nil, failure(err)
	}
	return &file{f: f, fd: int(f.Fd())}, nil
}

func (d *directory) Remove(ctx context.Context, name string) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return failure(shareddir.Remove(d.t.path, path.Join(d.name, name)))
}

func (d *directory) Rename(ctx context.Context, from, to string) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return failure(shareddir.Rename(d.t.path, path.Join(d.name, from), to))
}

type file struct {
	f  *os.File
	fd int // of f
}

func (f *file) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	n, err := f.f.ReadAt(p, off)
	return n, failure(err)
}

func (f *file) WriteAt(ctx context.Context, p []byte, off int64) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	_, err := f.f.WriteAt(p, off)
	return failure(err)
}

func (f *file) Commit(ctx context.Context) ([]target.Span, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nil, failure(f.f.Sync())
}

func (f *file) Size(ctx context.Context) (int64, error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	info, err := f.f.Stat()
	if err != nil {
		return 0, failure(err)
	}
	return info.Size(), nil
}

func (f *file) Close() error { return f.f.Close() }
