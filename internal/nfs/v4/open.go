package v4

import "github.com/nfsbench/nfsbench/internal/nfs/xdr"

// Bits of Open.Access and Open.Deny.
const (
	ShareRead  = 1
	ShareWrite = 2
	ShareBoth  = 3

	// WantNoDeleg is OPEN4_SHARE_ACCESS_WANT_NO_DELEG, in Open.Access of NFSv4.1 only.
	WantNoDeleg = 0x0400
)

// CreateHow is createmode4, with NoCreate for OPEN4_NOCREATE.
type CreateHow uint32

// Ways to open a file with regard to its creation.
const (
	// NoCreate opens a file that exists.
	NoCreate CreateHow = iota
	// CreateUnchecked takes an existing file as success.
	CreateUnchecked
	// CreateGuarded fails with ErrExist when the name is taken.
	CreateGuarded
	// CreateExclusive is like CreateGuarded, but survives a retransmission.
	CreateExclusive
	// CreateExclusive41 is like CreateExclusive, with attributes; NFSv4.1 only.
	CreateExclusive41
)

// Claim is open_claim_type4.
type Claim uint32

// Claims that are implemented here.
const (
	// ClaimNull opens Name in the current directory.
	ClaimNull Claim = 0
	// ClaimPrevious reclaims an open of the current file after a restart of the server.
	ClaimPrevious Claim = 1
	// ClaimFH opens the current file; NFSv4.1 only.
	ClaimFH Claim = 4
)

// Bits of Open.Flags.
const (
	// OpenConfirmNeeded is OPEN4_RESULT_CONFIRM.
	OpenConfirmNeeded = 0x02
	OpenLockTypePOSIX = 0x04
)

// DelegationType is open_delegation_type4.
type DelegationType uint32

// Types of delegations. DelegationNoneExt says why there is none; NFSv4.1 only.
const (
	DelegationNone    DelegationType = 0
	DelegationRead    DelegationType = 1
	DelegationWrite   DelegationType = 2
	DelegationNoneExt DelegationType = 3
)

// Delegation is open_delegation4.
type Delegation struct {
	Type    DelegationType
	StateID StateID // with DelegationRead and DelegationWrite, like Recall and Ace
	Recall  bool    // the server recalls it already
	// Limit is the space limit of DelegationWrite.
	Limit SpaceLimit
	Ace   Ace
	// Why is why_no_delegation4 of DelegationNoneExt; WillTell reports, with WhyContention and WhyResource, that the
	// server will notify the client when a delegation is available.
	Why      uint32
	WillTell bool
}

// Reasons of DelegationNoneExt that carry Delegation.WillTell.
const (
	WhyNotWanted  = 0
	WhyContention = 1
	WhyResource   = 2
)

// Code codes the fields that the type has.
func (g *Delegation) Code(c *xdr.Coder) {
	enum(c, (*uint32)(&g.Type), 0, uint32(DelegationNoneExt))
	switch g.Type {
	case DelegationRead, DelegationWrite:
		g.StateID.Code(c)
		if c.Bool(&g.Recall); g.Type == DelegationWrite {
			g.Limit.Code(c)
		}
		g.Ace.Code(c)
	case DelegationNoneExt:
		if c.Uint32(&g.Why); g.Why == WhyContention || g.Why == WhyResource {
			c.Bool(&g.WillTell)
		}
	case DelegationNone:
	}
}

// SpaceLimit is nfs_space_limit4: bytes, or blocks of a number of bytes.
type SpaceLimit struct {
	By         uint32 // LimitBytes or LimitBlocks
	Bytes      uint64
	Blocks     uint32
	BlockBytes uint32
}

// Kinds of a SpaceLimit.
const (
	LimitBytes  = 1
	LimitBlocks = 2
)

// Code codes the fields that the kind has.
func (l *SpaceLimit) Code(c *xdr.Coder) {
	if enum(c, &l.By, LimitBytes, LimitBlocks); l.By == LimitBytes {
		c.Uint64(&l.Bytes)
		return
	}
	c.Uint32(&l.Blocks, &l.BlockBytes)
}

// Ace is nfsace4.
type Ace struct {
	Type, Flags, Mask uint32
	Who               string
}

// Code codes the fields of a.
func (a *Ace) Code(c *xdr.Coder) {
	c.Uint32(&a.Type, &a.Flags, &a.Mask)
	c.String(&a.Who, MaxOwnerBytes)
}

// Open is OPEN.
type Open struct {
	Seq      uint32 // of the open owner; NFSv4.0 only
	Access   uint32 // Share bits, and wishes for a delegation
	Deny     uint32 // Share bits
	ClientID uint64 // NFSv4.1 uses the client ID of the session and ignores this one
	Owner    []byte
	How      CreateHow
	Attrs    Attrs    // with CreateUnchecked, CreateGuarded and CreateExclusive41
	Verifier Verifier // with CreateExclusive and CreateExclusive41
	Claim    Claim
	Name     string         // with ClaimNull
	Held     DelegationType // with ClaimPrevious

	StateID StateID    // result, as all that follows
	Change  ChangeInfo // of the directory
	Flags   uint32     // Open bits
	AttrSet Bitmap     // the attributes that were set
	Granted Delegation
}

// Op returns OpOpen.
func (o *Open) Op() Op { return OpOpen }

// Args codes the arguments.
func (o *Open) Args(c *xdr.Coder) {
	c.Uint32(&o.Seq, &o.Access, &o.Deny)
	c.Uint64(&o.ClientID)
	c.Opaque(&o.Owner, MaxOwnerBytes)
	o.codeHow(c)
	switch c.Uint32((*uint32)(&o.Claim)); o.Claim {
	case ClaimNull:
		c.String(&o.Name, MaxNameBytes)
	case ClaimPrevious:
		enum(c, (*uint32)(&o.Held), 0, uint32(DelegationWrite))
	case ClaimFH:
	default:
		c.Refuse(xdr.ErrBadValue)
	}
}

// codeHow codes openflag4: whether to create, and if so, how.
func (o *Open) codeHow(c *xdr.Coder) {
	var create, mode uint32
	if o.How != NoCreate {
		create, mode = 1, uint32(o.How-CreateUnchecked)
	}
	enum(c, &create, 0, 1)
	if c.Failed() || create == 0 {
		o.How = NoCreate
		return
	}
	enum(c, &mode, 0, uint32(CreateExclusive41-CreateUnchecked))
	o.How = CreateUnchecked + CreateHow(mode)
	if o.How >= CreateExclusive {
		o.Verifier.Code(c)
	}
	if o.How != CreateExclusive {
		o.Attrs.Code(c)
	}
}

// Results codes the results.
func (o *Open) Results(c *xdr.Coder) {
	o.StateID.Code(c)
	o.Change.Code(c)
	c.Uint32(&o.Flags)
	o.AttrSet.Code(c)
	o.Granted.Code(c)
}

// OpenConfirm is OPEN_CONFIRM; NFSv4.0 only.
type OpenConfirm struct {
	StateID StateID
	Seq     uint32 // of the open owner

	Confirmed StateID // result
}

// Op returns OpOpenConfirm.
func (o *OpenConfirm) Op() Op { return OpOpenConfirm }

// Args codes the arguments.
func (o *OpenConfirm) Args(c *xdr.Coder) {
	o.StateID.Code(c)
	c.Uint32(&o.Seq)
}

// Results codes the results.
func (o *OpenConfirm) Results(c *xdr.Coder) { o.Confirmed.Code(c) }
