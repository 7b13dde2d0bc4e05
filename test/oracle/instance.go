package oracle

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nfsbench/nfsbench/internal/loadgen/content"
)

// errFull stands for a device that is full.
var errFull = ora(27072, "File I/O error\nLinux-x86_64 Error: 28: No space left on device") //nolint:gochecknoglobals // compared, never changed

// ErrHang says that the start would never end.
var ErrHang = errors.New("the start hangs on an oranfstab that cannot be read") //nolint:gochecknoglobals // compared, never changed

// Instance is a database that is open. Its methods are safe for several
// goroutines.
type Instance struct {
	cfg     Config
	now     func() time.Time
	alert   *alertLog
	pool    *content.Pool
	params  *parameters
	cat     *catalog
	stats   *statistics
	direct  *directNFS // nil = the kernel's mount
	started time.Time
	created bool

	control    blockFile
	redo       blockFile
	dbwr, lgwr *process
	listener   net.Listener
	serving    sync.WaitGroup
	redoAt     int64 // guarded by redoLock
	redoLock   sync.Mutex

	mu          sync.Mutex // guards what follows
	processes   map[int64]*process
	sessions    map[*session]bool
	closed      bool
	calibrating bool
	phase       int // of the fixture
	executed    map[string]int64
}

// redoBytes is the size of the one redo log, which is written round and round.
const redoBytes = 16 << 20

// Open starts an instance: it creates the database in an empty data directory,
// and opens it otherwise. Progress goes to Config.Out. When it returns the
// listener takes connections.
func Open(ctx context.Context, cfg Config) (*Instance, error) {
	cfg = cfg.withDefaults()
	alert, err := openAlert(cfg.Base, cfg.SID, cfg.Out, cfg.Now)
	if err != nil {
		return nil, err
	}
	i := &Instance{
		cfg: cfg, now: cfg.Now, alert: alert, stats: newStatistics(), started: cfg.Now(), pool: content.NewPool(1),
		processes: map[int64]*process{}, sessions: map[*session]bool{}, executed: map[string]int64{},
	}
	if err := i.start(ctx); err != nil {
		i.release()
		return nil, err
	}
	return i, nil
}

func (i *Instance) start(ctx context.Context) error {
	spfile := filepath.Join(i.cfg.Data, "dbconfig", i.cfg.SID, "spfile"+i.cfg.SID+".ora")
	_, err := os.Stat(filepath.Join(i.cfg.Data, control(i.cfg.SID)))
	i.created = errors.Is(err, os.ErrNotExist)
	if i.params, err = loadParameters(spfile); err != nil {
		return err
	}
	if i.created {
		for name, value := range i.cfg.Parameters {
			if err := i.params.set(name, value); err != nil {
				return err
			}
			i.params.running[name] = normal(value)
		}
	}
	i.alert.linef("Starting ORACLE instance (normal) (OS id: %d)", os.Getpid())
	if i.direct, err = i.findDirectNFS(ctx); err != nil {
		return err
	}
	i.dbwr, i.lgwr = i.newProcess("DBW0", 10), i.newProcess("LGWR", 11)
	if i.created {
		err = i.create(ctx)
	} else {
		err = i.mount(ctx)
	}
	if err != nil {
		return err
	}
	if err := i.check(ctx); err != nil {
		return err
	}
	listen := net.ListenConfig{}
	if i.listener, err = listen.Listen(ctx, "tcp", i.cfg.Listen); err != nil {
		return err
	}
	i.serving.Go(i.accept)
	i.alert.linef("Completed: ALTER DATABASE OPEN")
	i.alert.linef("Completed: ALTER PLUGGABLE DATABASE %s OPEN", i.cfg.PDB)
	return nil
}

// create makes the datafiles of a new database.
func (i *Instance) create(ctx context.Context) error {
	i.cat = newCatalog(i.cfg, uint32(i.now().UnixNano()))
	vol, err := i.dbwr.volume(ctx)
	if err != nil {
		return err
	}
	for n, d := range i.cat.Files {
		i.alert.linef("Creating and starting Oracle instance: %d%% complete", n*100/len(i.cat.Files))
		f, err := vol.create(ctx, d.Name)
		if err != nil {
			return i.createFailure(d.Name, err)
		}
		if err := f.close(); err != nil {
			return err
		}
		if err := i.fill(ctx, i.dbwr, d, 0, d.Blocks, 1); err != nil {
			return i.createFailure(d.Name, err)
		}
	}
	for _, step := range []struct {
		name string
		to   *blockFile
		size int
	}{{i.redoName(), &i.redo, redoBytes}, {control(i.cfg.SID), &i.control, controlBytes}} {
		if *step.to, err = vol.create(ctx, step.name); err != nil {
			return i.createFailure(step.name, err)
		}
		if err := (*step.to).writeAt(ctx, aligned(step.size), 0); err != nil {
			return i.createFailure(step.name, err)
		}
	}
	i.alert.linef("100%% complete")
	return i.cat.save(ctx, i.control)
}

