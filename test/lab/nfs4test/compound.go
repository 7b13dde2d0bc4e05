package nfs4test

import (
	"hash/maphash"
	"slices"

	"github.com/nfsbench/nfsbench/internal/nfs/v4"
	"github.com/nfsbench/nfsbench/test/nfs4wire"
)

// replyHeaderBytes is the size of an RPC reply without its results.
const replyHeaderBytes = 24

// compound is a call that is being executed.
type compound struct {
	v4.Compound
	s     *Server
	c     *conn
	d     *domain
	id    Identity
	bytes int    // of the whole message
	args  []byte // of COMPOUND, to compare a retry with

	client  *client  // NFSv4.1: of the session
	session *session // NFSv4.1
	slot    *slot    // NFSv4.1: of a request that is executed or replayed
	file    *file    // the current file handle, but at a data server:
	saved   *file    // the saved file handle
	store   *content
	current v4.StateID // the current state ID
}

// run executes the compound and returns the results; false: the connection is dead.
func (x *compound) run(action Action) (reply []byte, ok bool) {
	s := x.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if x.c.dead {
		return nil, false
	}
	x.id, x.d = s.identity(x.c.address), s.domain(x.c.address)
	s.counters[x.c.address].Compounds++
	if status := x.refused(action); status != v4.OK {
		return nfs4wire.AppendReply(nil, &v4.Compound{Tag: x.Tag}, status, 0), true
	}
	if !x.sequenced() {
		status, done := x.runOps(action, 0)
		return nfs4wire.AppendReply(nil, &x.Compound, status, done), true
	}
	q := x.Ops[0].(*v4.Sequence)
	status, replay := x.sequence(q, action)
	switch {
	case status != v4.OK:
		return nfs4wire.AppendReply(nil, &x.Compound, status, 0), true
	case replay && x.slot.reply == nil:
		return nfs4wire.AppendReply(nil, &v4.Compound{Tag: x.Tag, Ops: x.Ops[:min(2, len(x.Ops))]}, v4.ErrRetryUncachedRep, 1), true
	case replay:
		return x.slot.reply, true
	}
	status, done := x.runOps(action, 1)
	reply = nfs4wire.AppendReply(nil, &x.Compound, status, done)
	x.slot.reply, x.slot.unanswered = nil, true
	if q.CacheThis || len(x.Ops) == 1 {
		x.slot.reply = reply
	}
	x.checkReply(len(reply))
	return reply, true
}

// checkReply holds the size of the results against the limit of the session.
func (x *compound) checkReply(results int) {
	if n, limit := uint32(results+replyHeaderBytes), x.session.fore.MaxResponse; n > limit {
		x.s.violate("a request whose reply has %d bytes, more than ca_maxresponsesize %d", n, limit)
	}
}

// hash tells requests apart.
func (x *compound) hash() uint64 { return maphash.Bytes(x.s.seed, x.args) }

func (x *compound) sequenced() bool {
	return x.Minor > 0 && len(x.Ops) > 0 && x.Ops[0].Op() == v4.OpSequence
}

// refused returns why no operation of the compound is looked at.
func (x *compound) refused(action Action) v4.Status {
	switch {
	case !slices.Contains(x.s.Minors, x.Minor):
		return v4.ErrMinorVersMismatch
	case action.Status != v4.OK && action.Op == v4.OpCompound:
		return action.Status
	case x.Minor == 0 || len(x.Ops) == 0 || x.sequenced():
		return v4.OK
	}
	// The operations of RFC 8881 2.10.2.2 that need no SEQUENCE are alone then.
	switch x.Ops[0].Op() {
	case v4.OpExchangeID, v4.OpCreateSession, v4.OpDestroySession, v4.OpBindConnToSession, v4.OpDestroyClientID:
		if len(x.Ops) > 1 {
			x.s.violate("%s without SEQUENCE and not alone", x.Ops[0].Op())
			return v4.ErrNotOnlyOp
		}
	default:
		x.s.violate("%s without SEQUENCE", x.Ops[0].Op())
		return v4.ErrOpNotInSession
	}
	return v4.OK
}

