package nfs4test

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/internal/nfs/v4"
	"github.com/nfsbench/nfsbench/test/nfs4wire"
)

// stateKind is what a state ID stands for.
type stateKind string

const (
	openState   stateKind = "open"
	delegation  stateKind = "delegation"
	layoutState stateKind = "layout"
)

// state is what a state ID stands for.
type state struct {
	kind    stateKind
	id      v4.StateID
	client  *client
	owner   string
	file    *file
	access  uint32
	ready   bool // confirmed, where NFSv4.0 asks for that
	revoked bool
}

// openOwner is an open owner of NFSv4.0 with its last request (RFC 7530 9.1.7).
type openOwner struct {
	name      string
	seq       uint32
	confirmed bool
	last      v4.Operation
	status    v4.Status
	then      *file // the current file handle after it
}

func (x *compound) newState(kind stateKind, c *client, owner string, f *file) *state {
	x.s.next++
	st := &state{kind: kind, client: c, owner: owner, file: f, ready: true}
	st.id.Seq = 1
	binary.BigEndian.PutUint32(st.id.Other[:], x.d.boot)
	binary.BigEndian.PutUint64(st.id.Other[4:], x.s.next)
	c.states[st.id.Other], x.d.states[st.id.Other] = st, st
	return st
}

// drop forgets a state ID.
func (d *domain) drop(st *state) {
	delete(st.client.states, st.id.Other)
	delete(d.states, st.id.Other)
}

// take forgets a state ID that its client does not know to be gone.
func (d *domain) take(st *state) {
	d.drop(st)
	d.taken[st.id.Other] = true
}

// stateOf returns what a state ID stands for. Its file must be the current one.
func (x *compound) stateOf(id v4.StateID, op v4.Op, kinds ...stateKind) (*state, v4.Status) {
	if x.Minor > 0 && id == current() {
		id = x.current
	}
	if id.Other == (v4.StateID{}).Other || id == bypass() {
		x.s.violate("%s with a special state ID", op)
		return nil, v4.ErrBadStateID
	}
	st, status := lookupState(x.d, id)
	switch {
	case status == v4.ErrBadStateID && !x.d.taken[id.Other]:
		x.s.violate("%s with a state ID that was closed, returned or never given", op)
		return nil, status
	case status != v4.OK:
		return nil, status
	case !slices.Contains(kinds, st.kind):
		x.s.violate("%s with the state ID of a %s", op, st.kind)
		return nil, v4.ErrBadStateID
	case x.client != nil && st.client != x.client:
		x.s.violate("%s with the state ID of another client", op)
		return nil, v4.ErrBadStateID
	case x.file != nil && st.file != x.file:
		x.s.violate("%s with the state ID of another file", op)
		return nil, v4.ErrBadStateID
	case x.Minor == 0 && id.Seq == 0:
		x.s.violate("%s of NFSv4.0 with sequence ID 0 in its state ID", op)
		return nil, v4.ErrBadStateID
	case x.d.expired(x.s, st.client):
		return nil, v4.ErrExpired
	case st.revoked:
		return nil, v4.ErrAdminRevoked
	}
	st.client.renewed = x.s.now()
	return st, v4.OK
}

func lookupState(d *domain, id v4.StateID) (*state, v4.Status) {
	st := d.states[id.Other]
	switch {
	case st == nil && binary.BigEndian.Uint32(id.Other[:]) != d.boot:
		return nil, v4.ErrStaleStateID
	case st == nil || id.Seq > st.id.Seq:
		return nil, v4.ErrBadStateID
	case id.Seq != 0 && id.Seq < st.id.Seq:
		return nil, v4.ErrOldStateID
	}
	return st, v4.OK
}

