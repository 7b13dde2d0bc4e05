package nfs

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/nfs/layout"
	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/session"
	"github.com/nfsbench/nfsbench/internal/nfs/stream"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
)

const (
	// controlRequests is the maximum number of outstanding calls besides measured I/O, including the calls that fill and
	// verify files.
	controlRequests = 64
	// maxSlots is the maximum number of slots requested for one session.
	maxSlots = 1024
	// maxLease bounds the lease time that is believed, because I/O waits as long for a recovery. Servers use 15 to 120 s.
	maxLease = time.Hour
	// maxIdentities bounds the servers, and the client IDs of a server, that are remembered. A server can have another
	// identity, and give another client ID, each time.
	maxIdentities = 256
	// defaultLease is the lease time if a server does not report one (RFC 7530 leaves it open).
	defaultLease = 90 * time.Second
	// leaseShare of the lease time passes between renewals.
	leaseShare = 3
	// headerBytes bounds the size of a READ or WRITE without its data.
	headerBytes = 1 << 10
)

// serverV4 is one NFSv4 server: a client ID, its lease, and the state under it. It recovers lost state by itself, see
// v4_recover.go.
type serverV4 struct {
	cfg       *Config
	minor     uint32
	use       uint32 // v4.ExchangeUse bits: the requested roles of the server
	channels  []*channel
	transport *transport
	head      []byte // head of every call
	owner     []byte // of the client
	verifier  v4.Verifier
	shares    bool // another serverV4 with other addresses owns the client ID
	logger    *slog.Logger

	// Callbacks for layouts on recalls and losses of a metadata server; nil without pNFS.
	recallLayouts func(*v4.CBLayoutRecall) v4.Status
	changeDevices func([]v4.DeviceChange)
	loseLayouts   func()

	// NFSv4.1
	control     *session.Table
	identity    identity
	ids         *clientIDs
	maxRequest  uint32 // bytes, limited by the session
	maxResponse uint32

	clientID atomic.Uint64
	lease    atomic.Int64 // ns
	touched  atomic.Int64 // last renewal of the lease, by the clock of the transport

	mu ctxLock // held while state is created, for as long as the server takes
	// reclaiming reports that opens may be reclaimed, and that RECLAIM_COMPLETE was not sent.
	reclaiming atomic.Bool
	home       *channel // over which this client first identified itself; see homeConn

	stateMu   sync.Mutex // held for short times only; guards the fields below, and tables and opens together with mu
	tables    map[*session.Table]bool
	opens     map[*openV4]bool
	ended     session.Stats     // of closed streams
	orphans   []*session.Table  // dropped by the next holder of mu
	returning map[[12]byte]bool // delegations that are being returned, or were returned
	closed    bool

	kick      chan struct{}
	era       atomic.Uint64      // counts client IDs; stateMu guards changes
	lost      atomic.Bool        // the client ID of the era is lost; stateMu guards changes
	completed atomic.Bool        // the server took RECLAIM_COMPLETE in this era
	restarted atomic.Bool        // the server wants state to be reclaimed
	revoked   atomic.Bool        // the server took some state away
	pathDown  atomic.Bool        // the server has no connection for callbacks
	returns   atomic.Int32       // delegations that are being returned
	stop      context.CancelFunc // ends manage between two calls
	kill      context.CancelFunc // ends manage at once
	done      chan struct{}
	work      sync.WaitGroup // of returned delegations

	recoveries   atomic.Int64
	recovering   atomic.Int64          // start of the recovery; 0 = none
	trouble      atomic.Pointer[error] // why the current recovery has not succeeded yet
	recoveryTime atomic.Int64          // ns
	calledBack   atomic.Int64
}

// identity is the identity of an NFSv4.1 server (RFC 8881 section 2.10.5).
type identity struct {
	major, scope string
	minor        uint64
}

// ctxLock is a lock that supports waiting with a context.
type ctxLock chan struct{}

// lock takes the lock, or returns the error of ctx.
func (t ctxLock) lock(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	default:
	}
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t ctxLock) unlock() { <-t }

// clientIDs are the client IDs of one Client at all its servers. Several serverV4 can share a client ID: the
// addresses of client ID trunking, and a program that is both metadata server and data server.
type clientIDs struct {
	owners atomic.Uint64 // number of open owners so far
	mu     sync.Mutex
	all    map[identity]*clientID
}

