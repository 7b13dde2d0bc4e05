// Package server is the embedded NFS version 3 server: MOUNT, portmap and NFSv3 over TCP on
// every listening address, backed by one directory.
//
// It exists beside the ready-made Go libraries for four reasons: it shares the codec with the client, so that each
// tests the other, and both are tested against other implementations; it counts per listening address, which proves
// that a benchmark used all its paths; its write verifier can be changed at will, so that the resend after a server
// restart can be tested; and it executes the requests of one connection concurrently, because otherwise a deep queue
// on one channel would only measure the server.
//
// # Path of a request
//
// The reader of a connection takes one record at a time and hands it to a worker of that connection; there are at
// most MaxInFlight workers and the reader waits for a free one, so TCP slows down a client that sends too fast.
// Replies are sent in the order in which they are ready. Big records and big replies use buffers from two budgets of
// the server. The order of waits is always request budget, worker, reply budget, socket, and the socket has a
// deadline, so there is no deadlock.
//
// The server copies the data of a READ from the page cache behind the reply's head, and sends both together. On ext4
// and loopback sendfile needed more processor time (1.1 instead of 0.95 s/GB, client included), and it would delay
// the other replies of the connection while one waits for the disk.
//
// # Users
//
// The server is one unprivileged process, so every client is the user who runs it (all_squash): credentials must be
// AUTH_SYS or AUTH_NONE and are otherwise ignored. Clients have the access rights of that user. Everybody who can
// reach the port may use the export.
package server

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/server/counters"
	"github.com/nfsbench/nfsbench/internal/nfs/server/filetree"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
)

// Server is an NFS server. Serve may be called once. The other methods are safe for concurrent use.
type Server struct {
	opt       Options
	tree      *filetree.Tree
	listeners []*listener
	counters  *counters.Set
	// procedures is immutable after New.
	procedures [v3.ProcCommit + 1]procedure
	// verifier is the write verifier. A change tells clients that uncommitted unstable writes may be lost.
	verifier atomic.Uint64
	fsid     uint64
	requests *budget
	replies  *budget

	mu    sync.Mutex
	conns map[*conn]struct{}
}

// listener serves one address.
type listener struct {
	net.Listener

	// portmapOnly reports that this address does not serve the other programs.
	portmapOnly bool
	port        int
	counts      *counters.Listener
	room        chan struct{}
}

// New opens the directory and listens on all addresses. Serve serves the clients.
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
		l, err := s.opt.OpenListener("tcp", addr)
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
	// Portmap calls are no path to data: their counts are not published.
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

// Addrs returns the bound addresses of Options.Listen.
func (s *Server) Addrs() []string {
	var a []string
	for _, l := range s.listeners[:len(s.opt.Listen)] {
		a = append(a, l.Addr().String())
	}
	return a
}

// Counters returns the counters of the server. Their Handler serves them over HTTP.
func (s *Server) Counters() *counters.Set { return s.counters }

func (s *Server) writeVerifier() (v [8]byte) {
	binary.BigEndian.PutUint64(v[:], s.verifier.Load())
	return v
}

// Serve serves until the context ends. Then it accepts no more requests, waits at most DrainTimeout for running ones,
// closes everything and returns nil. If a listener fails, it returns early with an error.
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

// drain waits for the connections, which end by themselves, and then closes the remaining ones.
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
		_ = c.tcp.Close() // only needed to wake its workers
	}
	s.mu.Unlock()
	<-done
}

// Close releases addresses and directory. Serve calls it.
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
			l.counts.Refused.Add(1)
			_ = nc.Close() // refused
		}
	}
}

// isTemporary reports whether accepting may work again soon: this process is out of descriptors, or a client
// disconnected before it was accepted.
func isTemporary(err error) bool {
	var e interface{ Temporary() bool }
	return errors.As(err, &e) && e.Temporary()
}

