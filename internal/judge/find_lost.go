package judge

import (
	"fmt"
	"strings"
)

// loss is what a path lost of its time, over all repetitions.
type loss struct {
	name             string
	downMilliseconds int64
	reconnects       int64
	bytes            int64
	repetitions      []string // in which something was lost
	noticeable       bool     // in one of them
	stillDown        bool     // at the end of the last
}

// losses are those of the paths that were away, or had to connect anew, in the
// order of the paths.
func (c *judging) losses() []loss {
	var all []loss
	at := map[string]int{}
	for _, s := range c.repetitions {
		for _, p := range s.Paths {
			name := label(p)
			i, ok := at[name]
			if !ok {
				i = len(all)
				at[name] = i
				all = append(all, loss{name: name})
			}
			all[i].add(p, s)
		}
	}
	lost := all[:0]
	for _, l := range all {
		if l.downMilliseconds > 0 || l.reconnects > 0 {
			lost = append(lost, l)
		}
	}
	return lost
}

func (l *loss) add(p PathShare, s Summary) {
	l.downMilliseconds += p.DownMilliseconds
	l.reconnects += p.Reconnects
	l.bytes += p.Bytes() + p.Calls
	l.noticeable = l.noticeable || noticeable(p, s)
	l.stillDown = p.State == stateDown
	if p.DownMilliseconds > 0 || p.Reconnects > 0 {
		l.repetitions = append(l.repetitions, fmt.Sprint(s.Repetition))
	}
}

// noticeable reports whether a path was away for so long that the numbers of
// the repetition show it.
func noticeable(p PathShare, s Summary) bool {
	return s.DurationMilliseconds > 0 && float64(p.DownMilliseconds)*1000 >= channelLostShare*float64(s.DurationMilliseconds)
}

// checkLoss reports one path: either how long it was away, or that it was back
// at once.
func (c *judging) checkLoss(l loss, paths int) {
	severity := Info
	if l.noticeable {
		severity = Warning
	}
	where := "repetition " + listed(l.repetitions)
	if len(l.repetitions) > 1 {
		where = "repetitions " + listed(l.repetitions)
	}
	if l.downMilliseconds < channelLostMilliseconds {
		c.add(ChannelReconnected, severity, "Path %s connected anew %d times in %s, and was back at once. Look at the LIF, the switch and the server's log for that time.", l.name, l.reconnects, where)
		return
	}
	measured := int64(0)
	for _, s := range c.repetitions {
		measured += s.DurationMilliseconds
	}
	meanwhile := "The other paths carried its I/O meanwhile, so this is less than all paths give together"
	if paths < 2 {
		meanwhile = "There was no other path, so all I/O waited meanwhile"
	}
	end := ""
	if l.stillDown {
		end = "; it was still down at the end"
	}
	c.add(ChannelLost, severity, "Path %s was down for %s of %s that were measured (%s), in %s%s. Connections made anew: %d. %s. Look at the LIF, the switch and the server's log for that time, and measure again.",
		l.name, seconds(l.downMilliseconds), seconds(measured), percent(l.downMilliseconds*1000/max(measured, 1)), where, end, l.reconnects, meanwhile)
}

// listed joins the first of the names.
func listed(names []string) string {
	const most = 4
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", ..."
	}
	return strings.Join(names, ", ")
}

func seconds(milliseconds int64) string { return fmt.Sprintf("%.1f s", float64(milliseconds)/1000) }