// clientID serializes the creation of a client ID and its sessions at one server.
type clientID struct {
	mu   ctxLock
	next map[uint64]uint32 // by client ID: csa_sequence of the next CREATE_SESSION
}

func newClientIDs() *clientIDs { return &clientIDs{all: map[identity]*clientID{}} }

// at returns the client ID at a server, independent of its address.
func (c *clientIDs) at(id identity) *clientID {
	id.minor = 0
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all[id] == nil {
		if len(c.all) >= maxIdentities {
			clear(c.all)
		}
		c.all[id] = &clientID{mu: make(ctxLock, 1), next: map[uint64]uint32{}}
	}
	return c.all[id]
}

// newOwner returns an identity that differs from those of all other clients, including those on the same host.
func newOwner(machine string) (owner []byte, v v4.Verifier) {
	_, _ = rand.Read(v[:]) // never fails
	return fmt.Appendf(nil, "nfsbench %s %d %x", machine, os.Getpid(), v), v
}

// newServerV4 returns a server with connected channels. It sends nothing.
func newServerV4(cfg *Config, minor, use uint32, channels []*channel) *serverV4 {
	s := &serverV4{
		cfg: cfg, minor: minor, use: use, channels: channels, logger: cfg.Logger,
		head:   rpc.AppendCall(nil, v4.Program, v4.Version, v4.ProcCompound, cfg.Credential.Auth()),
		tables: map[*session.Table]bool{}, opens: map[*openV4]bool{}, returning: map[[12]byte]bool{},
		mu: make(ctxLock, 1), ids: newClientIDs(),
		kick:       make(chan struct{}, 1),
		maxRequest: v4.MaxDataBytes + headerBytes, maxResponse: v4.MaxDataBytes + headerBytes,
	}
	s.owner, s.verifier = newOwner(cfg.Credential.Machine)
	s.lease.Store(int64(defaultLease))
	if minor > 0 {
		s.control = session.NewTable(controlRequests+1, s.spent) // one request is for recovery
		s.tables[s.control] = true
	}
	serve := s.serve
	for _, ch := range channels {
		ch.twoWay, ch.ready = true, s.bindControl
		ch.serve.Store(&serve)
	}
	return s
}

// start creates the client ID and the control session, and then keeps the lease renewed. After an error it may be
// called again.
func (s *serverV4) start(ctx context.Context) error {
	for _, ch := range s.channels {
		ch.closed.Store(false)
	}
	s.transport = newTransport(s.channels, s.cfg.CallTimeout, s.cfg.Now)
	if s.minor > 0 {
		t := s.transport
		t.tickets, t.forget, t.giveBack = make(chan int, controlRequests), s.control.Forget, s.control.GiveBack
		for i := range s.control.Requests() {
			if t.slots = append(t.slots, make(chan struct{}, 1)); i < controlRequests {
				t.tickets <- i
			}
		}
		s.control.Notify(func(_, ticket int) {
			select {
			case t.slots[ticket] <- struct{}{}:
			default:
			}
		})
	}
	life, kill := context.WithCancel(context.Background())
	keep, stop := context.WithCancel(life)
	s.stop, s.kill, s.done, s.closed = stop, kill, make(chan struct{}), false // an earlier start may have failed
	if err := s.begin(ctx); err != nil {
		close(s.done)
		return errors.Join(err, s.closeUnstarted(ctx))
	}
	go s.manage(keep, life)
	return nil
}

// begin creates all state for the first time.
func (s *serverV4) begin(ctx context.Context) error {
	if err := s.mu.lock(ctx); err != nil {
		return err
	}
	defer s.mu.unlock()
	if err := s.establish(ctx); err != nil {
		return err
	}
	if s.minor == 0 {
		s.reclaiming.Store(false)
		return nil
	}
	if err := s.makeSessions(ctx); err != nil {
		return err
	}
	return s.reclaimComplete(ctx)
}

// closeUnstarted closes a server that was not started. It ignores the end of ctx, so as not to leave state behind.
func (s *serverV4) closeUnstarted(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	return s.close(ctx)
}

// setLease records the lease time, which also bounds how long recovery may take.
func (s *serverV4) setLease(d time.Duration) {
	if d <= 0 {
		return
	}
	s.lease.Store(int64(min(d, maxLease)))
	s.transport.patience.Store(int64(s.patience()))
	s.nudge() // the new lease may be shorter than the current wait
}

