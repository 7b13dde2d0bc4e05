// Package integrate makes counters out of rates, for storages that tell nothing else.
//
// A reading at time t is taken for the mean of the time since the reading before it, which
// is what a FlashBlade and Harvest give: the integral grows by rate times that time. Nothing
// is assumed of the time before the first reading, where all integrals are 0, and readings
// that overlap with what is integrated already add nothing, so the same answer may be given
// any number of times, by several goroutines, in any order of arrival.
//
// How wrong it is. Where readings are means over exactly the time since the one before, the
// difference of two counters is exact for the time between their Snapshot.Times, which are
// times of readings. Asked for another time, such as that of a load, it is off by what
// happened between its ends and the readings next to them: at each end less than one
// interval of readings times the difference of the rates. Where the storage left out a
// reading, or gives momentary values, the next reading stands for the whole time since the
// last one. That is done for at most the time that New is told; what is longer is not made
// up: a single value is unknown from then on, and if nothing at all was reported for so long,
// another epoch begins, across which no difference is to be taken.
//
// Unknown stays unknown: what no reading tells has no counter. Latencies become time: the
// operations of an interval times their mean latency; no operations take no time, whatever
// their latency is said to be.
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

// maxThings bounds the nodes and the paths that are kept, whatever a storage says.
const maxThings = 4096

// Integrator holds the integrals of one source. It may be used by several goroutines.
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

// New makes an integrator whose epochs are named after start. bridge is for how long one
// reading may stand.
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

// Question is what the integrator knew when a storage was asked.
type Question struct {
	// Since is the time of the newest reading then; zero = there was none yet. An answer
	// that begins there leaves no gap.
	Since time.Time
	epoch int
	to    *Integrator
}

// Ask is to be called before the storage is asked.
func (i *Integrator) Ask() Question {
	i.mu.Lock()
	defer i.mu.Unlock()
	return Question{Since: i.newest, epoch: i.epoch, to: i}
}

// Answer integrates what the storage said and returns all counters as they are then. The
// time of the snapshot is that of the newest reading of the total, or of anything where the
// total is not told. An answer without readings changes nothing.
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

// advance moves on to the newest of times. Where nothing was reported for longer than can be
// bridged, it begins another epoch; what is before the returned time belongs to the old one.
// So it does when the clock of the storage went back by as much, which is not the same as an
// answer that was overtaken by those to later questions.
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

// Batch is one answer of a storage: readings in any order, which may overlap with those of
// earlier batches.
type Batch struct {
	Total []Rates
	Nodes []Node // of different names
	Paths []Path // of different addresses
}

// Rates are one reading: means of the time that ends at Time. Nil, and what is negative or
// no number, is not known.
type Rates struct {
	Time                        time.Time
	ReadOps, WriteOps, OtherOps *float64 // per second
	ReadBytes, WrittenBytes     *float64 // per second
	ReadLatency, WriteLatency   *float64 // microseconds, mean of one operation
	// BusyPercent is how much of the processors of a node was in use. Up to MaxPercent counts as 100, since means
	// are rounded; more is not known.
	BusyPercent *float64
}

// Node is a part of the storage with processors of its own.
type Node struct {
	Name  string
	Rates []Rates
}

// MaxPercent is what a share that is meant to be 100 % may be, rounding included.
const MaxPercent = 105

// Path is an address of the storage. Name and Node of the newest reading hold.
type Path struct {
	Address, Name, Node string
	Rates               []Rates
}

// times returns all times of a batch, in no order.
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

// maxRate is beyond every storage: 10^15 bytes or operations a second.
const maxRate = 1e15

// line is the integral of one rate.
type line struct {
	sum  float64
	last time.Time // up to where; zero = nothing is known yet
	lost bool      // a gap was longer than can be bridged
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

// count is the integral, if it holds at now, or nearly.
func (l *line) count(now time.Time, bridge time.Duration) *int64 {
	if l.lost || l.last.IsZero() || now.Sub(l.last) > bridge {
		return nil
	}
	return storage.Count(l.sum)
}

// lines are the integrals of everything that Rates tell.
type lines struct {
	readOps, writeOps, otherOps   line
	readBytes, writtenBytes       line
	readMicroseconds, writeMicros line
	busy, base                    line // microseconds of a second
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

// waited is the latency that operations add up to in a second, in microseconds.
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
