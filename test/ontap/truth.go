package ontap

import (
	"context"
	"maps"
	"sync"
	"time"
)

// Truth is what really happens behind the interface. Its methods may be called
// at once; the counters only grow, and those of what it does not know are zero.
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
}

// statistics is the last reading of the truth. Like ONTAP's they stand still
// until the next step of the grid.
type statistics struct {
	mu     sync.Mutex
	taken  bool
	slot   time.Time // of the grid
	at     time.Time // when the counters held
	last   counters
	frozen bool              // no more readings
	status map[string]string // by part; none = ok
}

// view is a reading and what the statistics say of themselves.
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
		st.taken, st.slot, st.last = true, slot, s.count(m)
	}
	return view{at: st.at, status: maps.Clone(st.status), counters: st.last}
}

func (s *Standin) count(m Model) counters {
	c := counters{map[string]NodeCounters{}, map[string]LIFCounters{}, map[string]VolumeCounters{}}
	for _, n := range m.Nodes {
		c.nodes[n.Name] = s.truth.Node(n.Name)
	}
	for _, l := range m.LIFs {
		c.lifs[l.Address] = s.truth.LIF(l.Address)
	}
	for _, v := range m.Volumes {
		c.volumes[v.Name] = s.truth.Volume(v.Name)
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

// SetStatus is what the statistics of a part say of themselves, such as
// negative_delta or partial_no_data; "" = ok.
func (s *Standin) SetStatus(part, status string) {
	s.stats.mu.Lock()
	defer s.stats.mu.Unlock()
	if s.stats.status == nil {
		s.stats.status = map[string]string{}
	}
	s.stats.status[part] = status
}

// readOnGrid reads the truth at each step of the grid until Close.
func (s *Standin) readOnGrid() {
	s.read(false)
	for {
		now := s.now()
		if pause(s.ctx, now.Truncate(s.opt.Grid).Add(s.opt.Grid).Sub(now)) != nil {
			return
		}
		s.read(true)
	}
}
