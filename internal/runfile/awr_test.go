package runfile

import (
	"math"
	"testing"
)

func TestAMeanOfARoundedReportIsARange(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		row       AWRRow
		low, high float64
		coarse    bool
	}{
		"whole seconds":    {AWRRow{Waits: 600, Seconds: 1, SecondsRounding: .5}, .5 / 600, 1.5 / 600, true},
		"no second":        {AWRRow{Waits: 800, SecondsRounding: .5}, 0, .5 / 800, true},
		"many seconds":     {AWRRow{Waits: 30_000, Seconds: 14, SecondsRounding: .5}, 13.5 / 30_000, 14.5 / 30_000, false},
		"short form":       {AWRRow{Waits: 1_000, WaitsRounding: 100, Seconds: 90, SecondsRounding: 0}, 90. / 1100, 90. / 900, true},
		"fewer than shown": {AWRRow{Waits: 0, WaitsRounding: 0, Seconds: 2}, math.Inf(1), math.Inf(1), true},
		"exact":            {AWRRow{Waits: 10, Seconds: 2}, .2, .2, false},
	} {
		if low, high := c.row.MeanSeconds(); low != c.low || high != c.high || c.row.IsCoarse() != c.coarse {
			t.Errorf("%s: %g to %g, coarse %v", name, low, high, c.row.IsCoarse())
		}
	}
}
