package v4

import (
	"errors"
	"fmt"

	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// Operation is one operation of a compound with its arguments and its results.
type Operation interface {
	// Op says which operation it is.
	Op() Op
	// Args codes the arguments.
	Args(c *xdr.Coder)
	// Results codes what follows the status s: with most operations nothing unless s is OK.
	Results(c *xdr.Coder, s Status)
}

// OpError says which operation of a compound failed. With OpCompound or OpCBCompound the
// whole compound was refused. Unwrap gives the Status.
type OpError struct {
	Op     Op
	Status Status
}

func (e *OpError) Error() string { return fmt.Sprintf("%s: %s", e.Op, e.Status) }

// Unwrap returns the Status.
func (e *OpError) Unwrap() error { return e.Status }

// ProtocolError says that a compound or its reply does not follow the protocol.
type ProtocolError struct {
	Part string // which part of the message
	Err  error
}

func (e *ProtocolError) Error() string { return fmt.Sprintf("NFSv4 message: %s: %s", e.Part, e.Err) }

// Unwrap returns the reason.
func (e *ProtocolError) Unwrap() error { return e.Err }

// Reasons why the results of a compound cannot belong to the call (RFC 8881 section 16.2).
var (
	// ErrOrder says that a result is not of the operation that was sent in its place.
	ErrOrder = errors.New("result of another operation")
	// ErrTooManyResults says that there are more results than operations.
	ErrTooManyResults = errors.New("more results than operations")
	// ErrTooFewResults says that results are missing although nothing failed.
	ErrTooFewResults = errors.New("results are missing although nothing failed")
	// ErrContradiction says that the status of the compound is not that of its last
	// operation, or that results follow an operation that failed.
	ErrContradiction = errors.New("status contradicts the results")
	// ErrTrailing says that bytes follow the message.
	ErrTrailing = errors.New("bytes follow the end")
)

// Compound is COMPOUND: operations that the server runs one after the other until one fails.
// With Minor 1 the first operation is usually a Sequence.
type Compound struct {
	Tag   string
	Minor uint32
	Ops   []Operation
}

// Append appends the arguments of the call to b.
func (p *Compound) Append(b []byte) []byte {
	b = xdr.AppendString(b, p.Tag)
	b = xdr.AppendUint32(b, p.Minor)
	return appendOps(b, p.Ops)
}

// DecodeReply decodes the results of the call into its operations. It returns how many
// operations have succeeded, and why the next one has not: *OpError, or *ProtocolError when
// the reply is nonsense. After an error the results of operations that did not succeed are
// undefined, but for those that SETCLIENTID, LAYOUTGET and GETDEVICEINFO have with certain
// statuses.
func (p *Compound) DecodeReply(d *xdr.Decoder) (done int, err error) {
	return decodeReply(d, p.Ops, OpCompound)
}

// DecodeCall decodes the call. An operation that factory does not make ends Ops as
// *Unsupported, because its arguments cannot be skipped: the reply is its Status. With a
// Minor above 1 Ops stay empty: the reply is ErrMinorVersMismatch without results. The error
// is a *ProtocolError.
func (p *Compound) DecodeCall(d *xdr.Decoder, factory Factory) error {
	p.Tag = d.String(MaxTagBytes)
	p.Minor = d.Uint32()
	ops, err := decodeOps(d, p.Minor, OpCompound, factory)
	p.Ops = ops
	return err
}

// AppendReply appends the results of the first done operations, which are OK, and unless
// status is OK status as the result of the one behind them.
func (p *Compound) AppendReply(b []byte, status Status, done int) []byte {
	return appendReply(b, p.Tag, p.Ops, status, done)
}

// CBCompound is CB_COMPOUND: operations that a server asks of a client. Ident is
// callback_ident, which a client has chosen with SETCLIENTID; NFSv4.1 has no use for it.
type CBCompound struct {
	Tag   string
	Minor uint32
	Ident uint32
	Ops   []Operation
}

// Append appends the arguments of the call to b.
func (p *CBCompound) Append(b []byte) []byte {
	b = xdr.AppendString(b, p.Tag)
	b = xdr.AppendUint32(b, p.Minor)
	b = xdr.AppendUint32(b, p.Ident)
	return appendOps(b, p.Ops)
}

// DecodeReply is as that of Compound.
func (p *CBCompound) DecodeReply(d *xdr.Decoder) (done int, err error) {
	return decodeReply(d, p.Ops, OpCBCompound)
}

// DecodeCall is as that of Compound.
func (p *CBCompound) DecodeCall(d *xdr.Decoder, factory Factory) error {
	p.Tag = d.String(MaxTagBytes)
	p.Minor = d.Uint32()
	p.Ident = d.Uint32()
	ops, err := decodeOps(d, p.Minor, OpCBCompound, factory)
	p.Ops = ops
	return err
}

// AppendReply is as that of Compound.
func (p *CBCompound) AppendReply(b []byte, status Status, done int) []byte {
	return appendReply(b, p.Tag, p.Ops, status, done)
}

// Unsupported stands for an operation that is not implemented here.
type Unsupported struct {
	Number Op
	// Status is the answer: ErrNotSupp for an operation of the protocol, ErrOpIllegal for
	// a number that the minor version does not have.
	Status Status
}

// Op returns what the result must name: OpIllegal for a number that does not exist
// (RFC 8881 section 16.2.3).
func (u *Unsupported) Op() Op {
	if u.Status == ErrOpIllegal {
		return u.Number.illegal()
	}
	return u.Number
}

// Args codes nothing: the arguments are not known.
func (u *Unsupported) Args(*xdr.Coder) {}

// Results codes nothing.
func (u *Unsupported) Results(*xdr.Coder, Status) {}

func appendOps(b []byte, ops []Operation) []byte {
	c := xdr.NewEncoder(xdr.AppendUint32(b, uint32(len(ops))))
	for _, o := range ops {
		number := o.Op().Number()
		c.Uint32(&number)
		o.Args(&c)
	}
	return c.Bytes()
}

func decodeOps(d *xdr.Decoder, minor uint32, channel Op, factory Factory) ([]Operation, error) {
	n := d.Uint32()
	if d.Err() == nil && n > MaxOperations {
		d.Fail(xdr.ErrTooLong)
	}
	if d.Err() != nil {
		return nil, &ProtocolError{"head of " + channel.String(), d.Err()}
	}
	if minor > 1 {
		return nil, nil
	}
	var ops []Operation
	for range n {
		number := channel | Op(d.Uint32()&^uint32(callback))
		if d.Err() != nil {
			return ops, &ProtocolError{"operations of " + channel.String(), d.Err()}
		}
		o := factory(minor, number)
		if o == nil {
			return append(ops, unsupported(minor, number)), nil
		}
		c := d.Coder()
		o.Args(&c)
		if *d = c.Decoder(); d.Err() != nil {
			return ops, &ProtocolError{"arguments of " + number.String(), d.Err()}
		}
		ops = append(ops, o)
	}
	if d.Len() > 0 {
		return ops, &ProtocolError{"call of " + channel.String(), ErrTrailing}
	}
	return ops, nil
}

func unsupported(minor uint32, number Op) *Unsupported {
	if number.known(minor) {
		return &Unsupported{number, ErrNotSupp}
	}
	return &Unsupported{number, ErrOpIllegal}
}

func appendReply(b []byte, tag string, ops []Operation, status Status, done int) []byte {
	results := done
	if status != OK && done < len(ops) {
		results++
	}
	b = xdr.AppendUint32(b, uint32(status))
	b = xdr.AppendString(b, tag)
	c := xdr.NewEncoder(xdr.AppendUint32(b, uint32(results)))
	for i, o := range ops[:results] {
		number, s := o.Op().Number(), OK
		if i == done {
			s = status
		}
		c.Uint32(&number, (*uint32)(&s))
		o.Results(&c, s)
	}
	return c.Bytes()
}

func decodeReply(d *xdr.Decoder, ops []Operation, channel Op) (done int, err error) {
	var h replyHead
	if h.decode(d, len(ops)); d.Err() != nil {
		return 0, &ProtocolError{"reply of " + channel.String(), d.Err()}
	}
	for done = 0; done < h.results; done++ {
		o := ops[done]
		s := h.result(d, done, o.Op())
		c := d.Coder()
		if !c.Failed() {
			o.Results(&c, s)
		}
		if *d = c.Decoder(); d.Err() != nil {
			return done, &ProtocolError{"results of " + o.Op().String(), d.Err()}
		}
		if s != OK {
			channel = o.Op()
			break
		}
	}
	if d.Len() > 0 {
		return done, &ProtocolError{"reply of " + channel.String(), ErrTrailing}
	}
	if h.status != OK {
		return done, &OpError{channel, h.status}
	}
	return done, nil
}

// replyHead is what a reply begins with. Its decoding fails unless the results can belong to
// the operations.
type replyHead struct {
	status  Status
	results int
}

func (h *replyHead) decode(d *xdr.Decoder, ops int) {
	h.status = Status(d.Uint32())
	d.Opaque(MaxTagBytes)
	n := d.Uint32()
	switch {
	case d.Err() != nil:
	case uint64(n) > uint64(ops):
		d.Fail(ErrTooManyResults)
	case h.status == OK && int(n) < ops:
		d.Fail(ErrTooFewResults)
	}
	h.results = int(n)
}

// result decodes the operation and the status in front of result i, which must be of op.
func (h *replyHead) result(d *xdr.Decoder, i int, op Op) Status {
	number, s := d.Uint32(), Status(d.Uint32())
	// The status of the compound is that of the last result, and all before it are OK.
	want := OK
	if i == h.results-1 {
		want = h.status
	}
	switch {
	case d.Err() != nil:
	case number != op.Number() && (s != ErrOpIllegal || number != OpIllegal.Number()):
		d.Fail(ErrOrder)
	case s != want:
		d.Fail(ErrContradiction)
	}
	return s
}
