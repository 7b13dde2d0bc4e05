package report

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/experiments"
	"github.com/nfsbench/nfsbench/test/simulation"
)

func suite(t *testing.T, run runfile.SuiteRun, g *compare.Table) shownPage {
	t.Helper()
	var b bytes.Buffer
	if err := SuitePage(&b, run, compare.Run(compare.Request{Run: &run}), g, PageOptions{Reproduce: "kind: NFSBenchmarkSuite"}); err != nil {
		t.Fatal(err)
	}
	return read(t, b.String())
}

func TestThePageOfNFSVsDNFSHasItsTable(t *testing.T) {
	t.Parallel()
	d := suite(t, experiments.ImpactRun(), nil)
	for _, row := range experiments.Impacts() {
		d.has(t, fmt.Sprintf("%+.2f", row.Impact), fmt.Sprintf("%+.2f", row.Minimum), fmt.Sprintf("%+.2f", row.Maximum))
	}
	d.inOrder(t, "Comparison Mixed", "Against the baseline", "Against the load", "All cells", "In the order of the run", "Benchmarks", "Run it again", "kind: NFSBenchmarkSuite", `"alpha": 0.05`)
}

func TestAScheduledSuiteSaysFirstWhetherItRegressed(t *testing.T) {
	t.Parallel()
	accepted := simulation.Suite("a", 1, 0)
	for _, c := range []struct {
		slower float64
		want   string
	}{{.07, "Regression Regressed"}, {0, "Regression Not regressed"}} {
		run := simulation.Suite("b", 2, c.slower)
		g := compare.Run(compare.Request{Run: &run, Accepted: &accepted, History: []runfile.SuiteRun{simulation.Suite("c", 3, 0), simulation.Suite("d", 4, 0), accepted}, SuiteSignificance: run.Settings.Compare.SuiteSignificance})
		d := suite(t, run, &g)
		d.inOrder(t, "SIMULATED", c.want, "Comparison Better", "Run Succeeded", "Against the accepted run", "Noise floor")
	}
}

func TestARunThatIsNotOverDoesNotLookAsIfItWere(t *testing.T) {
	t.Parallel()
	run := simulation.Suite("a", 1, 0)
	run.Phase, run.Results, run.Ended = "", run.Results[:9], time.Time{}
	run.Results[3].Phase, run.Results[3].Reason = "Failed", "MountFailed"
	suite(t, run, nil).has(t, "Run Under way", "8 of 32 benchmarks", "1 did not succeed", "Failed: MountFailed")
}

func TestTheOrderPlotShowsDriftWhateverTheCellsDifferIn(t *testing.T) {
	t.Parallel()
	run := simulation.Suite("a", 1, 0)
	o := orderOf(run, bench.MetricThroughput)
	if len(o.Points) != len(run.Results) {
		t.Fatalf("%d points of %d results", len(o.Points), len(run.Results))
	}
	early, late := 0.0, 0.0
	for _, p := range o.Points {
		if math.Abs(p.Percent) > 8 {
			t.Errorf("%s lies %.1f %% from its own cell", p.Text, p.Percent)
		}
		if p.Position <= 8 {
			early += p.Percent / 8
		}
		if p.Position > 24 {
			late += p.Percent / 8
		}
	}
	if early-late < 1 {
		t.Errorf("the storage lost 3 %% over the run; the first quarter lies at %+.1f %% and the last at %+.1f %%", early, late)
	}
}

func TestAComparisonNamesWhatDiffers(t *testing.T) {
	t.Parallel()
	a, b := simulation.Hour(t, "same", 7, 0), simulation.Hour(t, "same", 8, .1)
	b.Plan.Engine.MountOptions = []string{"nconnect=8"}
	table := compare.Run(compare.Request{Sides: []compare.Side{compare.NewSide("before", a), compare.NewSide("after", b)}, SuiteSignificance: runfile.SuiteSignificance{Alpha: .05}})
	var w bytes.Buffer
	if err := ComparisonPage(&w, compare.NewSide("before", a), compare.NewSide("after", b), table, PageOptions{MinimumEffect: .02}); err != nil {
		t.Fatal(err)
	}
	d := read(t, w.String())
	d.inOrder(t, "after against before", "Comparison Unknown", "Baseline Suspect", "Candidate Suspect", "The difference", "too small to matter", "What differs between the two",
		"protocol mountOptions absent [\"nconnect=8\"]", "Both in one picture", "before, read", "after, read", "Run before again", "Run after again")
	if strings.Contains(d.text, "protocol nfsVersion") {
		t.Error("what is the same on both sides stands among what differs")
	}
}

func TestTheDistributionIsThatOfTheJudgement(t *testing.T) {
	t.Parallel()
	r := simulation.Hour(t, "x", 7, 0)
	j := judge.Judge(r)
	all := spreads(*j.Summary)
	if len(all) != 2 {
		t.Fatalf("%d directions", len(all))
	}
	for i, d := range []*measure.Direction{j.Summary.Read, j.Summary.Write} {
		sum := 0.0
		for _, b := range all[i].distribution().Bars {
			sum += b.Share
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Errorf("%s: the bars are %g of all", all[i].name, sum)
		}
		want := map[float64]int64{.5: d.Latency.P50Microseconds, .99: d.Latency.P99Microseconds, .999: d.Latency.P999Microseconds}
		for _, q := range all[i].curve("x").Points {
			if w, asked := want[q.X]; asked && math.Abs(q.Y-float64(w)) > .002*float64(w) {
				t.Errorf("%s: %g within %g µs, the judgement says %d", all[i].name, q.X, q.Y, w)
			}
			delete(want, q.X)
		}
		if len(want) > 0 {
			t.Errorf("%s: the curve lacks %v", all[i].name, want)
		}
	}
}
