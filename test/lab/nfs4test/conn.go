package nfs4test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"sync"

	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
	"github.com/nfsbench/nfsbench/test/nfs4wire"
)

// Call is what a Hook sees.
type Call struct {
	Address string // the listening address that it came to
	Conn    int    // which connection it came on, counted from 1
	Minor   uint32
	Ops     []v4.Operation // with their arguments
}

// Has reports whether the call has an operation.
func (c Call) Has(op v4.Op) bool {
	for _, o := range c.Ops {
		if o.Op() == op {
			return true
		}
	}
	return false
}

// Action is what happens to a call. The zero Action lets the server answer.
type Action struct {
	// Hold delays the execution until it is closed.
	Hold <-chan struct{}
	// Op fails with Status in place of being executed; those before it are executed. With
	// OpCompound the whole compound is refused.
	Op     v4.Op
	Status v4.Status
	// Disconnect closes the connection without executing the call.
	Disconnect bool
	// Lose executes the call and closes the connection without an answer.
	Lose bool
	// HoldReply delays the reply of a call that was executed until it is closed.
	HoldReply <-chan struct{}
}

// Fail is the action of failing an operation.
func Fail(op v4.Op, status v4.Status) Action { return Action{Op: op, Status: status} }

// conn is one connection of a client.
type conn struct {
	nc      net.Conn
	address string
	number  int
	dead    bool // nothing of it is executed any more; guarded by Server.mu

	fast    fast
	sending sync.Mutex // makes a message leave in one piece

	waiting map[uint32]chan []byte // replies to callbacks, by xid; guarded by Server.mu
}

func (c *conn) kill() {
	c.dead = true
	_ = c.nc.Close()
	for xid, w := range c.waiting {
		close(w)
		delete(c.waiting, xid)
	}
}

func (s *Server) accept(l net.Listener, address string) {
	for {
		nc, err := l.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.accepted++
		c := &conn{nc: nc, address: address, number: s.accepted, waiting: map[uint32]chan []byte{}}
		s.conns[c] = struct{}{}
		s.mu.Unlock()
		s.wg.Go(func() { s.serve(c) })
	}
}

func (s *Server) serve(c *conn) {
	defer func() {
		s.mu.Lock()
		delete(s.conns, c)
		c.kill()
		s.mu.Unlock()
	}()
	rec := rpc.NewRecordReader(c.nc, 32<<20)
	var in []byte
	for rec.Next() == nil {
		var err error
		if in, err = rec.AppendRest(in[:0]); err != nil || len(in) < 8 {
			return
		}
		if s.takeFast(c, in) {
			if !c.write(c.fast.out) {
				return
			}
			continue
		}
		in := bytes.Clone(in) // the rest may keep it
		if binary.BigEndian.Uint32(in[4:]) == 1 {
			s.callbackReply(c, in)
			continue
		}
		if !s.take(c, in) {
			return
		}
	}
}

// take handles a call; false closes the connection.
func (s *Server) take(c *conn, in []byte) bool {
	d := xdr.NewDecoder(in)
	var h rpc.CallHeader
	xdr.Decode(&d, &h)
	if d.Err() != nil || h.Program != v4.Program || h.Version != v4.Version {
		s.record("a call that is none of NFSv4: program %d, version %d, %v", h.Program, h.Version, d.Err())
		return false
	}
	if h.Procedure == v4.ProcNull {
		return s.send(c, h.XID, nil)
	}
	args := in[d.Offset():]
	x := &compound{s: s, c: c, bytes: len(in), args: args}
	if err := nfs4wire.DecodeCall(&d, &x.Compound); err != nil {
		var perr *v4.ProtocolError
		s.record("a compound that cannot be decoded: %v (%v)", err, errors.As(err, &perr))
		return false
	}
	action := Action{}
	if s.Hook != nil {
		action = s.Hook(Call{Address: c.address, Conn: c.number, Minor: x.Minor, Ops: x.Ops})
	}
	if action.Hold == nil && action.HoldReply == nil {
		return s.finish(c, h.XID, x, action)
	}
	s.wg.Go(func() {
		if !s.wait(action.Hold) || !s.finish(c, h.XID, x, action) {
			_ = c.nc.Close()
		}
	})
	return true
}

// wait waits until a channel is closed, if there is one; false: the server stops.
func (s *Server) wait(hold <-chan struct{}) bool {
	if hold == nil {
		return true
	}
	select {
	case <-hold:
		return true
	case <-s.done:
		return false
	}
}

// finish executes and answers a call; false closes the connection.
func (s *Server) finish(c *conn, xid uint32, x *compound, action Action) bool {
	if action.Disconnect {
		return false
	}
	reply, ok := x.run(action)
	if !ok || action.Lose || !s.wait(action.HoldReply) {
		return false
	}
	s.mu.Lock()
	if x.slot != nil && !c.dead {
		x.slot.unanswered = false
	}
	s.mu.Unlock()
	return s.send(c, xid, reply)
}

func (s *Server) send(c *conn, xid uint32, results []byte) bool {
	h := rpc.ReplyHeader{XID: xid}
	out := append(h.Append(make([]byte, rpc.RecordMarkBytes, 64+len(results))), results...)
	return c.write(out)
}

// write sends a message, which begins with room for its record mark.
func (c *conn) write(out []byte) bool {
	rpc.PutRecordMark(out, len(out)-rpc.RecordMarkBytes)
	c.sending.Lock()
	defer c.sending.Unlock()
	_, err := c.nc.Write(out)
	return err == nil
}

// record is violate for callers that do not hold mu.
func (s *Server) record(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.violate(format, args...)
}
