// Command nblade is the network side of one node of the array: it ends the TCP
// connections of clients on the LIFs and sends every call to the node that owns
// the volume, whose NFS-Ganesha answers it, be that this node or one behind the
// cluster link.
//
// It reads the head of each call and reply: enough to count reads, writes and
// other operations of NFSv3, their bytes, and the time between the call and its
// reply. Of NFSv4 it counts a READ or WRITE that follows only SEQUENCE and PUTFH
// in its COMPOUND; every other COMPOUND is one other operation. MOUNT and NULL
// are not counted. The state of an NFSv4 client lives in one NFS-Ganesha, so all
// of NFSv4 goes to the owner of the first volume, and a move of that volume is a
// restart of the server in the eyes of such a client.
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
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nfsbench/nfsbench/test/array/control"
	"github.com/nfsbench/nfsbench/test/ontap"
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
	volumes volumes
	log     *slog.Logger

	calls atomic.Uint64

	mu      sync.Mutex
	clients map[clientKey]*clientCount
}

type clientKey struct{ client, server, volume, protocol string }

// seenKey is what is left of clientKey within one session.
type seenKey struct {
	volume   *volume
	protocol string
}

type clientCount struct{ local, remote atomic.Uint64 }

func newBlade(s control.Settings, log *slog.Logger) (*blade, error) {
	b := &blade{node: s.Node, dblades: s.Blades, log: log, clients: map[clientKey]*clientCount{}}
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
	for _, port := range []string{"2049", "20048"} {
		if err := b.serveCluster(ctx, &wg, port); err != nil {
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

func host(a net.Addr) string { return a.(*net.TCPAddr).IP.String() }

func (b *blade) counts() control.Counts {
	c := control.Counts{Volumes: b.volumes.counts(), Calls: b.calls.Load()}
	b.mu.Lock()
	defer b.mu.Unlock()
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

// clusterPort is where a node takes what other nodes send for a port of its D-blade.
func clusterPort(port string) string {
	return map[string]string{"2049": "12049", "20048": "12048"}[port]
}

// serveCluster takes connections off the cluster link and joins each with one to
// the D-blade here, until the context ends. What comes from another node costs
// this one a second process, as the cluster session manager of ONTAP does.
func (b *blade) serveCluster(ctx context.Context, wg *sync.WaitGroup, port string) error {
	address := b.dblades[b.node]
	l, err := net.Listen("tcp", net.JoinHostPort(address, clusterPort(port)))
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
			go b.join(ctx, from, net.JoinHostPort(address, port))
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
	if order == control.Release {
		v.release(o.Volume.Owner)
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(o.Milliseconds)*time.Millisecond)
	defer cancel()
	return v.hold(ctx)
}