// patience returns how long an I/O may take while the server is recovering: a grace period takes about as long as a
// lease, in practice up to twice as long.
func (s *serverV4) patience() time.Duration {
	return s.cfg.CallTimeout + 2*time.Duration(s.lease.Load())
}

// close releases the server's state. It returns when ctx ends, at the latest.
func (s *serverV4) close(ctx context.Context) error {
	ctx, cancel := s.whileHeard(ctx)
	defer cancel()
	s.stop()
	// Giving up a call leaves its slot spent, and perhaps an open that this client does not know.
	select {
	case <-s.done:
	case <-ctx.Done():
	}
	s.kill()
	<-s.done
	defer func() {
		s.stateMu.Lock()
		s.closed = true
		s.stateMu.Unlock()
		s.transport.close()
		s.work.Wait()
	}()
	if err := s.mu.lock(ctx); err != nil {
		return err
	}
	defer s.mu.unlock()
	for s.returns.Load() > 0 {
		if !sleep(ctx, time.Millisecond) {
			break
		}
	}
	var errs []error
	for _, o := range s.openList() {
		errs = append(errs, o.closeAtServer(ctx, true))
	}
	if s.minor == 0 {
		return errors.Join(errs...)
	}
	for t := range s.tables {
		if t != s.control {
			errs = append(errs, s.destroySessions(ctx, t))
		}
	}
	errs = append(errs, s.destroySessions(ctx, s.control))
	if id := s.clientID.Load(); id != 0 && !s.shares {
		errs = append(errs, s.destroyClientID(ctx))
	}
	return errors.Join(errs...)
}

// whileHeard returns a context for closing. It ends when ctx does or when the server is silent.
func (s *serverV4) whileHeard(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go s.cancelInSilence(ctx, cancel)
	return ctx, cancel
}

// cancelInSilence cancels if nothing was received from the server for closeSilence. It returns when ctx ends.
func (s *serverV4) cancelInSilence(ctx context.Context, cancel context.CancelFunc) {
	heard := s.heard()
	for sleep(ctx, closeSilence) {
		before := heard
		if heard = s.heard(); heard == before {
			cancel()
		}
	}
}

// heard returns the number of bytes received from the server.
func (s *serverV4) heard() (n int64) {
	for _, ch := range s.channels {
		n += ch.counters.WireBytesRead.Load()
	}
	return n
}

// openList returns all opens.
func (s *serverV4) openList() []*openV4 {
	s.stateMu.Lock()
	defer s.stateMu.Unlock()
	return slices.Collect(maps.Keys(s.opens))
}

// who returns the identity of the server.
func (s *serverV4) who() identity {
	s.stateMu.Lock()
	defer s.stateMu.Unlock()
	return s.identity
}

// establish creates a client ID and, with NFSv4.1, the control session, which confirms it. The caller holds mu.
func (s *serverV4) establish(ctx context.Context) error {
	if s.minor == 0 {
		if err := s.setClientID(ctx); err != nil {
			return err
		}
		s.reclaiming.Store(true)
		s.beginEra()
		return nil
	}
	x, err := s.exchangeID(ctx)
	if err != nil {
		return err
	}
	id := s.ids.at(identityOf(x))
	if err := id.mu.lock(ctx); err != nil {
		return err
	}
	defer id.mu.unlock()
	// Repeat it: another serverV4 may have created the client ID in the meantime.
	if x, err = s.exchangeID(ctx); err != nil {
		return err
	}
	if s.ids.at(identityOf(x)) != id {
		return fmt.Errorf("the server at %s is another one each time it is asked", s.describe())
	}
	s.note(x, id)
	if ids, _ := s.control.IDs(); ids == nil {
		if err := s.makeSession(ctx, s.control, id); err != nil {
			return err
		}
		s.bindAll(ctx)
	}
	s.beginEra()
	return nil
}

// beginEra records a new client ID.
func (s *serverV4) beginEra() {
	s.stateMu.Lock()
	defer s.stateMu.Unlock()
	s.era.Add(1)
	s.lost.Store(false)
}

// setClientID creates an NFSv4.0 client ID. It retries if the connection is lost, or if the server asks for a delay.
func (s *serverV4) setClientID(ctx context.Context) error {
	for began, wait := s.transport.clock.Load(), stream.DelayFirst; ; wait = min(2*wait, stream.DelayMax) {
		err := s.trySetClientID(ctx)
		again := rpc.IsLost(err) || errors.Is(err, v4.ErrDelay)
		if !again || s.transport.clock.Load()-began > int64(s.cfg.CallTimeout) || !sleep(ctx, wait) {
			return err
		}
	}
}

