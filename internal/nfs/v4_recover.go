package nfs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/stream"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
)

// Recovery restores state that a server lost or revoked, while I/O waits (stream.ErrNotReady):
//
//	session lost     CREATE_SESSION with the same client ID
//	client ID lost   EXCHANGE_ID or SETCLIENTID, sessions, then all opens: reclaimed while the
//	                 server is in its grace period, else opened again; RECLAIM_COMPLETE
//	open lost        opened again
//
// One goroutine per server recovers state and renews the lease. A caller that gets such an error drops the state and
// wakes that goroutine.

// wake makes the goroutine of the server look for lost state. From now on I/O waits.
func (s *serverV4) wake() {
	s.recovering.CompareAndSwap(0, s.cfg.Now().UnixNano())
	s.nudge()
}

// nudge does the same as wake, but I/O does not wait.
func (s *serverV4) nudge() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// notReady returns stream.ErrNotReady with the error that keeps recovery from succeeding.
func (s *serverV4) notReady() error {
	if trouble := s.trouble.Load(); trouble != nil {
		return fmt.Errorf("%w: %w", stream.ErrNotReady, *trouble)
	}
	return stream.ErrNotReady
}

// loseClient records that the server has lost the client ID of an era. It returns false if there is a newer client
// ID.
func (s *serverV4) loseClient(era uint64) bool {
	s.stateMu.Lock()
	defer s.stateMu.Unlock()
	if era != s.era.Load() {
		return false
	}
	if !s.lost.Swap(true) {
		s.wake()
	}
	return true
}

// look reads the flags of a SEQUENCE (RFC 8881 section 18.46.3). It costs nothing when none is set. A server repeats
// a flag until the client has acted, and some servers longer. The client acts on a flag once, and again after a
// renewal of the lease.
func (s *serverV4) look(flags uint32) {
	if s.use&v4.ExchangeUsePNFSDS != 0 {
		return // the flags concern state, which a data server does not keep
	}
	const taken = v4.SeqExpiredAllStateRevoked | v4.SeqExpiredSomeStateRevoked | v4.SeqAdminStateRevoked |
		v4.SeqRecallableStateRevoked
	const down = v4.SeqCBPathDown | v4.SeqCBPathDownSession
	if flags&taken != 0 && !s.revoked.Swap(true) {
		s.nudge()
	}
	if flags&down != 0 && !s.pathDown.Swap(true) {
		s.nudge()
	}
	if flags&v4.SeqRestartReclaimNeeded != 0 && s.completed.CompareAndSwap(true, false) {
		s.restarted.Store(true)
		s.wake()
	}
}

// manage renews the lease and recovers state until ctx ends. Its calls end with life.
func (s *serverV4) manage(ctx, life context.Context) {
	defer close(s.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		lease := time.Duration(s.lease.Load())
		timer.Reset(max(lease/leaseShare, time.Millisecond))
		select {
		case <-ctx.Done():
			return
		case <-s.kick:
			s.recover(ctx, life)
		case <-timer.C:
			s.renew(life)
		}
	}
}

// renew renews the lease, unless recent calls have renewed it.
func (s *serverV4) renew(ctx context.Context) {
	s.revoked.Store(false)
	s.pathDown.Store(false)
	lease := s.lease.Load()
	if s.minor > 0 && s.transport.clock.Load()-s.touched.Load() < lease/leaseShare {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(lease))
	defer cancel()
	if s.mu.lock(ctx) != nil {
		return
	}
	var err error
	if s.minor == 0 {
		err = s.own(ctx, &v4.Renew{ClientID: s.clientID.Load()})
	} else {
		err = s.own(ctx) // SEQUENCE alone
	}
	s.mu.unlock()
	if err != nil && ctx.Err() == nil {
		s.logger.Debug("The lease was not renewed", "server", s.describe(), "error", err)
		s.nudge()
	}
}

// recover recovers lost state. It retries until it succeeds, or until ctx or life ends. The timeouts of I/O that
// waits are independent of it.
func (s *serverV4) recover(ctx, life context.Context) {
	began, made, level := s.cfg.Now().UnixNano(), false, slog.LevelWarn
	for wait := stream.RecoverFirst; ; wait = min(2*wait, stream.RecoverMax) {
		if ctx.Err() != nil || s.mu.lock(ctx) != nil {
			return
		}
		found, err := s.recoverOnce(life)
		s.mu.unlock()
		made = made || found
		if err == nil {
			s.trouble.Store(nil)
			break
		}
		s.trouble.Store(&err)
		s.logger.Log(ctx, level, "Cannot recover the state at the server yet", "server", s.describe(), "error", err)
		level = slog.LevelDebug
		if !sleep(ctx, wait) {
			return
		}
	}
	if since := s.recovering.Swap(0); since != 0 {
		began = min(began, since)
	}
	if !made {
		return
	}
	took := s.cfg.Now().UnixNano() - began
	s.recoveries.Add(1)
	s.recoveryTime.Add(took)
	s.logger.Warn("Recovered the state at the server", "server", s.describe(), "took", time.Duration(took))
}

// recoverOnce recovers all state that is lost now. The result made reports whether anything was lost and made
// again. The caller holds mu.
func (s *serverV4) recoverOnce(ctx context.Context) (made bool, err error) {
	s.dropOrphans(ctx)
	if s.lost.Load() {
		made = true
		s.logger.Warn("The server lost the state of this client", "server", s.describe())
		s.loseOpens()
		if err := s.establish(ctx); err != nil {
			return made, err
		}
	}
	replaced, err := s.recoverSessions(ctx)
	if made = made || replaced; err != nil {
		return made, err
	}
	if s.restarted.Swap(false) {
		s.reclaiming.Store(true)
		s.loseOpens()
	}
	if s.revoked.Load() {
		if err := s.freeRevoked(ctx); err != nil {
			return made, err
		}
	}
	reopened, err := s.recoverOpens(ctx)
	return made || reopened, err
}

