package stream

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/v4"
)

// TestACallCountsAsSentAgainWhenItIs: a call of which a part was sent is not executed, and one whose I/O fails
// before it could be sent again was sent once.
func TestACallCountsAsSentAgainWhenItIs(t *testing.T) {
	t.Parallel()
	s := prepare(Config{
		Protocol: plain{}, Logger: slog.New(slog.DiscardHandler), Describe: func(thread int) string { return fmt.Sprint(thread) },
		Now: time.Now, Threads: 2, Slots: 3, BlockBytes: 1000, ReadBytes: 1000, WriteBytes: 1000, Timeout: time.Hour,
	})
	a, b := s.threads[0], s.threads[1]
	for i := range s.slots {
		sl := &s.slots[i]
		sl.io.Write, sl.io.Buf, sl.state = true, make([]byte, 1000), slotActive
		s.cut(sl)
		a.own(sl)
		a.unsent.push(&sl.fragments[0])
	}
	a.encode()
	a.send.sent = s.slots[1].fragments[0].end + 10 // of the third, a part
	a.lose(errors.New("reset"))
	if n := a.Retransmits.Load(); n != 0 {
		t.Errorf("%d calls count as sent again, and none was yet", n)
	}
	for i := range s.slots[1:] { // the first one is not sent again
		sl := &s.slots[i+1]
		b.own(sl)
		b.unsent.push(&sl.fragments[0])
	}
	b.encode()
	if n, other := a.Retransmits.Load(), b.Retransmits.Load(); n != 1 || other != 0 {
		t.Errorf("%d and %d calls count as sent again, want the one that was sent whole", n, other)
	}
	for i, want := range []bool{false, true, false} {
		if got := s.slots[i].io.SentAgain; got != want {
			t.Errorf("I/O %d says %v, want %v", i, got, want)
		}
	}
}

// TestAnIOThatIsRepeatedWithoutEndFails: each answer of the server is a valid one.
func TestAnIOThatIsRepeatedWithoutEndFails(t *testing.T) {
	for name, answer := range map[string]Results{
		"again":  {Next: Repeat, Err: v4.ErrRetryUncachedRep},
		"little": {Count: 1, Data: 1},
	} {
		p, d := &striping{unit: 4096, width: 1}, &routedIO{io: IO{Buf: make([]byte, 4096)}}
		p.decode = func(*Part) (Results, bool) { return answer, true }
		s := streamOfGroups(t, p, d, 4096, 4096, 0, 1)
		at := s.start
		s.cfg.Now = func() time.Time { return at }
		s.beginOn(0)
		for len(d.done) == 0 {
			if at = at.Add(time.Second); at.Sub(s.start) > 2*s.cfg.Patience {
				t.Fatalf("%s: no end after %v of %v", name, at.Sub(s.start), s.cfg.Patience)
			}
			for _, l := range s.threads {
				l.look()
				l.answerAll(t)
			}
			s.turn()
		}
		if err := d.done[0]; !errors.Is(err, ErrTimeout) && !errors.Is(err, v4.ErrRetryUncachedRep) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
