package stream

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// striping is plain with a Router: pieces of unit bytes go to the groups 1 to width in turn.
type striping struct {
	plain
	unit, width int
	elsewhere   func(p *Part) bool // Append refuses it
	decode      func(p *Part) (Results, bool)
	lost        []int // ID
	refused     []error
}

func (s *striping) Route(io *IO, at int) (group, bytes int) {
	place := int(io.Offset) + at
	return 1 + place/s.unit%s.width, s.unit - place%s.unit
}

func (s *striping) Lost(p *Part, err error) {
	if s.lost = append(s.lost, p.ID); err != nil {
		s.refused = append(s.refused, err)
	}
}

func (s *striping) Append(b []byte, p *Part) ([]byte, error) {
	if s.elsewhere != nil && s.elsewhere(p) {
		return b, ErrElsewhere
	}
	return s.plain.Append(b, p)
}

func (s *striping) Decode(d *xdr.Decoder, p *Part) Results {
	r := s.plain.Decode(d, p)
	if s.decode != nil {
		if other, ok := s.decode(p); ok {
			return other
		}
	}
	return r
}

// routedIO is a Driver of one I/O for each slot.
type routedIO struct {
	io   IO
	next int
	done []error
}

func (d *routedIO) Next(x *IO) bool {
	d.next++
	slot, thread := x.Slot, x.Thread
	*x = d.io
	x.Slot, x.Thread = slot, thread
	return len(d.done) == 0
}

func (d *routedIO) Done(x *IO) { d.done = append(d.done, x.Err) }

// succeeded checks that there was one end, without error.
func (d *routedIO) succeeded(t *testing.T) {
	t.Helper()
	if len(d.done) != 1 || d.done[0] != nil {
		t.Errorf("the ends are %v, want one without error", d.done)
	}
}

// streamOfGroups is a stream with a thread for each group, all of which are up and have no sockets.
func streamOfGroups(t *testing.T, p *striping, d *routedIO, block, transfer int, threads ...int) *Stream {
	t.Helper()
	now := time.Unix(0, 0)
	s := prepare(Config{
		Threads: len(threads), Groups: threads, Slots: 1, BlockBytes: int64(block), PieceBytes: int64(p.unit),
		ReadBytes: uint32(transfer), WriteBytes: uint32(transfer), Protocol: p, Timeout: time.Minute,
		Now: func() time.Time { return now }, Describe: func(i int) string { return fmt.Sprint("thread ", i) },
	})
	t.Cleanup(func() { _ = s.Close() })
	s.driver, s.done = d, make(chan struct{})
	s.cause = func() error { return errors.New("stopped") }
	s.active.Store(1)
	for _, l := range s.threads {
		l.begin()
		l.isDown.Store(false)
		s.live[l.group].Add(1)
	}
	return s
}

// part is what a thread has sent.
type part struct{ thread, from, to int }

// turn lets all threads take what they are given and send, and returns what they sent.
func (s *Stream) turn() (sent []part) {
	for range 2 * len(s.threads) {
		for _, l := range s.threads {
			for len(l.inbox) > 0 {
				l.take(<-l.inbox)
			}
			for len(l.ready) > 0 {
				l.unhold(<-l.ready)
			}
			before := map[uint32]bool{}
			for _, xid := range l.mine {
				before[xid] = true
			}
			l.sendAll()
			for i, xid := range l.mine {
				if f := &s.fragments[i]; !before[xid] {
					sent = append(sent, part{l.index, f.From, f.To})
				}
			}
		}
	}
	return sent
}

// beginOn gives the slot to a thread.
func (s *Stream) beginOn(thread int) []part {
	s.threads[thread].give(&s.slots[0])
	return s.turn()
}

