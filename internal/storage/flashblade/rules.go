package flashblade

import (
	"cmp"
	"context"
	"math/bits"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// The words of export rules, which are those of runfile.ExportRule too.
const (
	flavourSys   = "sys"
	flavourAny   = "any"
	flavourNone  = "none"
	flavourNever = "never"
)

// policyRule is one rule of an export policy.
type policyRule struct {
	Client     string   `json:"client"`
	Access     string   `json:"access"`     // root-squash, all-squash, no-squash
	Permission string   `json:"permission"` // rw, ro
	Index      int32    `json:"index"`
	Security   []string `json:"security"`
}

// rules reads the export policy, or the rules that the file system carries itself.
func (v *survey) rules(ctx context.Context) error {
	const path = "/nfs-export-policies/rules"
	policy := v.fs.NFS.ExportPolicy.Name
	if policy == "" {
		var ok bool
		if v.out.Rules, ok = inlineRules(v.fs.NFS.Rules); !ok {
			v.miss("export rules", "the rules of the file system are not understood: "+strconv.Quote(v.fs.NFS.Rules), "")
		}
		return nil
	}
	rules, err := list[policyRule](ctx, v.Source, path, url.Values{"policy_names": {policy}})
	for _, r := range rules {
		v.out.Rules = append(v.out.Rules, exportRule(r))
	}
	slices.SortStableFunc(v.out.Rules, func(a, b runfile.ExportRule) int { return cmp.Compare(a.Index, b.Index) })
	return v.try("export rules", path, err)
}

func exportRule(r policyRule) runfile.ExportRule {
	flavours := r.Security
	if len(flavours) == 0 {
		flavours = []string{flavourSys}
	}
	out := runfile.ExportRule{
		Index: r.Index, Clients: clients(r.Client), Protocols: []string{"nfs"},
		ReadOnly: flavours, ReadWrite: flavours, SuperUser: []string{flavourNone},
	}
	if r.Permission == "ro" {
		out.ReadWrite = []string{flavourNever}
	}
	if r.Access == "no-squash" {
		out.SuperUser = []string{flavourAny}
	}
	return out
}

// clients writes the array's word for everybody as networks.
func clients(s string) []string {
	if s == "*" {
		return []string{"0.0.0.0/0", "::/0"}
	}
	return []string{s}
}

// inlineRules reads "10.0.0.0/8(rw,no_root_squash) *(ro)", rules as exports(5) writes them.
// Without options clients may only read.
func inlineRules(text string) ([]runfile.ExportRule, bool) {
	var all []runfile.ExportRule
	for i, word := range strings.Fields(text) {
		client, options, has := strings.Cut(word, "(")
		options, closed := strings.CutSuffix(options, ")")
		if client == "" || has != closed || strings.ContainsAny(options, "()") {
			return nil, false
		}
		r := policyRule{Client: client, Index: int32(i + 1), Permission: "ro", Access: "root-squash"} //nolint:gosec // a body is bounded
		for o := range strings.SplitSeq(options, ",") {
			switch {
			case o == "rw" || o == "ro":
				r.Permission = o
			case o == "no_root_squash":
				r.Access = "no-squash"
			case o == "root_squash" || o == "all_squash":
				r.Access = "root-squash"
			case strings.HasPrefix(o, "sec="):
				r.Security = strings.Split(strings.TrimPrefix(o, "sec="), ":")
			}
		}
		all = append(all, exportRule(r))
	}
	return all, true
}

// prefixLength reads 255.255.255.0, ffff:ffff:: and 64 alike; 0 = not known.
func prefixLength(a netip.Addr, mask string) int32 {
	if n, err := strconv.Atoi(mask); err == nil && n > 0 && n <= a.BitLen() {
		return int32(n) //nolint:gosec // at most 128
	}
	ip := net.ParseIP(mask)
	if ip == nil {
		return 0
	}
	raw := ip.To16()
	if a.Is4() {
		if raw = ip.To4(); raw == nil {
			return 0
		}
	}
	ones := 0
	for _, b := range raw {
		ones += bits.LeadingZeros8(^b)
		if b != 0xff {
			break
		}
	}
	return int32(ones) //nolint:gosec // at most 128
}
