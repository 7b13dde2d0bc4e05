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
			Logger: slog.New(slog.DiscardHandler), Describe: func(lane int) string { return fmt.Sprint(lane) },
		}}
		l := &lane{s: s, inFlight: inFlight, answered: 4, heard: 7, now: 9}
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
		Logger: slog.New(slog.DiscardHandler), Describe: func(lane int) string { return fmt.Sprint(lane) },
	}}
	l := &lane{s: s, inFlight: 1, answered: 10, now: 25, mine: make([]uint32, 1), past: make([]uint32, 1)}
	for range 2 {
		l.lost(errors.New("stalled"))
		l.away = l.NoteReconnect()
		l.answered, l.now = l.now, l.now+15
	}
	l.replied(&fragment{})
	l.now += 5
	if got := l.Traffic(l.now); got.Down != 45 || got.Reconnects != 2 {
		t.Errorf("down for %d with %d connections, want 45 with 2", got.Down, got.Reconnects)
	}
}
