package judge

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
)

// Names as Oracle writes them.
const (
	eventSequentialRead = "db file sequential read" // single blocks
	eventParallelRead   = "db file parallel read"   // several single blocks at once, in no order
	eventScatteredRead  = "db file scattered read"  // several blocks into the buffer cache
	eventDirectRead     = "direct path read"        // past the buffer cache
	fileTypeData        = "Data File"
	methodDirectNFS     = "DNFS_LIB"
	methodOS            = "OS_LIB"
	asynchOff           = "ASYNC_OFF"
	statReadBytes       = "physical read total bytes"
	statWriteBytes      = "physical write total bytes"
	// V$SYS_TIME_MODEL, in microseconds. It counts calls that still run, but for their last five
	// seconds; "CPU used by this session" of V$SYSSTAT counts a call when it ends.
	statForegroundCPU = "DB CPU"
	statBackgroundCPU = "background cpu time"
	statReads         = "physical reads"
	statReadsCache    = "physical reads cache"
	statReadsDirect   = "physical reads direct"
	statLogicalReads  = "session logical reads"
)

func bucketsOf(all []runfile.LatencyBucket) []stats.Bucket {
	out := make([]stats.Bucket, 0, len(all))
	for _, b := range all {
		out = append(out, stats.Bucket{BelowMicroseconds: b.BelowMicroseconds, Count: b.Count})
	}
	return out
}

// microsecondsEach is the unit of the times of V$IOSTAT_FILE; 0 = not known. The
// documents say milliseconds and databases count microseconds, so the loader
// finds it out.
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

// smallReads are the single-block reads of all data files, and the microseconds
// that they took together. None when the unit is not known.
func smallReads(w runfile.OracleWindow) (count int64, micros float64) {
	unit := microsecondsEach(w)
	if unit == 0 {
		return 0, 0
	}
	for _, f := range dataFiles(w) {
		count += f.SmallReads
		micros += f.SmallReadTime * unit
	}
	return count, micros
}

// dataFiles are the data files that were read in a window.
func dataFiles(w runfile.OracleWindow) []runfile.OracleFile {
	return filtered(w.Files, func(f runfile.OracleFile) bool {
		return f.Type == fileTypeData && f.SmallReads+f.LargeReads > 0
	})
}

func eventOf(w runfile.OracleWindow, name string) (waits, micros int64) {
	for _, e := range w.Events {
		if e.Name == name {
			waits += e.Waits
			micros += e.Microseconds
		}
	}
	return waits, micros
}

// databaseSummary puts together what the views said. Files are of the repetition
// that stands for all, servers and channels of all that count.
func (c *facts) databaseSummary() *DatabaseSummary {
	if c.Plan.Database == nil || c.overall == nil {
		return nil
	}
	d := &DatabaseSummary{Files: fileSummaries(c.overall.databases)}
	for _, w := range c.overall.databases { // one: a database is loaded by one client
		d.Waits = append(d.Waits, waitsOf(w)...)
	}
	for _, w := range c.databases {
		for _, row := range w.DirectNFS.Servers {
			d.Servers = withNew(d.Servers, row)
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
		for _, f := range dataFiles(w) {
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
	s.methods = withNew(s.methods, f.AccessMethod)
}

// nanoseconds is a mean; nil when there is none.
func (s *fileSum) nanoseconds(micros float64, reads int64) *int64 {
	if !s.unitKnown || reads <= 0 {
		return nil
	}
	return rounded(micros * 1000 / float64(reads))
}
