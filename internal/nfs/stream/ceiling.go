package stream

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// Ceiling counts the I/Os that this client completes in a window after a warm-up, with as many threads and slots as s.
// Threads of this process answer the I/Os over the loopback and do nothing else. They use processor time of the same
// machine, so the client alone can do at least as much. There is a buffer in bufs for each slot; reads overwrite it.
// Do not call it during Run.
func (s *Stream) Ceiling(
	ctx context.Context, bufs [][]byte, write bool, warmup, window time.Duration,
) (ops int64, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	cfg := s.cfg
	cfg.Protocol, cfg.Groups, cfg.PieceBytes, cfg.Logger = idleProtocol{}, nil, 0, nil
	cfg.Dial = func(ctx context.Context, _ int) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String())
	}
	var servers sync.WaitGroup
	defer servers.Wait()
	defer func() { _ = l.Close() }()
	zeros := make([]byte, max(cfg.ReadBytes, cfg.WriteBytes))
	servers.Go(func() {
		for range cfg.Threads {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			sock, err := newSocket(nc, tick)
			if err != nil {
				return
			}
			server := idleServer{sock: sock, zeros: zeros}
			servers.Go(func() { server.serve(ctx) })
		}
	})
	client, err := New(ctx, cfg)
	if err != nil {
		return 0, err
	}
	from := cfg.Now().Add(warmup)
	d := &ceilingDriver{
		now: cfg.Now, bufs: bufs, write: write, from: from, until: from.Add(window),
		threads: make([]ceilingThread, cfg.Threads),
	}
	client.Run(ctx, d)
	err = client.Close()
	for _, thread := range d.threads {
		ops += thread.ops
		err = errors.Join(err, thread.err)
	}
	return ops, err
}

// ceilingDriver repeats the same I/O.
type ceilingDriver struct {
	now         func() time.Time
	bufs        [][]byte
	write       bool
	from, until time.Time
	threads     []ceilingThread
}

type ceilingThread struct {
	ops    int64
	inside bool // the current I/O began within the window
	err    error

	_ [96]byte // keeps threads on different processors out of one cache line
}

// Next implements Driver.
func (d *ceilingDriver) Next(io *IO) bool {
	now, l := d.now(), &d.threads[io.Thread]
	l.inside = !now.Before(d.from)
	io.Write, io.Buf, io.Stable = d.write, d.bufs[io.Slot], FileSync
	return now.Before(d.until) && l.err == nil
}

// Done implements Driver.
func (d *ceilingDriver) Done(io *IO) {
	l := &d.threads[io.Thread]
	if l.err = io.Err; l.err == nil && l.inside {
		l.ops++
	}
}

// idleProtocol is the protocol of idleServer only: after record mark and xid, a call has the direction and the number
// of bytes, and a reply has this number.
type idleProtocol struct{}

// Append implements Protocol.
func (idleProtocol) Append(b []byte, p *Part) ([]byte, error) {
	b = append(b, make([]byte, rpc.RecordMarkBytes+xidBytes)...)
	return xdr.AppendUint32(xdr.AppendBool(b, p.IO.Write), uint32(p.Bytes())), nil
}

// Decode implements Protocol.
func (idleProtocol) Decode(d *xdr.Decoder, p *Part) Results {
	r := Results{Count: int(d.Uint32()), Committed: FileSync}
	if !p.IO.Write {
		r.Data = r.Count
	}
	r.Err = p.Check(&r)
	return r
}

const (
	xidBytes      = 4
	idleCallBytes = rpc.RecordMarkBytes + xidBytes + 8
)

// idleServer answers the calls of one connection.
type idleServer struct {
	sender

	sock  *socket
	zeros []byte // as many as the largest READ or WRITE

	inside bool // within a call
	left   int  // bytes of the call still to receive
	xid    uint32
	data   []byte // data of the reply
	count  uint32
}

// serve returns when the connection ends, or after a call that idleProtocol does not make.
func (s *idleServer) serve(ctx context.Context) {
	defer s.sock.close()
	buf, w := make([]byte, receiveBytes), 0
	for ctx.Err() == nil {
		n, err := s.sock.receive(buf[w:], nil, 0)
		if errors.Is(err, errAgain) {
			continue
		}
		if err != nil {
			return
		}
		rest := s.take(buf[:w+n])
		w = copy(buf, rest)
		if w >= idleCallBytes || !s.flush(ctx) {
			return
		}
	}
}

// take processes received bytes. It returns the incomplete beginning of a call, or a whole invalid call.
func (s *idleServer) take(b []byte) []byte {
	for {
		if !s.inside && (len(b) < idleCallBytes || !s.begin(b)) {
			return b
		}
		if s.left > len(b) {
			s.left -= len(b)
			return nil
		}
		b = b[s.left:]
		s.inside = false
		from := len(s.batch)
		reply := rpc.ReplyHeader{XID: s.xid}
		s.batch = reply.Append(append(s.batch, make([]byte, rpc.RecordMarkBytes)...))
		s.batch = xdr.AppendUint32(s.batch, s.count)
		rpc.PutRecordMark(s.batch[from:], len(s.batch)-from-rpc.RecordMarkBytes+len(s.data))
		s.pieces = append(s.pieces, piece{from: from, to: len(s.batch)})
		s.appendBulk(s.data)
	}
}

// begin reads the head of a call.
func (s *idleServer) begin(b []byte) bool {
	d := xdr.NewDecoder(b[:idleCallBytes])
	mark, xid, write, count := d.Uint32(), d.Uint32(), d.Bool(), d.Uint32()
	s.left = rpc.RecordMarkBytes + int(mark&^lastFragment)
	if d.Err() != nil || s.left < idleCallBytes || s.left > idleCallBytes+len(s.zeros) || int(count) > len(s.zeros) {
		return false
	}
	s.inside, s.xid, s.count, s.data = true, xid, count, nil
	if !write {
		s.data = s.zeros[:count]
	}
	return true
}

// flush sends the replies.
func (s *idleServer) flush(ctx context.Context) bool {
	for s.pending() && ctx.Err() == nil {
		n, err := s.sock.send(s.gather(s.sock))
		if errors.Is(err, errAgain) {
			s.sock.await(true, -1, tick)
			continue
		}
		if err != nil {
			return false
		}
		s.advance(n)
	}
	s.reset()
	return true
}
