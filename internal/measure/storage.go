package measure

import (
	"cmp"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// storageSide adds the storage's own counters to a repetition.
func (c *Facts) storageSide(s *RepetitionFacts) {
	s.owner = c.Volume.Node
	for _, w := range s.StorageWindows {
		if len(w.VolumeNodes) > 0 { // a reading under load is more reliable than the survey before the run
			s.owner = w.VolumeNodes[0]
			break
		}
	}
	s.Used = c.usedAddresses(s.Summary)
	entries := Distinct(s.Used, func(address string) string {
		node, _ := c.endOf(address, s.StorageWindows)
		return node
	})
	var idle []*runfile.ObservedWindow
	for _, p := range s.parts {
		idle = append(idle, baselineOf(p.client, p.rep))
	}
	s.StorageNodes = c.storageNodes(*s, usable(idle), entries)
	s.StoragePaths = c.storagePaths(*s)
	s.Storage = storageLoad(c.Plan.Collect.Sources, s.StorageWindows)
}

// storageWindows returns the windows of each storage source once: the collector
// of every client reads the same counters.
func storageWindows(parts []part) []runfile.StorageWindow {
	var all []*runfile.ObservedWindow
	for _, p := range parts {
		all = append(all, p.window)
	}
	return usable(all)
}

// baselineOf returns the idle window before a repetition. The levels of one
// round share the baseline before the first.
func baselineOf(cl runfile.ClientResult, rep runfile.Repetition) *runfile.ObservedWindow {
	if w := windowOf(cl, runfile.SpanBaseline, rep.Index); w != nil || rep.Step == nil {
		return w
	}
	var last *runfile.ObservedWindow
	for w := range windowsOf(cl, runfile.SpanBaseline) {
		if w.Repetition < rep.Index && (last == nil || w.Repetition > last.Repetition) {
			last = w
		}
	}
	return last
}

// usable returns the windows with two readings and no reset between them,
// sorted by source.
func usable(windows []*runfile.ObservedWindow) []runfile.StorageWindow {
	var out []runfile.StorageWindow
	known := map[string]bool{}
	for _, w := range windows {
		for _, s := range bench.OrZero(w).Storage {
			if !known[s.Source] && !s.Reset && s.Seconds > 0 {
				known[s.Source] = true
				out = append(out, s)
			}
		}
	}
	slices.SortFunc(out, func(a, b runfile.StorageWindow) int { return cmp.Compare(a.Source, b.Source) })
	return out
}

// usedAddresses returns the storage addresses that carried the load.
func (c *Facts) usedAddresses(s Summary) []string {
	if c.Kernel() {
		return Distinct(c.result.Clients, func(cl runfile.ClientResult) string { return mountedAddress(cl.Load.Mount) })
	}
	return Distinct(Filtered(s.Paths, PathShare.Carried), func(p PathShare) string { return p.Path })
}

// mountedAddress returns the server address of a mount: as the kernel resolved
// it, or else as requested.
func mountedAddress(m *runfile.MountFacts) string {
	if m == nil {
		return ""
	}
	for _, o := range m.Options {
		if a, ok := strings.CutPrefix(o, "addr="); ok {
			return a
		}
	}
	server, _, _ := runfile.CutMountSource(m.Source)
	return server
}

// endOf returns the node of an address under load, or else before it, and the name of its LIF.
func (c *Facts) endOf(address string, windows []runfile.StorageWindow) (node, lif string) {
	for _, w := range windows {
		for _, p := range w.Paths {
			if runfile.SameAddress(p.Address, address) {
				node, lif = cmp.Or(node, p.Node), cmp.Or(lif, p.Name)
			}
		}
	}
	if l := c.Survey.LIF(address); l != nil {
		node, lif = cmp.Or(node, l.Node), cmp.Or(lif, l.Name)
	}
	return node, lif
}

// storageNodes returns the nodes that were sampled, and the nodes that take
// part in the load although their CPU cannot be read: a table without them
// would hide their work. The owner comes first, then the nodes where paths end.
func (c *Facts) storageNodes(s RepetitionFacts, baseline []runfile.StorageWindow, entries []string) []StorageNode {
	idle := map[[2]string]*int32{} // CPU by source and node
	for _, w := range baseline {
		for _, n := range w.Nodes {
			idle[[2]string{w.Source, n.Name}] = n.CPUPermille
		}
	}
	var nodes []StorageNode
	for _, w := range s.StorageWindows {
		for _, n := range w.Nodes {
			nodes = append(nodes, StorageNode{
				Source: w.Source, Name: n.Name, CPUPermille: n.CPUPermille, BaselineCPUPermille: idle[[2]string{w.Source, n.Name}],
			})
		}
	}
	for _, name := range append([]string{s.owner}, entries...) {
		if name != "" && !slices.ContainsFunc(nodes, func(n StorageNode) bool { return n.Name == name }) {
			nodes = append(nodes, StorageNode{Source: c.Survey.Source, Name: name})
		}
	}
	for i := range nodes {
		nodes[i].Owner = nodes[i].Name == s.owner && s.owner != ""
		nodes[i].Entry = slices.Contains(entries, nodes[i].Name)
	}
	rank := func(n StorageNode) int {
		switch {
		case n.Owner:
			return 0
		case n.Entry:
			return 1
		default:
			return 2
		}
	}
	slices.SortStableFunc(nodes, func(a, b StorageNode) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Name, b.Name))
	})
	return nodes
}

