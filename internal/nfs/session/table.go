// Package session assigns requests of an NFSv4.1 client to slots of a session (RFC 8881 section 2.10.6).
//
// A Table has one or more sessions. A request waits while all slots up to the server's target are taken: first come,
// first served. A slot belongs to its request until the answer. Its sequence ID increases with each new request. A
// retransmission is the same request on any connection of the session: the server executes it once and recognizes a
// late copy.
//
// A request that is given up without an answer leaves its slot spent: the sequence ID that the server expects is
// unknown. The sessions are lost when all slots are spent, and when some are spent and no request is outstanding.
package session

import (
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/stream"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
)

// Table maps requests to slots of sessions. It is safe for concurrent use, except that only one goroutine at a time
// may call methods for the same request.
type Table struct {
	requests int
	allSpent func()

	mu     sync.Mutex
	ready  func(thread, request int)
	set    *sessions // nil without sessions
	serial uint64    // serial of the last set
	lost   []*sessions
	stats  Stats
}

// Stats holds counts since NewTable.
type Stats struct {
	Requests int64 // sent, each once
	Waits    int64 // those that waited for a slot
	Waited   time.Duration
	Used     int // slots of a session, counted up to the highest one ever in use
	Wanted   int // lowest target of the server for the slots of a session; 0 if it was never below the granted slots
}

// Add adds the counts of another Table.
func (s *Stats) Add(o Stats) {
	s.Requests += o.Requests
	s.Waits += o.Waits
	s.Waited += o.Waited
	s.Used = max(s.Used, o.Used)
	if s.Wanted == 0 || o.Wanted > 0 && o.Wanted < s.Wanted {
		s.Wanted = o.Wanted
	}
}

// sessions holds the sessions that the server granted at one time. Slot number n of session i is slots[n*len(ids)+i].
type sessions struct {
	serial     uint64
	ids        []v4.SessionID
	granted    int // slots of each session
	slots      []slot
	free       []uint64  // a bit for each slot
	channels   []channel // by session
	requests   []request
	waiting    []int // requests in order of arrival
	sent       uint64
	unanswered int  // requests that the server may still execute
	awaited    int  // unanswered requests that were not given up
	spent      bool // a slot is spent
}

// channel is the fore channel of one session.
type channel struct {
	limit   int    // number of slots that the server wants used
	highest int    // highest slot in use; -1 if none
	heard   uint64 // number of requests sent when limit arrived
}

// request is the state of one request.
type request struct {
	slot   int   // index of the slot plus one; 0 = none
	thread int   // last thread of the request
	waits  bool  // is in sessions.waiting
	since  int64 // start of the wait, until the request is sent; 0 = no wait
}

// state is the use of a slot.
type state uint8

const (
	free    state = iota
	taken         // by a request that is not sent yet
	sent          // there may be no answer yet
	delayed       // the server did not process the request and wants it again
	spent         // the request was given up
)

// slot is the state of one slot. Its sequence ID lasts as long as the session.
type slot struct {
	session         int // index in sessions.ids
	number          int // in its session
	state           state
	seq             uint32
	serial, version uint32 // of the request with seq
	highest         uint32 // the highest slot in use as sent in the request: a retransmission repeats it
	sending         uint64 // number of the request in the order of sending
}

// maxLost bounds the remembered sets of lost sessions.
const maxLost = 64

// NewTable returns a Table for this number of requests, without sessions. The Table calls lost when it gives up its
// sessions because of spent slots.
func NewTable(requests int, lost func()) *Table {
	return &Table{requests: requests, allSpent: lost, ready: func(int, int) {}}
}

// Notify sets the function that is called when a waiting request may be appended: see stream.Slotted.
func (t *Table) Notify(ready func(thread, request int)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ready = ready
}

// Requests returns the maximum number of outstanding requests.
func (t *Table) Requests() int { return t.requests }

// Stats returns the counts.
func (t *Table) Stats() Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stats
}

