package report

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/report/chart"
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

func TestTheCPUOfANodeComesFromItsOwnCounters(t *testing.T) {
	t.Parallel()
	node := func(busy, base int64, cores int32) runfile.StorageNode {
		n := runfile.StorageNode{Name: "a", BusyMicroseconds: &busy}
		if base > 0 {
			n.BaseMicroseconds = &base
		}
		if cores > 0 {
			n.Cores = &cores
		}
		return n
	}
	for name, c := range map[string]struct {
		a, b runfile.StorageNode
		want float64
	}{
		"cores":          {node(0, 0, 4), node(20e6, 0, 4), 50},
		"base":           {node(1e6, 10e6, 0), node(4e6, 20e6, 0), 30},
		"above the most": {node(0, 0, 1), node(20e6, 0, 1), 100},
		"went back":      {node(9e6, 0, 4), node(1e6, 0, 4), math.NaN()},
		"no cores":       {node(0, 0, 0), node(1e6, 0, 0), math.NaN()},
		"no counter":     {runfile.StorageNode{}, node(1e6, 0, 4), math.NaN()},
	} {
		if got := busyPercent(c.a, c.b, 10); got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%s: %g %%, want %g", name, got, c.want)
		}
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

func TestTheEdgesOfAWindowAreNoDip(t *testing.T) {
	t.Parallel()
	var r runfile.Result
	for client := range 2 {
		cl := runfile.ClientResult{Index: int32(client)}
		for i := range 20 { // the second begins 2.5 s later
			at := experiments.Start().Add(time.Duration(i)*time.Second + time.Duration(client)*2500*time.Millisecond)
			cl.Load.Samples = append(cl.Load.Samples, runfile.LoadSample{Time: at, Span: runfile.SpanMeasure, Repetition: 1, Read: &runfile.SampleOps{Count: 10, Bytes: 1e6, MeanMicroseconds: 100}})
		}
		r.Clients = append(r.Clients, cl)
	}
	c := courseOf(r)
	known := 0
	for _, p := range c.directions(func(o ops) float64 { return o.bytes })[0].Points {
		if math.IsNaN(p.Y) {
			continue
		}
		known++
		if p.Y != 2e6 {
			t.Errorf("at %.1f s there are %g bytes of one client alone", p.X, p.Y)
		}
	}
	if known < 16 {
		t.Errorf("%d seconds are left of 17", known)
	}
}

func TestAPathThatCarriedNothingFallsToZero(t *testing.T) {
	t.Parallel()
	c := courseOf(simulation.Hour(t, "x", 7, 0))
	if len(c.paths) != 4 {
		t.Fatalf("%d paths", len(c.paths))
	}
	zero := 0
	for _, b := range c.paths[slices.Sorted(maps.Keys(c.paths))[2]] {
		if b == 0 {
			zero++
		}
	}
	if zero < 30 || zero > 32 {
		t.Errorf("the third path carried nothing in %d seconds; it was lost for 31", zero)
	}
}

func TestAClockThatJumpsCannotTakeAllMemory(t *testing.T) {
	t.Parallel()
	r := runfile.Result{Clients: []runfile.ClientResult{{Load: runfile.Load{Samples: []runfile.LoadSample{
		{Time: experiments.Start()}, {Time: experiments.Start().AddDate(50, 0, 0)}, {Time: experiments.Start().AddDate(-50, 0, 0)},
	}}}}}
	if n := len(courseOf(r).slots); n > maxSlots {
		t.Errorf("%d intervals", n)
	}
	_ = chart.Clock(courseOf(r).end())
}
