package main

import (
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/test/gen"
)

// ended is a benchmark whose status has some numbers.
func ended(namespace, name string, change func(*v1alpha1.NFSBenchmark)) *v1alpha1.NFSBenchmark {
	b := gen.Benchmark(name, gen.UID(namespace+name))
	b.Namespace = namespace
	b.Status = v1alpha1.NFSBenchmarkStatus{
		Phase: v1alpha1.PhaseSucceeded, Verdict: bench.VerdictPass, CompletionTime: &metav1.Time{Time: now()},
		Summary:  &v1alpha1.Summary{Workload: "Read 1Mi", IOPS: new(int64(1200)), WirePercent: new(int32(99))},
		Findings: []bench.Finding{{Code: "TooShort"}, {Code: "IndirectPath"}},
	}
	if change != nil {
		change(b)
	}
	return b
}

func TestResultsAreOneLineForEachFinishedBenchmark(t *testing.T) {
	t.Parallel()
	hostile := ended("bench", "hostile", func(b *v1alpha1.NFSBenchmark) {
		b.Status.Summary.Workload = `=cmd|' /C calc'!A0`
		b.Status.Summary.Protocol = "a,\"b\"\x1b[31m"
		b.Labels = map[string]string{v1alpha1.LabelSuite: "nightly"}
	})
	underWay := ended("bench", "under-way", func(b *v1alpha1.NFSBenchmark) { b.Status.CompletionTime = nil })
	s := newShell(t, hostile, underWay, ended("bench", "plain", nil), ended("other", "elsewhere", nil))

	rows := func(args ...string) []map[string]string {
		t.Helper()
		o := s.run(append([]string{"results"}, args...)...).mustEnd(t, cli.ExitOK)
		lines, err := csv.NewReader(strings.NewReader(o.out)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		var all []map[string]string
		for _, line := range lines[1:] {
			row := map[string]string{}
			for i, cell := range line {
				row[lines[0][i]] = cell
			}
			all = append(all, row)
		}
		return all
	}
	got := rows()
	if len(got) != 2 || got[0]["name"] != "hostile" || got[1]["name"] != "plain" {
		t.Fatalf("rows %v", got)
	}
	if r := got[0]; r["workload"] != `'=cmd|' /C calc'!A0` || r["protocol"] != `a,"b"?[31m` || r["suite"] != "nightly" {
		t.Errorf("%q", r)
	}
	if r := got[1]; r["iops"] != "1200" || r["wirePercent"] != "99" || r["p99LatencyMicroseconds"] != "" ||
		r["findings"] != "TooShort IndirectPath" || r["completionTime"] != "2026-11-22T12:00:00Z" {
		t.Errorf("%q", r)
	}
	if got := rows("-A"); len(got) != 3 {
		t.Errorf("of all namespaces: %v", got)
	}
	if got := rows("-l", v1alpha1.LabelSuite+"=nightly"); len(got) != 1 {
		t.Errorf("of the suite: %v", got)
	}
	var row resultRow
	lines := strings.Split(strings.TrimSpace(s.run("results", "-o", "jsonl").mustEnd(t, cli.ExitOK).out), "\n")
	if err := json.Unmarshal([]byte(lines[1]), &row); err != nil || len(lines) != 2 || row["iops"] != 1200.0 || row["p99LatencyMicroseconds"] != nil {
		t.Errorf("%q: %v", lines, err)
	}
	s.run("results", "-o", "xml").mustEnd(t, cli.ExitBadInput).mustSay(t, "use csv or jsonl")
	s.run("results", "-l", "a in (").mustEnd(t, cli.ExitBadInput).mustSay(t, "--selector")
}
