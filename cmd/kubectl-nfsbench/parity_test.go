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
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/crdcheck"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

// builtNFSBench is the other program, in a folder of the test.
func builtNFSBench(t *testing.T) (dir, program string) {
	t.Helper()
	dir = t.TempDir()
	program = filepath.Join(dir, "nfsbench")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../nfsbench").CombinedOutput(); err != nil {
		t.Fatalf("build nfsbench: %v\n%s", err, out)
	}
	return dir, program
}

// TestBothProgramsPlanTheSame gives the same flags to nfsbench load and to kubectl nfsbench run, and the
// manifest of the second to nfsbench load -f. The plans differ in what only a cluster has.
func TestBothProgramsPlanTheSame(t *testing.T) {
	t.Parallel()
	dir, program := builtNFSBench(t)
	check, err := crdcheck.New()
	if err != nil {
		t.Fatal(err)
	}
	common := func(p runfile.Plan) runfile.Plan {
		p.Run, p.Seed, p.Schedule.TimeoutSeconds = runfile.Identity{}, 0, 0
		p.Engine.UserID, p.Engine.GroupID, p.Engine.Security, p.Engine.MountTimeoutSeconds = nil, nil, "", 0
		if s := p.Workload.SLOB; s != nil { // what its access does not use
			s.RedoStress, s.Scale, s.ScanTableSize, s.ReadAhead = "", resource.Quantity{}, resource.Quantity{}, 0
		}
		return p
	}
	for name, flags := range map[string][]string{
		"defaults":  nil,
		"raw":       {"--pattern=randmixed", "--read-percent=70", "--block-size=16Ki", "--file-size=2Gi", "--jobs=3", "--depth=5", "--dir=d"},
		"run":       {"--duration=7s", "--warmup=1s", "--baseline=2s", "--cooldown=3s", "--repetitions=4", "--keep-files", "--overwrite-existing"},
		"protocol":  {"--nfs-version=4.1", "--transfer-size=64Ki", "--link=25Gbit:9000"},
		"capacity":  {"--capacity=p999=5ms,p99=1ms", "--arrivals=fixed", "--expect=minCapacity=5"},
		"paced":     {"--ops-per-second=500", "--expect=minWirePercent=90,maxP99LatencyMicroseconds=2000"},
		"calibrate": {"--workload=calibrate", "--disks=4", "--max-latency=30ms", "--warmup-runs=0", "--files=2", "--file-size=2Gi"},
		"read":      {"--workload=slob-read", "--users=1,2", "--schemas=3", "--scale=160Mi", "--work-unit=32", "--update-percent=20"},
		"scan":      {"--workload=slob-scan", "--schemas=3", "--scan-size=2Gi", "--read-ahead=2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			manifest := newShell(t).run(append([]string{"run", "x", "--export=10.0.1.1,10.0.2.1:/e", "--dry-run=client", "-o=yaml"}, flags...)...).mustEnd(t, cli.ExitOK).out
			b := complete(t, check, manifest)
			want, err := plan.Build(b, plan.Target{Export: "/e", Paths: runfile.ChannelsTo("10.0.1.1", "10.0.2.1")})
			if err != nil {
				t.Fatal(err)
			}
			for from, args := range map[string][]string{
				"flags": append([]string{"--server=10.0.1.1,10.0.2.1", "--export=/e", "--name=x"}, flags...),
				"file":  {"-f", "-"},
			} {
				cmd := exec.CommandContext(t.Context(), program, append([]string{"load", "--print-plan"}, args...)...)
				cmd.Dir, cmd.Stdin = dir, strings.NewReader(manifest)
				var errs bytes.Buffer
				cmd.Stderr = &errs
				out, err := cmd.Output()
				if err != nil {
					t.Fatalf("%s: %v: %s", from, err, errs.String())
				}
				got, err := runfile.ReadPlan(bytes.NewReader(out))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(common(want), common(got)); diff != "" {
					t.Errorf("%s (-cluster +nfsbench load):\n%s", from, diff)
				}
			}
		})
	}
}

// TestBothProgramsSayTheSame runs the verbs of nfsbench over files with the results that
// kubectl nfsbench reads from a cluster.
func TestBothProgramsSayTheSame(t *testing.T) {
	t.Parallel()
	dir, program := builtNFSBench(t)
	a, ma := finished(t, "a", 1)
	b, mb := finished(t, "b", 1, gen.Kernel, func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Workload.Raw.Pattern = bench.PatternRandomRead
		b.Spec.Run.DurationSeconds = 1
	})
	before, after := record(t, "s", "s-1", begun(), 1), record(t, "s", "s-2", begun().Add(time.Hour), 1.25)
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
