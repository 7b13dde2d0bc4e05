package ontap

import (
	"cmp"
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Truth is what really happens behind the interface. Its methods may be called concurrently. The
// counters only grow, and unknown counters are zero.
type Truth interface {
	// Node counts the processor time of a controller.
	Node(name string) NodeCounters
	// LIF counts the bytes of a data address.
	LIF(address string) LIFCounters
	// Volume counts what clients did to a volume.
	Volume(name string) VolumeCounters
	// Clients are the connections that clients have; it may be empty.
	Clients() []Client
	// Move makes node the owner of a volume's data, online, and returns when it
	// is, or when the context ends.
	Move(ctx context.Context, volume, node string) error
}

// Dated is a Truth whose volume counters are older than the query.
type Dated interface {
	// VolumeTime is the time of the counters that Volume returned last; zero = time of the query.
	VolumeTime(name string) time.Time
}

// NodeCounters are processor times of a controller, in microseconds: how much of
// the base was busy, summed over its processors.
type NodeCounters struct {
	BusyMicros, BaseMicros uint64
}

// LIFCounters are the bytes of a data address as it sees them itself: it sends
// what clients read.
type LIFCounters struct {
	SentBytes, ReceivedBytes uint64
}

// VolumeCounters count operations, bytes of data, and latencies added up.
type VolumeCounters struct {
	Read, Write, Other OpCounters
}

// OpCounters count one kind of operation.
type OpCounters struct {
	Ops, Bytes, LatencyMicros uint64
}

// Plus adds the counters of the same kind of operation.
func (c OpCounters) Plus(o OpCounters) OpCounters {
	return OpCounters{c.Ops + o.Ops, c.Bytes + o.Bytes, c.LatencyMicros + o.LatencyMicros}
}

// Client is one address of a client on one address of the array.
type Client struct {
	ClientIP, ServerIP string
	Volume             string
	Protocol           string // nfs3, nfs4, nfs4.1, nfs4.2
	// LocalRequests entered on the node that owns the volume, RemoteRequests on
	// another one; both since the connection was made.
	LocalRequests, RemoteRequests uint64
}

// The parts of the array whose statistics can be disturbed.
const (
	StatisticsNodes   = "nodes"
	StatisticsLIFs    = "lifs"
	StatisticsVolumes = "volumes"
)

type counters struct {
	nodes   map[string]NodeCounters
	lifs    map[string]LIFCounters
	volumes map[string]VolumeCounters
	dates   map[string]time.Time // by volume; see Dated
}

// statistics is the last reading of the truth. Like ONTAP's they stand still
// until the next step of the grid.
type statistics struct {
	mu      sync.Mutex
	taken   bool
	slot    time.Time // slot of the grid
	at      time.Time // time of the counters
	last    counters
	frozen  bool              // no further readings
	status  map[string]string // by part; none = ok
	wrong   Miscount
	past    []timed // true counters, oldest first, for Miscount.Lag
	counted timed   // entry of past that last was made from
}

// timed has the true counters of the volumes at one time.
type timed struct {
	at      time.Time
	volumes map[string]VolumeCounters
}

// Miscount is the error in the counters of volumes. The zero Miscount makes them right from then
// on, but does not correct earlier errors.
type Miscount struct {
	// Percent of operations, bytes and times are counted; 0 = 100. More than 100: two layers count.
	// Less: a layer above the counters answers some.
	Percent uint64
	// Beside are volumes whose load the counters of all other volumes include, as in an array that
	// counts by aggregate or policy group.
	Beside []string
	// Lag is the age of the counters. Their timestamp is current.
	Lag time.Duration
	// Stuck: the counters stand still while the timestamp advances, and catch up later.
	Stuck bool
}

// maxLag limits Miscount.Lag.
const maxLag = 2 * time.Minute

// SetMiscount sets the error in the counters of volumes.
func (s *Standin) SetMiscount(m Miscount) {
	s.stats.mu.Lock()
	defer s.stats.mu.Unlock()
	s.stats.wrong = m
}

// Reset restarts the counters of volumes at zero, as after a takeover.
func (s *Standin) Reset() {
	s.read(false)
	s.stats.mu.Lock()
	defer s.stats.mu.Unlock()
	s.stats.last.volumes = map[string]VolumeCounters{}
}

// told returns the reported counters of volumes for these true ones.
func (st *statistics) told(at time.Time, now map[string]VolumeCounters) map[string]VolumeCounters {
	st.past = append(st.past, timed{at, now})
	st.past = slices.DeleteFunc(st.past, func(t timed) bool { return t.at.Before(at.Add(-maxLag)) })
	if !st.taken {
		return st.begin(timed{at, now})
	}
	if st.wrong.Stuck {
		return st.last.volumes
	}
	held := st.counted // never report older counters than before
	for _, t := range st.past {
		if t.at.After(held.at) && !t.at.After(at.Add(-st.wrong.Lag)) {
			held = t
		}
	}
	told := map[string]VolumeCounters{}
	for name, c := range now {
		if st.counted.volumes[name].minus(c) != (VolumeCounters{}) {
			return st.begin(timed{at, now}) // the true counters restarted
		}
		grown := held.volumes[name].minus(st.counted.volumes[name])
		for _, other := range st.wrong.Beside {
			if other != name {
				grown = grown.plus(held.volumes[other].minus(st.counted.volumes[other]))
			}
		}
		told[name] = st.last.volumes[name].plus(grown.percent(cmp.Or(st.wrong.Percent, 100)))
	}
	st.counted = held
	return told
}

// begin reports the true counters, and forgets the past.
func (st *statistics) begin(now timed) map[string]VolumeCounters {
	st.past, st.counted = []timed{now}, now
	return now.volumes
}

func (c VolumeCounters) each(o VolumeCounters, f func(a, b uint64) uint64) VolumeCounters {
	op := func(a, b OpCounters) OpCounters {
		return OpCounters{f(a.Ops, b.Ops), f(a.Bytes, b.Bytes), f(a.LatencyMicros, b.LatencyMicros)}
	}
	return VolumeCounters{op(c.Read, o.Read), op(c.Write, o.Write), op(c.Other, o.Other)}
}

func (c VolumeCounters) plus(o VolumeCounters) VolumeCounters {
	return c.each(o, func(a, b uint64) uint64 { return a + b })
}

func (c VolumeCounters) minus(o VolumeCounters) VolumeCounters {
	return c.each(o, func(a, b uint64) uint64 { return a - min(a, b) })
}

func (c VolumeCounters) percent(p uint64) VolumeCounters {
	return c.each(c, func(a, _ uint64) uint64 { return a * p / 100 })
}

// view is a reading and the status of the statistics.
type view struct {
	at     time.Time
	status map[string]string
	counters
}

// read takes a reading if the grid has moved on since the last one, and returns
// the last one. onGrid says that it is called at the step of the grid itself.
func (s *Standin) read(onGrid bool) view {
	m := s.Model()
	now := s.now()
	st := &s.stats
	st.mu.Lock()
	defer st.mu.Unlock()
	slot := now.Truncate(s.opt.Grid)
	if !st.taken || slot.After(st.slot) && !st.frozen {
		// A reading that comes late must not claim the time of the grid: the
		// counters would be divided by a time that is not theirs.
		st.at = now
		if onGrid || s.opt.Now != nil {
			st.at = slot
		}
		c := s.count(m)
		c.volumes = st.told(now, c.volumes)
		st.taken, st.slot, st.last = true, slot, c
	}
	return view{at: st.at, status: maps.Clone(st.status), counters: st.last}
}

func (s *Standin) count(m Model) counters {
	c := counters{map[string]NodeCounters{}, map[string]LIFCounters{}, map[string]VolumeCounters{}, map[string]time.Time{}}
	dated, isDated := s.truth.(Dated)
	for _, n := range m.Nodes {
		c.nodes[n.Name] = s.truth.Node(n.Name)
	}
	for _, l := range m.LIFs {
		c.lifs[l.Address] = s.truth.LIF(l.Address)
	}
	for _, v := range m.Volumes {
		c.volumes[v.Name] = s.truth.Volume(v.Name)
		if isDated {
			c.dates[v.Name] = dated.VolumeTime(v.Name)
		}
	}
	return c
}

// Freeze lets the statistics stand still, timestamps included, until false.
func (s *Standin) Freeze(frozen bool) {
	s.read(false)
	s.stats.mu.Lock()
	defer s.stats.mu.Unlock()
	s.stats.frozen = frozen
}

// SetStatus sets the status that the statistics of a part report, such as negative_delta or
// partial_no_data; "" = ok.
func (s *Standin) SetStatus(part, status string) {
	s.stats.mu.Lock()
	defer s.stats.mu.Unlock()
	if s.stats.status == nil {
		s.stats.status = map[string]string{}
	}
	s.stats.status[part] = status
}

// stampStep is the unit of the timestamps of statistics.
func (s *Standin) stampStep() time.Duration { return s.opt.Grid / 15 }

// readOnGrid reads the truth at each step of the grid until Close.
func (s *Standin) readOnGrid() {
	s.read(false)
	for {
		now := s.now()
		late := rand.N(s.stampStep())
		if pause(s.ctx, now.Truncate(s.opt.Grid).Add(s.opt.Grid+late).Sub(now)) != nil {
			return
		}
		s.read(true)
	}
}
