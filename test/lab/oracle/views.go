package oracle

import (
	"bytes"
	"context"
	"maps"
	"math/bits"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

func (i *Instance) versionRows() []row {
	return []row{{"banner": i.banner(), "banner_full": i.banner() + "\nVersion " + version, "con_id": int64(0)}}
}

func (i *Instance) instanceRows() []row {
	names := i.cfg.Faults.Instances
	if len(names) == 0 {
		names = []string{i.cfg.SID}
	}
	var rows []row
	for n, name := range names {
		rows = append(rows, row{
			"inst_id": int64(n + 1), "instance_name": name, "host_name": i.cfg.Host, "version": version,
			"startup_time": i.started.Truncate(time.Second), "status": "OPEN",
		})
	}
	return rows
}

// containerName is SYS_CONTEXT, and V$DATABASE.CDB.
func (i *Instance) containerName(_ context.Context, s *session, _ statement) ([]row, error) {
	name := "CDB$ROOT"
	if s.container != 1 {
		name = i.cfg.PDB
	}
	return []row{{"con_name": name, "is_dba": strings.ToUpper(strconv.FormatBool(s.dba)), "cdb": "YES"}}, nil
}

// activeSessions are other users' sessions with a statement in progress: all of the stand-in's sessions
// belong to one program, so these are the sessions of another program, and the database's own job.
func (i *Instance) activeSessions(_ context.Context, me *session, _ statement) ([]row, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	rows := []row{}
	for s := range i.sessions {
		if s.process == nil || s.program == me.program {
			continue
		}
		rows = append(rows, row{
			"inst_id": int64(1), "sid": s.sid, "username": s.user, "machine": s.machine, "program": s.program,
			"module": s.program, "action": nil, "event": eventSingle,
		})
	}
	if i.job != nil {
		rows = append(rows, row{
			"inst_id": int64(1), "sid": i.job.pnum, "username": "SYS", "machine": i.cfg.Host,
			"program": "oracle@" + i.cfg.Host + " (J000)", "module": "DBMS_SCHEDULER", "action": "ORA$AT_OS_OPT_SY_1",
			"event": eventSingle,
		})
	}
	return rows, nil
}

// asynchIO is ASYNC_ON with Direct NFS always, and through the kernel only where
// filesystemio_options says so.
func (i *Instance) asynchIO() string {
	options := i.params.get("filesystemio_options")
	switch {
	case i.cfg.Faults.AsyncOff || i.params.get("disk_asynch_io") == "false":
		return "ASYNC_OFF"
	case i.direct != nil, options == "setall", options == "asynch":
		return "ASYNC_ON"
	}
	return "ASYNC_OFF"
}

// fileRows are V$IOSTAT_FILE joined to V$DATAFILE, which has no other rows. Its times
// are microseconds as Oracle was seen to count, not the documented milliseconds.
func (i *Instance) fileRows() []row {
	i.cat.mu.Lock()
	files := slices.Clone(i.cat.Files)
	i.cat.mu.Unlock()
	method := "OS_LIB"
	if i.direct != nil {
		method = "DNFS_LIB"
	}
	var rows []row
	for _, d := range files {
		i.stats.mu.Lock()
		c := *i.stats.file(d.No)
		i.stats.mu.Unlock()
		rows = append(rows, row{
			"inst_id": int64(1), "file_no": d.No, "filetype_id": int64(2), "filetype_name": "Data File", "name": i.path(d.Name),
			"access_method": method, "asynch_io": i.asynchIO(), "con_id": d.Container,
			"small_read_reqs": c.smallReads.count, "small_read_servicetime": i.serviceTime(c.smallReads),
			"small_sync_read_reqs": c.syncReads.count, "small_sync_read_latency": i.serviceTime(c.syncReads),
			"large_read_reqs": c.largeReads.count, "large_read_servicetime": i.serviceTime(c.largeReads),
			"small_read_megabytes": c.smallReads.bytes >> 20, "large_read_megabytes": c.largeReads.bytes >> 20,
			"small_write_reqs": c.smallWrites.count, "large_write_reqs": c.largeWrites.count,
		})
	}
	return rows
}

// datafiles are V$DATAFILE: a pluggable database sees its own.
func (i *Instance) datafiles(c *catalog, s *session, _ statement) (rows []row) {
	for _, d := range c.Files {
		if s.container == 1 || s.container == d.Container {
			rows = append(rows, row{"filetype_name": "Data File", "file_no": d.No, "name": i.path(d.Name), "bytes": d.Blocks * blockBytes})
		}
	}
	return rows
}

// osRows are V$OSSTAT for the machine, in centiseconds over all its CPUs.
func (i *Instance) osRows() []row {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return nil
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	var ticks [10]int64 // user nice system idle iowait irq softirq steal guest guest_nice, of 10 ms
	for n, f := range bytes.Fields(line) {
		if n > 0 && n <= len(ticks) {
			ticks[n-1], _ = strconv.ParseInt(string(f), 10, 64)
		}
	}
	idle := ticks[3] + ticks[4]
	busy := ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6] + ticks[7]
	return []row{
		{"inst_id": int64(1), "stat_name": "BUSY_TIME", "value": busy},
		{"inst_id": int64(1), "stat_name": "IDLE_TIME", "value": idle},
		{"inst_id": int64(1), "stat_name": "NUM_CPUS", "value": int64(runtime.NumCPU())},
	}
}

