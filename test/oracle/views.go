package oracle

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"
)

// versionRows are V$VERSION.
func (i *Instance) versionRows() []row {
	return []row{{"banner": i.banner(), "banner_full": i.banner() + "\nVersion " + version, "con_id": int64(0)}}
}

// instanceRows are V$INSTANCE.
func (i *Instance) instanceRows() []row {
	return []row{{
		"inst_id": int64(1), "instance_name": i.cfg.SID, "host_name": i.cfg.Host, "version": version,
		"startup_time": i.started.Truncate(time.Second), "status": "OPEN",
	}}
}

// containerName is SYS_CONTEXT, and V$DATABASE.CDB.
func (i *Instance) containerName(_ context.Context, s *session, _ statement) ([]row, error) {
	name, dba := "CDB$ROOT", "FALSE"
	if s.container != 1 {
		name = i.cfg.PDB
	}
	if s.dba {
		dba = "TRUE"
	}
	return []row{{"con_name": name, "is_dba": dba, "cdb": "YES"}}, nil
}

// activeSessions are others' sessions with a statement under way: all of the
// stand-in's sessions are of one program, so those of another one.
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
			"event": eventSingle,
		})
	}
	return rows, nil
}

// accessMethod and asynchIO are what V$IOSTAT_FILE reports about every file.
func (i *Instance) accessMethod() string {
	if i.direct != nil {
		return "DNFS_LIB"
	}
	return "OS_LIB"
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

// fileRows are V$IOSTAT_FILE joined to V$DATAFILE: the latter has no other rows,
// so that both texts can be answered from here.
func (i *Instance) fileRows() []row {
	i.cat.mu.Lock()
	files := append([]*datafile(nil), i.cat.Files...)
	i.cat.mu.Unlock()
	var rows []row
	for _, d := range files {
		c := i.stats.fileOf(d.No)
		rows = append(rows, row{
			"inst_id": int64(1), "file_no": d.No, "filetype_id": int64(2), "filetype_name": "Data File", "name": i.path(d.Name),
			"access_method": i.accessMethod(), "asynch_io": i.asynchIO(), "con_id": d.Container,
			"small_read_reqs": c.smallReads.count, "small_read_servicetime": i.unit(c.smallReads.took),
			"small_sync_read_reqs": c.syncReads.count, "small_sync_read_latency": i.unit(c.syncReads.took),
			"large_read_reqs": c.largeReads.count, "large_read_servicetime": i.unit(c.largeReads.took),
			"small_read_megabytes": c.smallReads.bytes >> 20, "large_read_megabytes": c.largeReads.bytes >> 20,
			"small_write_reqs": c.smallWrites.count, "large_write_reqs": c.largeWrites.count,
		})
	}
	return rows
}

// unit gives a time as V$IOSTAT_FILE does.
func (i *Instance) unit(d time.Duration) int64 {
	if i.cfg.Milliseconds {
		return d.Milliseconds()
	}
	return d.Microseconds()
}

// datafiles are V$DATAFILE: a pluggable database sees its own.
func (i *Instance) datafiles(_ context.Context, s *session, _ statement) ([]row, error) {
	i.cat.mu.Lock()
	defer i.cat.mu.Unlock()
	var rows []row
	for _, d := range i.cat.Files {
		if s.container == 1 || s.container == d.Container {
			rows = append(rows, row{"filetype_name": "Data File", "file_no": d.No, "name": i.path(d.Name)})
		}
	}
	return rows, nil
}

// osRows are V$OSSTAT, of the machine, in centiseconds over all its CPUs.
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
	rows := []row{}
	for _, s := range []struct {
		name  string
		value int64
	}{{"BUSY_TIME", busy}, {"IDLE_TIME", idle}, {"NUM_CPUS", int64(runtime.NumCPU())}} {
		rows = append(rows, row{"inst_id": int64(1), "stat_name": s.name, "value": s.value})
	}
	return rows
}

// serverRows are V$DNFS_SERVERS: none before a file is open there.
func (i *Instance) serverRows() []row {
	if i.direct == nil {
		return nil
	}
	for _, p := range i.eachProcess() {
		if len(p.opened()) > 0 {
			d := i.direct
			return []row{{
				"inst_id": int64(1), "id": int64(1), "svrname": d.label, "dirname": d.export, "nfsversion": "NFSv3.0",
				"wtmax": int64(d.info.WriteMaxBytes), "rtmax": int64(d.info.ReadMaxBytes),
			}}
		}
	}
	return nil
}

// dnfsFileRows are V$DNFS_FILES, of all processes; the text asks for distinct
// ones.
func (i *Instance) dnfsFileRows() []row {
	if i.direct == nil {
		return nil
	}
	open := map[int64]bool{}
	for _, p := range i.eachProcess() {
		for _, no := range p.opened() {
			open[no] = true
		}
	}
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

// splitPort takes an address and its port apart, where it has one.
func splitPort(address string) (host string, port int64) {
	var err error
	for at := len(address) - 1; at > 0; at-- {
		if address[at] == ':' {
			if port, err = strconv.ParseInt(address[at+1:], 10, 64); err == nil && !bytes.Contains([]byte(address[:at]), []byte(":")) {
				return address[:at], port
			}
			break
		}
	}
	return fmt.Sprint(address), 0
}
