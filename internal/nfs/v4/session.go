package v4

import "github.com/nfsbench/nfsbench/internal/nfs/xdr"

// Directions of BindConnToSession. Requests use the first three. A reply has DirFore, DirBack, or DirBoth, which has
// the same number as DirForeOrBoth.
const (
	DirFore       = 1
	DirForeOrBoth = 3
	DirBoth       = 3
)

// BindConnToSession is BIND_CONN_TO_SESSION.
type BindConnToSession struct {
	Session SessionID
	Dir     uint32 // DirFore and so on
	RDMA    bool

	Bound     SessionID // result
	BoundDir  uint32    // result
	BoundRDMA bool      // result
}

// Op returns OpBindConnToSession.
func (o *BindConnToSession) Op() Op { return OpBindConnToSession }

// Args codes the arguments.
func (o *BindConnToSession) Args(c *xdr.Coder) {
	o.Session.Code(c)
	c.Uint32(&o.Dir)
	c.Bool(&o.RDMA)
}

// Results codes the results.
func (o *BindConnToSession) Results(c *xdr.Coder) {
	o.Bound.Code(c)
	enum(c, &o.BoundDir, DirFore, DirBoth)
	c.Bool(&o.BoundRDMA)
}

// Bits of ExchangeID.Flags and ExchangeID.Granted (RFC 8881 section 18.35).
const (
	ExchangeUseNonPNFS = 0x00010000
	ExchangeUsePNFSMDS = 0x00020000
	ExchangeUsePNFSDS  = 0x00040000
	ExchangeMaskPNFS   = 0x00070000
	ExchangeConfirmed  = 0x80000000
)

// Implementation is nfs_impl_id4: the implementation of the peer, for users only.
type Implementation struct {
	Domain, Name string
	Date         Time
}

func codeImplementation(c *xdr.Coder, all *[]Implementation) {
	xdr.Bounded(c, all, 1, 20, func(i *Implementation) {
		c.String(&i.Domain, MaxOwnerBytes)
		c.String(&i.Name, MaxOwnerBytes)
		i.Date.Code(c)
	})
}

// ExchangeID is EXCHANGE_ID without state protection: SP4_NONE. Decoding refuses other kinds.
type ExchangeID struct {
	Verifier Verifier // changes with every start of the client
	Owner    []byte
	Flags    uint32           // Exchange bits
	Client   []Implementation // at most one

	ClientID    uint64           // result, as all that follows
	Seq         uint32           // of the first CreateSession
	Granted     uint32           // Exchange bits
	ServerMinor uint64           // so_minor_id
	ServerMajor []byte           // so_major_id
	ServerScope []byte           // eir_server_scope
	Server      []Implementation // at most one
}

// Op returns OpExchangeID.
func (o *ExchangeID) Op() Op { return OpExchangeID }

// Args codes the arguments.
func (o *ExchangeID) Args(c *xdr.Coder) {
	o.Verifier.Code(c)
	c.Opaque(&o.Owner, MaxOwnerBytes)
	c.Uint32(&o.Flags)
	codeNoProtection(c)
	codeImplementation(c, &o.Client)
}

// Results codes the results.
func (o *ExchangeID) Results(c *xdr.Coder) {
	c.Uint64(&o.ClientID)
	c.Uint32(&o.Seq, &o.Granted)
	codeNoProtection(c)
	c.Uint64(&o.ServerMinor)
	c.Opaque(&o.ServerMajor, MaxOwnerBytes)
	c.Opaque(&o.ServerScope, MaxOwnerBytes)
	codeImplementation(c, &o.Server)
}

func codeNoProtection(c *xdr.Coder) {
	var none uint32
	enum(c, &none, 0, 0)
}

// ChannelAttrs is channel_attrs4. Sizes are bytes of RPC messages with their headers.
type ChannelAttrs struct {
	HeaderPad         uint32
	MaxRequest        uint32
	MaxResponse       uint32
	MaxResponseCached uint32
	MaxOperations     uint32
	MaxRequests       uint32 // slots
	RDMA              []uint32
}

// Code codes the fields of a.
func (a *ChannelAttrs) Code(c *xdr.Coder) {
	c.Uint32(&a.HeaderPad, &a.MaxRequest, &a.MaxResponse, &a.MaxResponseCached, &a.MaxOperations, &a.MaxRequests)
	xdr.Bounded(c, &a.RDMA, 1, 4, func(v *uint32) { c.Uint32(v) })
}

// FlavourNone is AUTH_NONE.
const FlavourNone = 0

// CallbackSecurity is callback_sec_parms4 for AUTH_NONE. AUTH_SYS and RPCSEC_GSS are refused.
type CallbackSecurity struct{ Flavour uint32 }

func (s *CallbackSecurity) code(c *xdr.Coder) { enum(c, &s.Flavour, FlavourNone, FlavourNone) }

// Bits of CreateSession.Flags.
const (
	SessionConnBackChan = 2
)

