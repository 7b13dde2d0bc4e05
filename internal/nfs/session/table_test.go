package session

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/stream"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// rig is a Table with what it has told.
type rig struct {
	*Table
	tb    testing.TB
	ready []int // requests that need not wait any more
	spent int   // how often all slots were
	marks map[int]uint64
	now   int64
}

// newRig returns a Table with sessions 1, 2 and so on.
func newRig(tb testing.TB, requests, granted, sessions int) *rig {
	tb.Helper()
	r := &rig{tb: tb, marks: map[int]uint64{}}
	r.Table = NewTable(requests, func() { r.spent++ })
	r.Notify(func(_, id int) { r.ready = append(r.ready, id) })
	r.make(1, granted, sessions)
	return r
}

func (r *rig) make(first byte, granted, sessions int) {
	var ids []v4.SessionID
	for i := range sessions {
		ids = append(ids, v4.SessionID{first + byte(i)})
	}
	r.Set(ids, granted)
}

func (r *rig) append(id int, serial, version uint32) (v4.Sequence, error) {
	b, mark, err := r.Append(nil, &stream.Part{ID: id, Serial: serial, Now: r.now}, version, true)
	if err != nil {
		return v4.Sequence{}, err
	}
	d := xdr.NewDecoder(b)
	if d.Uint32() != uint32(v4.OpSequence) {
		r.tb.Fatal("no SEQUENCE")
	}
	var q v4.Sequence
	c := d.Coder()
	if q.Args(&c); func() bool { d = c.Decoder(); return d.Err() != nil || d.Len() > 0 }() {
		r.tb.Fatalf("SEQUENCE cannot be decoded: %v", d.Err())
	}
	r.marks[id] = mark
	return q, nil
}

// ask sends a request that need not wait.
func (r *rig) ask(id int, serial uint32) v4.Sequence {
	r.tb.Helper()
	q, err := r.append(id, serial, 0)
	if err != nil {
		r.tb.Fatal(err)
	}
	return q
}

// waits sends requests that have to wait.
func (r *rig) waits(ids ...int) {
	r.tb.Helper()
	for _, id := range ids {
		if _, err := r.append(id, 1, 0); !errors.Is(err, stream.ErrNoSlot) {
			r.tb.Fatalf("request %d: %v, want that it waits", id, err)
		}
	}
}

// answer answers a request with a target slot.
func (r *rig) answer(id int, q v4.Sequence, target uint32) {
	r.tb.Helper()
	next, err := r.reply(id, q, v4.OpSequence, v4.OK, target)
	if next != stream.Finish || err != nil {
		r.tb.Fatalf("request %d is followed by %v, %v", id, next, err)
	}
}

func (r *rig) reply(id int, q v4.Sequence, op v4.Op, status v4.Status, target uint32) (stream.Next, error) {
	return r.Replied(id, r.marks[id], op, status, &v4.SequenceHead{Session: q.Session, Seq: q.Seq, Slot: q.Slot, TargetSlot: target})
}

const all = 1 << 20 // no server wants fewer slots used

func TestRequestsWaitForTheSlotsOfOneSessionInTheirOrder(t *testing.T) {
	r := newRig(t, 6, 2, 1)
	a, b := r.ask(0, 1), r.ask(1, 1)
	if a.Session != b.Session || a.Slot != 0 || b.Slot != 1 || a.Seq != 1 || b.Seq != 1 || !a.CacheThis {
		t.Errorf("%+v and %+v", a, b)
	}
	r.waits(5, 3, 4, 2, 3) // to ask once more changes nothing
	r.answer(1, b, all)
	r.answer(0, a, all)
	if !slices.Equal(r.ready, []int{5, 3}) {
		t.Fatalf("%v may go on, want 5 and 3", r.ready)
	}
	r.waits(1) // comes again, and is the last
	b, a = r.ask(3, 1), r.ask(5, 1)
	if a.Slot != 1 || a.Seq != 2 || b.Slot != 0 || b.Seq != 2 {
		t.Errorf("%+v and %+v", a, b)
	}
	r.Forget(4)
	r.answer(5, a, all)
	r.answer(3, b, all)
	if !slices.Equal(r.ready, []int{5, 3, 2, 1}) {
		t.Errorf("%v may go on, want 5, 3, 2, 1", r.ready)
	}
	r.Forget(2) // before it is sent
	if q := r.ask(0, 2); q.Seq != 3 {
		t.Errorf("%+v: a slot that was not used has another sequence ID", q)
	}
}

