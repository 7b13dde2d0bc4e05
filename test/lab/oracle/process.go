package oracle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/loadgen/content"
	"github.com/nfsbench/nfsbench/internal/nfs"
	"github.com/nfsbench/nfsbench/internal/runloop"
)

// process is one Oracle process: a session's server process or a background
// process. With Direct NFS it has connections of its own, one for each path, and
// its counters vanish with it. It is safe for several goroutines.
type process struct {
	i    *Instance
	pnum int64
	name string
	// instance is the number of an instance of a RAC, from 0.
	instance int
	session  bool // belongs to a user
	ahead    int  // reads that a scan keeps in flight; a session waits for one at a time
	ops      dnfsOps
	reads    dnfsOps            // V$SESSTAT: read and readBytes
	last     []nfs.ChannelStats // as V$DNFS_CHANNELS returned them last; guarded by Instance.mu

	mu    sync.Mutex
	vol   volume
	redo  []redoVolume // in the order in which they were connected
	files map[int64]blockFile
	ended bool
}

// dnfsOps are the counters of V$DNFS_STATS.
type dnfsOps struct {
	lookup, setattr, create, read, write, readBytes, writeBytes atomic.Int64
}

// volume connects the process to its files at the first use.
func (p *process) volume(ctx context.Context) (volume, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.volumeLocked(ctx)
}

func (p *process) volumeLocked(ctx context.Context) (volume, error) {
	if p.ended {
		return nil, ora(3113, "end-of-file on communication channel")
	}
	if p.vol == nil {
		direct := p.i.direct
		if p.session && kernelSession(p.pnum-firstSession, p.i.cfg.Faults.KernelSessions) {
			direct = nil
		}
		v, err := p.i.connectVolume(ctx, p, direct, p.i.cfg.Data)
		if err != nil {
			return nil, err
		}
		p.vol = v
	}
	return p.vol, nil
}

func (p *process) file(ctx context.Context, d *datafile) (blockFile, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f := p.files[d.No]; f != nil {
		return f, nil
	}
	v, err := p.volumeLocked(ctx)
	if err != nil {
		return nil, err
	}
	f, err := v.open(ctx, d.Name)
	if err != nil {
		return nil, ora(1157, "cannot identify/lock data file %d - see DBWR trace file\nORA-01110: data file %d: '%s'\n%v", d.No, d.No, p.i.path(d.Name), err)
	}
	p.files[d.No] = f
	return f, nil
}

// read reads blocks of a datafile, checks what they hold, and counts that.
func (p *process) read(ctx context.Context, d *datafile, buf []byte, block int64, event string) (time.Duration, error) {
	f, err := p.file(ctx, d)
	if err != nil {
		return 0, err
	}
	buffered := event != eventDirect && event != eventCalibrate
	if buffered && p.i.cached(d.No, block, buf) {
		return 0, nil
	}
	began := p.i.now()
	if err := p.readDisk(ctx, f, buf, block); err != nil {
		return 0, cmp.Or(ctx.Err(), error(ora(1115, "IO error reading block from file %d (block # %d)\n"+
			"ORA-01110: data file %d: '%s'\nORA-27072: File I/O error\n%v", d.No, block, d.No, p.i.path(d.Name), err)))
	}
	took := p.i.now().Sub(began)
	waited := took
	if event == eventDirect {
		waited = took / time.Duration(max(p.ahead, 1))
	}
	p.i.stats.readDone(d.No, p.instance, len(buf), took, waited, event)
	p.reads.read.Add(1)
	p.reads.readBytes.Add(int64(len(buf)))
	if buffered {
		p.i.cacheBlock(d.No, block, buf)
	}
	if p.session {
		p.i.provoke()
	}
	if err := p.i.data(d).Check(buf, block*blockBytes, 0, 1<<40); err != nil {
		p.i.alert.linef("Corrupt block relative dba: (file %d, block %d): %v", d.No, block, err)
		return took, ora(1578, "ORACLE data block corrupted (file # %d, block # %d)\nORA-01110: data file %d: '%s'", d.No, block, d.No, p.i.path(d.Name))
	}
	return took, nil
}