// sequenceOwner does an operation of an open owner of NFSv4.0 in its turn, or answers a
// retry of the last one.
func (x *compound) sequenceOwner(w *openOwner, seq uint32, o v4.Operation, do func() v4.Status) v4.Status {
	if w.last != nil && seq == w.seq {
		if w.last.Op() != o.Op() {
			x.s.violate("open owner %q: %s with the sequence ID of %s", w.name, o.Op(), w.last.Op())
			return v4.ErrBadSeqID
		}
		if w.then != nil {
			x.file = w.then
		}
		copyResults(o, w.last)
		return w.status
	}
	if w.last != nil && seq != w.seq+1 {
		x.s.violate("open owner %q: sequence ID %d after %d", w.name, seq, w.seq)
		return v4.ErrBadSeqID
	}
	status := do()
	switch status {
	case v4.ErrStaleClientID, v4.ErrStaleStateID, v4.ErrBadStateID, v4.ErrBadSeqID, v4.ErrBadXDR, v4.ErrResource, v4.ErrNoFileHandle:
		return status // these seven do not move it on
	default:
	}
	w.seq, w.last, w.status, w.then = seq, o, status, x.file
	return status
}

// copyResults copies the results of an operation to another of the same type.
func copyResults(to, from v4.Operation) {
	switch to := to.(type) {
	case *v4.Open:
		*to = *from.(*v4.Open)
	case *v4.OpenConfirm:
		*to = *from.(*v4.OpenConfirm)
	case *v4.Close:
		*to = *from.(*v4.Close)
	}
}

func (x *compound) open(o *v4.Open) v4.Status {
	if x.Minor > 0 {
		return x.openFile(o, x.client, nil)
	}
	c, status := x.clientOf(o.ClientID)
	if status != v4.OK {
		return status
	}
	w := c.owners[string(o.Owner)]
	if w == nil {
		w = &openOwner{name: string(o.Owner)}
		c.owners[w.name] = w
	}
	return x.sequenceOwner(w, o.Seq, o, func() v4.Status { return x.openFile(o, c, w) })
}

// openFile is OPEN without the sequence of open owners, which NFSv4.1 does not have.
func (x *compound) openFile(o *v4.Open, c *client, w *openOwner) v4.Status {
	if o.Access&v4.ShareBoth == 0 || x.Minor == 0 && o.Access > v4.ShareBoth {
		x.s.violate("OPEN with share access %#x", o.Access)
		return v4.ErrInval
	}
	if status := x.mayOpen(o, c); status != v4.OK {
		return status
	}
	f, status := x.openName(o)
	if status != v4.OK {
		return status
	}
	x.file = f
	st := x.openOf(c, string(o.Owner), f)
	if st != nil {
		st.id.Seq++
	} else {
		st = x.newState(openState, c, string(o.Owner), f)
	}
	st.access |= o.Access & v4.ShareBoth
	o.StateID, x.current = st.id, st.id
	o.Flags = v4.OpenLockTypePOSIX
	if w != nil {
		// What is reclaimed needs no OPEN_CONFIRM (RFC 7530 9.1.11).
		w.confirmed = w.confirmed || o.Claim == v4.ClaimPrevious
		st.ready = w.confirmed
	}
	if !st.ready {
		o.Flags |= v4.OpenConfirmNeeded
	}
	if x.s.Delegate && st.ready {
		g := x.newState(delegation, c, "", f)
		o.Granted = v4.Delegation{Type: v4.DelegationRead, StateID: g.id}
	}
	return v4.OK
}

func (x *compound) mayOpen(o *v4.Open, c *client) v4.Status {
	if o.Claim == v4.ClaimPrevious {
		switch {
		case !x.d.grace || c.reclaimed:
			return v4.ErrNoGrace
		case !x.d.reclaimable[reclaim{c.owner, string(o.Owner), x.file}]:
			x.s.violate("OPEN reclaims what %q did not have", c.owner)
			return v4.ErrReclaimBad
		}
		return v4.OK
	}
	if x.Minor > 0 && !c.reclaimed && !x.s.lacks(v4.OpReclaimComplete) {
		x.s.violate("OPEN before RECLAIM_COMPLETE")
		return v4.ErrGrace
	}
	if x.d.grace {
		return v4.ErrGrace
	}
	return v4.OK
}

