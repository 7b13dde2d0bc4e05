// Package session gives each outstanding request of an NFSv4.1 client its slot in a session
// (RFC 8881 section 2.10.6).
//
// A Table has one slot for each request that its owner may have outstanding, and takes as
// many sessions as that needs. A slot belongs to whoever has the request, so nothing is
// locked. Its sequence ID moves on with each new request. A retransmission keeps it, on
// whichever connection of the session it is sent: the server executes the request once and
// recognises a copy that arrives late, even after a newer request in the same slot.
package session

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/nfsbench/nfsbench/internal/nfs/stream"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
)

// Table maps requests to slots of sessions. Append and Replied may be called for different
// requests at the same time; Set and Clear at any time.
type Table struct {
	requests int
	set      atomic.Pointer[sessions]
	serial   atomic.Uint64 // of the last set

	mu   sync.Mutex
	lost []*sessions // that the server may still have
}

// sessions are what the server granted at one time.
type sessions struct {
	serial  uint64
	ids     []v4.SessionID
	granted int // slots of each
	slots   []slot
	waiting atomic.Int32 // requests that wait for their replies
}

// slot is the state of one slot.
type slot struct {
	seq    uint32
	serial uint32 // of the request that has seq
	sent   bool   // seq went to the server, and was not answered
	waits  bool   // a reply may still come, also when the session is lost
	// doubtful says that the request before was given up without an answer: the server may
	// never have seen its sequence ID.
	doubtful bool
}

// maxLost bounds how many sets of lost sessions a Table remembers.
const maxLost = 64

// NewTable returns a Table for that many outstanding requests. It has no sessions yet.
func NewTable(requests int) *Table { return &Table{requests: requests} }

// Requests returns how many requests may be outstanding.
func (t *Table) Requests() int { return t.requests }

// Set makes t use these sessions, whose slots are new, with granted slots each. There must
// be enough of them for all requests.
func (t *Table) Set(ids []v4.SessionID, granted int) {
	t.set.Store(&sessions{
		serial: t.serial.Add(1), ids: ids, granted: granted, slots: make([]slot, t.requests),
	})
}

// Clear takes the sessions away: until Set, Append returns stream.ErrNotReady.
func (t *Table) Clear() { t.set.Store(nil) }

// Lose is Clear unless the sessions are others than those of mark, which Append and Sessions
// give. TakeLost returns them then.
func (t *Table) Lose(mark uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	set := t.set.Load()
	if set == nil || set.serial != mark || !t.set.CompareAndSwap(set, nil) {
		return
	}
	if len(t.lost) < maxLost {
		t.lost = append(t.lost, set)
	}
}

// TakeLost returns the sessions that were given up by Lose, once. The server may still have
// some of them. Unless all is true, it leaves out those in which a request waits for its reply,
// because a session must not be destroyed under a request. A later call returns them.
func (t *Table) TakeLost(all bool) []v4.SessionID {
	t.mu.Lock()
	defer t.mu.Unlock()
	var taken []v4.SessionID
	t.lost = slices.DeleteFunc(t.lost, func(set *sessions) bool {
		idle := all || set.waiting.Load() == 0
		if idle {
			taken = append(taken, set.ids...)
		}
		return idle
	})
	return taken
}

// IDs returns the sessions in use and the slots of each; none while there are no sessions.
func (t *Table) IDs() (ids []v4.SessionID, granted int) {
	if set := t.set.Load(); set != nil {
		return set.ids, set.granted
	}
	return nil, 0
}

// Sessions returns the sessions in use, and their mark for Lose.
func (t *Table) Sessions() (ids []v4.SessionID, mark uint64) {
	if set := t.set.Load(); set != nil {
		return set.ids, set.serial
	}
	return nil, 0
}

// Append appends SEQUENCE for request id. A serial other than that of the last call for id
// says that it is a new request. mark is for Replied.
func (t *Table) Append(b []byte, id int, serial uint32, cache bool) (_ []byte, mark uint64, err error) {
	set := t.set.Load()
	if set == nil {
		return b, 0, stream.ErrNotReady
	}
	s := &set.slots[id]
	if s.serial != serial || s.seq == 0 {
		s.doubtful = s.doubtful || s.sent
		s.serial = serial
		s.seq++
	}
	s.sent = true
	if !s.waits {
		s.waits = true
		set.waiting.Add(1)
	}
	if t.set.Load() != set { // lost meanwhile: TakeLost may not have counted this request
		s.waits = false
		set.waiting.Add(-1)
		return b, 0, stream.ErrNotReady
	}
	highest := uint32(min(set.granted, t.requests) - 1)
	b = v4.AppendSequence(b, &set.ids[id/set.granted], s.seq, uint32(id%set.granted), highest, cache)
	return b, set.serial, nil
}

// Replied notes the reply to the request that Append gave mark. op and status are what
// failed in it, if something did. It returns what has to follow because of the session:
// stream.Finish if nothing, stream.Recover when the sessions have to be made again unless
// that has happened meanwhile.
func (t *Table) Replied(id int, mark uint64, op v4.Op, status v4.Status) stream.Next {
	set := t.set.Load()
	// The server executed the request, and keeps no reply: none is cached of READ and WRITE,
	// which may be executed twice. The operation behind SEQUENCE says so (RFC 8881 section
	// 2.10.6.1.3), with some servers SEQUENCE itself.
	uncached := status == v4.ErrRetryUncachedRep
	if set == nil || set.serial != mark {
		t.repliedLost(id, mark)
		// The reply came over a session that was replaced. If that session refused the request,
		// the new one has to get it.
		if op == v4.OpSequence && status != v4.OK || uncached {
			return stream.Repeat
		}
		return stream.Finish
	}
	s := set.replied(id)
	switch {
	case uncached:
		s.sent, s.doubtful = false, false
		return stream.Repeat
	case op != v4.OpSequence || status == v4.OK:
		s.sent, s.doubtful = false, false
		return stream.Finish
	}
	// A SEQUENCE that fails leaves the slot as it was (RFC 8881 section 18.46.3).
	switch status {
	case v4.ErrDelay:
		s.retract(1)
		return stream.Delay
	case v4.ErrSeqFalseRetry:
		// The server executed a request with this sequence ID, but another one.
		s.sent, s.doubtful = false, false
		return stream.Repeat
	case v4.ErrSeqMisordered:
		if s.doubtful {
			s.retract(2)
			return stream.Repeat
		}
		return stream.Recover
	case v4.ErrConnNotBoundToSession:
		return stream.Disconnect
	case v4.ErrBadSession, v4.ErrDeadSession, v4.ErrBadSlot, v4.ErrBadHighSlot, v4.ErrStaleClientID:
		return stream.Recover
	default:
		// The request itself is refused, and would be in any session.
		s.retract(1)
		return stream.Finish
	}
}

// replied notes that the request of a slot does not wait any more.
func (s *sessions) replied(id int) *slot {
	if s.slots[id].waits {
		s.slots[id].waits = false
		s.waiting.Add(-1)
	}
	return &s.slots[id]
}

// repliedLost is replied for sessions that were given up by Lose.
func (t *Table) repliedLost(id int, mark uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, set := range t.lost {
		if set.serial == mark {
			set.replied(id)
		}
	}
}

// retract lets the next request have a sequence ID that the server has not seen.
func (s *slot) retract(by uint32) {
	s.seq -= min(by, s.seq)
	s.sent, s.doubtful = false, false
	s.serial = ^s.serial // so that the next request is a new one, whatever its serial
}