// readDisk reads, and takes as long as the disk of the storage.
func (p *process) readDisk(ctx context.Context, f blockFile, buf []byte, block int64) error {
	if err := f.readAt(ctx, buf, block*blockBytes); err != nil {
		return err
	}
	wait := time.Duration(0)
	if p.i.cfg.Disk != nil {
		wait = p.i.cfg.Disk(len(buf))
	}
	if n := len(p.i.cfg.Faults.Instances); n > 1 && p.instance == n-1 {
		wait += p.i.cfg.Faults.SlowInstance
	}
	return runloop.Wait(ctx, wait)
}

// readBatch reads single blocks at once and waits once for all of them.
func (p *process) readBatch(ctx context.Context, d *datafile, blocks []int64) error {
	g, ctx := errgroup.WithContext(ctx)
	began := p.i.now()
	for _, block := range blocks {
		g.Go(func() error {
			_, err := p.read(ctx, d, aligned(blockBytes), block, eventBatch)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	p.i.stats.waited(eventBatch, p.i.now().Sub(began))
	return nil
}

// write fills blocks of a datafile with data of a generation.
func (p *process) write(ctx context.Context, d *datafile, buf []byte, block int64, generation uint64) error {
	f, err := p.file(ctx, d)
	if err != nil {
		return err
	}
	if most := p.i.cfg.Faults.FullAfter; most > 0 && block*blockBytes+int64(len(buf)) > most {
		return errFull
	}
	p.i.data(d).Write(buf, block*blockBytes, generation)
	began := p.i.now()
	if err := f.writeAt(ctx, buf, block*blockBytes); err != nil {
		return err
	}
	p.i.stats.writeDone(d.No, len(buf), p.i.now().Sub(began))
	return nil
}

func (p *process) channels() []nfs.ChannelStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.vol == nil {
		return nil
	}
	all := p.vol.channels()
	for _, v := range p.redo {
		all = append(all, v.channels()...)
	}
	return all
}

func (p *process) forget(no int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f := p.files[no]; f != nil {
		_ = f.close()
		delete(p.files, no)
	}
}

func (p *process) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	for _, f := range p.files {
		_ = f.close()
	}
	if p.vol != nil {
		_ = p.vol.close()
	}
	for _, v := range p.redo {
		_ = v.close()
	}
	p.files, p.vol, p.redo = map[int64]blockFile{}, nil, nil
}

func (i *Instance) data(d *datafile) content.Data {
	return i.pool.File(fmt.Sprintf("%d/%d", i.cat.DBID, d.No))
}

// volume is how one process reaches the files of the database. Names are below
// the data directory. It is safe for several goroutines.
type volume interface {
	// create makes a file, and the folders above it, or empties what is there.
	create(ctx context.Context, name string) (blockFile, error)
	open(ctx context.Context, name string) (blockFile, error)
	remove(ctx context.Context, name string) error
	// channels returns those of Direct NFS, or nil through the mounted directory.
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
type mounted struct {
	dir   string
	count *kernelMount
}

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
	return mountedFile{f, m.count}, nil
}

func (m mounted) remove(_ context.Context, name string) error {
	return os.Remove(filepath.Join(m.dir, name))
}

func (m mounted) channels() []nfs.ChannelStats { return nil }
func (m mounted) close() error                 { return nil }

type mountedFile struct {
	f     *os.File
	count *kernelMount
}

func (f mountedFile) readAt(ctx context.Context, p []byte, off int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	n, err := f.f.ReadAt(p, off)
	f.count.read.Add(int64(n))
	return err
}

func (f mountedFile) writeAt(ctx context.Context, p []byte, off int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	n, err := f.f.WriteAt(p, off)
	f.count.written.Add(int64(n))
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
	f, err := e.client.Create(ctx, dir, base, 0o640, false)
	if err != nil {
		return nil, err
	}
	e.ops.setattr.Add(1)
	if err := e.client.SetSize(ctx, f.Handle(), 0); err != nil {
		return nil, err
	}
	return &exportedFile{f, e}, nil
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
func pieces(n int, size uint32) int64 { return (int64(n) + int64(size) - 1) / max(int64(size), 1) }
