package nfs

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/nfsbench/nfsbench/internal/nfs/stream"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
)

// openV4 is one open file at one server.
type openV4 struct {
	server *serverV4
	dir    []byte
	name   string
	handle []byte

	// state is nil while the open is lost. generation counts the opens.
	state      atomic.Pointer[v4.StateID]
	generation atomic.Uint32
	broken     atomic.Pointer[error] // why it cannot be opened again

	// Guarded by mu of the server.
	last  v4.StateID
	owner []byte
	seq   uint32 // of the owner; NFSv4.0
	tries int    // owners so far
}

var owners atomic.Uint64

// lose takes the state ID away until the file is opened again.
func (o *openV4) lose() { o.state.Store(nil) }

// set makes a state ID the one that is used. mu is held.
func (o *openV4) set(id v4.StateID) {
	if o.server.minor > 0 {
		id.Seq = 0 // the newest one, whatever else was opened meanwhile (RFC 8881 section 8.2.2)
	}
	o.last = id
	o.generation.Add(1)
	o.state.Store(&id)
}

// newOwner gives the open an owner that the server does not know yet: each open has one of
// its own, so that opens wait for no other.
func (o *openV4) newOwner() {
	o.owner = fmt.Appendf(nil, "open %d", owners.Add(1))
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
	s.mu.Lock()
	defer s.mu.Unlock()
	o.take(&open)
	s.opens[o] = true
	return o, nil
}

// open makes OPEN, and with NFSv4.0 OPEN_CONFIRM where the server wants that.
func (o *openV4) open(ctx context.Context, current []byte, open *v4.Open, fh *v4.GetFH, own bool) error {
	s := o.server
	open.Access, open.Deny = v4.ShareBoth, 0
	if s.minor > 0 {
		open.Access |= v4.WantNoDeleg
	}
	ops := []v4.Operation{&v4.PutFH{Handle: current}, open, fh}
	c := &callV4{ops: ops, own: own, before: func() error {
		// An owner that has been answered is not used again: its sequence would have to move on
		// for some errors and not for others (RFC 7530 section 9.1.7).
		if o.newOwner(); s.lostClient.Load() && !own {
			return stream.ErrNotReady
		}
		open.ClientID, open.Owner, open.Seq = s.clientID.Load(), o.owner, o.seq
		return nil
	}}
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
	o.seq++
	if open.Flags&v4.OpenConfirmNeeded == 0 || s.minor > 0 {
		return nil
	}
	confirm := v4.OpenConfirm{StateID: open.StateID, Seq: o.seq}
	if _, err := s.call(ctx, &callV4{ops: []v4.Operation{&v4.PutFH{Handle: fh.Handle}, &confirm}, own: own}); err != nil {
		return err
	}
	o.seq++
	open.StateID = confirm.Confirmed
	return nil
}

// take keeps the results of OPEN. mu is held.
func (o *openV4) take(open *v4.Open) {
	o.set(open.StateID)
	switch open.Granted.Type {
	case v4.DelegationRead, v4.DelegationWrite:
		go o.server.returnDelegation(o.handle, open.Granted.StateID)
	case v4.DelegationNone, v4.DelegationNoneExt:
	}
}

// returnDelegation gives back a delegation that nobody asked for.
func (s *serverV4) returnDelegation(handle []byte, id v4.StateID) {
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.CallTimeout)
	defer cancel()
	if err := s.do(ctx, &v4.PutFH{Handle: handle}, &v4.DelegReturn{StateID: id}); err != nil {
		s.logger.Debug("The server did not take a delegation back", "error", err)
	}
}

// reclaim opens the file as one that was open before the server restarted. mu is held.
func (o *openV4) reclaim(ctx context.Context) error {
	open := v4.Open{Claim: v4.ClaimPrevious}
	var fh v4.GetFH
	if err := o.open(ctx, o.handle, &open, &fh, true); err != nil {
		return err
	}
	o.take(&open)
	return nil
}

// reopen opens the file as if for the first time. Errors that will not pass break the open;
// others are returned. mu is held.
func (o *openV4) reopen(ctx context.Context) error {
	open := v4.Open{Claim: v4.ClaimFH}
	current := o.handle
	if o.server.minor == 0 {
		open.Claim, open.Name, current = v4.ClaimNull, o.name, o.dir
	}
	var fh v4.GetFH
	err := o.open(ctx, current, &open, &fh, true)
	if err == nil && string(fh.Handle) != string(o.handle) {
		err = v4.ErrStale // another file has the name now
	}
	switch statusOf(err) {
	case v4.OK:
		if err == nil {
			o.take(&open)
		}
		return err
	case v4.ErrStale, v4.ErrNoEnt, v4.ErrAccess, v4.ErrPerm, v4.ErrROFS, v4.ErrFHExpired, v4.ErrBadHandle:
		why := fmt.Errorf("open %q again after the server lost its state: %w", o.name, err)
		o.broken.Store(&why)
		return nil
	default:
		return err
	}
}

// close ends the open.
func (o *openV4) close(ctx context.Context) error {
	s := o.server
	s.mu.Lock()
	if !s.opens[o] {
		s.mu.Unlock()
		return nil
	}
	delete(s.opens, o)
	s.mu.Unlock()
	return o.closeAtServer(ctx, false)
}

// closeAtServer closes the file, unless the open is lost already. own says that mu is held.
func (o *openV4) closeAtServer(ctx context.Context, own bool) error {
	id := o.state.Swap(nil)
	if id == nil {
		return nil
	}
	c := &callV4{ops: []v4.Operation{&v4.PutFH{Handle: o.handle}, &v4.Close{Seq: o.seq, StateID: *id}}, own: own}
	_, err := o.server.call(ctx, c)
	switch statusOf(err) {
	case v4.ErrBadStateID, v4.ErrOldStateID, v4.ErrStaleStateID, v4.ErrExpired, v4.ErrAdminRevoked:
		return nil // the server has lost it meanwhile
	default:
		return err
	}
}
