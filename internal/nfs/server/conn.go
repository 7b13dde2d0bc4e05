package server

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
)

// conn is one client connection.
type conn struct {
	srv *Server
	on  *listener
	tcp net.Conn

	jobs    chan request
	workers int // number started so far; belongs to the reader
	working sync.WaitGroup

	writeMu sync.Mutex // keeps a reply in one piece
}

// request is one record. Its buffer is returned after the execution.
type request struct {
	record   []byte
	budgeted bool
}

func (s *Server) serveConn(ctx context.Context, l *listener, tcp net.Conn) {
	c := &conn{srv: s, on: l, tcp: tcp, jobs: make(chan request)}
	l.counts.Accepted.Add(1)
	l.counts.Active.Add(1)
	defer l.counts.Active.Add(-1)
	s.track(c, true)
	defer s.track(c, false)
	// Wake a reader that waits for a record; the requests so far are still answered.
	defer context.AfterFunc(ctx, func() { _ = tcp.SetReadDeadline(time.Unix(1, 0)) })()
	err := c.read(ctx)
	close(c.jobs)
	c.working.Wait()
	_ = tcp.Close() // errors no longer matter to the client
	if err != nil && ctx.Err() == nil {
		s.opt.Log.Debug("Connection ended", "client", tcp.RemoteAddr().String(), "error", err)
	}
}

func (s *Server) track(c *conn, open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if open {
		s.conns[c] = struct{}{}
	} else {
		delete(s.conns, c)
	}
}

// read passes records to workers until the stream ends. It is no error if a client disconnects between two records.
func (c *conn) read(ctx context.Context) error {
	records := rpc.NewRecordReader(c.tcp, c.srv.opt.MaxTransferBytes+callOverhead)
	for ctx.Err() == nil {
		err := records.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		var r request
		if err == nil {
			r, err = c.receive(ctx, records)
		}
		if err != nil {
			if errors.Is(err, rpc.ErrRecordTooLarge) {
				c.on.counts.RPCErrors.Add(1)
			}
			return err
		}
		c.hand(r)
	}
	return nil
}

// receive reads one record. Only a record that needs a budgeted buffer must arrive in time.
func (c *conn) receive(ctx context.Context, records *rpc.RecordReader) (request, error) {
	n := records.FragmentBytes()
	if n <= smallBytes {
		record, err := records.AppendRest(make([]byte, 0, n))
		return request{record: record}, err
	}
	buf, err := c.srv.requests.take(ctx)
	if err != nil {
		return request{}, err
	}
	if err := c.tcp.SetReadDeadline(c.srv.opt.Now().Add(c.srv.opt.StallTimeout)); err != nil {
		c.srv.requests.give(buf)
		return request{}, err
	}
	buf = buf[:n]
	if _, err = records.ReadFull(buf); err == nil && !records.Done() {
		buf, err = records.AppendRest(buf)
	}
	if err == nil {
		err = c.tcp.SetReadDeadline(time.Time{})
	}
	if err == nil && ctx.Err() != nil {
		err = ctx.Err() // clearing the deadline may have undone the wake-up at the end
	}
	if err != nil {
		c.srv.requests.give(buf)
		return request{}, err
	}
	return request{record: buf, budgeted: true}, nil
}

// hand passes the request to an idle or new worker, or waits for one.
func (c *conn) hand(r request) {
	select {
	case c.jobs <- r:
		return
	default:
	}
	if c.workers < c.srv.opt.MaxInFlight {
		c.workers++
		c.working.Go(c.work)
	}
	c.jobs <- r
}

func (c *conn) work() {
	w := worker{conn: c}
	for r := range c.jobs {
		err := w.execute(r.record)
		if r.budgeted {
			c.srv.requests.give(r.record)
		}
		if err != nil {
			_ = c.tcp.Close() // a reply is lost or incomplete: the client must reconnect
		}
	}
}

// send writes one whole reply.
func (c *conn) send(reply []byte) error {
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	if err := c.tcp.SetWriteDeadline(c.srv.opt.Now().Add(c.srv.opt.StallTimeout)); err != nil {
		return err
	}
	_, err := c.tcp.Write(reply)
	return err
}

// smallBytes bounds records and replies that are not budgeted: all calls except a large WRITE, all replies except a
// large READ.
const smallBytes = 16 << 10

// budget lends a limited number of buffers of one size. It first lends the buffer that was returned last, which is
// likely still in the processor's cache. Buffers are allocated on first use.
type budget struct {
	size   int
	tokens chan struct{} // one for each buffer that may still be lent

	mu   sync.Mutex
	free [][]byte
}

func newBudget(count, size int) *budget {
	b := &budget{size: size, tokens: make(chan struct{}, count)}
	for range count {
		b.tokens <- struct{}{}
	}
	return b
}

// take waits for a buffer of length 0 until the context ends.
func (b *budget) take(ctx context.Context) ([]byte, error) {
	select {
	case <-b.tokens:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	last := len(b.free) - 1
	if last < 0 {
		return make([]byte, 0, b.size), nil
	}
	buf := b.free[last]
	b.free = b.free[:last]
	return buf[:0], nil
}

// give returns a buffer that take lent.
func (b *budget) give(buf []byte) {
	b.mu.Lock()
	b.free = append(b.free, buf)
	b.mu.Unlock()
	b.tokens <- struct{}{}
}
