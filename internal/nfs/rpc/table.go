package rpc

import "slices"

// table holds the outstanding calls of a connection by xid.
type table struct {
	// calls has nil for an abandoned call, whose reply will be skipped.
	calls map[uint32]*Call
	// past holds the xids of the latest answered calls, to recognize duplicate replies.
	past  [64]uint32
	taken int // answered calls so far
	next  uint32
}

// add enters call. It keeps the xid of a retransmission unless another call has it.
func (t *table) add(call *Call) {
	for _, used := t.calls[call.xid]; !call.hasXID || used; _, used = t.calls[call.xid] {
		call.xid, call.hasXID = t.next, true
		t.next++
	}
	t.calls[call.xid] = call
}

// take removes the call with an xid. The call is nil if it was abandoned, or answered before; ok is false if no call
// had this xid.
func (t *table) take(xid uint32) (call *Call, ok bool) {
	if call, ok = t.calls[xid]; ok {
		delete(t.calls, xid)
		t.past[t.taken%len(t.past)] = xid
		t.taken++
		return call, true
	}
	return nil, slices.Contains(t.past[:min(t.taken, len(t.past))], xid)
}

// abandon forgets call, but keeps its place for the reply.
func (t *table) abandon(call *Call) bool {
	if t.calls[call.xid] != call {
		return false
	}
	t.calls[call.xid] = nil
	return true
}

// oldest returns the smallest Since of all calls; ok is false without calls.
func (t *table) oldest() (since int64, ok bool) {
	for _, c := range t.calls {
		if c != nil && (!ok || c.Since < since) {
			since, ok = c.Since, true
		}
	}
	return since, ok
}