func (s *serverV4) trySetClientID(ctx context.Context) error {
	conn := s.homeConn(ctx)
	if conn == nil {
		var err error
		if _, conn, err = s.transport.pick(ctx, s.transport.clock.Load()); err != nil {
			return err
		}
	}
	return s.setClientIDOver(ctx, conn)
}

// setClientIDOver makes both calls over one connection, because servers compare their source addresses.
func (s *serverV4) setClientIDOver(ctx context.Context, conn *rpc.Conn) error {
	none := v4.Address{NetID: layout.NetIDTCP, Universal: "0.0.0.0.0.0"} // no callbacks
	if conn.IsIPv6() {
		none = v4.Address{NetID: layout.NetIDTCP6, Universal: "::.0.0"}
	}
	set := v4.SetClientID{Verifier: s.verifier, Owner: s.owner, Callback: none}
	if err := s.over(ctx, conn, &set); err != nil {
		return err
	}
	if err := s.over(ctx, conn, &v4.SetClientIDConfirm{ClientID: set.ClientID, Confirm: set.Confirm}); err != nil {
		return err
	}
	s.clientID.Store(set.ClientID)
	return nil
}

func (s *serverV4) exchangeID(ctx context.Context) (*v4.ExchangeID, error) {
	x := &v4.ExchangeID{Verifier: s.verifier, Owner: s.owner, Flags: s.use}
	return x, s.atHome(ctx, x)
}

// note records the results of EXCHANGE_ID. A client ID that is still confirmed keeps its sessions and opens. The
// caller holds mu and the lock of id.
func (s *serverV4) note(x *v4.ExchangeID, id *clientID) {
	s.stateMu.Lock()
	s.identity = identityOf(x)
	s.stateMu.Unlock()
	confirmed := x.Granted&v4.ExchangeConfirmed != 0
	if _, known := id.next[x.ClientID]; !known || !confirmed {
		// For a known, confirmed client ID, the server's sequence number has no meaning (RFC 8881 section 18.35.3).
		if len(id.next) >= maxIdentities {
			clear(id.next)
		}
		id.next[x.ClientID] = x.Seq
	}
	if confirmed && x.ClientID == s.clientID.Load() {
		return
	}
	s.clientID.Store(x.ClientID)
	s.completed.Store(false)
	s.reclaiming.Store(true)
	for t := range s.tables {
		t.Clear()
		t.TakeLost(true)
	}
}

func identityOf(x *v4.ExchangeID) identity {
	return identity{major: string(x.ServerMajor), minor: x.ServerMinor, scope: string(x.ServerScope)}
}

