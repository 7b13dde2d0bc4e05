package nfs

import (
	"context"
	"errors"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
)

const (
	// homeWait is how long a lost home path is waited for. After a restart of the server, the paths
	// come back in any order: the next try to connect one may be backoffMax and a tenth of it away.
	homeWait = backoffMax + backoffMax/10 + time.Second/2
	homeLook = 10 * time.Millisecond
)

// homeConn returns a connection of the path over which this client named itself the first
// time, or nil while that is down. NFS-Ganesha keeps the clients that may reclaim their state
// by the address that they came from, and refuses SETCLIENTID from another address with
// CLID_INUSE: a client with several addresses has to come back over the same path. mu is held.
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

// atHome makes a call that names this client. mu is held.
func (s *serverV4) atHome(ctx context.Context, operation v4.Operation) error {
	if conn := s.homeConn(ctx); conn != nil {
		err := s.over(ctx, conn, operation)
		if status := statusOf(err); err == nil || status != v4.OK && status != v4.ErrDelay {
			return err
		}
	}
	return s.bare(ctx, operation)
}

// destroyClientID gives the client ID back. mu is held.
func (s *serverV4) destroyClientID(ctx context.Context) error {
	destroy := &v4.DestroyClientID{ClientID: s.clientID.Load()}
	err := s.bare(ctx, destroy)
	if !errors.Is(err, v4.ErrClientIDBusy) {
		return err
	}
	// A CREATE_SESSION whose caller gave up may have been executed. The same once more returns
	// the session that it made (RFC 8881 section 18.36.4).
	id := s.ids.at(s.who())
	if err := id.turn.take(ctx); err != nil {
		return err
	}
	defer id.turn.give()
	c, err := s.createSession(ctx, s.control, id)
	if err != nil {
		return err
	}
	return errors.Join(s.bare(ctx, &v4.DestroySession{Session: c.Session}), s.bare(ctx, destroy))
}
