package judge

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// place is where something of the array was, and how to see where it is.
type place struct {
	what, node string
	here       func(runfile.StorageSample) string   // the node by a reading
	seen       func(runfile.StorageWindow) []string // the nodes by a window, in order
}

// checkMoves follows the volume, and the LIFs in use, from the survey through
// the measured windows: the numbers before and after a move are of two places.
func (c *judging) checkMoves() {
	for _, source := range c.windowSources() {
		places := c.places(source)
		for _, rep := range c.repetitions {
			for _, w := range storageWindows(c.parts(rep.Repetition)) {
				if w.Source == source {
					c.followAll(places, w, rep.Repetition)
				}
			}
		}
	}
}

// places are what is followed, each where it was before.
func (c *judging) places(source string) []*place {
	volume := &place{
		what: volumeName(c.volume()),
		here: func(s runfile.StorageSample) string { return s.VolumeNode },
		seen: func(w runfile.StorageWindow) []string { return w.VolumeNodes },
	}
	if c.survey().Source == source {
		volume.node = c.volume().Node
	}
	all := []*place{volume}
	for _, address := range unique(c.everUsed()) {
		all = append(all, c.lifPlace(source, address))
	}
	return all
}

func unique(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

func (c *judging) followAll(places []*place, w runfile.StorageWindow, repetition int32) {
	for _, p := range places {
		for _, node := range p.seen(w) {
			c.follow(p, node, w.Source, repetition)
		}
	}
}

// windowSources are the sources that have windows.
func (c *judging) windowSources() []string {
	var names []string
	for _, rep := range c.repetitions {
		for _, w := range storageWindows(c.parts(rep.Repetition)) {
			if !slices.Contains(names, w.Source) {
				names = append(names, w.Source)
			}
		}
	}
	return names
}

func (c *judging) lifPlace(source, address string) *place {
	p := &place{
		what: "path " + address,
		here: func(s runfile.StorageSample) string { return nodeOfPath(s.Paths, address) },
		seen: func(w runfile.StorageWindow) []string { return []string{nodeOfPath(w.Paths, address)} },
	}
	if l := c.result.Plan.Survey.LIF(address); l != nil {
		p.what = fmt.Sprintf("LIF %s (%s)", cmp.Or(l.Name, "?"), address)
		if c.survey().Source == source {
			p.node = l.Node
		}
	}
	return p
}

func nodeOfPath(paths []runfile.StoragePath, address string) string {
	for _, p := range paths {
		if sameHost(p.Address, address) {
			return p.Node
		}
	}
	return ""
}

// follow reports a move when an object is not where it was.
func (c *judging) follow(p *place, node, source string, repetition int32) {
	was := p.node
	if node == "" || node == was {
		return
	}
	p.node = node
	if was == "" {
		return
	}
	when := ""
	if t, seen := c.arrived(*p, was, source); seen {
		when = " at " + t.UTC().Format(time.RFC3339)
	}
	c.addOnce(VolumeMoved, Warning, "%s moved from node %s to %s%s (seen in repetition %d): what was measured before and after is of two places, and a move is a load of its own. Run again when nothing moves.",
		capital(p.what), was, node, when, repetition)
}

// arrived is the first reading at the new node after one at the old, by the
// array's clock.
func (c *judging) arrived(p place, was, source string) (time.Time, bool) {
	for _, cl := range c.result.Clients {
		if cl.Observed == nil {
			continue
		}
		before := c.survey().Source == source
		for _, s := range cl.Observed.Storage {
			if s.Source != source {
				continue
			}
			switch here := p.here(s); {
			case here == was:
				before = true
			case here == p.node && before:
				return s.Time, true
			}
		}
	}
	return time.Time{}, false
}

func capital(s string) string {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return s
	}
	return string(s[0]-'a'+'A') + s[1:]
}
