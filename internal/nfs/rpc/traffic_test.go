package rpc

import (
	"errors"
	"testing"
)

func TestTheTimeOfALossCountsWhileItLastsAndAfterwards(t *testing.T) {
	var c Counters
	if c.NoteReturn(5); c.NoteReconnect(5) {
		t.Error("a connection that was never lost has returned")
	}
	c.NoteError(errors.New("reset"))
	c.NoteLoss(10, 14)
	if got := c.Traffic(17); got.Down != 7 || got.Reconnects != 0 || got.LastError != "reset" {
		t.Errorf("while it is lost: %+v", got)
	}
	if c.NoteLoss(18, 18); !c.NoteReconnect(19) {
		t.Error("the connection was lost")
	}
	if c.NoteReturn(20); c.NoteReconnect(20) {
		t.Error("a loss must end exactly once")
	}
	c.NoteReturn(21)
	if got := c.Traffic(30); got.Down != 10 || got.Reconnects != 1 {
		t.Errorf("after its return: %+v", got)
	} else if want := (Loss{10, 14, 19, 20}); len(got.Losses) != 1 || got.Losses[0] != want {
		t.Errorf("the losses are %+v, want %+v", got.Losses, want)
	}
}

func TestTheLastLossesAreKept(t *testing.T) {
	var c Counters
	for at := range int64(3 * maxLosses) {
		c.NoteLoss(10*at+1, 10*at+1)
		c.NoteReturn(10*at + 2)
	}
	got := c.Traffic(1000).Losses
	if last := (Loss{Since: 30*maxLosses - 9, Noticed: 30*maxLosses - 9, Answered: 30*maxLosses - 8}); len(got) != maxLosses || got[maxLosses-1] != last {
		t.Errorf("%+v", got)
	}
}
