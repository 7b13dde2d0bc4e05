package fileset

import "sync/atomic"

// Tracker gives each write of a file its own generation, and knows which generations a read may find. It
// costs 4 bytes for each block of a file that the load writes to, and nothing for other files.
type Tracker struct {
	base   uint64          // generation of the fill, or of the earlier content
	oldest uint64          // oldest generation of a block that this run has not written
	state  []atomic.Uint32 // by block; nil if the load only reads
	// Rare events: writes that were sent again, failed writes, and blocks that are not written again.
	resent, failed, quarantined atomic.Int64
}

// The state of a block: flags, and above them the number of its started writes.
const (
	inFlight  uint32 = 1 << iota // the last write has not ended
	unsure                       // a write failed or may be executed late: the block may have any of its generations
	sentAgain                    // a write was sent twice, and the storage may execute the second at any time
	oneWrite
)

const mostWrites = ^uint32(0) / oneWrite // of one block in one run

// newTracker returns the Tracker of a file whose fill, or epoch, has the generation base. A reused file may
// have any older generation. written is the number of blocks that the load may write to.
func newTracker(written int64, base uint64, reused bool) *Tracker {
	t := &Tracker{base: base, oldest: base, state: make([]atomic.Uint32, written)}
	if reused {
		t.oldest = 0
	}
	return t
}

// Begin claims a block for a write, and returns the generation to write. End or Cancel must follow. It
// refuses a block with a write in flight: a database never has two. It also refuses a block whose write was
// sent again, because the server may execute the older of the two calls late and undo a later write. If this
// excluded more than half of a file, Begin accepts such a block and puts it in doubt.
func (t *Tracker) Begin(block int64) (gen uint64, ok bool) {
	b := &t.state[block]
	for {
		s := b.Load()
		next := (s + oneWrite) | inFlight
		switch {
		case s&inFlight != 0, s/oneWrite == mostWrites:
			return 0, false
		case s&sentAgain == 0:
		case 2*t.quarantined.Load() <= int64(len(t.state)):
			return 0, false
		default:
			next |= unsure
		}
		if b.CompareAndSwap(s, next) {
			return t.base + uint64(next/oneWrite), true
		}
	}
}

// Cancel returns a claim without a write.
func (t *Tracker) Cancel(block int64) {
	b := &t.state[block]
	b.Store((b.Load() - oneWrite) &^ inFlight)
}

// End records the end of the write of a block: whether it succeeded, and whether it was sent again.
func (t *Tracker) End(block int64, ok, again bool) {
	b := &t.state[block]
	s := b.Load() &^ inFlight
	if !ok {
		s |= unsure
		t.failed.Add(1)
	}
	if again {
		t.resent.Add(1)
		if s&sentAgain == 0 {
			t.quarantined.Add(1)
		}
		s |= sentAgain
	}
	b.Store(s)
}

// Oldest returns the oldest generation that a read of a block may find if it starts now.
func (t *Tracker) Oldest(block int64) uint64 {
	if len(t.state) == 0 {
		return t.oldest
	}
	s := t.state[block].Load()
	writes := s / oneWrite
	if s&inFlight != 0 {
		writes--
	}
	if writes == 0 || s&unsure != 0 {
		return t.oldest
	}
	return t.base + uint64(writes)
}

// Newest returns the newest generation that a read of a block may find if it ends now.
func (t *Tracker) Newest(block int64) uint64 {
	if len(t.state) == 0 {
		return t.base
	}
	return t.base + uint64(t.state[block].Load()/oneWrite)
}

// doubt allows any generation for the blocks first to last.
func (t *Tracker) doubt(first, last int64) {
	for i := first; i <= min(last, int64(len(t.state))-1); i++ {
		t.state[i].Store(unsure)
	}
}

// isWritten reports whether this run wrote to a block.
func (t *Tracker) isWritten(block int64) bool {
	return len(t.state) > 0 && t.state[block].Load() >= oneWrite
}

// written returns the number of acknowledged writes, of written blocks, and of those in doubt.
func (t *Tracker) written() (acknowledged, blocks, doubted int64) {
	for i := range t.state {
		s := t.state[i].Load()
		if s < oneWrite {
			continue
		}
		acknowledged += int64(s / oneWrite)
		blocks++
		if s&unsure != 0 {
			doubted++
		}
	}
	return acknowledged - t.failed.Load(), blocks, doubted
}
