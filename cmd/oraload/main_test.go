package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// envProgram makes this test binary oraload.
const envProgram = "NFSBENCH_TEST_ORALOAD"

func TestMain(m *testing.M) {
	if os.Getenv(envProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// TestAMissingClientLibraryIsASentenceInTheRunDirectory runs the program where
// there is no client of Oracle: in any of its builds.
func TestAMissingClientLibraryIsASentenceInTheRunDirectory(t *testing.T) {
	dir := t.TempDir()
	var plan bytes.Buffer
	err := runfile.WritePlan(&plan, runfile.Plan{
		Version: runfile.PlanVersion, Run: runfile.Identity{Name: "x"}, Clients: 1,
		Engine:   runfile.Engine{Client: bench.ClientKernel, NFSVersion: "NFSv3"},
		Workload: bench.Workload{Calibrate: &bench.CalibrateWorkload{PhysicalDisks: 1, MaxLatencyMilliseconds: 20}},
		Schedule: runfile.Schedule{DurationSeconds: 60, Repetitions: 1, TimeoutSeconds: 7200},
		Collect:  runfile.Collect{IntervalMilliseconds: 1000},
		Database: &runfile.Database{
			Kind: runfile.DatabaseExternal, AdminConnect: "127.0.0.1:1/ORCL", Connects: []string{"127.0.0.1:1/ORCL"}, User: "sys", Role: "SYSDBA",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"plan.json": plan.String(), "password": "very-secret\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "--plan", dir+"/plan.json", "--run-dir", dir, "--password-file", dir+"/password")
	// A home without a library: the program starts again, once, and goes on.
	cmd.Env = append(os.Environ(), envProgram+"=1", "ORACLE_HOME="+dir)
	out, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("ended with %v\n%s", err, out)
	}
	f, err := os.Open(filepath.Join(dir, runfile.LoadFile))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	defer func() { _ = f.Close() }()
	l, err := runfile.ReadLoad(f)
	if err != nil {
		t.Fatal(err)
	}
	if l.Failure == nil || l.Failure.Code != runfile.FailureOracleClient {
		t.Errorf("failure %+v\n%s", l.Failure, out)
	}
	if l.Failure != nil && (strings.Contains(l.Failure.Message, "ORA-00000") || !strings.Contains(l.Failure.Message, "oraload") && !strings.Contains(l.Failure.Message, "LD_LIBRARY_PATH") && !strings.Contains(l.Failure.Message, "ORACLE_HOME")) {
		t.Errorf("message %q", l.Failure.Message)
	}
	if strings.Contains(string(out), "very-secret") {
		t.Errorf("the password comes out:\n%s", out)
	}
	t.Log(l.Failure)
}
