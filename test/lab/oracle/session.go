package oracle

import (
	"context"
	"net"
	"strings"
	"sync"

	"github.com/nfsbench/nfsbench/test/lab/oracle/wire"
)

type session struct {
	i         *Instance
	sid       int64
	nc        net.Conn
	codec     *wire.Codec
	user      string
	program   string
	machine   string
	container int64 // 1 = CDB$ROOT
	dba       bool  // AS SYSDBA
	process   *process
	direct    bool          // _serial_direct_read
	memory    []byte        // for reads
	dead      chan struct{} // closed when the instance ends
}

func (i *Instance) accept() {
	for {
		nc, err := i.listener.Accept()
		if err != nil {
			return
		}
		s := &session{i: i, nc: nc, codec: wire.NewCodec(nc), dead: make(chan struct{})}
		s.machine, _, _ = net.SplitHostPort(nc.RemoteAddr().String())
		i.serving.Go(s.serve)
	}
}

func (s *session) serve() {
	defer func() { _ = s.nc.Close() }()
	s.i.mu.Lock()
	closed := s.i.closed
	if !closed {
		s.i.sessions[s] = true
	}
	s.i.mu.Unlock()
	if closed {
		return
	}
	defer func() {
		s.i.mu.Lock()
		delete(s.i.sessions, s)
		s.i.mu.Unlock()
		if s.process != nil {
			s.i.endProcess(s.process)
		}
	}()
	var login wire.Request
	if s.codec.Receive(&login) != nil {
		return
	}
	if err := s.login(login); err != nil {
		_ = s.codec.Send(&wire.Response{Failure: failure(err)})
		return
	}
	p := s.i.newProcess(s.user, firstSession)
	p.session, p.instance = strings.HasPrefix(s.user, "NFSBENCH"), s.i.instanceOf(s.user)
	s.i.mu.Lock()
	s.process, s.sid = p, p.pnum
	s.i.mu.Unlock()
	if s.codec.Send(&wire.Response{}) != nil {
		return
	}
	s.loop()
}

// loop answers requests one after the other; a cancellation may come between.
func (s *session) loop() {
	requests := make(chan wire.Request)
	var reading sync.WaitGroup
	defer reading.Wait()
	defer func() { _ = s.nc.Close() }()
	ended := make(chan struct{})
	defer close(ended)
	reading.Go(func() {
		defer close(requests)
		for {
			var r wire.Request
			if s.codec.Receive(&r) != nil {
				return
			}
			select {
			case requests <- r:
			case <-ended:
				return
			}
		}
	})
	idle := s.i.now()
	for r := range requests {
		if r.Kind == wire.Cancel {
			continue // what it meant has ended
		}
		s.i.stats.waited(eventClient, s.i.now().Sub(idle))
		if !s.answer(r, requests) {
			return
		}
		idle = s.i.now()
	}
}

// answer runs one request, and says whether the connection is still good.
func (s *session) answer(r wire.Request, requests <-chan wire.Request) bool {
	ctx, cancel := context.WithCancel(context.Background()) //nolint:usetesting // no test; the life of one statement
	defer cancel()
	done := make(chan *wire.Response, 1)
	go func() {
		response, err := s.execute(ctx, r)
		if err != nil {
			response = &wire.Response{Failure: failure(err)}
		}
		done <- response
	}()
	more := requests
	for {
		select {
		case response := <-done:
			return s.codec.Send(response) == nil && more != nil
		case <-s.dead:
			cancel()
			<-done
			return false
		case next, ok := <-more:
			cancel() // a cancellation, or the client has gone
			if !ok || next.Kind != wire.Cancel {
				more = nil
			}
		}
	}
}

func (s *session) login(r wire.Request) error {
	service, _, _ := strings.Cut(strings.ToUpper(r.Service), ".")
	switch service {
	case strings.ToUpper(s.i.cfg.SID):
		s.container = 1
	case strings.ToUpper(s.i.cfg.PDB):
		s.container = 3
	default:
		return ora(12514, "TNS:listener does not currently know of service requested in connect descriptor")
	}
	s.user, s.program = strings.ToUpper(r.User), r.Program
	s.i.cat.mu.Lock()
	password, known := s.i.cat.Users[s.i.userKey(s.container, s.user)]
	s.i.cat.mu.Unlock()
	if !known || password != r.Password {
		return ora(1017, "invalid credential or not authorized; logon denied")
	}
	role := strings.ToUpper(r.Role)
	switch {
	case s.user == "SYS" && role != "SYSDBA":
		return ora(28009, "connection as SYS should be as SYSDBA or SYSOPER")
	case role == "SYSDBA" && s.user != "SYS":
		return ora(1031, "insufficient privileges")
	}
	s.dba = role == "SYSDBA"
	return nil
}

// userKey is the key of a user in the catalog: those that Oracle makes are the
// same in all containers.
func (i *Instance) userKey(container int64, user string) string {
	if container == 1 || user == "SYS" || user == "SYSTEM" || user == "PDBADMIN" {
		return user
	}
	return i.cfg.PDB + "." + user
}
