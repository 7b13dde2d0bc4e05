package judge

import (
	"fmt"
	"time"

	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// checkClocks names the clients whose clocks differ from the API server's, and an array whose clock differs from that
// of the machine that surveyed it. An array divides its counts by its own seconds, so only its timestamps are wrong.
func checkClocks(c *facts, found *findings) {
	skew := func(offset *time.Duration, whose, others, why string) {
		if offset == nil || offset.Abs() < measure.ClockSkewed {
			return
		}
		which := "ahead of"
		if *offset < 0 {
			which = "behind"
		}
		found.warn(ClockSkew, "%s is %.0f s %s that of %s. The numbers are valid, because %s. Set its clock (NTP).", whose,
			offset.Abs().Seconds(), which, others, why)
	}
	skew(measure.Duration(c.Survey.ClockOffsetMilliseconds), "The clock of the array", "the machine that surveyed it",
		"each rate uses one clock only, but the times in the logs of the array do not match those of the clients")
	for _, cl := range c.Clients {
		if offset := cl.ClockOffset; offset != nil { // from the API server
			skew(new(-*offset), fmt.Sprintf("Client %d: the clock of %s", cl.Index, cl.Node), "the API server",
				"clients start by a signal, but the times of its samples do not match the logs of the storage")
		}
	}
}

// checkTogether looks for clients that did not run at the same time: their rates must not be added.
// Clients start a level of a search up to a second apart, which is too much for a short level. The
// worst of the longer levels represents them all.
func checkTogether(c *facts, found *findings) {
	report := func(s measure.RepetitionFacts) {
		found.warn(ClientsNotTogether, "In repetition %s the clients ran together for only %.0f %% of the time, so their "+
			"sum is too high. Check the clocks of their machines.", repetitionName(s.Summary), s.Together*100)
	}
	var worst *measure.RepetitionFacts
	for _, s := range c.Repetitions {
		switch {
		case s.Together*1000 >= overlapGood:
		case !s.IsOf(runfile.StepRate):
			report(s)
		case s.DurationMilliseconds >= measure.DecidedSeconds*1000 && (worst == nil || s.Together < worst.Together):
			worst = &s
		}
	}
	if worst != nil {
		report(*worst)
	}
}
