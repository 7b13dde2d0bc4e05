package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// lastWords is how long the calls of a client that left may still be answered,
// so that none of them is done after the volume has moved.
const lastWords = time.Minute

// session is one connection of a client. Its calls go to the D-blades of the nodes that own the
// data; their replies return in any order.
type session struct {
	blade  *blade
	client net.Conn
	port   string
	seen   map[seenKey]*clientCount // used by the reader of calls only

	ended atomic.Bool // the client is gone

	mu        sync.Mutex
	idle      *sync.Cond // calls or dblades became fewer
	calls     map[uint32]call
	callbacks map[uint32]*dblade // who waits for the reply of the client
	dblades   map[way]*dblade

	replies sync.Mutex // held from the first byte of a record to its last
}

type call struct {
	began   time.Time
	kind    kind
	version uint32
	bytes   uint32
	about   *volume
	gate    *volume
}

// way is the route of a call to its server: through which node, and to which server.
type way struct {
	node string
	v4   bool
}

type dblade struct {
	session *session
	way     way
	conn    net.Conn
	locked  bool // it holds session.replies
}

func newSession(b *blade, client net.Conn, port string) *session {
	s := &session{
		blade: b, client: client, port: port,
		seen: map[seenKey]*clientCount{}, calls: map[uint32]call{}, callbacks: map[uint32]*dblade{}, dblades: map[way]*dblade{},
	}
	s.idle = sync.NewCond(&s.mu)
	return s
}

func (s *session) serve() {
	err := newPump(s.client, s).run()
	s.ended.Store(true)
	if err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, io.EOF) {
		s.blade.log.Debug("A connection ended", "client", s.client.RemoteAddr(), "error", err)
	}
	s.awaitReplies()
	_ = s.client.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.dblades {
		_ = d.conn.Close()
	}
	for _, c := range s.calls { // that have no reply
		if c.gate != nil {
			c.gate.leave(1)
		}
	}
	clear(s.calls)
}

// enterAfter waits until a volume takes calls. Earlier calls are in flight already and must not wait with it.
func enterAfter(v *volume, flush func() error) (owner string, err error) {
	owner, free := v.enter(false)
	if free {
		return owner, nil
	}
	if err := flush(); err != nil {
		return "", err
	}
	owner, _ = v.enter(true)
	return owner, nil
}

// wrote is part of sink.
func (s *session) wrote(bool) {}

func (s *session) record(head []byte, flush func() error) (io.Writer, error) {
	h := readCall(head)
	if h.reply {
		return s.callbackReply(h.xid), nil
	}
	about, towards := s.blade.volumes.of(h)
	towards.mu.Lock()
	owner := towards.owner
	towards.mu.Unlock()
	var gate *volume
	if h.kind != kindNone {
		gate = towards
		var err error
		if owner, err = enterAfter(gate, flush); err != nil {
			return nil, err
		}
		s.seenCall(h, about, owner)
		cached, err := towards.limit.Load().pass(h.kind, flush)
		if err != nil {
			return nil, err
		}
		if cached {
			about = nil // the volume does not know about it
		}
	}
	if h.v4 {
		s.blade.countV4(owner)
	}
	s.blade.calls.Add(1)
	s.mu.Lock()
	if old, ok := s.calls[h.xid]; ok && old.gate != nil {
		old.gate.leave(1) // made again with the same xid: one reply is enough
	}
	s.calls[h.xid] = call{time.Now(), h.kind, h.version, h.bytes, about, gate}
	s.mu.Unlock()
	return s.dblade(way{owner, h.v4})
}

// callbackReply is the destination of the reply to a server's call. A reply that nobody waits for is dropped.
func (s *session) callbackReply(xid uint32) io.Writer {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.callbacks[xid]
	delete(s.callbacks, xid)
	if d == nil {
		return io.Discard
	}
	return d.conn
}

func (s *session) dblade(w way) (io.Writer, error) {
	s.mu.Lock()
	d := s.dblades[w]
	s.mu.Unlock()
	if d != nil {
		return d.conn, nil
	}
	address := s.blade.address(w, s.port)
	ctx, cancel := context.WithTimeout(context.Background(), lastWords) //nolint:usetesting // not a test
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("reach the D-blade of %s: %w", w.node, err)
	}
	d = &dblade{session: s, way: w, conn: conn}
	s.mu.Lock()
	s.dblades[w] = d
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
	delete(s.dblades, d.way)
	maps.DeleteFunc(s.callbacks, func(_ uint32, of *dblade) bool { return of == d })
	waiting := len(s.calls) > 0
	s.idle.Broadcast()
	s.mu.Unlock()
	_ = d.conn.Close()
	if waiting || err != nil {
		_ = s.client.Close()
	}
}

