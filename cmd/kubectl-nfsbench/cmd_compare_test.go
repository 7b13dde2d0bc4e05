package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/test/gen"
)

// lines are the comparisons of a JSON output.
type lines struct {
	Comparisons []struct {
		Candidate, Baseline, Outcome    string
		ImpactPercent                   float64
		CandidateValues, BaselineValues []float64
		P                               *float64
	}
}

func (o outcome) lines(t *testing.T) lines {
	t.Helper()
	var c lines
	if err := json.Unmarshal([]byte(o.out), &c); err != nil {
		t.Fatalf("%v in %s", err, o.out)
	}
	return c
}

func TestCompareOfTwoBenchmarksIsByTheirRepetitions(t *testing.T) {
	t.Parallel()
	a, ma := finished(t, "before", 1)
	b, mb := finished(t, "after", 2)
	s := newShell(t, a, ma, b, mb)
	got := s.run("compare", "before", "after", "--metric", "throughput", "-o", "json").mustEnd(t, cli.ExitOK).lines(t)
	if len(got.Comparisons) != 1 {
		t.Fatalf("%d lines, want one for the metric", len(got.Comparisons))
	}
	l := got.Comparisons[0]
	// gen makes each client read the same, so two read twice as much.
	if l.Candidate != "after" || l.Baseline != "before" || l.ImpactPercent != 100 || len(l.CandidateValues) != 4 || l.P == nil || l.Outcome != "Better" {
		t.Errorf("compared %+v", l)
	}
	back := s.run("compare", "before", "after", "--metric", "Throughput", "--baseline", "after", "-o", "json").mustEnd(t, cli.ExitOK).lines(t).Comparisons[0]
	if back.Baseline != "after" || back.ImpactPercent != -50 || back.Outcome != "Worse" {
		t.Errorf("with the other baseline: %+v", back)
	}
	small := s.run("compare", "before", "after", "--metric", "Throughput", "--alpha", "0.01", "-o", "json").mustEnd(t, cli.ExitOK)
	if l := small.lines(t).Comparisons[0]; l.Outcome == "Better" {
		t.Errorf("four repetitions reach p 0.029, and alpha 0.01 is met by %+v", l)
	}
	small.mustSay(t, "TooFewRepetitions", "2/C(8,4)")
	s.run("compare", "before", "after", "--metric", "Throughput", "--minimum-effect", "100", "-o", "json").mustEnd(t, cli.ExitOK).mustSay(t, `"outcome": "Better"`)
	s.run("compare", "before", "after").mustEnd(t, cli.ExitOK).mustSay(t, "after", "against before")
	file := filepath.Join(t.TempDir(), "c.html")
	s.run("compare", "before", "after", "-o", file).mustEnd(t, cli.ExitOK)
	if page, err := os.ReadFile(file); err != nil || !strings.Contains(string(page), "<html") {
		t.Errorf("no page: %v", err)
	}
}

func TestCompareWarnsOfMoreThanOneDifference(t *testing.T) {
	t.Parallel()
	a, ma := finished(t, "a", 1)
	same, mSame := finished(t, "same", 1)
	kernel, mKernel := finished(t, "kernel", 1, gen.Kernel)
	random, mRandom := finished(t, "random", 1, gen.Kernel, func(b *v1alpha1.NFSBenchmark) { b.Spec.Workload.Raw.Pattern = bench.PatternRandomRead })
	longer, mLonger := finished(t, "longer", 1, gen.Repetitions(9))
	s := newShell(t, a, ma, same, mSame, kernel, mKernel, random, mRandom, longer, mLonger)
	const warning = "not run under the same conditions"
	for _, args := range [][]string{
		{"compare", "a", "same"},
		{"compare", "a", "kernel"}, // what is compared
		{"compare", "a", "longer"}, // more of the same
		{"compare", "a", "random", "--vary", "Protocol,workload"},
	} {
		if o := s.run(args...).mustEnd(t, cli.ExitOK); strings.Contains(o.err, warning) {
			t.Errorf("%v: %s", args, o.err)
		}
	}
	s.run("compare", "a", "random").mustEnd(t, cli.ExitOK).mustSay(t, warning, "protocol (client DirectNFS and Kernel", "workload (raw.pattern Read and RandomRead)", "--vary GROUP")
	o := s.run("compare", "a", "random", "--vary", "workload").mustEnd(t, cli.ExitOK)
	o.mustSay(t, warning, "protocol (")
	if strings.Contains(o.err, "raw.pattern") {
		t.Errorf("what is meant to differ is warned of: %s", o.err)
	}
	s.run("compare", "a", "random", "--vary", "mood").mustEnd(t, cli.ExitBadInput).mustSay(t, "use protocol, storage, workload")
}

