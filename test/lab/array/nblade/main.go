// Command nblade is the network side of one node of the array: it ends the TCP
// connections of clients on the LIFs and sends every call to the node that owns
// the volume, whose NFS-Ganesha answers it, be that this node or one behind the
// cluster link.
//
// It reads the head of each call and reply: enough to count reads, writes and
// other operations of NFSv3, their bytes, and the time between the call and its
// reply. Of NFSv4 it counts a READ or WRITE that follows only SEQUENCE and PUTFH
// in its COMPOUND; every other COMPOUND is one other operation, of the volume of its first
// file handle. MOUNT and NULL are not counted, and neither is a COMPOUND without a file
// handle of a volume: it goes through the owner of the volume that its path leads to, or of
// the first volume.
//
// The state of an NFSv4 client, its sessions and its open files, lives in one server. So
// all nodes share one NFS-Ganesha for NFSv4, behind a link of their own to it. The way of a
// call is that of NFSv3 all the same: an N-blade whose node does not own the volume sends
// it over the cluster link to the owner, whose N-blade hands it to the server. Calls of the
// server to the client, on the back channel of NFSv4.1, go back along the connection that
// the server chose, and so do their replies.
//
// Orders and counters: see package control.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nfsbench/nfsbench/test/lab/array/control"
	"github.com/nfsbench/nfsbench/test/lab/ontap"
)

func main() {
	file := flag.String("settings", "", "JSON file with the settings")
	flag.Parse()
	if err := run(*file); err != nil {
		fmt.Fprintln(os.Stderr, "nblade:", err)
		os.Exit(1)
	}
}

func run(file string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT) //nolint:usetesting // not a test
	defer stop()
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var s control.Settings
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("read settings %s: %w", file, err)
	}
	b, err := newBlade(s, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if err != nil {
		return err
	}
	return b.run(ctx, s.Listen, s.Socket)
}

type blade struct {
	node    string
	dblades map[string]string // address by node
	nfs4    string            // address and port of the server of NFSv4
	volumes volumes
	log     *slog.Logger

	calls atomic.Uint64

	mu      sync.Mutex
	clients map[clientKey]*clientCount
	v4Calls map[string]uint64 // by owner
}

type clientKey struct{ client, server, volume, protocol string }

// seenKey is the part of clientKey that remains within one session.
type seenKey struct {
	volume   *volume
	protocol string
}

type clientCount struct{ local, remote atomic.Uint64 }

