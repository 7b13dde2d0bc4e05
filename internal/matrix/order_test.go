package matrix_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/matrix"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// TestTheSameSeedGivesTheSameOrderForEver holds the orders of published seeds: a
// suite that is repeated in some years, with another Go, must run in this order.
func TestTheSameSeedGivesTheSameOrderForEver(t *testing.T) {
	four := templateOf + "\n  axes: [{name: a, values: [{name: a}, {name: b}, {name: c}, {name: d}]}]\n  repetitions: 3\n  seed: 2\n"
	pairs := templateOf + axesOf + "\n  repetitions: 3\n  blocks: ABBA\n"
	cases := map[string]struct{ spec, want string }{
		"Randomized": {four, "c,d,b,a | b,d,c,a | b,a,d,c"},
		"Random":     {four + "  order: Random", "b,d,a,c,c,b,a,b,c,d,d,a"},
		"Sequential": {four + "  order: Sequential", "a,a,a,b,b,b,c,c,c,d,d,d"},
		"ABBA":       {four + "  blocks: ABBA", "a,b,c,d | d,c,b,a | a,b,c,d"},
		"ABBAInPairs": {
			pairs + "  compare: {baseline: {client: nfs}, alpha: '0.5'}",
			"nfs-1 dnfs-1 nfs-16 dnfs-16 | dnfs-16 nfs-16 dnfs-1 nfs-1 | nfs-1 dnfs-1 nfs-16 dnfs-16",
		},
	}
	for name, tc := range cases {
		if got := order(expand(t, tc.spec)); got != strings.NewReplacer(" | ", " ", ",", " ").Replace(tc.want) {
			t.Errorf("%s: got %s, want %s", name, got, tc.want)
		}
	}
}

func TestTheSeedIsThatOfTheExperiment(t *testing.T) {
	of := func(change func(*v1alpha1.NFSBenchmarkSuite)) int64 {
		s := suite(t, templateOf+axesOf)
		change(s)
		m := expanded(t, s)
		return m.Seed
	}
	given, same := int64(-7), func(*v1alpha1.NFSBenchmarkSuite) {}
	if got := of(func(s *v1alpha1.NFSBenchmarkSuite) { s.Spec.Seed = &given }); got != given {
		t.Errorf("the user's seed is %d", got)
	}
	base := of(same)
	if base < 0 {
		t.Errorf("the seed %d is negative", base)
	}
	ttl := int32(60)
	unchanged := map[string]func(*v1alpha1.NFSBenchmarkSuite){
		"suspend":  func(s *v1alpha1.NFSBenchmarkSuite) { s.Spec.Suspend = true },
		"shutdown": func(s *v1alpha1.NFSBenchmarkSuite) { s.Spec.Shutdown = v1alpha1.ShutdownStop },
		"ttl":      func(s *v1alpha1.NFSBenchmarkSuite) { s.Spec.TTLSecondsAfterFinished = &ttl },
		"status":   func(s *v1alpha1.NFSBenchmarkSuite) { s.Status.Phase = v1alpha1.SuiteRunning; s.ResourceVersion = "9" },
		"compare":  func(s *v1alpha1.NFSBenchmarkSuite) { s.Spec.Compare = nil },
	}
	for name, change := range unchanged {
		if got := of(change); got != base {
			t.Errorf("%s changes the seed, and so the order of a run under way", name)
		}
	}
	changed := map[string]func(*v1alpha1.NFSBenchmarkSuite){
		"name":        func(s *v1alpha1.NFSBenchmarkSuite) { s.Name = "other" },
		"namespace":   func(s *v1alpha1.NFSBenchmarkSuite) { s.Namespace = "other" },
		"repetitions": func(s *v1alpha1.NFSBenchmarkSuite) { s.Spec.Repetitions++ },
		"template":    func(s *v1alpha1.NFSBenchmarkSuite) { s.Spec.Template.Spec.Clients++ },
	}
	for name, change := range changed {
		if of(change) == base {
			t.Errorf("another %s has the same seed", name)
		}
	}
}

// randomSuite has some axes, excludes and includes.
func randomSuite(t *testing.T, r *rand.Rand) *v1alpha1.NFSBenchmarkSuite {
	t.Helper()
	var b strings.Builder
	b.WriteString(templateOf + "\n  axes:")
	axes := 1 + r.IntN(3)
	for a := range axes {
		fmt.Fprintf(&b, "\n  - {name: a%d, values: [", a)
		for v := range 2 + r.IntN(3) {
			fmt.Fprintf(&b, "{name: v%d%d, patch: {clients: %d}}, ", a, v, v+1)
		}
		b.WriteString("]}")
	}
	if r.IntN(2) == 0 {
		fmt.Fprintf(&b, "\n  exclude: [{values: {a0: v0%d, a%d: v%d0}}]", r.IntN(2), axes-1, axes-1)
	}
	if r.IntN(2) == 0 {
		fmt.Fprintf(&b, "\n  include: [{name: x, values: {a%d: v%d1}}, {name: z, values: {a0: v0%d}}]", axes-1, axes-1, r.IntN(2))
	}
	orders := []string{"Interleaved", "Sequential", "Random"}
	fmt.Fprintf(&b, "\n  repetitions: %d\n  order: %s\n  blocks: %s\n  seed: %d", 7+r.IntN(4), orders[r.IntN(3)], []string{"ABBA", "Randomized"}[r.IntN(2)], r.Int64())
	if axes > 1 {
		fmt.Fprintf(&b, "\n  compare: {baseline: {a%d: v%d0}, alpha: '0.5'}", r.IntN(axes), 0)
	}
	spec := b.String()
	for a := range axes {
		spec = strings.ReplaceAll(spec, fmt.Sprintf("baseline: {a%d: v00}", a), fmt.Sprintf("baseline: {a%d: v%d0}", a, a))
	}
	return suite(t, spec)
}

