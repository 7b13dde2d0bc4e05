// Package nanosleep waits more exactly than Go timers, which are as coarse as 1 ms on an idle
// process. A late start of an operation would count as its latency.
package nanosleep

import (
	"time"

	"golang.org/x/sys/unix"
)

// Margin is how long before the due time a Go timer must end. For waits for the rest.
const Margin = 2 * time.Millisecond

// For lets the thread sleep for d. A signal may end the sleep early, so check the clock again.
func For(d time.Duration) {
	left := unix.NsecToTimespec(max(d, 0).Nanoseconds())
	_ = unix.Nanosleep(&left, nil) // the caller checks the clock again
}
