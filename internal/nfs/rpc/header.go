package rpc

import (
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

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

// Append appends a to b.
func (a *Auth) Append(b []byte) []byte {
	b = xdr.AppendUint32(b, uint32(a.Flavor))
	return xdr.AppendOpaque(b, a.Body)
}

// Decode reads a from d. Body aliases the input of d.
func (a *Auth) Decode(d *xdr.Decoder) {
	a.Flavor = Flavor(d.Uint32())
	a.Body = d.Opaque(maxAuthBytes)
}

// CallHeader is everything of a call before its arguments.
type CallHeader struct {
	XID        uint32
	RPCVersion uint32 // filled in by Decode; Append always writes 2
	Program    uint32
	Version    uint32
	Procedure  uint32
	Credential Auth
	Verifier   Auth
}

// Append appends h to b.
func (h *CallHeader) Append(b []byte) []byte {
	b = xdr.AppendUint32(b, h.XID)
	b = xdr.AppendUint32(b, typeCall)
	b = xdr.AppendUint32(b, version)
	b = xdr.AppendUint32(b, h.Program)
	b = xdr.AppendUint32(b, h.Version)
	b = xdr.AppendUint32(b, h.Procedure)
	b = h.Credential.Append(b)
	return h.Verifier.Append(b)
}

// Decode reads h from d. A message that is no call sets the error of d. An RPC
// version other than 2 is no error here: the server has to answer it with
// RejectVersion, so it looks at RPCVersion.
func (h *CallHeader) Decode(d *xdr.Decoder) {
	h.XID = d.Uint32()
	if d.Uint32() != typeCall {
		d.Fail(ErrNotCall)
		return
	}
	h.RPCVersion = d.Uint32()
	h.Program = d.Uint32()
	h.Version = d.Uint32()
	h.Procedure = d.Uint32()
	h.Credential.Decode(d)
	h.Verifier.Decode(d)
}

// ReplyHeader is everything of a reply before its results.
type ReplyHeader struct {
	XID uint32
	// Denied chooses between an accepted reply (Verifier, Accept) and a
	// rejected one (Reject, AuthWhy).
	Denied   bool
	Verifier Auth
	Accept   AcceptStatus
	Reject   RejectStatus
	AuthWhy  AuthStatus // with RejectAuth
	// Low and High are the versions a server speaks, with
	// AcceptProgramMismatch and RejectVersion.
	Low, High uint32
}

// Append appends h to b.
func (h *ReplyHeader) Append(b []byte) []byte {
	b = xdr.AppendUint32(b, h.XID)
	b = xdr.AppendUint32(b, typeReply)
	b = xdr.AppendBool(b, h.Denied)
	if h.Denied {
		return h.appendRejected(b)
	}
	b = h.Verifier.Append(b)
	b = xdr.AppendUint32(b, uint32(h.Accept))
	if h.Accept == AcceptProgramMismatch {
		b = xdr.AppendUint32(b, h.Low)
		b = xdr.AppendUint32(b, h.High)
	}
	return b
}

func (h *ReplyHeader) appendRejected(b []byte) []byte {
	b = xdr.AppendUint32(b, uint32(h.Reject))
	if h.Reject == RejectVersion {
		b = xdr.AppendUint32(b, h.Low)
		return xdr.AppendUint32(b, h.High)
	}
	return xdr.AppendUint32(b, uint32(h.AuthWhy))
}

// Decode reads h from d. Something that is no reply sets the error of d; a reply
// that refuses the call does not, see Err.
func (h *ReplyHeader) Decode(d *xdr.Decoder) {
	*h = ReplyHeader{XID: d.Uint32()}
	if d.Uint32() != typeReply {
		d.Fail(ErrNotReply)
		return
	}
	h.Denied = d.Bool()
	if h.Denied {
		h.decodeRejected(d)
		return
	}
	h.Verifier.Decode(d)
	h.Accept = AcceptStatus(d.Uint32())
	if h.Accept == AcceptProgramMismatch {
		h.Low, h.High = d.Uint32(), d.Uint32()
	}
}

func (h *ReplyHeader) decodeRejected(d *xdr.Decoder) {
	h.Reject = RejectStatus(d.Uint32())
	switch h.Reject {
	case RejectVersion:
		h.Low, h.High = d.Uint32(), d.Uint32()
	case RejectAuth:
		h.AuthWhy = AuthStatus(d.Uint32())
	default:
		d.Fail(xdr.ErrBadValue)
	}
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
