package session

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/nfsbench/nfsbench/internal/nfs/stream"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// table returns a Table with sessions 1, 2 and so on.
func table(requests, granted int) *Table {
	t := NewTable(requests)
	set(t, 1, granted)
	return t
}

func set(t *Table, first byte, granted int) {
	var ids []v4.SessionID
	for n := 0; n < t.Requests(); n += granted {
		ids = append(ids, v4.SessionID{first + byte(len(ids))})
	}
	t.Set(ids, granted)
}

// ask appends a SEQUENCE and decodes it.
func ask(t *testing.T, table *Table, id int, serial uint32) (q v4.Sequence, mark uint64) {
	t.Helper()
	b, mark, err := table.Append(nil, id, serial, true)
	if err != nil {
		t.Fatal(err)
	}
	d := xdr.NewDecoder(b)
	if d.Uint32() != uint32(v4.OpSequence) {
		t.Fatal("no SEQUENCE")
	}
	c := d.Coder()
	q.Args(&c)
	if d = c.Decoder(); d.Err() != nil || d.Len() > 0 {
		t.Fatalf("SEQUENCE cannot be decoded: %v", d.Err())
	}
	return q, mark
}

func TestRequestsHaveSlotsOfSeveralSessions(t *testing.T) {
	table := table(10, 4)
	seen := map[[2]uint32]bool{}
	for id := range 10 {
		q, _ := ask(t, table, id, 1)
		at := [2]uint32{uint32(q.Session[0]), q.Slot}
		if seen[at] || q.Session[0] < 1 || q.Session[0] > 3 || q.Slot > 3 || q.HighestSlot != 3 || q.Seq != 1 || !q.CacheThis {
			t.Errorf("request %d: %+v", id, q)
		}
		seen[at] = true
	}
}

func TestTheHighestSlotIsNoneThatIsNotUsed(t *testing.T) {
	if q, _ := ask(t, table(2, 64), 1, 1); q.Slot != 1 || q.HighestSlot != 1 {
		t.Errorf("%+v", q)
	}
}

// step is a request in slot 0 and the reply to it; without a reply it is given up.
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
		"DELAY of an operation is none":  {{1, 1, true, v4.OpRead, v4.ErrDelay, stream.Finish}, good(2, 2)},
		"given up, and the server knows": {{serial: 1, seq: 1}, good(2, 2), good(3, 3)},
		"given up, and the server does not": {
			good(1, 1), {serial: 2, seq: 2}, {3, 3, true, v4.OpSequence, v4.ErrSeqMisordered, stream.Repeat}, good(4, 2), good(5, 3),
		},
		"misordered without a reason":    {good(1, 1), {2, 2, true, v4.OpSequence, v4.ErrSeqMisordered, stream.Recover}},
		"uncached, told behind SEQUENCE": {{1, 1, true, v4.OpPutFH, v4.ErrRetryUncachedRep, stream.Repeat}, good(2, 2)},
		"uncached, told by SEQUENCE":     {{1, 1, true, v4.OpSequence, v4.ErrRetryUncachedRep, stream.Repeat}, good(2, 2)},
		"false retry":                    {{1, 1, true, v4.OpSequence, v4.ErrSeqFalseRetry, stream.Repeat}, good(2, 2)},
		"another connection":             {{1, 1, true, v4.OpSequence, v4.ErrConnNotBoundToSession, stream.Disconnect}, good(1, 1)},
		"no session":                     {{1, 1, true, v4.OpSequence, v4.ErrBadSession, stream.Recover}},
		"a dead session":                 {{1, 1, true, v4.OpSequence, v4.ErrDeadSession, stream.Recover}},
		"no slot":                        {{1, 1, true, v4.OpSequence, v4.ErrBadSlot, stream.Recover}},
		"no high slot":                   {{1, 1, true, v4.OpSequence, v4.ErrBadHighSlot, stream.Recover}},
		"refused for its size":           {{1, 1, true, v4.OpSequence, v4.ErrReqTooBig, stream.Finish}, good(2, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			table := table(1, 1)
			for i, s := range steps {
				q, mark := ask(t, table, 0, s.serial)
				if q.Seq != s.seq {
					t.Fatalf("step %d: sequence ID %d, want %d", i, q.Seq, s.seq)
				}
				if !s.reply {
					continue
				}
				if next := table.Replied(0, mark, s.op, s.status); next != s.next {
					t.Fatalf("step %d: then %v, want %v", i, next, s.next)
				}
			}
		})
	}
}

