// Package nfstest is an NFSv3 server in memory for tests of the client. It serves
// MOUNT and NFS on one port of several loopback addresses, allocates nothing for
// READ and WRITE, and misbehaves on request: it fails, delays, garbles or forgets
// calls, and it crashes as servers do, with everything lost that was not stable.
// Only tests import it.
package nfstest

import (
	"fmt"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"
)

// Server is the server. Fields are set before Start.
type Server struct {
	// Export is the path that MNT accepts; "/export" if empty.
	Export string
	// MaxTransfer is rtmax and wtmax in bytes; 1 MiB if 0.
	MaxTransfer uint32
	// Flavors are the credentials that MNT says it accepts; AUTH_SYS if nil.
	Flavors []uint32

	// The functions below make it misbehave. Each may be nil, and is called from
	// many goroutines.

	// Hook decides what happens to a call.
	Hook func(Call) Action
	// Delay holds a reply back after the call was executed. Calls that came
	// later on the same connection are answered meanwhile.
	Delay func(Call) time.Duration
	// Short cuts one READ or WRITE to so many bytes; 0 leaves it whole.
	Short func(Call) uint32
	// Rewrite gives the bytes to send in place of a reply, of which it is given
	// the record mark, header and results. It may change reply. Without more
	// the connection is closed after them.
	Rewrite func(c Call, reply []byte) (out []byte, more bool)

	mu        sync.Mutex
	listeners map[string]net.Listener // by address
	addresses []string                // all that were ever listened on
	conns     map[*conn]struct{}
	accepted  int
	files     []*memFile // the handle of a file is its index
	forgotten int64
	verifier  [8]byte
	port      int
	wg        sync.WaitGroup
	done      chan struct{}

	gate sync.RWMutex // held while nothing is read
}

// Start listens on the same port of all addresses and stops with the test.
func (s *Server) Start(tb testing.TB, addresses ...string) {
	tb.Helper()
	if s.Export == "" {
		s.Export = "/export"
	}
	if s.MaxTransfer == 0 {
		s.MaxTransfer = 1 << 20
	}
	s.conns = map[*conn]struct{}{}
	s.listeners = map[string]net.Listener{}
	s.files = []*memFile{{name: "", dir: true, parent: -1}}
	s.verifier = [8]byte{1}
	s.done = make(chan struct{})
	for _, a := range addresses {
		if err := s.Listen(a); err != nil {
			tb.Fatal(err)
		}
	}
	tb.Cleanup(s.stop)
}

// Port returns the port of all addresses.
func (s *Server) Port() int { return s.port }

// Listen adds an address, or one that Kill took away.
func (s *Server) Listen(address string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, err := net.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(s.port)))
	if err != nil {
		return fmt.Errorf("listen on %s: %w", address, err)
	}
	s.port = l.Addr().(*net.TCPAddr).Port
	if _, known := s.listeners[address]; !known {
		s.addresses = append(s.addresses, address)
	}
	s.listeners[address] = l
	s.wg.Go(func() { s.accept(l, address) })
	return nil
}

// Kill closes the listener of an address and all connections to it. What was
// received on them and not executed yet is never executed.
func (s *Server) Kill(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.killLocked(address)
}

func (s *Server) killLocked(address string) {
	if l := s.listeners[address]; l != nil {
		_ = l.Close()
	}
	for c := range s.conns {
		if c.address == address {
			c.kill()
		}
	}
}

// Reset ends all connections to an address with a TCP reset; new ones are
// welcome at once.
func (s *Server) Reset(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		if c.address == address {
			_ = c.nc.(*net.TCPConn).SetLinger(0)
			c.kill()
		}
	}
}

// Restart changes the write verifier and forgets all data written unstable since
// the last COMMIT, as a crash does. Connections stay.
func (s *Server) Restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.restartLocked()
}

func (s *Server) restartLocked() {
	s.verifier[0]++
	for _, f := range s.files {
		if f != nil {
			s.forgotten += f.crash()
		}
	}
}

// Forgotten returns how many bytes of data the crashes so far have undone.
func (s *Server) Forgotten() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.forgotten
}

// Crash is Restart with all connections ended and nobody listening; Recover ends
// it. Names survive, as they do with a journal.
func (s *Server) Crash() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.addresses {
		s.killLocked(a)
	}
	s.restartLocked()
}

// Recover listens again on all addresses.
func (s *Server) Recover() error {
	s.mu.Lock()
	addresses := append([]string(nil), s.addresses...)
	s.mu.Unlock()
	for _, a := range addresses {
		if err := s.Listen(a); err != nil {
			return err
		}
	}
	return nil
}

// Stall stops reading from all connections until resume is called. The kernel
// acknowledges what clients send until its buffers are full and the window is
// closed.
func (s *Server) Stall() (resume func()) {
	s.gate.Lock()
	return s.gate.Unlock
}

// AddFile makes a file in the root directory and returns its handle.
func (s *Server) AddFile(name string, content []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files = append(s.files, &memFile{name: name, data: content})
	return handleOf(len(s.files) - 1)
}

// Content returns a copy of the content of the first file of that name.
func (s *Server) Content(name string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		if f != nil && !f.dir && f.name == name {
			return append([]byte(nil), f.data...)
		}
	}
	return nil
}

func (s *Server) stop() {
	close(s.done)
	s.mu.Lock()
	for _, a := range s.addresses {
		s.killLocked(a)
	}
	s.mu.Unlock()
	s.wg.Wait()
}
