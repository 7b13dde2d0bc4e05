package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

func TestAReportJoinsTheResultsOfAllClients(t *testing.T) {
	t.Parallel()
	b, m := finished(t, "demo", 2)
	s := newShell(t, b, m)
	one, mOne := finished(t, "one", 1)
	alone := newShell(t, one, mOne).run("report", "one", "-o", "json").mustEnd(t, cli.ExitOK)
	both := s.run("report", "demo", "-o", "json").mustEnd(t, cli.ExitOK)
	rate := func(o outcome) float64 {
		var j struct {
			Summary struct {
				Clients int
				Total   struct{ BytesPerSecond float64 }
			}
		}
		if err := json.Unmarshal([]byte(o.out), &j); err != nil {
			t.Fatalf("%v in %s", err, o.out)
		}
		return j.Summary.Total.BytesPerSecond
	}
	if rate(both) != 2*rate(alone) || rate(alone) == 0 {
		t.Errorf("two clients made %g B/s, one %g", rate(both), rate(alone))
	}
	s.run("report", "demo").mustEnd(t, cli.ExitOK).mustSay(t, "bench/demo", "MB/s")
}

func TestAReportIsAFileThatCanBeRepeated(t *testing.T) {
	t.Parallel()
	b, m := finished(t, "demo", 1)
	b.Annotations = map[string]string{"purpose": "acceptance"}
	s := newShell(t, b, m)
	file := filepath.Join(t.TempDir(), "demo.html")
	s.run("report", "demo", "-o", file).mustEnd(t, cli.ExitOK).mustSay(t, "Wrote "+file)
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"<html", "kind: NFSBenchmark", "purpose: acceptance"} {
		if !strings.Contains(string(page), text) {
			t.Errorf("the page has no %q", text)
		}
	}
	for _, text := range []string{"resourceVersion", "resultRef"} {
		if strings.Contains(string(page), text) {
			t.Errorf("the manifest in the page is that of one object: it has %s", text)
		}
	}
	s.run("report", "demo", "-o", "demo.pdf").mustEnd(t, cli.ExitBadInput).mustSay(t, "ends in .html, .txt or .json")
	s.run("report", "demo", "-o", "/does/not/exist/x.txt").mustEnd(t, cli.ExitBadInput).mustSay(t, "no such file or directory")
}

func TestWithoutAResultAReportSaysWhy(t *testing.T) {
	t.Parallel()
	running := gen.Benchmark("running")
	running.Status.Phase = v1alpha1.PhaseRunning
	failed := gen.Benchmark("failed")
	failed.Status.Phase, failed.Status.Message = v1alpha1.PhaseFailed, "the image could not be pulled"
	gone, _ := finished(t, "gone", 1)
	changed, m := finished(t, "changed", 2)
	delete(m.BinaryData, runfile.ResultKey(1))
	broken, mb := finished(t, "broken", 1)
	mb.BinaryData[runfile.ResultKey(0)] = []byte("{}")
	s := newShell(t, running, failed, gone, changed, m, broken, mb, suiteOf("new", func(x *v1alpha1.NFSBenchmarkSuite) {
		x.Status = v1alpha1.NFSBenchmarkSuiteStatus{Phase: v1alpha1.SuitePending, Message: "Argo Workflows is not installed"}
	}))
	for name, want := range map[string]string{
		"running": `has no result yet: it is Running; 'kubectl nfsbench watch running'`,
		"failed":  "ended as Failed without a result: the image could not be pulled",
		"gone":    `ConfigMap "nfsb-gone-result" with the result is gone`,
		"changed": `has no key "client-1.result.json.gz": it was changed`,
		"broken":  `ConfigMap "nfsb-broken-result": key "client-0.result.json.gz": read result: it names no version`,
		"new":     "suite/new has not run yet: Pending Argo Workflows is not installed",
	} {
		s.run("report", name).mustEnd(t, cli.ExitFailed).mustSay(t, want)
	}
}

func TestAReportOfASuiteIsOfTheRunThatIsMeant(t *testing.T) {
	t.Parallel()
	s := newShell(t, suiteOf("s", nil), record(t, "s", "s-1", begun(), 1.2), record(t, "s", "s-2", begun().Add(time.Hour), 1.3), record(t, "t", "t-1", begun().Add(2*time.Hour), 1.4))
	s.run("report", "suite/s").mustEnd(t, cli.ExitOK).mustSay(t, "suite/s  run s-2  Succeeded  2 cells, 12 of 12 benchmarks")
	s.run("report", "suite/s@s-1").mustEnd(t, cli.ExitOK).mustSay(t, "run s-1")
	s.run("report", "suite/s@t-1").mustEnd(t, cli.ExitBadInput).mustSay(t, `no record of a run "t-1"; there is s-2, s-1`)
	damaged := record(t, "s", "s-3", begun(), 1)
	damaged.BinaryData[runfile.KeySuiteRun] = []byte("{")
	if err := s.client.Create(t.Context(), damaged); err != nil {
		t.Fatal(err)
	}
	s.run("report", "suite/s").mustEnd(t, cli.ExitOK).mustSay(t, "run s-2", `warning: the record in ConfigMap "s-3-record" is left out`)
	file := filepath.Join(t.TempDir(), "s.html")
	s.run("report", "s", "-o", file).mustEnd(t, cli.ExitOK)
	if page, err := os.ReadFile(file); err != nil || !strings.Contains(string(page), "kind: NFSBenchmarkSuite") {
		t.Errorf("the page cannot be repeated: %v", err)
	}
}

func TestAReportOfAScheduledRunComparesItWithTheAcceptedOne(t *testing.T) {
	t.Parallel()
	var runs []runfile.SuiteRun
	for i, name := range []string{"s-1", "s-2", "s-3"} {
		runs = append(runs, runfile.SuiteRun{Run: name, Started: begun().Add(time.Duration(i) * time.Hour), Settings: runfile.SuiteSettings{Regression: &runfile.SuiteSignificance{Alpha: 0.05}}})
	}
	x := suiteOf("s", func(x *v1alpha1.NFSBenchmarkSuite) {
		x.Status.History = []v1alpha1.SuiteHistoryEntry{{Run: "s-3"}, {Run: "s-2", Verdict: v1alpha1.SuiteRegressed}, {Run: "s-1", Accepted: true}}
	})
	if g := regressionOf(x, runs[2], runs); g == nil || g.Baseline != "s-1" || g.Run != "s-3" {
		t.Errorf("compared %+v, want s-3 with s-1", g)
	}
	if g := regressionOf(x, runs[0], runs); g != nil {
		t.Errorf("the accepted run is compared with %s", g.Baseline)
	}
	x.Status.History[2].Accepted = false
	if g := regressionOf(x, runs[2], runs); g != nil {
		t.Errorf("nothing is accepted, and it is compared with %s", g.Baseline)
	}
}
