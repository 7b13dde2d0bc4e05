package benchmark

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

// arrayScope is finishedScope against an array of two nodes, over the LIFs of
// the addresses.
func arrayScope(t *testing.T, selection bench.PathSelection, addresses ...string) *scope {
	t.Helper()
	s := finishedScope(t, gen.Repetitions(2))
	s.b.Spec.Protocol.Paths = &bench.Paths{Select: selection}
	survey := gen.Survey("/vol/oradata", "10.0.1.61", "10.0.2.61")
	s.target.Survey = &survey
	s.target.Sources = []runfile.Source{{Kind: runfile.SourceONTAP, Name: "ontap", URL: "https://10.0.0.5", SVM: "svm1", OneClient: true}}
	explicit := bench.Protocol{Paths: &bench.Paths{Select: bench.PathsExplicit}}
	for _, a := range addresses {
		explicit.Paths.Explicit = append(explicit.Paths.Explicit, bench.Path{Path: a})
	}
	var err error
	if s.target.Paths, err = plan.SelectPaths(v1alpha1.NFSBenchmarkSpec{Protocol: explicit}, nil, &survey); err != nil {
		t.Fatal(err)
	}
	p, err := plan.Build(s.b, *s.target)
	if err != nil {
		t.Fatal(err)
	}
	c := gen.Client(t, p, 0, noon)
	gen.OfArray(&c, p)
	s.plan, s.result, s.judgement = &p, &runfile.Result{Version: runfile.ResultVersion, Plan: p, Clients: []runfile.ClientResult{c}}, nil
	s.judgement = new(judge.Judge(*s.result))
	written(t, s)
	return s
}

// The table of the storage side: the same data by the right LIF, by the wrong
// one, and by both.
func TestTheStatusShowsWhatTheArraySaw(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		selection bench.PathSelection
		addresses []string
		cpu       string
		paths     string
		message   string // what follows the numbers
		roles     string
	}{
		"local":  {bench.PathsLocal, []string{"10.0.1.61"}, "a 35%, b 0%", "1 Local", "", "a [Owner Entry], b []"},
		"remote": {bench.PathsRemote, []string{"10.0.2.61"}, "a 32%, b 35%", "1 Remote", ". Path 10.0.2.61 (lif_b) is indirect: node a owns volume oradata, and node b is busy 35.0 %", "a [Owner], b [Entry]"},
		"all":    {bench.PathsAll, []string{"10.0.1.61", "10.0.2.61"}, "a 35%, b 35%", "2 Local+Remote", ". Path 10.0.2.61 (lif_b) is indirect: node a owns volume oradata, and node b is busy 35.0 %", "a [Owner Entry], b [Entry]"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := arrayScope(t, tc.selection, tc.addresses...)
			st := s.b.Status
			var roles []string
			for _, n := range st.StorageNodes {
				roles = append(roles, fmt.Sprintf("%s %v", n.Name, n.Roles))
			}
			got := []string{st.Summary.StorageCPU, st.Summary.Paths, strings.Join(roles, ", ")}
			if diff := cmp.Diff([]string{tc.cpu, tc.paths, tc.roles}, got); diff != "" {
				t.Error(diff)
			}
			if want := "209.7 MB/s, 200 IOPS" + tc.message + ". "; !strings.HasPrefix(st.Message, want) {
				t.Errorf("message %q, want %q first", st.Message, want)
			}
		})
	}
}

func TestTheSummaryHasTheNumbersOfTheStorage(t *testing.T) {
	t.Parallel()
	s := arrayScope(t, bench.PathsLocal, "10.0.1.61")
	sum, m := s.b.Status.Summary, s.judgement.Summary
	want := []any{new(int64(200)), new(int64(200 << 20)), new(int64(900)), new(int32(4)), "1.50 ms"}
	got := []any{m.Storage.OperationsPerSecond, m.Storage.BytesPerSecond, sum.StorageMeanLatencyMicroseconds, m.CollectorCPUPermille, sum.MeanLatency}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestStorageCPUIsInOneLine(t *testing.T) {
	t.Parallel()
	known := func(n string, v int32) measure.StorageNode { return measure.StorageNode{Name: n, CPUPermille: &v} }
	for want, nodes := range map[string][]measure.StorageNode{
		"":            {},
		"a 33%, b 0%": {known("a", 325), known("b", 4)},
		"a 32%, b ?":  {known("a", 324), {Name: "b"}},
	} {
		if got := storageCPUWords(nodes); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := storageCPUWords([]measure.StorageNode{{Name: "a"}, {Name: "b"}}); got != "" {
		t.Errorf("%q of nodes that nobody may read", got)
	}
}

func TestPathsAreSaidWhereAllAreKnown(t *testing.T) {
	t.Parallel()
	local, remote, none := bench.ResolvedPath{Locality: bench.LocalityLocal}, bench.ResolvedPath{Locality: bench.LocalityRemote}, bench.ResolvedPath{}
	for want, paths := range map[string][]bench.ResolvedPath{
		"":               nil,
		"1 Local":        {local},
		"2 Remote":       {remote, remote},
		"3 Local+Remote": {remote, local, remote},
		"2":              {local, none},
		"1":              {none},
	} {
		if got := pathWords(paths); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The API server refuses a list with one key twice, and with it all of a status.
func TestNoNodeIsThereTwice(t *testing.T) {
	t.Parallel()
	nodes := storageNodes([]measure.StorageNode{{Source: "x", Name: "a"}, {Source: "x", Name: "a"}, {Source: "y", Name: "a"}})
	if diff := cmp.Diff([]v1alpha1.StorageNodeStatus{{Name: "x/a"}, {Name: "y/a"}}, nodes); diff != "" {
		t.Error(diff)
	}
	var many []measure.StorageNode
	for i := range 100 {
		many = append(many, measure.StorageNode{Name: fmt.Sprint(strings.Repeat("n", 300), i)}, measure.StorageNode{Name: fmt.Sprint(i)})
	}
	if n := storageNodes(many); len(n) != 64 {
		t.Errorf("%d nodes", len(n))
	}
}

func TestTheLargestStorageTableFits(t *testing.T) {
	t.Parallel()
	s := finishedScope(t, gen.Repetitions(2))
	for i := range 64 {
		name := fmt.Sprint(i, strings.Repeat("x", 250))
		s.judgement.Summary.StorageNodes = append(s.judgement.Summary.StorageNodes, measure.StorageNode{Name: name, Owner: true, Entry: true, CPUPermille: new(int32(i))})
	}
	st := written(t, s)
	if n := sizeOf(t, st); n > 32<<10 || len(st.StorageNodes) == 0 {
		t.Errorf("%d bytes, %d nodes are left", n, len(st.StorageNodes))
	}
	if len(st.Summary.StorageCPU) > 256 {
		t.Errorf("storageCPU has %d bytes", len(st.Summary.StorageCPU))
	}
}
