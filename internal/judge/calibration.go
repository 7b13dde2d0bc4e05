package judge

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
)

// calibration is one run of a calibrate workload: a repetition with what Oracle
// said, or the native steps of one round.
type calibration struct {
	CalibrationSummary

	round  int32
	oracle *repetition          // that called CALIBRATE_IO
	said   *runfile.Calibration // its result
	small  *repetition          // native: the level that stands for those within the latency
	least  *repetition          // native: the level of the least latency
	large  *repetition          // native: the level that gave the most bytes
	within []*repetition
}

// sameIOPS is how far below the highest IOPS a level may be and still represent it. Saturated
// storage gives about the same IOPS at every level, and only the latency grows. Which level gives
// the most is chance, and their latencies differ by factors.
const sameIOPS = 0.98

// calibrationRuns puts the repetitions of each run together, in order.
func (c *facts) calibrationRuns() []calibration {
	plan := c.Plan.Workload.Calibrate
	if plan == nil {
		return nil
	}
	var runs []calibration
	all := slices.Concat(c.warmups, c.repetitions)
	for i := range all {
		s := &all[i]
		if s.Step == nil {
			continue
		}
		at := slices.IndexFunc(runs, func(r calibration) bool { return r.Warmup == s.Step.Warmup && r.round == s.Step.Round })
		if at < 0 {
			at = len(runs)
			runs = append(runs, calibration{CalibrationSummary: CalibrationSummary{Warmup: s.Step.Warmup}, round: s.Step.Round})
		}
		runs[at].add(s, plan.MaxLatencyMilliseconds)
	}
	for i := range runs {
		runs[i].choose()
		runs[i].Phases = c.phases(runs[i])
	}
	return runs
}

func (r *calibration) add(s *repetition, maxLatencyMilliseconds int32) {
	l := s.Total.Latency
	switch {
	case s.isOf(runfile.StepCalibrate):
		r.oracle, r.said = s, nil
		for _, w := range s.databases {
			r.said = cmp.Or(r.said, w.Calibration)
		}
	case s.isOf(runfile.StepLargeReads) && (r.large == nil || s.Total.bytesPerSec > r.large.Total.bytesPerSec):
		r.large = s
	case !s.isOf(runfile.StepSmallReads) || l == nil:
	default:
		if r.least == nil || l.MeanMicroseconds < r.least.Total.Latency.MeanMicroseconds {
			r.least = s
		}
		if l.MeanMicroseconds <= int64(maxLatencyMilliseconds)*1000 {
			r.within = append(r.within, s)
		}
	}
}

// choose takes the level with the fewest reads at once of those that give the most IOPS, and the figures of
// CALIBRATE_IO.
func (r *calibration) choose() {
	most := 0.0
	for _, s := range r.within {
		most = max(most, s.Total.iopsSec)
	}
	for _, s := range r.within {
		if s.Total.iopsSec >= sameIOPS*most && (r.small == nil || s.Step.Users < r.small.Step.Users) {
			r.small = s
		}
	}
	if o := r.said; o != nil {
		r.MaxIOPS, r.MaxMegabytesPerSecond, r.ActualLatencyMilliseconds = &o.MaxIOPS, &o.MaxMegabytesPerSecond,
			&o.ActualLatencyMilliseconds
	}
	if r.small != nil {
		r.MaxIOPS = new(r.small.Total.OperationsPerSecond)
		r.ActualLatencyMilliseconds = rounded(float64(r.small.Total.Latency.MeanMicroseconds) / 1000)
	}
	if r.large != nil {
		r.MaxMegabytesPerSecond = rounded(r.large.Total.bytesPerSec / 1e6)
	}
}

// complete says that a run counts and went through both phases.
func (r calibration) complete() bool {
	return !r.Warmup && (r.said != nil || r.large != nil && r.least != nil)
}

