// Package nfs4test is an NFSv4.0, NFSv4.1 and pNFS server in memory for tests of the client.
// It serves one port of several loopback addresses. It follows the RFCs strictly: what a
// client does against the protocol is a violation, which fails the test, and so does state
// that the client leaves behind. It misbehaves on request: it fails, holds or loses calls,
// restarts, and revokes state. Only tests import it.
//
// Addresses with the same Identity are one server, which keeps client IDs, sessions and
// opens. All servers of the test share the files, but for data servers, which have stores
// of their own: the metadata server finds the bytes of a file there by its layout.
package nfs4test

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/layout"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
	"github.com/nfsbench/nfsbench/test/ports"
)

// Identity is what EXCHANGE_ID says of an address (RFC 8881 2.10.5). Equal in all three:
// session trunking. Equal but for Minor: client ID trunking. Otherwise separate servers.
type Identity struct {
	Major string
	Minor uint64
	Scope string
	Data  bool // a data server of pNFS, which has no files of its own
}

// Server is the server. Fields are set before Start.
type Server struct {
	// Exports are the paths of the exports; /export if nil.
	Exports []string
	// Minors are the minor versions that are offered; 0 and 1 if nil.
	Minors []uint32
	// Identity tells who an address is; all are the same server if nil.
	Identity func(address string) Identity
	// Slots is how many slots a session gets at most; 64 if 0.
	Slots uint32
	// NumLinks is how many names each file says that it has; 1 if 0.
	NumLinks uint32
	// MaxTransfer is maxread and maxwrite in bytes; 1 MiB if 0.
	MaxTransfer uint32
	// LeaseSeconds is lease_time; 90 if 0. Leases expire by ExpireLease and, with
	// EnforceLease, by the clock.
	LeaseSeconds uint32
	EnforceLease bool
	// Now is the clock of leases; time.Now if nil.
	Now func() time.Time
	// RequireBind refuses SEQUENCE on connections that were not bound to the session by
	// CREATE_SESSION or BIND_CONN_TO_SESSION.
	RequireBind bool
	// ClientIDPerAddress gives a client another client ID at each address of one server, as
	// NFS-Ganesha does, which accepts the session of either all the same.
	ClientIDPerAddress bool
	// Delegate grants a delegation with each OPEN, wanted or not.
	Delegate bool
	// Lacks are operations that the server does not serve.
	Lacks []v4.Op
	// LeaveState accepts state that is left at the end.
	LeaveState bool
	// LayoutTypes is fs_layout_types; Files if nil and there are layouts, otherwise none.
	LayoutTypes []uint32
	// FSLocations is fs_locations of all files, for a Hook that fails with ErrMoved.
	FSLocations v4.FSLocations
	// ReturnOnClose tells clients that CLOSE gives layouts back.
	ReturnOnClose bool
	// Hook decides what happens to a call. It is called from many goroutines.
	Hook func(Call) Action

	mu        sync.Mutex
	listeners map[string]net.Listener // by address
	addresses []string
	conns     map[*conn]struct{}
	accepted  int
	port      int
	wg        sync.WaitGroup
	done      chan struct{}
	seed      maphash.Seed
	calling   sync.Mutex // held during a callback: sessions have one slot for them

	domains    map[[2]string]*domain
	files      []*file
	stores     map[storeKey]*content
	layoutOf   func(name string) []layout.Segment
	next       uint64 // of clients, sessions and states
	target     uint32 // the highest slot that clients should use
	flags      uint32 // of each SEQUENCE
	violations []string
	counters   map[string]*Counters
	callbacks  []Callback
}

// Counters are what came to an address.
type Counters struct {
	Compounds               int64
	Reads, Writes           int64
	Commits, GetAttrs       int64
	LayoutReturns           int64
	BytesRead, BytesWritten int64
}

// Start listens on the same port of all addresses. At the end of the test it stops, and
// fails the test with all violations.
func (s *Server) Start(tb testing.TB, addresses ...string) {
	tb.Helper()
	if s.Exports == nil {
		s.Exports = []string{"/export"}
	}
	if s.Minors == nil {
		s.Minors = []uint32{0, 1}
	}
	s.Slots = cmp.Or(s.Slots, 64)
	s.MaxTransfer = cmp.Or(s.MaxTransfer, 1<<20)
	s.LeaseSeconds = cmp.Or(s.LeaseSeconds, 90)
	s.target = s.Slots - 1
	s.conns, s.listeners = map[*conn]struct{}{}, map[string]net.Listener{}
	s.domains, s.stores = map[[2]string]*domain{}, map[storeKey]*content{}
	s.counters = map[string]*Counters{}
	s.done, s.seed, s.port = make(chan struct{}), maphash.MakeSeed(), int(ports.Reserve(tb).Port())
	s.makePseudo()
	for _, a := range addresses {
		if err := s.Listen(a); err != nil {
			tb.Fatal(err)
		}
	}
	tb.Cleanup(func() {
		s.stop()
		for _, v := range s.Violations() {
			tb.Errorf("NFSv4 server: %s", v)
		}
	})
}

// Port returns the port of all addresses.
func (s *Server) Port() int { return s.port }

// NetAddr returns an address as devices of pNFS name it.
func (s *Server) NetAddr(address string) layout.NetAddr {
	return layout.NetAddrOf(netip.AddrPortFrom(netip.MustParseAddr(address), uint16(s.port)))
}

// SetLayouts gives files that are made from now on the layouts that of returns; nil: none.
// The first address of each data server in a device must be one of this Server.
func (s *Server) SetLayouts(of func(name string) []layout.Segment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.layoutOf = of
}

