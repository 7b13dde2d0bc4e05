package judge

import (
	"fmt"
	"math"
	"strings"
)

func (c *judging) checkPaths() {
	shares := c.overall.Paths
	idle, reasons := idlePaths(shares)
	if len(idle) > 0 {
		c.add(PathUnused, Warning, "%d of %d declared paths carried nothing: %s. Check that LIF, route and local address; one subnet for each path on Linux.", len(idle), len(shares), strings.Join(reasons, ", "))
	} else {
		c.checkBalance(shares)
	}
	for _, s := range c.repetitions {
		for _, p := range s.Paths {
			if p.Reconnects > 0 {
				c.add(ChannelReconnected, Warning, "Path %s lost its connection %d times in repetition %d. Look at the LIF, the switch and the server's log for that time.", label(p), p.Reconnects, s.Repetition)
			}
		}
	}
}

// idlePaths are those that carried next to nothing although another did.
func idlePaths(shares []PathShare) (names, reasons []string) {
	if len(shares) < 2 {
		return nil, nil
	}
	least := int32(1000/len(shares)) * pathIdle / 1000
	for _, p := range shares {
		if p.SharePermille <= least {
			names = append(names, label(p))
			reasons = append(reasons, fmt.Sprintf("%s (%s)", label(p), p.State))
		}
	}
	if len(names) == len(shares) {
		return nil, nil // nothing ran at all: that is another finding
	}
	return names, reasons
}

func (c *judging) checkBalance(shares []PathShare) {
	if len(shares) < 2 {
		return
	}
	equal := 1000 / float64(len(shares))
	var lines []string
	uneven := false
	for _, p := range shares {
		uneven = uneven || math.Abs(float64(p.SharePermille)-equal)/equal*1000 > pathUneven
		lines = append(lines, fmt.Sprintf("%s %s", label(p), percent(int64(p.SharePermille))))
	}
	if uneven {
		c.add(PathImbalance, Warning, "The paths are not used alike: %s. The slowest path may have a slower link, a congested port, or a LIF that is not on its home node.", strings.Join(lines, ", "))
	}
}

func label(p PathShare) string { return pathPair{Local: p.Local, Path: p.Path}.String() }
