package main

import (
	"archive/tar"
	"os"
	"path/filepath"
	"slices"
	"testing"

	standin "github.com/nfsbench/nfsbench/test/lab/oracle"
)

// TestGrossInjectionsIntoADatabaseAreNoticed makes a run of each gross injection; a finding must
// name the cause. It leaves out injections that a busy machine hides.
func TestGrossInjectionsIntoADatabaseAreNoticed(t *testing.T) {
	if os.Getenv("NFSBENCH_LAB") == "" {
		t.Skip("set NFSBENCH_LAB=1 to make real runs")
	}
	chosen := []string{
		"Direct NFS falls back to the kernel", "Direct NFS uses one path of two", "the oranfstab is not used",
		"full scans go through the buffer cache", "range scans are read in batches",
		"a job reads in the same database", "the statistics of files say a part of the latency", "sessions wait for gc cr block 2-way",
		"sessions wait for three things a little",
	}
	for lane, in := range oracleInjections() {
		if !slices.Contains(chosen, in.Name) {
			continue
		}
		t.Run(in.Name, func(t *testing.T) {
			t.Parallel()
			w, err := openOracle(t.Context(), &Rig{Dir: t.TempDir(), Seconds: 4, Log: t.Logf, noise: &machineNoise{}}, lane)
			if err != nil {
				t.Fatal(err)
			}
			gross := slices.IndexFunc(in.Strengths, func(s Strength) bool { return s.Name == in.Gross })
			r, err := in.Run(t.Context(), w, in.Strengths[gross])
			if err != nil {
				t.Fatal(err)
			}
			o := outcomeOf(r, false)
			for _, code := range in.Expect {
				if slices.Contains(o.Codes, code) || slices.Contains(o.Warnings, code) {
					return
				}
			}
			t.Errorf("none of %v in %+v", in.Expect, o)
		})
	}
}

func TestADatabaseWaitsForAsManyPercentAsTheNameSays(t *testing.T) {
	for _, d := range databaseInjections() {
		for _, s := range d.Strengths {
			var r databaseRun
			d.inject(&oracleWorld{paths: []string{"a", "b"}}, &r, s)
			var o standin.Options
			if r.options != nil {
				r.options(&o)
			}
			sum := 0
			for _, w := range o.Config.Faults.Waits {
				sum += w.Percent
			}
			if sum != 0 && float64(sum) != s.Value {
				t.Errorf("%s, %s: %d %%", d.Name, s.Name, sum)
			}
		}
	}
}

func TestWhatAGuestLeavesIsItsResultsOrAnError(t *testing.T) {
	archive := filepath.Join(t.TempDir(), "out.tar")
	f, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(f)
	if err := w.WriteHeader(&tar.Header{Name: "./7/client-0.result.json.gz", Mode: 0o600}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, runs := range []int{0, 1, 7} { // no run, or no result
		if r, err := resultsIn(archive, runs); err == nil {
			t.Errorf("%d runs: %+v", runs, r)
		}
	}
}
