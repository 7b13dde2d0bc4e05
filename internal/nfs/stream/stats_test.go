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
		l := &lane{s: s, inFlight: inFlight, heard: 4, now: 9}
		l.lost(errors.New("reset"))
		if got := 9 - int64(l.Traffic(9).Down); got != want {
			t.Errorf("with %d calls under way it is down since %d, want %d", inFlight, got, want)
		}
	}
}