func TestWaitsAreCounted(t *testing.T) {
	r := newRig(t, 3, 1, 1)
	q := r.ask(0, 1)
	r.now = 1000
	r.waits(1, 2)
	r.answer(0, q, all)
	r.now = 3000
	q = r.ask(1, 1)
	r.ask(1, 1) // a retransmission
	r.answer(1, q, all)
	r.now = 4000
	r.ask(2, 1)
	if got, want := r.Stats(), (Stats{Requests: 3, Waits: 2, Waited: 5 * time.Microsecond, Used: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestMoreSessionsAreFilledInTurn(t *testing.T) {
	r := newRig(t, 6, 2, 2)
	var got []v4.Sequence
	for id := range 4 {
		got = append(got, r.ask(id, 1))
	}
	for id, q := range got {
		if want := byte(id%2) + 1; q.Session[0] != want || q.Slot != uint32(id/2) {
			t.Errorf("request %d: %+v, want slot %d of session %d", id, q, id/2, want)
		}
	}
	r.waits(4)
	r.answer(1, got[1], 0) // session 2 wants one slot used, and request 3 has its second one
	if q := r.ask(4, 1); q.Session[0] != 2 || q.Slot != 0 {
		t.Errorf("%+v", q)
	}
	r.answer(3, got[3], 0)
	r.waits(5)
	r.answer(0, got[0], all)
	if q := r.ask(5, 1); q.Session[0] != 1 || q.Slot != 0 {
		t.Errorf("%+v", q)
	}
}

func TestTheHighestSlotIsThatInUse(t *testing.T) {
	r := newRig(t, 64, 64, 1)
	for id := range 10 {
		if q := r.ask(id, 1); q.Slot != uint32(id) || q.HighestSlot != q.Slot {
			t.Errorf("request %d: %+v", id, q)
		}
	}
	for _, id := range []int{0, 8, 7, 9, 1} {
		r.answer(id, v4.Sequence{Session: v4.SessionID{1}, Seq: 1, Slot: uint32(id)}, all)
	}
	if q := r.ask(20, 1); q.Slot != 0 || q.HighestSlot != 6 {
		t.Errorf("%+v, want slot 0 below 6, which is in use", q)
	}
	r.Forget(6) // the server may still have it
	if q := r.ask(21, 1); q.Slot != 1 || q.HighestSlot != 6 {
		t.Errorf("%+v, want slot 1 below 6, which is spent", q)
	}
	if n := r.Stats().Used; n != 10 {
		t.Errorf("%d slots were used, want 10", n)
	}
}

func TestARetransmissionIsTheSameRequest(t *testing.T) {
	r := newRig(t, 4, 4, 1)
	r.ask(0, 1)
	first := r.ask(1, 7)
	r.ask(2, 1)
	if again := r.ask(1, 7); again != first {
		t.Errorf("sent again %+v, and first %+v", again, first)
	}
	if other, err := r.append(1, 7, 1); err != nil || other.Slot != 3 || other.Seq != 1 {
		t.Errorf("with another state ID: %+v, %v, want another slot", other, err)
	}
}

func TestTheTargetOfTheServerIsObeyed(t *testing.T) {
	r := newRig(t, 8, 4, 1)
	var q [8]v4.Sequence
	for id := range 4 {
		q[id] = r.ask(id, 1)
	}
	r.waits(4, 5, 6, 7)
	r.answer(3, q[3], 1) // two slots
	r.answer(2, q[2], 3) // was sent before that came
	if len(r.ready) > 0 {
		t.Fatalf("%v may go on above the target", r.ready)
	}
	r.answer(1, q[1], 3)
	q[4] = r.ask(4, 1)
	if q[4].Slot != 1 || q[4].HighestSlot != 1 {
		t.Errorf("%+v, want slot 1, the highest in use", q[4])
	}
	r.answer(4, q[4], all) // all that were granted
	if !slices.Equal(r.ready, []int{4, 5, 6, 7}) {
		t.Fatalf("%v may go on, want all", r.ready)
	}
	for id := 5; id < 8; id++ {
		q[id] = r.ask(id, 1)
	}
	if q[5].Slot != 2 || q[5].Seq != 2 || q[6].Slot != 3 || q[6].Seq != 2 || q[7].Slot != 1 || q[7].Seq != 3 {
		t.Errorf("%+v: the sequence IDs of slots that come back go on", q[5:])
	}
	r.waits(1)
	r.answer(5, q[5], 0)
	r.answer(6, q[6], all)
	r.answer(7, q[7], all)
	r.answer(0, q[0], all)
	if q := r.ask(1, 1); q.Slot != 0 || q.HighestSlot != 0 {
		t.Errorf("%+v, want the last slot", q)
	}
	if n := r.Stats().Wanted; n != 1 {
		t.Errorf("the fewest wanted were %d, want 1", n)
	}
}

// A reply may be older than what is known, by the time at which its request was sent.
func TestALateReplySetsNoOlderTarget(t *testing.T) {
	r := newRig(t, 4, 4, 1)
	late, first := r.ask(0, 1), r.ask(1, 1)
	r.answer(1, first, all)
	second := r.ask(1, 2)
	r.answer(1, second, 10) // more than were granted
	r.answer(0, late, 0)
	r.ask(0, 2)
	r.ask(1, 3)
	if n := r.Stats().Wanted; n != 0 {
		t.Errorf("a late reply lowered the target to %d slots", n)
	}
}

func TestAnAnswerToAnotherRequestIsAnError(t *testing.T) {
	for name, change := range map[string]func(q *v4.Sequence){
		"session": func(q *v4.Sequence) { q.Session[0] = 9 },
		"slot":    func(q *v4.Sequence) { q.Slot = 3 },
		"seq":     func(q *v4.Sequence) { q.Seq = 4 },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, 1, 4, 1)
			q := r.ask(0, 1)
			other := q
			change(&other)
			next, err := r.reply(0, other, v4.OpSequence, v4.OK, all)
			if next != stream.Disconnect || err == nil || strings.Count(err.Error(), "slot") != 2 {
				t.Errorf("followed by %v, %v, want an error with both", next, err)
			}
			if again := r.ask(0, 1); again != q {
				t.Errorf("then %+v, want the same request", again)
			}
		})
	}
}

