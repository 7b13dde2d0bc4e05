package preflight

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// unknownLIF finds addresses that the array does not have: of paths, and of the servers of an export, because a typing
// error there measures another array. It cannot check host names.
func unknownLIF(in Input) string {
	s := in.survey()
	if len(s.LIFs) == 0 {
		return ""
	}
	type use struct{ field, address string }
	var used []use
	field := "the path"
	if p := in.Benchmark.Spec.Protocol.Paths; p != nil && p.Select == bench.PathsExplicit {
		field = "protocol.paths.explicit"
	}
	for _, p := range in.Target.Paths {
		used = append(used, use{field, p.Path})
	}
	if e := in.Benchmark.Spec.Storage.Export; e != nil {
		for _, server := range e.Servers {
			used = append(used, use{"storage.export.servers", server})
		}
	}
	for _, u := range used {
		if _, err := netip.ParseAddr(u.address); err != nil || s.LIF(u.address) != nil {
			continue
		}
		var has []string
		for _, l := range s.LIFs {
			has = append(has, strings.TrimSpace(l.Address+" "+l.Name))
		}
		return fmt.Sprintf("%s %s is no address that the array serves NFS at: use one of %s, or correct storage.array",
			u.field, u.address, strings.Join(has, ", "))
	}
	return ""
}

func lifDown(in Input) string {
	for _, l := range lifs(in) {
		if !isOff(l.Up) {
			continue
		}
		if in.isONTAP() {
			return fmt.Sprintf("path %s (LIF %s) is down or disabled: network interface modify -vserver %s -lif %s "+
				"-status-admin up, and look at its port (network port show -node %s)", l.Address, l.Name, in.svm(), l.Name,
				cmp.Or(l.Node, "<node>"))
		}
		return fmt.Sprintf("path %s (%s) is down or disabled on the array: enable it there, or leave it out of "+
			"protocol.paths", l.Address, l.Name)
	}
	return ""
}

// lifs returns the LIFs of the selected paths, as far as the survey has them.
func lifs(in Input) []runfile.LIF {
	var found []runfile.LIF
	for _, p := range in.Target.Paths {
		if l := in.Target.Survey.LIF(p.Path); l != nil {
			found = append(found, *l)
		}
	}
	return found
}

// tooManyPaths refuses several paths of Oracle's Direct NFS to ONTAP with NFSv4.x: it has exactly one path for each
// export (NetApp's documentation). The native engine uses all paths.
func tooManyPaths(in Input) string {
	n := len(in.Target.Paths)
	if n < 2 || in.Benchmark.Spec.Database == nil || in.version() == bench.NFSv3 || !in.isONTAP() {
		return ""
	}
	return fmt.Sprintf("%d paths with %s: with ONTAP, Oracle's Direct NFS uses one path for each export from NFSv4 on; "+
		"name one in protocol.paths.explicit, or set protocol.version to NFSv3", n, in.version())
}

// sameSubnet compares the subnets that the array has for its LIFs.
func sameSubnet(in Input) string {
	type place struct {
		runfile.LIF
		address netip.Addr
		network netip.Prefix
	}
	var chosen []place
	for _, l := range lifs(in) {
		a, err := netip.ParseAddr(l.Address)
		if err != nil || l.Prefix <= 0 {
			continue
		}
		if n, err := a.Unmap().Prefix(int(l.Prefix)); err == nil {
			chosen = append(chosen, place{l, a.Unmap(), n})
		}
	}
	for i, a := range chosen {
		for _, b := range chosen[i+1:] {
			if a.network == b.network && a.address != b.address {
				return fmt.Sprintf("paths %s (%s) and %s (%s) are both in %s: Linux sends all traffic of a subnet through one "+
					"interface, so the second path gains nothing; leave one out of protocol.paths, or put the LIF into a subnet of "+
					"its own", a.Address, a.Name, b.Address, b.Name, a.network)
			}
		}
	}
	return ""
}
