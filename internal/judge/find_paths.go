package judge

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

func (c *judging) checkPaths() {
	shares := c.overall.Paths
	idle, reasons := idlePaths(shares)
	switch {
	case len(idle) > 0:
		c.add(PathUnused, Warning, "%d of %d declared paths carried nothing: %s. Check that LIF, route and local address; one subnet for each path on Linux.", len(idle), len(shares), strings.Join(reasons, ", "))
	case !slices.ContainsFunc(shares, func(p PathShare) bool { return noticeable(p, *c.overall) }):
		c.checkBalance(shares) // what lost its time has not its share either
	}
	for _, l := range c.losses() {
		if l.bytes == 0 && slices.Contains(idle, l.name) {
			continue // said already, and better
		}
		c.checkLoss(l, len(shares))
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