// calibrationHeadlines returns one repetition per counted run. IOPS and latency come from small reads,
// bytes per second from large ones: the two phases are measured one after the other. CPU and storage come from
// the small reads, and so do the paths and what was counted, if each phase is a window of its own.
func (c *facts) calibrationHeadlines() []repetition {
	var out []repetition
	for _, r := range c.calibrations {
		s := cmp.Or(r.small, r.least)
		switch {
		case r.Warmup:
		case r.said != nil:
			rate := float64(r.said.MaxMegabytesPerSecond) * 1e6
			out = append(out, c.inTwoPhases(r.ofSmallReads(), float64(r.said.MaxIOPS), rate, Intervals{}))
		case r.oracle == nil && s != nil:
			rate, intervals := 0.0, s.Total.Intervals
			intervals.BytesPerSecond = nil
			if r.large != nil {
				rate, intervals.BytesPerSecond = r.large.Total.bytesPerSec, r.large.Total.Intervals.BytesPerSecond
			}
			out = append(out, c.inTwoPhases(*s, s.Total.iopsSec, rate, intervals))
		}
	}
	return out
}

func (c *facts) inTwoPhases(s repetition, iops, bytesPerSecond float64, intervals Intervals) repetition {
	read := bench.OrZero(s.Read)
	for _, d := range []*Direction{&read, &s.Total} {
		d.iopsSec, d.bytesPerSec = iops, bytesPerSecond
		d.OperationsPerSecond, d.BytesPerSecond = int64(math.Round(iops)), int64(math.Round(bytesPerSecond))
		d.Latency, d.Intervals = s.Total.Latency, intervals
	}
	s.Read, s.Write = &read, nil
	c.wireShare(&s.Summary)
	return s
}

// oracleLatency fills in latencies that only the database knows: for a calibration from
// V$IOSTAT_FILE, and for random reads without buckets from V$SYSTEM_EVENT.
func (c *facts) oracleLatency(s *repetition) {
	count, micros := int64(0), 0.0
	for _, w := range s.databases {
		n, us := c.readLatency(w, s.isOf(runfile.StepCalibrate))
		count += n
		micros += us
	}
	mean := stats.MeanLatency(count, micros)
	if mean == nil || s.Total.Latency != nil && !s.isOf(runfile.StepCalibrate) {
		return
	}
	s.Total.Latency = mean
	if s.Read != nil {
		s.Read.Latency = mean
	}
}

// readLatency returns the number of single-block reads and their total microseconds. It is
// meaningless for scans: their few single-block reads go to the dictionary.
func (c *facts) readLatency(w runfile.OracleWindow, calibration bool) (count int64, micros float64) {
	switch {
	case calibration:
		return smallReads(w)
	case !c.randomReads():
		return 0, 0
	}
	// V$SYSTEM_EVENT counts microseconds in all instances. A report rounds, and may be of one.
	if waits, us := eventOf(w, eventSequentialRead); waits > 0 {
		return waits, float64(us)
	}
	for _, row := range w.AWR {
		if row.Event == eventSequentialRead && !row.IsCoarse() {
			count += row.Waits
			micros += row.Seconds * 1e6
		}
	}
	return count, micros
}

// randomReads says that the load reads an Oracle database, or what looks like one, at random.
func (c *facts) randomReads() bool {
	return bench.OrZero(c.Plan.Workload.SLOB).Access == bench.SLOBRandomRead
}

