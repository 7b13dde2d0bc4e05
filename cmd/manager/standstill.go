package main

import (
	"context"
	"time"
)

const (
	// heartbeat is the interval at which the process checks that it did not stand still.
	heartbeat = time.Second
	// longestStandstill is less than the time until another manager leads: the lease lasts 15 s from its last renewal,
	// which is at most 2 s ago.
	longestStandstill = 10 * time.Second
)

// watchStandstill calls end after a standstill so long that another manager may lead: the process was stopped, or its
// machine was paused or overloaded.
//
// Leader election alone notices a standstill only after it failed to renew the lease for 10 s. Until then two
// managers would write. A write that the standstill delayed is harmless: the status is written with an optimistic
// lock, and every other object has a name of its own.
func watchStandstill(ctx context.Context, now func() time.Time, beats <-chan time.Time, end func(stood time.Duration)) {
	last := now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beats:
		}
		at := now()
		// After a pause of the machine, only the wall clock may show the elapsed time.
		if stood := max(at.Sub(last), at.Round(0).Sub(last.Round(0))); stood > longestStandstill {
			end(stood)
			return
		}
		last = at
	}
}
