package nfs

import (
	"context"
	"errors"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
)

const (
	// homeWait bounds the wait for a lost home path. After a restart of the server, the paths return in any order: the
	// next connection attempt may be backoffMax plus a tenth away.
	homeWait = backoffMax + backoffMax/10 + time.Second/2
	homeLook = 10 * time.Millisecond
)

// homeConn returns a connection of the path over which this client first identified itself, or nil while that path is
// down. NFS-Ganesha identifies clients that may reclaim state by their address, and refuses SETCLIENTID from another
// address with CLID_INUSE: a client with several addresses must return over the same path. The caller holds mu.
func (s *serverV4) homeConn(ctx context.Context) *rpc.Conn {
	if s.home == nil {
		for _, ch := range s.channels {
			if conn := ch.live(); conn != nil {
				s.home = ch
				return conn
			}
		}
		return nil
	}
	for range homeWait / homeLook {
		if conn := s.home.live(); conn != nil {
			return conn
		}
		if !sleep(ctx, homeLook) {
			break
		}
	}
	return nil
}

// atHome makes a call that identifies this client. The caller holds mu.
func (s *serverV4) atHome(ctx context.Context, operation v4.Operation) error {
	if conn := s.homeConn(ctx); conn != nil {
		err := s.over(ctx, conn, operation)
		if status := statusOf(err); err == nil || status != v4.OK && status != v4.ErrDelay {
			return err
		}
	}
	return s.bare(ctx, operation)
}

// destroyClientID destroys the client ID. The caller holds mu.
func (s *serverV4) destroyClientID(ctx context.Context) error {
	destroy := &v4.DestroyClientID{ClientID: s.clientID.Load()}
	err := s.bare(ctx, destroy)
	if !errors.Is(err, v4.ErrClientIDBusy) {
		return err
	}
	// The server may have executed a CREATE_SESSION whose caller gave up. Repeating it returns the session that it
	// created (RFC 8881 section 18.36.4).
	id := s.ids.at(s.who())
	if err := id.mu.lock(ctx); err != nil {
		return err
	}
	defer id.mu.unlock()
	c, err := s.createSession(ctx, s.control, id)
	if err != nil {
		return err
	}
	return errors.Join(s.bare(ctx, &v4.DestroySession{Session: c.Session}), s.bare(ctx, destroy))
}
