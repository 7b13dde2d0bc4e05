package preflight

import (
	"net/netip"
	"testing"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

func rule(index int32, client string, change ...func(*runfile.ExportRule)) runfile.ExportRule {
	r := runfile.ExportRule{Index: index, Clients: []string{client}, Protocols: []string{"any"}, ReadOnly: []string{"any"}, ReadWrite: []string{"any"}, SuperUser: []string{"any"}}
	for _, c := range change {
		c(&r)
	}
	return r
}

func rules(all ...runfile.ExportRule) func(*Input) {
	return func(in *Input) { in.Target.Survey.Rules = all }
}

func policyCases() map[string]checkCase {
	root := func(in *Input) { in.Benchmark.Spec.Protocol.UserID = new(int64(0)) }
	kerberos := func(in *Input) { in.Benchmark.Spec.Protocol.Security = "krb5p" }
	only := func(protocol string) func(*runfile.ExportRule) {
		return func(r *runfile.ExportRule) { r.Protocols = []string{protocol} }
	}
	readWrite := func(flavours ...string) func(*runfile.ExportRule) {
		return func(r *runfile.ExportRule) { r.ReadWrite = flavours }
	}
	readOnly := func(flavours ...string) func(*runfile.ExportRule) {
		return func(r *runfile.ExportRule) { r.ReadOnly = flavours }
	}
	superUser := func(flavours ...string) func(*runfile.ExportRule) {
		return func(r *runfile.ExportRule) { r.SuperUser = flavours }
	}
	trident := func(policy string) func(*Input) {
		return both(rules(rule(1, "10.9.9.9")), func(in *Input) {
			in.Target.Backend = &plan.Backend{Driver: "ontap-nas", SVM: "svm1"}
			in.Benchmark.Spec.Protocol.Client = bench.ClientKernel
			in.Target.Survey.Volume.ExportPolicy = policy
		})
	}
	dual := func(paths ...string) func(*Input) {
		return func(in *Input) {
			in.Target.Survey.Clients = []string{"10.244.0.7", "fd00:244::7", "10.0.9.3", "fd00:9::3"}
			in.Target.Survey.LIFs = append(in.Target.Survey.LIFs, runfile.LIF{Name: "six", Address: "fd00:1::61", Node: "n1"})
			in.Target.Paths = nil
			for _, p := range paths {
				in.Target.Paths = append(in.Target.Paths, bench.ResolvedPath{Path: p})
			}
		}
	}
	const code = ExportPolicyDenies
	create := `refuses the clients 10\.244\.0\.7, 10\.0\.9\.3: .*: vserver export-policy rule create -vserver svm1 -policyname oracle -ruleindex 1 -clientmatch 10\.244\.0\.7,10\.0\.9\.3 -protocol nfs3 -rorule sys -rwrule sys -superuser none$`
	return map[string]checkCase{
		"nobody's rule":          {code, rules(rule(1, "10.0.8.0/24")), create},
		"rule for the node":      {code, rules(rule(1, "10.0.8.0/24"), rule(2, "10.0.9.3")), ""},
		"rule for the pod":       {code, rules(rule(1, "10.244.0.0/16")), ""},
		"rule for all":           {code, rules(rule(1, "0.0.0.0/0")), ""},
		"rule with a mask":       {code, rules(rule(1, "10.0.9.0/255.255.255.0")), ""},
		"mask of others":         {code, rules(rule(1, "10.0.8.0/255.255.255.0")), `no rule is for them and nfs3`},
		"a list":                 {code, rules(rule(1, "10.1.1.1, 10.0.9.3")), ""},
		"star":                   {code, both(flash, rules(rule(1, "*"))), ""},
		"host name":              {code, rules(rule(1, "db1.example")), ""},
		"netgroup":               {code, rules(rule(1, "@oracle")), ""},
		"domain":                 {code, rules(rule(1, ".example")), ""},
		"another protocol":       {code, rules(rule(1, "0.0.0.0/0", only("nfs4"))), `no rule is for them and nfs3`},
		"protocol cifs":          {code, rules(rule(1, "0.0.0.0/0", only("cifs"))), create},
		"this protocol":          {code, rules(rule(1, "0.0.0.0/0", only("nfs3"))), ""},
		"v4 of the rules":        {code, both(version(bench.NFSv41), rules(rule(1, "0.0.0.0/0", only("nfs3")))), `-protocol nfs4 `},
		"read only":              {code, rules(rule(1, "0.0.0.0/0", readWrite("never"))), `rule 1 does not let them write with sys \(rwrule never\)`},
		"write without read":     {code, rules(rule(1, "0.0.0.0/0", readOnly("krb5"))), `rule 1 does not let them read with sys \(rorule krb5\)`},
		"as nobody":              {code, rules(rule(1, "0.0.0.0/0", readWrite("krb5", "none"))), ""},
		"another flavour":        {code, both(kerberos, rules(rule(1, "0.0.0.0/0", readWrite("sys")))), `write with krb5p .* -rorule krb5p -rwrule krb5p`},
		"flavours not known":     {code, rules(rule(1, "0.0.0.0/0", readWrite(), readOnly())), ""},
		"the first decides":      {code, rules(rule(2, "0.0.0.0/0"), rule(1, "0.0.0.0/0", readWrite("never"))), `rule 1 does not`},
		"the first by index":     {code, rules(rule(2, "0.0.0.0/0", readWrite("never")), rule(1, "0.0.0.0/0")), ""},
		"for whom is not told":   {code, rules(rule(1, "", func(r *runfile.ExportRule) { r.Clients = nil })), ""},
		"a name before":          {code, rules(rule(1, "db1"), rule(2, "0.0.0.0/0", readWrite("never"))), ""},
		"a name after":           {code, rules(rule(1, "0.0.0.0/0", readWrite("never")), rule(2, "db1")), `rule 1`},
		"root squashed":          {code, both(root, rules(rule(1, "0.0.0.0/0", superUser("none")))), `userID is 0 and rule 1 .*superuser none\): .* -superuser sys$`},
		"root stays":             {code, both(root, rules(rule(1, "0.0.0.0/0", superUser("sys")))), ""},
		"squashed, not root":     {code, rules(rule(1, "0.0.0.0/0", superUser("none"))), ""},
		"no clients known":       {code, both(rules(rule(1, "10.0.8.0/24")), func(in *Input) { in.Target.Survey.Clients = nil }), ""},
		"clients of names only":  {code, both(rules(rule(1, "10.0.8.0/24")), func(in *Input) { in.Target.Survey.Clients = []string{"pod"} }), ""},
		"no rules known":         {code, rules(), ""},
		"known to have none":     {code, rules([]runfile.ExportRule{}...), create},
		"not ONTAP":              {code, both(flash, rules(rule(1, "10.0.8.0/24"))), `add a rule there with rw`},
		"Trident's own rules":    {code, trident("oradata"), ""},
		"Trident's empty rules":  {code, trident("trident_empty"), ""},
		"Trident's, not mounted": {code, both(trident("oradata"), func(in *Input) { in.Benchmark.Spec.Protocol.Client = bench.ClientDirectNFS }), `no rule is for them`},
		"Trident's, of a database": {code, both(trident("oradata"), func(in *Input) {
			in.Benchmark.Spec.Protocol.Client = bench.ClientDirectNFS
			in.Benchmark.Spec.Database = &v1alpha1.Database{Container: &v1alpha1.DatabaseContainer{}}
		}), ""},
		"IPv4 rule, IPv6 path": {code, both(dual("fd00:1::61"), rules(rule(1, "0.0.0.0/0"))), `refuses the clients fd00:244::7, fd00:9::3: no rule is for them and nfs3: .* -clientmatch fd00:244::7,fd00:9::3 `},
		"IPv6 rule, IPv6 path": {code, both(dual("fd00:1::61"), rules(rule(1, "::/0"))), ""},
		"IPv6 rule, IPv4 path": {code, both(dual("10.0.1.61"), rules(rule(1, "::/0"))), `refuses the clients 10\.244\.0\.7, 10\.0\.9\.3: `},
		"paths of both":        {code, both(dual("10.0.1.61", "fd00:1::61"), rules(rule(1, "fd00:9::/64"))), ""},
		"a path with a name":   {code, both(dual("nas1.example"), rules(rule(1, "::/0"))), ""},
		"no path yet":          {code, both(dual(), rules(rule(1, "::/0"))), ""},
		"rules of somebody":    {code, trident("oracle"), create},
	}
}

func TestAClientMatchIsReadAsTheArrayWritesIt(t *testing.T) {
	t.Parallel()
	cases := map[string]answer{
		"10.0.9.3": yes, "10.0.9.4": no, "10.0.9.0/24": yes, "10.0.9.7/24": yes, "10.0.9.0/255.255.255.0": yes,
		"10.0.9.0/255.0.255.0": maybe, "10.0.9.0/nonsense": maybe, "::/0": no, "0.0.0.0/0": yes, "::ffff:10.0.9.3": yes,
		"": maybe, "@group": maybe, ".domain": maybe, "host": maybe, "*": yes, "10.1.1.1,10.0.9.3": yes, "host,10.1.1.1": maybe,
	}
	for m, want := range cases {
		if got := match([]string{m}, netip.MustParseAddr("10.0.9.3")); got != want {
			t.Errorf("%q: %d, want %d", m, got, want)
		}
	}
}
