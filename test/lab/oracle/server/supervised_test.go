package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/oracle/supervise"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/kit/output"
	"github.com/nfsbench/nfsbench/test/kit/waiting"
)

// envAct makes this test binary the program of an image that this names.
const envAct = "STANDIN_ACT"

func TestMain(m *testing.M) {
	if name := os.Getenv(envAct); name != "" {
		os.Exit(act(name, nil))
	}
	os.Exit(waiting.Run(m))
}

// supervised is a container of the stand-in as the operator starts it.
type supervised struct {
	o    supervise.Options
	out  *output.Buffer
	stop context.CancelFunc
	done chan error
}

// supervision prepares a container on a volume, with more of an environment.
func supervision(t *testing.T, volume, host, address string, env ...string) *supervised {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	base := t.TempDir()
	program := func(name string) []string { return []string{"/usr/bin/env", envAct + "=" + name, self} }
	out := &output.Buffer{}
	return &supervised{out: out, o: supervise.Options{
		RunDir: t.TempDir(), DataDirectory: volume, SID: "FREE", ProductRoot: base,
		StartCommand: program("runOracle.sh"), HealthCommand: program("checkDBStatus.sh"), Hostname: host, Listener: address,
		StartupTimeout: 2 * time.Minute, ShutdownTimeout: 2 * time.Minute, HealthInterval: 20 * time.Millisecond, HeartbeatInterval: 20 * time.Millisecond,
		Env: append([]string{
			"PATH=/usr/bin:/bin", "ORACLE_BASE=" + base, "ORACLE_PWD=Pa_1", "STANDIN_DATA=" + volume, "STANDIN_STATE=" + base, "STANDIN_HOST=" + host,
			"STANDIN_LISTEN=" + address, "STANDIN_DATAFILE_PERCENT=5", "ORACLE_EDITION=free",
		}, env...),
		Out: out, Log: slog.New(slog.NewTextHandler(out, nil)), Now: time.Now,
	}}
}

// enterprise is supervision of an edition that needs no su.
func enterprise(t *testing.T, volume, address string) *supervised {
	t.Helper()
	s := supervision(t, volume, "host", address, "ORACLE_EDITION=enterprise")
	s.o.SID = "ORCLCDB"
	return s
}

func (s *supervised) start(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s.stop, s.done = cancel, make(chan error, 1)
	go func() { s.done <- supervise.Run(ctx, s.o) }()
	t.Cleanup(cancel)
}

// ready waits until the supervisor says so.
func (s *supervised) ready(t *testing.T) runfile.DatabaseState {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		select {
		case err := <-s.done:
			t.Fatalf("the container ended: %v\n%s", err, s.out)
		default:
		}
		var state runfile.DatabaseState
		raw, err := os.ReadFile(filepath.Join(s.o.RunDir, runfile.DatabaseFile))
		if err == nil && json.Unmarshal(raw, &state) == nil && state.State == runfile.DatabaseReady {
			return state
		}
	}
	t.Fatalf("not ready\n%s", s.out)
	return runfile.DatabaseState{}
}

func (s *supervised) end(t *testing.T) {
	t.Helper()
	s.stop()
	if err := <-s.done; err != nil {
		t.Errorf("the container ended with %v", err)
	}
}

// needSu skips where this process could not run su for the stand-in.
func needSu(t *testing.T) {
	t.Helper()
	if err := (environment{}).su(); err != nil {
		t.Skip("needs the capabilities of su in the bounding set of this process")
	}
}

// TestASecondBenchmarkOnTheVolumeOfTheFirst has a host name of its own, as databases of an earlier
// release have.
func TestASecondBenchmarkOnTheVolumeOfTheFirst(t *testing.T) {
	needSu(t)
	volume, address := t.TempDir(), "127.0.0.1:18524"
	for n, host := range []string{"first-load-0", "second-load-0"} {
		s := supervision(t, volume, host, address)
		s.start(t)
		if state := s.ready(t); len(state.Host.Mended) != 2*n {
			t.Errorf("%s: mended %q", host, state.Host.Mended)
		}
		c, err := net.Dial("tcp", address) //nolint:noctx // of this machine
		if err != nil {
			t.Fatalf("%s is ready and does not listen: %v", host, err)
		}
		_ = c.Close()
		s.end(t)
	}
}

