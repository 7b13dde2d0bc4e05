package judge

import (
	"fmt"
	"slices"

	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// withLimits returns the capacity with its limits; nil for other loads.
func (c *facts) withLimits() *measure.Capacity {
	if c.Capacity == nil {
		return nil
	}
	out := *c.Capacity
	out.Bounds = slices.Clone(out.Bounds)
	for i, b := range c.Bounds {
		if r := c.MedianSearch(i); r.IsLimited(i) {
			out.Bounds[i].LimitedBy, out.Bounds[i].LimitReason = c.limit(r, b, r.Bounds[i].OperationsPerSecond)
		}
	}
	return &out
}

// limit returns the limit of the load at the capacity of a round within a bound.
func (c *facts) limit(r measure.Search, b runfile.LatencyBound, rate int64) (by, reason string) {
	levels := r.Around(rate)
	for _, l := range []struct {
		name string
		seen func(*measure.RepetitionFacts) []string
	}{
		{measure.LimitWire, fullWire},
		{measure.LimitClientCPU, func(s *measure.RepetitionFacts) []string { return c.busyClient(s.ClientCPU) }},
		{measure.LimitStorageCPU, busyStorage},
		{measure.LimitQueue, func(s *measure.RepetitionFacts) []string { return c.fullQueue(r, s) }},
		{measure.LimitClient, noisyFor(b)},
	} {
		for _, s := range levels {
			if seen := l.seen(s); len(seen) > 0 {
				return l.name, fmt.Sprintf("At %d operations/s %s.", s.Step.OperationsPerSecond, listed(seen))
			}
		}
	}
	return measure.LimitStorage, fmt.Sprintf("At %d operations/s %s.", levels[0].Step.OperationsPerSecond, c.engine.unused)
}

func fullWire(s *measure.RepetitionFacts) []string {
	if !measure.AtLeastPermille(s.WirePermille, wireSaturated) {
		return nil
	}
	return []string{"the load was " + permilleText(s.WirePermille) + " of the wire limit"}
}

func busyStorage(s *measure.RepetitionFacts) []string {
	var seen []string
	for _, n := range s.StorageNodes {
		if bindsLoad(s.StorageNodes, n) {
			seen = append(seen, "the CPU of storage node "+n.Name+" was "+permilleText(n.CPUPermille)+" busy")
		}
	}
	return seen
}

// fullQueue reports that operations waited for a free I/O while the storage was as fast as at the lowest rate. By
// Little's law, the time of an I/O from its start is the number of outstanding I/Os divided by the rate, when that
// number is at its maximum.
func (c *facts) fullQueue(r measure.Search, s *measure.RepetitionFacts) []string {
	waiting, ops := s.Late+s.Dropped, s.Total.Ops+s.Dropped
	lowest := r.At(0)
	ios, product := c.MostOutstanding(s.Clients)
	if l := lowest.Total.Latency; l == nil || s.Total.OperationRate <= 0 || ios == 0 || waiting*1000 <= ops*lateShare {
		return nil
	}
	idle := lowest.Total.Latency.MeanMicroseconds
	took := float64(ios) * 1e6 / s.Total.OperationRate
	if took*1000 > float64(max(idle, 1))*queueLatency {
		return nil
	}
	return []string{fmt.Sprintf("%d of %d operations waited for one of the %d I/Os that may be outstanding "+
		"(%s), while each took %s, about as long as at %d operations/s", waiting, ops, ios, product, human.Latency(took),
		lowest.Step.OperationsPerSecond)}
}

// checkCapacity reports a search that did not find the capacity, or not exactly.
func checkCapacity(c *facts, found *findings) {
	if c.Capacity == nil {
		return
	}
	for _, b := range c.Capacity.Bounds {
		c.checkBound(b, found)
	}
	if low, high, changed := c.Contradiction(); changed {
		found.warn(NotSteady, "The storage did not keep %s at %d operations/s and kept it at %d: it changed while the "+
			"search was under way. Run again when it is quiet.", c.Bounds[0], low, high)
	}
}

func (c *facts) checkBound(b measure.BoundCapacity, found *findings) {
	name := b.Bound()
	switch {
	case b.Reached && uncertain(b):
		found.warn(CapacityUncertain, "The capacity within %s is %d operations/s, %s: this is too wide to compare.%s "+
			"Repeat the search (run.repetitions), let its levels be longer (run.durationSeconds), and look for others on "+
			"the storage.", name, b.OperationsPerSecond, intervalWords(b), endedWords(b))
	case b.Reached:
	case b.OperationsPerSecond == 0 && b.High == 0:
		found.warn(CapacityNotReached, "No rate that was tried surely keeps %s, and none surely breaks it: there were "+
			"too few operations to tell. Let the levels be longer (run.durationSeconds), or use a percentile that fewer "+
			"operations show.", name)
	case b.OperationsPerSecond == 0:
		found.warn(CapacityNotReached, "No rate that was tried keeps %s: the lowest was %d operations/s. Allow more "+
			"latency, or find what slows the storage when it is almost idle.", name, c.Capacity.Curve[0].Offered)
	default:
		found.warn(CapacityNotReached, "The highest rate that was tried, %d operations/s, keeps %s: the capacity is not "+
			"below it, and may be above.%s Use more clients, or a bound of less latency.", b.OperationsPerSecond, name,
			endedWords(b))
	}
}

// uncertain reports that the search did not close in on the capacity, or that the interval is wide or open.
func uncertain(b measure.BoundCapacity) bool {
	wide := max(intervalWide*float64(b.OperationsPerSecond), leastWide)
	return b.Open || b.Low == 0 || b.High == 0 || float64(b.High-b.Low) > wide
}

func intervalWords(b measure.BoundCapacity) string {
	switch {
	case b.Low == 0 && b.High == 0:
		return "and no rate is sure on either side of it"
	case b.High == 0:
		return fmt.Sprintf("surely %d or more, and no rate surely breaks the bound", b.Low)
	case b.Low == 0:
		return fmt.Sprintf("surely less than %d, and no rate surely keeps the bound", b.High)
	default:
		return fmt.Sprintf("between %d and %d (%.0f %% of it)", b.Low, b.High,
			float64(b.High-b.Low)/float64(b.OperationsPerSecond)*100)
	}
}

func endedWords(b measure.BoundCapacity) string {
	if !b.LastLevel {
		return ""
	}
	return fmt.Sprintf(" The search ended after %d levels, as many as there may be.", runfile.MaxCapacityLevels)
}

// limitedBy returns the reason if the limit applies to the capacity within the first bound. The level above the
// capacity shows the limit; the summary describes the level at it.
func (c *facts) limitedBy(limit string) string {
	if c.limited == nil || c.limited.Bounds[0].LimitedBy != limit {
		return ""
	}
	return c.limited.Bounds[0].LimitReason
}