func TestSlotsThatAreSpentAreNotUsedAgain(t *testing.T) {
	r := newRig(t, 5, 3, 1)
	r.ask(0, 1)
	kept := r.ask(1, 1)
	r.ask(4, 1)
	r.waits(2, 3)
	r.Forget(0)
	if len(r.ready) > 0 || r.spent > 0 {
		t.Fatalf("%v may go on", r.ready)
	}
	r.answer(1, kept, all)
	if q := r.ask(2, 1); q.Slot != 1 || q.Seq != 2 {
		t.Errorf("%+v, want the other slot", q)
	}
	r.Forget(4)
	r.Forget(2)
	if _, err := r.append(3, 1, 0); r.spent != 1 || !errors.Is(err, stream.ErrNotReady) || !slices.Equal(r.ready, []int{2, 3}) {
		t.Errorf("all are spent: told %d times, ready %v, %v", r.spent, r.ready, err)
	}
	if ids := r.TakeLost(false); ids != nil {
		t.Errorf("session %v is to be destroyed under a request", ids)
	}
	r.make(2, 2, 1)
	if q := r.ask(3, 1); q.Session[0] != 2 || q.Seq != 1 {
		t.Errorf("%+v, want the new session", q)
	}
}

// A call that has its slot may have to wait for something else: others need the slot for that.
func TestASlotThatIsNotUsedIsGivenBack(t *testing.T) {
	r := newRig(t, 4, 1, 1)
	q := r.ask(0, 1)
	r.waits(1, 2, 3)
	r.GiveBack(2)
	r.GiveBack(0) // which was sent, and keeps it
	r.answer(0, q, all)
	if !slices.Equal(r.ready, []int{1}) {
		t.Fatalf("%v may go on", r.ready)
	}
	r.GiveBack(1)
	if !slices.Equal(r.ready, []int{1, 3}) || r.spent > 0 {
		t.Errorf("%v may go on, told %d times that slots are spent", r.ready, r.spent)
	}
	if q := r.ask(3, 1); q.Seq != 2 {
		t.Errorf("%+v, want the sequence ID behind that of the only request", q)
	}
}