func TestCompareSaysWhoseNumbersAreDoubtful(t *testing.T) {
	t.Parallel()
	a, ma := finished(t, "a", 1)
	b, mb := finished(t, "b", 1, gen.Version(bench.NFSv3), func(b *v1alpha1.NFSBenchmark) { b.Spec.Run.DurationSeconds = 1 })
	s := newShell(t, a, ma, b, mb)
	s.run("compare", "a", "b").mustEnd(t, cli.ExitOK).mustSay(t, "warning: the numbers of b are Suspect (", "its report says why")
	s.run("compare", "a", "a").mustEnd(t, cli.ExitBadInput).mustSay(t, `"a" is compared with itself`)
}

func TestCompareOfOneSuiteIsAsItDeclaresOrAsAsked(t *testing.T) {
	t.Parallel()
	b, mb := finished(t, "b", 1)
	s := newShell(t, suiteOf("s", nil), record(t, "s", "s-1", begun(), 0.5), b, mb)
	s.run("compare", "suite/s").mustEnd(t, cli.ExitBadInput).mustSay(t, "declares no comparison: give --baseline AXIS=VALUE; it has client=nfs|dnfs")
	l := s.run("compare", "suite/s", "--baseline", "client=nfs", "--metric", "MeanLatency", "-o", "json").mustEnd(t, cli.ExitOK).lines(t)
	if len(l.Comparisons) != 1 || l.Comparisons[0].Candidate != "dnfs" || l.Comparisons[0].ImpactPercent != 50 || l.Comparisons[0].Outcome != "Better" {
		t.Errorf("half the latency is %+v", l.Comparisons)
	}
	for arg, want := range map[string]string{"nfs": "for a suite write AXIS=VALUE", "path=a": `no axis "path"; it has client=nfs|dnfs`, "client=smb": `axis "client" has nfs, dnfs`} {
		s.run("compare", "suite/s", "--baseline", arg).mustEnd(t, cli.ExitBadInput).mustSay(t, want)
	}
	s.run("compare", "b").mustEnd(t, cli.ExitBadInput).mustSay(t, "name another one to compare it with")
	s.run("compare", "b", "suite/s").mustEnd(t, cli.ExitBadInput).mustSay(t, "not of one kind")
}

func TestCompareRefusesFlagsThatMeanNothing(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--alpha", "1"}, {"--minimum-effect", "-1"}, {"--metric", "speed"}, {"--correction", "Bonferroni"}} {
		newShell(t).run(append([]string{"compare", "a", "b"}, args...)...).mustEnd(t, cli.ExitBadInput).mustSay(t, args[0]+" is ")
	}
}

func TestCompareOfTwoRunsHoldsEachCellAgainstItself(t *testing.T) {
	t.Parallel()
	s := newShell(t, suiteOf("s", nil), record(t, "s", "s-1", begun(), 1), record(t, "s", "s-2", begun().Add(time.Hour), 1.25))
	o := s.run("compare", "suite/s@s-1", "suite/s", "--metric", "MeanLatency", "-o", "json").mustEnd(t, cli.ExitOK)
	got := map[string]string{}
	for _, l := range o.lines(t).Comparisons {
		got[l.Candidate+" against "+l.Baseline] = l.Outcome
	}
	want := map[string]string{"nfs against s-1": "NoDifference", "dnfs against s-1": "Worse"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	text := s.run("compare", "suite/s@s-1", "suite/s@s-2", "--metric", "MeanLatency").mustEnd(t, cli.ExitOK)
	if n := strings.Count(text.out, "against s-1"); n != 1 {
		t.Errorf("%d tables of one metric:\n%s", n, text.out)
	}
	s.run("compare", "suite/s@s-2", "suite/s").mustEnd(t, cli.ExitBadInput).mustSay(t, `both are run "s-2"`)
	s.run("compare", "suite/s@s-1", "suite/s@s-2", "--baseline", "x").mustEnd(t, cli.ExitBadInput).mustSay(t, `one of the two, "suite/s@s-1" or "suite/s@s-2"`)
}