// Set sets the sessions of t, with granted new slots each.
func (t *Table) Set(ids []v4.SessionID, granted int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.serial++
	n := len(ids) * granted
	t.set = &sessions{
		serial: t.serial, ids: ids, granted: granted, slots: make([]slot, n), free: make([]uint64, (n+63)/64),
		channels: make([]channel, len(ids)), requests: make([]request, t.requests), waiting: make([]int, 0, t.requests),
	}
	for i := range t.set.channels {
		t.set.channels[i] = channel{limit: granted, highest: -1}
	}
	for k := range n {
		t.set.slots[k].session, t.set.slots[k].number = k%len(ids), k/len(ids)
		t.set.free[k/64] |= 1 << (k % 64)
	}
}

// Clear removes the sessions: until Set, Append returns stream.ErrNotReady.
func (t *Table) Clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clear()
}

func (t *Table) clear() {
	set := t.set
	if t.set = nil; set != nil {
		for _, id := range set.waiting {
			t.ready(set.requests[id].thread, id)
		}
	}
}

// Lose gives up the sessions, if they are still those of mark, which Append and Sessions return. TakeLost then
// returns them.
func (t *Table) Lose(mark uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.set != nil && t.set.serial == mark {
		t.lose()
	}
}

func (t *Table) lose() {
	if len(t.lost) < maxLost {
		t.lost = append(t.lost, t.set)
	}
	t.clear()
}

// TakeLost returns each session that was given up, once. The server may still have some of them. Unless all is true,
// it leaves out sets of sessions with unanswered requests, because a session must not be destroyed during a request.
// A later call returns them.
func (t *Table) TakeLost(all bool) []v4.SessionID {
	t.mu.Lock()
	defer t.mu.Unlock()
	var gone []v4.SessionID
	t.lost = slices.DeleteFunc(t.lost, func(set *sessions) bool {
		idle := all || set.unanswered == 0
		if idle {
			gone = append(gone, set.ids...)
		}
		return idle
	})
	return gone
}

// IDs returns the current sessions and the slots of each; none without sessions.
func (t *Table) IDs() (ids []v4.SessionID, granted int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.set != nil {
		return t.set.ids, t.set.granted
	}
	return nil, 0
}

// Sessions returns the current sessions, and their mark for Lose.
func (t *Table) Sessions() (ids []v4.SessionID, mark uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.set != nil {
		return t.set.ids, t.set.serial
	}
	return nil, 0
}

// Append appends SEQUENCE for request p.ID, or returns stream.ErrNoSlot. The request is a retransmission if p.Serial
// and version are unchanged since the last call, and the server has not answered. Replied needs the returned mark.
func (t *Table) Append(b []byte, p *stream.Part, version uint32, cache bool) (_ []byte, mark uint64, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	set := t.set
	if set == nil {
		return b, 0, stream.ErrNotReady
	}
	if set.spent && set.awaited == 0 {
		t.lose()
		t.allSpent()
		return b, 0, stream.ErrNotReady
	}
	r := &set.requests[p.ID]
	if r.slot > 0 && set.slots[r.slot-1].isOther(p.Serial, version) {
		if t.forget(set, p.ID); t.set != set {
			return b, 0, stream.ErrNotReady
		}
	}
	r.thread = p.Thread
	if r.slot == 0 && !r.waits {
		r.waits, r.since = true, max(p.Now, 1)
		set.waiting = append(set.waiting, p.ID)
		if set.next() { // then the request did not have to wait: others get free slots in order
			r.since = 0
		}
	}
	if r.slot == 0 {
		return b, 0, stream.ErrNoSlot
	}
	s := &set.slots[r.slot-1]
	if s.state == taken {
		s.seq++
		set.sent++
		set.unanswered++
		set.awaited++
		s.sending, s.highest = set.sent, uint32(set.channels[s.session].highest) //nolint:gosec // one is in use
		t.count(r, int(s.highest)+1, p.Now)
	}
	s.state, s.serial, s.version = sent, p.Serial, version
	//nolint:gosec // at most maxSlots
	return v4.AppendSequence(b, &set.ids[s.session], s.seq, uint32(s.number), s.highest, cache), set.serial, nil
}

// count counts a sent request.
func (t *Table) count(r *request, used int, now int64) {
	t.stats.Requests++
	t.stats.Used = max(t.stats.Used, used)
	if r.since > 0 {
		t.stats.Waits++
		t.stats.Waited += time.Duration(max(now-r.since, 0))
		r.since = 0
	}
}