// A cancelled Run leaves slots spent, and the next one is to have all.
func TestSessionsWithSpentSlotsAreReplacedWhenNothingIsOutstanding(t *testing.T) {
	r := newRig(t, 4, 4, 1)
	r.ask(0, 1)
	q := r.ask(1, 1)
	r.Forget(0)
	if r.ask(2, 1).Slot != 2 || r.spent > 0 {
		t.Fatalf("told %d times that slots are spent", r.spent)
	}
	r.answer(1, q, all)
	r.Forget(2)
	if _, err := r.append(3, 1, 0); !errors.Is(err, stream.ErrNotReady) || r.spent != 1 {
		t.Errorf("%v, told %d times that slots are spent", err, r.spent)
	}
	if ids := r.TakeLost(false); ids != nil {
		t.Errorf("session %v is to be destroyed under a request", ids)
	}
	r.make(2, 4, 1)
	if q := r.ask(3, 1); q.Session[0] != 2 || q.Slot != 0 {
		t.Errorf("%+v, want the new session", q)
	}
}

// A server may take slots away before a target says so. Slot 0 is always there.
func TestASlotThatTheServerDoesNotHaveIsNotUsedAgain(t *testing.T) {
	r := newRig(t, 6, 4, 1)
	var sent []v4.Sequence
	for id := range 4 {
		sent = append(sent, r.ask(id, 1))
	}
	if next, _ := r.reply(2, sent[2], v4.OpSequence, v4.ErrBadSlot, 0); next != stream.Repeat {
		t.Fatal(next)
	}
	r.waits(2, 4)
	r.answer(3, sent[3], 1)
	if len(r.ready) > 0 {
		t.Errorf("%v may use a slot that is not there", r.ready)
	}
	r.answer(1, sent[1], all)
	if q := r.ask(2, 2); q.Slot != 1 || q.Seq != 2 || q.Session[0] != 1 {
		t.Errorf("%+v, want slot 1 of the same session", q)
	}
	if next, _ := r.reply(0, sent[0], v4.OpSequence, v4.ErrBadSlot, 0); next != stream.Recover {
		t.Errorf("a server without slot 0: %v", next)
	}
}

func TestSlotsAreSpentWhereTheServerWantsNoOthers(t *testing.T) {
	r := newRig(t, 4, 4, 1)
	r.ask(0, 1)
	q := r.ask(1, 1)
	r.Forget(0)
	r.answer(1, q, 0)
	if r.spent != 1 {
		t.Errorf("told %d times that all slots are spent", r.spent)
	}
	if ids := r.TakeLost(false); ids != nil {
		t.Errorf("session %v is to be destroyed under a request", ids)
	}
}

