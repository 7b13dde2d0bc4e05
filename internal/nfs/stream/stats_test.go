package stream

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
)

// TestALossBeginsWithTheLastAnswer: a path that owes an answer was gone before it was
// noticed, and an idle one may have worked until then.
func TestALossBeginsWithTheLastAnswer(t *testing.T) {
	t.Parallel()
	for inFlight, want := range map[int]int64{0: 9, 1: 4, 2: 4} {
		s := &Stream{cfg: Config{
			Logger: slog.New(slog.DiscardHandler), Describe: func(thread int) string { return fmt.Sprint(thread) },
		}}
		l := &thread{s: s, inFlight: inFlight, answered: 4, heard: 7, now: 9}
		l.lost(errors.New("reset"))
		if got := 9 - int64(l.Traffic(9).Down); got != want {
			t.Errorf("with %d calls under way it is down since %d, want %d", inFlight, got, want)
		}
	}
}

// TestALossEndsWithTheFirstAnswer: a server that stands still accepts connections, and they are given up again.
func TestALossEndsWithTheFirstAnswer(t *testing.T) {
	t.Parallel()
	s := &Stream{cfg: Config{
		Logger: slog.New(slog.DiscardHandler), Describe: func(thread int) string { return fmt.Sprint(thread) },
	}}
	l := &thread{s: s, inFlight: 1, answered: 10, now: 25, mine: make([]uint32, 1), past: make([]uint32, 1)}
	for range 2 {
		l.lost(errors.New("stalled"))
		l.away = l.NoteReconnect(l.now)
		l.answered, l.now = l.now, l.now+15
	}
	l.replied(&fragment{})
	l.now += 5
	if got := l.Traffic(l.now); got.Down != 45 || got.Reconnects != 2 {
		t.Errorf("down for %d with %d connections, want 45 with 2", got.Down, got.Reconnects)
	}
}

// TestALossOfAllThreadsEndsWithAnAnswer: threads give their I/Os to each other as they go down. One that owns none after
// that is no better than the others.
func TestALossOfAllThreadsEndsWithAnAnswer(t *testing.T) {
	t.Parallel()
	s := &Stream{cfg: Config{
		Timeout: 20, Logger: slog.New(slog.DiscardHandler), Describe: func(thread int) string { return fmt.Sprint(thread) },
	}}
	for range 2 {
		s.threads = append(s.threads, &thread{s: s, inFlight: 1, answered: 10, mine: make([]uint32, 1), past: make([]uint32, 1)})
	}
	down := func(at int64, want ...int64) {
		t.Helper()
		for i, l := range s.threads {
			if got := int64(l.Traffic(at).Down); got != want[i] {
				t.Errorf("at %d thread %d is down for %d, want %d", at, i, got, want[i])
			}
		}
	}
	send := func(l *thread, at int64) { l.now, l.answered, l.inFlight = at, at, 1 }
	lose := func(l *thread, at int64) {
		l.now = at
		l.lost(errors.New("stalled"))
		l.inFlight = 0
		l.answered = at
		l.reconnected()
		l.unowed()
	}
	a, b := s.threads[0], s.threads[1]
	lose(a, 16)
	lose(b, 17)
	send(a, 17)
	b.now = 20
	b.unowed()
	down(20, 10, 10)
	a.now, b.now = 21, 21
	a.replied(&fragment{})
	b.unowed()
	down(30, 11, 10) // a look before

	// What is sent to the second is not answered, and then what is sent to the first.
	send(b, 33)
	lose(b, 39)
	b.now = 40
	b.unowed()
	down(40, 11, 30)
	send(b, 40)
	b.now = 45
	b.replied(&fragment{})
	down(50, 11, 35)
	send(b, 50)
	lose(b, 55)
	down(55, 11, 40)

	// What is sent to the second long after that is not answered: it was not down all the time.
	send(a, 56)
	a.now = 57
	a.replied(&fragment{})
	b.now = 57
	b.unowed()
	send(b, 600)
	lose(b, 606)
	down(606, 11, 46)
}
