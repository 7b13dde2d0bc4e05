package stream

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// limited is plain with so many outstanding parts at most, in the order in which they come.
type limited struct {
	plain
	free      int
	holders   map[int]bool // parts, by ID
	waiting   []*Part
	threads   map[int]int // that asked for it last, by ID
	ready     func(thread, part int)
	forgotten []int
	moved     []string
}

func (p *limited) Notify(ready func(thread, part int)) { p.ready = ready }

func (p *limited) Append(b []byte, part *Part) ([]byte, error) {
	p.threads[part.ID] = part.Thread
	if !p.holders[part.ID] && p.free == 0 {
		if !slices.Contains(p.waiting, part) {
			p.waiting = append(p.waiting, part)
		}
		return b, ErrNoSlot
	}
	if !p.holders[part.ID] {
		p.holders[part.ID] = true
		p.free--
	}
	return p.plain.Append(b, part)
}

func (p *limited) Forget(part *Part) { p.forgotten = append(p.forgotten, part.ID) }

func (p *limited) Move(part *Part, thread int) {
	p.moved = append(p.moved, fmt.Sprintf("%d from %d to %d", part.ID, part.Thread, thread))
}

// end ends a part, so that the next one may go.
func (p *limited) end(id int) {
	delete(p.holders, id)
	next := p.waiting[0]
	p.waiting = p.waiting[1:]
	p.holders[next.ID] = true
	p.ready(p.threads[next.ID], next.ID)
}

// limitedStream has two threads, without sockets, with two I/Os each, and begins them.
func limitedStream(t *testing.T, free int) (*Stream, *limited, *endless) {
	t.Helper()
	now := time.Unix(0, 0)
	p := &limited{free: free, holders: map[int]bool{}, threads: map[int]int{}}
	s := prepare(Config{
		Threads: 2, Slots: 4, BlockBytes: 64, ReadBytes: 64, WriteBytes: 64, Protocol: p, Timeout: time.Minute,
		Now: func() time.Time { return now }, Describe: func(i int) string { return fmt.Sprint("thread ", i) },
	})
	t.Cleanup(func() { _ = s.Close() })
	d := &endless{}
	s.driver, s.done = d, make(chan struct{})
	s.cause = func() error { return errors.New("stopped") }
	s.active.Store(4)
	for i, l := range s.threads {
		l.begin()
		l.isDown.Store(false)
		s.live[0].Add(1)
		for k := range 2 {
			d.bufs = append(d.bufs, make([]byte, 64))
			l.give(&s.slots[2*i+k])
		}
	}
	return s, p, d
}

// inFlight returns the parts that the threads have sent, by thread.
func (s *Stream) inFlight() (ids [2][]int) {
	for i, l := range s.threads {
		for id, xid := range l.mine {
			if xid != 0 {
				ids[i] = append(ids[i], id)
			}
		}
	}
	return ids
}

func wantInFlight(t *testing.T, s *Stream, one, two []int) {
	t.Helper()
	if got := s.inFlight(); !slices.Equal(got[0], one) || !slices.Equal(got[1], two) {
		t.Errorf("in flight are %v, want %v and %v", got, one, two)
	}
}

func TestAThreadIsToldThatAPartNeedNotBeHeld(t *testing.T) {
	s, p, _ := limitedStream(t, 1)
	s.turn()
	p.end(0) // to 1, of the same thread
	s.turn()
	wantInFlight(t, s, []int{0, 1}, nil)
	l := s.threads[1]
	interrupted := func() bool {
		var count [8]byte
		_, err := unix.Read(l.event, count[:])
		return err == nil
	}
	l.listening.Store(true)
	if p.end(1); !interrupted() {
		t.Error("the thread is not interrupted")
	}
	l.listening.Store(false)
	s.turn()
	wantInFlight(t, s, []int{0, 1}, []int{2})
	p.end(2)
	l.idle(time.Hour) // ends at once
	l.sendAll()
	wantInFlight(t, s, []int{0, 1}, []int{2, 3})
}

func TestAHeldPartMovesToTheThreadThatLives(t *testing.T) {
	s, p, _ := limitedStream(t, 2)
	s.turn()
	wantInFlight(t, s, []int{0, 1}, nil)
	one, two := s.threads[0], s.threads[1]
	p.end(0) // 2 is told to the thread that is lost then
	two.isDown.Store(true)
	two.handOver()
	s.turn()
	wantInFlight(t, s, []int{0, 1, 2}, nil)
	if p.end(1); p.threads[3] != 0 || two.holding != 0 || one.holding != 1 {
		t.Errorf("part 3 is held by thread %d; %d and %d are held", p.threads[3], one.holding, two.holding)
	}
	s.turn()
	wantInFlight(t, s, []int{0, 1, 2, 3}, nil)
	for _, want := range []string{"2 from 1 to 0", "3 from 1 to 0"} {
		if !slices.Contains(p.moved, want) {
			t.Errorf("moved %v, want %s too", p.moved, want)
		}
	}
	if len(p.forgotten) > 0 {
		t.Errorf("%v were forgotten", p.forgotten)
	}
}

func TestWhatIsGivenUpIsForgotten(t *testing.T) {
	for name, giveUp := range map[string]func(s *Stream){
		"for its time": func(s *Stream) {
			for _, l := range s.threads {
				l.now += int64(2 * time.Minute)
				l.expire()
			}
		},
		"with the run": func(s *Stream) {
			for _, l := range s.threads {
				l.cancel()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, p, d := limitedStream(t, 1)
			s.turn()
			giveUp(s)
			if slices.Sort(p.forgotten); !slices.Equal(p.forgotten, []int{0, 1, 2, 3}) || d.bad != 4 {
				t.Errorf("%v were forgotten, and %d I/Os failed", p.forgotten, d.bad)
			}
		})
	}
}
