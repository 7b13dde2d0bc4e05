// Package oracle is a stand-in for an Oracle database, for tests of clients without Oracle or a licence for it.
// It calls itself a stand-in in its banner, so that no result from it can pass for a measurement of Oracle.
//
// It really does the I/O that it reports. Datafiles are real files full of data that can be
// checked, and they hold SLOB's tables. A statement that reads blocks reads them from the volume:
// through the directory with O_DIRECT or, if Direct NFS is set up as Oracle requires, over the
// channels of the oranfstab with our own user-space client. The views count that with Oracle's
// names, units and traps: counters of channels that start again when they are read, processes whose
// counters vanish with them, service times in a unit that the documentation gets wrong.
//
// It does not parse SQL: each of our statements names itself in its first comment. The columns of
// an answer are those of the text's select list; an unknown column is ORA-00904.
//
// README.md lists what it does because Oracle does, with the source of each.
//
// Unlike Oracle, it has no index, and no buffer cache unless Faults request one, so a read of a block is
// always I/O. The session that makes redo and dirty blocks writes them, not LGWR and DBWR. It does not speak
// NFSv4: such an oranfstab falls back to the mounted directory, as in Oracle when Direct NFS is not available.
package oracle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nfsbench/nfsbench/internal/loadgen/content"
	"github.com/nfsbench/nfsbench/internal/runloop"
)

// errFull is a device that is full.
var errFull = ora(27072, "File I/O error\nLinux-x86_64 Error: 28: No space left on device") //nolint:gochecknoglobals // compared, never changed

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
	stopJobs   context.CancelFunc
	listener   net.Listener
	serving    sync.WaitGroup
	redoAt     int64 // guarded by redoLock, as redo while the instance is open
	redoLock   sync.Mutex

	mu          sync.Mutex // guards what follows
	processes   map[int64]*process
	sessions    map[*session]bool
	closed      bool
	calibrating bool
	job         *process              // of the database's own jobs; nil = none runs
	phase       int                   // of the fixture
	redoDirect  map[string]*directNFS // by directory; nil = the kernel's mount
	executed    map[string]int64
	cache       cache
	foreign     foreignJob
	processors  processors
	kernel      kernelMount
}

// redoBytes is how much of the current redo log is written, round and round.
const redoBytes = 16 << 20

