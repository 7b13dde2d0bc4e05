package report

import (
	"math"
	"testing"

	"github.com/nfsbench/nfsbench/internal/measure"
)

func TestAnIntervalWithoutAClientIsAGap(t *testing.T) {
	t.Parallel()
	read := func(bytes float64) measure.Slot {
		return measure.Slot{Clients: 1, Read: measure.SlotOps{Bytes: bytes, Count: 1}}
	}
	c := axis{&measure.History{Interval: 1, Slots: []measure.Slot{read(5), {}, read(0)}}}
	points := c.line("read", func(s measure.Slot) float64 { return s.Read.Bytes }).Points
	if len(points) != 3 || points[0].Y != 5 || !math.IsNaN(points[1].Y) || points[2].Y != 0 {
		t.Errorf("%+v", points)
	}
}
