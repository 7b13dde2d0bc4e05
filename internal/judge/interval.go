package judge

import (
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/measure"
)

// checkStalls looks for a system that stops now and then. The levels of a search for capacity overload
// it on purpose.
func checkStalls(c *facts, found *findings) {
	if c.Plan.Workload.Capacity() != nil {
		return
	}
	for _, of := range []struct {
		name string
		*measure.Direction
	}{{"reads", c.Overall.Read}, {"writes", c.Overall.Write}} {
		if of.Direction == nil {
			continue
		}
		// On a full line, the slow operations of a closed loop waited for the others, which used the line.
		if c.Overall.OpenLoopP99Microseconds != nil && measure.AtLeastPermille(of.WirePermille, wireSaturated) {
			continue
		}
		median, slow, share := of.SlowTime(leastStallMicros)
		if !measure.AtLeastPermille(share, slowTimeShare) {
			continue // or unknown, which NotCollected reports
		}
		found.warn(Stalls, "%s of the time of all %s belongs to those that took more than %s, where the median is %s: "+
			"something stops now and then. Without these stalls the numbers are better by about this share. Look at the "+
			"longest operations over time in the report, and for pauses of the server, of the network, or of this client.",
			permilleText(share), of.name, human.Latency(slow), human.Latency(median))
	}
}

// checkOmission looks for stalls that the percentiles of a closed loop hide: few operations are slow, but all workers
// wait.
func checkOmission(c *facts, found *findings) {
	s, l := c.Overall, c.Overall.Total.Latency
	open := s.OpenLoopP99Microseconds
	if open == nil || l == nil || *s.StalledPermille < stalledShare ||
		float64(*open)*1000 < float64(l.P99Microseconds)*omissionFactor {
		return
	}
	found.info(CoordinatedOmission, "For %s of the time the workers waited for operations that took more than %s, ten "+
		"times the 99th percentile. Workers that wait start no other operations, so that p99 is only %s; under a load of "+
		"the same mean rate that does not wait, p99 would be about %s. Set operationsPerSecond to measure it.",
		permilleText(s.StalledPermille), human.Latency(10*l.P99Microseconds), human.Latency(l.P99Microseconds),
		human.Latency(*open))
}
