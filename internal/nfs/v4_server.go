package nfs

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/session"
	"github.com/nfsbench/nfsbench/internal/nfs/stream"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
)

const (
	// controlRequests is how many calls beside measured I/O may be outstanding, those of
	// filling and verifying included.
	controlRequests = 64
	// maxSlots is the most slots that are asked for in one session.
	maxSlots = 1024
	// maxSessions bounds how many sessions one stream takes where a server grants few slots.
	maxSessions = 64
	// defaultLease is the lease time where a server does not tell (RFC 7530 leaves it open).
	defaultLease = 90 * time.Second
	// leaseShare of the lease time passes between renewals.
	leaseShare = 3
	// headerBytes is more than everything of a READ or WRITE but its data.
	headerBytes = 1 << 10
)

// serverV4 is one NFSv4 server: a client ID, the lease on it, and what the server keeps under
// it. It makes lost state again by itself, see v4_recover.go.
type serverV4 struct {
	cfg       *Config
	minor     uint32
	use       uint32 // v4.ExchangeUse bits: what this client wants of the server
	channels  []*channel
	transport *transport
	head      []byte // what every call begins with
	owner     []byte // of the client
	verifier  v4.Verifier
	shares    bool // the client ID belongs to another serverV4, which has other addresses
	logger    *slog.Logger

	// What a metadata server's callbacks and losses mean for layouts; nil without pNFS.
	recallLayouts func(*v4.CBLayoutRecall) v4.Status
	changeDevices func([]v4.DeviceChange)
	loseLayouts   func()

	// NFSv4.1
	control     *session.Table
	identity    identity
	createSeq   uint32 // of the next CREATE_SESSION; mu guards it
	granted     uint32 // v4.ExchangeUse bits of the server
	maxRequest  uint32 // bytes, as the session allows
	maxResponse uint32

	clientID atomic.Uint64
	lease    atomic.Int64 // ns
	touched  atomic.Int64 // when the lease was renewed last, by the clock of the transport

	mu    sync.Mutex // held while state is made, which takes as long as the server does
	opens map[*openV4]bool
	home  *channel // over which this client named itself first; see homeConn

	facts  sync.Mutex // never held for long; guards identity, and tables beside mu
	tables map[*session.Table]bool

	kick       chan struct{}
	lostClient atomic.Bool
	revoked    atomic.Bool // the server took some state away
	stop       context.CancelFunc
	done       chan struct{}

	recoveries   atomic.Int64
	recovering   atomic.Int64 // since when, 0 if not
	recoveryTime atomic.Int64 // ns
	calledBack   atomic.Int64
}

// identity is how a server of NFSv4.1 names itself (RFC 8881 section 2.10.5).
type identity struct {
	major, scope string
	minor        uint64
}

// newOwner returns what tells this client from all others, also from those of the same host.
func newOwner(machine string) (owner []byte, v v4.Verifier) {
	_, _ = rand.Read(v[:]) // it never fails
	return fmt.Appendf(nil, "nfsbench %s %d %x", machine, os.Getpid(), v), v
}

// newServerV4 makes a server of connected channels. Nothing is sent.
func newServerV4(cfg *Config, minor, use uint32, channels []*channel) *serverV4 {
	s := &serverV4{
		cfg: cfg, minor: minor, use: use, channels: channels, logger: cfg.Logger,
		head:   rpc.AppendCall(nil, v4.Program, v4.Version, v4.ProcCompound, cfg.Credential.Auth()),
		tables: map[*session.Table]bool{}, opens: map[*openV4]bool{},
		kick:       make(chan struct{}, 1),
		maxRequest: v4.MaxDataBytes + headerBytes, maxResponse: v4.MaxDataBytes + headerBytes,
	}
	s.owner, s.verifier = newOwner(cfg.Credential.Machine)
	s.lease.Store(int64(defaultLease))
	if minor > 0 {
		s.control = session.NewTable(controlRequests + 1) // one is for recovery
		s.tables[s.control] = true
	}
	serve := s.serve
	for _, ch := range channels {
		ch.twoWay, ch.ready = true, s.bindControl
		ch.serve.Store(&serve)
	}
	return s
}

// start makes the client ID and the control session, and keeps the lease from then on.
// After an error it may be called again.
func (s *serverV4) start(ctx context.Context) error {
	s.done = make(chan struct{})
	for _, ch := range s.channels {
		ch.closed.Store(false)
	}
	s.transport = newTransport(s.channels, s.cfg.CallTimeout, s.cfg.Now)
	if s.minor > 0 {
		s.transport.tickets = make(chan int, controlRequests)
		for i := range controlRequests {
			s.transport.tickets <- i
		}
	}
	life, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.mu.Lock()
	err := s.establish(ctx)
	s.mu.Unlock()
	if err == nil && s.minor > 0 {
		err = s.reclaimComplete(ctx)
	}
	if err != nil {
		stop()
		close(s.done)
		s.transport.close()
		return err
	}
	go s.manage(life)
	return nil
}

