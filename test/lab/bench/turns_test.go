package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestContendersTakeTurnsAndTheOrderAlternates(t *testing.T) {
	rows := []row{{Entries: make([]entry, 3)}, {Entries: make([]entry, 1)}}
	want := []turn{
		{0, 0, 1},
		{0, 1, 1},
		{0, 2, 1},
		{0, 2, 2},
		{0, 1, 2},
		{0, 0, 2},
		{0, 0, 3},
		{0, 1, 3},
		{0, 2, 3},
		{1, 0, 1},
		{1, 0, 2},
		{1, 0, 3},
	}
	if diff := cmp.Diff(want, turnsOf(rows, 3)); diff != "" {
		t.Errorf("turns (-want +got):\n%s", diff)
	}
}

func TestTheTimeThatIsLeftIsThatOfTheTurnsThatAreLeft(t *testing.T) {
	rows := []row{
		{Entries: []entry{{Tool: toolFio}}, Warmup: 1, Stretch: 1},
		{Entries: []entry{{Tool: toolOurs, Links: []int{slowOne}, Work: work{"read", mebi, 1, 1}}}, Warmup: 2, Stretch: 2},
	}
	first, second := 1+3+500*time.Millisecond.Seconds(), 2+6+0.5+64*1.048576/23
	for _, c := range []struct {
		left []turn
		pace float64
		want float64
	}{
		{nil, 1, 0},
		{[]turn{{0, 0, 1}, {0, 0, 2}}, 1, 2 * first},
		{[]turn{{0, 0, 1}, {1, 0, 1}}, 2, 2 * (first + second)},
	} {
		want := time.Duration(c.want * float64(time.Second)).Round(time.Second)
		if got := remaining(rows, c.left, 3, c.pace); got != want {
			t.Errorf("%v at pace %v: %v, want %v", c.left, c.pace, got, want)
		}
	}
}

func TestPatienceIsLongerThanTheWork(t *testing.T) {
	for _, r := range allRows() {
		for _, e := range r.Entries {
			if lasts, patience := r.lasts(e, 5), r.patience(e, 5); patience < lasts+10*time.Second {
				t.Errorf("%s, %s: lasts %v, patience %v", r.Name, e.Name, lasts, patience)
			}
		}
	}
}
