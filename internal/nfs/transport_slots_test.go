package nfs

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/stream"
)

// A call that gets no slot ends, and gives up what it waits for.
func TestACallWaitsForASlotForALimitedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTransport(nil, time.Minute, time.Now)
		defer tr.stop()
		var given, forgotten []int
		tr.tickets, tr.slots = make(chan int, 1), []chan struct{}{make(chan struct{}, 1)}
		tr.tickets <- 0
		tr.forget = func(id int) { forgotten = append(forgotten, id) }
		tr.giveBack = func(id int) { given = append(given, id) }
		began, asked := time.Now(), 0
		err := tr.do(t.Context(), &op{encode: func(*op) error {
			if asked++; asked == 1 {
				tr.slots[0] <- struct{}{} // somebody was faster
			}
			return stream.ErrNoSlot
		}})
		if !errors.Is(err, ErrTimeout) || errors.Is(err, stream.ErrNoSlot) || time.Since(began) != time.Minute || asked != 2 {
			t.Errorf("%v after %v and %d questions, want that it ends after a minute", err, time.Since(began), asked)
		}
		if len(given) != 1 || len(forgotten) != 1 || len(tr.tickets) != 1 {
			t.Errorf("given back %v, forgotten %v, %d tickets", given, forgotten, len(tr.tickets))
		}
	})
}
