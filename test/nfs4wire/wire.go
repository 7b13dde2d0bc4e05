// Package nfs4wire is the server's half of package v4, which has that of a client: it decodes
// calls, encodes their replies, and speaks first on the callback channel.
package nfs4wire

import (
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// DecodeCall decodes a compound. An operation that is not implemented here ends its Ops as
// *v4.Unsupported, because its arguments cannot be skipped: the reply is its Status. With a
// Minor above 1 Ops stay empty. The error is a *v4.ProtocolError.
func DecodeCall(d *xdr.Decoder, p *v4.Compound) (err error) {
	p.Tag, p.Minor = d.String(v4.MaxTagBytes), d.Uint32()
	n := d.Uint32()
	if d.Err() == nil && n > v4.MaxOperations {
		d.Fail(xdr.ErrTooLong)
	}
	if d.Err() != nil {
		return &v4.ProtocolError{Part: "head of COMPOUND", Err: d.Err()}
	}
	if p.Minor > 1 {
		return nil
	}
	p.Ops, err = v4.DecodeOperations(d, v4.OpCompound, n, func(op v4.Op) v4.Operation { return New(p.Minor, op) })
	return err
}

// AppendReply appends the results of the first done operations, which are OK, and unless
// status is OK status as the result of the one behind them.
func AppendReply(b []byte, p *v4.Compound, status v4.Status, done int) []byte {
	return (&v4.CBCompound{Tag: p.Tag, Ops: p.Ops}).AppendReply(b, status, done)
}

// AppendCallback appends the arguments of a callback.
func AppendCallback(b []byte, p *v4.CBCompound) []byte {
	b = xdr.AppendString(b, p.Tag)
	b = xdr.AppendUint32(b, p.Minor)
	b = xdr.AppendUint32(b, p.Ident)
	return v4.AppendOperations(xdr.AppendUint32(b, uint32(len(p.Ops))), p.Ops)
}

// DecodeCallbackReply is v4.Compound.DecodeReply for a callback.
func DecodeCallbackReply(d *xdr.Decoder, p *v4.CBCompound) (done int, err error) {
	return (&v4.Compound{Ops: p.Ops}).DecodeReply(d)
}

// Operations makes an empty operation of each number.
func Operations() map[v4.Op]func() v4.Operation {
	return map[v4.Op]func() v4.Operation{
		v4.OpClose:              maker[v4.Close],
		v4.OpCommit:             maker[v4.Commit],
		v4.OpCreate:             maker[v4.Create],
		v4.OpDelegReturn:        maker[v4.DelegReturn],
		v4.OpGetAttr:            maker[v4.GetAttr],
		v4.OpGetFH:              maker[v4.GetFH],
		v4.OpLookup:             maker[v4.Lookup],
		v4.OpOpen:               maker[v4.Open],
		v4.OpOpenConfirm:        maker[v4.OpenConfirm],
		v4.OpPutFH:              maker[v4.PutFH],
		v4.OpPutRootFH:          maker[v4.PutRootFH],
		v4.OpRead:               maker[Read],
		v4.OpReadDir:            maker[v4.ReadDir],
		v4.OpRemove:             maker[v4.Remove],
		v4.OpRename:             maker[v4.Rename],
		v4.OpRenew:              maker[v4.Renew],
		v4.OpSaveFH:             maker[v4.SaveFH],
		v4.OpSetAttr:            maker[v4.SetAttr],
		v4.OpSetClientID:        maker[v4.SetClientID],
		v4.OpSetClientIDConfirm: maker[v4.SetClientIDConfirm],
		v4.OpWrite:              maker[Write],
		v4.OpBindConnToSession:  maker[v4.BindConnToSession],
		v4.OpExchangeID:         maker[v4.ExchangeID],
		v4.OpCreateSession:      maker[v4.CreateSession],
		v4.OpDestroySession:     maker[v4.DestroySession],
		v4.OpDestroyClientID:    maker[v4.DestroyClientID],
		v4.OpFreeStateID:        maker[v4.FreeStateID],
		v4.OpTestStateID:        maker[v4.TestStateID],
		v4.OpGetDeviceInfo:      maker[v4.GetDeviceInfo],
		v4.OpLayoutGet:          maker[v4.LayoutGet],
		v4.OpLayoutCommit:       maker[v4.LayoutCommit],
		v4.OpLayoutReturn:       maker[v4.LayoutReturn],
		v4.OpReclaimComplete:    maker[v4.ReclaimComplete],
		v4.OpSequence:           maker[v4.Sequence],
	}
}

func maker[T any, P interface {
	*T
	v4.Operation
}]() v4.Operation {
	return P(new(T))
}

//nolint:gochecknoglobals // a constant table
var operations = Operations()

// New makes an empty operation for decoding; *v4.Unsupported for one that is not implemented.
func New(minor uint32, op v4.Op) v4.Operation {
	highest := v4.Op(39) // RELEASE_LOCKOWNER
	if minor > 0 {
		highest = v4.OpReclaimComplete
	}
	empty, ok := operations[op]
	switch {
	case op < 3 || op > highest: // ACCESS is 3
		return &v4.Unsupported{Number: op, Status: v4.ErrOpIllegal}
	case !ok || minor > 0 && onlyMinor0(op):
		return &v4.Unsupported{Number: op, Status: v4.ErrNotSupp}
	}
	return empty()
}

// onlyMinor0 reports whether NFSv4.1 forbids to implement op (RFC 8881 section 17).
func onlyMinor0(op v4.Op) bool {
	switch op {
	case v4.OpOpenConfirm, v4.OpRenew, v4.OpSetClientID, v4.OpSetClientIDConfirm:
		return true
	default:
		return false
	}
}

// Read is READ. Offset and Count are bytes.
type Read struct {
	StateID v4.StateID
	Offset  uint64
	Count   uint32

	EOF  bool   // result
	Data []byte // result
}

// Op returns OpRead.
func (o *Read) Op() v4.Op { return v4.OpRead }

// Args codes the arguments.
func (o *Read) Args(c *xdr.Coder) {
	o.StateID.Code(c)
	c.Uint64(&o.Offset)
	c.Uint32(&o.Count)
}

// Results codes the results.
func (o *Read) Results(c *xdr.Coder) {
	c.Bool(&o.EOF)
	c.Opaque(&o.Data, v4.MaxDataBytes)
}

// Write is WRITE. Offset is bytes.
type Write struct {
	StateID v4.StateID
	Offset  uint64
	Stable  v4.Stable
	Data    []byte

	Count     uint32      // result: the bytes that were written
	Committed v4.Stable   // result
	Verifier  v4.Verifier // result
}

// Op returns OpWrite.
func (o *Write) Op() v4.Op { return v4.OpWrite }

// Args codes the arguments.
func (o *Write) Args(c *xdr.Coder) {
	o.StateID.Code(c)
	c.Uint64(&o.Offset)
	stable(c, &o.Stable)
	c.Opaque(&o.Data, v4.MaxDataBytes)
}

// Results codes the results.
func (o *Write) Results(c *xdr.Coder) {
	c.Uint32(&o.Count)
	stable(c, &o.Committed)
	o.Verifier.Code(c)
}

func stable(c *xdr.Coder, s *v4.Stable) {
	if c.Uint32(s); *s > v4.FileSync {
		c.Refuse(xdr.ErrBadValue)
	}
}
