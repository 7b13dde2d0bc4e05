package measure

import (
	"slices"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// ClockSkewed is the offset from which a clock counts as wrong. The offset is known to about a second, and a second
// or two do not matter in a log.
const ClockSkewed = 5 * time.Second

// clockOffset returns the time to add to a client's times to compare them with those of other clients; nil = unknown.
func clockOffset(cl runfile.ClientResult) *time.Duration {
	return Duration(bench.OrZero(cl.Observed).ClockOffsetMilliseconds)
}

// clockOffsets returns the offsets of all clients, or zeros if one is unknown: clients that ran together would seem
// apart if only some offsets were applied. Offsets within their own error are also zeros, because synchronized clocks
// are better than the estimate.
func clockOffsets(parts []part) []time.Duration {
	offsets := make([]time.Duration, len(parts))
	for i, p := range parts {
		ahead := clockOffset(p.client)
		if ahead == nil {
			return make([]time.Duration, len(parts))
		}
		offsets[i] = *ahead
	}
	if slices.Max(offsets)-slices.Min(offsets) < ClockSkewed {
		clear(offsets)
	}
	return offsets
}

// together returns the share of the shortest window in which all clients ran.
func together(parts []part) float64 {
	if len(parts) < 2 {
		return 1
	}
	offsets := clockOffsets(parts)
	start, end := parts[0].rep.Start.Add(offsets[0]), parts[0].rep.End.Add(offsets[0])
	shortest := end.Sub(start)
	for i, p := range parts[1:] {
		if s := p.rep.Start.Add(offsets[i+1]); s.After(start) {
			start = s
		}
		if e := p.rep.End.Add(offsets[i+1]); e.Before(end) {
			end = e
		}
		shortest = min(shortest, p.rep.End.Sub(p.rep.Start))
	}
	return float64(max(end.Sub(start), 0)) / float64(shortest)
}