// setLease notes the lease time, which also says how long state may take to come back.
func (s *serverV4) setLease(d time.Duration) {
	if d <= 0 {
		return
	}
	s.lease.Store(int64(d))
	s.transport.patience = s.patience()
}

// patience is how long an I/O may take while the server answers that it is recovering: a
// grace period takes about as long as a lease, in practice up to twice.
func (s *serverV4) patience() time.Duration {
	return s.cfg.CallTimeout + 2*time.Duration(s.lease.Load())
}

// close gives the server back what it keeps. It ends when ctx does, at the latest.
func (s *serverV4) close(ctx context.Context) error {
	s.stop()
	<-s.done
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for o := range s.opens {
		errs = append(errs, o.closeAtServer(ctx, true))
	}
	s.opens = map[*openV4]bool{}
	for t := range s.tables {
		if t != s.control {
			errs = append(errs, s.destroySessions(ctx, t))
		}
	}
	if s.minor > 0 {
		errs = append(errs, s.destroySessions(ctx, s.control))
	}
	if s.minor > 0 && !s.shares {
		errs = append(errs, s.destroyClientID(ctx))
	}
	s.transport.close()
	return errors.Join(errs...)
}

// establish gets a client ID and makes all sessions. mu is held.
func (s *serverV4) establish(ctx context.Context) error {
	if s.minor == 0 {
		return s.setClientID(ctx)
	}
	if err := s.exchangeID(ctx); err != nil {
		return err
	}
	for t := range s.tables {
		t.Clear()
	}
	return s.makeSessions(ctx)
}

func (s *serverV4) setClientID(ctx context.Context) error {
	conn := s.homeConn(ctx)
	if conn == nil {
		var err error
		if _, conn, err = s.transport.pick(ctx, s.transport.clock.Load()); err != nil {
			return err
		}
	}
	return s.setClientIDOver(ctx, conn)
}

// setClientIDOver makes both calls over one connection: servers compare the addresses that
// they come from.
func (s *serverV4) setClientIDOver(ctx context.Context, conn *rpc.Conn) error {
	set := v4.SetClientID{Verifier: s.verifier, Owner: s.owner, Callback: v4.Address{NetID: "tcp", Universal: "0.0.0.0.0.0"}}
	if err := s.over(ctx, conn, &set); err != nil {
		return err
	}
	if err := s.over(ctx, conn, &v4.SetClientIDConfirm{ClientID: set.ClientID, Confirm: set.Confirm}); err != nil {
		return err
	}
	s.clientID.Store(set.ClientID)
	return nil
}

func (s *serverV4) exchangeID(ctx context.Context) error {
	x := v4.ExchangeID{Verifier: s.verifier, Owner: s.owner, Flags: s.use}
	if err := s.atHome(ctx, &x); err != nil {
		return err
	}
	s.note(&x)
	return nil
}

// note keeps the results of EXCHANGE_ID.
func (s *serverV4) note(x *v4.ExchangeID) {
	s.facts.Lock()
	s.identity = identityOf(x)
	s.facts.Unlock()
	s.granted = x.Granted
	s.createSeq = x.Seq
	s.clientID.Store(x.ClientID)
}

func identityOf(x *v4.ExchangeID) identity {
	return identity{major: string(x.ServerMajor), minor: x.ServerMinor, scope: string(x.ServerScope)}
}

