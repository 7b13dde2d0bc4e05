// Package nanosleep waits more exactly than Go timers, which are as coarse as 1 ms on an idle
// process. A late start of an operation would count as its latency.
package nanosleep

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Margin is the time before the due time at which a Go timer must end. For waits for the rest.
const Margin = 2 * time.Millisecond

// For lets the thread sleep for d. A signal may end the sleep early, so check the clock again.
func For(d time.Duration) {
	left := unix.NsecToTimespec(max(d, 0).Nanoseconds())
	_ = unix.Nanosleep(&left, nil) // the caller checks the clock again
}

// Hold sleeps for d, as For does, but the thread keeps its Go processor, so that neither the return from the sleep
// nor Go's monitor thread costs more than the sleep.
func Hold(d time.Duration) {
	left := unix.NsecToTimespec(max(d, 0).Nanoseconds())
	_, _, _ = unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&left)), 0, 0)
}

// Precise removes the 50 us by which Linux may delay each wake-up of a thread to join it with others. The effect
// lasts as long as the thread, so lock the goroutine to its thread.
func Precise() {
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // if refused, sleeps stay as they are
}
