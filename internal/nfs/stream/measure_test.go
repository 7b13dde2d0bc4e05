package stream

import (
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A late start of an I/O in an open loop counts as latency. The kernel's own timing is the
// reference, because the machine may be busy.
func TestMeasureHowLateALaneWithNothingUnderWayWakesUp(t *testing.T) {
	lane := startedLane(t)
	const wait = 300 * time.Microsecond
	var idle, sleep []time.Duration
	for range 50 {
		lane.look()
		lane.nextDue = lane.now + int64(wait)
		began := time.Now()
		lane.idle(tick)
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

// Without a bell a lane would look once in a tick at what it is given.
func TestMeasureHowSoonALaneThatWaitsSendsASlot(t *testing.T) {
	const rounds = 100
	took := feedWaitingLane(t, rounds)
	t.Logf("%d slots that came while the lane waited took %v", rounds, took)
	if limit := rounds * tick / 10; took > limit {
		t.Errorf("%d slots that came while the lane waited took %v; with a tick for each it would be %v", rounds, took, rounds*tick)
	}
}
