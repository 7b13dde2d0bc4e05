package stream

import (
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// DelayFirst and DelayMax are the first and the longest delay when a server asks for a later retry. RecoverFirst and
// RecoverMax are the same while state is being recovered.
const (
	DelayFirst   = 100 * time.Millisecond
	DelayMax     = 5 * time.Second
	RecoverFirst = 10 * time.Millisecond
	RecoverMax   = 500 * time.Millisecond
)

// reply is a reply without its data.
type reply struct {
	Results
	fragment *fragment
	refused  error // the call was not executed
	at       int   // offset of the data
}

func violation(err error) error { return &rpc.ProtocolError{Err: err} }

// decode decodes the head of a reply and finds its fragment; nil if no fragment
// waits for it.
func (l *thread) decode(b []byte, rep *reply) error {
	l.decoder = xdr.NewDecoder(b)
	d := &l.decoder
	var h rpc.ReplyHeader
	h.Decode(d)
	if err := d.Err(); err != nil {
		return violation(err)
	}
	i := h.XID & l.s.indexMask
	switch {
	case int(i) < len(l.mine) && l.mine[i] == h.XID && h.XID != 0:
	case int(i) < len(l.mine) && l.past[i] == h.XID && h.XID != 0:
		return nil // a duplicate reply, for which no fragment waits
	default:
		return violation(rpc.ErrUnknownXID)
	}
	f := &l.s.fragments[i]
	rep.fragment = f
	if f.end > l.send.sent {
		return violation(fmt.Errorf("a call is answered before it was sent"))
	}
	if h.Denied || h.Accept != rpc.AcceptSuccess {
		rep.refused = h.Err()
		return nil
	}
	rep.Results = l.s.cfg.Protocol.Decode(d, &f.Part)
	if err := d.Err(); err != nil && rep.Err == nil { // the reply of a failed operation may end early
		return violation(err)
	}
	rep.at = d.Offset()
	if rep.Data > f.Bytes() {
		return violation(rpc.ErrTooMuchData)
	}
	return nil
}

// reply completes the fragment of a whole reply.
func (l *thread) reply(b []byte) error {
	var rep reply
	if err := l.decode(b, &rep); err != nil {
		return err
	}
	f := rep.fragment
	if f == nil {
		return nil
	}
	if rep.Data > len(b)-rep.at {
		return violation(rpc.ErrRecordShort)
	}
	if rep.Next == Disconnect && rep.refused == nil {
		return rep.Err
	}
	l.replied(f)
	if rep.Data > 0 {
		copy(f.IO.Buf[f.From:f.To], b[rep.at:rep.at+rep.Data])
	}
	l.settle(f, &rep)
	return nil
}

// replied records that f is no longer in flight.
func (l *thread) replied(f *fragment) {
	l.mine[f.ID], l.past[f.ID] = 0, l.mine[f.ID]
	l.inFlight--
	l.garbage, l.answered, l.unproven = 0, l.now, 0
	l.returned()
	l.Receives.Add(1)
}

// settle takes the next step after a reply.
func (l *thread) settle(f *fragment, rep *reply) {
	sl, completed := f.slot, l.completed
	switch {
	case rep.refused != nil && l.group != 0:
		l.s.router.Lost(&f.Part, rep.refused)
		l.park(f)
	case rep.refused != nil:
		l.finished(f, rep.refused)
	case rep.Next == Repeat:
		l.again(f, rep.Err)
	case rep.Next == Delay:
		// The server would repeat its reply to the old xid, so the new request needs another xid.
		l.s.renew(f)
		l.later(f, DelayFirst, DelayMax, l.s.cfg.Timeout, rep.Err)
	case rep.Next == Recover:
		l.s.renew(f)
		l.later(f, RecoverFirst, RecoverMax, l.s.cfg.Patience, rep.Err)
	case rep.Next == Elsewhere && l.group != 0:
		l.park(f)
	case rep.Err != nil:
		l.finished(f, rep.Err)
	default:
		l.moved(f, &rep.Results)
	}
	if l.group != 0 && l.completed == completed { // otherwise the slot may belong to another thread
		l.leave(sl)
	}
}

// moved continues a part after a transfer.
func (l *thread) moved(f *fragment, r *Results) {
	switch err := f.Check(r); {
	case err != nil && l.group != 0:
		l.park(f)
		return
	case err != nil:
		l.finished(f, err) // a retry would return the same
		return
	}
	if f.IO.Write {
		l.BytesWritten.Add(int64(r.Count))
		f.IO.note(r)
	} else {
		l.BytesRead.Add(int64(r.Count))
	}
	f.From += r.Count
	switch {
	case f.From == f.To:
		l.finished(f, nil)
	case r.EOF:
		l.finished(f, io.EOF)
	case r.Count == 0:
		l.finished(f, io.ErrNoProgress)
	default:
		l.again(f, errLittle)
	}
}

// note records the verifier of unstable data.
func (x *IO) note(r *Results) {
	switch {
	case r.Committed != Unstable:
	case !x.Unstable:
		x.Unstable, x.Verifiers = true, [2]Verifier{r.Verifier, r.Verifier}
	case r.Verifier != x.Verifiers[0]:
		x.Verifiers[1] = r.Verifier
	}
}

// park marks f for group 0, as a new request, and leave hands it over.
func (l *thread) park(f *fragment) {
	l.s.renew(f)
	f.state = fragmentParked
}

// errLittle reports an I/O that took too long although each call transferred something.
var errLittle = fmt.Errorf("%w: each of them has a little of the data", ErrTimeout)

// again requests the missing bytes of f at once. A server can ask for that, or transfer little, without end.
func (l *thread) again(f *fragment, err error) {
	if l.isOver(f, 0, l.s.cfg.Patience, err) {
		return
	}
	f.state = fragmentQueued
	l.s.renew(f)
	l.unsent.push(f)
}

// isOver reports whether f would exceed limit after a delay. Then it fails with err, or goes to group 0 from another
// group.
func (l *thread) isOver(f *fragment, delay int64, limit time.Duration, err error) bool {
	if l.group != 0 {
		limit = l.s.cfg.Timeout / 2 // the rest of the timeout belongs to group 0
	}
	switch over := l.now-f.slot.started+delay > int64(limit); {
	case !over:
		return false
	case l.group != 0:
		f.delay = 0
		l.park(f)
	default:
		l.finished(f, err)
	}
	return true
}

// later retries after a delay that grows from first to most, unless f would exceed limit.
func (l *thread) later(f *fragment, first, most, limit time.Duration, err error) {
	f.delay = min(max(2*f.delay, int64(first)), int64(most))
	if l.isOver(f, f.delay, limit, err) {
		return
	}
	// A random tenth keeps many requests from returning together.
	f.due = l.now + f.delay + rand.Int64N(f.delay/10)
	l.delay(f)
}