// step is a request in slot 0 and the reply to it; without a reply it is sent again.
type step struct {
	serial uint32
	seq    uint32 // that is wanted
	reply  bool
	op     v4.Op
	status v4.Status
	next   stream.Next
}

func TestSequenceIDs(t *testing.T) {
	good := func(serial, seq uint32) step { return step{serial, seq, true, v4.OpSequence, v4.OK, stream.Finish} }
	for name, steps := range map[string][]step{
		"move on":                        {good(1, 1), good(2, 2), good(9, 3)},
		"stay with a retransmission":     {{serial: 5, seq: 1}, {serial: 5, seq: 1}, good(5, 1), good(6, 2)},
		"move on behind another failure": {{1, 1, true, v4.OpWrite, v4.ErrNoSpc, stream.Finish}, good(2, 2)},
		"stay behind DELAY":              {{1, 1, true, v4.OpSequence, v4.ErrDelay, stream.Delay}, good(2, 1), good(3, 2)},
		"DELAY of a retransmission":      {{serial: 1, seq: 1}, {1, 1, true, v4.OpSequence, v4.ErrDelay, stream.Delay}, good(2, 1)},
		"DELAY of an operation is none":  {{1, 1, true, v4.OpRead, v4.ErrDelay, stream.Finish}, good(2, 2)},
		"misordered":                     {good(1, 1), {2, 2, true, v4.OpSequence, v4.ErrSeqMisordered, stream.Recover}},
		"uncached, told behind SEQUENCE": {{1, 1, true, v4.OpPutFH, v4.ErrRetryUncachedRep, stream.Repeat}, good(2, 2)},
		"uncached, told by SEQUENCE":     {{1, 1, true, v4.OpSequence, v4.ErrRetryUncachedRep, stream.Repeat}, good(2, 2)},
		"false retry":                    {{1, 1, true, v4.OpSequence, v4.ErrSeqFalseRetry, stream.Repeat}, good(2, 2)},
		"another connection":             {{1, 1, true, v4.OpSequence, v4.ErrConnNotBoundToSession, stream.Disconnect}, good(1, 1)},
		"no session":                     {{1, 1, true, v4.OpSequence, v4.ErrBadSession, stream.Recover}},
		"a dead session":                 {{1, 1, true, v4.OpSequence, v4.ErrDeadSession, stream.Recover}},
		"no slot":                        {{1, 1, true, v4.OpSequence, v4.ErrBadSlot, stream.Recover}},
		"no high slot":                   {{1, 1, true, v4.OpSequence, v4.ErrBadHighSlot, stream.Recover}},
		"refused for its size":           {{1, 1, true, v4.OpSequence, v4.ErrReqTooBig, stream.Finish}, good(2, 1)},
		"refused as a whole":             {{1, 1, true, v4.OpCompound, v4.ErrMinorVersMismatch, stream.Finish}, good(2, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, 1, 1, 1)
			for i, s := range steps {
				q := r.ask(0, s.serial)
				if q.Seq != s.seq {
					t.Fatalf("step %d: sequence ID %d, want %d", i, q.Seq, s.seq)
				}
				if !s.reply {
					continue
				}
				if next, err := r.reply(0, q, s.op, s.status, all); next != s.next || err != nil {
					t.Fatalf("step %d: then %v, %v, want %v", i, next, err, s.next)
				}
			}
			_, err := r.append(0, 99, 0)
			if lost := errors.Is(err, stream.ErrNotReady); lost != (steps[len(steps)-1].next == stream.Recover) {
				t.Errorf("in the end %v", err)
			}
		})
	}
}

