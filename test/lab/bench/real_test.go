package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/nfsbench/nfsbench/test/kit/measure"
	"github.com/nfsbench/nfsbench/test/kit/repository"
	"github.com/nfsbench/nfsbench/test/lab/bench/score"
)

// TestMeasureSearchForCapacity runs the short form of the relay's row: the search against a sweep.
func TestMeasureSearchForCapacity(t *testing.T) {
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
	capacity, both := doc.Ratio(row, toolOurs, howSweep, score.MetricCapacity)
	time, timed := doc.Ratio(row, toolOurs, howSweep, score.MetricTime)
	if !ok || !both || !timed {
		t.Fatalf("search or sweep found nothing: %+v", row)
	}
	measure.Expect(t, "capacity that the search found", "of what the relay lets through", measure.AtMost(1.05), found.Median/relayRate)
	measure.Expect(t, "capacity that the search found", "of that of the sweep", measure.Between(0.9, 1.1), capacity.Median)
	measure.Expect(t, "time of the search", "of that of the sweep", measure.AtMost(0.2), time.Median)
}