func newBlade(s control.Settings, log *slog.Logger) (*blade, error) {
	b := &blade{
		node: s.Node, dblades: s.Blades, nfs4: s.NFS4, log: log,
		clients: map[clientKey]*clientCount{}, v4Calls: map[string]uint64{},
	}
	if len(s.Volumes) == 0 {
		return nil, errors.New("the settings name no volume")
	}
	for _, v := range s.Volumes {
		if err := b.volumes.add(v); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// run serves NFS and MOUNT on the addresses until the context ends.
func (b *blade) run(ctx context.Context, addresses []string, socket string) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for _, address := range addresses {
		for _, port := range []string{"2049", "20048"} {
			l, err := net.Listen("tcp", net.JoinHostPort(address, port))
			if err != nil {
				return fmt.Errorf("listen on %s port %s: %w", address, port, err)
			}
			context.AfterFunc(ctx, func() { _ = l.Close() })
			wg.Go(func() { cancel(b.accept(l, port)) })
		}
	}
	dblade := b.dblades[b.node]
	for _, address := range []string{net.JoinHostPort(dblade, "2049"), net.JoinHostPort(dblade, "20048"), b.nfs4} {
		if err := b.serveCluster(ctx, &wg, address); err != nil {
			return err
		}
	}
	if err := b.takeOrders(ctx, socket, cancel); err != nil {
		return err
	}
	<-ctx.Done()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

func (b *blade) accept(l net.Listener, port string) error {
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		go newSession(b, conn, port).serve()
	}
}

func (s *session) seenCall(h header, about *volume, owner string) {
	if about == nil {
		return
	}
	k := seenKey{about, h.protocol}
	c := s.seen[k]
	if c == nil {
		key := clientKey{host(s.client.RemoteAddr()), host(s.client.LocalAddr()), about.name, h.protocol}
		s.blade.mu.Lock()
		if c = s.blade.clients[key]; c == nil {
			c = &clientCount{}
			s.blade.clients[key] = c
		}
		s.blade.mu.Unlock()
		s.seen[k] = c
	}
	if owner == s.blade.node {
		c.local.Add(1)
	} else {
		c.remote.Add(1)
	}
}

func (b *blade) countV4(owner string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.v4Calls[owner]++
}

func host(a net.Addr) string { return a.(*net.TCPAddr).IP.String() }

func (b *blade) counts() control.Counts {
	c := control.Counts{Volumes: b.volumes.counts(), Calls: b.calls.Load()}
	b.mu.Lock()
	defer b.mu.Unlock()
	c.NFS4Calls = maps.Clone(b.v4Calls)
	for k, n := range b.clients {
		c.Clients = append(c.Clients, ontap.Client{
			ClientIP: k.client, ServerIP: k.server, Volume: k.volume, Protocol: k.protocol,
			LocalRequests: n.local.Load(), RemoteRequests: n.remote.Load(),
		})
	}
	slices.SortFunc(c.Clients, func(x, y ontap.Client) int {
		return cmp.Or(cmp.Compare(x.ClientIP, y.ClientIP), cmp.Compare(x.ServerIP, y.ServerIP),
			cmp.Compare(x.Volume, y.Volume), cmp.Compare(x.Protocol, y.Protocol))
	})
	return c
}

// clusterPort is where a node takes what other nodes send for a port of its servers.
func clusterPort(port string) string {
	return map[string]string{"2049": "12049", "20048": "12048", control.NFS4Port: "14049"}[port]
}

// address is where a way leads next, for a client of a port: to the server, or to where the
// other node takes it off the cluster link.
func (b *blade) address(w way, port string) string {
	address := b.dblades[w.node]
	if w.v4 {
		server, p, _ := net.SplitHostPort(b.nfs4)
		if port = p; w.node == b.node {
			address = server
		}
	}
	if there := clusterPort(port); w.node != b.node && there != "" {
		port = there
	}
	return net.JoinHostPort(address, port)
}

// serveCluster takes connections off the cluster link and joins each with one to
// a server of this node, until the context ends. What comes from another node costs
// this one a second process, as the cluster session manager of ONTAP does.
func (b *blade) serveCluster(ctx context.Context, wg *sync.WaitGroup, server string) error {
	_, port, err := net.SplitHostPort(server)
	if err != nil {
		return fmt.Errorf("the address of a server: %w", err)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(b.dblades[b.node], clusterPort(port)))
	if err != nil {
		return fmt.Errorf("listen on the cluster link: %w", err)
	}
	context.AfterFunc(ctx, func() { _ = l.Close() })
	wg.Go(func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return // the context has ended, or accept of the LIFs fails as well
			}
			go b.join(ctx, from, server)
		}
	})
	return nil
}

func (b *blade) join(ctx context.Context, from net.Conn, address string) {
	defer func() { _ = from.Close() }()
	to, err := (&net.Dialer{Timeout: lastWords}).DialContext(ctx, "tcp", address)
	if err != nil {
		b.log.Warn("The D-blade is out of reach", "error", err)
		return
	}
	defer func() { _ = to.Close() }()
	done := make(chan struct{}, 2)
	for _, ends := range [][2]net.Conn{{from, to}, {to, from}} {
		go func() {
			_, _ = io.Copy(ends[0], ends[1]) // the ends tell of it themselves
			done <- struct{}{}
		}()
	}
	<-done
}

func (b *blade) takeOrders(ctx context.Context, socket string, failed context.CancelCauseFunc) error {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /counts", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(b.counts())
	})
	mux.HandleFunc("POST /{order}", func(w http.ResponseWriter, r *http.Request) {
		var o control.Order
		err := json.NewDecoder(r.Body).Decode(&o)
		if err == nil {
			err = b.obey(r.Context(), r.PathValue("order"), o)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
		}
	})
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	context.AfterFunc(ctx, func() { _ = srv.Close() })
	go func() { failed(srv.Serve(l)) }()
	return nil
}

func (b *blade) obey(ctx context.Context, order string, o control.Order) error {
	switch order {
	case control.Add:
		return b.volumes.add(o.Volume)
	case control.Remove:
		return b.volumes.remove(o.Volume.Name)
	}
	v, err := b.volumes.named(o.Volume.Name)
	if err != nil {
		return err
	}
	switch order {
	case control.Release:
		v.release(o.Volume.Owner)
		return nil
	case control.Limit:
		l, err := newLimit(o.Limits)
		if err == nil {
			v.limit.Store(l)
		}
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(o.Milliseconds)*time.Millisecond)
	defer cancel()
	return v.hold(ctx)
}