// Listen adds an address, or one that Kill took away.
func (s *Server) Listen(address string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, err := net.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(s.port)))
	if err != nil {
		return fmt.Errorf("listen on %s: %w", address, err)
	}
	if _, known := s.listeners[address]; !known {
		s.addresses = append(s.addresses, address)
		s.counters[address] = &Counters{}
	}
	s.listeners[address] = l
	s.wg.Go(func() { s.accept(l, address) })
	return nil
}

// Kill closes the listener of an address and all connections to it.
func (s *Server) Kill(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.listeners[address]; l != nil {
		_ = ports.Close(l)
	}
	s.killLocked(address)
}

// KillConnections ends all connections to an address; new ones are welcome at once.
func (s *Server) KillConnections(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.killLocked(address)
}

func (s *Server) killLocked(address string) {
	for c := range s.conns {
		if c.address == address {
			c.kill()
		}
	}
}

func (s *Server) stop() {
	s.mu.Lock()
	select {
	case <-s.done:
		s.mu.Unlock()
		return
	default:
	}
	close(s.done)
	for a, l := range s.listeners {
		_ = l.Close()
		s.killLocked(a)
	}
	s.mu.Unlock()
	s.wg.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.LeaveState {
		s.checkLeft()
	}
}

// checkLeft records the state that clients left.
func (s *Server) checkLeft() {
	for _, d := range s.domains {
		for _, c := range d.clients {
			s.checkLeftBy(c)
		}
	}
}

func (s *Server) checkLeftBy(c *client) {
	if c.expired {
		return
	}
	for _, st := range c.states {
		s.violate("%s of %q was left behind", st.kind, st.file.name)
	}
	for range c.sessions {
		s.violate("a session of client %q was left behind", c.owner)
	}
	if c.minor > 0 && c.confirmed {
		s.violate("the client ID of %q was left behind", c.owner)
	}
}

// violate records a violation. The caller holds mu.
func (s *Server) violate(format string, args ...any) {
	if len(s.violations) < 50 {
		s.violations = append(s.violations, fmt.Sprintf(format, args...))
	}
}

// Violations returns what clients did against the protocol so far.
func (s *Server) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.violations)
}

// TakeViolations returns the violations and forgets them, so that they do not fail the test.
func (s *Server) TakeViolations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.violations
	s.violations = nil
	return all
}

// Counters returns what came to an address so far.
func (s *Server) Counters(address string) Counters {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.counters[address]; c != nil {
		return *c
	}
	return Counters{}
}

// Clients returns how many confirmed clients, sessions, opens and layouts all servers have.
func (s *Server) Clients() (clients, sessions, opens, layouts int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.domains {
		for _, c := range d.clients {
			if c.confirmed {
				clients++
			}
			sessions += len(c.sessions)
			for _, st := range c.states {
				switch st.kind {
				case openState:
					opens++
				case layoutState:
					layouts++
				case delegation:
				}
			}
		}
	}
	return clients, sessions, opens, layouts
}

// SetTargetSlot changes the highest slot that clients should use, as SEQUENCE says it.
func (s *Server) SetTargetSlot(highest uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.target = highest
}

// SetFlags sets flags of SEQUENCE beside those that follow from the state.
func (s *Server) SetFlags(flags uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flags = flags
}

// Restart restarts the servers at the addresses, or all of them: connections end, state
// and unstable data are lost, the write verifier changes, and a grace period begins, in
// which opens can be reclaimed. EndGrace ends it.
func (s *Server) Restart(addresses ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(addresses) == 0 {
		addresses = s.addresses
	}
	restarted := map[*domain]bool{}
	for _, a := range addresses {
		s.killLocked(a)
		if d := s.domain(a); !restarted[d] {
			restarted[d] = true
			d.restart()
			s.crash(d, s.identity(a))
		}
	}
}

// EndGrace ends all grace periods.
func (s *Server) EndGrace() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.domains {
		d.grace, d.reclaimable = false, nil
	}
}

// ExpireLease lets the leases of all clients expire: their state is gone.
func (s *Server) ExpireLease() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.domains {
		for _, c := range d.clients {
			d.expire(c)
		}
	}
}

// DestroySessions forgets all sessions. Client IDs and opens stay.
func (s *Server) DestroySessions() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.domains {
		clear(d.sessions)
		for _, c := range d.clients {
			clear(c.sessions)
		}
	}
}

// RevokeState revokes all opens, as an administrator can. SEQUENCE says so until clients
// have freed them.
func (s *Server) RevokeState() { s.revoke(openState) }

// RevokeLayouts takes all layouts away. Data servers refuse I/O then.
func (s *Server) RevokeLayouts() { s.revoke(layoutState) }

func (s *Server) revoke(kind stateKind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.domains {
		for _, c := range d.clients {
			for _, st := range c.states {
				switch {
				case st.kind != kind:
				case kind == layoutState:
					d.take(st)
				default:
					st.revoked = true
				}
			}
		}
	}
}

func (s *Server) identity(address string) Identity {
	if s.Identity == nil {
		return Identity{Major: "server", Scope: "scope"}
	}
	return s.Identity(address)
}

// domain returns the server at an address.
func (s *Server) domain(address string) *domain {
	id := s.identity(address)
	key := [2]string{id.Major, id.Scope}
	d := s.domains[key]
	if d == nil {
		d = &domain{boot: 1, verifier: v4.Verifier{1, byte(len(s.domains))}} // no two servers have the same
		d.forget()
		s.domains[key] = d
	}
	return d
}

func (s *Server) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}
