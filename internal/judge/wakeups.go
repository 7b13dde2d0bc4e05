package judge

import (
	"fmt"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// noisyFor returns how late the clients of a level woke, if that is a large share of a bound.
func noisyFor(b runfile.LatencyBound) func(*measure.RepetitionFacts) []string {
	return func(s *measure.RepetitionFacts) []string {
		if s.WakeUps == nil || !exceeds(s.WakeUps.Of(b.Percentile), b.Microseconds, noiseOfBound) {
			return nil
		}
		late := runfile.LatencyBound{Percentile: b.Percentile, Microseconds: s.WakeUps.Of(b.Percentile)}
		return []string{fmt.Sprintf("a client woke late, with a %s, more than a fifth of the bound (%s): it is too noisy "+
			"for this bound", late, b)}
	}
}

// exceeds reports whether a latency is more than a share of another, in permille.
func exceeds(late, of int64, share float64) bool { return float64(late)*1000 > float64(of)*share }

// checkWakeUps looks for a client that wakes so late that its latencies describe the client more than the storage.
func checkWakeUps(c *facts, found *findings) {
	if noise := c.noise(); noise != "" {
		found.warn(ClientNoisy, "%s. The latency may be that of the client and not of the storage. Give the loader CPU "+
			"requests equal to its limits, in whole cores, on a node with the static CPU manager policy, and keep other work "+
			"off its machine.", noise)
	}
}

// noise describes what a client is too noisy for: a bound of a search, the expected p99, or the measured one.
func (c *facts) noise() string {
	if c.Capacity != nil {
		for i, b := range c.Bounds {
			if noise := c.noisyLevel(i, b); noise != "" {
				return noise
			}
		}
	}
	w, l := c.Overall.WakeUps, c.Overall.Total.Latency
	if w == nil {
		return ""
	}
	late := "A client woke late, with a p99 of " + human.Latency(w.P99Microseconds)
	want := bench.OrZero(c.Plan.Expect).MaxP99LatencyMicroseconds
	switch {
	case want != nil && l != nil && l.P99Microseconds > *want && exceeds(w.P99Microseconds, *want, noiseOfBound):
		return late + ", more than a fifth of the expected p99 (" + human.Latency(*want) + ")"
	case l != nil && !l.MeanOnly && w.P99Microseconds >= leastNoiseMicros &&
		exceeds(w.P99Microseconds, l.P99Microseconds, noiseOfP99):
		return late + ", more than half of the measured p99 (" + human.Latency(l.P99Microseconds) + ")"
	}
	return ""
}

// noisyLevel checks the levels that decided the capacity within a bound. Noise cannot help to keep a bound.
func (c *facts) noisyLevel(bound int, b runfile.LatencyBound) string {
	r := c.MedianSearch(bound)
	if r.Bounds[bound].StillHeld {
		return ""
	}
	for _, s := range r.Around(r.Bounds[bound].OperationsPerSecond) {
		for _, seen := range noisyFor(b)(s) {
			return fmt.Sprintf("At %d operations/s %s", s.Step.OperationsPerSecond, seen)
		}
	}
	return ""
}