func TestRepliesOfSessionsThatWereReplacedChangeNothing(t *testing.T) {
	table := table(1, 1)
	_, old := ask(t, table, 0, 1)
	set(table, 7, 1)
	if q, _ := ask(t, table, 0, 1); q.Session[0] != 7 || q.Seq != 1 {
		t.Errorf("in the new session: %+v, want its first sequence ID", q)
	}
	if next := table.Replied(0, old, v4.OpSequence, v4.ErrBadSession); next != stream.Repeat {
		t.Errorf("the old session is refused: then %v, want Repeat", next)
	}
	if next := table.Replied(0, old, v4.OpWrite, v4.OK); next != stream.Finish {
		t.Errorf("the old session has answered: then %v, want Finish", next)
	}
	if table.Lose(old); !slices.Equal(first(table.IDs()), []v4.SessionID{{7}}) {
		t.Error("the new session was lost with the old one")
	}
	if q, _ := ask(t, table, 0, 1); q.Seq != 1 {
		t.Errorf("sequence ID %d after replies of the old session, want 1 still", q.Seq)
	}
}

func first(ids []v4.SessionID, _ int) []v4.SessionID { return ids }

func TestLostSessionsAreKeptUntilTheyAreTaken(t *testing.T) {
	table := table(2, 1)
	ids, mark := table.Sessions()
	table.Lose(mark)
	table.Lose(mark)
	if _, _, err := table.Append(nil, 0, 1, false); !errors.Is(err, stream.ErrNotReady) {
		t.Errorf("without a session: %v", err)
	}
	if got := table.TakeLost(false); !slices.Equal(got, ids) {
		t.Errorf("lost sessions %v, want %v", got, ids)
	}
	if got := table.TakeLost(true); got != nil {
		t.Errorf("lost sessions %v once more", got)
	}
	set(table, 3, 1)
	table.Clear()
	if got, _ := table.Sessions(); got != nil || table.TakeLost(true) != nil {
		t.Error("Clear leaves sessions")
	}
}

// A server answers DELAY to DESTROY_SESSION for a session with a request in it, or forgets the
// request.
func TestLostSessionsStayWhileARequestWaits(t *testing.T) {
	for name, all := range map[string]bool{"until the last reply": false, "until the end": true} {
		t.Run(name, func(t *testing.T) {
			table := table(2, 2)
			for serial := range uint32(3) { // a retransmission waits for one reply
				ask(t, table, 0, serial/2+1)
			}
			_, mark := ask(t, table, 1, 1)
			if next := table.Replied(1, mark, v4.OpSequence, v4.ErrBadSlot); next != stream.Recover {
				t.Fatal(next)
			}
			table.Lose(mark)
			set(table, 3, 2)
			if got := table.TakeLost(false); got != nil {
				t.Errorf("%v was taken while a request waits", got)
			}
			if !all {
				table.Replied(0, mark, v4.OpSequence, v4.OK)
			}
			if got := table.TakeLost(all); !slices.Equal(got, []v4.SessionID{{1}}) {
				t.Errorf("%v was taken, want session 1", got)
			}
		})
	}
}

func TestManyMayUseATableAtOnce(*testing.T) {
	table := table(8, 4)
	var wg sync.WaitGroup
	for id := range 8 {
		wg.Go(func() {
			for serial := range uint32(2000) {
				_, mark, err := table.Append(nil, id, serial+1, false)
				switch {
				case errors.Is(err, stream.ErrNotReady):
				case serial%97 == 0:
					if table.Replied(id, mark, v4.OpSequence, v4.ErrBadSession) == stream.Recover {
						table.Lose(mark)
					}
				default:
					table.Replied(id, mark, v4.OpSequence, v4.OK)
				}
			}
		})
	}
	wg.Go(func() {
		for range 200 {
			if ids, _ := table.IDs(); ids == nil {
				table.TakeLost(false)
				set(table, 1, 4)
			}
		}
	})
	wg.Wait()
}

func TestATableAllocatesNothing(t *testing.T) {
	table := table(64, 4)
	b, serial := make([]byte, 0, 256), uint32(0)
	if n := testing.AllocsPerRun(200, func() {
		serial++
		_, mark, err := table.Append(b, int(serial%64), serial, false)
		if err != nil || table.Replied(int(serial%64), mark, v4.OpSequence, v4.OK) != stream.Finish {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations for a request", n)
	}
}
