package stream

import (
	"errors"
	"fmt"

	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// Stability says when the server must have written data on stable storage. NFSv3 (RFC 1813) and NFSv4 (RFC 7530) use
// the same values.
type Stability uint32

// Degrees of stability.
const (
	// Unstable data may be lost by a restart of the server until a COMMIT.
	Unstable Stability = iota
	// DataSync data are stable, with the metadata needed to read them again.
	DataSync
	// FileSync data and all attributes are stable.
	FileSync
)

// Part is the part of an I/O that one READ or WRITE transfers.
type Part struct {
	IO       *IO
	From, To int // range of IO.Buf that is still to be transferred
	// ID counts from 0. Concurrently outstanding parts have different IDs.
	ID int
	// Serial changes when the part is a new request; a retransmission keeps it.
	Serial uint32
	// Thread carries the part.
	Thread int
	// Now is the time of the call of Append, in nanoseconds of the stream's clock.
	Now int64
	// Mark belongs to the Protocol, from Append to Decode. It is 0 when an I/O begins.
	Mark uint64
}

// Offset returns the offset of the part in the file.
func (p *Part) Offset() uint64 { return uint64(p.IO.Offset) + uint64(p.From) }

// Bytes returns the number of bytes that the part must transfer.
func (p *Part) Bytes() int { return p.To - p.From }

// Protocol is one version of NFS: it encodes READ and WRITE and reads their replies. The threads call it
// concurrently, each for its own parts. It allocates nothing.
type Protocol interface {
	// Append appends the call of p up to its data, beginning with room for record mark and xid. The last item of a WRITE
	// is the length of the data. With an error it appends nothing: ErrNotReady, ErrNoSlot, ErrElsewhere, or an error
	// that ends the I/O.
	Append(b []byte, p *Part) ([]byte, error)
	// Decode decodes the results of p, for a READ up to its data. For invalid results, d has an error.
	Decode(d *xdr.Decoder, p *Part) Results
}

// Router is a Protocol that distributes I/O over groups of threads.
type Router interface {
	Protocol
	// Route returns the group for the data of io from index at of its buffer, and the number of bytes that go there in
	// one piece.
	Route(io *IO, at int) (group, bytes int)
	// Lost reports that an encoded p gets no answer for Decode: its connection is lost, and err is nil, or the server
	// refused the call with err.
	Lost(p *Part, err error)
}

// Slotted is a Protocol that limits the outstanding parts: Append returns ErrNoSlot.
type Slotted interface {
	Protocol
	// Notify sets the function that is called when a part that got ErrNoSlot on a thread may be encoded. Any goroutine may
	// call ready.
	Notify(ready func(thread, part int))
	// Forget reports that p has ended, perhaps without an answer.
	Forget(p *Part)
	// Move reports that another thread will encode p. The thread that encoded it last is p.Thread.
	Move(p *Part, thread int)
}

// Errors of Protocol.Append that do not end the I/O.
var (
	// ErrNotReady reports that the state for the call is being recovered.
	ErrNotReady = errors.New("the state of the file is being recovered")
	// ErrNoSlot reports that the part has to wait for its turn: see Slotted.Notify.
	ErrNoSlot = errors.New("all slots of the session are in use")
	// ErrElsewhere reports that the group of the thread can no longer carry the part.
	ErrElsewhere = errors.New("another server has to do this")
)

// Next is the next step after a reply.
type Next uint8

// The steps after a reply.
const (
	// Finish ends the part, with the error of the results if there is one.
	Finish Next = iota
	// Repeat makes a new request at once.
	Repeat
	// Delay makes a new request later, as the server asked.
	Delay
	// Recover makes a new request soon: the Protocol has begun to recover state at the server.
	Recover
	// Elsewhere hands the part to a thread of group 0.
	Elsewhere
	// Disconnect gives up the connection because of the error in the results. The part is retransmitted unchanged.
	Disconnect
)

// Verifier changes when a server may have lost unstable data.
type Verifier struct {
	Server int // number of the server in the Protocol
	Value  [8]byte
}

// Results holds the results of a reply without its data.
type Results struct {
	Next Next
	// Err is the status of the failed operation.
	Err       error
	Count     int // bytes moved
	EOF       bool
	Committed Stability
	Verifier  Verifier
	// Data is the number of data bytes that follow in the reply of a READ.
	Data int
}

// Check returns an error if the results of a successful call cannot belong to p.
func (p *Part) Check(r *Results) error {
	var err error
	switch {
	case r.Data > p.Bytes():
		err = rpc.ErrTooMuchData
	case !p.IO.Write && r.Count != r.Data:
		err = fmt.Errorf("READ answers with %d bytes of data but counts %d", r.Data, r.Count)
	case p.IO.Write && (r.Count == 0 || r.Count > p.Bytes()):
		err = fmt.Errorf("WRITE of %d bytes is answered with %d written", p.Bytes(), r.Count)
	case p.IO.Write && r.Committed < p.IO.Stable:
		err = fmt.Errorf("WRITE asked for stability %d and got %d", p.IO.Stable, r.Committed)
	default:
		return nil
	}
	return violation(err)
}
