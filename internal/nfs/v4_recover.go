package nfs

import (
	"context"
	"errors"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/stream"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
)

// Recovery makes again what a server lost or took away, while I/O waits (stream.ErrNotReady):
//
//	session lost     CREATE_SESSION with the same client ID
//	client ID lost   EXCHANGE_ID or SETCLIENTID, sessions, then all opens: reclaimed while the
//	                 server is in its grace period, else opened again; RECLAIM_COMPLETE
//	open lost        opened again
//
// One goroutine for each server does it, which also renews the lease. Whoever meets an error
// of this kind takes the state away and wakes it.

// wake lets the goroutine of the server look for what is lost.
func (s *serverV4) wake() {
	s.recovering.CompareAndSwap(0, s.cfg.Now().UnixNano())
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// loseClient notes that the server does not know the client ID any more.
func (s *serverV4) loseClient() {
	if !s.lostClient.Swap(true) {
		s.wake()
	}
}

// look reads the flags of a SEQUENCE (RFC 8881 section 18.46.3). It costs nothing when none
// is set.
func (s *serverV4) look(flags uint32) {
	if s.use&v4.ExchangeUsePNFSDS != 0 {
		return // they are about state, which a data server does not keep
	}
	const taken = v4.SeqExpiredAllStateRevoked | v4.SeqExpiredSomeStateRevoked | v4.SeqAdminStateRevoked |
		v4.SeqRecallableStateRevoked
	if flags&taken != 0 && !s.revoked.Swap(true) {
		s.wake()
	}
	if flags&v4.SeqRestartReclaimNeeded != 0 {
		s.loseClient()
	}
}

// manage keeps the lease and recovers until ctx ends.
func (s *serverV4) manage(ctx context.Context) {
	defer close(s.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		lease := time.Duration(s.lease.Load())
		timer.Reset(max(lease/leaseShare, time.Millisecond))
		select {
		case <-ctx.Done():
			return
		case <-s.kick:
			s.recover(ctx)
		case <-timer.C:
			s.renew(ctx)
		}
	}
}

// renew renews the lease unless I/O has done so just now.
func (s *serverV4) renew(ctx context.Context) {
	lease := s.lease.Load()
	if s.minor > 0 && s.transport.clock.Load()-s.touched.Load() < lease/leaseShare {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(lease))
	defer cancel()
	s.mu.Lock()
	var err error
	if s.minor == 0 {
		err = s.own(ctx, &v4.Renew{ClientID: s.clientID.Load()})
	} else {
		err = s.own(ctx) // SEQUENCE alone
	}
	s.mu.Unlock()
	if err != nil && ctx.Err() == nil {
		s.logger.Debug("The lease was not renewed", "server", s.describe(), "error", err)
		s.recover(ctx)
	}
}

// recover makes lost state again. It tries until it succeeds or ctx ends: how long an I/O
// waits for it is the I/O's own business.
func (s *serverV4) recover(ctx context.Context) {
	began := s.recovering.Load()
	for wait := recoverFirst; ctx.Err() == nil; wait = min(2*wait, recoverMax) {
		s.mu.Lock()
		err := s.recoverOnce(ctx)
		s.mu.Unlock()
		if err == nil {
			break
		}
		s.logger.Warn("Cannot recover the state at the server yet", "server", s.describe(), "error", err)
		if !sleep(ctx, wait) {
			return
		}
	}
	if began != 0 && s.recovering.CompareAndSwap(began, 0) {
		took := s.cfg.Now().UnixNano() - began
		s.recoveries.Add(1)
		s.recoveryTime.Add(took)
		s.logger.Warn("Recovered the state at the server", "server", s.describe(), "took", time.Duration(took))
	}
}

// recoverOnce makes everything that is lost now. mu is held.
func (s *serverV4) recoverOnce(ctx context.Context) error {
	reclaim := s.lostClient.Swap(false)
	if !reclaim && s.minor > 0 {
		err := s.makeSessions(ctx)
		if reclaim = isLostClient(err); !reclaim && err != nil {
			return err
		}
	}
	if reclaim {
		s.logger.Warn("The server lost the state of this client", "server", s.describe())
		for o := range s.opens {
			o.lose()
		}
		if s.loseLayouts != nil {
			s.loseLayouts()
		}
		if err := s.establish(ctx); err != nil {
			s.lostClient.Store(true)
			return err
		}
	}
	if s.revoked.Swap(false) {
		if err := s.freeRevoked(ctx); err != nil {
			s.revoked.Store(true)
			return err
		}
	}
	// All reclaims come before RECLAIM_COMPLETE, all other opens after it.
	var again []*openV4
	for o := range s.opens {
		if o.state.Load() != nil || o.broken.Load() != nil {
			continue
		}
		if !reclaim || o.reclaim(ctx) != nil {
			again = append(again, o)
		}
	}
	if reclaim && s.minor > 0 {
		if err := s.reclaimComplete(ctx); err != nil {
			return err
		}
	}
	for _, o := range again {
		if err := o.reopen(ctx); err != nil {
			if isLostClient(err) {
				s.lostClient.Store(true)
			}
			return err
		}
	}
	return nil
}

func isLostClient(err error) bool {
	return errors.Is(err, v4.ErrStaleClientID) || errors.Is(err, v4.ErrStaleStateID) || errors.Is(err, v4.ErrExpired)
}

// freeRevoked asks which state IDs the server revoked and frees these, so that it stops
// saying that there are some (RFC 8881 section 8.5). mu is held.
func (s *serverV4) freeRevoked(ctx context.Context) error {
	if s.minor == 0 {
		return nil
	}
	for o := range s.opens {
		id := o.last
		test := v4.TestStateID{StateIDs: []v4.StateID{id}}
		if err := s.own(ctx, &test); err != nil {
			return err
		}
		if len(test.Statuses) != 1 || test.Statuses[0] == v4.OK {
			continue
		}
		o.lose()
		// It may be gone already.
		if err := s.own(ctx, &v4.FreeStateID{StateID: id}); err != nil && statusOf(err) == v4.OK {
			return err
		}
	}
	return nil
}

// lostOpen says what follows a reply that refuses the state ID of an open.
func (o *openV4) refused(mark uint32, status v4.Status) (stream.Next, bool) {
	switch status {
	case v4.ErrBadStateID, v4.ErrOldStateID, v4.ErrAdminRevoked, v4.ErrDelegRevoked:
		if o.generation.Load() == mark {
			o.lose()
			o.server.wake()
		}
		return stream.Recover, true
	case v4.ErrExpired, v4.ErrStaleStateID, v4.ErrStaleClientID:
		if o.generation.Load() == mark {
			o.server.loseClient()
		}
		return stream.Recover, true
	default:
		return stream.Finish, false
	}
}
