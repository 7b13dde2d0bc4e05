package stream

import "sync/atomic"

// slotState is the state of a slot.
type slotState uint8

const (
	slotIdle    slotState = iota // no I/O: the Driver must be asked
	slotWaiting                  // the Driver must be asked at the due time
	slotActive                   // its I/O is under way
)

// slot is one I/O of the job at a time. Only the thread that owns it may touch it.
type slot struct {
	io        IO
	state     slotState
	fragments []fragment // enough for the longest I/O
	used      int        // fragments of this I/O
	left      int        // fragments that are not done
	err       error      // first error of a fragment
	started   int64      // when the I/O began
	due       int64      // slotWaiting
	position  int        // in thread.owned

	// If the parts of an I/O go to several groups, it is divided into shares: one slot per group, which different threads
	// own at the same time.
	whole  *slot  // the slot that this is a share of
	shares []slot // by group; nil without groups
	open   atomic.Int32
	failed atomic.Pointer[error] // first error of a share
	again  atomic.Bool           // IO.SentAgain of a share
}

// fragmentState is the state of a part of an I/O.
type fragmentState uint8

const (
	fragmentNone    fragmentState = iota
	fragmentQueued                // to be sent
	fragmentHeld                  // to be sent when the Protocol is ready for it
	fragmentSent                  // encoded; the reply is awaited
	fragmentDelayed               // the server asked to try again when it is due
	fragmentParked                // group 0 must carry it, with the rest of the slot
)

// fragment is one READ or WRITE.
type fragment struct {
	Part
	slot       *slot
	xid        uint32
	state      fragmentState
	sentAt     int64   // time of encoding
	end        uint64  // end in the bytes that the thread has to send
	lostBy     *thread // the thread that sent it but got no answer; nil once it is sent again
	due, delay int64   // fragmentDelayed
}

// renew gives f a new xid.
func (s *Stream) renew(f *fragment) {
	f.Serial++
	f.xid = (s.base+f.Serial)*(s.indexMask+1) | uint32(f.ID)
}

// set makes f the part of an I/O in a range of its buffer.
func (s *Stream) set(f *fragment, sl *slot, from, to int) {
	f.slot, f.IO, f.From, f.To = sl, &sl.io, from, to
	f.state, f.delay, f.Mark, f.lostBy = fragmentQueued, 0, 0, nil
	s.renew(f)
}

// size returns the most bytes that one READ or WRITE of an I/O carries.
func (s *Stream) size(io *IO) int {
	if io.Write {
		return int(s.cfg.WriteBytes)
	}
	return int(s.cfg.ReadBytes)
}

// cut divides the I/O of a slot into fragments.
func (s *Stream) cut(sl *slot) {
	size, total := s.size(&sl.io), len(sl.io.Buf)
	sl.used = max(1, (total+size-1)/size)
	sl.left, sl.err = sl.used, nil
	for i := range sl.fragments[:sl.used] {
		s.set(&sl.fragments[i], sl, i*size, min(i*size+size, total))
	}
}

// queue is a first-in, first-out list of fragments that keeps its memory.
type queue struct {
	items []*fragment
	head  int
}

func (q *queue) push(f *fragment) {
	if q.head == len(q.items) {
		q.reset()
	}
	q.items = append(q.items, f)
}

// pop returns the next fragment that must still be sent, or nil.
func (q *queue) pop() *fragment {
	for q.head < len(q.items) {
		f := q.items[q.head]
		q.head++
		if f.state == fragmentQueued {
			return f
		}
	}
	return nil
}

func (q *queue) reset() { q.items, q.head = q.items[:0], 0 }
