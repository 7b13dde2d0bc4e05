package nfs

import (
	"context"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
)

// LargeCall is the outcome of a call that needs full segments.
type LargeCall string

// The outcomes of a LargeCall.
const (
	LargeAcknowledged LargeCall = "Acknowledged"
	// LargeLost: full segments get lost, and small ones do not. The links of the path differ in their MTU, and no router
	// reports it.
	LargeLost    LargeCall = "Lost"
	LargeUnknown LargeCall = "Unknown" // the connection ended, or the answer takes too long
)

// PathProbe is the result of probing a channel with a new connection.
type PathProbe struct {
	Channel      Channel
	MTUBytes     int // the kernel's path MTU; 0 = unknown
	SegmentBytes int // maximum data in one segment
	LargeCall    LargeCall
}

const (
	probeTimeout = 5 * time.Second
	probePause   = 10 * time.Millisecond
	// probeSegments is enough for full segments, whatever segments precede and follow them.
	probeSegments = 3
	maxProbeBytes = 64 << 10
	// lostRetries is the number of kernel retransmissions that shows a loss. They take about three seconds, which
	// congestion does not.
	lostRetries = 4
)

// ProbePaths sends one large NULL call over a new connection of each channel, at the same time. The answer of the
// server does not matter: its TCP acknowledges what arrives. The results omit channels that cannot connect.
// ProbePaths takes a few seconds at most.
func (c *Client) ProbePaths(ctx context.Context) []PathProbe {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout+connectTimeout)
	defer cancel()
	version := uint32(v3.Version)
	if c.cfg.Version != bench.NFSv3 {
		version = v4.Version
	}
	found := make([]*PathProbe, len(c.channels))
	var all sync.WaitGroup
	for i, ch := range c.channels {
		all.Go(func() { found[i] = ch.probe(ctx, version) })
	}
	all.Wait()
	var out []PathProbe
	for _, p := range found {
		if p != nil {
			out = append(out, *p)
		}
	}
	return out
}

func (ch *channel) probe(ctx context.Context, version uint32) *PathProbe {
	nc, err := dial(ctx, ch.addr, ch.port, ch.dontRoute)
	if err != nil {
		return nil
	}
	tcp, ok := nc.(*net.TCPConn)
	if !ok {
		return nil
	}
	_ = tcp.SetLinger(0)
	defer func() { _ = tcp.Close() }()
	p := &PathProbe{Channel: ch.addr, LargeCall: LargeUnknown}
	info := infoOf(tcp)
	if info == nil {
		return p
	}
	p.MTUBytes, p.SegmentBytes = int(info.Pmtu), int(info.Snd_mss)
	call := rpc.AppendCall(nil, v3.Program, version, 0, rpc.Auth{})
	size := min(max(probeSegments*p.SegmentBytes, len(call)), maxProbeBytes) &^ 3 // a multiple of the XDR unit
	call = append(call, make([]byte, size-len(call))...)
	rpc.PutRecordMark(call, size-rpc.RecordMarkBytes)
	if deadline, ok := ctx.Deadline(); ok {
		_ = tcp.SetDeadline(deadline)
	}
	if _, err := tcp.Write(call); err != nil {
		return p
	}
	look := time.NewTicker(probePause)
	defer look.Stop()
	for range probeTimeout / probePause {
		<-look.C
		info := infoOf(tcp)
		switch {
		case ctx.Err() != nil, info == nil, info.State != tcpEstablished && info.State != tcpCloseWait:
			return p
		case info.Unacked == 0 && info.Notsent_bytes == 0:
			p.LargeCall = LargeAcknowledged
			return p
		case info.Retransmits >= lostRetries:
			// A dead server acknowledges nothing either, but it does not accept connections.
			if again, err := dial(ctx, ch.addr, ch.port, ch.dontRoute); err == nil {
				_ = again.Close()
				p.LargeCall = LargeLost
			}
			return p
		}
	}
	return p
}

// Connection states in TCP_INFO, from Linux's tcp_states.h.
const (
	tcpEstablished = 1
	tcpCloseWait   = 8
)

// infoOf returns the TCP_INFO of a connection; nil if the kernel has none.
func infoOf(c *net.TCPConn) *unix.TCPInfo {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	var info *unix.TCPInfo
	if raw.Control(func(fd uintptr) {
		info, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
	}) != nil || err != nil {
		return nil
	}
	return info
}
