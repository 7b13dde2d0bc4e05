package oracle

import (
	"maps"
	"math/bits"
	"slices"
	"sync"
	"time"
)

// The wait events that the stand-in has.
const (
	eventSingle    = "db file sequential read"
	eventDirect    = "direct path read"
	eventDBWR      = "db file parallel write"
	eventLGWR      = "log file parallel write"
	eventSync      = "log file sync"
	eventCalibrate = "Disk file I/O Calibration"
)

// statistics are what an instance has counted since it started. The methods are
// safe for several goroutines.
type statistics struct {
	mu     sync.Mutex
	system map[string]int64 // V$SYSSTAT
	events map[string]*event
	files  map[int64]*fileCount // V$IOSTAT_FILE, by FILE_NO
}

type event struct {
	waits   int64
	took    time.Duration
	buckets [33]int64 // by the power of two that is its exclusive upper bound, in us
}

// fileCount is one row of V$IOSTAT_FILE.
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

func newStatistics() *statistics {
	return &statistics{system: map[string]int64{}, events: map[string]*event{}, files: map[int64]*fileCount{}}
}

// add adds to statistics of V$SYSSTAT.
func (s *statistics) add(deltas map[string]int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, n := range deltas {
		s.system[name] += n
	}
}

// wait counts one wait.
func (s *statistics) wait(name string, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waitLocked(name, took)
}

func (s *statistics) waitLocked(name string, took time.Duration) {
	e := s.events[name]
	if e == nil {
		e = &event{}
		s.events[name] = e
	}
	e.waits++
	e.took += took
	e.buckets[bucket(took)]++
}

// bucket is the power of two above a wait in microseconds.
func bucket(took time.Duration) int {
	return min(bits.Len64(uint64(max(took.Microseconds(), 0))), 32)
}

func (s *statistics) file(no int64) *fileCount {
	f := s.files[no]
	if f == nil {
		f = &fileCount{}
		s.files[no] = f
	}
	return f
}

// readDone counts one read of a datafile.
func (s *statistics) readDone(no int64, bytes int, took time.Duration, event string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.file(no)
	blocks := int64(bytes / blockBytes)
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
	case eventCalibrate: // of which Oracle counts those of single blocks as synchronous
		if blocks <= 1 {
			f.syncReads.add(bytes, took)
		}
	case eventSingle:
		f.syncReads.add(bytes, took)
		s.system["physical reads cache"] += blocks
	case eventDirect:
		s.system["physical reads direct"] += blocks
	}
	s.waitLocked(event, took)
}

// writeDone counts one write of a datafile.
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
	s.waitLocked(eventDBWR, took)
}

// redoDone counts one write of the redo log.
func (s *statistics) redoDone(size, bytes int, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.system["redo size"] += int64(size)
	s.system["redo writes"]++
	s.system["physical write total bytes"] += int64(bytes)
	s.system["physical write total IO requests"]++
	s.waitLocked(eventLGWR, took)
}

// fileOf returns a copy of what was counted of a file.
func (s *statistics) fileOf(no int64) fileCount {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.file(no)
}

// systemRows are V$SYSSTAT.
func (s *statistics) systemRows() []row {
	s.mu.Lock()
	defer s.mu.Unlock()
	var rows []row
	for _, name := range systemNames() {
		rows = append(rows, row{"inst_id": int64(1), "name": name, "value": s.system[name]})
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
		rows = append(rows, row{
			"inst_id": int64(1), "event": name, "total_waits": e.waits, "time_waited_micro": e.took.Microseconds(),
			"time_waited": e.took.Milliseconds() / 10, "wait_class": "User I/O",
		})
	}
	return rows
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

// systemNames are the statistics that the stand-in keeps: those that exist have
// a row even at zero.
func systemNames() []string {
	return []string{
		"CPU used by this session", "execute count", "physical read IO requests", "physical read bytes",
		"physical read total IO requests", "physical read total bytes", "physical read total multi block requests",
		"physical reads", "physical reads cache", "physical reads direct", "physical write IO requests",
		"physical write bytes", "physical write total IO requests", "physical write total bytes", "physical writes",
		"redo size", "redo writes", "session logical reads", "user commits",
	}
}
