package stream

import (
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// How long a server that asks to be asked later is left alone.
const (
	delayFirst = 100 * time.Millisecond
	delayMax   = 5 * time.Second
)

// reply is what a reply says, without its data.
type reply struct {
	fragment  *fragment
	refused   error // the call was not executed
	status    v3.Status
	count     int
	eof       bool
	committed v3.Stable
	data      int // bytes of data in the reply
	at        int // where they begin
}

func violation(err error) error { return &rpc.ProtocolError{Err: err} }

// decode reads the head of a reply and finds the fragment that it answers; none
// if nobody waits for it.
func (l *lane) decode(b []byte, rep *reply) error {
	d := xdr.NewDecoder(b)
	var h rpc.ReplyHeader
	h.Decode(&d)
	if err := d.Err(); err != nil {
		return violation(err)
	}
	i := h.XID & l.s.indexMask
	switch {
	case int(i) < len(l.mine) && l.mine[i] == h.XID && h.XID != 0:
	case int(i) < len(l.mine) && l.past[i] == h.XID && h.XID != 0:
		return nil // the same reply once more: nobody waits for it
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
	if f.slot.io.Write {
		var res v3.WriteRes
		res.DecodeBrief(&d)
		rep.status, rep.count, rep.committed = res.Status, int(res.Count), res.Committed
	} else {
		var res v3.ReadRes
		rep.data = res.DecodeHead(&d)
		rep.status, rep.count, rep.eof = res.Status, int(res.Count), res.EOF
	}
	if err := d.Err(); err != nil && rep.status == v3.OK {
		return violation(err)
	}
	rep.at = d.Offset()
	if rep.data > f.to-f.from {
		return violation(rpc.ErrTooMuchData)
	}
	return nil
}

// reply completes the fragment that a whole reply answers.
func (l *lane) reply(b []byte) error {
	var rep reply
	if err := l.decode(b, &rep); err != nil {
		return err
	}
	f := rep.fragment
	if f == nil {
		return nil
	}
	if rep.data > len(b)-rep.at {
		return violation(rpc.ErrRecordShort)
	}
	l.replied(f)
	switch {
	case rep.refused != nil:
		l.finished(f, rep.refused)
	case rep.status == v3.ErrJukebox:
		l.later(f)
	case rep.status != v3.OK:
		l.finished(f, rep.status)
	case f.slot.io.Write:
		return l.writeDone(f, &rep)
	default:
		copy(f.slot.io.Buf[f.from:], b[rep.at:rep.at+rep.data])
		return l.readDone(f, &rep)
	}
	return nil
}

// replied notes that f is no longer in flight.
func (l *lane) replied(f *fragment) {
	l.mine[f.index], l.past[f.index] = 0, l.mine[f.index]
	l.inFlight--
	l.garbage, l.answered = 0, l.now
	l.Receives.Add(1)
}

func (l *lane) readDone(f *fragment, rep *reply) error {
	if rep.count != rep.data {
		return l.refuse(f, fmt.Errorf("READ answers with %d bytes of data but counts %d", rep.data, rep.count))
	}
	l.BytesRead.Add(int64(rep.count))
	f.from += rep.count
	switch {
	case f.from == f.to:
		l.finished(f, nil)
	case rep.eof:
		l.finished(f, io.EOF)
	case rep.count == 0:
		l.finished(f, io.ErrNoProgress)
	default:
		l.again(f)
	}
	return nil
}

func (l *lane) writeDone(f *fragment, rep *reply) error {
	if rep.count == 0 || rep.count > f.to-f.from {
		return l.refuse(f, fmt.Errorf("WRITE of %d bytes is answered with %d written", f.to-f.from, rep.count))
	}
	if rep.committed < f.slot.io.Stable {
		return l.refuse(f, fmt.Errorf("WRITE asked for stability %d and got %d", f.slot.io.Stable, rep.committed))
	}
	l.BytesWritten.Add(int64(rep.count))
	if f.from += rep.count; f.from == f.to {
		l.finished(f, nil)
		return nil
	}
	l.again(f)
	return nil
}

// refuse fails an I/O whose reply makes no sense: asking again gives the same.
func (l *lane) refuse(f *fragment, err error) error {
	l.finished(f, violation(err))
	return nil
}

// again asks for what is missing of f.
func (l *lane) again(f *fragment) {
	f.state = fragmentQueued
	l.s.renew(f)
	l.unsent.push(f)
}

// later asks again when the server has had time, unless there is none left. The
// server remembers its reply to the old xid, so the new request has another.
func (l *lane) later(f *fragment) {
	f.delay = min(max(2*f.delay, int64(delayFirst)), int64(delayMax))
	if l.now-f.slot.started+f.delay > int64(l.s.cfg.Timeout) {
		l.finished(f, v3.ErrJukebox)
		return
	}
	l.s.renew(f)
	// A tenth of disorder keeps many from coming back together.
	f.due = l.now + f.delay + rand.Int64N(f.delay/10)
	l.delay(f)
}
