package stream

import (
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/test/kit/measure"
)

// A late start of an I/O in an open loop counts as latency.
func TestMeasureHowLateALaneWithNothingUnderWayWakesUp(t *testing.T) {
	lane := startedLane(t)
	measure.Lateness(t, func(d time.Duration) {
		lane.look()
		lane.nextDue = lane.now + d.Nanoseconds()
		lane.idle(tick)
	})
}

// Without a bell a lane would look once in a tick at what it is given.
func TestMeasureHowSoonALaneThatWaitsSendsASlot(t *testing.T) {
	const rounds = 100
	each := feedWaitingLane(t, rounds) / rounds
	measure.Expect(t, "a slot that comes while the lane waits", "of a tick", measure.AtMost(0.1), each.Seconds()/tick.Seconds())
}
