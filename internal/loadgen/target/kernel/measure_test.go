package kernel

import (
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/test/kit/measure"
)

// A late start of an I/O in an open loop counts as latency.
func TestMeasureHowLateAStreamWithNothingUnderWayWakesUp(t *testing.T) {
	s := &stream{t: &Target{now: time.Now}, start: time.Now(), ctx: t.Context()}
	measure.Lateness(t, func(d time.Duration) {
		s.nextDue = s.now() + d
		s.idle()
	})
}