// What the server asked to delay may be under way there from before, so that it must stay what it was.
func TestADelayedRequestStaysInItsSlotUnlessItChanges(t *testing.T) {
	r := newRig(t, 3, 2, 1)
	q := r.ask(0, 1)
	if next, _ := r.reply(0, q, v4.OpSequence, v4.ErrDelay, all); next != stream.Delay {
		t.Fatal(next)
	}
	if other := r.ask(1, 1); other.Slot != 1 {
		t.Errorf("another request has %+v", other)
	}
	r.waits(2)
	if again := r.ask(0, 2); again.Slot != q.Slot || again.Seq != q.Seq {
		t.Errorf("after the delay %+v, want %+v", again, q)
	}
	if next, _ := r.reply(0, q, v4.OpSequence, v4.ErrDelay, all); next != stream.Delay {
		t.Fatal(next)
	}
	if _, err := r.append(0, 3, 1); !errors.Is(err, stream.ErrNoSlot) {
		t.Errorf("with another state ID: %v, want that it waits for another slot", err)
	}
}

func TestRepliesOfSessionsThatWereReplacedChangeNothing(t *testing.T) {
	r := newRig(t, 1, 1, 1)
	q := r.ask(0, 1)
	old := r.marks[0]
	r.make(7, 1, 1)
	if q := r.ask(0, 1); q.Session[0] != 7 || q.Seq != 1 {
		t.Errorf("in the new session: %+v, want its first sequence ID", q)
	}
	now := r.marks[0]
	r.marks[0] = old
	for _, tc := range []struct {
		op     v4.Op
		status v4.Status
		next   stream.Next
	}{
		{v4.OpSequence, v4.ErrBadSession, stream.Repeat},
		{v4.OpPutFH, v4.ErrRetryUncachedRep, stream.Repeat},
		{v4.OpWrite, v4.OK, stream.Finish},
	} {
		if next, err := r.reply(0, q, tc.op, tc.status, 0); next != tc.next || err != nil {
			t.Errorf("the old session answers %v of %v: then %v, %v, want %v", tc.status, tc.op, next, err, tc.next)
		}
	}
	r.Lose(old)
	if ids, mark := r.Sessions(); !slices.Equal(ids, []v4.SessionID{{7}}) || mark != now {
		t.Error("the new session was lost with the old one")
	}
	if q := r.ask(0, 1); q.Seq != 1 {
		t.Errorf("sequence ID %d after replies of the old session, want 1 still", q.Seq)
	}
}

func TestLostSessionsAreKeptUntilTheyAreTaken(t *testing.T) {
	r := newRig(t, 3, 1, 1)
	ids, mark := r.Sessions()
	r.answer(0, r.ask(0, 1), all)
	r.Lose(mark)
	r.Lose(mark)
	if _, err := r.append(0, 1, 0); !errors.Is(err, stream.ErrNotReady) {
		t.Errorf("without a session: %v", err)
	}
	if got := r.TakeLost(false); !slices.Equal(got, ids) {
		t.Errorf("lost sessions %v, want %v", got, ids)
	}
	if got := r.TakeLost(true); got != nil {
		t.Errorf("lost sessions %v once more", got)
	}
	r.make(3, 1, 1)
	r.ask(0, 1)
	r.waits(1)
	r.Clear()
	if got, _ := r.Sessions(); got != nil || r.TakeLost(true) != nil || !slices.Equal(r.ready, []int{1}) {
		t.Errorf("Clear leaves sessions, or %v alone is told", r.ready)
	}
}

// A server answers DELAY to DESTROY_SESSION for a session with a request in it, or forgets the
// request.
func TestLostSessionsStayWhileARequestWaits(t *testing.T) {
	for name, all := range map[string]bool{"until the last reply": false, "until the end": true} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, 2, 2, 1)
			r.answer(0, r.ask(0, 1), 1)
			q := r.ask(0, 2)
			r.ask(0, 2) // a retransmission waits for one reply
			if next, _ := r.reply(1, r.ask(1, 1), v4.OpSequence, v4.ErrBadHighSlot, 0); next != stream.Recover {
				t.Fatal(next)
			}
			r.make(3, 2, 1)
			if got := r.TakeLost(false); got != nil {
				t.Errorf("%v was taken while a request waits", got)
			}
			if !all {
				r.answer(0, q, 1)
			}
			if got := r.TakeLost(all); !slices.Equal(got, []v4.SessionID{{1}}) {
				t.Errorf("%v was taken, want session 1", got)
			}
		})
	}
}

