package server

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/server/counters"
	"github.com/nfsbench/nfsbench/internal/nfs/server/filetree"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
)

// Server is an NFS server. Serve may be called once; the other methods at any time.
type Server struct {
	opt       Options
	tree      *filetree.Tree
	listeners []*listener
	counters  *counters.Set
	// procedures is never written after New.
	procedures [v3.ProcCommit + 1]procedure
	verifier   atomic.Uint64
	fsid       uint64
	requests   *budget
	replies    *budget

	mu    sync.Mutex
	conns map[*conn]struct{}
}

// listener is one address that is served.
type listener struct {
	net.Listener

	// portmapOnly: the other programs are not offered here.
	portmapOnly bool
	port        int
	counts      *counters.Listener
	room        chan struct{}
}

// New opens the directory and all addresses. Clients are served once Serve runs.
func New(opt Options) (*Server, error) {
	if err := opt.complete(); err != nil {
		return nil, fmt.Errorf("NFS server options: %w", err)
	}
	tree, err := filetree.Open(opt.Dir, opt.Files)
	if err != nil {
		return nil, err
	}
	s := &Server{
		opt: opt, tree: tree, fsid: tree.FSID(), procedures: procedures(), conns: map[*conn]struct{}{},
		requests: newBudget(opt.MaxBuffers, opt.MaxTransferBytes+callOverhead),
		replies:  newBudget(opt.MaxBuffers, opt.MaxTransferBytes+replyHeadBytes+4),
	}
	s.verifier.Store(uint64(opt.Now().UnixNano()))
	if err := s.listen(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Server) listen() error {
	var names []string
	for i, addr := range append(append([]string{}, s.opt.Listen...), s.opt.Portmap...) {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			return fmt.Errorf("listen on %q: %w", addr, err)
		}
		if strings.HasSuffix(addr, ":0") {
			addr = l.Addr().String()
		}
		names = append(names, addr)
		port := l.Addr().(*net.TCPAddr).Port
		s.listeners = append(s.listeners, &listener{
			Listener: l, portmapOnly: i >= len(s.opt.Listen), port: port,
			room: make(chan struct{}, s.opt.MaxConnections),
		})
	}
	paths := len(s.opt.Listen)
	operations := make([]string, 0, len(s.procedures))
	for _, p := range s.procedures {
		operations = append(operations, p.name)
	}
	s.counters = counters.New(s.opt.Name, s.opt.Now, operations, names[:paths])
	// Portmap calls are no path to data: they are counted where nobody looks.
	unseen := counters.New("", s.opt.Now, nil, names[paths:])
	for i, l := range s.listeners {
		if l.portmapOnly {
			l.counts = unseen.Listener(i - paths)
		} else {
			l.counts = s.counters.Listener(i)
		}
	}
	return nil
}

// Addrs returns the addresses of Options.Listen as they were bound.
func (s *Server) Addrs() []string { return s.addrs(false) }

// PortmapAddrs returns the addresses of Options.Portmap as they were bound.
func (s *Server) PortmapAddrs() []string { return s.addrs(true) }

func (s *Server) addrs(portmapOnly bool) []string {
	var a []string
	for _, l := range s.listeners {
		if l.portmapOnly == portmapOnly {
			a = append(a, l.Addr().String())
		}
	}
	return a
}

// Counters are what the server did; their Handler serves them over HTTP.
func (s *Server) Counters() *counters.Set { return s.counters }

// ChangeWriteVerifier tells clients that unstable writes not yet committed may be lost, as
// a restart does. Nothing is lost really.
func (s *Server) ChangeWriteVerifier() { s.verifier.Add(1) }

func (s *Server) writeVerifier() (v [8]byte) {
	binary.BigEndian.PutUint64(v[:], s.verifier.Load())
	return v
}

// Serve serves until the context ends. Then it takes no more requests, finishes those
// that run for at most DrainTimeout, closes everything and returns nil. A listener that
// breaks ends it early with an error.
func (s *Server) Serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var accepting, serving sync.WaitGroup
	errs := make(chan error, len(s.listeners))
	for _, l := range s.listeners {
		accepting.Go(func() {
			errs <- s.accept(ctx, l, &serving)
			cancel()
		})
	}
	s.counters.SetReady(true)
	<-ctx.Done()
	s.counters.SetReady(false)
	for _, l := range s.listeners {
		_ = l.Close() // a second close of a listener that broke
	}
	accepting.Wait()
	s.drain(&serving)
	close(errs)
	var all error
	for err := range errs {
		all = errors.Join(all, err)
	}
	return errors.Join(all, s.Close())
}

// drain waits for the connections, which stop by themselves now, and cuts off the rest.
func (s *Server) drain(serving *sync.WaitGroup) {
	done := make(chan struct{})
	go func() { serving.Wait(); close(done) }()
	patience := time.NewTimer(s.opt.DrainTimeout)
	defer patience.Stop()
	select {
	case <-done:
		return
	case <-patience.C:
	}
	s.mu.Lock()
	for c := range s.conns {
		_ = c.tcp.Close() // what matters is that its workers wake up
	}
	s.mu.Unlock()
	<-done
}

// Close releases addresses and directory; Serve does it by itself.
func (s *Server) Close() error {
	for _, l := range s.listeners {
		_ = l.Close() // closed before, by Serve
	}
	return s.tree.Close()
}

// accept serves the connections of one listener until it is closed.
func (s *Server) accept(ctx context.Context, l *listener, serving *sync.WaitGroup) error {
	for {
		nc, err := l.Accept()
		if ctx.Err() != nil {
			if err == nil {
				_ = nc.Close()
			}
			return nil
		}
		if isTemporary(err) {
			s.opt.Log.Warn("Accepting failed", "address", l.Addr().String(), "error", err)
			select {
			case <-ctx.Done():
			case <-time.NewTimer(100 * time.Millisecond).C:
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("accept on %s: %w", l.Addr(), err)
		}
		select {
		case l.room <- struct{}{}:
			serving.Go(func() {
				defer func() { <-l.room }()
				s.serveConn(ctx, l, nc)
			})
		default:
			l.counts.Refused()
			_ = nc.Close() // refused
		}
	}
}

// isTemporary reports whether accepting may work soon: this process is out of descriptors,
// or a client was gone before it was accepted.
func isTemporary(err error) bool {
	var e interface{ Temporary() bool }
	return errors.As(err, &e) && e.Temporary()
}
