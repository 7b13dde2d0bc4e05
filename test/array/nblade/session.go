package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// lastWords is how long the calls of a client that left may still be answered,
// so that none of them is done after the volume has moved.
const lastWords = 5 * time.Second

// session is one connection of a client: its calls go to the D-blades of those
// who own the data, their replies come back in whatever order.
type session struct {
	blade  *blade
	client net.Conn
	port   string
	seen   map[seenKey]*clientCount // used by the reader of calls only

	ended atomic.Bool // the client is gone

	mu      sync.Mutex
	idle    *sync.Cond // calls or dblades became fewer
	calls   map[uint32]call
	dblades map[string]*dblade

	replies sync.Mutex // held from the first byte of a record to its last
}

// call is one call without a reply.
type call struct {
	began   time.Time
	kind    kind
	version uint32
	bytes   uint32
	about   *volume
	gate    *volume
}

// dblade is the connection of a session to one D-blade.
type dblade struct {
	session *session
	node    string
	conn    net.Conn
	locked  bool // it holds session.replies
}

func newSession(b *blade, client net.Conn, port string) *session {
	s := &session{
		blade: b, client: client, port: port,
		seen: map[seenKey]*clientCount{}, calls: map[uint32]call{}, dblades: map[string]*dblade{},
	}
	s.idle = sync.NewCond(&s.mu)
	return s
}

// serve copies until the client or a D-blade ends.
func (s *session) serve() {
	err := newPump(s.client, s).run()
	s.ended.Store(true)
	if err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, io.EOF) {
		s.blade.log.Debug("A connection ended", "client", s.client.RemoteAddr(), "error", err)
	}
	s.awaitReplies()
	_ = s.client.Close()
	s.forget()
}

// wrote is part of sink.
func (s *session) wrote(n int, _ bool) { s.blade.requestBytes.Add(uint64(n)) }

// record is part of sink: it lets a call in and finds its way.
func (s *session) record(head []byte, flush func() error) (io.Writer, error) {
	h := readCall(head)
	about, towards := s.blade.volumes.of(h)
	owner := towards.ownedBy()
	var gate *volume
	if h.kind != kindNone {
		gate = towards
		var free bool
		if owner, free = gate.tryEnter(); !free {
			// Those in front are in flight already: they must not wait with us.
			if err := flush(); err != nil {
				return nil, err
			}
			owner = gate.enter()
		}
		s.seenCall(h, about, owner)
	}
	s.begin(h, about, gate)
	return s.dblade(owner)
}

func (s *session) begin(h header, about, gate *volume) {
	s.blade.calls.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.calls[h.xid]; ok && old.gate != nil {
		old.gate.leave(1) // made again with the same xid: one reply is enough
	}
	s.calls[h.xid] = call{time.Now(), h.kind, h.version, h.bytes, about, gate}
}

// dblade returns the connection to the node, which it makes if there is none.
func (s *session) dblade(node string) (io.Writer, error) {
	s.mu.Lock()
	d := s.dblades[node]
	s.mu.Unlock()
	if d != nil {
		return d.conn, nil
	}
	address := net.JoinHostPort(s.blade.dblades[node], s.blade.portAt(node, s.port))
	ctx, cancel := context.WithTimeout(context.Background(), lastWords) //nolint:usetesting // not a test
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("reach the D-blade of %s: %w", node, err)
	}
	d = &dblade{session: s, node: node, conn: conn}
	s.mu.Lock()
	s.dblades[node] = d
	s.mu.Unlock()
	go d.serve()
	return conn, nil
}

// serve copies replies until the D-blade ends the connection. With calls in
// flight that is the end for the client too, which will make them again.
func (d *dblade) serve() {
	err := newPump(d.conn, d).run()
	if d.locked {
		d.session.replies.Unlock()
	}
	s := d.session
	s.mu.Lock()
	delete(s.dblades, d.node)
	waiting := len(s.calls) > 0
	s.idle.Broadcast()
	s.mu.Unlock()
	_ = d.conn.Close()
	if waiting || err != nil {
		_ = s.client.Close()
	}
}

// record is part of sink.
func (d *dblade) record(head []byte, _ func() error) (io.Writer, error) {
	s := d.session
	var c call
	xid, ok, read := readReply(head, func(xid uint32) (kind, uint32) {
		s.mu.Lock()
		defer s.mu.Unlock()
		c = s.calls[xid]
		return c.kind, c.version
	})
	s.end(xid, c, ok, read)
	return replyWriter{d}, nil
}

// end counts a call out that has its reply.
func (s *session) end(xid uint32, c call, ok bool, read uint32) {
	s.mu.Lock()
	_, known := s.calls[xid]
	delete(s.calls, xid)
	if len(s.calls) == 0 {
		s.idle.Broadcast()
	}
	s.mu.Unlock()
	if !known {
		return
	}
	if c.about != nil {
		bytes := read
		if c.kind == kindWrite && ok {
			bytes = c.bytes
		}
		c.about.count(c.kind, bytes, time.Since(c.began))
	}
	if c.gate != nil {
		c.gate.leave(1)
	}
}

// wrote is part of sink: between records another D-blade may answer.
func (d *dblade) wrote(n int, ended bool) {
	d.session.blade.responseBytes.Add(uint64(n))
	if ended && d.locked {
		d.locked = false
		d.session.replies.Unlock()
	}
}

// replyWriter writes to the client, one D-blade at a time.
type replyWriter struct{ d *dblade }

func (w replyWriter) Write(p []byte) (int, error) {
	s := w.d.session
	if !w.d.locked {
		s.replies.Lock()
		w.d.locked = true
	}
	if s.ended.Load() {
		return len(p), nil // nobody listens; the reply itself is what counts
	}
	return s.client.Write(p)
}

// awaitReplies waits until every call of a client that left was answered.
func (s *session) awaitReplies() {
	expired := false
	timer := time.AfterFunc(lastWords, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		expired = true
		s.idle.Broadcast()
	})
	defer timer.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.calls) > 0 && len(s.dblades) > 0 && !expired {
		s.idle.Wait()
	}
}

// forget ends the connections to the D-blades and counts out what is left.
func (s *session) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.dblades {
		_ = d.conn.Close()
	}
	for _, c := range s.calls {
		if c.gate != nil {
			c.gate.leave(1)
		}
	}
	clear(s.calls)
}
