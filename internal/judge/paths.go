package judge

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// pathPair is one path of a run: a server address, and the client address that
// it is reached from.
type pathPair struct{ Local, Path string }

func (p pathPair) String() string {
	return runfile.PlanChannel{Local: p.Local, Path: p.Path}.String()
}

// pathsOf are the paths of one client: those that the plan declares, or
// else those that were connected. A mount of the kernel is one path.
func pathsOf(plan runfile.Plan, c runfile.ClientResult) []pathPair {
	if plan.Engine.Client != runfile.ClientDirectNFS {
		source := plan.Engine.MountPath
		if m := c.Load.Mount; m != nil && m.Source != "" {
			source = m.Source
		}
		return []pathPair{{Path: source}}
	}
	if declared := declaredPaths(plan); len(declared) > 0 {
		return declared
	}
	return connectedPaths(c)
}

// declaredPaths are the channels of the plan.
func declaredPaths(plan runfile.Plan) []pathPair {
	var pairs []pathPair
	for _, ch := range plan.Engine.Channels {
		pairs = append(pairs, pathPair{Local: ch.Local, Path: ch.Path})
	}
	return pairs
}

func connectedPaths(c runfile.ClientResult) []pathPair {
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

// carriersOf are the interfaces that carry the load of one client: those with
// the local address of a channel, or, for a mount of the kernel, those that
// moved a tenth of its bytes.
func carriersOf(plan runfile.Plan, c runfile.ClientResult) []runfile.Interface {
	if plan.Engine.Client != runfile.ClientDirectNFS {
		return busyInterfaces(c)
	}
	var found []runfile.Interface
	for _, p := range connectedPaths(c) {
		i, ok := interfaceOf(c.Observed.Interfaces, p.Local)
		if !ok {
			return nil
		}
		if !slices.ContainsFunc(found, func(f runfile.Interface) bool { return f.Name == i.Name }) {
			found = append(found, i)
		}
	}
	return found
}

func busyInterfaces(c runfile.ClientResult) []runfile.Interface {
	load, moved := int64(0), map[string]int64{}
	for _, rep := range c.Load.Repetitions {
		load += opsBytes(rep.Read) + opsBytes(rep.Write)
	}
	for _, w := range c.Observed.Windows {
		if w.Kind != windowMeasure {
			continue
		}
		for _, i := range w.Interfaces {
			moved[i.Name] += i.ReceivedBytes + i.SentBytes
		}
	}
	var busy []runfile.Interface
	for _, i := range c.Observed.Interfaces {
		if load > 0 && moved[i.Name] >= load/10 {
			busy = append(busy, i)
		}
	}
	return busy
}

// interfaceOf finds the interface that has an address, written with or without
// its prefix length.
func interfaceOf(all []runfile.Interface, local string) (runfile.Interface, bool) {
	want, err := netip.ParseAddr(local)
	if err != nil {
		return runfile.Interface{}, false
	}
	for _, i := range all {
		for _, a := range i.Addresses {
			if addressOf(a) == want {
				return i, true
			}
		}
	}
	return runfile.Interface{}, false
}

func addressOf(s string) netip.Addr {
	if p, err := netip.ParsePrefix(s); err == nil {
		return p.Addr()
	}
	a, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Addr{}
	}
	return a
}

func usesIPv6(plan runfile.Plan, c runfile.ClientResult) bool {
	return slices.ContainsFunc(pathsOf(plan, c), func(p pathPair) bool { return isIPv6(p.Path) })
}

// nodeOf is the machine of a client. Without a node name each client counts as
// a machine of its own.
func nodeOf(c runfile.ClientResult) string {
	if c.Host.Node != "" {
		return c.Host.Node
	}
	return c.Host.Name
}

// loadedNodes are the machines that do the I/O of a client: its own, or the hosts
// of an external database.
func loadedNodes(plan runfile.Plan, c runfile.ClientResult) []string {
	var hosts []string
	if d := plan.Database; d != nil && d.Kind == runfile.DatabaseExternal && c.Load.Oracle != nil {
		for _, i := range c.Load.Oracle.Instances {
			hosts = append(hosts, cmp.Or(i.Host, i.Name))
		}
	}
	if len(hosts) == 0 {
		return []string{nodeOf(c)}
	}
	return hosts
}
