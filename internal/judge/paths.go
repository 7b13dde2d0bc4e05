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
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// pathPair is one path of a run: a server address, and the client address that
// it is reached from.
type pathPair struct{ Local, Path string }

func (p pathPair) String() string {
	return bench.ResolvedPath{Local: p.Local, Path: p.Path}.String()
}

// declaredPaths are the channels of the plan.
func declaredPaths(plan runfile.Plan) []pathPair {
	var pairs []pathPair
	for _, ch := range plan.Engine.Channels {
		pairs = append(pairs, pathPair{Local: ch.Local, Path: ch.Path})
	}
	return pairs
}

// pathsOf are the paths of one client that carry data: the addresses of data servers, or those
// that the plan declares, or else those that were connected. A mount of the kernel is one path.
func (c *facts) pathsOf(cl runfile.ClientResult) []pathPair {
	if c.Plan.Engine.Client != bench.ClientDirectNFS {
		return []pathPair{{Path: cmp.Or(bench.OrZero(cl.Load.Mount).Source, c.Plan.Engine.MountPath)}}
	}
	var addresses []pathPair
	for _, p := range layoutPaths(cl) {
		addresses = withNew(addresses, pathPair{Path: p.Path})
	}
	switch {
	case len(addresses) > 0:
		return addresses
	case len(c.declared) > 0:
		return c.declared
	default:
		return connectedPaths(cl)
	}
}

// layoutPaths are the channels to data servers that moved data.
func layoutPaths(cl runfile.ClientResult) (pairs []pathPair) {
	for _, rep := range cl.Load.Repetitions {
		for _, ch := range rep.Channels {
			if ch.Role == bench.PathDataServer && ch.BytesRead+ch.BytesWritten > 0 {
				pairs = withNew(pairs, pathPair{Local: ch.Local, Path: ch.Path})
			}
		}
	}
	return pairs
}

// connectedPaths are the channels of one client that carry data.
func connectedPaths(cl runfile.ClientResult) []pathPair {
	pairs := layoutPaths(cl)
	if len(pairs) > 0 {
		return pairs
	}
	for _, rep := range cl.Load.Repetitions {
		for _, ch := range rep.Channels {
			pairs = withNew(pairs, pathPair{Local: ch.Local, Path: ch.Path})
		}
		for _, ch := range bench.OrZero(rep.Oracle).DirectNFS.Channels {
			pairs = withNew(pairs, pathPair{Local: ch.Local, Path: ch.Path})
		}
	}
	return pairs
}

