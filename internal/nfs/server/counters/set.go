package counters

import (
	"runtime"
	"sync/atomic"
	"time"
)

// Set holds the counters of a server. All methods may be called at once.
type Set struct {
	name      string
	now       func() time.Time
	started   time.Time
	ready     atomic.Bool
	listeners []*Listener
	names     []string
}

// New returns counters for the given listening addresses. name says whose they are, such
// as the host name; procedures name the operations in the order of their numbers.
func New(name string, now func() time.Time, procedures, addresses []string) *Set {
	s := &Set{name: name, now: now, started: now(), names: procedures}
	for _, a := range addresses {
		s.listeners = append(s.listeners, &Listener{address: a, ops: make([]atomic.Uint64, len(procedures))})
	}
	return s
}

// Listener returns the counters of the i-th address.
func (s *Set) Listener(i int) *Listener { return s.listeners[i] }

// Started is when counting began.
func (s *Set) Started() time.Time { return s.started }

// SetReady says whether clients are served; it is what /readyz answers.
func (s *Set) SetReady(ready bool) { s.ready.Store(ready) }

// Listener counts what came in through one address.
type Listener struct {
	address   string
	accepted  atomic.Uint64
	refused   atomic.Uint64
	active    atomic.Int64
	read      atomic.Uint64
	written   atomic.Uint64
	rpcErrors atomic.Uint64
	nfsErrors atomic.Uint64
	ops       []atomic.Uint64
}

// Opened counts a connection that is served, Closed its end.
func (l *Listener) Opened() { l.accepted.Add(1); l.active.Add(1) }

// Closed counts the end of a connection.
func (l *Listener) Closed() { l.active.Add(-1) }

// Refused counts a connection turned away because there were too many.
func (l *Listener) Refused() { l.refused.Add(1) }

// Operation counts one executed NFS procedure by number.
func (l *Listener) Operation(number uint32) {
	if int64(number) < int64(len(l.ops)) {
		l.ops[number].Add(1)
	}
}

// ReadBytes counts file data sent to clients.
func (l *Listener) ReadBytes(n int) { l.read.Add(uint64(n)) }

// WrittenBytes counts file data received and stored.
func (l *Listener) WrittenBytes(n int) { l.written.Add(uint64(n)) }

// RPCError counts a call that was refused or could not be understood.
func (l *Listener) RPCError() { l.rpcErrors.Add(1) }

// NFSError counts a procedure that answered with an error status.
func (l *Listener) NFSError() { l.nfsErrors.Add(1) }

// Document reads all counters. Operations of one listener that run meanwhile may be in one
// number and not yet in another.
func (s *Set) Document() Document {
	now := s.now()
	d := Document{
		Version: DocumentVersion, Name: s.name, Time: now, StartTime: s.started,
		UptimeSeconds: now.Sub(s.started).Seconds(),
		CPUSeconds:    processCPUSeconds(), ResidentBytes: processResidentBytes(),
		Cores:     int32(runtime.GOMAXPROCS(0)),
		Total:     Counts{Operations: map[string]uint64{}},
		Listeners: make([]ListenerCounts, 0, len(s.listeners)),
	}
	for _, l := range s.listeners {
		c := l.counts(s.names)
		d.Total.add(c)
		d.Listeners = append(d.Listeners, ListenerCounts{Address: l.address, Counts: c})
	}
	return d
}

func (l *Listener) counts(names []string) Counts {
	c := Counts{
		ConnectionsAccepted: l.accepted.Load(), ConnectionsRefused: l.refused.Load(),
		ConnectionsActive: uint64(max(0, l.active.Load())),
		ReadBytes:         l.read.Load(), WrittenBytes: l.written.Load(),
		RPCErrors: l.rpcErrors.Load(), NFSErrors: l.nfsErrors.Load(),
		Operations: make(map[string]uint64, len(names)),
	}
	for i, name := range names {
		n := l.ops[i].Load()
		c.Operations[name] = n
		switch name {
		case "READ":
			c.ReadOps = n
		case "WRITE":
			c.WriteOps = n
		default:
			c.OtherOps += n
		}
	}
	return c
}
