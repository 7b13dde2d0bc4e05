package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/test/array/control"
)

// silence is how long a client may leave what it was sent unacknowledged, so
// that connections over a LIF that went down do not stay for a quarter of an hour.
const silence = 15 * time.Second

// blade is the whole N-blade.
type blade struct {
	node    string
	dblades map[string]string // address by node
	volumes volumes
	log     *slog.Logger

	calls, requestBytes, responseBytes atomic.Uint64

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

// run serves NFS and MOUNT on the addresses until the context ends. An address
// need not be here yet: a LIF may come later.
func (b *blade) run(ctx context.Context, addresses []string, socket string) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	lc := net.ListenConfig{Control: freebind}
	for _, address := range addresses {
		for _, port := range []string{"2049", "20048"} {
			l, err := lc.Listen(ctx, "tcp", net.JoinHostPort(address, port))
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

func freebind(_, _ string, c syscall.RawConn) error {
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_FREEBIND, 1)
	})
	return errors.Join(err, failed)
}

func (b *blade) accept(l net.Listener, port string) error {
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		if err := impatient(conn); err != nil {
			b.log.Warn("A connection has no time limit", "client", conn.RemoteAddr(), "error", err)
		}
		go newSession(b, conn, port).serve()
	}
}

func impatient(conn net.Conn) error {
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(silence.Milliseconds()))
	})
	return errors.Join(err, failed)
}

// seenCall counts a call for its client.
func (s *session) seenCall(h header, about *volume, owner string) {
	if about == nil {
		return
	}
	k := seenKey{about, h.protocol}
	c := s.seen[k]
	if c == nil {
		c = s.blade.clientCount(clientKey{host(s.client.RemoteAddr()), host(s.client.LocalAddr()), about.name, h.protocol})
		s.seen[k] = c
	}
	if owner == s.blade.node {
		c.local.Add(1)
	} else {
		c.remote.Add(1)
	}
}

func (b *blade) clientCount(k clientKey) *clientCount {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.clients[k]
	if c == nil {
		c = &clientCount{}
		b.clients[k] = c
	}
	return c
}

func host(a net.Addr) string { return a.(*net.TCPAddr).IP.String() }

// counts reads all counters.
func (b *blade) counts() control.Counts {
	c := control.Counts{
		Volumes: b.volumes.counts(), Calls: b.calls.Load(),
		RequestBytes: b.requestBytes.Load(), ResponseBytes: b.responseBytes.Load(),
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for k, n := range b.clients {
		c.Clients = append(c.Clients, control.ClientCounts{
			ClientIP: k.client, ServerIP: k.server, Volume: k.volume, Protocol: k.protocol,
			Local: n.local.Load(), Remote: n.remote.Load(),
		})
	}
	slices.SortFunc(c.Clients, func(x, y control.ClientCounts) int {
		return cmp.Or(cmp.Compare(x.ClientIP, y.ClientIP), cmp.Compare(x.ServerIP, y.ServerIP),
			cmp.Compare(x.Volume, y.Volume), cmp.Compare(x.Protocol, y.Protocol))
	})
	return c
}
