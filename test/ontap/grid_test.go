package ontap_test

import (
	"context"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/test/ontap"
)

// timed counts the time itself: a counter tells when it was read.
type timed struct{ ontap.Scripted }

func (*timed) Node(string) ontap.NodeCounters {
	return ontap.NodeCounters{BusyMicros: 0, BaseMicros: uint64(time.Now().UnixMicro())} //nolint:gosec // it is after 1970
}

func (*timed) Move(context.Context, string, string) error { return nil }

// The test asks more seldom than the grid steps: readings that were taken when
// somebody asked, and not on the grid, would be late by any part of a step.
func TestOnARealClockCountersAreOfTheTimeThatTheyClaim(t *testing.T) {
	t.Parallel()
	const grid, every, asks = 400 * time.Millisecond, 520 * time.Millisecond, 12
	w := begin(t, func(o *ontap.Options) { o.Now, o.Truth, o.Grid = nil, &timed{}, grid })
	tick := time.NewTicker(every)
	defer tick.Stop()
	stamps, prompt := map[string]bool{}, 0
	for range asks {
		<-tick.C
		n := w.records(t, "/api/cluster/nodes?fields=statistics")[0]
		text := at(n, "statistics.timestamp").(string)
		stamp, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			t.Fatal(err)
		}
		counted := time.UnixMicro(int64(at(n, "statistics.processor_utilization_base").(float64)))
		late := counted.Sub(stamp)
		if late < -time.Millisecond {
			t.Errorf("what was counted at %v claims to be of %v, later", counted, stamp)
		}
		if late < grid/4 {
			prompt++
		}
		stamps[text] = true
	}
	// A busy machine may spoil some.
	if len(stamps) < asks/2 || prompt < asks*2/3 {
		t.Errorf("of %d readings %d have a time of their own, and %d hold what was counted then", asks, len(stamps), prompt)
	}
}
