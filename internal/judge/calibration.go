package judge

import (
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
	warmup bool
	round  int32
	oracle *Summary // of the repetition that called CALIBRATE_IO
	small  *Summary // native: the level that stands for those within the latency
	least  *Summary // native: the level of the least latency
	large  *Summary // native: the level that gave the most bytes
	within []*Summary
}

// sameIOPS is how far below the highest IOPS a level may be and still represent it. Saturated
// storage gives about the same IOPS at every level, and only the latency grows. Which level gives
// the most is chance, and their latencies differ by factors.
const sameIOPS = 0.98

// calibrationRuns puts the repetitions of each run together, in order.
func (c *facts) calibrationRuns() []calibration {
	plan := c.result.Plan.Workload.Calibrate
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
		at := slices.IndexFunc(runs, func(r calibration) bool { return r.warmup == s.Step.Warmup && r.round == s.Step.Round })
		if at < 0 {
			at = len(runs)
			runs = append(runs, calibration{warmup: s.Step.Warmup, round: s.Step.Round})
		}
		runs[at].add(s, plan.MaxLatencyMilliseconds)
	}
	for i := range runs {
		runs[i].choose()
	}
	return runs
}

// choose takes the level with the fewest reads at once of those that give the most IOPS.
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
}

func (r *calibration) add(s *Summary, maxLatencyMilliseconds int32) {
	l := s.Total.Latency
	switch {
	case s.isOf(runfile.StepCalibrate):
		r.oracle = s
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

// calibrate takes the figures of CALIBRATE_IO for each run.
func (c *facts) calibrate() []CalibrationSummary {
	runs := c.calibrationRuns()
	out := make([]CalibrationSummary, 0, len(runs))
	for _, r := range runs {
		s := CalibrationSummary{Warmup: r.warmup}
		if r.oracle != nil {
			if o := c.oracleCalibration(*r.oracle); o != nil {
				s.MaxIOPS, s.MaxMegabytesPerSecond, s.ActualLatencyMilliseconds = &o.MaxIOPS, &o.MaxMegabytesPerSecond,
					&o.ActualLatencyMilliseconds
			}
		}
		if r.small != nil {
			s.MaxIOPS = new(r.small.Total.OperationsPerSecond)
			s.ActualLatencyMilliseconds = rounded(float64(r.small.Total.Latency.MeanMicroseconds) / 1000)
		}
		if r.large != nil {
			s.MaxMegabytesPerSecond = rounded(r.large.Total.bytesPerSec / 1e6)
		}
		out = append(out, s)
	}
	return out
}

// oracleCalibration returns the result of CALIBRATE_IO in a repetition.
func (c *facts) oracleCalibration(s Summary) *runfile.Calibration {
	for _, p := range c.parts(s.Repetition) {
		if p.rep.Oracle != nil && p.rep.Oracle.Calibration != nil {
			return p.rep.Oracle.Calibration
		}
	}
	return nil
}

// calibrationSummaries returns one summary per counted run. IOPS and latency come from small reads,
// bytes per second from large ones: the two phases are measured one after the other. Everything
// else (operations and bytes counted, paths, CPU, storage) comes from the small reads.
func (c *facts) calibrationSummaries() []Summary {
	var out []Summary
	for _, r := range c.calibrationRuns() {
		if r.warmup {
			continue
		}
		switch {
		case r.oracle != nil:
			if o := c.oracleCalibration(*r.oracle); o != nil {
				out = append(out, c.inTwoPhases(*r.oracle, float64(o.MaxIOPS), float64(o.MaxMegabytesPerSecond)*1e6, Intervals{}))
			}
		case r.small != nil || r.least != nil:
			s := r.small
			if s == nil {
				s = r.least
			}
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

func (c *facts) inTwoPhases(s Summary, iops, bytesPerSecond float64, intervals Intervals) Summary {
	read := Direction{}
	if s.Read != nil {
		read = *s.Read
	}
	for _, d := range []*Direction{&read, &s.Total} {
		d.iopsSec, d.bytesPerSec = iops, bytesPerSecond
		d.OperationsPerSecond, d.BytesPerSecond = int64(math.Round(iops)), int64(math.Round(bytesPerSecond))
		d.Latency, d.Intervals = s.Total.Latency, intervals
	}
	s.Read, s.Write = &read, nil
	c.wireShare(&s)
	return s
}

// oracleLatency fills in latencies that only the database knows: for a calibration from
// V$IOSTAT_FILE, and for random reads without buckets from V$SYSTEM_EVENT. If the user's own SLOB
// kit made an AWR report, the mean is that of the report, because people compare with it.
func (c *facts) oracleLatency(s *Summary, parts []clientRep) {
	count, micros, reported := int64(0), 0.0, false
	for _, p := range parts {
		if p.rep.Oracle == nil {
			continue
		}
		n, us, awr := c.readLatency(*p.rep.Oracle, s.isOf(runfile.StepCalibrate))
		count += n
		micros += us
		reported = reported || awr
	}
	mean := stats.MeanLatency(count, micros)
	switch l := s.Total.Latency; {
	case mean == nil:
		return
	case l == nil, s.isOf(runfile.StepCalibrate):
	case reported:
		whole := *l
		whole.MeanMicroseconds = mean.MeanMicroseconds
		mean = &whole
	default:
		return
	}
	s.Total.Latency = mean
	if s.Read != nil {
		s.Read.Latency = mean
	}
}

// readLatency returns the number of single-block reads and their total microseconds. It is
// meaningless for scans: their few single-block reads go to the dictionary.
func (c *facts) readLatency(w runfile.OracleWindow, calibration bool) (count int64, micros float64, awr bool) {
	slob := c.result.Plan.Workload.SLOB
	switch {
	case calibration:
		count, micros = smallReads(w)
		return count, micros, false
	case slob == nil || slob.Access != bench.SLOBRandomRead:
		return 0, 0, false
	}
	// V$SYSTEM_EVENT counts microseconds in all instances. A report rounds, and may be of one.
	if waits, us := eventOf(w, eventSequentialRead); waits > 0 {
		return waits, float64(us), false
	}
	for _, row := range w.AWR {
		if row.Event == eventSequentialRead {
			count += row.Waits
			micros += row.Seconds * 1e6
		}
	}
	if micros == 0 {
		return 0, 0, false // too few to tell
	}
	return count, micros, true
}

// checkCalibration says what the number of a calibration is good for, and
// compares its runs.
func checkCalibration(c *facts, found *findings) {
	plan := c.result.Plan.Workload.Calibrate
	if plan == nil {
		return
	}
	what := "CALIBRATE_IO"
	if c.result.Plan.Database == nil {
		what = "What CALIBRATE_IO does"
	}
	megabytes := ""
	if o := c.oracleCalibration(*c.overall); o != nil {
		mbps := o.MaxMegabytesPerSecond
		megabytes = fmt.Sprintf(" Oracle does not define the megabyte of max_mbps: %d are %d MB/s, or %d if it has 2^20 "+
			"bytes.", mbps, mbps, mbps*mebibyte/1e6)
	}
	found.add(CalibrationOnly, bench.SeverityInfo,
		"%s is not the I/O of a database, and two runs of it differ: Oracle and NetApp advise against comparing "+
			"storage with it. Use workload.slob for that.%s", what, megabytes)
	for _, w := range databaseWindows(c.result, c.overall.Repetition) {
		if w.DatafileBytes > 0 {
			found.addOnce(CacheSuspected, bench.SeverityInfo,
				"CALIBRATE_IO reads all datafiles: %s were read %.1f times. To measure more than caches, make them larger "+
					"(workload.calibrate.databaseSize).", human.Bytes(w.DatafileBytes),
				float64(c.everRead())/float64(w.DatafileBytes))
		}
	}
	for _, s := range c.calibrations {
		if l := s.ActualLatencyMilliseconds; l != nil && *l <= 1 && !s.Warmup && c.result.Plan.Database != nil {
			found.addOnce(LatencyResolution, bench.SeverityInfo,
				"CALIBRATE_IO reports latency in whole milliseconds, here %d: this is too coarse for this storage.%s",
				*l, c.finerLatency())
		}
		checkLimit(c, found, s, plan.MaxLatencyMilliseconds)
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
		found.addOnce(LatencyLimitExceeded, bench.SeverityWarning,
			"CALIBRATE_IO reached its IOPS at %d ms, above the limit of %d ms, so no number is within the limit. Raise "+
				"maxLatencyMilliseconds.", *l, limit)
	case s.MaxIOPS == nil && c.overall.isOf(runfile.StepSmallReads):
		found.addOnce(LatencyLimitExceeded, bench.SeverityWarning,
			"Even %s took %s on average, above the limit of %d ms, so no IOPS are within the limit. Raise "+
				"maxLatencyMilliseconds, or find what slows the storage.",
			level(runfile.StepSmallReads, c.overall.Step.Users), human.Latency(c.overall.Total.Latency.MeanMicroseconds), limit)
	}
}

// checkCold compares the first run with all later ones. Raw loads have their own warm-up for that.
func checkCold(c *facts, found *findings) {
	name, figures, text := c.runFigures()
	if len(figures) < 2 {
		return
	}
	for _, later := range figures[1:] {
		if figures[0]*1000 >= later*coldShare {
			return
		}
	}
	numbers := fmt.Sprintf("The first %s gave %s and the next %s: it found cold caches.", name, text(figures[0]),
		text(figures[1]))
	if len(c.calibrations) > 0 && c.calibrations[0].Warmup {
		found.add(ColdCache, bench.SeverityInfo, "%s It was a warm-up and does not count.", numbers)
		return
	}
	found.add(ColdCache, bench.SeverityWarning,
		"%s It counts nevertheless. Use a warm-up (workload.calibrate.warmupRuns, or "+
			"run.warmupSeconds).", numbers)
}

// runFigures are the numbers of the runs of one step in order, and how to write
// them.
func (c *facts) runFigures() (name string, figures []float64, text func(float64) string) {
	if c.result.Plan.Workload.Calibrate != nil {
		for _, s := range c.calibrations {
			if s.MaxIOPS == nil {
				return "", nil, nil
			}
			figures = append(figures, float64(*s.MaxIOPS))
		}
		return "calibration", figures, func(v float64) string { return fmt.Sprintf("%.0f IOPS", v) }
	}
	if len(c.searches) > 0 {
		figures = rates(c.searches, 0)
		if len(figures) < len(c.searches) {
			return "", nil, nil
		}
		return "search", figures, func(v float64) string { return fmt.Sprintf("%.0f operations/s", v) }
	}
	if c.overall.Step == nil {
		return "", nil, nil
	}
	for _, s := range c.headline {
		figures = append(figures, s.figure())
	}
	return "round with " + level(c.overall.Step.Kind,
		c.overall.Step.Users), figures, human.Throughput[float64]
}
