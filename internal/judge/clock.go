package judge

import (
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// clockSkewed is the offset from which a clock is wrong. The offset is known to about a second, and
// a second or two do not matter in a log.
const clockSkewed = 5 * time.Second

// clockOffset is the time to add to a client's times to compare them with those of others.
func clockOffset(cl runfile.ClientResult) (ahead time.Duration, known bool) {
	if cl.Observed == nil || cl.Observed.ClockOffsetMilliseconds == nil {
		return 0, false
	}
	return time.Duration(*cl.Observed.ClockOffsetMilliseconds) * time.Millisecond, true
}

// clockOffsets returns the offsets of all clients, or zeros: with only some of them, clients that
// ran together would seem apart. Offsets within their own error are also zeros, because
// synchronized clocks are better than the estimate.
func clockOffsets(parts []clientRep) []time.Duration {
	offsets := make([]time.Duration, len(parts))
	var least, most time.Duration
	for i, p := range parts {
		ahead, known := clockOffset(p.client)
		if !known {
			return make([]time.Duration, len(parts))
		}
		offsets[i] = ahead
		if i == 0 {
			least, most = ahead, ahead
		}
		least, most = min(least, ahead), max(most, ahead)
	}
	if most-least < clockSkewed {
		clear(offsets)
	}
	return offsets
}

// checkClocks names the clients whose clocks differ from the API server's, and an array whose clock
// differs from that of the machine that surveyed it. An array
// divides its counts by its own seconds, so only its times are wrong.
func checkClocks(c *facts, found *findings) {
	if ms := c.survey().ClockOffsetMilliseconds; ms != nil {
		offset := time.Duration(*ms) * time.Millisecond
		which := "ahead of"
		if offset < 0 {
			which = "behind"
		}
		if offset.Abs() >= clockSkewed {
			found.add(ClockSkew, bench.SeverityWarning,
				"The clock of the array is %.0f s %s that of the machine that surveyed it. The "+
					"numbers are valid, because each rate uses one clock only, but the times in the logs of the array do not match "+
					"those of the clients. Set its clock (NTP).",
				offset.Abs().Seconds(), which)
		}
	}
	for _, cl := range c.result.Clients {
		ahead, known := clockOffset(cl)
		if !known || ahead.Abs() < clockSkewed {
			continue
		}
		which := "behind"
		if ahead < 0 {
			which = "ahead of"
		}
		found.add(ClockSkew, bench.SeverityWarning,
			"Client %d: the clock of %s is %.0f s %s that of the API server. The numbers are "+
				"valid, because clients start by a signal, but the times of its samples do not match the logs of the storage. "+
				"Set its clock (NTP).", cl.Index, nodeOf(cl), ahead.Abs().Seconds(), which)
	}
}

// checkTogether looks for clients that did not run at the same time: their rates must not be added.
// Clients start a level of a search up to a second apart, which is too much for a short level. The
// worst of the longer levels represents them all.
func checkTogether(c *facts, found *findings) {
	worst, level := 1.0, ""
	for _, s := range c.repetitions {
		share := together(c.parts(s.Repetition))
		switch {
		case share*1000 >= overlapGood:
		case !s.isOf(runfile.StepRate):
			found.notTogether(s.name(), share)
		case s.DurationMilliseconds >= decidedSeconds*1000 && share < worst:
			worst, level = share, s.name()
		}
	}
	if level != "" {
		found.notTogether(level, worst)
	}
}

func (fs *findings) notTogether(repetition string, share float64) {
	fs.add(ClientsNotTogether, bench.SeverityWarning,
		"In repetition %s the clients ran together for only %.0f %% of the time, so "+
			"their sum is too high. Check the clocks of their machines.", repetition, share*100)
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
