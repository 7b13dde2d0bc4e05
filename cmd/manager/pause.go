package main

import (
	"context"
	"time"
)

const (
	// heartbeat is the interval at which the process checks that it did not stand still.
	heartbeat = time.Second
	// longestPause is less than the time until another manager leads: the lease lasts 15 s from its last renewal,
	// which is at most 2 s ago.
	longestPause = 10 * time.Second
)

// watchClock calls end after a pause of the process so long that another manager may lead: the process was stopped, or
// its machine was paused or overloaded.
//
// Leader election alone notices a pause only after it failed to renew the lease for 10 s. Until then two
// managers would write. A write that the pause delayed is harmless: the status is written with an optimistic
// lock, and every other object has a name of its own.
func watchClock(ctx context.Context, now func() time.Time, beats <-chan time.Time, end func(stood time.Duration)) {
	last := now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beats:
		}
		at := now()
		// After a pause of the machine, only the wall clock may show the elapsed time.
		if stood := max(at.Sub(last), at.Round(0).Sub(last.Round(0))); stood > longestPause {
			end(stood)
			return
		}
		last = at
	}
}