// serverRows are V$DNFS_SERVERS: none before a file is open there.
func (i *Instance) serverRows() []row {
	d := i.direct
	if d == nil || len(i.opened()) == 0 {
		return nil
	}
	rows := []row{}
	for n, d := range append([]*directNFS{d}, i.redoServers()...) {
		rows = append(rows, row{
			"inst_id": int64(1), "id": int64(n + 1), "svrname": d.label, "dirname": d.export, "nfsversion": "NFSv3.0",
			"wtmax": int64(d.info.WriteMaxBytes), "rtmax": int64(d.info.ReadMaxBytes),
		})
	}
	return rows
}

func (i *Instance) opened() map[int64]bool {
	open := map[int64]bool{}
	for _, p := range i.eachProcess() {
		p.mu.Lock()
		for no := range p.files {
			open[no] = true
		}
		p.mu.Unlock()
	}
	return open
}

// dnfsFileRows are V$DNFS_FILES for all processes; the text asks for distinct ones.
func (i *Instance) dnfsFileRows() []row {
	if i.direct == nil {
		return nil
	}
	open := i.opened()
	i.cat.mu.Lock()
	defer i.cat.mu.Unlock()
	var rows []row
	for _, d := range i.cat.Files {
		if open[d.No] {
			rows = append(rows, row{"filename": i.path(d.Name), "filesize": d.Blocks * blockBytes, "svr_id": int64(1)})
		}
	}
	return rows
}

// channelRows are V$DNFS_CHANNELS: one row for each process and path. Counters
// begin again when they are read.
func (i *Instance) channelRows() []row {
	var rows []row
	for _, p := range i.eachProcess() {
		now := p.channels()
		i.mu.Lock()
		last := p.last
		p.last = now
		i.mu.Unlock()
		for n, c := range now {
			sends, receives, reconnects := c.Sends, c.Receives, c.Reconnects
			if n < len(last) {
				sends, receives, reconnects = sends-last[n].Sends, receives-last[n].Receives, reconnects-last[n].Reconnects
			}
			local, port := splitPort(c.Local)
			path, _ := splitPort(c.Path)
			rows = append(rows, row{
				"inst_id": int64(1), "pnum": p.pnum, "svrname": i.direct.label, "path": path, "local": local,
				"ch_id": int64(n), "svr_id": int64(1), "sends": sends, "recvs": receives, "pings": int64(0),
				"spreco": int64(0), "dpreco": reconnects, "clientport": port,
			})
		}
	}
	return rows
}

// dnfsStatRows are V$DNFS_STATS: one row for each process that lives.
func (i *Instance) dnfsStatRows() []row {
	if i.direct == nil {
		return nil
	}
	var rows []row
	for _, p := range i.eachProcess() {
		rows = append(rows, row{
			"inst_id": int64(1), "pnum": p.pnum, "nfs_read": p.ops.read.Load(), "nfs_write": p.ops.write.Load(),
			"nfs_lookup": p.ops.lookup.Load(), "nfs_create": p.ops.create.Load(), "nfs_setattr": p.ops.setattr.Load(),
			"nfs_readbytes": p.ops.readBytes.Load(), "nfs_writebytes": p.ops.writeBytes.Load(),
		})
	}
	return rows
}

