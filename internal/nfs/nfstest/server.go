// Package nfstest is an NFSv3 server in memory for tests of the client. It serves
// MOUNT and NFS on one port of several loopback addresses, allocates nothing for
// READ and WRITE, and misbehaves on request. Only tests import it.
package nfstest

import (
	"fmt"
	"net"
	"strconv"
	"sync"
	"testing"

	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
)

// Action is what happens to a call.
type Action int

// Actions of a Hook.
const (
	Answer     Action = iota // as a good server would
	Drop                     // never answer
	Disconnect               // close the connection without answer
	Truncate                 // answer with half a record, then close
	Garbage                  // answer with bytes that are no RPC
	Oversize                 // announce a record of 2 GiB
	TryLater                 // answer READ or WRITE with NFS3ERR_JUKEBOX
	NoSpace                  // answer READ or WRITE with NFS3ERR_NOSPC
	Deny                     // answer WRITE, CREATE, MKDIR or REMOVE with NFS3ERR_ACCES
)

// Call is what a Hook sees.
type Call struct {
	Program, Procedure, XID uint32
	Address                 string // the listening address it came to
}

// Server is the server. Fields are set before Start.
type Server struct {
	// Export is the path that MNT accepts; "/export" if empty.
	Export string
	// MaxTransfer is rtmax and wtmax in bytes; 1 MiB if 0.
	MaxTransfer uint32
	// ShortRead cuts each READ to so many bytes if not 0; the same for WRITE.
	ShortRead uint32
	// Flavors are the credentials that MNT says it accepts; AUTH_SYS if nil.
	Flavors []uint32
	// Hook decides what happens to a call; nil answers all. It is called from
	// many goroutines.
	Hook func(Call) Action

	mu        sync.Mutex
	listeners []net.Listener
	conns     map[net.Conn]struct{}
	files     []*memFile // the handle of a file is its index
	verifier  [8]byte
	port      int
	wg        sync.WaitGroup
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
	s.conns = map[net.Conn]struct{}{}
	s.files = []*memFile{{name: "", dir: true}}
	s.verifier = [8]byte{1}
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
	l, err := net.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(s.port)))
	if err != nil {
		return fmt.Errorf("listen on %s: %w", address, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.port = l.Addr().(*net.TCPAddr).Port
	s.listeners = append(s.listeners, l)
	s.wg.Go(func() { s.accept(l, address) })
	return nil
}

// Kill closes the listener of an address and all connections to it.
func (s *Server) Kill(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.listeners {
		if hostOf(l.Addr()) == address {
			_ = l.Close()
		}
	}
	for c := range s.conns {
		if hostOf(c.LocalAddr()) == address {
			_ = c.Close()
		}
	}
}

// Restart changes the write verifier and forgets all data written unstable since
// the last COMMIT, as a crash does. Connections stay.
func (s *Server) Restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.verifier[0]++
	for _, f := range s.files {
		f.crash()
	}
}

// AddFile makes a file and returns its handle.
func (s *Server) AddFile(name string, content []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files = append(s.files, &memFile{name: name, data: content})
	return handleOf(len(s.files) - 1)
}

// Content returns a copy of a file's content.
func (s *Server) Content(name string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, f := s.find(name)
	if f == nil {
		return nil
	}
	return append([]byte(nil), f.data...)
}

func (s *Server) stop() {
	s.mu.Lock()
	for _, l := range s.listeners {
		_ = l.Close()
	}
	for c := range s.conns {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

func (s *Server) accept(l net.Listener, address string) {
	for {
		nc, err := l.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns[nc] = struct{}{}
		s.mu.Unlock()
		s.wg.Go(func() { s.serve(nc, address) })
	}
}

func (s *Server) serve(nc net.Conn, address string) {
	defer func() {
		s.mu.Lock()
		delete(s.conns, nc)
		s.mu.Unlock()
		_ = nc.Close()
	}()
	rec := rpc.NewRecordReader(nc, 32<<20)
	var in, out []byte
	for rec.Next() == nil {
		var err error
		if in, err = rec.AppendRest(in[:0]); err != nil {
			return
		}
		var action Action
		out, action = s.answer(append(out[:0], 0, 0, 0, 0), in, address)
		if !send(nc, out, action) {
			return
		}
	}
}

// send writes a reply; it returns false when the connection is to be closed.
func send(nc net.Conn, out []byte, action Action) bool {
	rpc.PutRecordMark(out, len(out)-rpc.RecordMarkBytes)
	switch action {
	case Drop:
		return true
	case Disconnect:
		return false
	case Truncate:
		_, _ = nc.Write(out[:len(out)/2])
		return false
	case Garbage:
		for i := range out[rpc.RecordMarkBytes:] {
			out[rpc.RecordMarkBytes+i] = 0xAA
		}
	case Oversize:
		out[0], out[1] = 0xFF, 0xFF
	case Answer, TryLater, NoSpace, Deny:
	}
	_, err := nc.Write(out)
	return err == nil
}

func hostOf(a net.Addr) string {
	host, _, _ := net.SplitHostPort(a.String())
	return host
}
