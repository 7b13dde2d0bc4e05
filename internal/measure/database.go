package measure

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
)

// Names in Oracle's spelling.
const (
	EventSequentialRead = "db file sequential read" // single blocks
	EventParallelRead   = "db file parallel read"   // several single blocks at once, in any order
	EventScatteredRead  = "db file scattered read"  // several blocks into the buffer cache
	EventDirectRead     = "direct path read"        // past the buffer cache
	FileTypeData        = "Data File"
	MethodDirectNFS     = "DNFS_LIB"
	MethodOS            = "OS_LIB"
	AsynchOff           = "ASYNC_OFF"
	StatReadBytes       = "physical read total bytes"
	StatWriteBytes      = "physical write total bytes"
	// V$SYS_TIME_MODEL, in microseconds. It includes calls that still run, except for their last five seconds; "CPU used
	// by this session" of V$SYSSTAT counts a call when it ends.
	StatForegroundCPU = "DB CPU"
	statBackgroundCPU = "background cpu time"
	StatReads         = "physical reads"
	StatReadsCache    = "physical reads cache"
	StatReadsDirect   = "physical reads direct"
	StatLogicalReads  = "session logical reads"
)

func bucketsOf(all []runfile.LatencyBucket) []stats.Bucket {
	out := make([]stats.Bucket, 0, len(all))
	for _, b := range all {
		out = append(out, stats.Bucket{BelowMicroseconds: b.BelowMicroseconds, Count: b.Count})
	}
	return out
}

// microsecondsEach returns the unit of the times in V$IOSTAT_FILE, in
// microseconds; 0 = unknown. Oracle documents milliseconds but databases count
// microseconds, so the loader determines the unit.
func microsecondsEach(w runfile.OracleWindow) float64 {
	switch w.ServiceTimeUnit {
	case runfile.UnitMicroseconds:
		return 1
	case runfile.UnitMilliseconds:
		return 1000
	default:
		return 0
	}
}

// SmallReads returns the number of single-block reads of all data files and
// their total time in microseconds. Both are 0 if the unit is unknown.
func SmallReads(w runfile.OracleWindow) (count int64, micros float64) {
	unit := microsecondsEach(w)
	if unit == 0 {
		return 0, 0
	}
	for _, f := range DataFiles(w) {
		count += f.SmallReads
		micros += f.SmallReadTime * unit
	}
	return count, micros
}

// DataFiles returns the data files that were read in a window.
func DataFiles(w runfile.OracleWindow) []runfile.OracleFile {
	return Filtered(w.Files, func(f runfile.OracleFile) bool {
		return f.Type == FileTypeData && f.SmallReads+f.LargeReads > 0
	})
}

// EventOf returns the number of waits for an event over all instances, and their total time in microseconds.
func EventOf(w runfile.OracleWindow, name string) (waits, micros int64) {
	for _, e := range w.Events {
		if e.Name == name {
			waits += e.Waits
			micros += e.Microseconds
		}
	}
	return waits, micros
}

// databaseSummary summarizes the database views. Files come from the
// representative repetition, servers and channels from all that count.
func databaseSummary(c *Facts) *DatabaseSummary {
	if c.Overall == nil {
		return nil
	}
	d := &DatabaseSummary{Files: fileSummaries(c.Overall.Databases)}
	for _, w := range c.Overall.Databases { // at most one: one client loads a database
		d.Waits = append(d.Waits, waitsOf(w)...)
	}
	for _, w := range c.Databases {
		for _, row := range w.DirectNFS.Servers {
			d.Servers = WithNew(d.Servers, row)
		}
		for _, ch := range w.DirectNFS.Channels {
			d.Channels = withChannel(d.Channels, ch)
		}
	}
	slices.SortStableFunc(d.Channels, func(a, b runfile.DNFSChannel) int {
		return cmp.Or(cmp.Compare(a.Instance, b.Instance), cmp.Compare(a.Server, b.Server), cmp.Compare(a.Path, b.Path),
			cmp.Compare(a.Local, b.Local))
	})
	return d
}