// checkCalibration says what the number of a calibration is good for, and
// compares its runs.
func checkCalibration(c *facts, found *findings) {
	plan := c.Plan.Workload.Calibrate
	if plan == nil {
		return
	}
	what := "CALIBRATE_IO"
	if c.Plan.Database == nil {
		what = "What CALIBRATE_IO does"
	}
	megabytes := ""
	for _, w := range c.overall.databases {
		if o := w.Calibration; o != nil {
			mbps := o.MaxMegabytesPerSecond
			megabytes = fmt.Sprintf(" Oracle does not define the megabyte of max_mbps: %d are %d MB/s, or %d if it has 2^20 "+
				"bytes.", mbps, mbps, mbps*mebibyte/1e6)
		}
	}
	found.info(CalibrationOnly, "%s is not the I/O of a database, and two runs of it differ: Oracle and NetApp advise "+
		"against comparing storage with it. Use workload.slob for that.%s", what, megabytes)
	for _, w := range c.overall.databases {
		if w.DatafileBytes > 0 {
			found.info(CacheSuspected, "CALIBRATE_IO reads all datafiles: %s were read %.1f times. To measure more than "+
				"caches, make them larger (workload.calibrate.databaseSize).", human.Bytes(w.DatafileBytes),
				float64(c.everRead())/float64(w.DatafileBytes))
		}
	}
	for _, s := range c.calibrations {
		if l := s.ActualLatencyMilliseconds; l != nil && *l <= 1 && !s.Warmup && c.Plan.Database != nil {
			found.info(LatencyResolution, "CALIBRATE_IO reports latency in whole milliseconds, here %d: this is too coarse "+
				"for this storage.%s", *l, c.finerLatency())
		}
		checkLimit(c, found, s.CalibrationSummary, plan.MaxLatencyMilliseconds)
	}
}

func (c *facts) finerLatency() string {
	l := c.overall.Total.Latency
	var wrong findings
	checkServiceTime(c, &wrong)
	if l == nil || len(wrong) > 0 {
		return "" // finer, and wrong
	}
	return " V$IOSTAT_FILE says " + human.Latency(l.MeanMicroseconds) + " over all levels of load."
}

// checkLimit reports a calibration whose IOPS are not within the latency.
func checkLimit(c *facts, found *findings, s CalibrationSummary, limit int32) {
	l := s.ActualLatencyMilliseconds
	switch {
	case s.Warmup:
	case l != nil && *l > int64(limit):
		found.warn(LatencyLimitExceeded, "CALIBRATE_IO reached its IOPS at %d ms, above the limit of %d ms, so no number "+
			"is within the limit. Raise maxLatencyMilliseconds.", *l, limit)
	case s.MaxIOPS == nil && c.overall.isOf(runfile.StepSmallReads):
		found.warn(LatencyLimitExceeded, "Even %s took %s on average, above the limit of %d ms, so no IOPS are within "+
			"the limit. Raise maxLatencyMilliseconds, or find what slows the storage.",
			level(runfile.StepSmallReads, c.overall.Step.Users),
			human.Beyond(c.overall.Total.Latency.MeanMicroseconds, int64(limit)*1000, human.Latency), limit)
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
	if len(c.calibrations) > 0 && c.calibrations[0].Warmup {
		found.info(ColdCache, "%s It was a warm-up and does not count.", numbers)
		return
	}
	found.warn(ColdCache, "%s It counts nevertheless. Use a warm-up (workload.calibrate.warmupRuns, or "+
		"run.warmupSeconds).", numbers)
}

// runFigures are the numbers of the runs of one step in order, and how to write them; none where a run has none.
func (c *facts) runFigures() (name, unit string, figures []float64) {
	switch {
	case c.Plan.Workload.Calibrate != nil:
		for _, s := range c.calibrations {
			if s.MaxIOPS == nil {
				return "", "", nil
			}
			figures = append(figures, float64(*s.MaxIOPS))
		}
		return "calibration", "%.0f IOPS", figures
	case len(c.searches) > 0:
		if figures = rates(c.searches, 0); len(figures) < len(c.searches) {
			return "", "", nil
		}
		return "search", "%.0f operations/s", figures
	case c.overall.Step == nil:
		return "", "", nil
	}
	for _, s := range c.headline {
		figures = append(figures, s.figure()/1e6)
	}
	return "round with " + level(c.overall.Step.Kind, c.overall.Step.Users), "%.1f MB/s", figures
}
