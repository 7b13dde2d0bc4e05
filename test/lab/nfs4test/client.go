package nfs4test

import (
	"encoding/binary"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/v4"
)

// domain is one server: what shares so_major_id and scope.
type domain struct {
	boot        uint32
	verifier    v4.Verifier // of writes
	grace       bool
	reclaimable map[reclaim]bool
	clients     map[uint64]*client
	sessions    map[v4.SessionID]*session
	states      map[[12]byte]*state
	taken       map[[12]byte]bool // states that the server took away
}

// reclaim names an open that a client had before a restart.
type reclaim struct {
	client, owner string
	file          *file
}

func (d *domain) forget() {
	d.clients, d.sessions = map[uint64]*client{}, map[v4.SessionID]*session{}
	d.states, d.taken = map[[12]byte]*state{}, map[[12]byte]bool{}
}

func (d *domain) restart() {
	if d.reclaimable == nil {
		d.reclaimable = map[reclaim]bool{}
	}
	for _, st := range d.states {
		if st.kind == openState {
			d.reclaimable[reclaim{st.client.owner, st.owner, st.file}] = true
		}
	}
	d.boot++
	d.grace = true
	d.forget()
}

// expire takes the state of a client away. An NFSv4.0 client hears NFS4ERR_EXPIRED.
func (d *domain) expire(c *client) {
	c.expired = true
	for _, st := range c.states {
		if c.minor > 0 || st.kind != openState {
			d.take(st)
		}
	}
	if c.minor > 0 {
		d.dropClient(c)
	}
}

func (d *domain) dropClient(c *client) {
	for _, st := range c.states {
		d.take(st)
	}
	for id := range c.sessions {
		delete(d.sessions, id)
	}
	delete(d.clients, c.id)
}

// expired reports whether the lease of a client is over, and lets it expire by the clock.
func (d *domain) expired(s *Server, c *client) bool {
	if s.EnforceLease && !c.expired && s.now().Sub(c.renewed) > time.Duration(s.LeaseSeconds)*time.Second {
		d.expire(c)
	}
	return c.expired
}

// client is a client ID.
type client struct {
	id        uint64
	minor     uint32
	owner     string
	address   string // with Server.ClientIDPerAddress
	verifier  v4.Verifier
	confirm   v4.Verifier // NFSv4.0
	confirmed bool
	expired   bool
	renewed   time.Time
	states    map[[12]byte]*state
	owners    map[string]*openOwner // NFSv4.0

	flags     uint32 // NFSv4.1, as all that follows
	nextSeq   uint32 // of CREATE_SESSION
	created   *v4.CreateSession
	sessions  map[v4.SessionID]*session
	reclaimed bool // RECLAIM_COMPLETE was sent
}

type session struct {
	id        v4.SessionID
	client    *client
	minor     uint64 // so_minor_id
	fore      v4.ChannelAttrs
	slots     []slot
	bound     map[*conn]bool // to which callbacks may go: true
	back      map[*conn]bool
	wantsBack bool
	program   uint32
	cbSeq     uint32
}

type slot struct {
	seq        uint32
	request    uint64 // a hash of the last one
	reply      []byte // nil: not cached
	unanswered bool   // the reply was not sent
}

// backConn returns a connection of the back channel, or nil.
func (ss *session) backConn() *conn {
	for c := range ss.back {
		if !c.dead {
			return c
		}
	}
	return nil
}

func (s *Server) newClient(d *domain, minor uint32, owner []byte, v v4.Verifier) *client {
	s.next++
	c := &client{
		id: uint64(d.boot)<<32 | s.next, minor: minor, owner: string(owner), verifier: v, renewed: s.now(),
		states: map[[12]byte]*state{}, owners: map[string]*openOwner{}, sessions: map[v4.SessionID]*session{},
		nextSeq: 7, // any number: clients must take it from EXCHANGE_ID
	}
	binary.BigEndian.PutUint64(c.confirm[:], s.next)
	d.clients[c.id] = c
	return c
}

// clientOf returns the client that a confirmed client ID names, and renews its lease.
func (x *compound) clientOf(id uint64) (*client, v4.Status) {
	c := x.d.clients[id]
	switch {
	case c == nil || !c.confirmed || c.minor != x.Minor:
		return nil, v4.ErrStaleClientID
	case x.d.expired(x.s, c):
		return nil, v4.ErrExpired
	}
	c.renewed = x.s.now()
	return c, v4.OK
}

// known returns the confirmed client of an owner, or nil.
func (x *compound) known(owner string) *client {
	for _, c := range x.d.clients {
		if c.confirmed && c.owner == owner && c.minor == x.Minor && c.address == x.clientAddress() {
			return c
		}
	}
	return nil
}

func (x *compound) clientAddress() string {
	if x.s.ClientIDPerAddress {
		return x.c.address
	}
	return ""
}

func (x *compound) setClientID(o *v4.SetClientID) v4.Status {
	c := x.known(string(o.Owner))
	if c == nil || c.verifier != o.Verifier || c.expired {
		c = x.s.newClient(x.d, 0, o.Owner, o.Verifier) // another start of the client
		c.address = x.clientAddress()
	}
	o.ClientID, o.Confirm = c.id, c.confirm
	return v4.OK
}

func (x *compound) confirmClientID(o *v4.SetClientIDConfirm) v4.Status {
	c := x.d.clients[o.ClientID]
	if c == nil || c.confirm != o.Confirm || c.minor != 0 {
		return v4.ErrStaleClientID
	}
	if before := x.known(c.owner); before != nil && before != c {
		x.d.dropClient(before)
	}
	c.confirmed, c.renewed = true, x.s.now()
	return v4.OK
}

