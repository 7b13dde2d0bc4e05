package judge

import (
	"fmt"
	"slices"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/measure"
)

// checkPauses reports the times in which clients had no answer, and the times in which a single path had none.
func checkPauses(c *facts, found *findings) {
	for _, s := range c.Repetitions {
		var clients, paths []measure.Pause
		for _, p := range s.Pauses {
			within := func(of measure.Pause) bool {
				return of.Client == p.Client && of.StartMilliseconds <= p.StartMilliseconds+measure.PausedMilliseconds/2 &&
					of.End() >= p.End()-measure.PausedMilliseconds/2
			}
			switch {
			case !p.Long:
			case p.Path == "":
				clients = append(clients, p)
			case !slices.ContainsFunc(clients, within):
				paths = append(paths, p)
			}
		}
		reportPauses(found, repetitionName(s.Summary), clients, bench.SeverityWarning)
		reportPauses(found, repetitionName(s.Summary), paths, bench.SeverityInfo)
	}
}

// reportPauses reports the longest of several pauses, and their number.
func reportPauses(found *findings, repetition string, all []measure.Pause, severity bench.Severity) {
	if len(all) == 0 {
		return
	}
	sum, worst := int64(0), all[0]
	for _, p := range all {
		if sum += p.Milliseconds; p.Milliseconds > worst.Milliseconds {
			worst = p
		}
	}
	who, rest := fmt.Sprintf("Client %d", worst.Client), "although operations waited"
	if worst.Path != "" {
		who, rest = fmt.Sprintf("On %s, client %d", worst.Path, worst.Client), "while other paths had answers"
	}
	more := ""
	if len(all) > 1 {
		more = fmt.Sprintf(" It is the longest of %d such pauses, which last %s together.", len(all), human.Seconds(sum))
	}
	found.add(Paused, severity, "%s had no answer for %s, %s, from %s of repetition %s on (%s).%s%s Look for what "+
		"happened to the storage and the network at that time: a takeover, a LIF or a volume that moved, a restart, lost "+
		"packets.",
		who, human.Seconds(worst.Milliseconds), rest, human.Seconds(worst.StartMilliseconds), repetition,
		worst.Start.UTC().Format("2006-01-02 15:04:05.0 UTC"), wayWords(worst)+costWords(worst), more)
}

// wayWords describes what happened during the pause, as far as known.
func wayWords(p measure.Pause) string {
	l, late := p.Lost, ""
	if 2*p.LateMilliseconds >= p.Milliseconds {
		late = fmt.Sprintf(" The client itself stood still in this repetition: it woke up to %s late.",
			human.Seconds(p.LateMilliseconds))
	}
	if l == nil {
		return late
	}
	words := late + fmt.Sprintf(" The client gave up a connection of path %s %s after its last answer", p.LostPath,
		human.Seconds(l.NoticedMilliseconds))
	switch c, a := l.ConnectedMilliseconds, l.AnsweredMilliseconds; {
	case c == nil:
		words += " and got no other"
	case a == nil:
		words += fmt.Sprintf(", had another %s after that answer, and got nothing over it", human.Seconds(*c))
	default:
		words += fmt.Sprintf(", had another after %s and an answer over it after %s", human.Seconds(*c), human.Seconds(*a))
	}
	if p.RecoveryMilliseconds > 0 {
		words += fmt.Sprintf("; in this repetition I/O waited %s for the state at the server",
			human.Seconds(p.RecoveryMilliseconds))
	}
	return words + "."
}

// costWords describes the cost of a pause, as far as known.
func costWords(p measure.Pause) string {
	if p.MissingOperations == nil {
		return ""
	}
	words := fmt.Sprintf(" At the rate before it, %d more operations would have ended in that time", *p.MissingOperations)
	if p.BackMilliseconds == nil {
		words += "; the rate did not return to 95 % of that until the end of the window"
	} else {
		words += fmt.Sprintf("; %s after it, the rate was back at 95 %%", human.Seconds(*p.BackMilliseconds))
	}
	if p.LevelPermille != nil {
		words += ", and the level afterwards is " + human.Share(*p.LevelPermille) + " of the one before"
	}
	return words + "."
}
