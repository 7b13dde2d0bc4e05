package nfs

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/nfsbench/nfsbench/internal/nfs/v4"
)

// openV4 is one open file at one server.
type openV4 struct {
	server *serverV4
	dir    []byte
	name   string
	handle []byte

	// state is nil while the open is lost. set, lose and loseIf write it under stateMu of the server.
	state   atomic.Pointer[stateV4]
	revoked atomic.Bool           // last must be freed
	broken  atomic.Pointer[error] // why it cannot be reopened

	// Guarded by mu of the server.
	last       v4.StateID
	generation uint32 // of last
	era        uint64 // of the client ID of last
	owner      []byte
	seq        uint32 // of the owner; NFSv4.0
}

// stateV4 is the state ID of an open.
type stateV4 struct {
	id         v4.StateID
	generation uint32 // counts the opens
	era        uint64 // of the client ID
}

// lose drops the state ID until the file is reopened.
func (o *openV4) lose() {
	o.server.stateMu.Lock()
	o.state.Store(nil)
	o.server.stateMu.Unlock()
}

// loseIf drops the state ID of a generation. It returns false if the open has lost that state ID already: a refusal of
// it may come late, even while the file is reopened.
func (o *openV4) loseIf(generation uint32, revoked bool) bool {
	o.server.stateMu.Lock()
	defer o.server.stateMu.Unlock()
	if state := o.state.Load(); state == nil || state.generation != generation {
		return false
	}
	o.revoked.Store(revoked)
	o.state.Store(nil)
	return true
}

// set sets the state ID. The caller holds mu.
func (o *openV4) set(id v4.StateID) {
	if o.server.minor > 0 {
		id.Seq = 0 // the newest one, regardless of other opens (RFC 8881 section 8.2.2)
	}
	o.last = id
	o.generation++
	o.server.stateMu.Lock()
	o.state.Store(&stateV4{id: id, generation: o.generation, era: o.era})
	o.server.stateMu.Unlock()
}

// newOwner gives the open a new owner. Each open has its own owner, so that opens do not wait for each other.
func (o *openV4) newOwner() {
	o.owner = fmt.Appendf(nil, "open %d", o.server.ids.owners.Add(1))
	o.seq = 0
}

// openFile opens a name in a directory, and creates it if how is not nil.
func (s *serverV4) openFile(ctx context.Context, dir FileHandle, name string, how *creation) (*openV4, error) {
	o := &openV4{server: s, dir: []byte(dir), name: name}
	open := v4.Open{Claim: v4.ClaimNull, Name: name}
	if how != nil {
		open.How = v4.CreateUnchecked
		if how.Exclusive {
			open.How = v4.CreateGuarded
		}
		open.Attrs = v4.Attrs{Mask: v4.Bits(v4.AttrMode), Mode: how.Mode}
	}
	var fh v4.GetFH
	if err := o.open(ctx, o.dir, &open, &fh, false); err != nil {
		return nil, err
	}
	o.handle = fh.Handle
	o.take(&open)
	s.stateMu.Lock()
	s.opens[o] = true
	s.stateMu.Unlock()
	return o, nil
}

// open sends OPEN, and with NFSv4.0 OPEN_CONFIRM if the server requires it. If own is set, the caller holds mu.
func (o *openV4) open(ctx context.Context, current []byte, open *v4.Open, fh *v4.GetFH, own bool) error {
	for try := 1; ; try++ {
		if err := o.tryOpen(ctx, current, open, fh, own); err != nil {
			return err
		}
		if open.Flags&v4.OpenConfirmNeeded == 0 || o.server.minor > 0 {
			return nil
		}
		err := o.confirm(ctx, open, fh.Handle, own)
		lost := isLostClient(err) || errors.Is(err, v4.ErrBadStateID) || errors.Is(err, v4.ErrBadSeqID)
		if !lost || own || try == confirmTries {
			return err
		}
		open.How, open.Attrs = v4.NoCreate, v4.Attrs{} // the first try created it
	}
}