// openName finds or creates the file of an OPEN.
func (x *compound) openName(o *v4.Open) (*file, v4.Status) {
	if o.Claim != v4.ClaimNull {
		if x.file.dir {
			return nil, v4.ErrIsDir
		}
		return x.file, v4.OK
	}
	dir := x.file
	if !dir.dir {
		return nil, v4.ErrNotDir
	}
	o.Change = v4.ChangeInfo{Atomic: true, Before: dir.change, After: dir.change}
	f := x.s.find(dir, o.Name)
	exclusive := o.How == v4.CreateExclusive || o.How == v4.CreateExclusive41
	switch {
	case f != nil && f.dir:
		return nil, v4.ErrIsDir
	case f == nil && o.How == v4.NoCreate:
		return nil, v4.ErrNoEnt
	case f == nil && (dir.fs == 0 || strings.ContainsRune(o.Name, '/')):
		return nil, v4.ErrROFS
	case f == nil:
		f = x.s.add(dir, o.Name, false, dir.fs)
		f.created = o.Verifier
		o.AttrSet = x.setAttrs(f, &o.Attrs)
		o.Change.After = dir.change
	case o.How == v4.CreateGuarded, exclusive && f.created != o.Verifier:
		return nil, v4.ErrExist
	case o.How == v4.CreateUnchecked && o.Attrs.Mask.Has(v4.AttrSize) && o.Attrs.Size == 0:
		x.s.truncate(f, 0)
		o.AttrSet = v4.Bits(v4.AttrSize)
	}
	return f, v4.OK
}

func (x *compound) openOf(c *client, owner string, f *file) *state {
	for _, st := range c.states {
		if st.kind == openState && st.owner == owner && st.file == f && !st.revoked {
			return st
		}
	}
	return nil
}

func (x *compound) ownerOf(st *state) *openOwner { return st.client.owners[st.owner] }

func (x *compound) openConfirm(o *v4.OpenConfirm) v4.Status {
	// A retry: the state ID was replaced.
	for _, c := range x.d.clients {
		for _, w := range c.owners {
			if last, ok := w.last.(*v4.OpenConfirm); ok && last.StateID == o.StateID && last.Seq == o.Seq {
				return x.sequenceOwner(w, o.Seq, o, nil)
			}
		}
	}
	st, status := x.stateOf(o.StateID, o.Op(), openState)
	if status != v4.OK {
		return status
	}
	w := x.ownerOf(st)
	return x.sequenceOwner(w, o.Seq, o, func() v4.Status {
		st.ready, w.confirmed = true, true
		st.id.Seq++
		o.Confirmed = st.id
		return v4.OK
	})
}

func (x *compound) close(o *v4.Close) v4.Status {
	if x.Minor == 0 {
		// A retry: the state is gone, the owner is not.
		for _, c := range x.d.clients {
			for _, w := range c.owners {
				if last, ok := w.last.(*v4.Close); ok && last.StateID == o.StateID && last.Seq == o.Seq {
					return x.sequenceOwner(w, o.Seq, o, nil)
				}
			}
		}
	}
	st, status := x.stateOf(o.StateID, o.Op(), openState)
	if status != v4.OK {
		return status
	}
	do := func() v4.Status {
		x.closeLayouts(st)
		x.d.drop(st)
		o.After = v4.StateID{Seq: ^uint32(0)}
		return v4.OK
	}
	if x.Minor > 0 {
		return do()
	}
	return x.sequenceOwner(x.ownerOf(st), o.Seq, o, do)
}

// io returns the open that a READ, WRITE or SETATTR of the metadata server has.
func (x *compound) io(id v4.StateID, op v4.Op, access uint32) v4.Status {
	st, status := x.stateOf(id, op, openState, delegation)
	switch {
	case status != v4.OK:
		return status
	case !st.ready:
		x.s.violate("%s before OPEN_CONFIRM", op)
		return v4.ErrBadStateID
	case st.kind == openState && st.access&access == 0:
		x.s.violate("%s with an open for access %d", op, st.access)
		return v4.ErrOpenMode
	}
	return v4.OK
}

