package stream

import (
	"errors"
	"fmt"

	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// Stability says when the server must have written data on stable storage. The values are
// those of NFSv3 (RFC 1813) and of NFSv4 (RFC 7530).
type Stability uint32

// Degrees of stability.
const (
	// Unstable data may be lost by a restart of the server until a COMMIT.
	Unstable Stability = iota
	// DataSync data are stable with what is needed to read them again.
	DataSync
	// FileSync data and all attributes are stable.
	FileSync
)

// Part is what one READ or WRITE moves of an I/O.
type Part struct {
	IO       *IO
	From, To int // of IO.Buf, still to be moved
	// ID counts from 0. Two parts that are outstanding at the same time never have the same.
	ID int
	// Serial changes when the part is a new request; a retransmission keeps it.
	Serial uint32
	// Lane carries the part.
	Lane int
	// Now is when Append is called, in nanoseconds of a clock of the stream.
	Now int64
	// Mark belongs to the Protocol, from Append to Decode. It is 0 when an I/O begins.
	Mark uint64
}

// Offset returns where in the file the part begins.
func (p *Part) Offset() uint64 { return uint64(p.IO.Offset) + uint64(p.From) }

// Bytes returns how many bytes the part is to move.
func (p *Part) Bytes() int { return p.To - p.From }

// Protocol is one version of NFS: it encodes READ and WRITE and reads their replies. The
// threads of the lanes call it at the same time, each for its own parts. It allocates
// nothing.
type Protocol interface {
	// Append appends the call of p, which begins with room for record mark and xid, up to
	// the data: the last item of a WRITE is their length. Nothing is appended with an error:
	// ErrNotReady, ErrElsewhere, or the end of the I/O.
	Append(b []byte, p *Part) ([]byte, error)
	// Decode reads the results of p, those of a READ up to its data. Where they make no
	// sense, d has an error.
	Decode(d *xdr.Decoder, p *Part) Results
}

// Router is a Protocol whose I/O goes to different groups of lanes.
type Router interface {
	Protocol
	// Route returns the group that the data of io from place at of its buffer go to, and
	// how many bytes go there in one piece.
	Route(io *IO, at int) (group, bytes int)
	// Lost says that p, which Append has encoded, gets no answer that Decode could read: its
	// connection is gone, err is nil then, or the server refused the call with err.
	Lost(p *Part, err error)
}

// Slotted is a Protocol that limits how many parts are outstanding: Append returns ErrNoSlot.
type Slotted interface {
	Protocol
	// Notify sets what is called when a part that got ErrNoSlot from a lane may be encoded. Any goroutine
	// may call ready.
	Notify(ready func(lane, part int))
	// Forget says that p has ended, perhaps without an answer.
	Forget(p *Part)
	// Move says that another lane will encode p: p.Lane is the one that did so last.
	Move(p *Part, lane int)
}

// Errors of Protocol.Append that do not end the I/O.
var (
	// ErrNotReady says that the state which the call needs is being made again.
	ErrNotReady = errors.New("the state of the file is being recovered")
	// ErrNoSlot says that the part has to wait for its turn: see Slotted.Notify.
	ErrNoSlot = errors.New("all slots of the session are in use")
	// ErrElsewhere says that the group of the lane cannot carry the part any more.
	ErrElsewhere = errors.New("another server has to do this")
)

// Next says what follows a reply.
type Next uint8

// What may follow a reply.
const (
	// Finish ends the part, with the error of the results if there is one.
	Finish Next = iota
	// Repeat makes a new request at once.
	Repeat
	// Delay makes a new request later: the server asks for it.
	Delay
	// Recover makes a new request soon: state of the server has to be made again, which
	// the Protocol has begun.
	Recover
	// Elsewhere lets a lane of group 0 do it.
	Elsewhere
	// Disconnect gives up the connection because of the error of the results. The part is
	// sent again unchanged.
	Disconnect
)

// Verifier changes when a server may have lost unstable data.
type Verifier struct {
	Server int // which of several servers says it, as the Protocol counts them
	Value  [8]byte
}

// Results are what a reply says, without its data.
type Results struct {
	Next Next
	// Err is the status of the operation that failed.
	Err       error
	Count     int // bytes moved
	EOF       bool
	Committed Stability
	Verifier  Verifier
	// Data is how many bytes of data follow in the reply of a READ.
	Data int
}

// Check returns an error if the results of a call that succeeded cannot be those of p.
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