// confirmTries bounds how often a server may lose an open before it is confirmed.
const confirmTries = 5

func (o *openV4) tryOpen(ctx context.Context, current []byte, open *v4.Open, fh *v4.GetFH, own bool) error {
	s := o.server
	open.Access, open.Deny = v4.ShareBoth, 0
	if s.minor > 0 {
		open.Access |= v4.WantNoDeleg
	}
	c := &callV4{ops: []v4.Operation{&v4.PutFH{Handle: current}, open, fh}, own: own}
	c.before = func() error {
		// Until all opens are reclaimed, the server refuses other opens.
		if !own && (s.lost.Load() || s.reclaiming.Load()) {
			return s.notReady()
		}
		// A reclaim names the owner that opened the file. NFSv4.1 never changes the owner, so that
		// an open that the server still has stays the same one. NFSv4.0 takes a new owner, because
		// the client cannot know whether the server still has the sequence ID of the old one.
		if o.owner == nil || s.minor == 0 && open.Claim != v4.ClaimPrevious {
			o.newOwner()
		} else {
			o.count(c)
		}
		open.ClientID, open.Owner, open.Seq = s.clientID.Load(), o.owner, o.seq
		return nil
	}
	c.bare = own && s.minor == 0
	attempts, err := s.call(ctx, c)
	if attempts > 1 && open.How == v4.CreateGuarded && errors.Is(err, v4.ErrExist) {
		// The server may have executed an attempt whose reply was lost.
		open.How, open.Attrs = v4.NoCreate, v4.Attrs{}
		_, err = s.call(ctx, c)
	}
	if err != nil {
		return err
	}
	o.era = c.era
	o.seq++
	return nil
}

// confirm sends OPEN_CONFIRM.
func (o *openV4) confirm(ctx context.Context, open *v4.Open, handle []byte, own bool) error {
	confirm := v4.OpenConfirm{StateID: open.StateID}
	c := &callV4{ops: []v4.Operation{&v4.PutFH{Handle: handle}, &confirm}, own: own, fixed: true}
	c.before = func() error {
		o.count(c)
		confirm.Seq = o.seq
		return nil
	}
	if _, err := o.server.call(ctx, c); err != nil {
		return err
	}
	o.seq++
	open.StateID = confirm.Confirmed
	return nil
}

// count increments the owner's sequence ID after a failed answer to c: all errors except these do so (RFC 7530
// section 9.1.7).
func (o *openV4) count(c *callV4) {
	if !c.answered {
		return
	}
	c.answered = false
	switch c.status {
	case v4.OK, v4.ErrStaleClientID, v4.ErrStaleStateID, v4.ErrBadStateID, v4.ErrBadSeqID, v4.ErrBadXDR, v4.ErrResource,
		v4.ErrNoFileHandle, v4.ErrMoved:
	default:
		o.seq++
	}
}

// take records the results of OPEN.
func (o *openV4) take(open *v4.Open) {
	o.set(open.StateID)
	switch open.Granted.Type {
	case v4.DelegationRead, v4.DelegationWrite:
		o.server.giveBack(o.handle, open.Granted.StateID)
	case v4.DelegationNone, v4.DelegationNoneExt:
	}
}

// maxReturning bounds the remembered delegations.
const maxReturning = 4096

// giveBack returns an unrequested delegation once: both OPEN and CB_RECALL may name it.
func (s *serverV4) giveBack(handle []byte, id v4.StateID) {
	s.stateMu.Lock()
	defer s.stateMu.Unlock()
	if s.closed || s.returning[id.Other] {
		return
	}
	if len(s.returning) >= maxReturning {
		clear(s.returning)
	}
	s.returning[id.Other] = true
	s.returns.Add(1)
	s.work.Go(func() {
		defer s.returns.Add(-1)
		s.returnDelegation(handle, id)
	})
}