// Open starts an instance: it creates the database in an empty data directory, and opens
// it otherwise. When it returns the listener takes connections.
func Open(ctx context.Context, cfg Config) (*Instance, error) {
	cfg = cfg.withDefaults()
	alert, err := openAlert(cfg.Base, cfg.SID, cfg.Out, cfg.Now)
	if err != nil {
		return nil, err
	}
	i := &Instance{
		cfg: cfg, now: cfg.Now, alert: alert, started: cfg.Now(), pool: content.NewPool(1),
		stats:     newStatistics(cfg.Faults),
		processes: map[int64]*process{}, sessions: map[*session]bool{}, executed: map[string]int64{}, stopJobs: func() {},
		foreign: foreignJob{stop: func() {}},
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
	if i.params, err = loadParameters(spfile, i.cfg.NodeCPUs); err != nil {
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
	if err := i.params.size(); err != nil {
		return err
	}
	maps.Copy(i.params.running, i.cfg.Faults.Running)
	i.alert.linef("Starting ORACLE instance (normal) (OS id: %d)", os.Getpid())
	if i.direct, err = i.findDirectNFS(ctx); err != nil {
		return err
	}
	i.dbwr, i.lgwr = i.newProcess("DBW0", 10), i.newProcess("LGWR", 11)
	open := i.mount
	if i.created {
		open = i.create
	}
	if err := open(ctx); err != nil {
		return err
	}
	buf := aligned(blockBytes)
	for _, d := range i.cat.Files { // opening a database reads the header of each datafile
		if _, err := i.dbwr.read(ctx, d, buf, 0, eventSingle); err != nil {
			return err
		}
	}
	if err := i.listen(ctx); err != nil {
		return err
	}
	i.alert.linef("Completed: ALTER DATABASE OPEN")
	i.alert.linef("Completed: ALTER PLUGGABLE DATABASE %s OPEN", i.cfg.PDB)
	i.startJobs()
	i.startForeign()
	return nil
}

func (i *Instance) create(ctx context.Context) error {
	i.cat = newCatalog(i.cfg, uint32(i.now().UnixNano()))
	i.cat.Created = i.now()
	vol, err := i.dbwr.volume(ctx)
	if err != nil {
		return err
	}
	for n, d := range i.cat.Files {
		i.alert.linef("Creating and starting Oracle instance: %d%% complete", n*100/len(i.cat.Files))
		if err := runloop.Wait(ctx, i.cfg.Creation/time.Duration(len(i.cat.Files))); err != nil {
			return err
		}
		f, err := vol.create(ctx, d.Name)
		if err == nil {
			_ = f.close()
			err = i.fill(ctx, i.dbwr, d, 0, d.Blocks, 1)
		}
		if err != nil {
			return i.createFailure(d.Name, err)
		}
	}
	if err := i.createRedo(ctx, vol); err != nil {
		return err
	}
	for _, step := range []struct {
		name  string
		to    *blockFile
		bytes []byte
	}{{i.currentRedo(), &i.redo, aligned(redoBytes)}, {control(i.cfg.SID), &i.control, i.cat.newControl()}} {
		if *step.to, err = vol.create(ctx, step.name); err == nil {
			err = (*step.to).writeAt(ctx, step.bytes, 0)
		}
		if err != nil {
			return i.createFailure(step.name, err)
		}
	}
	i.alert.linef("100%% complete")
	return errors.Join(i.configureNet(), i.cat.save(ctx, i.control))
}

// createRedo makes the files of the redo logs, all of them empty.
func (i *Instance) createRedo(ctx context.Context, vol volume) error {
	for _, g := range i.redoGroups(i.cat) {
		f, err := vol.create(ctx, g.Member)
		if err != nil {
			return i.createFailure(g.Member, err)
		}
		_ = f.close()
	}
	return nil
}

func (i *Instance) createFailure(name string, err error) error {
	text := err.Error()
	if isNoSpace(err) {
		text = errFull.Error()
	}
	return ora(1119, "error in creating database file '%s'\n%s", i.path(name), text)
}

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
	return i.openRedo(ctx)
}

func (i *Instance) fill(ctx context.Context, p *process, d *datafile, first, count int64, generation uint64) error {
	const most = 128
	buf := aligned(most * blockBytes)
	for at := int64(0); at < count; at += most {
		n := min(most, count-at)
		p.i.uncache(d.No, first+at, n)
		if err := p.write(ctx, d, buf[:n*blockBytes], first+at, generation); err != nil {
			return err
		}
	}
	return nil
}

// path is where a file is. Redo logs may be outside of the data directory.
func (i *Instance) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(i.cfg.Data, name)
}

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

func (i *Instance) endProcess(p *process) {
	p.end()
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.processes, p.pnum)
}

func (i *Instance) eachProcess() []*process {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.SortedFunc(maps.Values(i.processes), func(a, b *process) int { return int(a.pnum - b.pnum) })
}

// Address is where the listener listens: host:port; empty where it did not start.
func (i *Instance) Address() string {
	if i.listener == nil {
		return ""
	}
	return i.listener.Addr().String()
}

// UsesDirectNFS says whether I/O goes over Direct NFS.
func (i *Instance) UsesDirectNFS() bool { return i.direct != nil }

// Shutdown ends the instance as SHUTDOWN IMMEDIATE does: statements under way are
// ended and sessions closed.
func (i *Instance) Shutdown(context.Context) error {
	i.mu.Lock()
	closed := i.closed
	i.closed = true
	i.mu.Unlock()
	if closed {
		return nil
	}
	i.alert.linef("Shutting down ORACLE instance (immediate) (OS id: %d)", os.Getpid())
	var err error
	if i.listener != nil {
		err = i.listener.Close()
	}
	i.mu.Lock()
	for s := range i.sessions {
		close(s.dead)
		_ = s.nc.Close()
	}
	i.mu.Unlock()
	i.stopJobs()
	i.foreign.stop()
	i.serving.Wait()
	i.alert.linef("Instance shutdown complete (OS id: %d)", os.Getpid())
	i.release()
	return err
}

func (i *Instance) release() {
	for _, f := range []blockFile{i.control, i.redo} {
		if f != nil {
			_ = f.close()
		}
	}
	for _, p := range i.eachProcess() {
		i.endProcess(p)
	}
	_ = i.alert.file.Close()
}

// saveCatalog writes the control file; the caller holds the catalog's lock.
func (i *Instance) saveCatalog(ctx context.Context) error {
	if err := i.cat.save(ctx, i.control); err != nil {
		return ora(221, "error on write to control file\n%v", err)
	}
	return nil
}

func (i *Instance) banner() string {
	kind := "Enterprise Edition"
	if i.free() {
		kind = "Free"
	}
	return "nfsbench stand-in for Oracle AI Database 26ai " + kind + ": simulated, no database of Oracle"
}

