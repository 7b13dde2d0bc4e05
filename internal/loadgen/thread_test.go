package loadgen

import (
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen/recorder"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
)

// TestALatencyBeginsWhereTheSlotIs hands the only slot of a stream from thread to thread,
// as happens when a job has fewer I/Os outstanding than there are paths. What a thread
// remembers of the slot's last visit is then long ago.
func TestALatencyBeginsWhereTheSlotIs(t *testing.T) {
	e := hotEngine(t, bench.PatternRandomRead, 0)
	clock := e.load.base
	e.now = func() time.Time { return clock }
	d := e.drivers[0].ready()
	for i := range 6 {
		io := target.IO{Slot: 0, Thread: i % 2}
		if !d.Next(&io) {
			t.Fatal("no I/O to do")
		}
		clock = clock.Add(10 * time.Millisecond)
		d.Done(&io)
	}
	var s recorder.Snapshot
	e.rec.Read(&s, recorder.Read, recorder.Measure)
	if s.Count != 6 || s.Mean() != 10*time.Millisecond {
		t.Errorf("%d I/Os of %v each, not 6 of 10ms", s.Count, s.Mean())
	}
}
