package judge

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

func checkPaths(c *facts, found *findings) {
	shares := dataPaths(c.Overall.Paths)
	idle, reasons := idlePaths(shares)
	unused := c.unusedByInstance()
	switch {
	case len(idle) > 0:
		found.warn(PathUnused, "%d of %d paths carried nothing, or next to nothing: %s. Check the LIF, the route and the "+
			"local address; on Linux each path needs a subnet of its own.", len(idle), len(shares), strings.Join(reasons, ", "))
	case len(unused) > 0:
		found.warn(PathUnused, "Not each instance used all paths: %s. Compare the oranfstab of the nodes, and check the "+
			"routes and local addresses.", listed(unused))
	case !slices.ContainsFunc(shares, func(p measure.PathShare) bool { return noticeable(p, c.Overall.Summary) }):
		checkBalance(found, shares) // a path that was down has a smaller share, too
	}
	quiet, metadata := c.Meanwhile(), len(measure.ByRole(c.Overall.Paths, ""))
	for _, l := range c.losses() {
		if l.bytes == 0 && slices.Contains(idle, l.name) {
			continue // reported already, with more detail
		}
		checkLoss(c, found, l, metadata, quiet[l.name])
	}
}

// idlePaths returns the paths that carried next to nothing although another path carried load.
func idlePaths(shares []measure.PathShare) (names, reasons []string) {
	if len(shares) < 2 {
		return nil, nil
	}
	least := int32(1000/len(shares)) * pathIdle / 1000
	for _, p := range shares {
		if p.SharePermille <= least {
			names = append(names, p.Name())
			reasons = append(reasons, fmt.Sprintf("%s (%s)", p.Name(), p.State))
		}
	}
	if len(names) == len(shares) {
		return nil, nil // nothing carried load, which another finding reports
	}
	return names, reasons
}

// checkBalance compares the shares of the paths, or of the data servers.
func checkBalance(found *findings, shares []measure.PathShare) {
	if len(shares) < 2 {
		return
	}
	equal := 1000 / float64(len(shares))
	var lines []string
	deviation := 0.0 // permille
	for _, p := range shares {
		deviation = max(deviation, math.Abs(float64(p.SharePermille)-equal)/equal*1000)
		lines = append(lines, fmt.Sprintf("%s %s", p.Name(), human.Share(p.SharePermille)))
	}
	switch byLayout := shares[0].Role == bench.PathDataServer; {
	case byLayout && deviation > serverUneven:
		found.warn(PathImbalance, "The data servers carried different shares: %s. Layouts say which server has which "+
			"file or stripe: more files (workload.raw.jobs) spread better. Otherwise one of them has a slower link or is busy.",
			strings.Join(lines, ", "))
	case !byLayout && deviation > pathUneven:
		found.warn(PathImbalance, "The paths carried different shares: %s. The slowest path may have a slower link, a "+
			"congested port, or a LIF that is not on its home node.", strings.Join(lines, ", "))
	}
}

// loss describes how long a path was unavailable, over all repetitions.
type loss struct {
	name             string
	downMilliseconds int64
	reconnects       int64
	bytes            int64
	repetitions      []string // those with a loss
	noticeable       bool     // in at least one of them
	stillDown        bool     // at the end of the last repetition
	byLayout         bool     // it leads to a data server
}

// losses returns the losses of the paths that were unavailable, or had to
// reconnect, in the order of the paths.
func (c *facts) losses() []loss {
	var all []loss
	for _, s := range c.Repetitions {
		for _, p := range s.Paths {
			name := p.Name()
			i := slices.IndexFunc(all, func(l loss) bool { return l.name == name })
			if i < 0 {
				i = len(all)
				all = append(all, loss{name: name, byLayout: p.Role == bench.PathDataServer})
			}
			l := &all[i]
			l.downMilliseconds += p.DownMilliseconds
			l.reconnects += p.Reconnects
			l.bytes += p.Bytes() + p.Calls
			l.noticeable = l.noticeable || noticeable(p, s.Summary)
			l.stillDown = p.State == bench.PathDown
			if p.DownMilliseconds > 0 || p.Reconnects > 0 {
				l.repetitions = append(l.repetitions, fmt.Sprint(s.Repetition))
			}
		}
	}
	return measure.Filtered(all, func(l loss) bool { return l.downMilliseconds > 0 || l.reconnects > 0 })
}

// noticeable reports whether a path was unavailable for long enough to change
// the numbers of the repetition.
func noticeable(p measure.PathShare, s measure.Summary) bool {
	return s.DurationMilliseconds > 0 &&
		float64(p.DownMilliseconds)*1000 >= channelLostShare*float64(s.DurationMilliseconds)
}