// isOther reports whether a request differs from the one that its slot was used for. A request that the server did
// not process may be sent again as a new request with the same content.
func (s *slot) isOther(serial, version uint32) bool {
	switch s.state {
	case sent:
		return s.serial != serial || s.version != version
	case delayed:
		return s.version != version
	default:
		return false
	}
}

// next assigns the lowest usable slot to the request that waits longest. It returns false if there is no slot or no
// waiting request.
func (s *sessions) next() bool {
	k := s.lowest()
	if len(s.waiting) == 0 || k < 0 {
		return false
	}
	r := &s.requests[s.waiting[0]]
	s.waiting = slices.Delete(s.waiting, 0, 1)
	r.slot, r.waits = k+1, false
	s.free[k/64] &^= 1 << (k % 64)
	s.slots[k].state = taken
	ch := &s.channels[s.slots[k].session]
	ch.highest = max(ch.highest, s.slots[k].number)
	return true
}

// lowest returns the index of the lowest free slot that the server wants used, or -1.
func (s *sessions) lowest() int {
	for w, word := range s.free {
		for ; word != 0; word &= word - 1 {
			k := w*64 + bits.TrailingZeros64(word)
			if s.wanted(k) {
				return k
			}
			if len(s.ids) == 1 {
				return -1
			}
		}
	}
	return -1
}

// wanted reports whether the server wants the slot used.
func (s *sessions) wanted(k int) bool {
	return s.slots[k].number < s.channels[s.slots[k].session].limit
}

// Forget reports that the caller no longer waits for the answer to a request.
func (t *Table) Forget(id int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.set != nil {
		t.forget(t.set, id)
	}
}

// GiveBack takes from a request its place among the waiting requests, or its slot if it is not sent yet. A request
// that cannot be sent for another reason then delays no other.
func (t *Table) GiveBack(id int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.set == nil {
		return
	}
	if r := &t.set.requests[id]; r.waits || r.slot > 0 && t.set.slots[r.slot-1].state == taken {
		t.forget(t.set, id)
	}
}

func (t *Table) forget(set *sessions, id int) {
	r := &set.requests[id]
	switch k := r.slot - 1; {
	case r.waits:
		set.waiting = slices.DeleteFunc(set.waiting, func(other int) bool { return other == id })
		r.waits = false
	case k < 0:
	case set.slots[k].state == taken:
		r.slot = 0
		t.release(set, k)
	default:
		set.slots[k].state, r.slot, set.spent = spent, 0, true
		set.awaited--
		t.checkSpent(set)
	}
	r.since = 0
}

// checkSpent gives up the sessions if no usable slot is left.
func (t *Table) checkSpent(set *sessions) {
	for k := range set.slots {
		if set.wanted(k) && set.slots[k].state != spent {
			return
		}
	}
	t.lose()
	t.allSpent()
}

// release frees a slot, and assigns free slots to waiting requests.
func (t *Table) release(set *sessions, k int) {
	set.slots[k].state = free
	set.free[k/64] |= 1 << (k % 64)
	i := set.slots[k].session
	ch := &set.channels[i]
	for ch.highest >= 0 && set.slots[ch.highest*len(set.ids)+i].state == free {
		ch.highest--
	}
	t.letGo(set)
}

func (t *Table) letGo(set *sessions) {
	for len(set.waiting) > 0 {
		id := set.waiting[0]
		if !set.next() {
			return
		}
		t.ready(set.requests[id].thread, id)
	}
}