func (i *Instance) createFailure(name string, err error) error {
	text := err.Error()
	if isNoSpace(err) {
		text = errFull.Error()
	}
	return ora(1119, "error in creating database file '%s'\n%s", i.path(name), text)
}

// mount opens a database that is there.
func (i *Instance) mount(ctx context.Context) error {
	vol, err := i.dbwr.volume(ctx)
	if err != nil {
		return err
	}
	if i.control, err = vol.open(ctx, control(i.cfg.SID)); err != nil {
		return ora(205, "error in identifying control file, check alert log for more info\n%v", err)
	}
	if i.cat, err = readCatalog(ctx, i.control); err != nil {
		return err
	}
	i.redo, err = vol.open(ctx, i.redoName())
	return err
}

// check reads the header of each datafile, as opening a database does.
func (i *Instance) check(ctx context.Context) error {
	buf := aligned(blockBytes)
	for _, d := range i.cat.Files {
		if _, err := i.dbwr.read(ctx, d, buf, 0, eventSingle); err != nil {
			return err
		}
	}
	return nil
}

// fill writes blocks of a datafile, a mebibyte at a time.
func (i *Instance) fill(ctx context.Context, p *process, d *datafile, first, count int64, generation uint64) error {
	const most = 128
	buf := aligned(most * blockBytes)
	for at := int64(0); at < count; at += most {
		n := min(most, count-at)
		if err := p.write(ctx, d, buf[:n*blockBytes], first+at, generation); err != nil {
			return err
		}
	}
	return nil
}

func (i *Instance) redoName() string        { return i.cfg.SID + "/redo01.log" }
func (i *Instance) path(name string) string { return filepath.Join(i.cfg.Data, name) }

// newProcess adds a process with the lowest free number from first on.
func (i *Instance) newProcess(name string, first int64) *process {
	i.mu.Lock()
	defer i.mu.Unlock()
	pnum := first
	for i.processes[pnum] != nil {
		pnum++
	}
	p := &process{i: i, pnum: pnum, name: name, files: map[int64]blockFile{}}
	i.processes[pnum] = p
	return p
}

// endProcess ends a process, and its counters with it.
func (i *Instance) endProcess(p *process) {
	p.end()
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.processes, p.pnum)
}

// eachProcess returns the processes by number.
func (i *Instance) eachProcess() []*process {
	i.mu.Lock()
	defer i.mu.Unlock()
	var all []*process
	for _, p := range i.processes {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *process) int { return int(a.pnum - b.pnum) })
	return all
}

// Address is where the listener listens: host:port.
func (i *Instance) Address() string { return i.listener.Addr().String() }

// Created says that this start created the database.
func (i *Instance) Created() bool { return i.created }

// UsesDirectNFS says whether I/O goes over Direct NFS.
func (i *Instance) UsesDirectNFS() bool { return i.direct != nil }

// Shutdown ends the instance as SHUTDOWN IMMEDIATE does: statements under way are
// ended and sessions closed.
func (i *Instance) Shutdown(context.Context) error {
	i.mu.Lock()
	if i.closed {
		i.mu.Unlock()
		return nil
	}
	i.closed = true
	i.mu.Unlock()
	i.alert.linef("Shutting down ORACLE instance (immediate) (OS id: %d)", os.Getpid())
	err := i.listener.Close()
	i.mu.Lock()
	for s := range i.sessions {
		s.kill()
	}
	i.mu.Unlock()
	i.serving.Wait()
	i.alert.linef("Instance shutdown complete (OS id: %d)", os.Getpid())
	i.release()
	return err
}

// release closes files and connections.
func (i *Instance) release() {
	for _, f := range []blockFile{i.control, i.redo} {
		if f != nil {
			_ = f.close()
		}
	}
	for _, p := range i.eachProcess() {
		i.endProcess(p)
	}
	i.alert.close()
}

// saveCatalog writes the control file; the caller holds the catalog's lock.
func (i *Instance) saveCatalog(ctx context.Context) error {
	if err := i.cat.save(ctx, i.control); err != nil {
		return fmt.Errorf("%w", ora(221, "error on write to control file\n%v", err))
	}
	return nil
}

// banner is V$VERSION: it says that this is no Oracle.
func (i *Instance) banner() string {
	kind := "Free"
	if !strings.EqualFold(i.cfg.Edition, EditionFree) {
		kind = "Enterprise Edition"
	}
	return "nfsbench stand-in for Oracle AI Database 26ai " + kind + ": simulated, no database of Oracle"
}