// recoverSessions creates missing sessions, and binds all connections if the server has none for callbacks.
func (s *serverV4) recoverSessions(ctx context.Context) (made bool, err error) {
	if s.minor == 0 {
		return false, nil
	}
	made = s.lacksSession()
	err = s.makeSessions(ctx)
	if isLostClient(err) {
		s.loseClient(s.era.Load())
	}
	if err == nil && !made && s.pathDown.Load() {
		s.bindAll(ctx)
	}
	return made, err
}

// loseOpens drops the opens and layouts, which depend on the client ID.
func (s *serverV4) loseOpens() {
	for _, o := range s.openList() {
		o.lose()
	}
	if s.loseLayouts != nil {
		s.loseLayouts()
	}
}

func (s *serverV4) lacksSession() bool {
	for t := range s.tables {
		if ids, _ := t.IDs(); ids == nil {
			return true
		}
	}
	return false
}

// recoverOpens reopens lost opens. All reclaims come before RECLAIM_COMPLETE, all other opens after it. The caller
// holds mu.
func (s *serverV4) recoverOpens(ctx context.Context) (made bool, err error) {
	lost := slices.DeleteFunc(s.openList(), func(o *openV4) bool {
		return o.state.Load() != nil || o.broken.Load() != nil
	})
	again := lost
	if s.reclaiming.Load() {
		if again, err = s.reclaimOpens(ctx, lost); err != nil {
			return len(lost) > 0, err
		}
	}
	var errs []error
	for _, o := range again {
		err := o.reopen(ctx)
		errs = append(errs, err)
		if err != nil && !isFinal(err) {
			break // the next one would fail, too
		}
	}
	return len(lost) > 0, errors.Join(errs...)
}

// reclaimOpens reclaims opens, and then ends the reclaim phase. It returns the opens that the server refuses. The
// caller holds mu.
func (s *serverV4) reclaimOpens(ctx context.Context, lost []*openV4) (refused []*openV4, err error) {
	for _, o := range lost {
		err := o.reclaim(ctx)
		switch {
		case err == nil:
		case isFinal(err):
			refused = append(refused, o)
		default:
			return nil, err
		}
	}
	if s.minor > 0 {
		return refused, s.reclaimComplete(ctx)
	}
	s.reclaiming.Store(false)
	return refused, nil
}

func isLostClient(err error) bool {
	return errors.Is(err, v4.ErrStaleClientID) || errors.Is(err, v4.ErrStaleStateID) || errors.Is(err, v4.ErrExpired)
}

// isSessionTrouble reports whether a call failed because of its session, or because there was none.
func isSessionTrouble(err error) bool {
	switch statusOf(err) {
	case v4.ErrBadSession, v4.ErrDeadSession, v4.ErrBadSlot, v4.ErrBadHighSlot, v4.ErrSeqMisordered,
		v4.ErrConnNotBoundToSession, v4.ErrSeqFalseRetry, v4.ErrRetryUncachedRep:
		return true
	default:
		return errors.Is(err, stream.ErrNotReady)
	}
}

// isFinal reports whether the server refused the operation itself, so that a new connection,
// session or client ID would not help.
func isFinal(err error) bool {
	return statusOf(err) != v4.OK && statusOf(err) != v4.ErrDelay && !isLostClient(err) && !isSessionTrouble(err)
}

// freeRevoked asks the server which state IDs it revoked and frees them, so that it stops reporting them (RFC 8881
// section 8.5). The caller holds mu.
func (s *serverV4) freeRevoked(ctx context.Context) error {
	if s.minor == 0 {
		return nil
	}
	for _, o := range s.openList() {
		test := v4.TestStateID{StateIDs: []v4.StateID{o.last}}
		if err := s.own(ctx, &test); err != nil {
			return err
		}
		if len(test.Statuses) != 1 || test.Statuses[0] == v4.OK {
			continue
		}
		if o.state.Load() != nil {
			o.lose()
			s.wake()
		}
		if err := o.free(ctx); err != nil {
			return err
		}
	}
	return nil
}

// free frees a revoked state ID, which the server may have forgotten. The caller holds mu.
func (o *openV4) free(ctx context.Context) error {
	if o.server.minor == 0 {
		return nil
	}
	err := o.server.own(ctx, &v4.FreeStateID{StateID: o.last})
	if err != nil && (statusOf(err) == v4.OK || isSessionTrouble(err)) {
		return err
	}
	o.revoked.Store(false)
	return nil
}

// refused returns the next step after a reply that refuses the state ID of an open.
func (o *openV4) refused(mark uint32, status v4.Status) (stream.Next, bool) {
	switch status {
	case v4.ErrBadStateID, v4.ErrOldStateID, v4.ErrAdminRevoked, v4.ErrDelegRevoked:
		if o.loseIf(mark, status == v4.ErrAdminRevoked || status == v4.ErrDelegRevoked) {
			o.server.wake()
		}
		return stream.Recover, true
	case v4.ErrExpired, v4.ErrStaleStateID, v4.ErrStaleClientID:
		state := o.state.Load()
		if state == nil || state.generation != mark || o.server.loseClient(state.era) {
			return stream.Recover, true
		}
		if o.loseIf(mark, false) { // it belongs to an earlier client ID that was lost
			o.server.wake()
		}
		return stream.Recover, true
	default:
		return stream.Finish, false
	}
}
