package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/nfsbench/nfsbench/test/kit/repository"
	"github.com/nfsbench/nfsbench/test/lab/bench/score"
)

// TestRealSearchForCapacity runs the short form of the relay's row. Other tests share the machine
// and disturb levels of some seconds, so search and sweep may find different capacities: the
// allowed error is more than that of `make bench` on a quiet machine.
func TestRealSearchForCapacity(t *testing.T) {
	if os.Getenv("NFSBENCH_LAB") == "" {
		t.Skip("set NFSBENCH_LAB=1 to run this against NFS-Ganesha; needs root")
	}
	root, err := repository.Path(".")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	build := func(name, module, source string) string {
		file := filepath.Join(folder, name)
		cmd := exec.Command("go", "build", "-C", filepath.Join(root, module), "-o", file, source)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", source, err, out)
		}
		return file
	}
	bench, nfsbench := build("bench", "test/lab", "./bench"), build("nfsbench", ".", "./cmd/nfsbench")
	cmd := exec.CommandContext(
		t.Context(), bench, "--repo", root, "--nfsbench", nfsbench, "--name", "capacity", "--subnet", "10.234",
		"--rows", "capacity-relay", "--short", "--seconds", "3", "--out", folder,
	)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it stops its servers
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	text, err := os.ReadFile(filepath.Join(folder, "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	var doc score.Document
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", said)
	row := doc.Rows[0]
	found, ok := doc.Of(row, toolOurs, score.MetricCapacity)
	if !ok || found.Median > 1.05*relayRate {
		t.Errorf("the search found %v operations/s, and the relay lets %d through", found.Median, relayRate)
	}
	if ratio, ok := doc.Ratio(row, toolOurs, howSweep, score.MetricCapacity); !ok || ratio.Median < 0.9 || ratio.Median > 1.1 {
		t.Errorf("the search found %.3f of what the sweep found", ratio.Median)
	}
	if ratio, ok := doc.Ratio(row, toolOurs, howSweep, score.MetricTime); !ok || ratio.Median > 0.2 {
		t.Errorf("the search took %.3f of the time of the sweep", ratio.Median)
	}
}
