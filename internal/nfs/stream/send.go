package stream

import (
	"encoding/binary"
	"errors"

	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

const (
	// batchBytes bounds the bytes encoded before a send.
	batchBytes = 128 << 10
	// copyBytes bounds the data that are copied into the batch: a copy of a few
	// KiB costs less than two more pieces in a system call.
	copyBytes = 16 << 10
)

// piece is one piece to send: data in place, or a range of the batch, which may
// move while it grows.
type piece struct {
	data     []byte
	from, to int
}

// sender is the sending side of a thread.
type sender struct {
	batch   []byte
	pieces  []piece
	first   int  // index of the first piece that is not sent completely
	offset  int  // offset in that piece
	blocked bool // the socket accepts no more bytes
	queued  uint64
	sent    uint64 // sent part of queued, in bytes since the connection was made
}

func (w *sender) pending() bool { return w.first < len(w.pieces) }

func (w *sender) reset() {
	clear(w.pieces)
	w.batch, w.pieces = w.batch[:0], w.pieces[:0]
	w.first, w.offset, w.blocked = 0, 0, false
}

// restart resets the sender for a new connection.
func (w *sender) restart() {
	w.reset()
	w.queued, w.sent = 0, 0
}

// flush sends as many bytes as the socket accepts without waiting.
func (l *thread) flush() error {
	w := &l.send
	for {
		if !w.pending() {
			w.reset()
			if l.encode(); !w.pending() {
				return nil
			}
		}
		n, err := l.sock.send(w.gather(l.sock))
		if errors.Is(err, errAgain) {
			w.blocked = true
			return nil
		}
		if err != nil {
			return err
		}
		w.blocked = false
		l.WireBytesWritten.Add(int64(n))
		w.advance(n)
	}
}

// gather collects the pieces for the next call of the socket.
func (w *sender) gather(sock *socket) int {
	count, skip := 0, w.offset
	for _, p := range w.pieces[w.first:] {
		b := p.data
		if b == nil {
			b = w.batch[p.from:p.to]
		}
		if count = sock.put(count, b[skip:]); count == maxIovecs {
			break
		}
		skip = 0
	}
	return count
}

// advance records that n bytes were sent.
func (w *sender) advance(n int) {
	w.sent += uint64(n)
	for n > 0 {
		p := &w.pieces[w.first]
		size := p.to - p.from
		if p.data != nil {
			size = len(p.data)
		}
		if n < size-w.offset {
			w.offset += n
			return
		}
		n -= size - w.offset
		w.first++
		w.offset = 0
	}
}

// encode fills the batch.
func (l *thread) encode() {
	w := &l.send
	sends := 0
	for len(w.batch) < batchBytes && len(w.pieces) < maxIovecs {
		f := l.unsent.pop()
		if f == nil {
			break
		}
		from := len(w.batch)
		if err := l.request(f); err != nil {
			l.unable(f, err)
			continue
		}
		// The batch piece continues the previous one.
		if n := len(w.pieces); n > 0 && w.pieces[n-1].data == nil {
			w.pieces[n-1].to = len(w.batch)
		} else {
			w.pieces = append(w.pieces, piece{from: from, to: len(w.batch)})
		}
		w.queued += uint64(len(w.batch) - from)
		w.appendBulk(f.bulk())
		f.state, f.sentAt, f.end = fragmentSent, l.now, w.queued
		if f.lostBy != nil {
			f.lostBy.Retransmits.Add(1)
			f.lostBy, f.IO.SentAgain = nil, true
		}
		l.mine[f.ID] = f.xid
		if l.inFlight++; l.inFlight == 1 {
			l.answered = l.now
		}
		sends++
	}
	l.InFlight.Store(int64(l.inFlight))
	l.Sends.Add(int64(sends))
}

// appendBulk appends data that are sent in place, and their XDR padding.
func (w *sender) appendBulk(data []byte) {
	if len(data) == 0 {
		return
	}
	w.pieces = append(w.pieces, piece{data: data})
	w.queued += uint64(len(data))
	if k := xdr.Padding(len(data)); k > 0 {
		from := len(w.batch)
		w.batch = xdr.AppendPadding(w.batch, len(data))
		w.pieces = append(w.pieces, piece{from: from, to: len(w.batch)})
		w.queued += uint64(k)
	}
}

// unable handles a fragment that cannot be encoded now.
func (l *thread) unable(f *fragment, err error) {
	switch {
	case errors.Is(err, ErrNoSlot):
		l.hold(f)
	case errors.Is(err, ErrNotReady):
		if l.later(f, RecoverFirst, RecoverMax, l.s.cfg.Patience, err); l.group != 0 {
			l.leave(f.slot)
		}
	case errors.Is(err, ErrElsewhere) && l.group != 0:
		f.state = fragmentParked
		l.leave(f.slot)
	default:
		l.finished(f, err)
	}
}

// bulk returns the data of a WRITE that are sent in place.
func (f *fragment) bulk() []byte {
	if !f.IO.Write || f.Bytes() <= copyBytes {
		return nil
	}
	return f.IO.Buf[f.From:f.To]
}

// request appends the call of f up to its bulk data.
func (l *thread) request(f *fragment) error {
	w := &l.send
	from, size := len(w.batch), f.Bytes()
	if f.Thread != l.index && l.s.slotted != nil {
		l.s.slotted.Move(&f.Part, l.index)
	}
	f.Thread, f.Now = l.index, l.now
	b, err := l.s.cfg.Protocol.Append(w.batch, &f.Part)
	if err != nil {
		return err
	}
	bulk := 0
	switch {
	case !f.IO.Write:
	case size <= copyBytes:
		b = xdr.AppendFixed(b, f.IO.Buf[f.From:f.To])
	default:
		bulk = size + xdr.Padding(size)
	}
	rpc.PutRecordMark(b[from:], len(b)-from-rpc.RecordMarkBytes+bulk)
	binary.BigEndian.PutUint32(b[from+rpc.RecordMarkBytes:], f.xid)
	w.batch = b
	return nil
}
