package judge

import (
	"fmt"
	"slices"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// clockSkewed is the offset from which a clock is wrong. The offset is known to about a second, and
// a second or two do not matter in a log.
const clockSkewed = 5 * time.Second

// clockOffset is the time to add to a client's times to compare them with those of others; nil = not known.
func clockOffset(cl runfile.ClientResult) *time.Duration {
	return duration(bench.OrZero(cl.Observed).ClockOffsetMilliseconds)
}

func duration(milliseconds *int64) *time.Duration {
	if milliseconds == nil {
		return nil
	}
	return new(time.Duration(*milliseconds) * time.Millisecond)
}

// clockOffsets returns the offsets of all clients, or zeros: with only some of them, clients that
// ran together would seem apart. Offsets within their own error are also zeros, because
// synchronized clocks are better than the estimate.
func clockOffsets(parts []clientRep) []time.Duration {
	offsets := make([]time.Duration, len(parts))
	for i, p := range parts {
		ahead := clockOffset(p.client)
		if ahead == nil {
			return make([]time.Duration, len(parts))
		}
		offsets[i] = *ahead
	}
	if slices.Max(offsets)-slices.Min(offsets) < clockSkewed {
		clear(offsets)
	}
	return offsets
}

// checkClocks names the clients whose clocks differ from the API server's, and an array whose clock
// differs from that of the machine that surveyed it. An array
// divides its counts by its own seconds, so only its times are wrong.
func checkClocks(c *facts, found *findings) {
	skew := func(offset *time.Duration, whose, others, why string) {
		if offset == nil || offset.Abs() < clockSkewed {
			return
		}
		which := "ahead of"
		if *offset < 0 {
			which = "behind"
		}
		found.warn(ClockSkew, "%s is %.0f s %s that of %s. The numbers are valid, because %s. Set its clock (NTP).", whose,
			offset.Abs().Seconds(), which, others, why)
	}
	skew(duration(c.survey.ClockOffsetMilliseconds), "The clock of the array", "the machine that surveyed it",
		"each rate uses one clock only, but the times in the logs of the array do not match those of the clients")
	for _, cl := range c.Clients {
		if offset := clockOffset(cl); offset != nil { // of the API server
			skew(new(-*offset), fmt.Sprintf("Client %d: the clock of %s", cl.Index, nodeOf(cl)), "the API server",
				"clients start by a signal, but the times of its samples do not match the logs of the storage")
		}
	}
}

// checkTogether looks for clients that did not run at the same time: their rates must not be added.
// Clients start a level of a search up to a second apart, which is too much for a short level. The
// worst of the longer levels represents them all.
func checkTogether(c *facts, found *findings) {
	report := func(s repetition) {
		found.warn(ClientsNotTogether, "In repetition %s the clients ran together for only %.0f %% of the time, so their "+
			"sum is too high. Check the clocks of their machines.", s.name(), s.together*100)
	}
	var worst *repetition
	for _, s := range c.repetitions {
		switch {
		case s.together*1000 >= overlapGood:
		case !s.isOf(runfile.StepRate):
			report(s)
		case s.DurationMilliseconds >= decidedSeconds*1000 && (worst == nil || s.together < worst.together):
			worst = &s
		}
	}
	if worst != nil {
		report(*worst)
	}
}

// together is the share of the shortest window in which all clients ran.
func together(parts []clientRep) float64 {
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