// CreateSession is CREATE_SESSION.
type CreateSession struct {
	ClientID        uint64
	Seq             uint32
	Flags           uint32 // Session bits
	Fore, Back      ChannelAttrs
	CallbackProgram uint32
	Security        []CallbackSecurity

	Session                  SessionID    // result, as all that follows
	GrantedSeq               uint32       // equal to Seq
	GrantedFlags             uint32       // Session bits
	GrantedFore, GrantedBack ChannelAttrs // at most the requested values
}

// Op returns OpCreateSession.
func (o *CreateSession) Op() Op { return OpCreateSession }

// Args codes the arguments.
func (o *CreateSession) Args(c *xdr.Coder) {
	c.Uint64(&o.ClientID)
	c.Uint32(&o.Seq, &o.Flags)
	o.Fore.Code(c)
	o.Back.Code(c)
	c.Uint32(&o.CallbackProgram)
	xdr.Bounded(c, &o.Security, MaxListItems, 4, func(s *CallbackSecurity) { s.code(c) })
}

// Results codes the results.
func (o *CreateSession) Results(c *xdr.Coder) {
	o.Session.Code(c)
	c.Uint32(&o.GrantedSeq, &o.GrantedFlags)
	o.GrantedFore.Code(c)
	o.GrantedBack.Code(c)
}

// DestroySession is DESTROY_SESSION.
type DestroySession struct{ Session SessionID }

// Op returns OpDestroySession.
func (o *DestroySession) Op() Op { return OpDestroySession }

// Args codes the arguments.
func (o *DestroySession) Args(c *xdr.Coder) { o.Session.Code(c) }

// DestroyClientID is DESTROY_CLIENTID.
type DestroyClientID struct{ ClientID uint64 }

// Op returns OpDestroyClientID.
func (o *DestroyClientID) Op() Op { return OpDestroyClientID }

// Args codes the arguments.
func (o *DestroyClientID) Args(c *xdr.Coder) { c.Uint64(&o.ClientID) }

// FreeStateID is FREE_STATEID.
type FreeStateID struct{ StateID StateID }

// Op returns OpFreeStateID.
func (o *FreeStateID) Op() Op { return OpFreeStateID }

// Args codes the arguments.
func (o *FreeStateID) Args(c *xdr.Coder) { o.StateID.Code(c) }

// TestStateID is TEST_STATEID.
type TestStateID struct {
	StateIDs []StateID

	Statuses []Status // result, for each state ID
}

// Op returns OpTestStateID.
func (o *TestStateID) Op() Op { return OpTestStateID }

// Args codes the arguments.
func (o *TestStateID) Args(c *xdr.Coder) {
	xdr.Bounded(c, &o.StateIDs, MaxStateIDs, 16, func(s *StateID) { s.Code(c) })
}

// Results codes the results.
func (o *TestStateID) Results(c *xdr.Coder) {
	xdr.Bounded(c, &o.Statuses, MaxStateIDs, 4, func(s *Status) { s.Code(c) })
}

// ReclaimComplete is RECLAIM_COMPLETE.
type ReclaimComplete struct {
	OneFS bool // only for the current file system, after it has moved
}

// Op returns OpReclaimComplete.
func (o *ReclaimComplete) Op() Op { return OpReclaimComplete }

// Args codes the arguments.
func (o *ReclaimComplete) Args(c *xdr.Coder) { c.Bool(&o.OneFS) }

// Bits of SequenceHead.Flags: SEQ4_STATUS (RFC 8881 section 18.46).
const (
	SeqCBPathDown              = 0x0001
	SeqExpiredAllStateRevoked  = 0x0008
	SeqExpiredSomeStateRevoked = 0x0010
	SeqAdminStateRevoked       = 0x0020
	SeqRecallableStateRevoked  = 0x0040
	SeqRestartReclaimNeeded    = 0x0100
	SeqCBPathDownSession       = 0x0200
)

// SequenceHead are the results of SEQUENCE.
type SequenceHead struct {
	Session SessionID
	Seq     uint32
	Slot    uint32
	// HighestSlot is the highest slot that the server accepts, and TargetSlot the highest that it wants the client to
	// use.
	HighestSlot, TargetSlot uint32
	Flags                   uint32 // Seq bits
}

// Code codes the fields of h.
func (h *SequenceHead) Code(c *xdr.Coder) {
	h.Session.Code(c)
	c.Uint32(&h.Seq, &h.Slot, &h.HighestSlot, &h.TargetSlot, &h.Flags)
}

// Sequence is SEQUENCE.
type Sequence struct {
	Session     SessionID
	Seq         uint32
	Slot        uint32
	HighestSlot uint32 // used by the client
	CacheThis   bool

	Reply SequenceHead // result
}

// Op returns OpSequence.
func (o *Sequence) Op() Op { return OpSequence }

// Args codes the arguments.
func (o *Sequence) Args(c *xdr.Coder) {
	o.Session.Code(c)
	c.Uint32(&o.Seq, &o.Slot, &o.HighestSlot)
	c.Bool(&o.CacheThis)
}

// Results codes the results.
func (o *Sequence) Results(c *xdr.Coder) { o.Reply.Code(c) }
