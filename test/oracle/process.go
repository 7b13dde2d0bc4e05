package oracle

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nfsbench/nfsbench/internal/loadgen/content"
	"github.com/nfsbench/nfsbench/internal/nfs"
)

// process is one Oracle process: a session's server process or a background
// process. With Direct NFS it has connections of its own, one for each path, and
// its counters vanish with it. It is safe for several goroutines.
type process struct {
	i    *Instance
	pnum int64
	name string
	ops  dnfsOps
	last []nfs.ChannelStats // as V$DNFS_CHANNELS gave them last; guarded by Instance.mu

	mu    sync.Mutex
	vol   volume
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
		v, err := p.i.connectVolume(ctx, p)
		if err != nil {
			return nil, err
		}
		p.vol = v
	}
	return p.vol, nil
}

// file opens a datafile once.
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
	began := p.i.now()
	if err := f.readAt(ctx, buf, block*blockBytes); err != nil {
		return 0, p.readFailure(ctx, d, block, err)
	}
	if err := p.i.delay(ctx); err != nil {
		return 0, err
	}
	took := p.i.now().Sub(began)
	p.i.stats.readDone(d.No, len(buf), took, event)
	if err := p.i.data(d).Check(buf, block*blockBytes, 0, 1<<40); err != nil {
		p.i.alert.linef("Corrupt block relative dba: (file %d, block %d): %v", d.No, block, err)
		return took, ora(1578, "ORACLE data block corrupted (file # %d, block # %d)\nORA-01110: data file %d: '%s'", d.No, block, d.No, p.i.path(d.Name))
	}
	return took, nil
}

func (p *process) readFailure(ctx context.Context, d *datafile, block int64, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return ora(1115, "IO error reading block from file %d (block # %d)\nORA-01110: data file %d: '%s'\nORA-27072: File I/O error\n%v",
		d.No, block, d.No, p.i.path(d.Name), err)
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
	if err := p.i.delay(ctx); err != nil {
		return err
	}
	p.i.stats.writeDone(d.No, len(buf), p.i.now().Sub(began))
	return nil
}

// channels are the connections of Direct NFS.
func (p *process) channels() []nfs.ChannelStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.vol == nil {
		return nil
	}
	return p.vol.channels()
}

// opened are the numbers of the datafiles that the process has open.
func (p *process) opened() []int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []int64
	for no := range p.files {
		all = append(all, no)
	}
	return all
}

// forget closes a datafile that is to go.
func (p *process) forget(no int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f := p.files[no]; f != nil {
		_ = f.close()
		delete(p.files, no)
	}
}

// end closes everything that the process has open.
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
	p.files, p.vol = map[int64]blockFile{}, nil
}

// data is what a datafile holds.
func (i *Instance) data(d *datafile) content.Data {
	return i.pool.File(fmt.Sprintf("%d/%d", i.cat.DBID, d.No))
}

// delay makes slow storage slow.
func (i *Instance) delay(ctx context.Context) error {
	if i.cfg.Faults.Delay <= 0 {
		return nil
	}
	timer := time.NewTimer(i.cfg.Faults.Delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