// TestTheImageIsNotStartedOnFilesThatItWouldDelete: a database that no image of Oracle has created,
// which the run may change. One that an image has created is opened.
func TestTheImageIsNotStartedOnFilesThatItWouldDelete(t *testing.T) {
	volume, address := t.TempDir(), "127.0.0.1:18525"
	again := func() *supervised {
		s := enterprise(t, volume, address)
		s.o.UseExisting = true
		return s
	}
	s := again()
	s.start(t)
	s.ready(t)
	s.end(t)
	if err := os.Remove(filepath.Join(volume, supervise.MarkerFile)); err != nil { // now it is somebody else's
		t.Fatal(err)
	}
	precious := filepath.Join(volume, "ORCLCDB", "precious.dbf")
	if err := os.WriteFile(precious, nil, 0o640); err != nil {
		t.Fatal(err)
	}
	s = again()
	s.start(t)
	s.ready(t)
	s.end(t)
	if err := os.Remove(filepath.Join(volume, ".ORCLCDB.created")); err != nil {
		t.Fatal(err)
	}
	s = again()
	s.start(t)
	started := make(chan struct{})
	go func() {
		for exists(precious) && t.Context().Err() == nil {
			time.Sleep(time.Millisecond)
		}
		close(started)
	}()
	select {
	case err := <-s.done:
		if err == nil || !strings.HasPrefix(err.Error(), runfile.FailureForeignFiles) {
			t.Errorf("ended with %v", err)
		}
	case <-started:
		t.Error("the image was started, and has deleted the datafile")
		s.stop()
		t.Logf("it ended with %v", <-s.done)
	}
}

// TestTheImageIsNotStartedOnACopyOnAVolumeOfOurs: the volume has the marker of a benchmark, and then
// somebody restores a database of his own there, without the hidden files.
func TestTheImageIsNotStartedOnACopyOnAVolumeOfOurs(t *testing.T) {
	const address = "127.0.0.1:18526"
	volumes := [2]string{t.TempDir(), t.TempDir()}
	for _, volume := range append(volumes[:], volumes[0]) { // the last is opened, and not created
		s := enterprise(t, volume, address)
		s.start(t)
		s.ready(t)
		s.end(t)
	}
	ours, theirs := filepath.Join(volumes[0], "ORCLCDB"), filepath.Join(volumes[1], "ORCLCDB")
	if err := errors.Join(os.RemoveAll(ours), os.Remove(filepath.Join(volumes[0], ".ORCLCDB.created")), os.Rename(theirs, ours)); err != nil {
		t.Fatal(err)
	}
	s := enterprise(t, volumes[0], address)
	s.start(t)
	err := <-s.done
	if err == nil || !strings.HasPrefix(err.Error(), runfile.FailureForeignFiles) || !strings.Contains(err.Error(), "DBID") {
		t.Errorf("ended with %v", err)
	}
	if !exists(filepath.Join(ours, "control01.ctl")) {
		t.Error("the image has deleted the control file")
	}
}

// TestAParameterWithWhichTheInstanceDoesNotStartLeavesADatabaseThatDoes: it is in the server parameter file on
// the volume, and would keep each later run from starting.
func TestAParameterWithWhichTheInstanceDoesNotStartLeavesADatabaseThatDoes(t *testing.T) {
	volume, address := t.TempDir(), "127.0.0.1:18527"
	s := enterprise(t, volume, address)
	s.start(t)
	s.ready(t)
	file := filepath.Join(volume, "dbconfig", "ORCLCDB", "spfileORCLCDB.ora")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(before, "*.sga_target=33554432\n*.shared_pool_size=1073741824\n"...), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.o.RunDir, runfile.DatabaseGenerationFile), []byte("2\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	err = <-s.done
	if err == nil || !strings.HasPrefix(err.Error(), runfile.FailureParameter) || !strings.Contains(err.Error(), "ORA-00821") {
		t.Errorf("ended with %v", err)
	}
	if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
		t.Errorf("the server parameter file has %q, %v; before %q", after, err, before)
	}
	s = enterprise(t, volume, address)
	s.start(t)
	s.ready(t)
	s.end(t)
}