func (x *compound) read(o *nfs4wire.Read) v4.Status {
	n := &x.s.counters[x.c.address].BytesRead
	x.s.counters[x.c.address].Reads++
	count := min(uint64(o.Count), uint64(x.s.MaxTransfer))
	if x.store != nil {
		if status := x.dataServerIO(o.StateID, o.Offset, uint64(o.Count), false); status != v4.OK {
			return status
		}
		size := uint64(len(x.store.data))
		from := min(o.Offset, size)
		o.Data = x.store.data[from:min(from+count, size)]
		o.EOF = from+uint64(len(o.Data)) == size
		*n += int64(len(o.Data))
		return v4.OK
	}
	if status := x.io(o.StateID, o.Op(), v4.ShareRead); status != v4.OK {
		return status
	}
	o.Data = x.s.readFile(x.file, o.Offset, count)
	o.EOF = o.Offset+uint64(len(o.Data)) >= x.file.size
	*n += int64(len(o.Data))
	return v4.OK
}

func (x *compound) write(o *nfs4wire.Write) v4.Status {
	x.s.counters[x.c.address].Writes++
	p := o.Data[:min(len(o.Data), int(x.s.MaxTransfer))]
	if x.store != nil {
		if status := x.dataServerIO(o.StateID, o.Offset, uint64(len(p)), true); status != v4.OK {
			return status
		}
		x.store.write(o.Offset, p, o.Stable != v4.Unstable)
	} else {
		if status := x.io(o.StateID, o.Op(), v4.ShareWrite); status != v4.OK {
			return status
		}
		x.s.writeFile(x.file, o.Offset, p, o.Stable != v4.Unstable)
	}
	x.s.counters[x.c.address].BytesWritten += int64(len(p))
	o.Count, o.Committed, o.Verifier = uint32(len(p)), o.Stable, x.d.verifier
	return v4.OK
}

func (x *compound) commit(o *v4.Commit) {
	x.s.counters[x.c.address].Commits++
	if o.Verifier = x.d.verifier; x.store != nil {
		x.store.risky = false
		return
	}
	x.file.risky = false
	x.s.commitThrough(x.file)
}

func (x *compound) setAttr(o *v4.SetAttr) v4.Status {
	if o.Attrs.Mask.Has(v4.AttrSize) && o.StateID != (v4.StateID{}) {
		if status := x.io(o.StateID, o.Op(), v4.ShareWrite); status != v4.OK {
			return status
		}
	}
	o.AttrSet = x.setAttrs(x.file, &o.Attrs)
	return v4.OK
}

func (x *compound) delegReturn(o *v4.DelegReturn) v4.Status {
	st, status := x.stateOf(o.StateID, o.Op(), delegation)
	if status == v4.OK {
		x.d.drop(st)
	}
	return status
}

func (x *compound) freeStateID(o *v4.FreeStateID) v4.Status {
	st, status := lookupState(x.d, o.StateID)
	switch {
	case status != v4.OK:
		return status
	case st.client != x.client:
		return v4.ErrBadStateID
	case !st.revoked:
		x.s.violate("FREE_STATEID of an %s that is in use", st.kind)
		return v4.ErrLocksHeld
	}
	x.d.take(st) // I/O that was on its way with it is no violation
	return v4.OK
}

func (x *compound) testStateID(o *v4.TestStateID) v4.Status {
	for _, id := range o.StateIDs {
		st, status := lookupState(x.d, id)
		if status == v4.OK && st.revoked {
			status = v4.ErrAdminRevoked
		}
		o.Statuses = append(o.Statuses, status)
	}
	return v4.OK
}

// bypass is the special state ID of all ones, with which a READ bypasses locks
// (RFC 8881 section 8.2.3).
func bypass() v4.StateID {
	s := v4.StateID{Seq: ^uint32(0)}
	for i := range s.Other {
		s.Other[i] = 0xFF
	}
	return s
}

// current is the special state ID that stands for the one that the operations before
// in the same compound left (RFC 8881 section 16.2.3.1.2); NFSv4.1 only.
func current() v4.StateID { return v4.StateID{Seq: 1} }
