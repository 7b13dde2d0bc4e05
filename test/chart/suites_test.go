package chart

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/crdcheck"
	"github.com/nfsbench/nfsbench/internal/matrix"
)

// shape is the size of a suite.
type shape struct {
	Cells       []string // by name
	Benchmarks  int
	Comparisons int
	Baseline    string // of those that are compared
}

// suiteSamples are the suites of config/samples, by name.
func suiteSamples(t *testing.T) map[string]*v1alpha1.NFSBenchmarkSuite {
	t.Helper()
	out := map[string]*v1alpha1.NFSBenchmarkSuite{}
	for _, o := range Objects(t, Kustomize(t, "config/samples")) {
		if o.GetKind() != "NFSBenchmarkSuite" {
			continue
		}
		raw := must(t)(yaml.Marshal(o.Object))
		s := &v1alpha1.NFSBenchmarkSuite{}
		if err := yaml.UnmarshalStrict(raw, s); err != nil {
			t.Fatal(err)
		}
		out[s.Name] = s
	}
	return out
}

// sixTests are the cells of dnfs-vs-pnfs.
func sixTests() []string {
	return []string{"nfsv3-local", "nfsv3-remote", "nfsv4-local", "nfsv4-remote", "pnfs-local", "pnfs-remote"}
}