func (c *Facts) storagePaths(s RepetitionFacts) []StoragePath {
	var paths []StoragePath
	for _, w := range s.StorageWindows {
		for _, p := range w.Paths {
			sp := StoragePath{
				Source: w.Source, Address: p.Address, LIF: p.Name, Node: p.Node, ReadBytes: p.ReadBytes,
				WriteBytes: p.WriteBytes,
			}
			if l := c.Survey.LIF(p.Address); l != nil {
				sp.LIF, sp.Node = cmp.Or(sp.LIF, l.Name), cmp.Or(sp.Node, l.Node)
			}
			if s.owner != "" && sp.Node != "" {
				sp.Local = new(sp.Node == s.owner)
			}
			paths = append(paths, sp)
		}
	}
	return paths
}

// storageLoad takes each number from the first source that knows it: two
// sources of one array count the same.
func storageLoad(sources []runfile.Source, windows []runfile.StorageWindow) StorageLoad {
	var l StorageLoad
	for _, w := range windows {
		if ops, known := OpsRate(w); known && l.OperationsPerSecond == nil {
			l.OperationsPerSecond = rounded(ops)
		}
		if bytes, known := bytesRate(w); known && l.BytesPerSecond == nil {
			l.BytesPerSecond = rounded(bytes)
		}
		if us, known := meanLatency(w); known && l.MeanLatencyMicroseconds == nil {
			l.MeanLatencyMicroseconds = rounded(us)
			l.LatencyLayer = latencyLayer(sources, w.Source)
		}
	}
	return l
}

// latencyLayer returns the layer in which a source measures latency; empty for a user's own queries, which may
// measure any.
func latencyLayer(sources []runfile.Source, name string) string {
	for _, s := range sources {
		switch {
		case s.Name != name:
		case s.Kind == runfile.SourceONTAP,
			s.Kind == runfile.SourcePrometheus && len(s.Queries) == 0: // without queries of the user: Harvest's series
			return LayerVolume
		case s.Kind != runfile.SourcePrometheus:
			return LayerProtocol
		}
	}
	return ""
}

// meanLatency returns the mean latency of reads and writes together. It is
// unknown if a direction moved data with unknown latency.
func meanLatency(w runfile.StorageWindow) (float64, bool) {
	ops, us := 0.0, 0.0
	for _, d := range []struct{ ops, us *int64 }{{w.ReadOps, w.ReadMicroseconds}, {w.WriteOps, w.WriteMicroseconds}} {
		switch {
		case d.ops == nil:
			return 0, false
		case *d.ops == 0:
		case d.us == nil:
			return 0, false
		default:
			ops += float64(*d.ops)
			us += float64(*d.us)
		}
	}
	if ops < latencyOps {
		return 0, false
	}
	return us / ops, true
}

// collectorCPU returns the CPU use of the busiest collector.
func collectorCPU(parts []part) *int32 {
	var most *int32
	for _, p := range parts {
		if p.window == nil || p.window.CollectorCPUMicroseconds == nil {
			continue
		}
		if seconds := p.window.End.Sub(p.window.Start).Seconds(); seconds > 0 {
			most = larger(most, PermilleOf(float64(*p.window.CollectorCPUMicroseconds)/1e6/seconds))
		}
	}
	return most
}
