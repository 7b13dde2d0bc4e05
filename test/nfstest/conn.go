package nfstest

import (
	"net"
	"sync"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// conn is one connection of a client.
type conn struct {
	nc      net.Conn
	address string
	number  int
	dead    bool       // nothing of it is executed any more; guarded by Server.mu
	sending sync.Mutex // makes a reply leave in one piece
}

func (c *conn) kill() {
	c.dead = true
	_ = c.nc.Close()
}

func (s *Server) accept(l net.Listener, address string) {
	for {
		nc, err := l.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.accepted++
		c := &conn{nc: nc, address: address, number: s.accepted}
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
	var in, out []byte
	for rec.Next() == nil {
		s.gate.RLock()
		s.gate.RUnlock() //nolint:staticcheck // it only waits while somebody stalls the server
		var err error
		if in, err = rec.AppendRest(in[:0]); err != nil {
			return
		}
		var h rpc.CallHeader
		args := xdr.NewDecoder(in)
		head := args.Coder()
		h.Code(&head)
		args = head.Decoder()
		call := Call{Program: h.Program, Procedure: h.Procedure, XID: h.XID, Address: c.address, Conn: c.number}
		action := Answer
		if s.Hook != nil {
			action = s.Hook(call)
		}
		out = s.answer(append(out[:0], 0, 0, 0, 0), c, call, &args, action)
		if !s.reply(c, call, out, action) {
			return
		}
	}
}

// reply sends a reply, now or later; false closes the connection.
func (s *Server) reply(c *conn, call Call, out []byte, action Action) bool {
	if s.Delay == nil {
		return s.send(c, call, out, action)
	}
	wait := s.Delay(call)
	if wait <= 0 {
		return s.send(c, call, out, action)
	}
	later := append([]byte(nil), out...)
	s.wg.Go(func() {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-s.done:
			return
		}
		if !s.send(c, call, later, action) {
			_ = c.nc.Close()
		}
	})
	return true
}

// send writes a reply; it returns false when the connection is to be closed.
func (s *Server) send(c *conn, call Call, out []byte, action Action) bool {
	rpc.PutRecordMark(out, len(out)-rpc.RecordMarkBytes)
	more := true
	switch action {
	case Drop:
		return true
	case Disconnect, Lose:
		return false
	case Truncate:
		out, more = out[:len(out)/2], false
	case Garbage:
		for i := range out[rpc.RecordMarkBytes:] {
			out[rpc.RecordMarkBytes+i] = 0xAA
		}
	case Oversize:
		out[0], out[1] = 0xFF, 0xFF
	case Answer, TryLater, NoSpace, Deny, failing:
	}
	if s.Rewrite != nil {
		var on bool
		out, on = s.Rewrite(call, out)
		more = more && on
	}
	c.sending.Lock()
	defer c.sending.Unlock()
	_, err := c.nc.Write(out)
	if err != nil || !more {
		// Here, or another reply would follow half of this one.
		_ = c.nc.Close()
		return false
	}
	return true
}
