package judge

import (
	"cmp"
	"fmt"
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

// pathsOf are the paths of one client that carry data: the addresses of data servers, or those
// that the plan declares, or else those that were connected. A mount of the kernel is one path.
func pathsOf(plan runfile.Plan, c runfile.ClientResult) []pathPair {
	if plan.Engine.Client != bench.ClientDirectNFS {
		source := plan.Engine.MountPath
		if m := c.Load.Mount; m != nil && m.Source != "" {
			source = m.Source
		}
		return []pathPair{{Path: source}}
	}
	var addresses []pathPair
	for _, p := range layoutPaths(c) {
		if address := (pathPair{Path: p.Path}); !slices.Contains(addresses, address) {
			addresses = append(addresses, address)
		}
	}
	if len(addresses) > 0 {
		return addresses
	}
	if declared := declaredPaths(plan); len(declared) > 0 {
		return declared
	}
	return connectedPaths(c)
}

// layoutPaths are the channels to data servers that moved data.
func layoutPaths(c runfile.ClientResult) []pathPair {
	var pairs []pathPair
	for _, rep := range c.Load.Repetitions {
		for _, ch := range rep.Channels {
			p := pathPair{Local: ch.Local, Path: ch.Path}
			if ch.Role == bench.PathDataServer && ch.BytesRead+ch.BytesWritten > 0 && !slices.Contains(pairs, p) {
				pairs = append(pairs, p)
			}
		}
	}
	return pairs
}

// declaredPaths are the channels of the plan.
func declaredPaths(plan runfile.Plan) []pathPair {
	var pairs []pathPair
	for _, ch := range plan.Engine.Channels {
		pairs = append(pairs, pathPair{Local: ch.Local, Path: ch.Path})
	}
	return pairs
}

// connectedPaths are the channels of one client that carry data.
func connectedPaths(c runfile.ClientResult) []pathPair {
	if pairs := layoutPaths(c); len(pairs) > 0 {
		return pairs
	}
	var pairs []pathPair
	add := func(p pathPair) {
		if !slices.Contains(pairs, p) {
			pairs = append(pairs, p)
		}
	}
	for _, rep := range c.Load.Repetitions {
		for _, ch := range rep.Channels {
			add(pathPair{Local: ch.Local, Path: ch.Path})
		}
		if rep.Oracle == nil {
			continue
		}
		for _, ch := range rep.Oracle.DirectNFS.Channels {
			add(pathPair{Local: ch.Local, Path: ch.Path})
		}
	}
	return pairs
}

func checkPaths(c *facts, found *findings) {
	shares := dataPaths(c.overall.Paths)
	idle, reasons := idlePaths(shares)
	switch {
	case len(idle) > 0:
		found.add(PathUnused, bench.SeverityWarning,
			"%d of %d paths carried nothing, or next to nothing: %s. Check the LIF, the route and the local address; on "+
				"Linux each path needs a subnet of its own.", len(idle), len(shares), strings.Join(reasons, ", "))
	case !slices.ContainsFunc(shares, func(p PathShare) bool { return noticeable(p, *c.overall) }):
		checkBalance(found, shares) // what lost its time has not its share either
	}
	for _, l := range c.losses() {
		if l.bytes == 0 && slices.Contains(idle, l.name) {
			continue // said already, and better
		}
		checkLoss(c, found, l, len(c.overall.Paths)-len(byRole(c.overall.Paths, bench.PathDataServer)))
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
	switch {
	case shares[0].Role == bench.PathDataServer && deviation > serverUneven:
		found.add(PathImbalance, bench.SeverityWarning,
			"The data servers carried different shares: %s. Layouts say which server has which file or stripe: more files "+
				"(workload.raw.jobs) spread better. Otherwise one of them has a slower link or is busy.", strings.Join(lines, ", "))
	case shares[0].Role != bench.PathDataServer && deviation > pathUneven:
		found.add(PathImbalance, bench.SeverityWarning,
			"The paths carried different shares: %s. The slowest path may have a slower link, a congested port, or a LIF "+
				"that is not on its home node.", strings.Join(lines, ", "))
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
	var found []PathShare
	for _, p := range shares {
		if p.Role == role {
			found = append(found, p)
		}
	}
	return found
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
	at := map[string]int{}
	for _, s := range c.repetitions {
		for _, p := range s.Paths {
			name := label(p)
			i, ok := at[name]
			if !ok {
				i = len(all)
				at[name] = i
				all = append(all, loss{name: name, byLayout: p.Role == bench.PathDataServer})
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
	return s.DurationMilliseconds > 0 &&
		float64(p.DownMilliseconds)*1000 >= channelLostShare*float64(s.DurationMilliseconds)
}

// checkLoss reports one path: either how long it was away, or that it was back
// at once.
func checkLoss(c *facts, found *findings, l loss, paths int) {
	severity := bench.SeverityInfo
	if l.noticeable {
		severity = bench.SeverityWarning
	}
	where := "repetition " + listed(l.repetitions)
	if len(l.repetitions) > 1 {
		where = "repetitions " + listed(l.repetitions)
	}
	if l.downMilliseconds < channelLostMilliseconds && l.reconnects > 0 {
		found.add(ChannelReconnected, severity,
			"Path %s lost its connection %d times in %s, and connected again at once. Look at the LIF, the switch and the "+
				"server's log for that time.", l.name, l.reconnects, where)
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
	case l.byLayout:
		meanwhile = " Its I/O went through the metadata server meanwhile, or to another address of the data server."
	default:
		meanwhile = " The other paths carried its I/O meanwhile, so this is less than all paths give together."
	}
	end := ""
	if l.stillDown {
		end = "; it was still down at the end"
	}
	found.add(ChannelLost, severity,
		"Path %s was down for %s of %s that were measured (%s), in %s%s. New connections: %d.%s Look at the LIF, the "+
			"switch and the server's log for that time, and measure again.",
		l.name, seconds(l.downMilliseconds), seconds(measured), human.Share(l.downMilliseconds*1000/max(measured,
			1)), where, end, l.reconnects, meanwhile)
}

// meanwhile counts the seconds of the measured windows in which a path carried nothing, and those of them in which
// another path of the client did.
func (c *facts) meanwhile(name string) (quiet, carried int) {
	for _, cl := range c.result.Clients {
		for _, s := range cl.Load.Samples {
			ids, bytes := c.channelsOf(cl, s, name), map[bool]int64{}
			for _, ch := range s.Channels {
				bytes[slices.Contains(ids, ch.ID)] += ch.BytesRead + ch.BytesWritten
			}
			if own, seen := bytes[true]; seen && own == 0 {
				quiet++
				carried += int(min(bytes[false], 1))
			}
		}
	}
	return quiet, carried
}

// channelsOf are the channels of a path in the window of a sample; empty outside of one.
func (c *facts) channelsOf(cl runfile.ClientResult, s runfile.LoadSample, name string) (ids []int32) {
	declared := declaredPaths(c.result.Plan)
	for _, rep := range cl.Load.Repetitions {
		if s.Span != runfile.SpanMeasure || s.Repetition != rep.Index {
			continue
		}
		for _, ch := range rep.Channels {
			p := declaredAs(declared, pathPair{Local: ch.Local, Path: ch.Path})
			if label(PathShare{Local: p.Local, Path: p.Path, Role: ch.Role}) == name {
				ids = append(ids, ch.ID)
			}
		}
	}
	return ids
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

const (
	stateMissing = "Missing"
	stateDown    = "Down"
)

// pathShares adds up the channels of each path over the clients. A declared
// path that no client connected stands there too, as Missing.
func (c *facts) pathShares(parts []clientRep) []PathShare {
	if c.result.Plan.Engine.Client != bench.ClientDirectNFS {
		return nil
	}
	if c.result.Plan.Database != nil {
		return c.databasePaths(parts)
	}
	t := newPathTable(declaredPaths(c.result.Plan))
	for _, p := range parts {
		for _, ch := range p.rep.Channels {
			pair := pathPair{Local: ch.Local, Path: ch.Path}
			if ch.Role == bench.PathDataServer {
				t.put(PathShare{Local: ch.Local, Path: ch.Path, Role: ch.Role}).add(ch, p.seconds)
			} else {
				t.find(pair).add(ch, p.seconds)
			}
		}
	}
	if len(byLayout(t.shares)) > 0 {
		t.locate(c.result.Plan.Survey)
	}
	return t.shared(PathShare.Bytes)
}

// databasePaths are those of V$DNFS_CHANNELS, which counts calls and no bytes.
// Without a row nothing is known of the paths, not even that they are missing.
func (c *facts) databasePaths(parts []clientRep) []PathShare {
	t, seen := newPathTable(declaredPaths(c.result.Plan)), false
	for _, p := range parts {
		if p.rep.Oracle == nil {
			continue
		}
		for _, ch := range ownChannels(c.result.Plan, p.rep.Oracle.DirectNFS.Channels) {
			seen = true
			share := t.find(pathPair{Local: ch.Local, Path: ch.Path})
			share.State = "Up"
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
// Where none has that label, the oranfstab was not used, and all are.
func ownChannels(plan runfile.Plan, all []runfile.DNFSChannel) []runfile.DNFSChannel {
	var own []runfile.DNFSChannel
	for _, ch := range all {
		if ch.Server == plan.Engine.Server {
			own = append(own, ch)
		}
	}
	if len(own) == 0 {
		return all
	}
	return own
}

// pathTable collects what each path did, the declared ones first.
type pathTable struct {
	declared []pathPair
	shares   []PathShare
}

func newPathTable(declared []pathPair) *pathTable {
	t := &pathTable{declared: declared}
	for _, d := range declared {
		t.shares = append(t.shares, PathShare{Local: d.Local, Path: d.Path, State: stateMissing})
	}
	return t
}

func (t *pathTable) find(used pathPair) *PathShare {
	p := declaredAs(t.declared, used)
	return t.put(PathShare{Local: p.Local, Path: p.Path})
}

// locate says where each path ends, as far as the survey knows.
func (t *pathTable) locate(survey *runfile.Survey) {
	for i, p := range t.shares {
		if l := survey.LIF(p.Path); l != nil {
			t.shares[i].LIF, t.shares[i].Node = l.Name, l.Node
		}
	}
}

// put returns the row of a path, which it makes when it is missing. The address of a data
// server may be that of a declared path, too: that is another connection.
func (t *pathTable) put(p PathShare) *PathShare {
	for i, s := range t.shares {
		if s.Local == p.Local && s.Path == p.Path && s.Role == p.Role {
			return &t.shares[i]
		}
	}
	p.State = stateMissing
	t.shares = append(t.shares, p)
	return &t.shares[len(t.shares)-1]
}

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
func declaredAs(declared []pathPair, used pathPair) pathPair {
	if slices.Contains(declared, used) {
		return used
	}
	for _, d := range declared {
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
	for _, cl := range c.result.Clients {
		if m := cl.Load.Mount; m != nil {
			known = append(known, m.Paths...)
		}
	}
	known = slices.DeleteFunc(known, func(p runfile.PathFacts) bool { return p.MTUBytes <= 0 })
	if len(known) == 0 {
		return
	}
	byMTU := func(a, b runfile.PathFacts) int { return cmp.Compare(a.MTUBytes, b.MTUBytes) }
	smallest, largest := slices.MinFunc(known, byMTU), slices.MaxFunc(known, byMTU)
	differs := func(small, large int32) bool { return int64(small)*10 < int64(large)*sameMTU }
	link := c.result.Plan.Link
	switch {
	case differs(smallest.MTUBytes, largest.MTUBytes):
		found.add(MTUDiffers, bench.SeverityWarning,
			"The MTU of path %s is %d bytes, and that of path %s is %d. Give all paths the same.",
			smallest.Path, smallest.MTUBytes, largest.Path, largest.MTUBytes)
	case link != nil && differs(smallest.MTUBytes, link.MTUBytes()):
		found.add(MTUDiffers, bench.SeverityWarning,
			"The declared MTU is %d bytes, and that of path %s is %d: the wire limit is computed "+
				"for the declared one. Raise the MTU of the path, or correct protocol.link.mtu.",
			link.MTUBytes(), smallest.Path, smallest.MTUBytes)
	}
}