// alertLog is alert_SID.log, and the standard output of the container, which
// follows it.
type alertLog struct {
	mu   sync.Mutex
	file *os.File
	out  io.Writer
	now  func() time.Time
}

// AlertLog is where an instance keeps its alert log below an ORACLE_BASE.
func AlertLog(base, sid string) string {
	return filepath.Join(base, "diag", "rdbms", strings.ToLower(sid), sid, "trace", "alert_"+sid+".log")
}

func openAlert(base, sid string, out io.Writer, now func() time.Time) (*alertLog, error) {
	l := &alertLog{out: out, now: now}
	path := AlertLog(base, sid)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	l.file = f
	return l, err
}

func (l *alertLog) linef(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := fmt.Sprintf(format, args...)
	fmt.Fprintln(l.out, text)
	fmt.Fprintf(l.file, "%s\n%s\n", l.now().Format("2006-01-02T15:04:05.000000-07:00"), text)
}

// The names that Oracle Free gives.
const (
	DefaultSID = "FREE"
	DefaultPDB = "FREEPDB1"
)

// Editions that differ in what they allow.
const (
	EditionFree       = "free"
	EditionEnterprise = "enterprise"
)

// version is the Oracle release whose rules apply.
const version = "23.0.0.0.0"

// print writes what is not of the alert log, but of the programs beside the instance.
func (l *alertLog) print(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintln(l.out, text)
}

// Config is the configuration of an Instance. The fields document their zero values.
type Config struct {
	Data    string // the data directory; required
	Home    string // ORACLE_HOME; empty = no Direct NFS library anywhere
	Base    string // ORACLE_BASE, for the alert log; required
	SID     string // DefaultSID
	PDB     string // DefaultPDB
	Edition string // EditionFree
	Host    string // V$INSTANCE.HOST_NAME
	// ListenerHost is the host that the first start writes into listener.ora; Host, as in Oracle Free.
	ListenerHost string
	// Passwords of SYS, SYSTEM and PDBADMIN at the first start; later starts keep
	// what the first one set.
	Password string
	Listen   string // 127.0.0.1:0
	// Parameters are init parameters of the first start.
	Parameters map[string]string
	// NodeCPUs is the default of cpu_count: the CPUs of the node, whatever its container may use;
	// runtime.NumCPU().
	NodeCPUs int
	// Creation is how long the creation of a database takes beyond the writing of its files; 0.
	Creation time.Duration
	// DatafilePercent scales the datafiles that the first start makes; 100 = 152 MiB.
	DatafilePercent int
	// Calibrate is how long CALIBRATE_IO loads; 4 s.
	Calibrate time.Duration
	// Autotasks is for how long after its creation a database gathers statistics
	// and looks for space, unless job_queue_processes is 0; 0 = not at all.
	Autotasks time.Duration
	Direct    DirectConfig
	Owners    Owners
	Faults    Faults
	// Disk is how long the storage takes for a read beyond what this machine takes; nil = no time.
	Disk    func(bytes int) time.Duration
	Fixture *Fixture
	Now     func() time.Time // required
	Out     io.Writer        // lines of the alert log; nil = nowhere
}

// DirectConfig says where Direct NFS finds what it needs.
type DirectConfig struct {
	Etc        string // of /etc/oranfstab; "/etc"
	MountTable string // "/proc/self/mounts"
	// AnyMount accepts a data directory that is not an NFS mount: if a kernel has no NFS, the folder
	// behind the export replaces the mount.
	AnyMount           bool
	NFSPort, MountPort int // those of internal/nfs.Config
	// Privileged says whether oradism may act as root; nil = look.
	Privileged func() bool
}

func (c Config) withDefaults() Config {
	c.SID, c.PDB = cmp.Or(c.SID, DefaultSID), cmp.Or(c.PDB, DefaultPDB)
	c.Edition = cmp.Or(c.Edition, EditionFree)
	c.Host, c.Listen = cmp.Or(c.Host, "standin"), cmp.Or(c.Listen, "127.0.0.1:0")
	c.ListenerHost = cmp.Or(c.ListenerHost, c.Host)
	c.Direct.Etc = cmp.Or(c.Direct.Etc, "/etc")
	c.Direct.MountTable = cmp.Or(c.Direct.MountTable, "/proc/self/mounts")
	c.NodeCPUs = cmp.Or(c.NodeCPUs, runtime.NumCPU())
	c.DatafilePercent = cmp.Or(c.DatafilePercent, 100)
	c.Calibrate = cmp.Or(c.Calibrate, 4*time.Second)
	if c.Out == nil {
		c.Out = io.Discard
	}
	return c
}