func (s *Server) lacks(op v4.Op) bool { return slices.Contains(s.Lacks, op) }

// runOps executes the operations from a place on.
func (x *compound) runOps(action Action, from int) (status v4.Status, done int) {
	for i := from; i < len(x.Ops); i++ {
		switch op := x.Ops[i].Op(); {
		case action.Status != v4.OK && action.Op == op:
			status = action.Status
		case x.s.lacks(op):
			status = v4.ErrNotSupp
		default:
			status = x.run1(x.Ops[i])
		}
		if status != v4.OK {
			return status, i
		}
	}
	return v4.OK, len(x.Ops)
}

// sequence is SEQUENCE (RFC 8881 18.46, 2.10.6.1). A replay is answered from the slot.
func (x *compound) sequence(q *v4.Sequence, action Action) (status v4.Status, replay bool) {
	ss := x.d.sessions[q.Session]
	if ss == nil || ss.minor != x.id.Minor || x.d.expired(x.s, ss.client) {
		return v4.ErrBadSession, false
	}
	if x.s.RequireBind && !ss.bound[x.c] {
		return v4.ErrConnNotBoundToSession, false
	}
	if action.Status != v4.OK && action.Op == v4.OpSequence {
		return action.Status, false
	}
	if status := x.checkSequence(q, ss); status != v4.OK {
		return status, false
	}
	x.session, x.client, x.slot = ss, ss.client, &ss.slots[q.Slot]
	ss.client.renewed = x.s.now()
	q.Reply = v4.SequenceHead{
		Session: q.Session, Seq: q.Seq, Slot: q.Slot, HighestSlot: uint32(len(ss.slots)) - 1,
		TargetSlot: min(x.s.target, uint32(len(ss.slots))-1), Flags: x.statusFlags(),
	}
	sl := x.slot
	switch {
	case q.Seq == sl.seq && q.Seq > 0 && sl.request != x.hash():
		x.s.violate("slot %d: a retry that differs from the first try", q.Slot)
		return v4.ErrSeqFalseRetry, false
	case q.Seq == sl.seq && q.Seq > 0:
		return v4.OK, true
	case q.Seq != sl.seq+1:
		x.s.violate("slot %d: sequence ID %d after %d", q.Slot, q.Seq, sl.seq)
		return v4.ErrSeqMisordered, false
	case sl.unanswered:
		x.s.violate("slot %d: used for sequence ID %d before %d was answered", q.Slot, q.Seq, sl.seq)
	}
	sl.seq, sl.request = q.Seq, x.hash()
	return v4.OK, false
}

// checkSequence holds a request against the limits of its session.
func (x *compound) checkSequence(q *v4.Sequence, ss *session) v4.Status {
	switch {
	case int(q.Slot) >= len(ss.slots):
		x.s.violate("slot %d of a session of %d", q.Slot, len(ss.slots))
		return v4.ErrBadSlot
	case q.HighestSlot < q.Slot || int(q.HighestSlot) >= len(ss.slots):
		x.s.violate("slot %d with highest slot %d, of %d", q.Slot, q.HighestSlot, len(ss.slots))
		return v4.ErrBadHighSlot
	case uint32(x.bytes) > ss.fore.MaxRequest:
		x.s.violate("a request of %d bytes, more than ca_maxrequestsize %d", x.bytes, ss.fore.MaxRequest)
		return v4.ErrReqTooBig
	case uint32(len(x.Ops)) > ss.fore.MaxOperations:
		x.s.violate("a request of %d operations, more than ca_maxoperations %d", len(x.Ops), ss.fore.MaxOperations)
		return v4.ErrTooManyOps
	}
	return v4.OK
}

func (x *compound) statusFlags() uint32 {
	flags := x.s.flags
	for _, st := range x.client.states {
		if st.revoked {
			flags |= v4.SeqAdminStateRevoked
		}
	}
	if x.session.wantsBack && x.session.backConn() == nil {
		flags |= v4.SeqCBPathDownSession
	}
	return flags
}