// returnDelegation sends DELEGRETURN. It frees a revoked delegation.
func (s *serverV4) returnDelegation(handle []byte, id v4.StateID) {
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.CallTimeout)
	defer cancel()
	err := s.do(ctx, &v4.PutFH{Handle: handle}, &v4.DelegReturn{StateID: id})
	if s.minor > 0 && (errors.Is(err, v4.ErrDelegRevoked) || errors.Is(err, v4.ErrAdminRevoked)) {
		err = s.do(ctx, &v4.FreeStateID{StateID: id})
	}
	if err != nil {
		s.logger.Debug("The server did not take a delegation back", "error", err)
	}
}

// reclaim reopens a file that was open before the server restarted. The caller holds mu.
func (o *openV4) reclaim(ctx context.Context) error {
	open := v4.Open{Claim: v4.ClaimPrevious}
	var fh v4.GetFH
	if err := o.open(ctx, o.handle, &open, &fh, true); err != nil {
		return err
	}
	o.take(&open)
	return nil
}

// reopen opens the file as if for the first time. It breaks the open on a permanent error, and returns others. The
// caller holds mu.
func (o *openV4) reopen(ctx context.Context) error {
	if o.revoked.Load() {
		if err := o.free(ctx); err != nil {
			return err
		}
	}
	open := v4.Open{Claim: v4.ClaimFH}
	current := o.handle
	if o.server.minor == 0 {
		open.Claim, open.Name, current = v4.ClaimNull, o.name, o.dir
	}
	var fh v4.GetFH
	err := o.open(ctx, current, &open, &fh, true)
	if err == nil && string(fh.Handle) != string(o.handle) {
		o.closeOther(ctx, fh.Handle, open.StateID)
		err = v4.ErrStale // the name refers to another file now
	}
	switch {
	case err == nil:
		o.take(&open)
	case !willPass(err):
		why := fmt.Errorf("open %q again after the server lost its state: %w", o.name, err)
		o.broken.Store(&why)
		return nil
	}
	return err
}

// willPass reports whether an OPEN may succeed later: the server says so, it lost state again, or there was no
// answer.
func willPass(err error) bool {
	switch statusOf(err) {
	case v4.ErrGrace, v4.ErrBadStateID, v4.ErrBadSeqID:
		return true
	default:
		return !isFinal(err)
	}
}

// closeOther closes a file that was opened by mistake.
func (o *openV4) closeOther(ctx context.Context, handle []byte, id v4.StateID) {
	other := &openV4{server: o.server, handle: handle, seq: o.seq}
	other.state.Store(&stateV4{id: id})
	if err := other.closeAtServer(ctx, true); err != nil {
		o.server.logger.Debug("A file was not closed", "error", err)
	}
}

// close closes the open. If ctx ends first, closing the server closes it.
func (o *openV4) close(ctx context.Context) error {
	s := o.server
	if err := s.mu.lock(ctx); err != nil {
		return err
	}
	s.stateMu.Lock()
	known := s.opens[o]
	delete(s.opens, o)
	s.stateMu.Unlock()
	s.mu.unlock()
	if !known {
		return nil
	}
	err := o.closeAtServer(ctx, false)
	if err != nil && ctx.Err() != nil {
		s.stateMu.Lock()
		s.opens[o] = true
		s.stateMu.Unlock()
	}
	return err
}

// closeAtServer closes the file, unless the open is lost. If own is set, the caller holds mu.
func (o *openV4) closeAtServer(ctx context.Context, own bool) error {
	state := o.state.Swap(nil)
	if state == nil {
		return nil
	}
	end := v4.Close{StateID: state.id}
	c := &callV4{ops: []v4.Operation{&v4.PutFH{Handle: o.handle}, &end}, own: own, fixed: true}
	c.before = func() error {
		o.count(c)
		end.Seq = o.seq
		return nil
	}
	_, err := o.server.call(ctx, c)
	if err != nil && ctx.Err() != nil {
		o.state.CompareAndSwap(nil, state)
	}
	if isLostState(err) || errors.Is(err, v4.ErrStale) {
		return nil // the server has lost the open or the file in the meantime
	}
	return err
}
