package v4

import (
	"errors"
	"fmt"

	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// Operation is one operation of a compound with its arguments and its results. An operation with results also has
// Results(c *xdr.Coder), which codes the results after the status OK. The few operations with results after other
// statuses have Failure(c *xdr.Coder, s Status). Only wire tests notice a method with a wrong signature, which is
// never called.
type Operation interface {
	// Op returns the number of the operation.
	Op() Op
	// Args codes the arguments.
	Args(c *xdr.Coder)
}

// codeResults codes the results of an operation after status s.
func codeResults(c *xdr.Coder, o Operation, s Status) {
	if s == OK {
		if o, ok := o.(interface{ Results(c *xdr.Coder) }); ok {
			o.Results(c)
		}
	} else if o, ok := o.(interface{ Failure(c *xdr.Coder, s Status) }); ok {
		o.Failure(c, s)
	}
}

// OpError says which operation of a compound failed. With OpCompound or OpCBCompound the whole compound was refused.
// Unwrap returns the Status.
type OpError struct {
	Op     Op
	Status Status
}

func (e *OpError) Error() string { return fmt.Sprintf("%s: %s", e.Op, e.Status) }

// Unwrap returns the Status.
func (e *OpError) Unwrap() error { return e.Status }

// ProtocolError reports that a compound or its reply does not follow the protocol.
type ProtocolError struct {
	Part string // which part of the message
	Err  error
}

func (e *ProtocolError) Error() string { return fmt.Sprintf("NFSv4 message: %s: %s", e.Part, e.Err) }

// Unwrap returns the reason.
func (e *ProtocolError) Unwrap() error { return e.Err }

// Reasons why the results of a compound cannot belong to the call (RFC 8881 section 16.2).
var (
	// ErrOrder reports a result of another operation than the one sent in its place.
	ErrOrder = errors.New("result of another operation")
	// ErrTooManyResults says that there are more results than operations.
	ErrTooManyResults = errors.New("more results than operations")
	// ErrTooFewResults reports that results are missing although no operation failed.
	ErrTooFewResults = errors.New("results are missing although nothing failed")
	// ErrContradiction reports that the status of the compound differs from that
	// of its last operation, or that results follow a failed operation.
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
	return AppendOperations(xdr.AppendUint32(b, uint32(len(p.Ops))), p.Ops)
}

// AppendOperations appends operations with their arguments to b.
func AppendOperations(b []byte, ops []Operation) []byte {
	c := xdr.NewEncoder(b)
	for _, o := range ops {
		number := o.Op().Number()
		c.Uint32(&number)
		o.Args(&c)
	}
	return c.Bytes()
}

// DecodeOperations decodes the n operations at the end of a call. The function empty returns an empty operation for a
// number. The caller bounds n. An *Unsupported operation is the last one returned, because its arguments cannot be
// skipped. compound names the call in the error, which is a *ProtocolError.
func DecodeOperations(d *xdr.Decoder, compound Op, n uint32, empty func(Op) Operation) (ops []Operation, err error) {
	for range n {
		o := empty(Op(d.Uint32()))
		if d.Err() == nil {
			c := d.Coder()
			o.Args(&c)
			*d = c.Decoder()
		}
		if d.Err() != nil {
			return ops, &ProtocolError{"operations of " + compound.String(), d.Err()}
		}
		ops = append(ops, o)
		if _, unknown := o.(*Unsupported); unknown {
			return ops, nil
		}
	}
	if d.Len() > 0 {
		return ops, &ProtocolError{"call of " + compound.String(), ErrTrailing}
	}
	return ops, nil
}

// DecodeReply decodes the results of the call into its operations. It returns the number of operations that
// succeeded, and the error of the next one: *OpError, or *ProtocolError if the reply is invalid. After an error the
// results of other operations are undefined, except the results that SETCLIENTID, LAYOUTGET and GETDEVICEINFO return
// with certain statuses.
func (p *Compound) DecodeReply(d *xdr.Decoder) (done int, err error) {
	failed := OpCompound
	var h replyHead
	if h.decode(d, len(p.Ops)); d.Err() != nil {
		return 0, &ProtocolError{"reply of " + failed.String(), d.Err()}
	}
	for done = 0; done < h.results; done++ {
		o := p.Ops[done]
		s := h.result(d, done, o.Op())
		c := d.Coder()
		if !c.Failed() {
			codeResults(&c, o, s)
		}
		if *d = c.Decoder(); d.Err() != nil {
			return done, &ProtocolError{"results of " + o.Op().String(), d.Err()}
		}
		if s != OK {
			failed = o.Op()
			break
		}
	}
	if d.Len() > 0 {
		return done, &ProtocolError{"reply of " + failed.String(), ErrTrailing}
	}
	if h.status != OK {
		return done, &OpError{failed, h.status}
	}
	return done, nil
}

// CBCompound is CB_COMPOUND: operations that a server requests from a client. Ident is callback_ident, which the
// client chose with SETCLIENTID; NFSv4.1 does not use it.
type CBCompound struct {
	Tag   string
	Minor uint32
	Ident uint32
	Ops   []Operation
}

// DecodeCall decodes the call. An unimplemented operation is the last of Ops, as *Unsupported: the reply is its
// Status. With a Minor other than 1, Ops is empty: the reply is ErrMinorVersMismatch without results. The error is a
// *ProtocolError.
func (p *CBCompound) DecodeCall(d *xdr.Decoder) (err error) {
	p.Tag, p.Minor, p.Ident = d.String(MaxTagBytes), d.Uint32(), d.Uint32()
	n := d.Uint32()
	if d.Err() == nil && n > MaxOperations {
		d.Fail(xdr.ErrTooLong)
	}
	if d.Err() != nil {
		return &ProtocolError{"head of CB_COMPOUND", d.Err()}
	}
	if p.Minor != 1 {
		return nil
	}
	p.Ops, err = DecodeOperations(d, OpCBCompound, n, newCallback)
	return err
}

// AppendReply appends the results of the first done operations, which are OK. Unless status is OK, it appends status
// as the result of the next operation.
func (p *CBCompound) AppendReply(b []byte, status Status, done int) []byte {
	results := done
	if status != OK && done < len(p.Ops) {
		results++
	}
	b = xdr.AppendUint32(b, uint32(status))
	b = xdr.AppendString(b, p.Tag)
	c := xdr.NewEncoder(xdr.AppendUint32(b, uint32(results)))
	for i, o := range p.Ops[:results] {
		number, s := o.Op().Number(), OK
		if i == done {
			s = status
		}
		c.Uint32(&number, (*uint32)(&s))
		codeResults(&c, o, s)
	}
	return c.Bytes()
}

// Unsupported stands for an unimplemented callback.
type Unsupported struct {
	Number Op
	// Status is the answer: ErrNotSupp for an operation of the protocol, ErrOpIllegal for a number that does not exist
	// in NFSv4.1.
	Status Status
}

// Op returns the operation in the result: OpCBIllegal for a number that does not exist (RFC 8881 section 16.2.3).
func (u *Unsupported) Op() Op {
	if u.Status == ErrOpIllegal {
		return OpCBIllegal
	}
	return u.Number
}

// Args codes nothing: the arguments are unknown.
func (u *Unsupported) Args(*xdr.Coder) {}

// newCallback returns an empty operation of the callback channel for decoding.
func newCallback(number Op) Operation {
	switch op := callback | number; op {
	case OpCBRecall:
		return &CBRecall{}
	case OpCBLayoutRecall:
		return &CBLayoutRecall{}
	case OpCBRecallAny:
		return &CBRecallAny{}
	case OpCBRecallSlot:
		return &CBRecallSlot{}
	case OpCBSequence:
		return &CBSequence{}
	case OpCBNotifyDeviceID:
		return &CBNotifyDeviceID{}
	default:
		if first, last := callback|3, OpCBNotifyDeviceID; op >= first && op <= last { // CB_GETATTR is 3
			return &Unsupported{op, ErrNotSupp}
		}
		return &Unsupported{op, ErrOpIllegal}
	}
}

// replyHead is the head of a reply. Decoding fails unless the results can belong to the operations.
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
	// The status of the compound is the status of the last result, and all earlier results are OK.
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
