package judge

import (
	"fmt"
	"math"
	"slices"

	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// OtherWaits reports whether the waits in a line of a report differ from those of V$SYSTEM_EVENT in the window.
func OtherWaits(row runfile.AWRRow, e runfile.OracleEvent) bool {
	off := math.Abs(float64(row.Waits-e.Waits)) - float64(row.WaitsRounding)
	return row.Event == e.Name && off*1000 > float64(e.Waits)*reportDiffers
}

// checkReport compares the report of the user's SLOB kit with V$SYSTEM_EVENT, by the waits for reads. A report covers
// the foreground waits of one instance between its own snapshots.
func checkReport(c *facts, found *findings) {
	for _, rep := range c.Repetitions {
		for _, w := range rep.Databases {
			for _, row := range w.AWR {
				i := slices.IndexFunc(w.Events, func(e runfile.OracleEvent) bool { return e.Name == row.Event })
				switch {
				case row.Event == measure.EventSequentialRead && i < 0 && row.Waits > 0 && row.IsCoarse() && c.RandomReads():
					low, high := row.MeanSeconds()
					found.info(ReportDiffers, "V$SYSTEM_EVENT does not have %s, and the report of the kit "+
						"has %d waits whose mean it rounds to %s. So the latency is unknown.", row.Event, row.Waits,
						rangeText(low*1e6, high*1e6))
				case i < 0 || !isRead(row.Event) || max(row.Waits, w.Events[i].Waits) < latencyWaits:
				case OtherWaits(row, w.Events[i]):
					found.warn(ReportDiffers, "In repetition %s the report of the kit has %d waits for %s, and "+
						"V$SYSTEM_EVENT %d%s: %s. The latency is that of V$SYSTEM_EVENT; do not compare it with the report.",
						repetitionName(rep.Summary), row.Waits, row.Event, w.Events[i].Waits, c.overInstances(), c.whyOther())
					return
				}
			}
		}
	}
}

func isRead(event string) bool {
	return slices.Contains([]string{
		measure.EventSequentialRead, measure.EventParallelRead, measure.EventScatteredRead, measure.EventDirectRead,
	}, event)
}

func (c *facts) overInstances() string {
	if n := c.Instances(); n > 1 {
		return fmt.Sprintf(" over %d instances", n)
	}
	return ""
}

func (c *facts) whyOther() string {
	if c.Instances() > 1 {
		return "it covers one instance, which its head names, or another time; awr_rac.txt of the kit covers all, in " +
			"tables of another layout, and is not read"
	}
	return "it covers another time"
}

// rangeText formats a mean between two numbers of microseconds.
func rangeText(low, high float64) string {
	if low <= 0 {
		return "less than " + human.Latency(high)
	}
	return "between " + human.Latency(low) + " and " + human.Latency(high)
}