func waitsOf(w runfile.OracleWindow) []DatabaseWait {
	var out []DatabaseWait
	for _, t := range w.TopWaits {
		d := DatabaseWait{Name: t.Name, Class: t.Class, Waits: t.Waits, Microseconds: t.Microseconds}
		if t.Waits > 0 {
			d.MeanMicroseconds = new(t.Microseconds / t.Waits)
		}
		if all := w.ForegroundWaitMicroseconds; all != nil && *all > 0 && t.Microseconds >= 0 {
			d.Permille = new(int32(min(float64(t.Microseconds)/float64(*all)*1000, 1000)))
		}
		out = append(out, d)
	}
	return out
}

func withChannel(all []runfile.DNFSChannel, ch runfile.DNFSChannel) []runfile.DNFSChannel {
	i := slices.IndexFunc(all, func(o runfile.DNFSChannel) bool {
		return o.Instance == ch.Instance && o.Server == ch.Server && o.Path == ch.Path && o.Local == ch.Local
	})
	if i < 0 {
		return append(all, ch)
	}
	all[i].Processes = max(all[i].Processes, ch.Processes)
	all[i].LowPorts = max(all[i].LowPorts, ch.LowPorts)
	all[i].Sends += ch.Sends
	all[i].Receives += ch.Receives
	all[i].Reconnects += ch.Reconnects
	return all
}

// fileSum adds up the rows of one data file over instances.
type fileSum struct {
	methods                []string
	reads, syncReads       int64
	readMicros, syncMicros float64
	unitKnown              bool
}

func fileSummaries(windows []runfile.OracleWindow) []DatabaseFile {
	sums := map[int64]*fileSum{}
	for _, w := range windows {
		unit := microsecondsEach(w)
		for _, f := range DataFiles(w) {
			s := sums[f.Number]
			if s == nil {
				s = &fileSum{unitKnown: true}
				sums[f.Number] = s
			}
			s.add(f, unit)
		}
	}
	out := make([]DatabaseFile, 0, len(sums))
	for _, n := range slices.Sorted(maps.Keys(sums)) {
		s := sums[n]
		out = append(out, DatabaseFile{
			Number: n, AccessMethod: strings.Join(s.methods, ", "), SmallReads: &s.reads,
			SmallReadNanoseconds:     s.nanoseconds(s.readMicros, s.reads),
			SmallSyncReadNanoseconds: s.nanoseconds(s.syncMicros, s.syncReads),
		})
	}
	return out
}

func (s *fileSum) add(f runfile.OracleFile, unit float64) {
	s.unitKnown = s.unitKnown && unit > 0
	s.reads += f.SmallReads
	s.readMicros += f.SmallReadTime * unit
	s.syncReads += f.SmallSyncReads
	s.syncMicros += f.SmallSyncReadTime * unit
	s.methods = WithNew(s.methods, f.AccessMethod)
}

// nanoseconds returns a mean time; nil if there is none.
func (s *fileSum) nanoseconds(micros float64, reads int64) *int64 {
	if !s.unitKnown || reads <= 0 {
		return nil
	}
	return rounded(micros * 1000 / float64(reads))
}

// SessionTime divides the time of the users of a SLOB load, as the database counted it. A user waits for one thing at
// a time and is never idle.
type SessionTime struct {
	Length  time.Duration // of the window
	All     time.Duration // all users together
	Waited  time.Duration // all foreground sessions, also those of other users
	Working time.Duration // CPU time of foreground sessions
}

// SessionTimeOf returns the session time of a repetition. It is known if users work for the whole window.
func (c *Facts) SessionTimeOf(s RepetitionFacts) (t SessionTime, known bool) {
	if c.Plan.Workload.SLOB == nil || s.Step == nil || s.Step.Users <= 0 {
		return t, false
	}
	for _, p := range s.parts {
		w := p.rep.Oracle
		if w == nil || w.ForegroundWaitMicroseconds == nil {
			return t, false
		}
		t.Length += p.rep.End.Sub(p.rep.Start)
		t.Waited += time.Duration(*w.ForegroundWaitMicroseconds) * time.Microsecond
		t.Working += time.Duration(w.Statistics[StatForegroundCPU]) * time.Microsecond
	}
	t.All = time.Duration(s.Step.Users) * t.Length
	return t, t.All > 0
}