func TestEachCellAndRepetitionRunsOnceInWhateverOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		s := randomSuite(t, r)
		m := expanded(t, s)
		seen := map[matrix.Slot]bool{}
		last := map[int]int32{}
		for i, slot := range m.Sequence {
			if seen[slot] || slot.Repetition < 1 || slot.Repetition > s.Spec.Repetitions {
				t.Fatalf("slot %d is %+v again, or out of range", i, slot)
			}
			if slot.Repetition != last[slot.Cell]+1 {
				t.Fatalf("slot %d: repetition %d of cell %d follows %d", i, slot.Repetition, slot.Cell, last[slot.Cell])
			}
			seen[slot], last[slot.Cell] = true, slot.Repetition
			if s.Spec.Order == v1alpha1.OrderInterleaved && int(slot.Repetition) != i/len(m.Cells)+1 {
				t.Fatalf("slot %d of an interleaved suite is of round %d", i, slot.Repetition)
			}
		}
		if want := len(m.Cells) * int(s.Spec.Repetitions); len(seen) != want {
			t.Fatalf("%d of %d run", len(seen), want)
		}
	}
}

// TestTheShuffleFavoursNoPlace counts where each cell comes in a round; with 6000
// rounds of 4 cells each place is expected 1500 times, with a deviation of 34.
func TestTheShuffleFavoursNoPlace(t *testing.T) {
	var counts [4][4]int
	for seed := range 120 {
		m := expand(t, templateOf+fmt.Sprintf("\n  axes: [{name: a, values: [{name: a}, {name: b}, {name: c}, {name: d}]}]\n  repetitions: 50\n  seed: %d", seed))
		for i, s := range m.Sequence {
			counts[s.Cell][i%4]++
		}
	}
	for cell, places := range counts {
		for place, n := range places {
			if n < 1500-170 || n > 1500+170 { // five deviations
				t.Errorf("cell %d is %d times at place %d", cell, n, place)
			}
		}
	}
}

func recordOf(s *v1alpha1.NFSBenchmarkSuite, m matrix.Matrix) runfile.SuiteRun {
	run := runfile.SuiteRun{Settings: runfile.SuiteSettings{Compare: &runfile.SuiteCompare{
		SuiteSignificance: runfile.SuiteSignificance{Metrics: []string{bench.MetricMeanLatency, bench.MetricThroughput}, Alpha: 0.5, Correction: "Holm"},
		Baseline:          map[string]string{}, ImpactOf: "Baseline",
	}}}
	for axis, v := range s.Spec.Compare.Baseline {
		run.Settings.Compare.Baseline[axis] = string(v)
	}
	for _, c := range m.Cells {
		run.Cells = append(run.Cells, c.SuiteCell)
	}
	for i, slot := range m.Sequence {
		run.Results = append(run.Results, runfile.SuiteResult{
			Cell: m.Cells[slot.Cell].Name, Repetition: slot.Repetition, Position: int32(i + 1), Phase: "Succeeded", Validity: "Valid",
			Points: []runfile.SuitePoint{{Metrics: map[string]float64{bench.MetricMeanLatency: float64(100 + i), bench.MetricThroughput: float64(1000 + i)}}},
		})
	}
	return run
}

// TestAnExtraCellIsNoBaselineOfTheCombinations: it has the values of one, and a
// patch of its own, which nobody meant to compare with.
func TestAnExtraCellIsNoBaselineOfTheCombinations(t *testing.T) {
	s := suite(t, templateOf+axesOf+`
  compare: {baseline: {client: nfs}}
  include:
  - {name: tuned, values: {client: nfs, users: "16"}, patch: {clients: 2}}
  - {name: some, values: {users: "16"}}`)
	m := expanded(t, s)
	want := map[string]string{"dnfs-1": "nfs-1", "dnfs-16": "nfs-16", "some": "nfs-16"}
	got, compared := map[string]string{}, map[string]string{}
	for _, c := range m.Cells {
		if c.Baseline != "" {
			got[c.Name] = c.Baseline
		}
	}
	for _, l := range compare.Run(compare.Request{Run: new(recordOf(s, m))}).Comparisons {
		compared[l.Cell] = l.Baseline
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, compared); diff != "" {
		t.Errorf("package compare (-want +got):\n%s", diff)
	}
}
