package preflight

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// exportPolicy evaluates the rules as ONTAP does: in the order of their index; the first rule that matches client and
// protocol decides, and a client that matches none is refused. A rule must let the client both read and write.
//
// The array may see the address of the pod or of its node: one admitted address suffices. With IPv4 and IPv6, it sees
// the address of the IP version of the path. exportPolicy cannot resolve host names and netgroups, so a rule with one
// may admit the client, and passes.
func exportPolicy(in Input) string {
	s := in.survey()
	if s.Rules == nil || automatic(in) {
		return ""
	}
	rules := slices.SortedStableFunc(slices.Values(s.Rules),
		func(a, b runfile.ExportRule) int { return cmp.Compare(a.Index, b.Index) })
	var judged []netip.Addr
	why := ""
	for _, c := range s.Clients {
		a, err := netip.ParseAddr(c)
		if err != nil || !isSource(a.Unmap(), in.Target.Paths) {
			continue
		}
		refusal := refused(in, rules, a.Unmap())
		if refusal == "" {
			return ""
		}
		judged, why = append(judged, a.Unmap()), cmp.Or(why, refusal)
	}
	if len(judged) == 0 {
		return ""
	}
	return denial(in, judged, why)
}

// isSource reports whether a client may use one of the paths from this address, judged by the IP version.
func isSource(client netip.Addr, paths []bench.ResolvedPath) bool {
	return len(paths) == 0 || slices.ContainsFunc(paths, func(p bench.ResolvedPath) bool {
		server, err := netip.ParseAddr(p.Path)
		return err != nil || server.Unmap().Is4() == client.Is4()
	})
}

// automatic reports whether Trident maintains the rules. Trident adds a node's rule when it attaches the volume to the
// node, so before a kernel mount there is none.
func automatic(in Input) bool {
	if in.Target.Backend == nil || !plan.NeedsVolume(in.Benchmark) {
		return false
	}
	v := in.volume()
	return v.ExportPolicy == v.Name || strings.HasPrefix(v.ExportPolicy, "trident-") ||
		strings.HasSuffix(v.ExportPolicy, "empty")
}

// refused explains why the rules refuse a client; empty if they do not, or may not.
func refused(in Input, rules []runfile.ExportRule, client netip.Addr) string {
	for _, r := range rules {
		if !admits(r.Protocols, "any", "nfs", ruleProtocol(in.version())) {
			continue
		}
		switch match(r.Clients, client) {
		case yes:
			return unwanted(in, r)
		case maybe:
			return ""
		case no:
		}
	}
	return "no rule is for them and " + ruleProtocol(in.version())
}

// unwanted returns the part of a rule that prevents the run.
func unwanted(in Input, r runfile.ExportRule) string {
	flavour := security(in)
	switch {
	case !admits(r.ReadOnly, "any", "none", flavour): // "none" admits clients as anonymous
		return fmt.Sprintf("rule %d does not let them read with %s (rorule %s)", r.Index, flavour,
			strings.Join(r.ReadOnly, ","))
	case !admits(r.ReadWrite, "any", "none", flavour):
		return fmt.Sprintf("rule %d does not let them write with %s (rwrule %s)", r.Index, flavour,
			strings.Join(r.ReadWrite, ","))
	case isRoot(in) && !admits(r.SuperUser, "any", flavour):
		return fmt.Sprintf("protocol.userID is 0 and rule %d makes root somebody else (superuser %s)", r.Index,
			strings.Join(r.SuperUser, ","))
	default:
		return ""
	}
}

// denial describes the problem and the command that admits the clients.
func denial(in Input, clients []netip.Addr, why string) string {
	v := in.volume()
	names := make([]string, 0, len(clients))
	for _, c := range clients {
		names = append(names, c.String())
	}
	message := fmt.Sprintf("export policy %s of volume %s refuses the clients %s: %s", v.ExportPolicy, v.Name,
		strings.Join(names, ", "), why)
	if !in.isONTAP() {
		return message + ": add a rule there with rw, and no_root_squash where protocol.userID is 0"
	}
	superuser := "none"
	if isRoot(in) {
		superuser = security(in)
	}
	return message + fmt.Sprintf(": vserver export-policy rule create -vserver %s -policyname %s -ruleindex 1 "+
		"-clientmatch %s -protocol %s -rorule %s -rwrule %s -superuser %s",
		in.svm(), cmp.Or(v.ExportPolicy, "<policy>"), strings.Join(names, ","), ruleProtocol(in.version()), security(in),
		security(in), superuser)
}

func security(in Input) string {
	return string(cmp.Or(in.Benchmark.Spec.Protocol.Security, bench.SecuritySys))
}

func isRoot(in Input) bool {
	id := in.Benchmark.Spec.Protocol.UserID
	return id != nil && *id == 0
}

// ruleProtocol returns the name of a version in export rules.
func ruleProtocol(v bench.NFSVersion) string {
	if v == bench.NFSv3 {
		return "nfs3"
	}
	return "nfs4"
}

// admits reports whether a list of a rule has one of these words. An empty list is unknown or admits all.
func admits(list []string, words ...string) bool {
	return len(list) == 0 || slices.ContainsFunc(list, func(s string) bool { return slices.Contains(words, s) })
}

// answer is the result of matching a client against an address.
type answer int

const (
	no answer = iota
	maybe
	yes
)

// match compares an address with the client matches of one rule, each of which
// may be a list.
func match(matches []string, client netip.Addr) answer {
	best := no
	for m := range strings.SplitSeq(strings.Join(matches, ","), ",") {
		m = strings.TrimSpace(m)
		address, err := netip.ParseAddr(m)
		n, isNetwork := network(m)
		switch {
		case m == "*" || err == nil && address.Unmap() == client || isNetwork && n.Contains(client):
			return yes
		case err != nil && !isNetwork:
			best = maybe // a host name, .domain or @netgroup, or nothing: the rule's clients are unknown
		}
	}
	return best
}

// network parses 10.0.0.0/8 and 10.0.0.0/255.0.0.0.
func network(m string) (netip.Prefix, bool) {
	if n, err := netip.ParsePrefix(m); err == nil {
		return n, true
	}
	address, mask, ok := strings.Cut(m, "/")
	if !ok {
		return netip.Prefix{}, false
	}
	a, err := netip.ParseAddr(address)
	ip := net.ParseIP(mask).To4()
	if err != nil || ip == nil || !a.Is4() {
		return netip.Prefix{}, false
	}
	ones, size := net.IPMask(ip).Size()
	if size == 0 { // not a contiguous mask
		return netip.Prefix{}, false
	}
	return netip.PrefixFrom(a, ones), true
}
