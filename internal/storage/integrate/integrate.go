// Package integrate computes counters from rates, for storages that report only rates.
//
// A reading at time t is the mean over the time since the reading before it, as FlashBlade and Harvest report
// it: the integral grows by rate times that time. All integrals are 0 at the first reading, because nothing
// is known of the time before it. Readings that overlap with integrated ones add nothing, so the same answer
// may arrive any number of times, from several goroutines, in any order.
//
// Precision. If readings are means over exactly the time since the reading before, the difference of two
// counters is exact for the time between their Snapshot.Times, which are times of readings. For another time
// span, such as that of a load, the error at each end is less than one interval of readings times the
// difference of the rates. If the storage omits a reading, or reports momentary values, the next reading
// covers the whole time since the last one, up to the bridge that New gets. After a longer gap of one value,
// this value is unknown from then on. After a longer gap of all values, another epoch begins, across which
// differences have no meaning.
//
// A value that no reading reports has no counter. Latencies become time: the operations of an interval times
// their mean latency; no operations take no time, whatever the reported latency.
package integrate

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
)

// maxThings bounds the number of nodes and of paths.
const maxThings = 4096

// Integrator holds the integrals of one source. It is safe for concurrent use.
type Integrator struct {
	bridge time.Duration
	start  string

	mu     sync.Mutex
	epoch  int
	newest time.Time // of all readings
	at     time.Time // of the newest reading of the total
	total  lines
	nodes  map[string]*lines
	paths  map[string]*path
}

type path struct {
	name, node string
	newest     time.Time
	lines      lines
}

// New returns an integrator whose epochs are named after start. bridge is the longest time that one reading
// may cover.
func New(start time.Time, bridge time.Duration) *Integrator {
	i := &Integrator{bridge: bridge, start: start.UTC().Format(time.RFC3339Nano)}
	i.reset()
	return i
}

func (i *Integrator) reset() {
	i.epoch++
	i.newest, i.at, i.total = time.Time{}, time.Time{}, lines{}
	i.nodes, i.paths = map[string]*lines{}, map[string]*path{}
}

// Question is the state of the integrator before a request to the storage.
type Question struct {
	// Since is the time of the newest reading at that moment; zero = there was none. An answer that begins there
	// leaves no gap.
	Since time.Time
	epoch int
	to    *Integrator
}

// Ask returns a Question. Call it before the request to the storage.
func (i *Integrator) Ask() Question {
	i.mu.Lock()
	defer i.mu.Unlock()
	return Question{Since: i.newest, epoch: i.epoch, to: i}
}

// Answer integrates the readings and returns all current counters. The time of the snapshot is that of the
// newest reading of the total, or of any reading if there is no total. A batch without readings changes
// nothing.
func (q Question) Answer(b Batch) storage.Snapshot {
	i := q.to
	i.mu.Lock()
	defer i.mu.Unlock()
	from := i.advance(q, b.times())
	i.total.addAll(b.Total, from, i.bridge)
	i.at = latest(i.at, b.Total)
	for _, n := range b.Nodes {
		i.addNode(n, from)
	}
	for _, p := range b.Paths {
		i.addPath(p, from)
	}
	return i.snapshot()
}

// advance moves on to the newest of times. After a gap longer than the bridge it begins another epoch, and
// returns the time at which the epoch begins; earlier readings belong to the old epoch. Another epoch also
// begins when the clock of the storage went back by more than the bridge. An answer that arrives after the
// answers to later questions does not begin one.
func (i *Integrator) advance(q Question, times []time.Time) (from time.Time) {
	if len(times) == 0 {
		return time.Time{}
	}
	slices.SortFunc(times, time.Time.Compare)
	if wentBack := q.Since.Sub(times[len(times)-1]) > i.bridge; wentBack && q.epoch == i.epoch {
		i.reset()
	}
	for _, at := range times {
		if !i.newest.IsZero() && at.Sub(i.newest) > i.bridge {
			i.reset()
			from = at
		}
		if at.After(i.newest) {
			i.newest = at
		}
	}
	return from
}

func (s *lines) addAll(readings []Rates, from time.Time, bridge time.Duration) {
	readings = slices.Clone(readings)
	slices.SortStableFunc(readings, func(a, b Rates) int { return a.Time.Compare(b.Time) })
	for _, r := range readings {
		if !r.Time.Before(from) {
			s.add(r, bridge)
		}
	}
}

func (i *Integrator) addNode(n Node, from time.Time) {
	kept := i.nodes[n.Name]
	if kept == nil {
		if n.Name == "" || len(i.nodes) >= maxThings {
			return
		}
		kept = &lines{}
		i.nodes[n.Name] = kept
	}
	kept.addAll(n.Rates, from, i.bridge)
}

func (i *Integrator) addPath(p Path, from time.Time) {
	kept := i.paths[p.Address]
	if kept == nil {
		if p.Address == "" || len(i.paths) >= maxThings {
			return
		}
		kept = &path{}
		i.paths[p.Address] = kept
	}
	if at := latest(kept.newest, p.Rates); !at.Before(kept.newest) && (at.After(kept.newest) || kept.name == "") {
		kept.newest, kept.name, kept.node = at, p.Name, p.Node
	}
	kept.lines.addAll(p.Rates, from, i.bridge)
}

func latest(at time.Time, readings []Rates) time.Time {
	for _, r := range readings {
		if r.Time.After(at) {
			at = r.Time
		}
	}
	return at
}