// ownReads are V$SESSTAT of the sessions of the load.
func (i *Instance) ownReads() (rows []row) {
	for _, p := range i.eachProcess() {
		if p.session {
			rows = append(rows,
				row{"inst_id": int64(p.instance + 1), "name": "physical read total IO requests", "value": p.reads.read.Load()},
				row{"inst_id": int64(p.instance + 1), "name": "physical read total bytes", "value": p.reads.readBytes.Load()})
		}
	}
	return rows
}

func splitPort(address string) (host string, port int64) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return address, 0
	}
	port, _ = strconv.ParseInt(text, 10, 64)
	return host, port
}

// The wait events that the stand-in has; see waitClass.
const (
	eventSingle    = "db file sequential read"
	eventBatch     = "db file parallel read"
	eventDirect    = "direct path read"
	eventDBWR      = "db file parallel write"
	eventLGWR      = "log file parallel write"
	eventSync      = "log file sync"
	eventCalibrate = "Disk file I/O Calibration"
	eventSwitch    = "log file switch (checkpoint incomplete)"
	eventClient    = "SQL*Net message from client"
)

// waitClass is the WAIT_CLASS of an event, and whether background processes wait
// for it.
func waitClass(event string) (class string, background bool) {
	switch event {
	case eventDBWR, eventLGWR:
		return "System I/O", true
	case eventSync:
		return "Commit", false
	case eventSwitch:
		return "Configuration", false
	case eventClient:
		return "Idle", false
	}
	return "User I/O", false
}

// statistics are the counts of an instance since its start. The methods are safe for concurrent use.
type statistics struct {
	faults Faults
	mu     sync.Mutex
	others []map[string]int64 // the parts of system from the second and later instances of a RAC
	system map[string]int64   // V$SYSSTAT
	events map[string]*event
	files  map[int64]*fileCount // V$IOSTAT_FILE, by FILE_NO
}

type event struct {
	waits   int64
	took    time.Duration
	buckets [33]int64 // by the power of two that is its exclusive upper bound, in us
}

type fileCount struct {
	smallReads, syncReads, largeReads, smallWrites, largeWrites ioCount
}

type ioCount struct {
	count, bytes int64
	took         time.Duration
}

func (c *ioCount) add(bytes int, took time.Duration) {
	c.count++
	c.bytes += int64(bytes)
	c.took += took
}

func (s *statistics) add(deltas map[string]int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, n := range deltas {
		s.system[name] += n
	}
}

// wait counts an event; the caller holds mu.
func (s *statistics) wait(name string, took time.Duration) {
	if s.events[name] == nil {
		s.events[name] = &event{}
	}
	e := s.events[name]
	e.waits++
	e.took += took
	e.buckets[min(bits.Len64(uint64(max(took.Microseconds(), 0))), len(e.buckets)-1)]++
}

func newStatistics(f Faults) *statistics {
	s := &statistics{faults: f, system: map[string]int64{}, events: map[string]*event{}, files: map[int64]*fileCount{}}
	for n := 1; n < len(f.Instances); n++ {
		s.others = append(s.others, map[string]int64{})
	}
	return s
}

// serviceTime returns a time of V$IOSTAT_FILE.
func (i *Instance) serviceTime(c ioCount) int64 {
	return scaled(c.took, i.cfg.Faults.ServiceTimes).Microseconds()
}

// instanceOf returns the number, from 0, of the RAC instance where a schema's user logs in. Users
// take them in turn.
func (i *Instance) instanceOf(user string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(user, "NFSBENCH"))
	if err != nil || len(i.cfg.Faults.Instances) < 2 {
		return 0
	}
	return (n + len(i.cfg.Faults.Instances) - 1) % len(i.cfg.Faults.Instances)
}

func (s *statistics) file(no int64) *fileCount {
	if s.files[no] == nil {
		s.files[no] = &fileCount{}
	}
	return s.files[no]
}

func (s *statistics) readDone(no int64, instance, bytes int, took, waited time.Duration, event string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if instance > 0 {
		s.others[instance-1]["physical read total bytes"] += int64(bytes)
		s.others[instance-1]["physical read total IO requests"]++
	}
	f := s.file(no)
	blocks := int64(bytes / blockBytes)
	// Oracle counts only the single-block reads of a calibration as synchronous.
	if event == eventSingle || event == eventCalibrate && blocks <= 1 {
		f.syncReads.add(bytes, took)
	}
	if blocks <= 1 {
		f.smallReads.add(bytes, took)
	} else {
		f.largeReads.add(bytes, took)
		s.system["physical read total multi block requests"]++
	}
	s.system["physical read total bytes"] += int64(bytes)
	s.system["physical read total IO requests"]++
	if event != eventCalibrate {
		s.system["physical read bytes"] += int64(bytes)
		s.system["physical read IO requests"]++
		s.system["physical reads"] += blocks
	}
	switch event {
	case eventSingle, eventBatch:
		s.system["physical reads cache"] += blocks
	case eventDirect:
		s.system["physical reads direct"] += blocks
	}
	switch event {
	case eventBatch: // one wait for all its reads: see readBatch
	case eventSingle:
		s.wait(event, scaled(waited, s.faults.EventTimes))
	default:
		s.wait(event, waited)
	}
}