// Options configures a Server and limits its resources.
type Options struct {
	// Dir is the directory behind the export. It must exist.
	Dir string
	// Export is the path that clients mount; default "/export".
	Export string
	// Listen are the TCP addresses that serve NFS, MOUNT and portmap, at least one.
	Listen []string
	// Portmap are further TCP addresses that serve portmap only.
	Portmap []string
	// AdvertisePort is the answer to GETPORT; 0 = the port of the listener that was asked, and on a Portmap listener the
	// port of the first Listen address.
	AdvertisePort int
	// Files limits the files of clients.
	Files filetree.Options
	// MaxTransferBytes is rtmax and wtmax; default 1 MiB, from 4 KiB to 4 MiB.
	MaxTransferBytes int
	// MaxConnections is the limit of each listener; default 256.
	MaxConnections int
	// MaxInFlight bounds the concurrent requests of one connection; default 32.
	MaxInFlight int
	// MaxBuffers bounds the requests, and separately the replies, above 16 KiB in memory; default 64.
	MaxBuffers int
	// StallTimeout ends a connection whose client stops in the middle of a large record or does not read replies;
	// default 60 s.
	StallTimeout time.Duration
	// DrainTimeout bounds the running requests after the context has ended; default 5 s.
	DrainTimeout time.Duration
	// Name identifies the server in the counters, for instance its host name.
	Name string
	// Now is the clock; it is required.
	Now func() time.Time
	// Log logs errors; default: no log.
	Log *slog.Logger
	// OpenListener opens an address; default net.Listen. It must return TCP connections.
	OpenListener func(network, address string) (net.Listener, error)
	// Intercept is called for each call, so that tests of clients can inject faults; default: none. Many goroutines call
	// it at once, each for one call, and it may wait: only that call waits with it, as long as there are workers and
	// buffers. execute executes the call and returns the reply with its record mark, which Intercept may change until it
	// returns. The server sends the returned bytes unchanged, if there are any. An error then ends the connection.
	Intercept func(c Call, execute func() []byte) (reply []byte, err error)
}

const (
	minTransfer = 4 << 10
	maxTransfer = 4 << 20
	// callOverhead bounds the size of a WRITE call without its data: mark, header, 400 bytes each of credential and
	// verifier, handle.
	callOverhead = 2 << 10
)

func (o *Options) complete() error {
	o.Export = cmp.Or(o.Export, "/export")
	o.MaxTransferBytes = cmp.Or(o.MaxTransferBytes, 1<<20)
	o.MaxConnections = cmp.Or(o.MaxConnections, 256)
	o.MaxInFlight = cmp.Or(o.MaxInFlight, 32)
	o.MaxBuffers = cmp.Or(o.MaxBuffers, 64)
	o.StallTimeout = cmp.Or(o.StallTimeout, time.Minute)
	o.DrainTimeout = cmp.Or(o.DrainTimeout, 5*time.Second)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.Export = path.Clean(o.Export)
	if o.OpenListener == nil {
		o.OpenListener = net.Listen
	}
	switch {
	case o.Now == nil:
		return errors.New("no clock")
	case len(o.Listen) == 0:
		return errors.New("no listening address")
	case !strings.HasPrefix(o.Export, "/"):
		return fmt.Errorf("export %q: must begin with a slash", o.Export)
	case o.MaxTransferBytes < minTransfer || o.MaxTransferBytes > maxTransfer:
		return fmt.Errorf("largest transfer %d: must be from %d to %d bytes", o.MaxTransferBytes, minTransfer, maxTransfer)
	case o.MaxTransferBytes%minTransfer != 0:
		return fmt.Errorf("largest transfer %d: must be a multiple of %d bytes", o.MaxTransferBytes, minTransfer)
	case o.AdvertisePort < 0 || o.AdvertisePort > math.MaxUint16:
		return fmt.Errorf("advertised port %d: must be from 0 to %d", o.AdvertisePort, math.MaxUint16)
	case min(o.MaxConnections, o.MaxInFlight, o.MaxBuffers) < 0:
		return errors.New("limits must not be negative")
	}
	return nil
}
