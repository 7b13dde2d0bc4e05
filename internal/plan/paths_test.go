package plan_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// twoNodes is an array whose volume is on node a, with LIFs given as "name
// address node", and "down" behind it for one that is.
func twoNodes(lifs ...string) *runfile.Survey {
	s := &runfile.Survey{Volume: &runfile.SurveyVolume{Name: "data", Node: "a"}}
	for _, l := range lifs {
		f := strings.Fields(l)
		s.LIFs = append(s.LIFs, runfile.LIF{Name: f[0], Address: f[1], Node: f[2], Prefix: 24, Up: new(len(f) == 3)})
	}
	return s
}

func paths(p []bench.ResolvedPath) []string {
	var out []string
	for _, x := range p {
		out = append(out, x.Path)
	}
	return out
}

func TestPathsAreChosenByWhatTheArraySays(t *testing.T) {
	both := twoNodes("lif2 10.0.2.61 b", "lif1 10.0.1.61 a", "lif3 10.0.3.61 a")
	cases := map[string]struct {
		reason string
		selec  bench.PathSelection
		client bench.NFSClient
		ver    bench.NFSVersion
		survey *runfile.Survey
		want   []string

		database *v1alpha1.Database
	}{
		"Local":         {"the first by name on the owner", "Local", "DirectNFS", "NFSv3", both, []string{"10.0.1.61"}, nil},
		"Remote":        {"one on another node", "Remote", "DirectNFS", "NFSv3", both, []string{"10.0.2.61"}, nil},
		"All":           {"those of the owner come first", "All", "DirectNFS", "NFSv3", both, []string{"10.0.1.61", "10.0.3.61", "10.0.2.61"}, nil},
		"Default":       {"All is the default", "", "DirectNFS", "NFSv3", both, []string{"10.0.1.61", "10.0.3.61", "10.0.2.61"}, nil},
		"V41":           {"the native engine trunks", "All", "DirectNFS", "NFSv4.1", both, []string{"10.0.1.61", "10.0.3.61", "10.0.2.61"}, nil},
		"V40":           {"several connections may use one client ID", "All", "DirectNFS", "NFSv4.0", both, []string{"10.0.1.61", "10.0.3.61", "10.0.2.61"}, nil},
		"PNFS":          {"a path carries metadata only", "All", "DirectNFS", "pNFS", both, []string{"10.0.1.61"}, nil},
		"OracleV41":     {"Oracle's client takes one path for each export with v4.x", "All", "DirectNFS", "NFSv4.1", both, []string{"10.0.1.61"}, &v1alpha1.Database{}},
		"OracleV3":      {"Oracle's client spreads over all with v3", "All", "DirectNFS", "NFSv3", both, []string{"10.0.1.61", "10.0.3.61", "10.0.2.61"}, &v1alpha1.Database{}},
		"KernelV41":     {"the kernel mounts one address", "All", "Kernel", "NFSv4.1", both, []string{"10.0.1.61"}, nil},
		"Kernel":        {"the kernel mounts one address", "All", "Kernel", "NFSv3", both, []string{"10.0.1.61"}, nil},
		"LocalDown":     {"a LIF that is down is no path", "Local", "DirectNFS", "NFSv3", twoNodes("lif1 10.0.1.61 a down", "lif2 10.0.2.61 a"), []string{"10.0.2.61"}, nil},
		"SameSubnet":    {"one for each subnet", "All", "DirectNFS", "NFSv3", twoNodes("lif1 10.0.1.61 a", "lif2 10.0.1.62 b", "lif3 10.0.2.61 b"), []string{"10.0.1.61", "10.0.2.61"}, nil},
		"FourAtMost":    {"an oranfstab takes four", "All", "DirectNFS", "NFSv3", twoNodes("l1 10.0.1.1 a", "l2 10.0.2.1 a", "l3 10.0.3.1 a", "l4 10.0.4.1 a", "l5 10.0.5.1 a"), []string{"10.0.1.1", "10.0.2.1", "10.0.3.1", "10.0.4.1"}, nil},
		"NothingKnown":  {"without LIFs the declared addresses are all there are", "All", "DirectNFS", "NFSv3", &runfile.Survey{}, []string{"10.9.9.9"}, nil},
		"ExplicitKept":  {"what is listed is used, whatever the array says", "Explicit", "DirectNFS", "NFSv3", both, []string{"10.0.2.61"}, nil},
		"MovedVolume":   {"the owner decides, not the name", "Local", "DirectNFS", "NFSv3", moved(both), []string{"10.0.2.61"}, nil},
		"RemoteIsOther": {"Remote follows the volume too", "Remote", "DirectNFS", "NFSv3", moved(both), []string{"10.0.1.61"}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := bench.Protocol{Client: tc.client, Version: tc.ver, Paths: &bench.Paths{Select: tc.selec}}
			if tc.selec == bench.PathsExplicit {
				p.Paths.Explicit = []bench.Path{{Path: "10.0.2.61"}}
			}
			got, err := plan.SelectPaths(v1alpha1.NFSBenchmarkSpec{Protocol: p, Database: tc.database}, []string{"10.9.9.9"}, tc.survey)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, paths(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func selects(p bench.Protocol) v1alpha1.NFSBenchmarkSpec {
	return v1alpha1.NFSBenchmarkSpec{Protocol: p}
}

func moved(s *runfile.Survey) *runfile.Survey {
	c := *s
	c.Volume = &runfile.SurveyVolume{Name: "data", Node: "b"}
	return &c
}

func TestPathsHaveTheIPVersionsOfTheExport(t *testing.T) {
	dual := twoNodes("lif1 10.0.1.61 a", "lif2 10.0.2.61 b", "six1 fd00:0:0:1::61 a", "six2 fd00:0:0:2::61 b")
	for i := range dual.LIFs[2:] {
		dual.LIFs[2+i].Prefix = 64
	}
	for name, tc := range map[string]struct {
		reason    string
		selection bench.PathSelection
		addresses []string
		want      []string
	}{
		"IPv4":    {"pods without an address of IPv6", "All", []string{"10.0.1.61"}, []string{"10.0.1.61", "10.0.2.61"}},
		"IPv6":    {"", "All", []string{"FD00:0:0:1::61"}, []string{"fd00:0:0:1::61", "fd00:0:0:2::61"}},
		"both":    {"", "All", []string{"10.0.1.61", "fd00:0:0:1::61"}, []string{"10.0.1.61", "fd00:0:0:1::61", "10.0.2.61", "fd00:0:0:2::61"}},
		"a name":  {"it may have addresses of both", "All", []string{"nas1.example"}, []string{"10.0.1.61", "fd00:0:0:1::61", "10.0.2.61", "fd00:0:0:2::61"}},
		"unknown": {"a volume of Trident, before it is mounted", "All", nil, []string{"10.0.1.61", "fd00:0:0:1::61", "10.0.2.61", "fd00:0:0:2::61"}},
		"Local":   {"", "Local", []string{"fd00:0:0:1::61"}, []string{"fd00:0:0:1::61"}},
		"Remote":  {"", "Remote", []string{"fd00:0:0:1::61"}, []string{"fd00:0:0:2::61"}},
	} {
		spec := v1alpha1.NFSBenchmarkSpec{Protocol: bench.Protocol{
			Client: "DirectNFS", Version: "NFSv3", Paths: &bench.Paths{Select: tc.selection},
		}}
		got, err := plan.SelectPaths(spec, tc.addresses, dual)
		if diff := cmp.Diff(tc.want, paths(got)); diff != "" || err != nil {
			t.Errorf("%s (%s): %v, paths (-want +got):\n%s", name, tc.reason, err, diff)
		}
		if len(got) > 0 && got[0].Node != "a" && tc.selection != "Remote" {
			t.Errorf("%s: the node of %s is %q, want a", name, got[0].Path, got[0].Node)
		}
	}
	got, err := plan.SelectPaths(v1alpha1.NFSBenchmarkSpec{}, []string{"fd00::1"}, twoNodes("lif1 10.0.1.61 a"))
	if err != nil || !cmp.Equal(paths(got), []string{"10.0.1.61"}) {
		t.Errorf("no LIF of this version: %v, %v; want all LIFs, as without an address", paths(got), err)
	}
}

func TestNoPathIsSaidWithWhatToDo(t *testing.T) {
	cases := map[string]struct {
		selec  bench.PathSelection
		survey *runfile.Survey
		says   string
	}{
		"NoSurvey":     {"Local", nil, "select: All or Explicit"},
		"NoOwner":      {"Remote", &runfile.Survey{Volume: &runfile.SurveyVolume{Name: "fg"}}, "select: All or Explicit"},
		"NoLocal":      {"Local", twoNodes("lif2 10.0.2.61 b"), "on node a, which owns volume data"},
		"NoRemote":     {"Remote", twoNodes("lif1 10.0.1.61 a"), "on another node than a"},
		"RemoteIsDown": {"Remote", twoNodes("lif2 10.0.2.61 b down"), "network interface create"},
		"AllDown":      {"All", twoNodes("lif1 10.0.1.61 a down"), "none of the 1 NFS LIFs is up"},
	}
	for name, tc := range cases {
		_, err := plan.SelectPaths(selects(bench.Protocol{Paths: &bench.Paths{Select: tc.selec}}), []string{"10.9.9.9"}, tc.survey)
		if !errors.Is(err, plan.ErrNoPath) || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: got %v, want it to say %q", name, err, tc.says)
		}
	}
}

func TestResolvedPathsSayWhereTheyEnd(t *testing.T) {
	s := twoNodes("lif1 10.0.1.61 a", "lif2 fd00::2 b")
	explicit := bench.Protocol{Paths: &bench.Paths{
		Select: bench.PathsExplicit, Explicit: []bench.Path{{Local: "10.0.1.9", Path: "10.0.1.61"}, {Path: "fd00:0::2"}, {Path: "filer"}},
	}}
	want := []bench.ResolvedPath{
		{Local: "10.0.1.9", Path: "10.0.1.61", LIF: "lif1", Node: "a", Locality: bench.LocalityLocal},
		{Path: "fd00:0::2", LIF: "lif2", Node: "b", Locality: bench.LocalityRemote},
		{Path: "filer"},
	}
	got, err := plan.SelectPaths(selects(explicit), nil, s)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, err := plan.SelectPaths(selects(explicit), nil, nil); err != nil || got[0].Locality != "" || got[0].Node != "" {
		t.Errorf("nobody said where %+v is (%v)", got, err)
	}
}

// TestPathsWhoseSubnetIsUnknownAreAllUsed: an array need not report the length of a prefix.
func TestPathsWhoseSubnetIsUnknownAreAllUsed(t *testing.T) {
	for prefix, want := range map[int32]int{0: 2, 8: 1, 24: 2} {
		survey := &runfile.Survey{LIFs: []runfile.LIF{
			{Name: "a", Address: "10.0.1.1", Prefix: prefix}, {Name: "b", Address: "10.0.2.1", Prefix: prefix},
		}}
		paths, err := plan.SelectPaths(selects(bench.Protocol{Version: bench.NFSv3, Client: bench.ClientDirectNFS}), nil, survey)
		if err != nil || len(paths) != want {
			t.Errorf("/%d: %+v, %v; want %d paths", prefix, paths, err, want)
		}
	}
}
