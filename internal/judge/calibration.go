package judge

import (
	"fmt"
	"slices"

	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// checkCalibration says what the numbers of a calibration mean, and compares
// its runs.
func checkCalibration(c *facts, found *findings) {
	plan := c.Plan.Workload.Calibrate
	if plan == nil {
		return
	}
	megabytes := ""
	for _, w := range c.Overall.Databases {
		if o := w.Calibration; o != nil {
			mbps := o.MaxMegabytesPerSecond
			megabytes = fmt.Sprintf(" Oracle does not define the megabyte of max_mbps: %d are %d MB/s, or %d if it has 2^20 "+
				"bytes.", mbps, mbps, mbps<<20/1_000_000)
		}
	}
	found.info(CalibrationOnly, "%s is not the I/O of a database, and two runs of it differ: Oracle and NetApp advise "+
		"against comparing storage with it. Use workload.slob for that.%s", c.engine.calibration, megabytes)
	for _, w := range c.Overall.Databases {
		if w.DatafileBytes > 0 {
			found.info(CacheSuspected, "CALIBRATE_IO reads all datafiles: %s were read %.1f times. To measure more than "+
				"caches, make them larger (workload.calibrate.databaseSize).", human.Bytes(w.DatafileBytes),
				float64(c.EverRead())/float64(w.DatafileBytes))
		}
	}
	for _, s := range c.Calibrations {
		if l := s.ActualLatencyMilliseconds; l != nil && *l <= 1 && !s.Warmup && c.engine.database {
			found.info(LatencyResolution, "CALIBRATE_IO reports latency in whole milliseconds, here %d: this is too coarse "+
				"for this storage.%s", *l, c.finerLatency())
		}
		checkLimit(c, found, s.CalibrationSummary, plan.MaxLatencyMilliseconds)
	}
}

func (c *facts) finerLatency() string {
	l := c.Overall.Total.Latency
	var wrong findings
	checkServiceTime(c, &wrong)
	if l == nil || len(wrong) > 0 {
		return "" // the finer number is wrong
	}
	return " V$IOSTAT_FILE says " + human.Latency(l.MeanMicroseconds) + " over all levels of load."
}

// checkLimit reports a calibration without IOPS within the latency limit.
func checkLimit(c *facts, found *findings, s measure.CalibrationSummary, limit int32) {
	l := s.ActualLatencyMilliseconds
	switch {
	case s.Warmup:
	case l != nil && *l > int64(limit):
		found.warn(LatencyLimitExceeded, "CALIBRATE_IO reached its IOPS at %d ms, above the limit of %d ms, so no number "+
			"is within the limit. Raise maxLatencyMilliseconds.", *l, limit)
	case s.MaxIOPS == nil && c.Overall.IsOf(runfile.StepSmallReads):
		found.warn(LatencyLimitExceeded, "Even %s took %s on average, above the limit of %d ms, so no IOPS are within "+
			"the limit. Raise maxLatencyMilliseconds, or find what slows the storage.",
			level(runfile.StepSmallReads, c.Overall.Step.Users),
			human.Beyond(c.Overall.Total.Latency.MeanMicroseconds, int64(limit)*1000, human.Latency), limit)
	}
}

// checkCold compares the first run with all later ones. Raw loads have their own warm-up for that.
func checkCold(c *facts, found *findings) {
	name, unit, figures := c.runFigures()
	if len(figures) < 2 || figures[0]*1000 >= slices.Min(figures[1:])*coldShare {
		return
	}
	numbers := fmt.Sprintf("The first %s gave "+unit+" and the next "+unit+": it found cold caches.", name, figures[0],
		figures[1])
	if len(c.Calibrations) > 0 && c.Calibrations[0].Warmup {
		found.info(ColdCache, "%s It was a warm-up and does not count.", numbers)
		return
	}
	found.warn(ColdCache, "%s It counts nevertheless. Use a warm-up (workload.calibrate.warmupRuns, or "+
		"run.warmupSeconds).", numbers)
}

// runFigures returns the numbers of the runs of one step in order, with their name and unit; none if a run lacks its
// number.
func (c *facts) runFigures() (name, unit string, figures []float64) {
	switch {
	case c.Plan.Workload.Calibrate != nil:
		for _, s := range c.Calibrations {
			if s.MaxIOPS == nil {
				return "", "", nil
			}
			figures = append(figures, float64(*s.MaxIOPS))
		}
		return "calibration", "%.0f IOPS", figures
	case len(c.Searches) > 0:
		if figures = measure.RatesReached(c.Searches, 0); len(figures) < len(c.Searches) {
			return "", "", nil
		}
		return "search", "%.0f operations/s", figures
	case c.Overall.Step == nil:
		return "", "", nil
	}
	for _, s := range c.Headline {
		figures = append(figures, s.Figure()/1e6)
	}
	return "round with " + level(c.Overall.Step.Kind, c.Overall.Step.Users), "%.1f MB/s", figures
}

// checkPhases reports CPU and latencies that cover the whole call instead of one phase.
func checkPhases(c *facts, found *findings) {
	if slices.ContainsFunc(c.Calibrations, func(s measure.Calibration) bool {
		return !s.Warmup && s.MaxIOPS != nil && len(s.Phases) == 1 && s.Phases[0].Kind == runfile.StepCalibrate
	}) {
		found.info(NotCollected, "V$IOSTAT_FILE did not show where CALIBRATE_IO went from small to large "+
			"reads. So the CPU of the database and of the storage, and the latency of the storage, are means of the whole call.")
	}
}
