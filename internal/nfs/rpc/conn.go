package rpc

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"

	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// maxRecordBytes is the default bound of a reply. It leaves room for the
// largest transfer size of current servers.
const maxRecordBytes = 17 << 20

// Options configures a Conn. The zero Options are valid.
type Options struct {
	// MaxRecordBytes bounds a reply; 17 MiB if 0.
	MaxRecordBytes int
	// Counters receives the counts; a private one is used if nil.
	Counters *Counters
	// Serve answers a call from the peer, as NFSv4.1 makes over the back channel. It gets the call without record mark,
	// and returns the reply behind room for a record mark, or nil for no reply. It runs in the goroutine that receives
	// and must not wait. Without Serve a call is a violation of the protocol.
	Serve func(call []byte) []byte
}

// maxServedBytes is the longest call that Serve gets.
const maxServedBytes = 64 << 10

// maxUnsentReplies bounds the unsent bytes of replies when another call is served. A peer that does not read its
// replies gets no more.
const maxUnsentReplies = 1 << 20

// ErrUnsentReplies reports that the peer makes calls but does not read the replies.
var ErrUnsentReplies = errors.New("rpc: too many replies wait to be sent")

// Conn is a client connection with many calls in flight. It is safe for
// concurrent use.
type Conn struct {
	nc       net.Conn
	rec      *RecordReader
	counters *Counters
	serve    func(call []byte) []byte
	failed   atomic.Bool
	wake     chan struct{} // wakes the writer
	done     chan struct{}

	mu      sync.Mutex
	table   table
	pending []byte // bytes to write: calls, and replies to the peer
	served  int    // bytes of replies in pending
	err     error

	head [headBytes]byte // the start of a reply; belongs to the reader
}

// NewConn takes over nc and serves calls on it until Close or an error.
func NewConn(nc net.Conn, opts Options) *Conn {
	c := &Conn{
		nc:       nc,
		rec:      NewRecordReader(nc, cmp.Or(opts.MaxRecordBytes, maxRecordBytes)),
		counters: cmp.Or(opts.Counters, &Counters{}),
		serve:    opts.Serve,
		wake:     make(chan struct{}, 1),
		done:     make(chan struct{}),
		table:    table{calls: map[uint32]*Call{}, next: rand.Uint32()},
	}
	go c.readLoop()
	go c.writeLoop()
	return c
}

// Do makes call and returns its error. If ctx ends first, it returns the error of ctx, and
// the call must not be used again.
func (c *Conn) Do(ctx context.Context, call *Call) error {
	if err := c.start(call); err != nil {
		return err
	}
	return c.wait(ctx, call)
}

// start sends call. On an error the call is neither sent nor outstanding.
func (c *Conn) start(call *Call) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return lost(c.err)
	}
	c.table.add(call)
	call.seal()
	if call.done == nil {
		call.done = make(chan struct{}, 1)
	}
	call.Err = nil
	c.pending = append(c.pending, call.Request...)
	c.counters.InFlight.Add(1)
	c.counters.Sends.Add(1)
	c.wakeWriter()
	return nil
}

// wait waits until a started call is done.
func (c *Conn) wait(ctx context.Context, call *Call) error {
	select {
	case <-call.done:
		return call.Err
	case <-ctx.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.table.abandon(call) { // otherwise the reply has just arrived
			c.counters.InFlight.Add(-1)
		}
		return ctx.Err()
	}
}

// Oldest returns the smallest Since of all outstanding calls.
func (c *Conn) Oldest() (since int64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.table.oldest()
}

// Failed reports whether the connection has failed.
func (c *Conn) Failed() bool { return c.failed.Load() }

// Done is closed when the connection has ended and all its calls are done.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err returns why the connection ended, or nil.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// LocalAddr returns this side's address.
func (c *Conn) LocalAddr() net.Addr { return c.nc.LocalAddr() }

// IsIPv6 reports whether the connection uses IPv6.
func (c *Conn) IsIPv6() bool {
	local, ok := c.nc.LocalAddr().(*net.TCPAddr)
	return ok && local.IP.To4() == nil
}

// Close ends the connection and waits until all its calls are done.
func (c *Conn) Close() error {
	c.Fail(ErrClosed)
	<-c.done
	return nil
}

// Fail ends the connection because of err. Outstanding calls soon end with it.
func (c *Conn) Fail(err error) {
	c.mu.Lock()
	c.failLocked(err)
	c.mu.Unlock()
	c.wakeWriter()
}

