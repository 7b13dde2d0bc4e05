package integrate

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

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
	nodes  map[string]*node
	paths  map[string]*path
}

type node struct{ busy, base line }

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
	i.nodes, i.paths = map[string]*node{}, map[string]*path{}
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
		kept = &node{}
		i.nodes[n.Name] = kept
	}
	readings := slices.Clone(n.Busy)
	slices.SortStableFunc(readings, func(a, b Busy) int { return a.Time.Compare(b.Time) })
	for _, r := range readings {
		if r.Time.Before(from) || !(r.Percent >= 0 && r.Percent <= MaxPercent) {
			continue
		}
		kept.busy.add(r.Time, new(min(r.Percent, 100)/100), i.bridge)
		kept.base.add(r.Time, new(1.0), i.bridge)
	}
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
	s := storage.Snapshot{
		Time: i.at, Epoch: fmt.Sprintf("%s/%d", i.start, i.epoch), Total: i.total.counters(i.newest, i.bridge),
	}
	if i.newest.Sub(i.at) > i.bridge {
		s.Time = i.newest
	}
	for _, name := range slices.Sorted(maps.Keys(i.nodes)) {
		n := i.nodes[name]
		s.Nodes = append(s.Nodes, storage.Node{
			Name: name, CPUSeconds: n.busy.seconds(i.newest, i.bridge), BaseSeconds: n.base.seconds(i.newest, i.bridge),
		})
	}
	for _, address := range slices.Sorted(maps.Keys(i.paths)) {
		p := i.paths[address]
		s.Paths = append(s.Paths, storage.PathCounters{
			Address: address, Name: p.name, Node: p.node, Counters: p.lines.counters(i.newest, i.bridge),
		})
	}
	return s
}
