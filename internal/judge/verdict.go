package judge

import (
	"fmt"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/stats"
)

// outcome is the result of the comparison with the expectations.
type outcome struct {
	findings   findings
	missed     bool // a threshold was missed
	unmeasured bool // a threshold could not be compared
}

// expect compares every threshold of the plan with the measurement, because a user who missed two
// wants to know both.
func expect(c *facts, j *Judgement) outcome {
	var o outcome
	e := c.result.Plan.Expect
	if e == nil {
		return o
	}
	s := j.Summary
	if s == nil {
		s = &Summary{}
	}
	bytes, iops := c.measured(j.Summary)
	atLeast(&o, "of the wire limit", e.MinWirePercent, s.WirePermille, 10, human.Share[int64])
	atLeast(&o, "throughput", e.MinMegabytesPerSecond, known(bytes, s.Total.BytesPerSecond), 1_000_000,
		human.Throughput[int64])
	atLeast(&o, "IOPS", e.MinIOPS, known(iops, s.Total.OperationsPerSecond), 1, plain)
	var mean *int64
	if l := s.Total.Latency; l != nil {
		mean = &l.MeanMicroseconds
	}
	atMost(&o, "mean latency", e.MaxMeanLatencyMicroseconds, mean, 1, human.Latency[int64])
	o.expectP99(e.MaxP99LatencyMicroseconds, s.Total.Latency)
	o.expectCapacity(e.MinCapacity, c.capacity)
	atMost(&o, "variation between repetitions", e.MaxVariationPercent, j.VariationPermille, 10, human.Share[int64])
	return o
}

// measured reports which of the two rates were measured. In a calibration one may be missing,
// because they come from two phases.
func (c *facts) measured(s *Summary) (bytes, iops bool) {
	switch {
	case s == nil:
		return false, false
	case c.result.Plan.Workload.Calibrate == nil:
		return true, true
	}
	within := false
	for _, r := range c.calibrationRuns() {
		within = within || !r.warmup && (r.small != nil || r.oracle != nil)
	}
	return s.Total.bytesPerSec > 0, within
}

// expectP99 compares with a percentile, or with the bucket that contains it. If the bound lies
// inside the bucket, the result is unknown.
func (o *outcome) expectP99(want *int64, l *stats.Latency) {
	switch {
	case want == nil:
	case l == nil || l.MeanOnly:
		atMost(o, "p99 latency", want, nil, 1, human.Latency[int64])
	case l.Bucketed && l.P99Microseconds > *want && l.P99Microseconds/2 <= *want:
		o.unmeasured = true
		o.findings.add(ExpectationNotMeasured, bench.SeverityWarning,
			"Expected at most %s p99 latency, and the database counts it between %d and %d µs, in powers of two, so the "+
				"comparison is undecided. Use a power of two.",
			human.Latency(*want), l.P99Microseconds/2, l.P99Microseconds)
	default:
		atMost(o, "p99 latency", want, &l.P99Microseconds, 1, human.Latency[int64])
	}
}

// expectCapacity compares the expectation with the capacity within the first bound. A capacity that
// was not reached is known to be below the lowest rate tried, or at least the highest.
func (o *outcome) expectCapacity(want *int64, c *Capacity) {
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
	atLeast(o, "capacity (operations/s)", want, got, 1, plain)
}

func known(ok bool, v int64) *int64 {
	if !ok {
		return nil
	}
	return &v
}

type integer interface{ int32 | int64 }

// atLeast and atMost compare got with want x scale: thresholds are in the unit
// that people write, measurements in the finest one.
func atLeast[T integer](o *outcome, what string, want, got *T, scale T, format func(int64) string) {
	if want != nil {
		o.compare(what, "at least", got == nil, got != nil && *got >= *want*scale, format(int64(*want*scale)),
			formatted(got, format))
	}
}

func atMost[T integer](o *outcome, what string, want, got *T, scale T, format func(int64) string) {
	if want != nil {
		o.compare(what, "at most", got == nil, got != nil && *got <= *want*scale, format(int64(*want*scale)),
			formatted(got, format))
	}
}

func formatted[T integer](v *T, format func(int64) string) string {
	if v == nil {
		return ""
	}
	return format(int64(*v))
}

func (o *outcome) compare(what, bound string, unknown, ok bool, want, got string) {
	switch {
	case unknown:
		o.unmeasured = true
		o.findings.add(ExpectationNotMeasured, bench.SeverityWarning,
			"Expected %s %s %s, but it was not measured, so there is no verdict on it. Declare protocol.link for the wire "+
				"limit; run two repetitions or more for the variation.", bound, want, what)
	case !ok:
		if o.missed = true; got == want { // what differs has been rounded away
			got = map[string]string{"at least": "a little less", "at most": "a little more"}[bound]
		}
		o.findings.add(ExpectationMissed, bench.SeverityError, "Expected %s %s %s and got %s.", bound, want, what, got)
	}
}

func plain(v int64) string { return fmt.Sprint(v) }

// verdict decides. An invalid or partial run decides nothing, in either
// direction; a suspect one does, and its validity stands beside it.
func verdict(c *facts, j Judgement, o outcome) bench.Verdict {
	partial := false
	for _, f := range j.Findings {
		partial = partial || f.Code == Partial
	}
	switch {
	case !asked(c.result.Plan.Expect):
		return bench.VerdictNotEvaluated
	case j.Validity == bench.ValidityInvalid || partial || j.Summary == nil:
		return bench.VerdictInconclusive
	case o.missed:
		return bench.VerdictFail // what was not measured cannot make it better
	case o.unmeasured:
		return bench.VerdictInconclusive
	default:
		return bench.VerdictPass
	}
}

func asked(e *bench.Expect) bool { return e != nil && *e != (bench.Expect{}) }
