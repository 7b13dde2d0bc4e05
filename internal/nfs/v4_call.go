package nfs

import (
	"context"
	"errors"

	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/session"
	"github.com/nfsbench/nfsbench/internal/nfs/stream"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// callV4 is one compound, retried until a final answer.
type callV4 struct {
	server *serverV4
	ops    []v4.Operation
	// before is called before each encoding. It sets values that recovery may change, and may return stream.ErrNotReady.
	before func() error
	// bare omits SEQUENCE.
	bare bool
	// own marks a call of recovery itself: an answer that asks for recovery ends it.
	own bool
	// fixed reports that recovery changes nothing in the call: an answer that asks for other state ends it. A call
	// without before is also fixed.
	fixed bool

	status   v4.Status // of the last answer
	answered bool
	era      uint64
	mark     uint64
	sequence v4.Sequence
}

// do makes a compound, with SEQUENCE in NFSv4.1.
func (s *serverV4) do(ctx context.Context, ops ...v4.Operation) error {
	_, err := s.call(ctx, &callV4{ops: ops})
	return err
}

// own makes a compound as part of recovery. The caller holds mu.
func (s *serverV4) own(ctx context.Context, ops ...v4.Operation) error {
	_, err := s.call(ctx, &callV4{ops: ops, own: true, bare: s.minor == 0})
	return err
}

// bare makes a compound without SEQUENCE, as part of recovery.
func (s *serverV4) bare(ctx context.Context, ops ...v4.Operation) error {
	_, err := s.call(ctx, &callV4{ops: ops, own: true, bare: true})
	return err
}

// call makes c. If a change took several attempts, the server may have executed an earlier one: it forgets the reply
// of a call whose session is lost.
func (s *serverV4) call(ctx context.Context, c *callV4) (attempts int, err error) {
	c.server = s
	o := &op{encode: c.encode, decode: c.decode}
	if c.own {
		o.free, o.part.ID = true, controlRequests
	}
	err = s.transport.do(ctx, o)
	return o.attempts, err
}

func (c *callV4) encode(o *op) (err error) {
	c.era = c.server.era.Load()
	if c.before != nil {
		if err := c.before(); err != nil {
			return err
		}
	}
	s := c.server
	b := append(o.call.Request, s.head...)
	n := uint32(len(c.ops))
	if sequenced := s.minor > 0 && !c.bare; sequenced {
		b = v4.AppendCompoundHead(b, s.minor, n+1)
		if b, c.mark, err = s.control.Append(b, &o.part, 0, true); err != nil {
			return err
		}
	} else {
		b = v4.AppendCompoundHead(b, s.minor, n)
	}
	o.call.Request = v4.AppendOperations(b, c.ops)
	return nil
}

func (c *callV4) decode(o *op) stream.Results {
	s := c.server
	p := v4.Compound{Minor: s.minor, Ops: c.ops}
	sequenced := s.minor > 0 && !c.bare
	if sequenced {
		p.Ops = append([]v4.Operation{&c.sequence}, c.ops...)
	}
	err := decodeCompound(&p, o.call.Results)
	op, status := v4.OpCompound, v4.OK
	failed, isStatus := errors.AsType[*v4.OpError](err)
	if isStatus {
		op, status = failed.Op, failed.Status
	} else if err != nil {
		return stream.Results{Err: err}
	}
	c.status, c.answered = status, true
	r := stream.Results{Err: err}
	if sequenced {
		if op != v4.OpSequence {
			s.look(c.sequence.Reply.Flags)
			s.touched.Store(s.transport.clock.Load())
		}
		if r.Next, err = s.session(s.control, o.part.ID, c.mark, op, status, &c.sequence.Reply); err != nil {
			return stream.Results{Err: err}
		}
	}
	if r.Next == stream.Finish {
		r.Next = c.next(status)
	}
	if c.own && r.Next == stream.Recover {
		r.Next = stream.Finish
	}
	return r
}

// next returns the server's next step, unless recovery would change nothing in c.
func (c *callV4) next(status v4.Status) stream.Next {
	next := c.server.next(status, c.era)
	if (c.fixed || c.before == nil) && next == stream.Recover && status != v4.ErrGrace {
		return stream.Finish
	}
	return next
}

// next returns the next step after the status of an operation that was sent in an era, and starts recovery if needed.
func (s *serverV4) next(status v4.Status, era uint64) stream.Next {
	switch status {
	case v4.ErrDelay, v4.ErrLayoutTryLater, v4.ErrRecallConflict:
		return stream.Delay
	case v4.ErrGrace:
		return stream.Recover
	case v4.ErrStaleClientID, v4.ErrExpired, v4.ErrStaleStateID:
		s.loseClient(era)
		return stream.Recover
	default:
		return stream.Finish
	}
}

// session returns the next step that a reply requires because of its session.
func (s *serverV4) session(
	t *session.Table, id int, mark uint64, op v4.Op, status v4.Status, head *v4.SequenceHead,
) (stream.Next, error) {
	era := s.era.Load() // before Replied, which says that the session is not that of an earlier era
	next, err := t.Replied(id, mark, op, status, head)
	if err != nil {
		return next, &rpc.ProtocolError{Err: err}
	}
	if next == stream.Recover {
		if status == v4.ErrStaleClientID {
			s.loseClient(era)
		}
		s.wake()
	}
	return next, nil
}

// decodeCompound decodes the results of p. Decoded byte slices alias results.
func decodeCompound(p *v4.Compound, results []byte) error {
	d := xdr.NewDecoder(results)
	_, err := p.DecodeReply(&d)
	if nonsense, ok := errors.AsType[*v4.ProtocolError](err); ok {
		return &rpc.ProtocolError{Err: nonsense}
	}
	return err
}
