package main

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/collect"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/ports"
)

func writePlan(t *testing.T) string {
	t.Helper()
	var raw bytes.Buffer
	if err := runfile.WritePlan(&raw, runfile.Plan{Run: runfile.Identity{Name: "demo"}, Clients: 1}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "plan.json")
	if err := os.WriteFile(path, raw.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCollectRefusesWhatItCannotUse(t *testing.T) {
	plan, dir := writePlan(t), t.TempDir()
	cases := map[string]struct {
		reason string
		args   []string
		code   int
		want   string
	}{
		"no run directory": {
			"loader and collector must share one",
			[]string{"--plan", plan},
			cli.ExitBadInput, `required flag(s) "run-dir" not set`,
		},
		"no plan": {
			"there is nothing to sample for",
			[]string{"--run-dir", dir, "--output-dir", dir},
			cli.ExitBadInput, "--plan is not set; give the plan file of the run",
		},
		"nowhere to publish": {
			"a result that nobody gets",
			[]string{"--run-dir", dir, "--plan", plan},
			cli.ExitBadInput, `--configmap is ""; give NAMESPACE/NAME, or --output-dir`,
		},
		"no namespace": {
			"the name alone could be in any",
			[]string{"--run-dir", dir, "--plan", plan, "--configmap", "x"},
			cli.ExitBadInput, `--configmap is "x"; give NAMESPACE/NAME, or --output-dir`,
		},
		"both": {
			"one must win",
			[]string{"--run-dir", dir, "--plan", plan, "--configmap", "a/b", "--output-dir", dir},
			cli.ExitBadInput, "if any flags in the group [configmap output-dir] are set none of the others can be",
		},
		"not started": {
			"the startup probe must fail until then",
			[]string{"--check", "--run-dir", dir},
			cli.ExitFailed, "the collector has not started: there is no",
		},
	}
	for name, tc := range cases {
		t.Run(name+": "+tc.reason, func(t *testing.T) { says(t, tc.code, append([]string{"collect"}, tc.args...), tc.want) })
	}
}

func TestCollectPublishesAndEndsWhenAsked(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	f := collectFlags{plan: writePlan(t), runDir: dir, outputDir: out, health: ports.Reserve(t).String(), metrics: ports.Reserve(t).String(), grace: time.Minute}
	env := map[string]string{envIndex: "4", envNode: "worker-1", envLoaderCPU: "1500", envLoaderMemory: "4096"}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	a := &app{log: slog.New(slog.DiscardHandler), now: time.Now}
	go func() { ended <- f.run(ctx, a, func(k string) string { return env[k] }) }()
	for collect.Check(dir) != nil {
		select {
		case err := <-ended:
			t.Fatal(err)
		case <-time.After(5 * time.Millisecond):
		}
	}
	// It is healthy from its first sample on.
	for status := 0; status != http.StatusOK; {
		answer, err := http.Get("http://" + f.health + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		if err := answer.Body.Close(); err != nil {
			t.Fatal(err)
		}
		status = answer.StatusCode
	}
	answer, err := http.Get("http://" + f.metrics + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusOK || !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/plain") {
		t.Errorf("metrics %d, %v", answer.StatusCode, err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(filepath.Join(out, "client-4.result.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	result, err := runfile.ReadResult(file)
	if err != nil {
		t.Fatal(err)
	}
	host := result.Clients[0].Host
	if host.Node != "worker-1" || host.CPULimit == nil || *host.CPULimit != 1.5 || host.MemoryBytes != 4096 || host.Version == "" {
		t.Errorf("host %+v", host)
	}
	if f := result.Clients[0].Load.Failure; f == nil || f.Code != runfile.FailureLoaderCrashed {
		t.Errorf("failure %+v", f)
	}
}

func TestMetricsWhosePortIsTakenCostNoRun(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	var said strings.Builder
	log := slog.New(slog.NewTextHandler(&said, nil))
	f := collectFlags{metrics: taken.Addr().String()}
	servers, err := f.servers(log)
	if err != nil || len(servers) != 0 || !strings.Contains(said.String(), "address already in use") {
		t.Errorf("%d servers, %v, log %q", len(servers), err, said.String())
	}
	f = collectFlags{health: taken.Addr().String()}
	if _, err := f.servers(log); err == nil {
		t.Error("a probe that nobody answers is not refused")
	}
	f = collectFlags{metrics: "nowhere"}
	if _, err := f.servers(log); err == nil {
		t.Error("an invalid address is accepted")
	}
}

func TestAVariableThatIsNoNumberIsRefused(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"-1", "x", "4294967296"} {
		if n, err := number("", envIndex, func(string) string { return value }, 31); err == nil {
			t.Errorf("$%s=%s is %d: a client without an index would overwrite another", envIndex, value, n)
		}
	}
}
