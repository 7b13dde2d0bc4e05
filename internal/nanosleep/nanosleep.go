// Package nanosleep waits more exactly than the timers of Go, which are as coarse as 1 ms where
// nothing else runs: an operation that starts late has that in its latency.
package nanosleep

import (
	"time"

	"golang.org/x/sys/unix"
)

// Margin is how long before something is due a timer of Go must end. For covers what is left.
const Margin = 2 * time.Millisecond

// For lets the thread sleep for d. It returns earlier where a signal interrupts it, so look at
// the clock again.
func For(d time.Duration) {
	left := unix.NsecToTimespec(max(d, 0).Nanoseconds())
	_ = unix.Nanosleep(&left, nil) // the caller looks at the clock again
}
