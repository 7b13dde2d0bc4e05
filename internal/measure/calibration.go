package measure

import (
	"cmp"
	"math"
	"slices"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
)

// Calibration holds the facts of one run of a calibrate workload: a
// CALIBRATE_IO repetition with Oracle's result, or the native steps of one
// round.
type Calibration struct {
	CalibrationSummary

	round  int32
	oracle *RepetitionFacts     // the repetition that called CALIBRATE_IO
	said   *runfile.Calibration // its result
	small  *RepetitionFacts     // native: the level that represents those within the latency
	least  *RepetitionFacts     // native: the level with the lowest latency
	large  *RepetitionFacts     // native: the level with the highest throughput
	within []*RepetitionFacts
}

// sameIOPS bounds how far the IOPS of the representative level may be below the highest. Saturated storage gives
// about the same IOPS at every level, and only the latency grows. Chance decides which level gives the most, and
// their latencies differ by factors.
const sameIOPS = 0.98

// calibrationRuns groups the repetitions of each run, in order.
func (c *Facts) calibrationRuns() []Calibration {
	plan := c.Plan.Workload.Calibrate
	if plan == nil {
		return nil
	}
	var runs []Calibration
	all := slices.Concat(c.warmups, c.Repetitions)
	for i := range all {
		s := &all[i]
		if s.Step == nil {
			continue
		}
		at := slices.IndexFunc(runs, func(r Calibration) bool { return r.Warmup == s.Step.Warmup && r.round == s.Step.Round })
		if at < 0 {
			at = len(runs)
			runs = append(runs, Calibration{CalibrationSummary: CalibrationSummary{Warmup: s.Step.Warmup}, round: s.Step.Round})
		}
		runs[at].add(s, plan.MaxLatencyMilliseconds)
	}
	for i := range runs {
		runs[i].choose()
		runs[i].Phases = c.phases(runs[i])
	}
	return runs
}

func (r *Calibration) add(s *RepetitionFacts, maxLatencyMilliseconds int32) {
	l := s.Total.Latency
	switch {
	case s.IsOf(runfile.StepCalibrate):
		r.oracle, r.said = s, nil
		for _, w := range s.Databases {
			r.said = cmp.Or(r.said, w.Calibration)
		}
	case s.IsOf(runfile.StepLargeReads) && (r.large == nil || s.Total.ByteRate > r.large.Total.ByteRate):
		r.large = s
	case !s.IsOf(runfile.StepSmallReads) || l == nil:
	default:
		if r.least == nil || l.MeanMicroseconds < r.least.Total.Latency.MeanMicroseconds {
			r.least = s
		}
		if l.MeanMicroseconds <= int64(maxLatencyMilliseconds)*1000 {
			r.within = append(r.within, s)
		}
	}
}

// choose selects, of the levels that give the most IOPS, the one with the fewest outstanding reads. It also copies
// the results of CALIBRATE_IO.
func (r *Calibration) choose() {
	most := 0.0
	for _, s := range r.within {
		most = max(most, s.Total.OperationRate)
	}
	for _, s := range r.within {
		if s.Total.OperationRate >= sameIOPS*most && (r.small == nil || s.Step.Users < r.small.Step.Users) {
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
		r.MaxMegabytesPerSecond = rounded(r.large.Total.ByteRate / 1e6)
	}
}

// Complete reports whether a run counts and measured both phases.
func (r Calibration) Complete() bool {
	return !r.Warmup && (r.said != nil || r.large != nil && r.least != nil)
}

// calibrationHeadlines returns one repetition per counted run. IOPS and latency come from small reads, bytes per
// second from large ones: the two phases are measured one after the other. CPU and storage come from the small reads.
// Paths and counters also come from them if each phase has its own window.
func (c *Facts) calibrationHeadlines() []RepetitionFacts {
	var out []RepetitionFacts
	for _, r := range c.Calibrations {
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
				rate, intervals.BytesPerSecond = r.large.Total.ByteRate, r.large.Total.Intervals.BytesPerSecond
			}
			out = append(out, c.inTwoPhases(*s, s.Total.OperationRate, rate, intervals))
		}
	}
	return out
}

func (c *Facts) inTwoPhases(s RepetitionFacts, iops, bytesPerSecond float64, intervals Intervals) RepetitionFacts {
	read := bench.OrZero(s.Read)
	for _, d := range []*Direction{&read, &s.Total} {
		d.OperationRate, d.ByteRate = iops, bytesPerSecond
		d.OperationsPerSecond, d.BytesPerSecond = int64(math.Round(iops)), int64(math.Round(bytesPerSecond))
		d.Latency, d.Intervals = s.Total.Latency, intervals
	}
	s.Read, s.Write = &read, nil
	c.wireShare(&s.Summary)
	return s
}

// oracleLatency fills in latencies that only the database knows: for a calibration from
// V$IOSTAT_FILE, and for random reads without buckets from V$SYSTEM_EVENT.
func (c *Facts) oracleLatency(s *RepetitionFacts) {
	count, micros := int64(0), 0.0
	for _, w := range s.Databases {
		n, us := c.readLatency(w, s.IsOf(runfile.StepCalibrate))
		count += n
		micros += us
	}
	mean := stats.MeanLatency(count, micros)
	if mean == nil || s.Total.Latency != nil && !s.IsOf(runfile.StepCalibrate) {
		return
	}
	s.Total.Latency = mean
	if s.Read != nil {
		s.Read.Latency = mean
	}
}

// readLatency returns the number of single-block reads and their total microseconds. It is
// meaningless for scans: their few single-block reads go to the dictionary.
func (c *Facts) readLatency(w runfile.OracleWindow, calibration bool) (count int64, micros float64) {
	switch {
	case calibration:
		return SmallReads(w)
	case !c.RandomReads():
		return 0, 0
	}
	// V$SYSTEM_EVENT counts microseconds in all instances. A report rounds, and may be of one.
	if waits, us := EventOf(w, EventSequentialRead); waits > 0 {
		return waits, float64(us)
	}
	for _, row := range w.AWR {
		if row.Event == EventSequentialRead && !row.IsCoarse() {
			count += row.Waits
			micros += row.Seconds * 1e6
		}
	}
	return count, micros
}

// RandomReads reports whether the load makes random reads in an Oracle database, or in files with the layout of one.
func (c *Facts) RandomReads() bool {
	return bench.OrZero(c.Plan.Workload.SLOB).Access == bench.SLOBRandomRead
}

// Measured reports which of the two rates were measured. In a calibration one may be missing,
// because they come from two phases.
func (c *Facts) Measured() (bytes, iops bool) {
	if c.Overall == nil || c.Plan.Workload.Calibrate == nil {
		return c.Overall != nil, c.Overall != nil
	}
	return c.Overall.Total.ByteRate > 0, slices.ContainsFunc(c.Calibrations, func(r Calibration) bool {
		return !r.Warmup && (r.small != nil || r.oracle != nil)
	})
}
