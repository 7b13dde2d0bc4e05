// Package faulty is the embedded server with faults on demand, for tests of clients. It
// listens on one port of several loopback addresses and misbehaves on request: it fails,
// delays, garbles or forgets calls, and it crashes as servers do, with everything lost that
// was not stable. Only tests import it.
package faulty

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/mount"
	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/server"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
	"github.com/nfsbench/nfsbench/test/ports"
)

// Denied is the path that MNT refuses, as an export policy does. The export is "/export".
const Denied = "/denied"

// Server is the server. Fields are set before Start.
type Server struct {
	// MaxTransfer is rtmax and wtmax in bytes; 1 MiB if 0.
	MaxTransfer int

	// The functions below make it misbehave. Each may be nil, and is called from
	// many goroutines.

	// Hook decides what happens to a call.
	Hook func(Call) Action
	// Delay holds a reply back after the call was executed. Calls that came
	// later on the same connection are answered meanwhile.
	Delay func(Call) time.Duration
	// Short cuts one READ or WRITE to so many bytes; 0 leaves it whole.
	Short func(Call) uint32
	// Writing sees each WRITE before it is executed, with what the file holds in its place. It may
	// change the data and the offset: then the client is told that it wrote what it did not.
	Writing func(c Call, w *v3.WriteArgs, before []byte)
	// Reading sees the data of each READ before they are sent, and may change them.
	Reading func(r v3.ReadArgs, data []byte)
	// Rewrite gives the bytes to send in place of a reply, of which it is given
	// the record mark, header and results. It may change reply. Without more
	// the connection is closed after them.
	Rewrite func(c Call, reply []byte) (out []byte, more bool)

	dir  string
	port int
	done chan struct{}
	gate sync.RWMutex // held while nothing is read

	// mu is held while a call is executed.
	mu        sync.Mutex
	listeners map[string]*listener    // by address
	open      map[string]net.Listener // of these, those that are listened on
	conns     []*conn
	accepted  int
	unstable  map[string]*memory // by handle
	paths     map[string]string  // by handle, of the files that were written to
	restarts  byte
	forgotten int64
	own       string // our own address when we call; nothing happens to these calls
}

// Start listens on the same port of all addresses and stops with the test.
func (s *Server) Start(tb testing.TB, addresses ...string) {
	tb.Helper()
	s.listeners, s.open, s.unstable = map[string]*listener{}, map[string]net.Listener{}, map[string]*memory{}
	s.paths = map[string]string{}
	s.done, s.dir, s.port = make(chan struct{}), directory(tb), int(ports.Reserve(tb).Port())
	o := server.Options{
		Dir: s.dir, Now: time.Now, MaxTransferBytes: s.MaxTransfer, Intercept: s.intercept,
		MaxInFlight: 4096, MaxBuffers: 512, // calls that are held back must not hold up others
		OpenListener: func(_, address string) (net.Listener, error) { return s.openListener(address) },
	}
	for _, a := range addresses {
		o.Listen = append(o.Listen, net.JoinHostPort(a, "0"))
	}
	srv, err := server.New(o)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ctx) }()
	tb.Cleanup(func() {
		close(s.done)
		s.Crash()
		cancel()
		if err := <-served; err != nil {
			tb.Errorf("serve: %v", err)
		}
	})
}

// directory is in memory where that is possible: what is written stable costs no time then.
func directory(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "nfsbench-test-") //nolint:usetesting // that one may be a disk
	if err != nil {
		return tb.TempDir()
	}
	tb.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			tb.Error(err)
		}
	})
	return dir
}

func (s *Server) openListener(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err == nil {
		err = s.Listen(host)
	}
	return s.listeners[host], err
}

// Port returns the port of all addresses.
func (s *Server) Port() int { return s.port }

// Listen adds an address, or one that Kill took away.
func (s *Server) Listen(address string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	inner, err := net.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(s.port)))
	if err != nil {
		return fmt.Errorf("listen on %s: %w", address, err)
	}
	l := s.listeners[address]
	if l == nil {
		l = &listener{Listener: inner, accepted: make(chan net.Conn), closed: make(chan struct{})}
		s.listeners[address] = l
	}
	s.open[address] = inner
	go s.accept(inner, l, address)
	return nil
}

// Kill closes the listener of an address and all connections to it. What was
// received on them and not executed yet is never executed.
func (s *Server) Kill(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kill(address)
}

func (s *Server) kill(address string) {
	if l := s.open[address]; l != nil {
		_ = ports.Close(l)
	}
	for _, c := range s.conns {
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
	for _, c := range s.conns {
		if c.address == address {
			_ = c.SetLinger(0)
			c.kill()
		}
	}
}

// Restart changes the write verifier and forgets all data written unstable since
// the last COMMIT, as a crash does. Connections stay.
func (s *Server) Restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.restart()
}

func (s *Server) restart() {
	s.restarts++
	for _, m := range s.unstable {
		n, err := m.crash()
		if err != nil {
			panic(err) // the test cannot go on
		}
		s.forgotten += n
	}
	clear(s.unstable)
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
	for a := range s.listeners {
		s.kill(a)
	}
	s.restart()
}

// Recover listens again on all addresses.
func (s *Server) Recover() error {
	var all error
	for a := range s.listeners {
		all = errors.Join(all, s.Listen(a))
	}
	return all
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
	err := os.WriteFile(filepath.Join(s.dir, name), content, 0o600)
	if err != nil {
		panic(err) // the test cannot go on
	}
	handle, err := s.lookup(name)
	if err != nil {
		panic(err)
	}
	return handle
}

// lookup asks the server, which knows only the files that somebody has asked for.
func (s *Server) lookup(name string) ([]byte, error) {
	var nc net.Conn
	err := errors.New("nobody listens")
	for a := range s.listeners {
		if nc, err = net.Dial("tcp", net.JoinHostPort(a, strconv.Itoa(s.port))); err == nil {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = nc.Close() }()
	s.mu.Lock()
	s.own = nc.LocalAddr().String()
	s.mu.Unlock()
	call := func(program, procedure uint32, args, res xdr.Coded) {
		if err != nil {
			return
		}
		var results []byte
		results, err = rpc.Exchange(context.Background(), nc, xdr.Append(rpc.AppendCall(nil, program, 3, procedure, rpc.Auth{}), args))
		d := xdr.NewDecoder(results)
		xdr.Decode(&d, res)
	}
	var root mount.MntRes
	call(mount.Program, mount.ProcMnt, &mount.PathArgs{Path: "/export"}, &root)
	var file v3.LookupRes
	call(v3.Program, v3.ProcLookup, &v3.NameArgs{Dir: root.Handle, Name: name}, &file)
	return file.Handle, err
}

// Content returns the content of the file of that name; nil without one.
func (s *Server) Content(name string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	content, err := os.ReadFile(s.find(func(e os.FileInfo) bool { return e.Name() == name }))
	if err != nil {
		return nil
	}
	return content
}

// find returns the path of the file that is meant, or "".
func (s *Server) find(meant func(os.FileInfo) bool) (path string) {
	_ = filepath.WalkDir(s.dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil { // it was removed just now
			return nil //nolint:nilerr // so it is not meant
		}
		if info, err := e.Info(); err == nil && !e.IsDir() && meant(info) {
			path = p
			return fs.SkipAll
		}
		return nil
	})
	return path
}

func inode(e os.FileInfo) uint64 { return e.Sys().(*syscall.Stat_t).Ino }
