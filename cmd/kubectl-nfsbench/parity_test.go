package main

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/test/gen"
)

// TestBothProgramsSayTheSame runs the verbs of nfsbench over files with the results that
// kubectl nfsbench reads from a cluster.
func TestBothProgramsSayTheSame(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "nfsbench")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../nfsbench").CombinedOutput(); err != nil {
		t.Fatalf("build nfsbench: %v\n%s", err, out)
	}
	begun := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	a, ma := finished(t, "a", 1)
	b, mb := finished(t, "b", 1, gen.Kernel, func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Workload.Raw.Pattern = bench.PatternRandomRead
		b.Spec.Run.DurationSeconds = 1
	})
	before, after := record(t, "s", "s-1", begun, 1), record(t, "s", "s-2", begun.Add(time.Hour), 1.25)
	s := newShell(t, a, ma, b, mb, suiteOf("s", nil), before, after)
	for name, m := range map[string]*corev1.ConfigMap{"a": ma, "b": mb, "s-1": before, "s-2": after} {
		data := slices.Collect(maps.Values(m.BinaryData))
		if len(data) != 1 {
			t.Fatalf("%s has %d keys, want one", name, len(data))
		}
		if err := os.WriteFile(filepath.Join(dir, name+".json.gz"), data[0], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	results, runs := [][]string{{"a", "b"}, {"a.json.gz", "b.json.gz"}}, [][]string{{"suite/s@s-1", "suite/s@s-2"}, {"s-1.json.gz", "s-2.json.gz"}}
	for name, c := range map[string]struct {
		args  [][]string // of the plugin, and of nfsbench
		flags []string
	}{
		"report of a result": {[][]string{{"a"}, {"a.json.gz"}}, nil},
		"report of a run":    {[][]string{{"suite/s@s-1"}, {"s-1.json.gz"}}, nil},
		"results":            {results, nil},
		"vary":               {results, []string{"--vary", "workload,protocol,schedule"}},
		"metrics":            {results, []string{"--metric", "P99Latency,IOPS", "--alpha", "0.2", "--correction", "None", "--minimum-effect", "0"}},
		"runs":               {runs, nil},
		"runs, alpha":        {runs, []string{"--alpha", "0.3", "--metric", "MeanLatency"}},
		"one run":            {[][]string{{"suite/s@s-2"}, {"s-2.json.gz"}}, []string{"--baseline", "client=nfs"}},
	} {
		for _, format := range []string{cli.FormatText, cli.FormatJSON} {
			t.Run(name+" as "+format, func(t *testing.T) {
				flags := append([]string{"-o", format}, c.flags...)
				verb := []string{"compare"}
				if strings.HasPrefix(name, "report") {
					verb = []string{"report"}
				}
				of := s.run(slices.Concat(verb, c.args[0], flags)...).mustEnd(t, cli.ExitOK)
				cmd := exec.CommandContext(t.Context(), program, slices.Concat(verb, c.args[1], flags)...)
				var out, errs bytes.Buffer
				cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
				if err := cmd.Run(); err != nil {
					t.Fatalf("%v: %s", err, errs.String())
				}
				if diff := cmp.Diff(of.out, out.String()); diff != "" {
					t.Errorf("standard output (-plugin +nfsbench):\n%s", diff)
				}
				if diff := cmp.Diff(of.err, errs.String()); diff != "" {
					t.Errorf("warnings (-plugin +nfsbench):\n%s", diff)
				}
			})
		}
	}
}
