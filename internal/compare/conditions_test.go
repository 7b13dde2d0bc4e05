package compare

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

func TestConditionsKnowWhatIsNoDifference(t *testing.T) {
	t.Parallel()
	of := func(change func(*runfile.Result)) runfile.Result {
		r := runfile.Result{
			Plan: runfile.Plan{Clients: 1, Engine: runfile.Engine{
				Client: bench.ClientDirectNFS, Server: "a", Export: "/x", Channels: []bench.ResolvedPath{{Local: "10.1.1.1", Path: "10.0.0.1"}},
			}},
			Clients: []runfile.ClientResult{{Host: runfile.Host{Node: "n1", CPUs: 4, Version: "v1"}, Load: runfile.Load{Mount: &runfile.MountFacts{Source: "10.0.0.1:/x"}}}},
		}
		change(&r)
		return r
	}
	embedded := func(r *runfile.Result) {
		r.Plan.Collect.Sources = []runfile.Source{{Kind: runfile.SourceEmbedded}}
	}
	cases := map[string]struct {
		reason string
		a, b   func(*runfile.Result)
		want   []Difference
	}{
		"label":    {"a server is labelled with its benchmark", func(*runfile.Result) {}, func(r *runfile.Result) { r.Plan.Engine.Server = "b" }, nil},
		"kernel":   {"a mount names the same export in another way", func(*runfile.Result) {}, func(r *runfile.Result) { r.Plan.Engine.Export = "" }, nil},
		"export":   {"another volume", func(*runfile.Result) {}, func(r *runfile.Result) { r.Plan.Engine.Export = "/z" }, []Difference{{"storage", "export", "/x", "/z"}}},
		"machine":  {"another node", func(*runfile.Result) {}, func(r *runfile.Result) { r.Clients[0].Host.Node = "n2" }, []Difference{{"clients", "client 0 node", "n1", "n2"}}},
		"program":  {"another version", func(*runfile.Result) {}, func(r *runfile.Result) { r.Clients[0].Host.Version = "" }, []Difference{{"program", "client 0 version", "v1", "absent"}}},
		"link":     {"declared for one", func(*runfile.Result) {}, func(r *runfile.Result) { r.Plan.Link = &bench.Link{MTU: 9000} }, []Difference{{"protocol", "link.bitsPerSecond", "absent", "0"}, {"protocol", "link.mtu", "absent", "9000"}}},
		"address":  {"another LIF", func(*runfile.Result) {}, func(r *runfile.Result) { r.Plan.Engine.Channels = runfile.ChannelsTo("10.0.0.2") }, []Difference{{"protocol", "paths", "10.1.1.1 -> 10.0.0.1", "10.0.0.2"}}},
		"embedded": {"its addresses are new each time", embedded, func(r *runfile.Result) { embedded(r); r.Plan.Engine.Channels = runfile.ChannelsTo("10.0.0.9") }, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, Differences(measure.Of(of(c.a)), measure.Of(of(c.b)))); diff != "" {
				t.Errorf("%s:\n%s", c.reason, diff)
			}
		})
	}
}
