package nfs4test

import (
	"errors"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
	"github.com/nfsbench/nfsbench/test/nfs4wire"
)

// Callback is what a client answered to a callback.
type Callback struct {
	Op  v4.Op
	Err error // nil, or why it failed: *v4.OpError where the client refused it
}

// ErrNoBackChannel says that no session has a connection for callbacks.
var ErrNoBackChannel = errors.New("no back channel")

// ErrNoReply says that the connection ended, or a minute passed, without a reply.
var ErrNoReply = errors.New("no reply to the callback")

// Callbacks returns all callbacks so far.
func (s *Server) Callbacks() []Callback {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Callback(nil), s.callbacks...)
}

// RecallLayouts asks all clients to return the layouts of a file of that name. It returns
// how many it has asked, and their errors.
func (s *Server) RecallLayouts(name string) (asked int, err error) {
	type recall struct {
		c *client
		o *v4.CBLayoutRecall
	}
	var all []recall
	s.mu.Lock()
	for _, d := range s.domains {
		for _, st := range d.states {
			if st.kind != layoutState || st.file.name != name {
				continue
			}
			st.id.Seq++ // RFC 8881 12.5.3
			all = append(all, recall{st.client, &v4.CBLayoutRecall{
				Type: v4.LayoutFiles, IOMode: v4.IOModeAny, Extent: v4.LayoutOfFile, Handle: st.file.handle(),
				Length: v4.ToEnd, StateID: st.id,
			}})
		}
	}
	s.mu.Unlock()
	for _, r := range all {
		err = errors.Join(err, s.callback(r.c, r.o))
	}
	return len(all), err
}

// RecallDelegations asks all clients to return their delegations.
func (s *Server) RecallDelegations() (asked int, err error) {
	var all []*state
	s.mu.Lock()
	for _, d := range s.domains {
		for _, st := range d.states {
			if st.kind == delegation {
				all = append(all, st)
			}
		}
	}
	s.mu.Unlock()
	for _, st := range all {
		err = errors.Join(err, s.callback(st.client, &v4.CBRecall{StateID: st.id, Handle: st.file.handle()}))
	}
	return len(all), err
}

// RecallSlots asks all clients to use no slot above highest.
func (s *Server) RecallSlots(highest uint32) error {
	s.SetTargetSlot(highest)
	return s.Callback(&v4.CBRecallSlot{TargetSlot: highest})
}

// Callback sends an operation to all NFSv4.1 clients that have sessions.
func (s *Server) Callback(o v4.Operation) error {
	var all []*client
	s.mu.Lock()
	for _, d := range s.domains {
		for _, c := range d.clients {
			if len(c.sessions) > 0 {
				all = append(all, c)
			}
		}
	}
	s.mu.Unlock()
	var err error
	for _, c := range all {
		err = errors.Join(err, s.callback(c, o))
	}
	return err
}

// callback sends an operation to a client and waits for the reply.
func (s *Server) callback(c *client, o v4.Operation) error {
	s.calling.Lock()
	defer s.calling.Unlock()
	err := s.exchange(c, o)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.callbacks = append(s.callbacks, Callback{o.Op(), err})
	return err
}

func (s *Server) exchange(c *client, o v4.Operation) error {
	s.mu.Lock()
	var over *conn
	var call v4.CBCompound
	var program uint32
	for _, ss := range c.sessions {
		if over = ss.backConn(); over != nil {
			ss.cbSeq++
			program = ss.program
			call = v4.CBCompound{Minor: 1, Ops: []v4.Operation{&v4.CBSequence{Session: ss.id, Seq: ss.cbSeq}, o}}
			break
		}
	}
	if over == nil {
		s.mu.Unlock()
		return ErrNoBackChannel
	}
	s.next++
	xid, reply := uint32(s.next), make(chan []byte, 1)
	over.waiting[xid] = reply
	s.mu.Unlock()

	h := rpc.CallHeader{XID: xid, Program: program, Version: v4.CallbackVersion, Procedure: v4.CallbackProcCompound}
	over.write(nfs4wire.AppendCallback(xdr.Append(make([]byte, rpc.RecordMarkBytes), &h), &call))
	timer := time.NewTimer(time.Minute)
	defer timer.Stop()
	select {
	case in, ok := <-reply:
		if !ok {
			return ErrNoReply
		}
		return decodeCallback(in, &call)
	case <-timer.C:
		return ErrNoReply
	}
}

func decodeCallback(in []byte, call *v4.CBCompound) error {
	d := xdr.NewDecoder(in)
	var h rpc.ReplyHeader
	h.Decode(&d)
	if err := errors.Join(d.Err(), h.Err()); err != nil {
		return err
	}
	_, err := nfs4wire.DecodeCallbackReply(&d, call)
	return err
}

// callbackReply gives a reply to who waits for it.
func (s *Server) callbackReply(c *conn, in []byte) {
	d := xdr.NewDecoder(in)
	xid := d.Uint32()
	s.mu.Lock()
	defer s.mu.Unlock()
	w := c.waiting[xid]
	if w == nil {
		s.violate("a reply to no callback")
		return
	}
	delete(c.waiting, xid)
	w <- in
}