// answerAll answers what a thread has in flight.
func (l *thread) answerAll(t *testing.T) {
	t.Helper()
	for i, xid := range l.mine {
		if xid == 0 {
			continue
		}
		reply := readReply(xid, make([]byte, l.s.fragments[i].Bytes()), false)
		if l.s.fragments[i].IO.Write {
			reply = writeReply(xid, uint32(l.s.fragments[i].Bytes()))
		}
		if err := l.feed(reply, 1<<20); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAnIOIsCutByGroup(t *testing.T) {
	for name, tc := range map[string]struct {
		reason                       string
		unit, width, block, transfer int
		offset                       int64
		piece                        int // announced, the unit if 0
		down                         int // a group without a thread that lives
		want                         string
	}{
		"one piece":                {"all of it goes to one group", 8, 2, 8, 64, 8, 0, 0, "2:0-8"},
		"two groups":               {"", 8, 2, 16, 64, 0, 0, 0, "1:0-8 2:8-16"},
		"in turn":                  {"each group gets a share of several parts", 8, 2, 32, 64, 0, 0, 0, "1:0-8 1:16-24 2:8-16 2:24-32"},
		"not aligned":              {"the first and the last part are shorter", 8, 3, 16, 64, 4, 0, 0, "1:0-4 2:4-12 3:12-16"},
		"unit above a transfer":    {"a piece is several parts", 16, 2, 32, 6, 0, 0, 0, "1:0-6 1:6-12 1:12-16 2:16-22 2:22-28 2:28-32"},
		"a group is down":          {"group 0 does it, in parts as large as may be", 8, 2, 32, 64, 0, 0, 2, "0:8-16 0:24-32 1:0-8 1:16-24"},
		"one group, which is down": {"group 0 joins the pieces", 8, 1, 32, 64, 0, 0, 1, "0:0-32"},
		"finer than announced":     {"there are not parts enough, so group 0 does it uncut", 4, 2, 64, 64, 0, 64, 0, "0:0-64"},
	} {
		t.Run(name, func(t *testing.T) {
			p, d := &striping{unit: tc.unit, width: tc.width}, &routedIO{}
			if tc.piece > 0 {
				p.unit = tc.piece
			}
			d.io = IO{Offset: tc.offset, Buf: make([]byte, tc.block)}
			threads := []int{0}
			for g := range tc.width {
				threads = append(threads, g+1)
			}
			s := streamOfGroups(t, p, d, tc.block, tc.transfer, threads...)
			p.unit = tc.unit
			if tc.down > 0 {
				s.threads[tc.down].isDown.Store(true)
				s.live[tc.down].Store(0)
			}
			got := ""
			sent := s.beginOn(0)
			for l := range s.threads {
				for _, x := range sent {
					if x.thread == l {
						got += fmt.Sprintf("%d:%d-%d ", x.thread, x.from, x.to)
					}
				}
			}
			if got != tc.want+" " {
				t.Errorf("parts %q, want %q (%s)", got, tc.want, tc.reason)
			}
			for _, l := range s.threads {
				if l.inFlight > 0 && len(d.done) > 0 {
					t.Fatal("it ended before all had answered")
				}
				l.answerAll(t)
			}
			d.succeeded(t)
		})
	}
}

func TestAnIOHasTheErrorOfAShare(t *testing.T) {
	for _, failing := range []int{1, 2} {
		p, d := &striping{unit: 8, width: 2}, &routedIO{io: IO{Buf: make([]byte, 16)}}
		p.decode = func(x *Part) (Results, bool) { return Results{Err: v3.ErrIO}, x.Thread == failing }
		s := streamOfGroups(t, p, d, 16, 64, 0, 1, 2)
		s.beginOn(0)
		s.threads[1].answerAll(t)
		s.threads[2].answerAll(t)
		if len(d.done) != 1 || !errors.Is(d.done[0], v3.ErrIO) {
			t.Errorf("the ends are %v, want one with the error of share %d", d.done, failing)
		}
	}
}

func TestWhatAGroupCannotCarryGoesToGroup0(t *testing.T) {
	for name, tc := range map[string]struct {
		begin func(p *striping)
		fail  func(t *testing.T, l *thread)
		lost  bool
	}{
		"answered so": {
			func(p *striping) {
				p.decode = func(x *Part) (Results, bool) { return Results{Next: Elsewhere}, x.Thread == 2 && x.From == 8 }
			}, answer, false,
		},
		"not encoded": {
			func(p *striping) { p.elsewhere = func(x *Part) bool { return x.Thread == 2 && x.From == 8 } },
			nil, false,
		},
		"refused by RPC": {func(*striping) {}, refuse, true},
		"less stable than asked for": {
			func(p *striping) {
				p.decode = func(x *Part) (Results, bool) { return Results{Count: x.Bytes(), Committed: Unstable}, x.Thread == 2 }
			}, answer, false,
		},
		"more than asked for": {
			func(p *striping) {
				p.decode = func(x *Part) (Results, bool) { return Results{Count: 99, Committed: FileSync}, x.Thread == 2 }
			}, answer, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, d := &striping{unit: 8, width: 2}, &routedIO{io: IO{Buf: make([]byte, 32), Write: true, Stable: FileSync}}
			tc.begin(p)
			s := streamOfGroups(t, p, d, 32, 64, 0, 1, 2)
			sent := s.beginOn(0)
			if tc.fail != nil {
				tc.fail(t, s.threads[2])
				sent = s.turn()
			}
			there := 0
			for _, x := range sent {
				if x.thread == 0 {
					there++
				}
			}
			if there == 0 || len(d.done) != 0 {
				t.Fatalf("group 0 sent %v, and the ends are %v", sent, d.done)
			}
			p.decode = nil
			for _, l := range s.threads {
				l.answerAll(t)
			}
			d.succeeded(t)
			if (len(p.refused) > 0) != tc.lost {
				t.Errorf("the protocol was told of refusals: %v", p.refused)
			}
		})
	}
}

func answer(t *testing.T, l *thread) { t.Helper(); l.answerAll(t) }

// refuse answers that the program is not known.
func refuse(t *testing.T, l *thread) {
	t.Helper()
	for _, xid := range l.mine {
		if xid == 0 {
			continue
		}
		h := rpc.ReplyHeader{XID: xid, Accept: rpc.AcceptProgramUnavail}
		reply := h.Append(make([]byte, rpc.RecordMarkBytes))
		rpc.PutRecordMark(reply, len(reply)-rpc.RecordMarkBytes)
		if err := l.feed(reply, 1<<20); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAGroupWaitsHalfOfTheTime(t *testing.T) {
	p, d := &striping{unit: 8, width: 1}, &routedIO{io: IO{Buf: make([]byte, 8)}}
	p.decode = func(x *Part) (Results, bool) { return Results{Next: Delay, Err: v3.ErrJukebox}, x.Thread == 1 }
	s := streamOfGroups(t, p, d, 8, 64, 0, 1)
	at := s.start
	s.cfg.Now = func() time.Time { return at }
	s.beginOn(0)
	l := s.threads[1]
	for range 200 {
		if len(l.owned) == 0 {
			break
		}
		l.answerAll(t)
		at = at.Add(2 * time.Second)
		l.look()
		if l.nextDue <= l.now {
			l.wake()
		}
		l.sendAll()
	}
	s.turn()
	if s.threads[0].inFlight != 1 || len(d.done) != 0 {
		t.Fatalf("%d parts are at group 0, the ends are %v", s.threads[0].inFlight, d.done)
	}
	if waited := at.Sub(s.start); waited > s.cfg.Timeout/2+10*time.Second {
		t.Errorf("that took %v of %v", waited, s.cfg.Timeout)
	}
	s.threads[0].answerAll(t)
	d.succeeded(t)
}

// TestAThreadThatIsLostLeavesItsShareToGroup0: once its garbage is enough, for good.
func TestAThreadThatIsLostLeavesItsShareToGroup0(t *testing.T) {
	for tries := range garbageTries + 1 {
		p, d := &striping{unit: 8, width: 2}, &routedIO{io: IO{Buf: make([]byte, 16)}}
		s := streamOfGroups(t, p, d, 16, 64, 0, 1, 2)
		s.beginOn(0)
		l := s.threads[1]
		l.sock, l.garbage = &socket{fd: -1}, tries
		l.lose(violation(io.ErrUnexpectedEOF))
		l.handOver()
		s.turn()
		if len(p.lost) != 1 || s.threads[0].inFlight != 1 || len(d.done) != 0 {
			t.Fatalf("after %d tries: lost %v, at group 0 %d, ends %v", tries, p.lost, s.threads[0].inFlight, d.done)
		}
		s.threads[2].answerAll(t)
		s.threads[0].answerAll(t)
		d.succeeded(t)
	}
}

func TestAShareGoesToAnotherThreadOfItsGroupUnlessThatIsHopeless(t *testing.T) {
	for garbage, want := range map[int]int{0: 2, garbageTries: 0} {
		p, d := &striping{unit: 8, width: 1}, &routedIO{io: IO{Buf: make([]byte, 8)}}
		s := streamOfGroups(t, p, d, 8, 64, 0, 1, 1)
		s.beginOn(1)
		l := s.threads[1]
		l.sock, l.garbage = &socket{fd: -1}, garbage
		l.lose(violation(io.EOF))
		l.handOver()
		if sent := s.turn(); len(sent) != 1 || sent[0].thread != want {
			t.Errorf("after %d losses sent again: %v, want by thread %d", garbage+1, sent, want)
		}
	}
}

func TestACancelledShareFailsTheIO(t *testing.T) {
	for name, order := range map[string][]string{
		"cancelled, then answered": {"cancel", "answer"}, "answered, then cancelled": {"answer", "cancel"},
	} {
		t.Run(name, func(t *testing.T) {
			p, d := &striping{unit: 8, width: 2}, &routedIO{io: IO{Buf: make([]byte, 16)}}
			s := streamOfGroups(t, p, d, 16, 64, 0, 1, 2)
			s.beginOn(0)
			for i, what := range order {
				l := s.threads[i+1]
				if what == "answer" {
					l.answerAll(t)
					continue
				}
				l.sock = &socket{fd: -1}
				l.cancel()
			}
			if len(d.done) != 1 || d.done[0] == nil {
				t.Errorf("the ends are %v, want one with an error", d.done)
			}
			if len(p.lost) != 1 {
				t.Errorf("the protocol was told that %v are lost, want one", p.lost)
			}
		})
	}
}

// TestAllSharesFitIntoOneThread: giving must never wait, or two threads could wait for each other.
func TestAllSharesFitIntoOneThread(t *testing.T) {
	p, d := &striping{unit: 8, width: 3}, &routedIO{io: IO{Buf: make([]byte, 24)}}
	s := streamOfGroups(t, p, d, 24, 64, 0, 1, 2, 3)
	s.beginOn(0)
	given := make(chan struct{})
	go func() {
		defer close(given)
		for _, l := range s.threads[1:] {
			l.sock = &socket{fd: -1}
			l.lose(io.EOF)
			l.handOver()
		}
	}()
	select {
	case <-given:
	case <-time.After(2 * time.Minute):
		t.Fatal("a thread waits to give its share away")
	}
	s.turn()
	s.threads[0].answerAll(t)
	d.succeeded(t)
}

// TestTheNextIOOfASlotIsNotFailedForTheLast: the loops over the fragments of a slot end with
// its I/O.
func TestTheNextIOOfASlotIsNotFailedForTheLast(t *testing.T) {
	for name, end := range map[string]func(l *thread){
		"expired":  func(l *thread) { l.now += int64(2 * time.Minute); l.expire() },
		"hopeless": func(l *thread) { l.garbage = garbageTries; l.lose(violation(io.EOF)) },
	} {
		t.Run(name, func(t *testing.T) {
			l, d, first := threadWithoutSocket(1, 256<<10, false) // four parts
			if err := l.feed(readReply(first|3, make([]byte, 64<<10), false), 1<<20); err != nil {
				t.Fatal(err)
			}
			l.sock = &socket{fd: -1}
			if name == "expired" {
				l.disconnect()
				for i := range l.s.slots[0].fragments[:3] {
					l.s.slots[0].fragments[i].state = fragmentQueued
				}
			}
			end(l)
			sl := &l.s.slots[0]
			if d.done != 1 || d.bad != 1 || sl.left != 4 || sl.err != nil {
				t.Errorf("%d are done, %d failed; the next has %d parts left and the error %v", d.done, d.bad, sl.left, sl.err)
			}
		})
	}
}

// TestAPathThatAnswersNothingIsLeftWhileOthersAnswer: after a minute. While nobody answers, half of the time must pass,
// because a server that stands still has healthy connections.
func TestAPathThatAnswersNothingIsLeftWhileOthersAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		othersAnswer bool
		idle         bool
		after        time.Duration
		want         error
	}{
		"others answer":                  {othersAnswer: true, after: alone + time.Second, want: ErrStalled},
		"others answer, and it is soon":  {othersAnswer: true, after: alone - time.Second},
		"nobody answers":                 {after: 4 * time.Minute},
		"nobody answers for half of it":  {after: 5*time.Minute + time.Second, want: ErrStalled},
		"others answer since half of it": {othersAnswer: true, after: 5*time.Minute + time.Second, want: ErrStalled},
		"others answered only before":    {after: alone + time.Second},
		"others were not asked":          {idle: true, after: alone + time.Second, want: ErrStalled},
	} {
		d := &routedIO{io: IO{Buf: make([]byte, 8)}}
		s := streamOfGroups(t, &striping{unit: 8, width: 1}, d, 8, 64, 0, 0)
		s.cfg.Timeout = 10 * time.Minute
		l, other := s.threads[0], s.threads[1]
		l.sock = &socket{fd: -1}
		other.Receives.Add(7)
		s.beginOn(0)
		if !c.idle {
			other.InFlight.Store(1)
		}
		if err := l.check(); err != nil {
			t.Fatal(err)
		}
		if c.othersAnswer {
			other.Receives.Add(1)
		}
		l.now += int64(c.after) // look would forgive the leap
		l.heard = l.now         // segments are acknowledged
		if err := l.check(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		l.sock = nil
	}
}
