package measure

import (
	"cmp"
	"slices"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// PathPair is one path of a run: a server address, and the client address that
// connects to it.
type PathPair struct{ Local, Path string }

// String formats the pair as the oranfstab does.
func (p PathPair) String() string {
	return bench.ResolvedPath{Local: p.Local, Path: p.Path}.String()
}

// declaredPaths returns the channels of the plan.
func declaredPaths(plan runfile.Plan) []PathPair {
	var pairs []PathPair
	for _, ch := range plan.Engine.Channels {
		pairs = append(pairs, PathPair{Local: ch.Local, Path: ch.Path})
	}
	return pairs
}

// pathsOf returns the paths of one client that carry data: the addresses of data servers, or else the declared paths,
// or else the connected paths. A kernel mount is one path.
func (c *Facts) pathsOf(cl runfile.ClientResult) []PathPair {
	if c.Plan.Engine.Client != bench.ClientDirectNFS {
		return []PathPair{{Path: cmp.Or(bench.OrZero(cl.Load.Mount).Source, c.Plan.Engine.MountPath)}}
	}
	var addresses []PathPair
	for _, p := range layoutPaths(cl) {
		addresses = WithNew(addresses, PathPair{Path: p.Path})
	}
	switch {
	case len(addresses) > 0:
		return addresses
	case len(c.Declared) > 0:
		return c.Declared
	default:
		return connectedPaths(cl)
	}
}

// layoutPaths returns the channels to data servers that moved data.
func layoutPaths(cl runfile.ClientResult) (pairs []PathPair) {
	for _, rep := range cl.Load.Repetitions {
		for _, ch := range rep.Channels {
			if ch.Role == bench.PathDataServer && ch.BytesRead+ch.BytesWritten > 0 {
				pairs = WithNew(pairs, PathPair{Local: ch.Local, Path: ch.Path})
			}
		}
	}
	return pairs
}

// connectedPaths returns the channels of one client to data servers that moved data. Without such channels it returns
// all channels.
func connectedPaths(cl runfile.ClientResult) []PathPair {
	pairs := layoutPaths(cl)
	if len(pairs) > 0 {
		return pairs
	}
	for _, rep := range cl.Load.Repetitions {
		for _, ch := range rep.Channels {
			pairs = WithNew(pairs, PathPair{Local: ch.Local, Path: ch.Path})
		}
		for _, ch := range bench.OrZero(rep.Oracle).DirectNFS.Channels {
			pairs = WithNew(pairs, PathPair{Local: ch.Local, Path: ch.Path})
		}
	}
	return pairs
}

// ByRole returns the paths with a role.
func ByRole(shares []PathShare, role bench.PathRole) []PathShare {
	return Filtered(shares, func(p PathShare) bool { return p.Role == role })
}

// pathShares adds up the channels of each path over the clients. A declared
// path that no client connected is included as Missing.
func (c *Facts) pathShares(parts []part) []PathShare {
	if c.Plan.Engine.Client != bench.ClientDirectNFS {
		return nil
	}
	t := &pathTable{Facts: c}
	for _, d := range c.Declared {
		t.row(d, "")
	}
	return c.engine.paths(t, parts)
}

// OwnChannels returns the channels of the server in the plan; a database may use others. It returns all channels of
// an instance without that server, which did not use its oranfstab.
func (c *Facts) OwnChannels(all []runfile.DNFSChannel) []runfile.DNFSChannel {
	return ownOfEach(all, func(ch runfile.DNFSChannel) int32 { return ch.Instance },
		func(ch runfile.DNFSChannel) bool { return ch.Server == c.Plan.Engine.Server })
}

// pathTable collects the counters of each path, declared paths first.
type pathTable struct {
	*Facts

	shares []PathShare
}

// row returns the row of the path that a channel serves, and adds it if it is missing. A data server may have the
// address of a declared path: its connection has a row of its own.
func (t *pathTable) row(used PathPair, role bench.PathRole) *PathShare {
	if role != bench.PathDataServer {
		used, role = t.declaredAs(used), ""
	}
	for i, s := range t.shares {
		if s.Local == used.Local && s.Path == used.Path && s.Role == role {
			return &t.shares[i]
		}
	}
	t.shares = append(t.shares, PathShare{Local: used.Local, Path: used.Path, Role: role, State: bench.PathMissing})
	return &t.shares[len(t.shares)-1]
}

// shared sets each path's share of the total amount.
func (t *pathTable) shared(amount func(PathShare) int64) []PathShare {
	total := int64(0)
	for _, p := range t.shares {
		total += amount(p)
	}
	for i := range t.shares {
		if total > 0 {
			t.shares[i].SharePermille = *PermilleOf(float64(amount(t.shares[i])) / float64(total))
		}
	}
	return t.shares
}

// declaredAs finds the declared path that a channel serves. A path without a
// local address in the oranfstab matches any local address, and a channel
// without one (V$DNFS_CHANNELS before 11.2.0.2) belongs to the first path to
// its address.
func (c *Facts) declaredAs(used PathPair) PathPair {
	if slices.Contains(c.Declared, used) {
		return used
	}
	for _, d := range c.Declared {
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
	// A client notices a loss after it begins, perhaps only within the window.
	s.DownMilliseconds = max(s.DownMilliseconds, min(ch.DownMilliseconds, int64(seconds*1000)))
	s.Retransmits += ch.Retransmits
	s.Replies += ch.Receives
	if s.State != bench.PathDown { // a path that is down for one client is down
		s.State = ch.State
	}
}

// Name returns the path as users know it.
func (s PathShare) Name() string {
	pair := PathPair{Local: s.Local, Path: s.Path}.String()
	if s.Role == bench.PathDataServer {
		return "data server " + pair
	}
	return pair
}

// Quiet counts the seconds of the measured windows in which a path carried nothing, and those of them in which another
// path of the client carried data.
type Quiet struct{ Seconds, Carried int }

// Meanwhile returns the quiet seconds of each path by its name. It looks at each sample once: a result may have
// thousands of paths.
func (c *Facts) Meanwhile() map[string]Quiet {
	all := map[string]Quiet{}
	for _, rep := range c.Repetitions {
		for _, p := range rep.parts {
			names := c.namesOf(p.rep)
			for _, s := range p.client.Load.Samples {
				if s.Span == runfile.SpanMeasure && s.Repetition == rep.Repetition {
					countQuiet(all, s, names)
				}
			}
		}
	}
	return all
}

// countQuiet adds a sample to the quiet seconds of the paths of its channels.
func countQuiet(all map[string]Quiet, s runfile.LoadSample, names map[int32]string) {
	total, bytes := int64(0), map[string]int64{}
	for _, ch := range s.Channels {
		n := ch.BytesRead + ch.BytesWritten
		total += n
		if name, known := names[ch.ID]; known {
			bytes[name] += n
		}
	}
	for name, own := range bytes {
		if own != 0 {
			continue
		}
		q := all[name]
		q.Seconds++
		q.Carried += int(min(total, 1))
		all[name] = q
	}
}

// namesOf returns the names of the paths of a repetition by channel ID.
func (c *Facts) namesOf(rep runfile.Repetition) map[int32]string {
	names := map[int32]string{}
	for _, ch := range rep.Channels {
		p := c.declaredAs(PathPair{Local: ch.Local, Path: ch.Path})
		names[ch.ID] = PathShare{Local: p.Local, Path: p.Path, Role: ch.Role}.Name()
	}
	return names
}