func (x *compound) exchangeID(o *v4.ExchangeID) v4.Status {
	if o.Flags&v4.ExchangeConfirmed != 0 {
		x.s.violate("EXCHANGE_ID with CONFIRMED_R in the call")
		return v4.ErrInval
	}
	c := x.known(string(o.Owner))
	if c == nil || c.verifier != o.Verifier {
		c = x.s.newClient(x.d, 1, o.Owner, o.Verifier)
		c.address = x.clientAddress()
	}
	o.ClientID, o.Seq = c.id, c.nextSeq
	switch {
	case x.id.Data:
		o.Granted = v4.ExchangeUsePNFSDS
	case x.s.layoutOf != nil || x.s.LayoutTypes != nil:
		o.Granted = v4.ExchangeUsePNFSMDS
	default:
		o.Granted = v4.ExchangeUseNonPNFS
	}
	if x.id.Data && o.Flags&v4.ExchangeMaskPNFS != 0 && o.Flags&v4.ExchangeUsePNFSDS == 0 {
		x.s.violate("EXCHANGE_ID at a data server without USE_PNFS_DS")
	}
	c.flags = o.Granted
	if c.confirmed {
		o.Granted |= v4.ExchangeConfirmed
	}
	o.ServerMajor, o.ServerMinor, o.ServerScope = []byte(x.id.Major), x.id.Minor, []byte(x.id.Scope)
	return v4.OK
}

func (x *compound) createSession(o *v4.CreateSession) v4.Status {
	c := x.d.clients[o.ClientID]
	switch {
	case c == nil || c.minor == 0:
		return v4.ErrStaleClientID
	case c.created != nil && o.Seq == c.nextSeq-1:
		o.Session, o.GrantedSeq, o.GrantedFlags = c.created.Session, o.Seq, c.created.GrantedFlags
		o.GrantedFore, o.GrantedBack = c.created.GrantedFore, c.created.GrantedBack
		return v4.OK
	case o.Seq != c.nextSeq:
		x.s.violate("CREATE_SESSION with sequence ID %d instead of %d", o.Seq, c.nextSeq)
		return v4.ErrSeqMisordered
	}
	if before := x.known(c.owner); before != nil && before != c {
		x.d.dropClient(before) // another start of the client
	}
	c.nextSeq++
	c.confirmed, c.renewed = true, x.s.now()
	x.s.next++
	ss := &session{
		client: c, minor: x.id.Minor, program: o.CallbackProgram, bound: map[*conn]bool{x.c: true}, back: map[*conn]bool{},
		wantsBack: o.Flags&v4.SessionConnBackChan != 0,
	}
	binary.BigEndian.PutUint32(ss.id[:], x.d.boot)
	binary.BigEndian.PutUint64(ss.id[8:], x.s.next)
	ss.fore = v4.ChannelAttrs{
		MaxRequest: min(o.Fore.MaxRequest, x.s.MaxTransfer+1024), MaxResponse: min(o.Fore.MaxResponse, x.s.MaxTransfer+1024),
		MaxResponseCached: min(o.Fore.MaxResponseCached, 4096), MaxOperations: min(o.Fore.MaxOperations, 16),
		MaxRequests: min(o.Fore.MaxRequests, x.s.Slots),
	}
	if ss.fore.MaxRequests == 0 || ss.fore.MaxOperations == 0 {
		x.s.violate("CREATE_SESSION that asks for no slots or no operations")
		return v4.ErrInval
	}
	ss.slots = make([]slot, ss.fore.MaxRequests)
	if ss.wantsBack {
		ss.back[x.c] = true
	}
	x.d.sessions[ss.id], c.sessions[ss.id] = ss, ss
	o.Session, o.GrantedSeq, o.GrantedFlags = ss.id, o.Seq, o.Flags&v4.SessionConnBackChan
	o.GrantedFore, o.GrantedBack = ss.fore, o.Back
	o.GrantedBack.MaxRequests = 1
	c.created = o
	return v4.OK
}

func (x *compound) bindConn(o *v4.BindConnToSession) v4.Status {
	ss := x.d.sessions[o.Session]
	if ss == nil || ss.minor != x.id.Minor {
		return v4.ErrBadSession
	}
	ss.bound[x.c] = true
	o.Bound, o.BoundDir = o.Session, v4.DirFore
	if o.Dir != v4.DirFore {
		ss.back[x.c] = true
		o.BoundDir = v4.DirBoth
	}
	return v4.OK
}

func (x *compound) destroySession(o *v4.DestroySession) v4.Status {
	ss := x.d.sessions[o.Session]
	if ss == nil {
		return v4.ErrBadSession
	}
	for i := range ss.slots {
		if ss.slots[i].unanswered && &ss.slots[i] != x.slot {
			x.s.violate("DESTROY_SESSION while slot %d waits for its reply", i)
		}
	}
	delete(x.d.sessions, o.Session)
	delete(ss.client.sessions, o.Session)
	return v4.OK
}

func (x *compound) destroyClientID(o *v4.DestroyClientID) v4.Status {
	c := x.d.clients[o.ClientID]
	switch {
	case c == nil || c.minor == 0:
		return v4.ErrStaleClientID
	case len(c.sessions)+len(c.states) > 0:
		x.s.violate("DESTROY_CLIENTID with %d sessions and %d states", len(c.sessions), len(c.states))
		return v4.ErrClientIDBusy
	}
	x.d.dropClient(c)
	return v4.OK
}

func (x *compound) reclaimComplete(o *v4.ReclaimComplete) v4.Status {
	if x.client.reclaimed && !o.OneFS {
		x.s.violate("RECLAIM_COMPLETE twice")
		return v4.ErrCompleteAlready
	}
	x.client.reclaimed = true
	return v4.OK
}
