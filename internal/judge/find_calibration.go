package judge

import (
	"fmt"
	"slices"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// checkCalibration says what the number of a calibration is good for, and
// compares its runs.
func (c *judging) checkCalibration() {
	c.checkCold()
	plan := c.result.Plan.Workload.Calibrate
	if plan == nil {
		return
	}
	what := "CALIBRATE_IO"
	if c.result.Plan.Database == nil {
		what = "What CALIBRATE_IO does"
	}
	c.add(CalibrationOnly, Info, "%s is not the I/O of a database, and two runs of it differ: Oracle's own people and NetApp say that it is no way to compare storage. Use workload.slob for that.", what)
	for _, s := range c.calibrations {
		if l := s.ActualLatencyMilliseconds; l != nil && *l <= 1 && !s.Warmup && c.result.Plan.Database != nil {
			c.addOnce(LatencyResolution, Info, "CALIBRATE_IO tells latency in whole milliseconds, here %d: too coarse for this storage.%s", *l, c.finerLatency())
		}
		c.checkLimit(s, plan.MaxLatencyMilliseconds)
	}
}

func (c *judging) finerLatency() string {
	l := c.overall.Total.Latency
	if l == nil || slices.ContainsFunc(c.findings, func(f Finding) bool { return f.Code == SuspectLatency }) {
		return "" // finer, and wrong
	}
	return fmt.Sprintf(" V$IOSTAT_FILE says %d µs over the whole run.", l.MeanMicroseconds)
}

// checkLimit reports a calibration whose IOPS are not within the latency.
func (c *judging) checkLimit(s CalibrationSummary, limit int32) {
	l := s.ActualLatencyMilliseconds
	switch {
	case s.Warmup:
	case l != nil && *l > int64(limit):
		c.addOnce(LatencyLimitExceeded, Warning, "CALIBRATE_IO reached its IOPS at %d ms, above the %d ms that were allowed: there is no number within them. Allow more (maxLatencyMilliseconds).", *l, limit)
	case s.MaxIOPS == nil && c.overall.isOf(runfile.StepSmallReads):
		c.addOnce(LatencyLimitExceeded, Warning, "Even %s took %d µs on average, above the %d ms that were allowed: there are no IOPS within them. Allow more (maxLatencyMilliseconds), or look what slows the storage.",
			level(runfile.StepSmallReads, c.overall.Step.Users), c.overall.Total.Latency.MeanMicroseconds, limit)
	}
}

// checkCold compares the first run with all later ones. Raw loads have a warm-up
// of their own for that.
func (c *judging) checkCold() {
	name, figures, text := c.runFigures()
	if len(figures) < 2 {
		return
	}
	for _, later := range figures[1:] {
		if figures[0]*1000 >= later*coldShare {
			return
		}
	}
	numbers := fmt.Sprintf("The first %s gave %s and the next %s: it found cold caches.", name, text(figures[0]), text(figures[1]))
	if len(c.calibrations) > 0 && c.calibrations[0].Warmup {
		c.add(ColdCache, Info, "%s It was a warm-up and does not count.", numbers)
		return
	}
	c.add(ColdCache, Warning, "%s It counts all the same. Use a warm-up (workload.calibrate.warmupRuns, or run.warmupSeconds).", numbers)
}

// runFigures are the numbers of the runs of one step in order, and how to write
// them.
func (c *judging) runFigures() (name string, figures []float64, text func(float64) string) {
	if c.result.Plan.Workload.Calibrate != nil {
		for _, s := range c.calibrations {
			if s.MaxIOPS == nil {
				return "", nil, nil
			}
			figures = append(figures, float64(*s.MaxIOPS))
		}
		return "calibration", figures, func(v float64) string { return fmt.Sprintf("%.0f IOPS", v) }
	}
	if c.overall.Step == nil {
		return "", nil, nil
	}
	for _, s := range c.headline {
		figures = append(figures, s.figure())
	}
	return "round with " + level(c.overall.Step.Kind, c.overall.Step.Users), figures, func(v float64) string { return megabytes(int64(v)) }
}
