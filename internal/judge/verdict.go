package judge

import (
	"fmt"
	"slices"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/stats"
)

// outcome is the result of the comparison with the expectations.
type outcome struct {
	findings   findings
	asked      []string // each threshold, such as "at least 90 % of the wire limit"
	short      []string // what was reached instead of each that was missed
	missed     bool     // a threshold was missed
	unmeasured bool     // a threshold could not be compared
}

// expect compares every threshold of the plan with the measurement, because a user who missed two
// wants to know both.
func (c *facts) expect() outcome {
	var o outcome
	e := c.Plan.Expect
	if e == nil {
		return o
	}
	var s measure.Summary
	if c.Overall != nil {
		s = c.Overall.Summary
	}
	bytes, iops := c.Measured()
	compare(&o, "of the wire limit", atLeast, e.MinWirePercent, (*int32)(s.WirePermille), 10, human.Share[int64])
	compare(&o, "throughput", atLeast, e.MinMegabytesPerSecond, measure.Known(bytes, s.Total.BytesPerSecond), 1_000_000,
		human.Throughput[int64])
	compare(&o, "IOPS", atLeast, e.MinIOPS, measure.Known(iops, s.Total.OperationsPerSecond), 1, plain)
	var mean *int64
	if l := s.Total.Latency; l != nil {
		mean = &l.MeanMicroseconds
	}
	compare(&o, "mean latency", atMost, e.MaxMeanLatencyMicroseconds, mean, 1, human.Latency[int64])
	o.expectP99(e.MaxP99LatencyMicroseconds, s.Total.Latency)
	compare(&o, "pause", atMost, e.MaxPauseMilliseconds, s.LongestPauseMicroseconds, 1000, human.Latency[int64])
	o.expectCapacity(e.MinCapacity, c.Capacity)
	compare(&o, "variation between repetitions", atMost, e.MaxVariationPercent, c.Variation, 10, human.Share[int64])
	return o
}

// expectP99 compares with a percentile, or with the bucket that contains it. If the bound lies
// inside the bucket, the result is unknown.
func (o *outcome) expectP99(want *int64, l *stats.Latency) {
	switch {
	case want == nil:
	case l == nil || l.MeanOnly:
		compare(o, "p99 latency", atMost, want, nil, 1, human.Latency[int64])
	case l.Bucketed && l.P99Microseconds > *want && l.P99Microseconds/2 <= *want:
		o.unmeasured = true
		o.findings.warn(ExpectationNotMeasured, "Expected at most %d µs p99 latency, and the database counts it between %d "+
			"and %d µs, in powers of two, so the comparison is undecided. Use a power of two.", *want,
			l.P99Microseconds/2, l.P99Microseconds)
	default:
		compare(o, "p99 latency", atMost, want, &l.P99Microseconds, 1, human.Latency[int64])
	}
}

// expectCapacity compares the expectation with the capacity within the first bound. A capacity that
// was not reached is known to be below the lowest rate tried, or at least the highest.
func (o *outcome) expectCapacity(want *int64, c *measure.Capacity) {
	if want == nil {
		return
	}
	var got *int64
	if c != nil {
		b := c.Bounds[0]
		switch {
		case b.Reached, b.OperationsPerSecond >= *want:
			got = &b.OperationsPerSecond
		case b.OperationsPerSecond == 0 && b.High > 0 && b.High <= *want:
			got = &b.OperationsPerSecond
		}
	}
	compare(o, "operations/s of capacity", atLeast, want, got, 1, plain)
}

const (
	atLeast = "at least"
	atMost  = "at most"
)

// compare compares got with want x scale: thresholds are in the user's unit, measurements in the finest unit.
func compare[T int32 | int64](o *outcome, what, bound string, want, got *T, scale T, format func(int64) string) {
	if want == nil {
		return
	}
	wanted := format(int64(*want * scale))
	o.asked = append(o.asked, bound+" "+wanted+" "+what)
	switch {
	case got == nil:
		o.unmeasured = true
		o.findings.warn(ExpectationNotMeasured, "Expected %s %s %s, but it was not measured, so there is no verdict on "+
			"it. Declare protocol.link for the wire limit; run two repetitions or more for the variation. Databases "+
			"do not say their pauses.", bound, wanted,
			what)
	case bound == atLeast && *got < *want*scale, bound == atMost && *got > *want*scale:
		o.missed = true
		reached := human.Beyond(int64(*got), int64(*want*scale), format)
		o.short = append(o.short, fmt.Sprintf("%s instead of %s %s %s", reached, bound, wanted, what))
		o.findings.fail(ExpectationMissed, "Expected %s %s %s and got %s.", bound, wanted, what, reached)
	}
}

func plain(v int64) string { return fmt.Sprint(v) }

// verdict returns the verdict. An invalid or partial run is inconclusive. A
// suspect run passes or fails, and its validity is shown beside the verdict. More than the links can carry is no
// reason to pass: the load did not cross them, or their speed is declared wrongly.
func (c *facts) verdict(j Judgement, o outcome) bench.Verdict {
	partial := slices.ContainsFunc(j.Findings, func(f bench.Finding) bool { return f.Code == Partial })
	switch {
	case bench.OrZero(c.Plan.Expect) == bench.Expect{}:
		return bench.VerdictNotEvaluated
	case j.Validity == bench.ValidityInvalid || partial || j.Summary == nil:
		return bench.VerdictInconclusive
	case o.missed:
		return bench.VerdictFail // what was not measured cannot improve the result
	case o.unmeasured, has(j.Findings, AboveWireLimit):
		return bench.VerdictInconclusive
	default:
		return bench.VerdictPass
	}
}
