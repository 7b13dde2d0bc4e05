package oracle

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"slices"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Watch reads the GV$DNFS_* views again and again during one window. Reading V$DNFS_CHANNELS resets its counters, so
// a database must have only one Watch at a time, and nobody else may read the view. A Watch is not safe for
// concurrent use.
//
// The calls of a window are: Look, which resets the counters and begins the window; Look every few seconds; a last
// Look at the end of the window; Result.
type Watch struct {
	admin    *Admin
	begun    bool
	servers  []runfile.DNFSServer
	files    []runfile.DNFSFile
	channels map[channel]*channelSum
	last     map[process]operations // at the last look that showed each process
	sum      operations             // of all processes since the first look
	seen     bool                   // any look showed a process
}

// channel is one path of one server. It outlives reconnects.
type channel struct {
	instance            int32
	server, path, local string
}

// channelSum adds up the counters of a channel over looks and processes.
type channelSum struct {
	sends, receives, reconnects int64
	processes, lowPorts         map[int64]bool // by process number
}

// process is an Oracle process of an instance.
type process struct {
	instance int32
	number   int64
}

// operations holds the counters of one process in V$DNFS_STATS since it began: reads, writes, bytes read and bytes
// written.
type operations [4]int64

// Look reads the views once, with four queries. The first Look begins the
// window and drops the channels' earlier counts. After an error the counts of
// one interval may be missing from the sums.
func (w *Watch) Look(ctx context.Context) error {
	servers, err := query(ctx, w.admin, "dnfs_servers", func(r *sql.Rows) (runfile.DNFSServer, error) {
		var s runfile.DNFSServer
		var id, wtmax, rtmax sql.NullInt64
		var server, export, version sql.NullString
		err := r.Scan(&s.Instance, &id, &server, &export, &version, &wtmax, &rtmax)
		s.Server, s.Export, s.Version, s.WriteMaxBytes, s.ReadMaxBytes = server.String, export.String, version.String,
			wtmax.Int64, rtmax.Int64
		return s, err
	})
	if err != nil {
		return err
	}
	files, err := query(ctx, w.admin, "dnfs_files", func(r *sql.Rows) (runfile.DNFSFile, error) {
		var name sql.NullString
		var server sql.NullInt64
		err := r.Scan(&name, &server)
		return runfile.DNFSFile{Name: name.String, Server: server.Int64}, err
	})
	if err != nil {
		return err
	}
	w.servers, w.files = servers, files
	now := map[process]operations{}
	err = w.admin.each(ctx, "dnfs_stats", func(r *sql.Rows) error {
		var p process
		var reads, writes, readBytes, writeBytes sql.NullInt64
		err := r.Scan(&p.instance, &p.number, &reads, &writes, &readBytes, &writeBytes)
		now[p] = operations{reads.Int64, writes.Int64, readBytes.Int64, writeBytes.Int64}
		return err
	})
	if err != nil {
		return err
	}
	rows, err := query(ctx, w.admin, "dnfs_channels", func(r *sql.Rows) (channelRow, error) {
		var c channelRow
		var server, path, local sql.NullString
		var id, sends, receives, same, other, port sql.NullInt64
		err := r.Scan(&c.instance, &c.process, &server, &path, &local, &id, &sends, &receives, &same, &other, &port)
		c.server, c.path, c.local = server.String, path.String, local.String
		c.sends, c.receives, c.reconnects, c.port = sends.Int64, receives.Int64, same.Int64+other.Int64, port.Int64
		return c, err
	})
	if err != nil {
		return err
	}
	for _, r := range rows {
		w.count(r)
	}
	w.follow(now)
	w.begun = true
	return nil
}

// channelRow is one channel of one process.
type channelRow struct {
	channel
	process                     int64
	sends, receives, reconnects int64
	port                        int64
}

// count adds one row. Before the window begins, it only records that the
// channel exists.
func (w *Watch) count(r channelRow) {
	sum := w.channels[r.channel]
	if sum == nil {
		sum = &channelSum{processes: map[int64]bool{}, lowPorts: map[int64]bool{}}
		w.channels[r.channel] = sum
	}
	sum.processes[r.process] = true
	if r.port > 0 && r.port < 1024 {
		sum.lowPorts[r.process] = true
	}
	if w.begun {
		sum.sends += r.sends
		sum.receives += r.receives
		sum.reconnects += r.reconnects
	}
}

// follow adds what each process counted since the last look that showed it. A new process counts from zero, as does
// one whose counters went back: its number was given to a new process.
func (w *Watch) follow(now map[process]operations) {
	if w.begun {
		for p, after := range now {
			before := w.last[p]
			for i := range after {
				if after[i] < before[i] {
					before = operations{}
				}
			}
			for i := range after {
				w.sum[i] += after[i] - before[i]
			}
		}
	}
	w.seen = w.seen || len(now) > 0
	maps.Copy(w.last, now)
}

// Result returns the counts since the first Look: the servers and files of the latest look, all channels that any
// look showed, and the operations of all processes. It misses the operations of a process after the last look that
// showed it. Without any process the operations are unknown.
func (w *Watch) Result() runfile.DirectNFS {
	d := runfile.DirectNFS{Servers: slices.Clone(w.servers), Files: slices.Clone(w.files)}
	for c, sum := range w.channels {
		d.Channels = append(d.Channels, runfile.DNFSChannel{
			Instance: c.instance, Server: c.server, Path: c.path, Local: c.local, Processes: int32(len(sum.processes)),
			Sends: sum.sends, Receives: sum.receives, Reconnects: sum.reconnects, LowPorts: int32(len(sum.lowPorts)),
		})
	}
	slices.SortFunc(d.Channels, func(a, b runfile.DNFSChannel) int {
		return cmp.Or(cmp.Compare(a.Instance, b.Instance), cmp.Compare(a.Server, b.Server), cmp.Compare(a.Path, b.Path),
			cmp.Compare(a.Local, b.Local))
	})
	if !w.seen {
		return d
	}
	sum := w.sum
	d.ReadOps, d.WriteOps, d.ReadBytes, d.WriteBytes = &sum[0], &sum[1], &sum[2], &sum[3]
	return d
}