// TestSuiteSamplesComeToWhatTheySay goes as far as the operator goes before it
// starts anything.
func TestSuiteSamplesComeToWhatTheySay(t *testing.T) {
	six := sixTests()
	want := map[string]shape{
		"dnfs-vs-pnfs-native":    {six, 36, 10, "nfsv3-local"},
		"dnfs-vs-pnfs-oracle":    {six, 36, 10, "nfsv3-local"},
		"dnfs-vs-pnfs-moved":     {[]string{"nfsv3", "nfsv4", "pnfs"}, 18, 0, ""},
		"capacity":               {[]string{"v3-one", "v3-four", "v41-one", "v41-four"}, 4, 3, "v3-one"},
		"dnfs-throughput-native": {[]string{"off", "on", "multipath", "two-clients"}, 20, 3, "off"},
		"dnfs-throughput-oracle": {[]string{"off", "on", "multipath", "rac"}, 20, 3, "off"},
		"nfs-vs-dnfs-native":     {[]string{"nfs", "dnfs"}, 16, 1, "nfs"},
		"nfs-vs-dnfs-oracle":     {[]string{"nfs", "dnfs"}, 16, 1, "nfs"},
		"nfs-vs-dnfs-loops":      {[]string{"nfs", "dnfs"}, 16, 1, "nfs"},
		"nfs-vs-dnfs-short":      {[]string{"nfs", "dnfs"}, 10, 1, "nfs"},
		"wire-speed-native":      {[]string{"read", "copy", "overwrite"}, 15, 0, ""},
		"wire-speed-oracle":      {[]string{"nfs", "dnfs"}, 10, 1, "nfs"},
		"two-paths":              {[]string{"one", "two"}, 8, 1, "one"},
		"nightly":                {[]string{"scan", "lookup"}, 12, 0, ""},
	}
	check, err := crdcheck.New()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]shape{}
	for name, s := range suiteSamples(t) {
		m, err := matrix.Expand(s)
		if err == nil {
			err = matrix.Check(m, s, check)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		is := shape{Benchmarks: len(m.Sequence)}
		for _, c := range m.Cells {
			is.Cells = append(is.Cells, c.Name)
			if c.Baseline != "" {
				is.Baseline = c.Baseline
				is.Comparisons += len(compare.Metrics(s.Spec.Compare.Metrics))
			}
		}
		got[name] = is
		t.Logf("%s: at least %d minutes", name, matrix.EstimatedSeconds(m)/60)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestCellsOfTheSamplesDifferInWhatTheirSuiteIsAbout looks at what the patches
// made of the template.
func TestCellsOfTheSamplesDifferInWhatTheirSuiteIsAbout(t *testing.T) {
	all, six := suiteSamples(t), sixTests()
	cell := func(suite, name string) v1alpha1.NFSBenchmarkSpec {
		t.Helper()
		m, err := matrix.Expand(all[suite])
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(m.Cells, func(c matrix.Cell) bool { return c.Name == name })
		if i < 0 {
			t.Fatalf("%s has no cell %s", suite, name)
		}
		var spec v1alpha1.NFSBenchmarkSpec
		if err := json.Unmarshal(m.Cells[i].Written, &spec); err != nil {
			t.Fatal(err)
		}
		return spec
	}
	if rac := cell("dnfs-throughput-oracle", "rac").Database; rac.Container != nil || rac.External == nil || len(rac.External.Services) != 2 {
		t.Errorf("the database of RAC is %+v", rac)
	}
	if e := cell("wire-speed-native", "copy").Expect; e.MinWirePercent != nil || e.MinMegabytesPerSecond == nil {
		t.Errorf("of the copy is expected %+v", e)
	}
	// The four tests of the throughput of Direct NFS, in one suite.
	for name, o := range map[string]bench.Toggle{"off": "", "on": bench.Disabled, "multipath": "", "rac": ""} {
		if got := cell("dnfs-throughput-oracle", name).Protocol.Oranfstab; got != o {
			t.Errorf("%s: oranfstab is %q; want %q", name, got, o)
		}
	}
	for suite, loops := range map[string]int32{"nfs-vs-dnfs-loops": 200, "nfs-vs-dnfs-oracle": 0} {
		for _, name := range []string{"nfs", "dnfs"} {
			if s := cell(suite, name).Workload.SLOB; s.WorkLoop != loops || len(s.Users) != 16 {
				t.Errorf("%s: %s has %d loops for %v users", suite, name, s.WorkLoop, s.Users)
			}
		}
	}
	// The volume moves, so the path must not follow it.
	for _, name := range []string{"nfsv3", "nfsv4", "pnfs"} {
		if p := cell("dnfs-vs-pnfs-moved", name).Protocol.Paths; p.Select != bench.PathsExplicit || len(p.Explicit) != 1 {
			t.Errorf("moved: %s is over %+v", name, p)
		}
	}
	for _, engine := range []string{"native", "oracle"} {
		remote := cell("dnfs-vs-pnfs-"+engine, "pnfs-remote").Protocol
		if remote.Version != bench.PNFS || remote.Paths.Select != bench.PathsRemote {
			t.Errorf("%s: pnfs-remote is %+v", engine, remote)
		}
		for _, name := range six {
			if c := cell("dnfs-vs-pnfs-"+engine, name).Protocol.Client; c != bench.ClientDirectNFS {
				t.Errorf("%s: %s compares the client %s with another", engine, name, c)
			}
		}
		off, on := cell("dnfs-throughput-"+engine, "off").Protocol, cell("dnfs-throughput-"+engine, "on").Protocol
		if off.Client != bench.ClientKernel || on.Client != bench.ClientDirectNFS || !cmp.Equal(off.Paths, on.Paths) {
			t.Errorf("%s: off %+v, on %+v", engine, off, on)
		}
		if s := all["nfs-vs-dnfs-"+engine]; s.Spec.Compare.ImpactOf != v1alpha1.DenominatorCandidate || s.Spec.Blocks != v1alpha1.BlocksABBA {
			t.Errorf("%s: nfs-vs-dnfs is no longer as it was published: %+v", engine, s.Spec)
		}
	}
}

// TestSuitesThatCanShowNothingAreRefused shows that the check above can fail: one
// repetition less than the samples that say that they have the least.
func TestSuitesThatCanShowNothingAreRefused(t *testing.T) {
	check, err := crdcheck.New()
	if err != nil {
		t.Fatal(err)
	}
	all := suiteSamples(t)
	for _, name := range []string{"dnfs-vs-pnfs-native", "dnfs-throughput-oracle", "nfs-vs-dnfs-short", "two-paths"} {
		s := all[name]
		s.Spec.Repetitions--
		m, err := matrix.Expand(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := matrix.Check(m, s, check); err == nil || !strings.Contains(err.Error(), "repetitions") {
			t.Errorf("%s with %d repetitions: %v", name, s.Spec.Repetitions, err)
		}
	}
}