// SeveralInstances reports whether several instances of a RAC carried load.
func (c *Facts) SeveralInstances() bool {
	return slices.ContainsFunc(c.Overall.Databases, func(w runfile.OracleWindow) bool {
		return len(w.InstanceBytes) > 1
	})
}

// AccessShare returns the smallest share, in permille, that an access method has of the data file reads in any
// window; false if no window shows it.
func (c *Facts) AccessShare(method string) (least int64, known bool) {
	least = 1000
	for _, w := range c.Databases {
		files := DataFiles(w)
		weigh := func(f runfile.OracleFile) float64 { return float64(f.SmallReadMegabyte) + float64(f.LargeReadMegabyte) }
		if !slices.ContainsFunc(files, func(f runfile.OracleFile) bool { return weigh(f) > 0 }) {
			weigh = func(f runfile.OracleFile) float64 { return float64(f.SmallReads) + float64(f.LargeReads) }
		}
		all, by := 0.0, 0.0
		for _, f := range files {
			all += weigh(f)
			if f.AccessMethod == method {
				by += weigh(f)
			}
		}
		if all > 0 {
			least, known = min(least, int64(by*1000/all)), true
		}
	}
	return least, known
}

// OtherMethods returns the other access methods by which data files were read.
func (c *Facts) OtherMethods(method string) string {
	var seen []string
	for _, w := range c.Databases {
		for _, f := range DataFiles(w) {
			if f.AccessMethod != method {
				seen = WithNew(seen, f.AccessMethod)
			}
		}
	}
	slices.Sort(seen)
	return strings.Join(seen, ", ")
}

// OwnServers returns the rows of the server or export in the plan; a database
// may use others. It returns all rows of an instance without such a row, which
// did not use its oranfstab.
func (c *Facts) OwnServers(all []runfile.DNFSServer) []runfile.DNFSServer {
	return ownOfEach(all, func(row runfile.DNFSServer) int32 { return row.Instance }, func(row runfile.DNFSServer) bool {
		return row.Server == c.Plan.Engine.Server || row.Export != "" && row.Export == c.Plan.Engine.Export
	})
}

// ownOfEach returns the own rows of each instance, and all rows of an instance that has none of its own.
func ownOfEach[T any](all []T, instance func(T) int32, own func(T) bool) []T {
	has := map[int32]bool{}
	for _, row := range all {
		has[instance(row)] = has[instance(row)] || own(row)
	}
	return Filtered(all, func(row T) bool { return own(row) || !has[instance(row)] })
}

// ConnectedClients returns the connected clients of all measured windows.
func (c *Facts) ConnectedClients() (all []runfile.StorageClient) {
	for _, cl := range c.result.Clients {
		for w := range windowsOf(cl, runfile.SpanMeasure) {
			for _, s := range w.Storage {
				all = append(all, s.Clients...)
			}
		}
	}
	return all
}

// SyncFiles returns the numbers of the data files that were read without asynchronous I/O.
func (c *Facts) SyncFiles() (files []string) {
	for _, w := range c.Databases {
		for _, f := range DataFiles(w) {
			if f.AsynchIO == AsynchOff {
				files = WithNew(files, strconv.FormatInt(f.Number, 10))
			}
		}
	}
	return files
}

// AsyncIO returns the highest asynchronous I/O of the database's node: under load, and in the idle baseline. Nil =
// unknown.
func (c *Facts) AsyncIO() (load, idle *runfile.AsyncIO) {
	return c.asyncIO(runfile.SpanMeasure), c.asyncIO(runfile.SpanBaseline)
}

func (c *Facts) asyncIO(kind string) (most *runfile.AsyncIO) {
	for _, cl := range c.result.Clients {
		for w := range windowsOf(cl, kind) {
			if a := w.AsyncIO; a != nil && (most == nil || a.Requests > most.Requests) {
				most = a
			}
		}
	}
	return most
}

// Instances returns the number of RAC instances that the loaders saw; 0 = unknown.
func (c *Facts) Instances() (n int) {
	for _, o := range c.Oracles {
		n = max(n, len(o.Instances))
	}
	return n
}
