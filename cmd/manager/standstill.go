package main

import (
	"context"
	"time"
)

const (
	// heartbeat is how often the process shows itself that it runs.
	heartbeat = time.Second
	// longestStandstill is less than what it takes until another leads: the
	// duration of the lease, 15 s, from its last renewal on, 2 s ago at most.
	longestStandstill = 10 * time.Second
)

// watchStandstill calls end when the process stood still for so long that
// another may lead by now: it was stopped, its machine was paused, or starved.
//
// Leader election alone notices that only when it has failed to renew the lease
// for 10 s, and for so long two managers would write. What one of them was
// about to write when it froze is harmless: the status is written with a lock,
// and everything else has a name of its own.
func watchStandstill(ctx context.Context, now func() time.Time, beats <-chan time.Time, end func(stood time.Duration)) {
	last := now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beats:
		}
		at := now()
		// Of a machine that was paused only the wall clock may know.
		if stood := max(at.Sub(last), at.Round(0).Sub(last.Round(0))); stood > longestStandstill {
			end(stood)
			return
		}
		last = at
	}
}