func (s *statistics) writeDone(no int64, bytes int, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.file(no)
	if bytes <= blockBytes {
		f.smallWrites.add(bytes, took)
	} else {
		f.largeWrites.add(bytes, took)
	}
	s.system["physical write total bytes"] += int64(bytes)
	s.system["physical write total IO requests"]++
	s.system["physical write bytes"] += int64(bytes)
	s.system["physical write IO requests"]++
	s.system["physical writes"] += int64(bytes / blockBytes)
	s.wait(eventDBWR, took)
}

// committed counts a write of redo, and how long the session waited for it.
func (s *statistics) committed(size, bytes int, wrote, waited time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.system["redo size"] += int64(size)
	s.system["redo writes"]++
	s.system["user commits"]++
	s.system["physical write total bytes"] += int64(bytes)
	s.system["physical write total IO requests"]++
	s.wait(eventLGWR, wrote)
	s.wait(eventSync, waited)
}

// systemRows are V$SYSSTAT: statistics that exist have a row even at zero.
func (s *statistics) systemRows() []row {
	return s.rows("name",
		"execute count", "physical read IO requests", "physical read bytes",
		"physical read total IO requests", "physical read total bytes", "physical read total multi block requests",
		"physical reads", "physical reads cache", "physical reads direct", "physical write IO requests",
		"physical write bytes", "physical write total IO requests", "physical write total bytes", "physical writes",
		"redo size", "redo writes", "session logical reads", "user commits",
	)
}

// timeRows are V$SYS_TIME_MODEL, in microseconds.
func (s *statistics) timeRows() []row {
	return s.rows("stat_name", "DB CPU", "background cpu time")
}

func (s *statistics) rows(column string, names ...string) []row {
	s.mu.Lock()
	defer s.mu.Unlock()
	var rows []row
	for _, name := range names {
		own := s.system[name]
		for n, other := range s.others {
			own -= other[name]
			rows = append(rows, row{"inst_id": int64(n + 2), column: name, "value": other[name]})
		}
		rows = append(rows, row{"inst_id": int64(1), column: name, "value": own})
	}
	return rows
}

// eventRows are V$SYSTEM_EVENT: events that never happened have no row.
func (s *statistics) eventRows() []row {
	s.mu.Lock()
	defer s.mu.Unlock()
	var rows []row
	for _, name := range slices.Sorted(maps.Keys(s.events)) {
		e := s.events[name]
		class, background := waitClass(name)
		if n := slices.IndexFunc(s.faults.Waits, func(w Waiting) bool { return w.Event == name }); n >= 0 {
			class = s.faults.Waits[n].Class
		}
		r := row{
			"inst_id": int64(1), "event": name, "total_waits": e.waits, "time_waited_micro": e.took.Microseconds(),
			"time_waited": e.took.Milliseconds() / 10, "wait_class": class,
			"total_waits_fg": e.waits, "time_waited_micro_fg": e.took.Microseconds(),
		}
		if background {
			r["total_waits_fg"], r["time_waited_micro_fg"] = int64(0), int64(0)
		}
		rows = append(rows, r)
	}
	return rows
}

// waited counts an event.
func (s *statistics) waited(name string, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wait(name, took)
}

// histogramRows are V$EVENT_HISTOGRAM_MICRO: empty buckets above the largest have
// no row, those below it have.
func (s *statistics) histogramRows() []row {
	s.mu.Lock()
	defer s.mu.Unlock()
	var rows []row
	for _, name := range slices.Sorted(maps.Keys(s.events)) {
		buckets := s.events[name].buckets
		last := len(buckets) - 1
		for last > 0 && buckets[last] == 0 {
			last--
		}
		for i, n := range buckets[:last+1] {
			rows = append(rows, row{"inst_id": int64(1), "event": name, "wait_time_micro": int64(1) << i, "wait_count": n})
		}
	}
	return rows
}