// run1 executes one operation behind SEQUENCE.
func (x *compound) run1(o v4.Operation) v4.Status {
	if x.id.Data {
		if status := x.allowedAtDataServer(o.Op()); status != v4.OK {
			return status
		}
	}
	if needsFile(o.Op()) && x.file == nil && x.store == nil {
		x.s.violate("%s without a current file handle", o.Op())
		return v4.ErrNoFileHandle
	}
	if status, ok := x.runSession(o); ok {
		return status
	}
	if status, ok := x.runState(o); ok {
		return status
	}
	switch o := o.(type) {
	case *v4.PutRootFH:
		x.file = x.s.files[0]
	case *v4.PutFH:
		return x.putFH(o.Handle)
	case *v4.Lookup:
		return x.lookup(o.Name)
	case *v4.GetFH:
		o.Handle = x.file.handle()
	case *v4.GetAttr:
		x.s.counters[x.c.address].GetAttrs++
		o.Attrs = x.attrs(x.file, o.Request)
	case *v4.ReadDir:
		return x.readDir(o)
	case *v4.Create:
		return x.create(o)
	case *v4.Remove:
		return x.remove(o)
	case *v4.SaveFH:
		x.saved = x.file
	case *v4.Rename:
		return x.rename(o)
	case *v4.Unsupported:
		return o.Status
	default:
		return v4.ErrNotSupp
	}
	return v4.OK
}

// runSession executes the operations of clients and sessions.
func (x *compound) runSession(o v4.Operation) (v4.Status, bool) {
	switch o := o.(type) {
	case *v4.SetClientID:
		return x.setClientID(o), true
	case *v4.SetClientIDConfirm:
		return x.confirmClientID(o), true
	case *v4.Renew:
		_, status := x.clientOf(o.ClientID)
		return status, true
	case *v4.ExchangeID:
		return x.exchangeID(o), true
	case *v4.CreateSession:
		return x.createSession(o), true
	case *v4.BindConnToSession:
		return x.bindConn(o), true
	case *v4.DestroySession:
		return x.destroySession(o), true
	case *v4.DestroyClientID:
		return x.destroyClientID(o), true
	case *v4.ReclaimComplete:
		return x.reclaimComplete(o), true
	case *v4.Sequence:
		x.s.violate("SEQUENCE that is not the first operation")
		return v4.ErrSequencePos, true
	}
	return v4.OK, false
}

// runState executes the operations that have a state ID.
func (x *compound) runState(o v4.Operation) (v4.Status, bool) {
	switch o := o.(type) {
	case *v4.Open:
		return x.open(o), true
	case *v4.OpenConfirm:
		return x.openConfirm(o), true
	case *v4.Close:
		return x.close(o), true
	case *nfs4wire.Read:
		return x.read(o), true
	case *nfs4wire.Write:
		return x.write(o), true
	case *v4.Commit:
		x.commit(o)
		return v4.OK, true
	case *v4.SetAttr:
		return x.setAttr(o), true
	case *v4.DelegReturn:
		return x.delegReturn(o), true
	case *v4.FreeStateID:
		return x.freeStateID(o), true
	case *v4.TestStateID:
		return x.testStateID(o), true
	case *v4.LayoutGet:
		return x.layoutGet(o), true
	case *v4.LayoutCommit:
		return x.layoutCommit(o), true
	case *v4.LayoutReturn:
		return x.layoutReturn(o), true
	case *v4.GetDeviceInfo:
		return x.getDeviceInfo(o), true
	}
	return v4.OK, false
}

func needsFile(op v4.Op) bool {
	switch op {
	case v4.OpLookup, v4.OpGetFH, v4.OpGetAttr, v4.OpReadDir, v4.OpCreate, v4.OpRemove, v4.OpRename, v4.OpSaveFH, v4.OpOpen,
		v4.OpOpenConfirm, v4.OpClose, v4.OpRead, v4.OpWrite, v4.OpCommit, v4.OpSetAttr, v4.OpDelegReturn,
		v4.OpLayoutGet, v4.OpLayoutCommit:
		return true
	default:
		return false
	}
}