// Each goroutine is a thread that waits when it has to. Nothing comes twice, and nobody waits for ever.
func TestManyMayUseATableAtOnce(t *testing.T) {
	const requests = 8
	var wake [requests]chan struct{}
	for i := range wake {
		wake[i] = make(chan struct{}, 1)
	}
	table := NewTable(requests, func() {})
	table.Notify(func(_, id int) { wake[id] <- struct{}{} })
	table.Set([]v4.SessionID{{1}}, 3)
	var mu sync.Mutex
	used := map[uint32]bool{}
	var wg sync.WaitGroup
	for id := range requests {
		wg.Go(func() {
			for serial := range uint32(2000) {
				b, mark, err := table.Append(nil, &stream.Part{ID: id, Serial: serial + 1}, 0, false)
				if errors.Is(err, stream.ErrNoSlot) {
					<-wake[id]
					b, mark, err = table.Append(nil, &stream.Part{ID: id, Serial: serial + 1}, 0, false)
				}
				if err != nil {
					t.Error(err)
					return
				}
				d := xdr.NewDecoder(b[4:])
				c := d.Coder()
				var q v4.Sequence
				q.Args(&c)
				mu.Lock()
				if used[q.Slot] || q.Slot > 2 || q.HighestSlot < q.Slot {
					t.Errorf("%+v is used twice, or is none", q)
				}
				used[q.Slot] = true
				mu.Unlock()
				runtime.Gosched() // so that others have to wait
				mu.Lock()
				used[q.Slot] = false
				mu.Unlock()
				head := v4.SequenceHead{Session: q.Session, Seq: q.Seq, Slot: q.Slot, TargetSlot: serial % 5}
				if next, err := table.Replied(id, mark, v4.OpSequence, v4.OK, &head); next != stream.Finish || err != nil {
					t.Error(next, err)
				}
			}
		})
	}
	wg.Wait()
	if n := table.Stats(); n.Requests != requests*2000 || n.Wanted != 1 {
		t.Errorf("%+v", n)
	}
}

func TestATableAllocatesNothing(t *testing.T) {
	for name, granted := range map[string]int{"enough slots": 64, "few": 4} {
		t.Run(name, func(t *testing.T) {
			table, serial := NewTable(64, func() {}), uint32(0)
			table.Set([]v4.SessionID{{1}}, granted)
			var ready [64]int
			var told, at int
			table.Notify(func(_, id int) { ready[told%64], told = id, told+1 })
			b, p, head := make([]byte, 0, 256), &stream.Part{}, v4.SequenceHead{Session: v4.SessionID{1}, TargetSlot: all}
			var marks [64]uint64
			send := func(id int) {
				p.ID, p.Serial = id, serial
				out, mark, err := table.Append(b, p, 0, false)
				if err == nil {
					marks[id], ready[told%64], told = mark, id, told+1
					_ = out
				}
			}
			for id := range 64 {
				send(id)
			}
			if n := testing.AllocsPerRun(200, func() {
				serial++
				id := ready[at%64]
				at++
				k := table.set.requests[id].slot - 1
				if table.set.slots[k].state == taken {
					send(id)
					return
				}
				head.Slot, head.Seq = uint32(k), table.set.slots[k].seq
				if next, err := table.Replied(id, marks[id], v4.OpSequence, v4.OK, &head); next != stream.Finish || err != nil {
					t.Error(next, err)
				}
				send(id)
			}); n != 0 {
				t.Errorf("%v allocations for a request", n)
			}
			if few := table.Stats().Waits > 0; few != (granted < 64) {
				t.Errorf("%+v", table.Stats())
			}
		})
	}
}
