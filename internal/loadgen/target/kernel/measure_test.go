package kernel

import (
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A late start of an I/O in an open loop counts as latency. The kernel's own timing is the
// reference, because the machine may be busy.
func TestMeasureHowLateAStreamWithNothingUnderWayWakesUp(t *testing.T) {
	s := &stream{t: &Target{now: time.Now}, start: time.Now(), ctx: t.Context()}
	const wait = 300 * time.Microsecond
	var idle, sleep []time.Duration
	for range 50 {
		began := time.Now()
		s.nextDue = s.now() + wait
		s.idle()
		idle = append(idle, time.Since(began))
		began = time.Now()
		left := unix.NsecToTimespec(wait.Nanoseconds())
		_ = unix.Nanosleep(&left, nil)
		sleep = append(sleep, time.Since(began))
	}
	slices.Sort(idle)
	slices.Sort(sleep)
	got, want := idle[len(idle)/2], sleep[len(sleep)/2]
	t.Logf("a wait of %v takes %v, and %v by the kernel alone", wait, got, want)
	if got > 2*want {
		t.Errorf("a wait of %v takes %v, and %v by the kernel alone", wait, got, want)
	}
}
