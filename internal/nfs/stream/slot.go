package stream

// slotState says what a slot does.
type slotState uint8

const (
	slotIdle    slotState = iota // nothing to carry: the Driver is to be asked
	slotWaiting                  // the Driver is to be asked when it is due
	slotActive                   // its I/O is under way
)

// slot is one I/O of the job at a time. The lane that owns it alone touches it.
type slot struct {
	io        IO
	state     slotState
	fragments []fragment // as many as the longest I/O needs
	used      int        // of them, by this I/O
	left      int        // of these, those that are not done
	err       error      // the first of a fragment
	started   int64      // when the I/O began
	due       int64      // slotWaiting
	position  int        // in lane.owned
}

// fragmentState says where a part of an I/O is.
type fragmentState uint8

const (
	fragmentNone    fragmentState = iota
	fragmentQueued                // to be sent
	fragmentSent                  // encoded; the reply is awaited
	fragmentDelayed               // the server asked to try again when it is due
)

// fragment is one READ or WRITE.
type fragment struct {
	slot       *slot
	index      uint32 // in Stream.fragments
	generation uint32
	xid        uint32
	state      fragmentState
	from, to   int    // what of io.Buf is still to be moved
	sentAt     int64  // when it was encoded
	end        uint64 // where it ends in what the lane has to send
	due, delay int64  // fragmentDelayed
}

// renew gives f an xid that was not used for it before.
func (s *Stream) renew(f *fragment) {
	f.generation++
	f.xid = (s.base+f.generation)*(s.indexMask+1) | f.index
}

// cut divides the I/O of a slot into fragments.
func (s *Stream) cut(sl *slot) {
	size := int(s.cfg.ReadBytes)
	if sl.io.Write {
		size = int(s.cfg.WriteBytes)
	}
	total := len(sl.io.Buf)
	sl.used = max(1, (total+size-1)/size)
	sl.left, sl.err = sl.used, nil
	for i := range sl.fragments[:sl.used] {
		f := &sl.fragments[i]
		f.from, f.to = i*size, min(i*size+size, total)
		f.state, f.delay = fragmentQueued, 0
		s.renew(f)
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

// pop returns the next fragment that is still to be sent, or nil.
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
