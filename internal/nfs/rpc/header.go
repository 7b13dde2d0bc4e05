package rpc

import "github.com/nfsbench/nfsbench/internal/nfs/xdr"

// version is the only version of ONC RPC that exists over TCP.
const version = 2

// Message types of RFC 5531 section 9.
const (
	typeCall  = 0
	typeReply = 1
)

// maxAuthBytes is the longest body of a credential or verifier (RFC 5531 8.2).
const maxAuthBytes = 400

// Auth is a credential or a verifier.
type Auth struct {
	Flavor Flavor
	// Body is opaque; for FlavorSys it holds an AuthSys.
	Body []byte
}

// Code implements xdr.Coded. A decoded Body aliases the input.
func (a *Auth) Code(c *xdr.Coder) {
	c.Uint32((*uint32)(&a.Flavor))
	c.Opaque(&a.Body, maxAuthBytes)
}

// CallHeader is the part of a call before its arguments.
type CallHeader struct {
	XID        uint32
	RPCVersion uint32 // set by decoding; encoding always writes 2
	Program    uint32
	Version    uint32
	Procedure  uint32
	Credential Auth
	Verifier   Auth
}

// Code implements xdr.Coded. Decoding fails for a message that is no call, but not for an RPC version other than 2:
// the server checks RPCVersion and answers with RejectVersion.
func (h *CallHeader) Code(c *xdr.Coder) {
	kind := uint32(typeCall)
	if c.Uint32(&h.XID, &kind); kind != typeCall {
		c.Refuse(ErrNotCall)
		return
	}
	if c.Encoding() {
		h.RPCVersion = version
	}
	c.Uint32(&h.RPCVersion, &h.Program, &h.Version, &h.Procedure)
	h.Credential.Code(c)
	h.Verifier.Code(c)
}

// ReplyHeader is the part of a reply before its results.
type ReplyHeader struct {
	XID uint32
	// Denied selects a rejected reply (Reject, AuthWhy) instead of an accepted one
	// (Verifier, Accept).
	Denied   bool
	Verifier Auth
	Accept   AcceptStatus
	Reject   RejectStatus
	AuthWhy  AuthStatus // with RejectAuth
	// Low and High are the versions that a server supports, with
	// AcceptProgramMismatch and RejectVersion.
	Low, High uint32
}

// Code implements xdr.Coded. Decoding fails for a message that is no reply, but not for a reply that refuses the
// call, see Err.
func (h *ReplyHeader) Code(c *xdr.Coder) {
	kind := uint32(typeReply)
	if c.Uint32(&h.XID, &kind); kind != typeReply {
		c.Refuse(ErrNotReply)
		return
	}
	versions := false
	if c.Bool(&h.Denied); h.Denied {
		c.Uint32((*uint32)(&h.Reject))
		switch versions = h.Reject == RejectVersion; h.Reject {
		case RejectVersion:
		case RejectAuth:
			c.Uint32((*uint32)(&h.AuthWhy))
		default:
			c.Refuse(xdr.ErrBadValue)
		}
	} else {
		h.Verifier.Code(c)
		c.Uint32((*uint32)(&h.Accept))
		versions = h.Accept == AcceptProgramMismatch
	}
	if versions {
		c.Uint32(&h.Low, &h.High)
	}
}

// Append appends h to b.
func (h *ReplyHeader) Append(b []byte) []byte {
	c := xdr.NewEncoder(b)
	h.Code(&c)
	return c.Bytes()
}

// Decode reads h from d.
func (h *ReplyHeader) Decode(d *xdr.Decoder) {
	*h = ReplyHeader{}
	c := d.Coder()
	h.Code(&c)
	*d = c.Decoder()
}

// Err returns nil for a call that was executed, otherwise a *RefusedError.
func (h *ReplyHeader) Err() error {
	if !h.Denied && h.Accept == AcceptSuccess {
		return nil
	}
	return &RefusedError{
		Denied: h.Denied, Accept: h.Accept, Reject: h.Reject, AuthWhy: h.AuthWhy,
		Low: h.Low, High: h.High,
	}
}

// Flavor is a kind of credential.
type Flavor uint32

// Flavors of RFC 5531 section 8.2.
const (
	FlavorNone Flavor = 0
	FlavorSys  Flavor = 1
)

// Limits of RFC 5531 appendix A.
const (
	maxMachineBytes = 255
	maxGIDs         = 16
)

// AuthSys is the credential that identifies a user by number.
type AuthSys struct {
	Stamp   uint32
	Machine string // Auth cuts it to 255 bytes
	UID     uint32
	GID     uint32
	GIDs    []uint32 // Auth cuts them to 16
}

// Code implements xdr.Coded for the body of the credential.
func (a *AuthSys) Code(c *xdr.Coder) {
	c.Uint32(&a.Stamp)
	c.String(&a.Machine, maxMachineBytes)
	c.Uint32(&a.UID, &a.GID)
	xdr.Bounded(c, &a.GIDs, maxGIDs, 4, func(g *uint32) { c.Uint32(g) })
}

// Auth returns a as a credential, cut to the limits.
func (a AuthSys) Auth() Auth {
	a.Machine, a.GIDs = a.Machine[:min(len(a.Machine), maxMachineBytes)], a.GIDs[:min(len(a.GIDs), maxGIDs)]
	return Auth{Flavor: FlavorSys, Body: xdr.Append(nil, &a)}
}
