package stream

import (
	"encoding/binary"
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
)

const (
	// receiveBytes is the size of the buffer for bytes that are not received in place.
	receiveBytes = 256 << 10
	// A receive waits for half of the missing data of a READ: otherwise each packet would wake the thread. It copies
	// while the server sends the other half. It waits for at least stepBytes, if that much is missing, and for at least
	// aloneBytes if no other I/O is outstanding on the connection: the server then waits for the client, so the last
	// copy adds to the latency.
	stepBytes  = 128 << 10
	aloneBytes = 32 << 10
	// bulkBytes is the size from which data in a reply are received in place as
	// far as possible: after such data a receive takes at most shortBytes into the
	// buffer, which must be copied.
	bulkBytes  = 64 << 10
	shortBytes = 4 << 10
	// headBytes bounds the size of a reply without its data.
	headBytes = 1 << 10
	// lastFragment is the bit of a record mark that ends a record.
	lastFragment = 1 << 31
)

// receiver is the receiving side of a thread: buf[r:w] is received but not parsed.
type receiver struct {
	buf  []byte
	r, w int
	bulk bool // the last data were at least bulkBytes

	// A READ whose data are received in place.
	reading *fragment
	dst     []byte // room for the missing data
	skip    int    // bytes that follow the data in the record
	result  reply

	// A record in several fragments, which servers rarely send.
	whole  []byte
	left   int // missing bytes of the current fragment
	last   bool
	inside bool // within a fragment
	many   bool // such a record has begun
	total  int
}

func (r *receiver) restart() {
	*r = receiver{buf: r.buf, whole: r.whole[:0]}
}

// room returns where to put the next bytes, and the minimum worth waiting for. If alone is set, no other reply is
// expected.
func (r *receiver) room(alone bool) (a, b []byte, least int) {
	limit := len(r.buf)
	if r.bulk {
		limit = shortBytes
	}
	if len(r.dst) > 0 {
		// buf is empty then.
		r.r, r.w = 0, 0
		step := stepBytes
		if alone {
			step = aloneBytes
		}
		if step = max(step, len(r.dst)/2); len(r.dst) > step {
			return r.dst, nil, step
		}
		return r.dst, r.buf[:limit], len(r.dst)
	}
	if r.r > 0 {
		r.w = copy(r.buf, r.buf[r.r:r.w])
		r.r = 0
	}
	if r.w >= limit {
		limit = len(r.buf)
	}
	return r.buf[r.w:limit], nil, 1
}

// receive waits for replies and completes their fragments.
func (l *thread) receive() error {
	a, b, least := l.recv.room(l.inFlight == 1)
	if err := l.sock.awaitAtLeast(least); err != nil {
		return err
	}
	flags := 0
	if (l.s.router != nil || l.holding > 0) && l.event >= 0 || l.send.blocked || l.nextDue < l.now+int64(tick) {
		l.await()
		flags = unix.MSG_DONTWAIT
	}
	n, err := l.sock.receive(a, b, flags)
	l.look()
	if errors.Is(err, errAgain) {
		return nil
	}
	if err != nil {
		return err
	}
	l.heard = l.now
	return l.received(n)
}

// await waits for received bytes or other work.
func (l *thread) await() {
	limit := min(tick, time.Duration(l.nextDue-l.now))
	l.listening.Store(true)
	if len(l.inbox)+len(l.ready) > 0 { // arrived before listening was set, so nothing interrupts the wait
		limit = 0
	}
	l.sock.await(l.send.blocked, l.event, limit)
	l.listening.Store(false)
}

// received handles n more bytes in the place that room returned.
func (l *thread) received(n int) error {
	l.WireBytesRead.Add(int64(n))
	r := &l.recv
	direct := min(n, len(r.dst))
	r.dst = r.dst[direct:]
	r.w += n - direct
	err := l.parse()
	l.InFlight.Store(int64(l.inFlight))
	return err
}

// parse parses all received bytes.
func (l *thread) parse() error {
	r := &l.recv
	for {
		if len(r.dst) > 0 {
			return nil
		}
		if l.pass(r.skip); r.skip > 0 {
			return nil
		}
		if f := r.reading; f != nil {
			r.reading = nil
			l.replied(f)
			l.settle(f, &r.result)
			continue
		}
		more, err := l.record()
		if err != nil || !more {
			return err
		}
	}
}

// record takes the next reply from the buffer; false means that it is
// incomplete.
func (l *thread) record() (bool, error) {
	r := &l.recv
	b := r.buf[r.r:r.w]
	if r.many {
		return l.assemble()
	}
	if len(b) < rpc.RecordMarkBytes {
		return false, nil
	}
	mark := binary.BigEndian.Uint32(b)
	size := int(mark &^ lastFragment)
	b = b[rpc.RecordMarkBytes:]
	switch {
	case size > l.s.maxReply:
		return false, violation(rpc.ErrRecordTooLarge)
	case mark&lastFragment == 0:
		r.many = true
		return l.assemble()
	case len(b) >= size:
		r.r += rpc.RecordMarkBytes + size
		r.bulk = false
		return true, l.reply(b[:size])
	case size <= headBytes || len(b) < headBytes:
		return false, nil
	}
	return l.beginReading(b, size)
}

// beginReading starts to receive the data of a READ in place, once the head of
// its reply is received.
func (l *thread) beginReading(b []byte, size int) (bool, error) {
	var rep reply
	if err := l.decode(b, &rep); err != nil {
		return false, err
	}
	if rep.fragment == nil {
		l.pass(rpc.RecordMarkBytes + size)
		return true, nil
	}
	if rep.Data == 0 && size > len(l.recv.buf)-rpc.RecordMarkBytes {
		return false, violation(rpc.ErrRecordTooLarge) // the buffer cannot hold it
	}
	if rep.Data == 0 {
		return false, nil
	}
	if rep.at+rep.Data > size {
		return false, violation(rpc.ErrRecordShort)
	}
	f := rep.fragment
	dst := f.IO.Buf[f.From:][:rep.Data]
	n := copy(dst, b[rep.at:])
	r := &l.recv
	r.reading, r.result, r.dst = f, rep, dst[n:]
	r.bulk = rep.Data >= bulkBytes
	r.skip = size - rep.at - rep.Data
	r.r += rpc.RecordMarkBytes + rep.at + n
	return true, nil
}

// pass skips n bytes, some of which may still have to arrive.
func (l *thread) pass(n int) {
	r := &l.recv
	k := min(n, r.w-r.r)
	r.r += k
	r.skip = n - k
}

// assemble assembles a record of several fragments.
func (l *thread) assemble() (bool, error) {
	r := &l.recv
	for {
		if !r.inside {
			if r.w-r.r < rpc.RecordMarkBytes {
				return false, nil
			}
			mark := binary.BigEndian.Uint32(r.buf[r.r:])
			r.r += rpc.RecordMarkBytes
			r.left, r.last, r.inside = int(mark&^lastFragment), mark&lastFragment != 0, true
			// An empty fragment counts as a byte, so that their number is bounded.
			if r.total += max(r.left, 1); r.total > l.s.maxReply {
				return false, violation(rpc.ErrRecordTooLarge)
			}
		}
		k := min(r.left, r.w-r.r)
		r.whole = append(r.whole, r.buf[r.r:r.r+k]...)
		r.left -= k
		r.r += k
		if r.left > 0 {
			return false, nil
		}
		r.inside = false
		if r.last {
			b := r.whole
			r.whole, r.many, r.total = r.whole[:0], false, 0
			return true, l.reply(b)
		}
	}
}
