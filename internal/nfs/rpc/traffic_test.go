package rpc

import (
	"errors"
	"testing"
)

func TestTheTimeOfALossCountsWhileItLastsAndAfterwards(t *testing.T) {
	var c Counters
	if c.NoteReturn(5); c.NoteReconnect() {
		t.Error("a connection that was never lost has returned")
	}
	c.NoteError(errors.New("reset"))
	c.NoteLoss(10)
	if got := c.Traffic(17); got.Down != 7 || got.Reconnects != 0 || got.LastError != "reset" {
		t.Errorf("while it is lost: %+v", got)
	}
	if c.NoteLoss(18); !c.NoteReconnect() {
		t.Error("the connection was lost")
	}
	if c.NoteReturn(20); c.NoteReconnect() {
		t.Error("a loss must end exactly once")
	}
	c.NoteReturn(21)
	if got := c.Traffic(30); got.Down != 10 || got.Reconnects != 1 {
		t.Errorf("after its return: %+v", got)
	}
}