func (d *dblade) record(head []byte, _ func() error) (io.Writer, error) {
	s := d.session
	if xid, is := callback(head); is {
		s.mu.Lock()
		s.callbacks[xid] = d
		s.mu.Unlock()
		return d, nil
	}
	var c call
	xid, ok, bytes := readReply(head, func(xid uint32) (kind, uint32) {
		s.mu.Lock()
		defer s.mu.Unlock()
		c = s.calls[xid]
		return c.kind, c.version
	})
	if c.kind == kindWrite && c.version == 3 && ok {
		bytes = c.bytes
	}
	s.end(xid, c, bytes)
	return d, nil
}

func (s *session) end(xid uint32, c call, bytes uint32) {
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
		c.about.count(c.kind, bytes, time.Since(c.began))
	}
	if c.gate != nil {
		c.gate.leave(1)
	}
}

// wrote is part of sink: between records another D-blade may answer.
func (d *dblade) wrote(ended bool) {
	if ended && d.locked {
		d.locked = false
		d.session.replies.Unlock()
	}
}

// Write writes replies to the client, one D-blade at a time.
func (d *dblade) Write(p []byte) (int, error) {
	s := d.session
	if !d.locked {
		s.replies.Lock()
		d.locked = true
	}
	if s.ended.Load() {
		return len(p), nil // nobody listens; the reply itself is what counts
	}
	return s.client.Write(p)
}

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

// pumpBytes is the buffer of a pump: several small records per system call, and
// not many system calls for a large one.
const pumpBytes = 256 << 10

// sink takes what a pump has read.
type sink interface {
	// record is told the head of each record, without its mark, and says where
	// the record goes. flush writes what the pump still holds of former
	// records; record calls it before it waits for anything.
	record(head []byte, flush func() error) (io.Writer, error)
	// wrote follows each write; ended says that it ended with a record.
	wrote(ended bool)
}

// pump copies records from one connection to others. It reads only the head of each record; it
// sends all received records in one write.
type pump struct {
	src  net.Conn
	sink sink
	dst  io.Writer

	buf  []byte
	from int // buf[from:at] goes to dst and was not written
	at   int // buf[at:to] was received and not looked at
	to   int

	left     int  // bytes of the fragment beyond at
	last     bool // the fragment ends its record
	inRecord bool
}

func newPump(src net.Conn, s sink) *pump {
	return &pump{src: src, sink: s, buf: make([]byte, pumpBytes)}
}

// run copies until the source ends, which is no error between records, or
// something fails.
func (p *pump) run() error {
	for {
		n, err := p.src.Read(p.buf[p.to:])
		p.to += n
		if e := p.look(); e != nil {
			return e
		}
		if errors.Is(err, io.EOF) && p.to == 0 && !p.inRecord {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// look goes through what was received and sends it on.
func (p *pump) look() error {
	for p.at < p.to {
		if p.left > 0 {
			n := min(p.left, p.to-p.at)
			p.at += n
			p.left -= n
			p.inRecord = p.left > 0 || !p.last
			continue
		}
		complete, err := p.fragment()
		if err != nil {
			return err
		}
		if !complete {
			break
		}
	}
	if err := p.flush(); err != nil {
		return err
	}
	p.to = copy(p.buf, p.buf[p.at:p.to])
	p.from, p.at = 0, 0
	return nil
}

// fragment begins the fragment at p.at, unless more of its head is needed.
func (p *pump) fragment() (complete bool, err error) {
	rest := p.buf[p.at:p.to]
	if len(rest) < 4 {
		return false, nil
	}
	mark := binary.BigEndian.Uint32(rest)
	size := int(mark &^ lastFragment)
	if !p.inRecord {
		head := min(size, headBytes)
		if len(rest) < 4+head {
			return false, nil
		}
		dst, err := p.sink.record(rest[4:4+head], p.flush)
		if err == nil && dst != p.dst {
			err = p.flush()
			p.dst = dst
		}
		if err != nil {
			return false, err
		}
	}
	p.at += 4
	p.left, p.last = size, mark&lastFragment != 0
	p.inRecord = p.left > 0 || !p.last
	return true, nil
}

// flush writes what was looked at.
func (p *pump) flush() error {
	if p.from == p.at {
		return nil
	}
	_, err := p.dst.Write(p.buf[p.from:p.at])
	p.from = p.at
	p.sink.wrote(!p.inRecord)
	return err
}