func (c *Conn) failLocked(err error) {
	if c.err != nil {
		return
	}
	c.err = err
	c.failed.Store(true)
	// Discard unacknowledged data: the kernel would continue to send it, and the server would execute a WRITE long after
	// its retransmission over another connection.
	if tcp, ok := c.nc.(*net.TCPConn); ok && c.counters.InFlight.Load() > 0 {
		_ = tcp.SetLinger(0)
	}
	// An error of Close adds nothing to err.
	_ = c.nc.Close()
}

// lost returns the error for the calls of a dead connection: a protocol
// violation stays one, every other error becomes a lost connection.
func lost(err error) error {
	if p, ok := errors.AsType[*ProtocolError](err); ok {
		return p
	}
	return &LostError{Err: err}
}

// headBytes is more than the longest header of a reply (432).
const headBytes = 600

func (c *Conn) readLoop() {
	var err error
	for err == nil {
		if err = c.rec.Next(); err == nil {
			err = c.readReply()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failLocked(classify(err))
	for _, call := range c.table.calls {
		if call != nil {
			call.Err = lost(c.err)
			c.counters.InFlight.Add(-1)
			call.finish()
		}
	}
	clear(c.table.calls)
	close(c.done)
	c.wakeWriter()
}

func (c *Conn) wakeWriter() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// writeLoop writes pending bytes until the connection fails.
func (c *Conn) writeLoop() {
	var writing []byte
	for range c.wake {
		c.mu.Lock()
		over := c.err != nil
		c.pending, writing, c.served = writing[:0], c.pending, 0
		c.mu.Unlock()
		if over {
			return
		}
		n, err := c.nc.Write(writing)
		c.counters.WireBytesWritten.Add(int64(n))
		if err != nil {
			c.Fail(err)
			return
		}
	}
}

// classify marks errors that are the server's fault.
func classify(err error) error {
	for _, violation := range []error{
		ErrNotReply, ErrRecordTooLarge, ErrRecordShort, ErrUnknownXID, ErrUnsentReplies,
		xdr.ErrShort, xdr.ErrTooLong, xdr.ErrBadBool, xdr.ErrBadValue,
	} {
		if errors.Is(err, violation) {
			return &ProtocolError{Err: err}
		}
	}
	return err
}

// readReply receives one record and completes its call. After an error the
// stream cannot be trusted.
func (c *Conn) readReply() error {
	n, err := c.rec.ReadFull(c.head[:])
	if err != nil && !errors.Is(err, ErrRecordShort) {
		return err
	}
	if c.serve != nil && isCall(c.head[:n]) {
		return c.answer(c.head[:n])
	}
	d := xdr.NewDecoder(c.head[:n])
	var h ReplyHeader
	if h.Decode(&d); d.Err() != nil {
		if errors.Is(d.Err(), xdr.ErrShort) {
			return ErrRecordShort
		}
		return d.Err()
	}
	c.mu.Lock()
	call, ok := c.table.take(h.XID)
	c.mu.Unlock()
	if !ok {
		return ErrUnknownXID
	}
	c.counters.Receives.Add(1)
	if call == nil {
		return nil // abandoned; Next skips the record
	}
	c.counters.InFlight.Add(-1)
	err = nil
	if call.Err = h.Err(); call.Err == nil {
		call.Results, err = c.rec.AppendRest(append(call.Results[:0], c.head[d.Offset():n]...))
		if err != nil {
			call.Err = lost(classify(err))
		}
	}
	c.counters.WireBytesRead.Add(int64(c.rec.Received()))
	call.finish()
	return err
}

// isCall reports whether the message with this start is a call.
func isCall(start []byte) bool {
	d := xdr.NewDecoder(start)
	_, kind := d.Uint32(), d.Uint32()
	return d.Err() == nil && kind == typeCall
}

// answer serves the call with this start.
func (c *Conn) answer(start []byte) error {
	if c.rec.Received() > maxServedBytes {
		return ErrRecordTooLarge
	}
	call, err := c.rec.AppendRest(append([]byte(nil), start...))
	if err != nil {
		return err
	}
	reply := c.serve(call)
	if reply == nil {
		return nil
	}
	PutRecordMark(reply, len(reply)-RecordMarkBytes)
	c.mu.Lock()
	if c.served += len(reply); c.served > maxUnsentReplies {
		c.mu.Unlock()
		return ErrUnsentReplies
	}
	c.pending = append(c.pending, reply...)
	c.mu.Unlock()
	c.wakeWriter()
	return nil
}
