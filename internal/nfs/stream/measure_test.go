package stream

import (
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/test/kit/measure"
)

// A late start of an I/O in an open loop counts as latency.
func TestMeasureHowLateAThreadWithNothingUnderWayWakesUp(t *testing.T) {
	thread := startedThread(t)
	measure.Lateness(t, func(d time.Duration) {
		thread.look()
		thread.nextDue = thread.now + d.Nanoseconds()
		thread.idle(tick)
	})
}

// Without the eventfd, a thread would look once in a tick at what it is given.
func TestMeasureHowSoonAThreadThatWaitsSendsASlot(t *testing.T) {
	const rounds = 100
	each := feedWaitingThread(t, rounds) / rounds
	measure.Expect(t, "a slot that comes while the thread waits", "of a tick", measure.AtMost(0.1), each.Seconds()/tick.Seconds())
}