func (i *Integrator) snapshot() storage.Snapshot {
	count := func(l line) *int64 { return l.count(i.newest, i.bridge) }
	t := &i.total
	s := storage.Snapshot{Epoch: fmt.Sprintf("%s/%d", i.start, i.epoch), StorageSample: runfile.StorageSample{
		Time:    i.at,
		ReadOps: count(t.readOps), WriteOps: count(t.writeOps), OtherOps: count(t.otherOps),
		ReadBytes: count(t.readBytes), WriteBytes: count(t.writtenBytes),
		ReadMicroseconds: count(t.readMicroseconds), WriteMicroseconds: count(t.writeMicros),
	}}
	if i.newest.Sub(i.at) > i.bridge {
		s.Time = i.newest
	}
	for _, name := range slices.Sorted(maps.Keys(i.nodes)) {
		n := i.nodes[name]
		s.Nodes = append(s.Nodes, runfile.StorageNode{
			Name: name, BusyMicroseconds: count(n.busy), BaseMicroseconds: count(n.base),
		})
	}
	for _, address := range slices.Sorted(maps.Keys(i.paths)) {
		p := i.paths[address]
		s.Paths = append(s.Paths, runfile.StoragePath{
			Address: address, Name: p.name, Node: p.node,
			ReadBytes: count(p.lines.readBytes), WriteBytes: count(p.lines.writtenBytes),
		})
	}
	return s
}

// Batch holds the readings of one answer. They may be in any order and may overlap with earlier batches.
type Batch struct {
	Total []Rates
	Nodes []Node // of different names
	Paths []Path // of different addresses
}

// Rates is one reading: means over the time that ends at Time. Nil, negative values and NaN mean unknown.
type Rates struct {
	Time                        time.Time
	ReadOps, WriteOps, OtherOps *float64 // per second
	ReadBytes, WrittenBytes     *float64 // per second
	ReadLatency, WriteLatency   *float64 // microseconds, mean of one operation
	// BusyPercent is the load of the processors of a node. A value up to MaxPercent counts as at most 100,
	// because means are rounded; a larger value is unknown.
	BusyPercent *float64
}

// Node is a part of the storage with its own processors.
type Node struct {
	Name  string
	Rates []Rates
}

// MaxPercent bounds a rounded share of 100 %.
const MaxPercent = 105

// Path is an address of the storage. Name and Node come from the newest reading.
type Path struct {
	Address, Name, Node string
	Rates               []Rates
}

// times returns all times of a batch, unsorted.
func (b Batch) times() []time.Time {
	var all []time.Time
	rates := func(readings []Rates) {
		for _, r := range readings {
			all = append(all, r.Time)
		}
	}
	rates(b.Total)
	for _, p := range b.Paths {
		rates(p.Rates)
	}
	for _, n := range b.Nodes {
		rates(n.Rates)
	}
	return all
}

// maxRate is above the rate of any storage: 10^15 bytes or operations a second.
const maxRate = 1e15

// line is the integral of one rate.
type line struct {
	sum  float64
	last time.Time // end of the integral; zero = no reading yet
	lost bool      // a gap was longer than the bridge
}

func (l *line) add(at time.Time, rate *float64, bridge time.Duration) {
	if l.lost || rate == nil || !(*rate >= 0 && *rate <= maxRate) {
		return
	}
	switch gap := at.Sub(l.last); {
	case l.last.IsZero():
		l.last = at
	case gap <= 0: // integrated before
	case gap > bridge:
		l.lost = true
	default:
		l.sum += *rate * gap.Seconds()
		l.last = at
	}
}

// count returns the integral; nil if it is lost or ends more than one bridge before now.
func (l *line) count(now time.Time, bridge time.Duration) *int64 {
	if l.lost || l.last.IsZero() || now.Sub(l.last) > bridge {
		return nil
	}
	return storage.Count(l.sum)
}

// lines holds the integrals of all rates.
type lines struct {
	readOps, writeOps, otherOps   line
	readBytes, writtenBytes       line
	readMicroseconds, writeMicros line
	busy, base                    line // microseconds per second
}

func (s *lines) add(r Rates, bridge time.Duration) {
	s.readOps.add(r.Time, r.ReadOps, bridge)
	s.writeOps.add(r.Time, r.WriteOps, bridge)
	s.otherOps.add(r.Time, r.OtherOps, bridge)
	s.readBytes.add(r.Time, r.ReadBytes, bridge)
	s.writtenBytes.add(r.Time, r.WrittenBytes, bridge)
	s.readMicroseconds.add(r.Time, waited(r.ReadOps, r.ReadLatency), bridge)
	s.writeMicros.add(r.Time, waited(r.WriteOps, r.WriteLatency), bridge)
	if b := r.BusyPercent; b != nil && *b >= 0 && *b <= MaxPercent {
		s.busy.add(r.Time, new(min(*b, 100)/100*1e6), bridge)
		s.base.add(r.Time, new(1e6), bridge)
	}
}

// waited returns the sum of the latencies of the operations in a second, in microseconds.
func waited(ops, latency *float64) *float64 {
	switch {
	case ops == nil:
		return nil
	case *ops == 0:
		return new(0.0)
	case latency == nil || *ops < 0 || *latency < 0:
		return nil
	}
	return new(*ops * *latency)
}