// checkLoss reports how long one path was unavailable, or that it reconnected
// at once.
func checkLoss(c *facts, found *findings, l loss, paths int, quiet measure.Quiet) {
	severity := warningIf(l.noticeable)
	where := "repetition " + listed(l.repetitions)
	if len(l.repetitions) > 1 {
		where = "repetitions " + listed(l.repetitions)
	}
	if l.downMilliseconds < channelLostMilliseconds && l.reconnects > 0 {
		found.add(ChannelReconnected, severity, "Path %s lost its connection %d times in %s, and connected again at "+
			"once. Look at the LIF, the switch and the server's log for that time.", l.name, l.reconnects, where)
		return
	}
	measured := int64(0)
	for _, s := range c.Repetitions {
		measured += s.DurationMilliseconds
	}
	meanwhile := ""
	switch quiet, carried := quiet.Seconds, quiet.Carried; {
	case paths < 2 && !l.byLayout:
		meanwhile = " There was no other path, so all I/O waited meanwhile."
	case quiet == 0: // unknown
	case 2*carried < quiet:
		meanwhile = fmt.Sprintf(" In %d of the %d seconds in which it carried nothing, no other path did either: I/O stood "+
			"still, and this is not the loss of one path.", quiet-carried, quiet)
	case carried*1000 < quiet*carriedMeanwhile:
		meanwhile = fmt.Sprintf(" Of the %d seconds in which it carried nothing, other paths carried I/O in %d, and in the "+
			"other %d all I/O waited.", quiet, carried, quiet-carried)
	case l.byLayout:
		meanwhile = " Its I/O went through the metadata server meanwhile, or to another address of the data server."
	default:
		meanwhile = " The other paths carried its I/O meanwhile, so this is less than all paths give together."
	}
	end := ""
	if l.stillDown {
		end = "; it was still down at the end"
	}
	found.add(ChannelLost, severity, "Path %s was down for %s of %s that were measured (%s), in %s%s. New "+
		"connections: %d.%s Look at the LIF, the switch and the server's log for that time, and measure again.", l.name,
		human.Seconds(l.downMilliseconds), human.Seconds(measured), human.Share(l.downMilliseconds*1000/max(measured, 1)),
		where, end,
		l.reconnects, meanwhile)
}

// listed joins the first few names.
func listed(names []string) string {
	const most = 4
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", ..."
	}
	return strings.Join(names, ", ")
}

// unusedByInstance names the declared paths on which a RAC instance sent nothing although it carried its share of the
// load. Sums over the instances hide this. The instances have local addresses of their own, so only those of the
// server are compared.
func (c *facts) unusedByInstance() (unused []string) {
	all, calls := int64(0), map[int32]int64{}
	used := map[int32][]string{}
	for _, w := range c.Overall.Databases {
		for _, ch := range c.OwnChannels(w.DirectNFS.Channels) {
			n := ch.Sends + ch.Receives
			all, calls[ch.Instance] = all+n, calls[ch.Instance]+n
			if n > 0 {
				used[ch.Instance] = append(used[ch.Instance], ch.Path)
			}
		}
	}
	for _, instance := range slices.Sorted(maps.Keys(calls)) {
		if len(calls) < 2 || float64(calls[instance])*1000 < float64(all)/float64(len(calls))*pathIdle {
			continue // not a RAC, or an idle instance
		}
		for _, d := range c.Declared {
			if !hasAddress(used[instance], d.Path) {
				unused = measure.WithNew(unused, fmt.Sprintf("instance %d sent nothing to %s", instance, d.Path))
			}
		}
	}
	return unused
}

// sameMTU is the share, in tenths, of the larger MTU from which two MTUs count as equal: tunnels take some bytes of a
// frame.
const sameMTU = 9

// checkMTU compares the path MTUs of all clients with each other, and with the MTU of the declared link.
func checkMTU(c *facts, found *findings) {
	var known []runfile.PathFacts
	for _, cl := range c.Clients {
		for _, p := range bench.OrZero(cl.Mount).Paths {
			if p.MTUBytes > 0 {
				known = append(known, p)
			}
		}
	}
	if len(known) == 0 {
		return
	}
	byMTU := func(a, b runfile.PathFacts) int { return cmp.Compare(a.MTUBytes, b.MTUBytes) }
	smallest, largest := slices.MinFunc(known, byMTU), slices.MaxFunc(known, byMTU)
	differs := func(small, large int32) bool { return int64(small)*10 < int64(large)*sameMTU }
	link := c.Plan.Link
	switch {
	case differs(smallest.MTUBytes, largest.MTUBytes):
		found.warn(MTUDiffers, "The MTU of path %s is %d bytes, and that of path %s is %d. Give all paths the same.",
			smallest.Path, smallest.MTUBytes, largest.Path, largest.MTUBytes)
	case link != nil && differs(smallest.MTUBytes, link.MTUBytes()):
		found.warn(MTUDiffers, "The declared MTU is %d bytes, and that of path %s is %d: the wire limit is computed for "+
			"the declared one. Raise the MTU of the path, or correct protocol.link.mtu.", link.MTUBytes(), smallest.Path,
			smallest.MTUBytes)
	}
}
