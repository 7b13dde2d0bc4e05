package nfs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/stream"
)

// ChannelState says whether a channel carries I/O.
type ChannelState string

// States of a channel.
const (
	ChannelUp           ChannelState = bench.PathUp
	ChannelReconnecting ChannelState = "Reconnecting"
	ChannelClosed       ChannelState = "Closed"
)

// ChannelStats is a snapshot of one channel; compare Oracle's v$dnfs_channels.
// Counts begin at Dial.
type ChannelStats struct {
	rpc.Traffic

	Local string // the local address and port, or the configured address while down
	Path  string // the server's address
	State ChannelState

	Server     int  // index in Client.Servers; NFSv4 only
	DataServer bool // opened by a pNFS layout
}

const (
	backoffFirst = 50 * time.Millisecond
	backoffMax   = 2 * time.Second
)

// channel is one pair of addresses and its connection.
type channel struct {
	addr      Channel
	port      int
	dontRoute bool
	data      bool // leads to a data server, opened by a layout
	now       func() time.Time
	logger    *slog.Logger
	counters  rpc.Counters

	// twoWay reports that the server may call over this channel; serve answers these calls. The connection may be older
	// than serve. The channel calls ready with each new connection before its use; ready may be nil.
	twoWay bool
	serve  atomic.Pointer[func(call []byte) []byte]
	ready  func(ctx context.Context, conn *rpc.Conn) error

	conn   atomic.Pointer[rpc.Conn]        // nil while down
	raw    atomic.Pointer[syscall.RawConn] // of the newest connection
	local  atomic.Pointer[string]
	closed atomic.Bool

	ended rpc.Traffic // of closed streams; guarded by Client.streamsMu
}

// live returns the connection if it can take calls.
func (ch *channel) live() *rpc.Conn {
	conn := ch.conn.Load()
	if conn == nil || conn.Failed() {
		return nil
	}
	return conn
}

// connect makes one attempt to connect the channel.
func (ch *channel) connect(ctx context.Context) error {
	nc, err := dial(ctx, ch.addr, ch.port, ch.dontRoute)
	if err != nil {
		ch.counters.NoteError(err)
		return err
	}
	local := nc.LocalAddr().String()
	ch.local.Store(&local)
	if tcp, ok := nc.(*net.TCPConn); ok {
		if raw, err := tcp.SyscallConn(); err == nil {
			ch.raw.Store(&raw)
		}
	}
	opts := rpc.Options{Counters: &ch.counters}
	if ch.twoWay {
		opts.Serve = ch.answer
	}
	conn := rpc.NewConn(nc, opts)
	if ch.ready != nil {
		ctx, cancel := context.WithTimeout(ctx, connectTimeout)
		defer cancel()
		if err := ch.ready(ctx, conn); err != nil {
			ch.counters.NoteError(err)
			return errors.Join(err, conn.Close())
		}
	}
	ch.conn.Store(conn)
	return nil
}

// answer answers a call of the server.
func (ch *channel) answer(call []byte) []byte {
	if serve := ch.serve.Load(); serve != nil {
		return (*serve)(call)
	}
	return nil // no server state exists yet
}

// silent reports whether the peer's TCP has fallen silent.
func (ch *channel) silent() (yes bool) {
	raw := ch.raw.Load()
	if raw == nil {
		return false
	}
	// A closed connection reports its own error.
	_ = (*raw).Control(func(fd uintptr) { yes = stream.PathSilent(int(fd)) })
	return yes
}

// run keeps the channel connected until ctx ends; up is called after each new
// connection.
func (ch *channel) run(ctx context.Context, up func()) {
	if ch.conn.Load() == nil {
		ch.noteLoss()
	}
	for {
		if conn := ch.conn.Load(); conn != nil {
			if !ch.watch(ctx, conn) {
				return
			}
		}
		if !ch.reconnect(ctx) {
			return
		}
		now := ch.now().UnixNano()
		ch.counters.NoteReconnect(now)
		ch.counters.NoteReturn(now)
		ch.logger.Info("Channel is connected again", "path", ch.addr.Path, "local", *ch.local.Load())
		up()
	}
}

func (ch *channel) noteLoss() {
	now := ch.now().UnixNano()
	ch.counters.NoteLoss(now, now)
}

// watch waits for the end of conn; it returns false when the client was closed.
func (ch *channel) watch(ctx context.Context, conn *rpc.Conn) bool {
	select {
	case <-ctx.Done():
		// Waiting callers get rpc.ErrClosed.
		_ = conn.Close()
		ch.conn.Store(nil)
		return false
	case <-conn.Done():
		ch.noteLoss()
		ch.conn.Store(nil)
		ch.counters.NoteError(conn.Err())
		ch.logger.Warn("Channel is lost", "path", ch.addr.Path, "error", conn.Err())
		return true
	}
}

// reconnect tries until it succeeds; it returns false when the client was closed.
func (ch *channel) reconnect(ctx context.Context) bool {
	for wait := backoffFirst; sleep(ctx, wait); wait = min(2*wait, backoffMax) {
		if err := ch.connect(ctx); err == nil {
			return true
		}
	}
	return false
}

func (ch *channel) stats() ChannelStats {
	s := ChannelStats{
		Traffic: ch.counters.Traffic(ch.now().UnixNano()),
		Local:   ch.addr.Local, Path: ch.addr.Path, State: ChannelUp,
	}
	s.Losses = nil // from a connection without I/O
	if local := ch.local.Load(); local != nil {
		s.Local = *local
	}
	switch {
	case ch.closed.Load():
		s.State = ChannelClosed
	case ch.live() == nil:
		s.State = ChannelReconnecting
	}
	return s
}

// describe returns the name of the channel for errors.
func (ch *channel) describe() string {
	if ch.addr.Local == "" {
		return fmt.Sprintf("path %s", ch.addr.Path)
	}
	return fmt.Sprintf("path %s from %s", ch.addr.Path, ch.addr.Local)
}
