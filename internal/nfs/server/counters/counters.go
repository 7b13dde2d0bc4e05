// Package counters counts the work of the embedded NFS server and publishes it over HTTP: the versioned JSON
// document, Prometheus text, health.
//
// Counting is one atomic addition per event, so it does not affect measurements. All numbers except ConnectionsActive
// only grow until the process ends. A reader must start over if StartTime changes.
package counters

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Set holds the counters of a server. It is safe for concurrent use.
type Set struct {
	name      string
	now       func() time.Time
	started   time.Time
	ready     atomic.Bool
	listeners []*Listener
	names     []string
}

// New returns counters for the given listening addresses. The name identifies the server, such as the host name;
// procedures name the operations in the order of their numbers.
func New(name string, now func() time.Time, procedures, addresses []string) *Set {
	s := &Set{name: name, now: now, started: now(), names: procedures}
	for _, a := range addresses {
		s.listeners = append(s.listeners, &Listener{address: a, ops: make([]atomic.Uint64, len(procedures))})
	}
	return s
}

// Listener returns the counters of the i-th address.
func (s *Set) Listener(i int) *Listener { return s.listeners[i] }

// SetReady sets the answer of /readyz: whether clients are served.
func (s *Set) SetReady(ready bool) { s.ready.Store(ready) }

// Listener counts the traffic of one address.
type Listener struct {
	address string
	// Accepted, Refused and Active count connections: served so far, refused because there were too many, and open now.
	Accepted, Refused atomic.Uint64
	Active            atomic.Int64
	// ReadBytes and WrittenBytes count file data: sent to clients, and received and stored.
	ReadBytes, WrittenBytes atomic.Uint64
	// RPCErrors counts calls that were refused or could not be understood, NFSErrors procedures with an error status.
	RPCErrors, NFSErrors atomic.Uint64

	ops []atomic.Uint64
}

// Operation counts one executed NFS procedure by number.
func (l *Listener) Operation(number uint32) {
	if int64(number) < int64(len(l.ops)) {
		l.ops[number].Add(1)
	}
}

// Document reads all counters. A concurrent operation of a listener may be in one number and not yet in another.
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
		c := Counts{
			ConnectionsAccepted: l.Accepted.Load(), ConnectionsRefused: l.Refused.Load(),
			ConnectionsActive: uint64(max(0, l.Active.Load())),
			ReadBytes:         l.ReadBytes.Load(), WrittenBytes: l.WrittenBytes.Load(),
			RPCErrors: l.RPCErrors.Load(), NFSErrors: l.NFSErrors.Load(),
			Operations: make(map[string]uint64, len(s.names)),
		}
		for i, name := range s.names {
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
		d.Total.add(c)
		d.Listeners = append(d.Listeners, ListenerCounts{Address: l.address, Counts: c})
	}
	return d
}

// DocumentVersion is the version of Document. It increases when a field changes its meaning, not when a field is
// added.
const DocumentVersion = 1

// Document is the answer to GET /counters.
type Document struct {
	Version int    `json:"version"`
	Name    string `json:"name"`
	// Time is when the counters were read, by the server's clock.
	Time          time.Time `json:"time"`
	StartTime     time.Time `json:"startTime"`
	UptimeSeconds float64   `json:"uptimeSeconds"`
	// CPUSeconds is user plus system time of the server process since it started.
	CPUSeconds *float64 `json:"cpuSeconds,omitempty"`
	// Cores is the number of processors that the process may use.
	Cores         int32            `json:"cores"`
	ResidentBytes *uint64          `json:"residentBytes,omitempty"`
	Total         Counts           `json:"total"`
	Listeners     []ListenerCounts `json:"listeners"`
}

// ListenerCounts are the counts of one listening address.
type ListenerCounts struct {
	Address string `json:"address"`
	Counts
}

// Counts holds the counts of operations. Bytes are file data, without protocol overhead.
type Counts struct {
	ConnectionsAccepted uint64 `json:"connectionsAccepted"`
	ConnectionsRefused  uint64 `json:"connectionsRefused"`
	ConnectionsActive   uint64 `json:"connectionsActive"`
	ReadOps             uint64 `json:"readOps"`
	WriteOps            uint64 `json:"writeOps"`
	OtherOps            uint64 `json:"otherOps"`
	ReadBytes           uint64 `json:"readBytes"`
	WrittenBytes        uint64 `json:"writtenBytes"`
	// RPCErrors counts calls that were refused or not understood, NFSErrors
	// answers with a status other than NFS3_OK, including a LOOKUP that finds
	// nothing.
	RPCErrors  uint64            `json:"rpcErrors"`
	NFSErrors  uint64            `json:"nfsErrors"`
	Operations map[string]uint64 `json:"operations"`
}

func (c *Counts) add(o Counts) {
	c.ConnectionsAccepted += o.ConnectionsAccepted
	c.ConnectionsRefused += o.ConnectionsRefused
	c.ConnectionsActive += o.ConnectionsActive
	c.ReadOps += o.ReadOps
	c.WriteOps += o.WriteOps
	c.OtherOps += o.OtherOps
	c.ReadBytes += o.ReadBytes
	c.WrittenBytes += o.WrittenBytes
	c.RPCErrors += o.RPCErrors
	c.NFSErrors += o.NFSErrors
	for name, n := range o.Operations {
		c.Operations[name] += n
	}
}

// processCPUSeconds returns the user and system time of this process; nil = unknown.
func processCPUSeconds() *float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return nil
	}
	const nano = 1e9
	s := (float64(u.Utime.Nano()) + float64(u.Stime.Nano())) / nano
	return &s
}

// processResidentBytes reads the second number of /proc/self/statm; nil = unknown.
func processResidentBytes() *uint64 {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return nil
	}
	fields := bytes.Fields(b)
	if len(fields) < 2 {
		return nil
	}
	pages, err := strconv.ParseUint(string(fields[1]), 10, 64)
	if err != nil {
		return nil
	}
	n := pages * uint64(os.Getpagesize())
	return &n
}
