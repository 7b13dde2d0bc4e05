package rpc

import "errors"

// errTooManyCalls says that the table cannot grow any more.
var errTooManyCalls = errors.New("rpc: too many calls outstanding on one connection")

const (
	firstTable = 64
	maxTable   = 1 << 17
)

// table holds the outstanding calls of a connection. The slot of a call is given
// by the low bits of its xid. The table is never more than half full, so that a
// counting xid finds a free slot at once.
type table struct {
	slots []slot
	used  int
	next  uint32
}

// slot is one entry. A used slot without call is an abandoned call: its reply is
// expected and will be skipped. A slot that is not used remembers the call that
// was answered, so that the same reply once more is known for what it is.
type slot struct {
	call     *Call
	xid      uint32
	used     bool
	answered bool
}

func newTable(first uint32) table {
	return table{slots: make([]slot, firstTable), next: first}
}

// at returns the slot of xid, used or not.
func (t *table) at(xid uint32) *slot { return &t.slots[xid&uint32(len(t.slots)-1)] }

// add gives call a slot. It keeps the xid of a retransmission unless another call
// has that slot already.
func (t *table) add(call *Call) error {
	if t.used*2 >= len(t.slots) {
		if err := t.grow(); err != nil {
			return err
		}
	}
	if !call.hasXID || t.at(call.xid).used {
		for t.at(t.next).used {
			t.next++
		}
		call.xid, call.hasXID = t.next, true
		t.next++
	}
	*t.at(call.xid) = slot{call: call, xid: call.xid, used: true}
	t.used++
	return nil
}

// grow doubles the table. Slots that differ in the low bits still differ with one
// bit more, so nothing collides.
func (t *table) grow() error {
	if len(t.slots) >= maxTable {
		return errTooManyCalls
	}
	old := t.slots
	t.slots = make([]slot, 2*len(old))
	for _, s := range old {
		if s.used {
			*t.at(s.xid) = s
		}
	}
	return nil
}

// take frees the slot of xid. The call is nil for an abandoned one and for one
// that was answered before; ok is false when no call had this xid.
func (t *table) take(xid uint32) (call *Call, ok bool) {
	s := t.at(xid)
	if s.xid != xid || (!s.used && !s.answered) {
		return nil, false
	}
	if s.answered {
		return nil, true
	}
	call = s.call
	*s = slot{xid: xid, answered: true}
	t.used--
	return call, true
}

// abandon forgets call but keeps its slot for the reply.
func (t *table) abandon(call *Call) bool {
	s := t.at(call.xid)
	if !s.used || s.call != call {
		return false
	}
	s.call = nil
	return true
}

// oldest returns the smallest Since of all calls; ok is false without calls.
func (t *table) oldest() (since int64, ok bool) {
	for i := range t.slots {
		c := t.slots[i].call
		if c != nil && (!ok || c.Since < since) {
			since, ok = c.Since, true
		}
	}
	return since, ok
}