// makeSessions creates the missing sessions of all tables, the control session first. The caller holds mu.
func (s *serverV4) makeSessions(ctx context.Context) error {
	if ids, _ := s.control.IDs(); ids == nil {
		if err := s.newSession(ctx, s.control); err != nil {
			return err
		}
		s.bindAll(ctx)
	}
	for t := range s.tables {
		if ids, _ := t.IDs(); ids != nil {
			continue
		}
		if err := s.newSession(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// newSession takes the lock of the client ID and calls makeSession.
func (s *serverV4) newSession(ctx context.Context, t *session.Table) error {
	id := s.ids.at(s.who())
	if err := id.mu.lock(ctx); err != nil {
		return err
	}
	defer id.mu.unlock()
	return s.makeSession(ctx, t, id)
}

// makeSession creates the session of a table, or several if they are configured and the table has enough requests for
// them. The caller holds mu and the lock of id.
func (s *serverV4) makeSession(ctx context.Context, t *session.Table, id *clientID) error {
	var made []v4.SessionID
	granted := 0
	for len(made) == 0 || t != s.control && len(made) < s.cfg.Sessions && len(made)*granted < t.Requests() {
		c, err := s.createSession(ctx, t, id)
		if err != nil {
			return errors.Join(err, s.destroy(ctx, made))
		}
		made = append(made, c.Session)
		granted = s.grant(c, t, granted)
	}
	t.Set(made, granted)
	if err := s.destroy(ctx, t.TakeLost(false)); err != nil {
		s.logger.Debug("The server did not take a session back", "error", err)
	}
	return nil
}

// grant records the limits that the server granted for a table, and returns the slots of each session.
func (s *serverV4) grant(c *v4.CreateSession, t *session.Table, before int) int {
	if t == s.control {
		s.maxRequest = min(s.maxRequest, c.GrantedFore.MaxRequest)
		s.maxResponse = min(s.maxResponse, c.GrantedFore.MaxResponse)
	}
	granted := min(int(min(max(c.GrantedFore.MaxRequests, 1), maxSlots)), t.Requests())
	if before > 0 {
		return min(before, granted)
	}
	return granted
}

// destroy destroys sessions. It ignores sessions that the server does not know.
func (s *serverV4) destroy(ctx context.Context, ids []v4.SessionID) error {
	var errs []error
	for _, id := range ids {
		err := s.bare(ctx, &v4.DestroySession{Session: id})
		if !isLost(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (s *serverV4) createSession(ctx context.Context, t *session.Table, id *clientID) (*v4.CreateSession, error) {
	client := s.clientID.Load()
	c := &v4.CreateSession{
		ClientID: client, Seq: id.next[client],
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
	switch {
	case err == nil:
		id.next[client]++
	case errors.Is(err, v4.ErrSeqMisordered):
		delete(id.next, client) // the next EXCHANGE_ID returns the right number
		s.loseClient(s.era.Load())
	}
	return c, err
}

func (s *serverV4) destroySessions(ctx context.Context, t *session.Table) error {
	ids, _ := t.IDs()
	t.Clear()
	return s.destroy(ctx, append(t.TakeLost(true), ids...))
}

// newTable gives a stream sessions of its own.
func (s *serverV4) newTable(ctx context.Context, requests int) (*session.Table, error) {
	if s.minor == 0 {
		return nil, nil //nolint:nilnil // NFSv4.0 has no sessions
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	t := session.NewTable(requests, s.spent)
	for {
		err := s.tryTable(ctx, t)
		if !isSessionTrouble(err) && !errors.Is(err, v4.ErrStaleClientID) {
			return t, err
		}
		// The server has just lost the client ID.
		if s.wake(); !sleep(ctx, stream.RecoverFirst) {
			return nil, err
		}
	}
}

func (s *serverV4) tryTable(ctx context.Context, t *session.Table) error {
	if err := s.mu.lock(ctx); err != nil {
		return err
	}
	defer s.mu.unlock()
	if err := s.newSession(ctx, t); err != nil {
		if isLostClient(err) {
			s.loseClient(s.era.Load())
		}
		return fmt.Errorf("make sessions: %w", err)
	}
	s.keepTable(t)
	return nil
}

// spent triggers the recovery of sessions that were given up because of spent slots.
func (s *serverV4) spent() {
	s.logger.Warn("A session is replaced: calls were given up in its slots without an answer", "server", s.describe())
	s.wake()
}

func (s *serverV4) keepTable(t *session.Table) {
	s.stateMu.Lock()
	s.tables[t] = true
	s.stateMu.Unlock()
}

// addTable does the same as newTable for a server that may not be started. The start then creates the sessions.
func (s *serverV4) addTable(ctx context.Context, requests int) *session.Table {
	t := session.NewTable(requests, s.spent)
	if err := s.mu.lock(ctx); err != nil {
		s.keepTable(t) // the holder of mu creates its sessions, or the first I/O triggers that
		return t
	}
	defer s.mu.unlock()
	s.keepTable(t)
	if ids, _ := s.control.IDs(); ids == nil {
		return t
	}
	if err := s.newSession(ctx, t); err != nil {
		s.logger.Warn("A data server gives no session", "server", s.describe(), "error", err)
		s.wake()
	}
	return t
}

// dropTable destroys the sessions of a stream. During a recovery, the recovery does so.
func (s *serverV4) dropTable(t *session.Table) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	ctx, stop := s.whileHeard(ctx)
	defer stop()
	s.stateMu.Lock()
	if s.tables[t] {
		s.orphans = append(s.orphans, t)
	}
	s.stateMu.Unlock()
	if s.mu.lock(ctx) == nil {
		s.dropOrphans(ctx)
		s.mu.unlock()
	}
}

// dropOrphans destroys the sessions of closed streams. The caller holds mu.
func (s *serverV4) dropOrphans(ctx context.Context) {
	s.stateMu.Lock()
	orphans := s.orphans
	s.orphans = nil
	for _, t := range orphans {
		delete(s.tables, t)
		s.ended.Add(t.Stats())
	}
	s.stateMu.Unlock()
	for _, t := range orphans {
		if err := s.destroySessions(ctx, t); err != nil {
			s.logger.Debug("The server did not take a session back", "error", err)
		}
	}
}

// reclaimComplete ends the reclaim phase. The caller holds mu.
func (s *serverV4) reclaimComplete(ctx context.Context) error {
	// A data server has no state to reclaim (RFC 8881 section 13.10), and the owner of a shared client ID sends the call
	// for it.
	if s.use&v4.ExchangeUsePNFSDS == 0 && !s.shares {
		// A server must serve it (RFC 8881 section 17), but the client of Linux also goes on with one that does not. Such a
		// server may set SEQ4_STATUS_RESTART_RECLAIM_NEEDED forever, which counts only after a RECLAIM_COMPLETE.
		switch err := s.own(ctx, &v4.ReclaimComplete{}); {
		case err == nil, errors.Is(err, v4.ErrCompleteAlready):
			s.completed.Store(true)
		case !isAbsent(err):
			return err
		}
	}
	s.reclaiming.Store(false)
	return nil
}

// bindAll binds the connections of all channels to the control session.
func (s *serverV4) bindAll(ctx context.Context) {
	for _, ch := range s.channels {
		if conn := ch.live(); conn != nil {
			// The first request on a connection also binds it (RFC 8881 section
			// 2.10.3.1), but without the back channel.
			if err := s.bindControl(ctx, conn); err != nil {
				s.logger.Debug("A connection was not bound to the session", "path", ch.addr.Path, "error", err)
			}
		}
	}
}

// bindControl binds a new connection to the control session, so that the server can also use it for callbacks.
func (s *serverV4) bindControl(ctx context.Context, conn *rpc.Conn) error {
	if s.minor == 0 {
		return nil
	}
	ids, mark := s.control.Sessions()
	for _, id := range ids {
		err := s.over(ctx, conn, &v4.BindConnToSession{Session: id, Dir: v4.DirForeOrBoth})
		if err == nil {
			continue
		}
		lost := isLost(err)
		if !lost && !bindsAtFirstUse(err) {
			return err
		}
		if err := s.isOurs(conn, func(o v4.Operation) error { return s.over(ctx, conn, o) }); err != nil {
			return err
		}
		if lost {
			s.control.Lose(mark)
			s.wake()
		}
		return nil // the connection works
	}
	return nil
}

// isLost reports whether the server no longer has the session.
func isLost(err error) bool {
	return errors.Is(err, v4.ErrBadSession) || errors.Is(err, v4.ErrDeadSession)
}

// bindsAtFirstUse reports whether the server refuses BIND_CONN_TO_SESSION without a SEQUENCE, as nfs4j 0.28 of dCache
// does, or does not serve it. A connection is then bound, without callbacks, by the first SEQUENCE on it (RFC 8881
// section 2.10.3.1).
func bindsAtFirstUse(err error) bool { return errors.Is(err, v4.ErrOpNotInSession) || isAbsent(err) }

// isAbsent reports whether the server does not serve an operation.
func isAbsent(err error) bool {
	return errors.Is(err, v4.ErrNotSupp) || errors.Is(err, v4.ErrOpIllegal)
}

// isOurs returns an error if a connection that is not bound to our session leads to another server than the connections
// in use. A path that was down when the client was created may do so. over makes a call on the connection.
func (s *serverV4) isOurs(conn *rpc.Conn, over func(v4.Operation) error) error {
	alone := !slices.ContainsFunc(s.channels, func(ch *channel) bool { c := ch.live(); return c != nil && c != conn })
	if alone {
		return nil
	}
	// Use another owner, so that the client ID stays unchanged.
	x := v4.ExchangeID{Verifier: s.verifier, Owner: append([]byte("who "), s.owner...), Flags: s.use}
	if err := over(&x); err != nil {
		return err
	}
	if trunking(s.who(), identityOf(&x)) != bench.TrunkingSession {
		return errors.New("the path leads to another server than the first path")
	}
	return nil
}

// over makes a compound without SEQUENCE over one connection, without retries.
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

// describe returns the name of the server for messages.
func (s *serverV4) describe() string {
	var paths []string
	for _, ch := range s.channels {
		paths = append(paths, ch.addr.Path)
	}
	return strings.Join(paths, ", ")
}

// statusOf returns the status in err; OK if there is none.
func statusOf(err error) v4.Status {
	if status, ok := errors.AsType[v4.Status](err); ok {
		return status
	}
	return v4.OK
}

var _ stream.Router = (*dataV4)(nil)
