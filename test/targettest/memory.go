package targettest

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"syscall"
	"time"

	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Memory is a target that keeps directories and files in memory. It takes as long for an
// I/O as Delay says, and can be made to fail. The zero value is ready.
type Memory struct {
	// Delay is how long each ReadAt and WriteAt takes, at least. Set it before
	// use.
	Delay time.Duration
	// BeforeIO, when set, is called for every ReadAt and WriteAt, and its error
	// is returned. Set it before use.
	BeforeIO func(op, name string, off int64) error
	// Hang, when set, says which ReadAt and WriteAt are never answered: they
	// return when their context is done. Set it before use.
	Hang func(op, name string, off int64) bool
	// LoseWrite, when set, says which writes are acknowledged and forgotten.
	// Set it before use.
	LoseWrite func(name string, off int64) bool
	// Watch, when set, sees the data of every I/O: of a write with what the file held there before, of a
	// read the data to give, which it may change. It is called from several goroutines. Set it before use.
	Watch func(op, name string, off int64, before, data []byte)
	// ThreadCount is how many threads a stream has at most; 0 = one for each slot.
	ThreadCount int

	mu   sync.Mutex
	dirs map[string]map[string]*content
}

type content struct {
	mu   sync.RWMutex
	data []byte
}

// Directory implements target.Target.
func (t *Memory) Directory(ctx context.Context, name string, create bool) (target.Directory, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dirs == nil {
		t.dirs = map[string]map[string]*content{}
	}
	if t.dirs[name] == nil {
		if !create {
			return nil, fmt.Errorf("directory %q: %w", name, fs.ErrNotExist)
		}
		t.dirs[name] = map[string]*content{}
	}
	return &directory{t: t, name: name}, nil
}

// RemoveDirectory implements target.Target.
func (t *Memory) RemoveDirectory(ctx context.Context, name string) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	files, ok := t.dirs[name]
	if !ok {
		return fmt.Errorf("directory %q: %w", name, fs.ErrNotExist)
	}
	if len(files) > 0 {
		return fmt.Errorf("directory %q: %w", name, syscall.ENOTEMPTY)
	}
	delete(t.dirs, name)
	return nil
}

// Facts implements target.Target.
func (t *Memory) Facts() runfile.MountFacts {
	return runfile.MountFacts{FilesystemType: "memory", DirectIO: true}
}

// Channels implements target.Target: there are none.
func (t *Memory) Channels() []runfile.Channel { return nil }

// Servers implements target.Target: there are none.
func (t *Memory) Servers() []runfile.NFSServer { return nil }

// Close implements target.Target.
func (t *Memory) Close() error { return nil }

type directory struct {
	t    *Memory
	name string
}

func (d *directory) List(ctx context.Context) ([]string, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	d.t.mu.Lock()
	defer d.t.mu.Unlock()
	var names []string
	for name := range d.t.dirs[d.name] {
		names = append(names, name)
	}
	return names, nil
}

func (d *directory) Open(ctx context.Context, name string, opt target.OpenOptions) (target.File, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	d.t.mu.Lock()
	defer d.t.mu.Unlock()
	files, ok := d.t.dirs[d.name]
	if !ok {
		return nil, fmt.Errorf("directory %q: %w", d.name, fs.ErrNotExist)
	}
	c, ok := files[name]
	switch {
	case opt.Create && ok:
		return nil, fmt.Errorf("file %q: %w", name, fs.ErrExist)
	case opt.Create:
		c = &content{}
		files[name] = c
	case !ok:
		return nil, fmt.Errorf("file %q: %w", name, fs.ErrNotExist)
	}
	return &file{t: d.t, name: name, c: c}, nil
}

func (d *directory) Remove(ctx context.Context, name string) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	d.t.mu.Lock()
	defer d.t.mu.Unlock()
	if _, ok := d.t.dirs[d.name][name]; !ok {
		return fmt.Errorf("file %q: %w", name, fs.ErrNotExist)
	}
	delete(d.t.dirs[d.name], name)
	return nil
}

func (d *directory) Rename(ctx context.Context, from, to string) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	d.t.mu.Lock()
	defer d.t.mu.Unlock()
	files := d.t.dirs[d.name]
	c, ok := files[from]
	if !ok {
		return fmt.Errorf("file %q: %w", from, fs.ErrNotExist)
	}
	delete(files, from)
	files[to] = c
	return nil
}

type file struct {
	t    *Memory
	name string
	c    *content
}

func (f *file) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	if err := f.before(ctx, "read", off); err != nil {
		return 0, err
	}
	n := f.read(p, off)
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *file) read(p []byte, off int64) int {
	f.c.mu.RLock()
	defer f.c.mu.RUnlock()
	if off >= int64(len(f.c.data)) {
		return 0
	}
	n := copy(p, f.c.data[off:])
	if f.t.Watch != nil {
		f.t.Watch("read", f.name, off, nil, p[:n])
	}
	return n
}

func (f *file) WriteAt(ctx context.Context, p []byte, off int64) error {
	if err := f.before(ctx, "write", off); err != nil {
		return err
	}
	f.write(p, off)
	return nil
}

func (f *file) write(p []byte, off int64) {
	f.c.mu.Lock()
	defer f.c.mu.Unlock()
	if f.t.Watch != nil {
		f.t.Watch("write", f.name, off, f.c.data[min(off, int64(len(f.c.data))):], p)
	}
	if grow := off + int64(len(p)) - int64(len(f.c.data)); grow > 0 {
		f.c.data = append(f.c.data, make([]byte, grow)...)
	}
	if f.t.LoseWrite == nil || !f.t.LoseWrite(f.name, off) {
		copy(f.c.data[off:], p)
	}
}

func (f *file) before(ctx context.Context, op string, off int64) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if f.t.BeforeIO != nil {
		if err := f.t.BeforeIO(op, f.name, off); err != nil {
			return err
		}
	}
	if f.t.Hang != nil && f.t.Hang(op, f.name, off) {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	if f.t.Delay <= 0 {
		return nil
	}
	timer := time.NewTimer(f.t.Delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (f *file) Commit(ctx context.Context) ([]target.Span, error) { return nil, context.Cause(ctx) }

func (f *file) Size(ctx context.Context) (int64, error) {
	if err := context.Cause(ctx); err != nil {
		return 0, err
	}
	f.c.mu.RLock()
	defer f.c.mu.RUnlock()
	return int64(len(f.c.data)), nil
}

func (f *file) Close() error { return nil }