func checkPaths(c *facts, found *findings) {
	shares := dataPaths(c.overall.Paths)
	idle, reasons := idlePaths(shares)
	unused := c.unusedByInstance()
	switch {
	case len(idle) > 0:
		found.warn(PathUnused, "%d of %d paths carried nothing, or next to nothing: %s. Check the LIF, the route and the "+
			"local address; on Linux each path needs a subnet of its own.", len(idle), len(shares), strings.Join(reasons, ", "))
	case len(unused) > 0:
		found.warn(PathUnused, "Not each instance used all paths: %s. Compare the oranfstab of the nodes, and check the "+
			"routes and local addresses.", listed(unused))
	case !slices.ContainsFunc(shares, func(p PathShare) bool { return noticeable(p, c.overall.Summary) }):
		checkBalance(found, shares) // what lost its time has not its share either
	}
	for _, l := range c.losses() {
		if l.bytes == 0 && slices.Contains(idle, l.name) {
			continue // said already, and better
		}
		checkLoss(c, found, l, len(byRole(c.overall.Paths, "")))
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

func checkBalance(found *findings, shares []PathShare) {
	if len(shares) < 2 {
		return
	}
	equal := 1000 / float64(len(shares))
	var lines []string
	deviation := 0.0 // permille
	for _, p := range shares {
		deviation = max(deviation, math.Abs(float64(p.SharePermille)-equal)/equal*1000)
		lines = append(lines, fmt.Sprintf("%s %s", label(p), human.Share(p.SharePermille)))
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

func label(p PathShare) string {
	pair := pathPair{Local: p.Local, Path: p.Path}.String()
	if p.Role == bench.PathDataServer {
		return "data server " + pair
	}
	return pair
}

func byRole(shares []PathShare, role bench.PathRole) []PathShare {
	return filtered(shares, func(p PathShare) bool { return p.Role == role })
}

// loss is what a path lost of its time, over all repetitions.
type loss struct {
	name             string
	downMilliseconds int64
	reconnects       int64
	bytes            int64
	repetitions      []string // in which something was lost
	noticeable       bool     // in one of them
	stillDown        bool     // at the end of the last
	byLayout         bool     // it leads to a data server
}

// losses are those of the paths that were away, or had to connect anew, in the
// order of the paths.
func (c *facts) losses() []loss {
	var all []loss
	for _, s := range c.repetitions {
		for _, p := range s.Paths {
			name := label(p)
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
			l.stillDown = p.State == stateDown
			if p.DownMilliseconds > 0 || p.Reconnects > 0 {
				l.repetitions = append(l.repetitions, fmt.Sprint(s.Repetition))
			}
		}
	}
	return filtered(all, func(l loss) bool { return l.downMilliseconds > 0 || l.reconnects > 0 })
}

// noticeable reports whether a path was away for so long that the numbers of
// the repetition show it.
func noticeable(p PathShare, s Summary) bool {
	return s.DurationMilliseconds > 0 &&
		float64(p.DownMilliseconds)*1000 >= channelLostShare*float64(s.DurationMilliseconds)
}

// checkLoss reports one path: either how long it was away, or that it was back
// at once.
func checkLoss(c *facts, found *findings, l loss, paths int) {
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
	for _, s := range c.repetitions {
		measured += s.DurationMilliseconds
	}
	meanwhile := ""
	switch quiet, carried := c.meanwhile(l.name); {
	case paths < 2 && !l.byLayout:
		meanwhile = " There was no other path, so all I/O waited meanwhile."
	case quiet == 0: // not known
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

// meanwhile counts the seconds of the measured windows in which a path carried nothing, and those of them in which
// another path of the client did.
func (c *facts) meanwhile(name string) (quiet, carried int) {
	for _, rep := range c.repetitions {
		for _, p := range rep.parts {
			own := c.channelsOf(p.rep, name)
			measured := func(s runfile.LoadSample) bool {
				return s.Span == runfile.SpanMeasure && s.Repetition == rep.Repetition
			}
			for _, s := range filtered(p.client.Load.Samples, measured) {
				if by, seen := carriedBy(s, own); seen && by[true] == 0 {
					quiet++
					carried += int(min(by[false], 1))
				}
			}
		}
	}
	return quiet, carried
}

// carriedBy returns the bytes of a sample on own channels (true) and on others, and whether it has own ones.
func carriedBy(s runfile.LoadSample, own map[int32]bool) (bytes map[bool]int64, seen bool) {
	bytes = map[bool]int64{}
	for _, ch := range s.Channels {
		bytes[own[ch.ID]] += ch.BytesRead + ch.BytesWritten
	}
	_, seen = bytes[true]
	return bytes, seen
}

// channelsOf are the channels of a path.
func (c *facts) channelsOf(rep runfile.Repetition, name string) map[int32]bool {
	own := map[int32]bool{}
	for _, ch := range rep.Channels {
		p := c.declaredAs(pathPair{Local: ch.Local, Path: ch.Path})
		own[ch.ID] = label(PathShare{Local: p.Local, Path: p.Path, Role: ch.Role}) == name
	}
	return own
}

// listed joins the first of the names.
func listed(names []string) string {
	const most = 4
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", ..."
	}
	return strings.Join(names, ", ")
}

const (
	stateUp      = "Up"
	stateMissing = "Missing"
	stateDown    = "Down"
)

// pathShares adds up the channels of each path over the clients. A declared
// path that no client connected stands there too, as Missing.
func (c *facts) pathShares(parts []clientRep) []PathShare {
	if c.Plan.Engine.Client != bench.ClientDirectNFS {
		return nil
	}
	t := &pathTable{facts: c}
	for _, d := range c.declared {
		t.row(d, "")
	}
	if c.Plan.Database != nil {
		return c.databasePaths(t, parts)
	}
	for _, p := range parts {
		for _, ch := range p.rep.Channels {
			t.row(pathPair{Local: ch.Local, Path: ch.Path}, ch.Role).add(ch, p.seconds)
		}
	}
	if len(byLayout(t.shares)) > 0 {
		for i, p := range t.shares {
			if l := c.survey.LIF(p.Path); l != nil {
				t.shares[i].LIF, t.shares[i].Node = l.Name, l.Node
			}
		}
	}
	return t.shared(PathShare.Bytes)
}

// databasePaths are those of V$DNFS_CHANNELS, which counts calls and no bytes.
// Without a row nothing is known of the paths, not even that they are missing.
func (c *facts) databasePaths(t *pathTable, parts []clientRep) []PathShare {
	seen := false
	for _, p := range parts {
		for _, ch := range c.ownChannels(bench.OrZero(p.rep.Oracle).DirectNFS.Channels) {
			seen = true
			share := t.row(pathPair{Local: ch.Local, Path: ch.Path}, "")
			share.State = stateUp
			share.Calls += ch.Sends + ch.Receives
			share.Reconnects += ch.Reconnects
		}
	}
	if !seen {
		return nil
	}
	return t.shared(func(p PathShare) int64 { return p.Calls })
}

// ownChannels are those of the server of the plan; a database may use others.
// Of an instance where none has that label, the oranfstab was not used, and all are.
func (c *facts) ownChannels(all []runfile.DNFSChannel) []runfile.DNFSChannel {
	return ownOfEach(all, func(ch runfile.DNFSChannel) int32 { return ch.Instance },
		func(ch runfile.DNFSChannel) bool { return ch.Server == c.Plan.Engine.Server })
}

// unusedByInstance names the declared paths on which an instance of a RAC sent nothing although it did its share of
// the load: the sums over the instances do not show that. The instances have local addresses of their own, so only
// those of the server are compared.
func (c *facts) unusedByInstance() (unused []string) {
	all, calls := int64(0), map[int32]int64{}
	used := map[int32][]string{}
	for _, w := range c.overall.databases {
		for _, ch := range c.ownChannels(w.DirectNFS.Channels) {
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
		for _, d := range c.declared {
			if !hasAddress(used[instance], d.Path) {
				unused = withNew(unused, fmt.Sprintf("instance %d sent nothing to %s", instance, d.Path))
			}
		}
	}
	return unused
}

// pathTable collects what each path did, the declared ones first.
type pathTable struct {
	*facts

	shares []PathShare
}

// row returns the row of the path that a channel serves, which it makes when it is missing. The address of a data
// server may be that of a declared path, too: that is another connection.
func (t *pathTable) row(used pathPair, role bench.PathRole) *PathShare {
	if role != bench.PathDataServer {
		used, role = t.declaredAs(used), ""
	}
	for i, s := range t.shares {
		if s.Local == used.Local && s.Path == used.Path && s.Role == role {
			return &t.shares[i]
		}
	}
	t.shares = append(t.shares, PathShare{Local: used.Local, Path: used.Path, Role: role, State: stateMissing})
	return &t.shares[len(t.shares)-1]
}

// shared sets the shares of the paths in the sum of an amount.
func (t *pathTable) shared(amount func(PathShare) int64) []PathShare {
	total := int64(0)
	for _, p := range t.shares {
		total += amount(p)
	}
	for i := range t.shares {
		if total > 0 {
			t.shares[i].SharePermille = *permille(float64(amount(t.shares[i])) / float64(total))
		}
	}
	return t.shares
}

// declaredAs finds the declared path that a channel serves. A path without a
// local address in the oranfstab serves whatever the system chose, and a channel
// without one (V$DNFS_CHANNELS before 11.2.0.2) the first to its address.
func (c *facts) declaredAs(used pathPair) pathPair {
	if slices.Contains(c.declared, used) {
		return used
	}
	for _, d := range c.declared {
		anyLocal := d.Local == "" || used.Local == ""
		if runfile.SameAddress(d.Path, used.Path) && (anyLocal || runfile.SameAddress(d.Local, used.Local)) {
			return d
		}
	}
	return used
}

func (s *PathShare) add(ch runfile.Channel, seconds float64) {
	s.BytesRead += ch.BytesRead
	s.BytesWritten += ch.BytesWritten
	s.BytesPerSecond += int64(float64(ch.BytesRead+ch.BytesWritten) / seconds)
	s.Reconnects += ch.Reconnects
	// A loss is noticed later than it begins, perhaps only in the window.
	s.DownMilliseconds = max(s.DownMilliseconds, min(ch.DownMilliseconds, int64(seconds*1000)))
	s.Retransmits += ch.Retransmits
	s.Replies += ch.Receives
	if s.State != stateDown { // one client's broken path is a broken path
		s.State = ch.State
	}
}

// sameMTU is the share, in tenths, of the larger MTU from which two count as the same: tunnels
// take some bytes of a frame.
const sameMTU = 9

// checkMTU compares the paths of all clients with each other, and with the link that was declared.
func checkMTU(c *facts, found *findings) {
	var known []runfile.PathFacts
	for _, cl := range c.Clients {
		for _, p := range bench.OrZero(cl.Load.Mount).Paths {
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