// makeSessions makes the sessions of all tables that have none, the control session first.
// mu is held.
func (s *serverV4) makeSessions(ctx context.Context) error {
	if ids, _ := s.control.IDs(); ids == nil {
		if err := s.makeSession(ctx, s.control); err != nil {
			return err
		}
		s.bindAll(ctx)
	}
	for t := range s.tables {
		if ids, _ := t.IDs(); ids != nil {
			continue
		}
		if err := s.makeSession(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// makeSession makes as many sessions as a table needs.
func (s *serverV4) makeSession(ctx context.Context, t *session.Table) error {
	var ids []v4.SessionID
	granted := 0
	for len(ids)*granted < t.Requests() {
		if len(ids) == maxSessions {
			return fmt.Errorf("the server grants %d slots a session, and %d requests need more than %d sessions: "+
				"lower the depth or raise the slots of the server", granted, t.Requests(), maxSessions)
		}
		c, err := s.createSession(ctx, t)
		if err != nil {
			return err
		}
		got := int(max(c.GrantedFore.MaxRequests, 1))
		if len(ids) == 0 {
			granted = min(got, t.Requests())
		}
		if granted = min(granted, got); t == s.control {
			s.maxRequest = min(s.maxRequest, c.GrantedFore.MaxRequest)
			s.maxResponse = min(s.maxResponse, c.GrantedFore.MaxResponse)
		}
		ids = append(ids, c.Session)
	}
	t.Set(ids, granted)
	return nil
}

func (s *serverV4) createSession(ctx context.Context, t *session.Table) (*v4.CreateSession, error) {
	c := &v4.CreateSession{
		ClientID: s.clientID.Load(), Seq: s.createSeq,
		Fore: v4.ChannelAttrs{
			MaxRequest: v4.MaxDataBytes + headerBytes, MaxResponse: v4.MaxDataBytes + headerBytes,
			MaxResponseCached: headerBytes, MaxOperations: 16, MaxRequests: uint32(min(t.Requests(), maxSlots)),
		},
		Back: v4.ChannelAttrs{
			MaxRequest: 4 << 10, MaxResponse: 4 << 10, MaxResponseCached: headerBytes, MaxOperations: 8, MaxRequests: 4,
		},
		CallbackProgram: v4.CallbackProgram,
		Security:        []v4.CallbackSecurity{{Flavour: v4.FlavourNone}},
	}
	if t == s.control {
		c.Flags = v4.SessionConnBackChan
	}
	err := s.bare(ctx, c)
	if err == nil {
		s.createSeq++
	}
	return c, err
}

func (s *serverV4) destroySessions(ctx context.Context, t *session.Table) error {
	ids, _ := t.IDs()
	t.Clear()
	var errs []error
	for _, id := range ids {
		errs = append(errs, s.bare(ctx, &v4.DestroySession{Session: id}))
	}
	return errors.Join(errs...)
}

// newTable gives a stream sessions of its own.
func (s *serverV4) newTable(ctx context.Context, requests int) (*session.Table, error) {
	if s.minor == 0 {
		return nil, nil //nolint:nilnil // NFSv4.0 has no sessions
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	t := session.NewTable(requests)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.makeSession(ctx, t); err != nil {
		return nil, fmt.Errorf("make sessions: %w", err)
	}
	s.facts.Lock()
	s.tables[t] = true
	s.facts.Unlock()
	return t, nil
}

// addTable is newTable for a server that may not have been started: then the sessions are
// made when it is.
func (s *serverV4) addTable(ctx context.Context, requests int) *session.Table {
	t := session.NewTable(requests)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.facts.Lock()
	s.tables[t] = true
	s.facts.Unlock()
	if ids, _ := s.control.IDs(); ids == nil {
		return t
	}
	if err := s.makeSession(ctx, t); err != nil {
		s.logger.Warn("A data server gives no session", "server", s.describe(), "error", err)
		s.wake()
	}
	return t
}

// dropTable gives the sessions of a stream back.
func (s *serverV4) dropTable(t *session.Table) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), farewellTimeout)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.tables[t] {
		return
	}
	s.facts.Lock()
	delete(s.tables, t)
	s.facts.Unlock()
	if err := s.destroySessions(ctx, t); err != nil {
		s.logger.Debug("The server did not take a session back", "error", err)
	}
}

func (s *serverV4) reclaimComplete(ctx context.Context) error {
	if s.use&v4.ExchangeUsePNFSDS != 0 {
		return nil // a data server keeps nothing that could be reclaimed (RFC 8881 section 13.10)
	}
	err := s.own(ctx, &v4.ReclaimComplete{})
	if errors.Is(err, v4.ErrCompleteAlready) {
		return nil
	}
	return err
}

// bindAll binds the connections of all channels to the control session.
func (s *serverV4) bindAll(ctx context.Context) {
	for _, ch := range s.channels {
		if conn := ch.live(); conn != nil {
			// The server also binds a connection with the first request on it (RFC 8881
			// section 2.10.3.1): what is missing otherwise is the back channel.
			if err := s.bindControl(ctx, conn); err != nil {
				s.logger.Debug("A connection was not bound to the session", "path", ch.addr.Path, "error", err)
			}
		}
	}
}

// bindControl binds a new connection to the control session, so that the server may use it
// for callbacks, too.
func (s *serverV4) bindControl(ctx context.Context, conn *rpc.Conn) error {
	if s.minor == 0 {
		return nil
	}
	ids, _ := s.control.IDs()
	for _, id := range ids {
		err := s.over(ctx, conn, &v4.BindConnToSession{Session: id, Dir: v4.DirForeOrBoth})
		if errors.Is(err, v4.ErrBadSession) || errors.Is(err, v4.ErrDeadSession) {
			s.control.Clear()
			s.wake()
			return nil // the connection is good
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// over makes a bare call over one connection, once.
func (s *serverV4) over(ctx context.Context, conn *rpc.Conn, ops ...v4.Operation) error {
	var call rpc.Call
	call.Reset()
	p := v4.Compound{Minor: s.minor, Ops: ops}
	call.Request = p.Append(append(call.Request, s.head...))
	call.Since = s.cfg.Now().UnixNano()
	if err := conn.Do(ctx, &call); err != nil {
		return err
	}
	return decodeCompound(&p, call.Results)
}

// describe names the server in messages.
func (s *serverV4) describe() string {
	var paths []string
	for _, ch := range s.channels {
		paths = append(paths, ch.addr.Path)
	}
	return strings.Join(paths, ", ")
}

// statusOf returns the status that err carries; OK if none.
func statusOf(err error) v4.Status {
	if status, ok := errors.AsType[v4.Status](err); ok {
		return status
	}
	return v4.OK
}

var _ stream.Router = (*dataV4)(nil)
