package measure

import (
	"testing"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

func TestARoundedMeanNeverTakesThePlaceOfAnExactOne(t *testing.T) {
	c := &Facts{}
	c.Plan.Workload.SLOB = &bench.SLOBWorkload{Access: bench.SLOBRandomRead}
	exact := []runfile.OracleEvent{{Name: EventSequentialRead, Waits: 600, Microseconds: 270000}}
	for name, tc := range map[string]struct {
		seconds float64
		events  []runfile.OracleEvent
		count   int64
		micros  float64
	}{
		"both":           {1, exact, 600, 270000},
		"no seconds":     {0, exact, 600, 270000},
		"report alone":   {3, nil, 300, 3e6},
		"too few to say": {0, nil, 0, 0},
		"too coarse":     {.9, nil, 0, 0},
	} {
		w := runfile.OracleWindow{AWR: []runfile.AWRRow{{Event: EventSequentialRead, Waits: 300, Seconds: tc.seconds, SecondsRounding: .05}}, Events: tc.events}
		if count, micros := c.readLatency(w, false); count != tc.count || micros != tc.micros {
			t.Errorf("%s: %d, %g", name, count, micros)
		}
	}
}