// Replied records the reply to the request for which Append returned mark. The failed operation, if any, is op with
// its status, and head holds the results of SEQUENCE. It returns the next step that the session requires:
// stream.Finish if none, stream.Recover if the sessions are lost. An error means that the reply belongs to another
// request.
func (t *Table) Replied(
	id int, mark uint64, op v4.Op, status v4.Status, head *v4.SequenceHead,
) (next stream.Next, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	set := t.set
	if set == nil || set.serial != mark {
		return t.repliedLost(id, mark, op, status), nil
	}
	k := set.requests[id].slot - 1
	if k < 0 {
		return stream.Finish, nil // the request was forgotten
	}
	executed := status == v4.OK || op != v4.OpSequence && op != v4.OpCompound
	if executed {
		if err := set.check(k, head); err != nil {
			return stream.Disconnect, err
		}
		t.retarget(set, k, head.TargetSlot)
	}
	switch next = set.after(k, status, executed); next {
	case stream.Delay, stream.Disconnect:
		return next, nil // the request keeps its slot
	case stream.Recover:
		t.lose()
	case stream.Finish, stream.Repeat, stream.Elsewhere:
	}
	if set.answered(id); t.set == set { // the sessions are not lost
		t.release(set, k)
	}
	return next, nil
}

// after returns the next step after a status. A failed SEQUENCE leaves the slot unchanged (RFC 8881 section 18.46.3).
func (s *sessions) after(k int, status v4.Status, executed bool) stream.Next {
	switch {
	case isUncached(status):
		return stream.Repeat
	case executed:
		return stream.Finish
	}
	switch status {
	case v4.ErrDelay:
		s.slots[k].state = delayed
		return stream.Delay
	case v4.ErrSeqFalseRetry:
		// The server executed another request with this sequence ID.
		return stream.Repeat
	case v4.ErrConnNotBoundToSession:
		return stream.Disconnect
	case v4.ErrBadSlot:
		// The server has reduced its slots without a target. It did not process the request.
		n, ch := s.slots[k].number, &s.channels[s.slots[k].session]
		if n == 0 {
			return stream.Recover
		}
		s.slots[k].seq--
		ch.limit = min(ch.limit, n)
		return stream.Repeat
	case v4.ErrBadSession, v4.ErrDeadSession, v4.ErrBadHighSlot, v4.ErrStaleClientID, v4.ErrSeqMisordered:
		return stream.Recover
	default:
		// The server refuses the request itself, and would refuse it in any session.
		s.slots[k].seq--
		return stream.Finish
	}
}

// answered records that a request has its answer.
func (s *sessions) answered(id int) {
	if s.requests[id].slot > 0 {
		s.requests[id].slot = 0
		s.unanswered--
		s.awaited--
	}
}

// check compares the results of SEQUENCE with the request.
func (s *sessions) check(k int, head *v4.SequenceHead) error {
	of := &s.slots[k]
	if head.Session == s.ids[of.session] && head.Seq == of.seq && int(head.Slot) == of.number {
		return nil
	}
	return fmt.Errorf("SEQUENCE of session %x, slot %d, sequence ID %d is answered for session %x, slot %d, ID %d",
		s.ids[of.session], of.number, of.seq, head.Session, head.Slot, head.Seq)
}

// retarget applies sr_target_highest_slotid from a reply in slot k. Only a request that was sent after the last
// target arrived certainly has a newer one.
func (t *Table) retarget(set *sessions, k int, target uint32) {
	ch := &set.channels[set.slots[k].session]
	if set.slots[k].sending <= ch.heard {
		return
	}
	before := ch.limit
	ch.heard, ch.limit = set.sent, int(min(target, uint32(set.granted-1)))+1 //nolint:gosec // at most maxSlots
	switch {
	case ch.limit > before:
		t.letGo(set)
	case ch.limit < before:
		if t.stats.Wanted == 0 || ch.limit < t.stats.Wanted {
			t.stats.Wanted = ch.limit
		}
		t.checkSpent(set)
	}
}

// repliedLost does the same as Replied for sessions that were given up. If they refused the request, it must be
// repeated in the new ones.
func (t *Table) repliedLost(id int, mark uint64, op v4.Op, status v4.Status) stream.Next {
	for _, set := range t.lost {
		if set.serial == mark {
			set.answered(id)
		}
	}
	if op == v4.OpSequence && status != v4.OK || isUncached(status) {
		return stream.Repeat
	}
	return stream.Finish
}

// isUncached reports whether the server executed the request before without caching the reply. Replies to READ and
// WRITE are not cached, because these may be executed twice. The operation after SEQUENCE returns the status (RFC
// 8881 section 2.10.6.1.3), at some servers SEQUENCE itself.
func isUncached(status v4.Status) bool { return status == v4.ErrRetryUncachedRep }
