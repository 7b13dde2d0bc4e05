package program

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/oracle/supervise"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/kit/memory"
)

// database runs a container's supervisor on a start script that counts.
func database(t *testing.T, script string) (dir, base string) {
	t.Helper()
	dir, base = t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"start": script, "healthy": "test -f $ORACLE_BASE/ready"} {
		if err := os.WriteFile(filepath.Join(base, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil { //nolint:gosec // programs
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = supervise.Run(ctx, supervise.Options{
			RunDir: dir, DataDirectory: t.TempDir(), ProductRoot: base,
			StartCommand: []string{base + "/start"}, HealthCommand: []string{base + "/healthy"},
			StartupTimeout: time.Hour, ShutdownTimeout: time.Hour, HealthInterval: 20 * time.Millisecond,
			Env: []string{"PATH=/usr/bin:/bin", "ORACLE_BASE=" + base}, Out: io.Discard, Log: slog.New(slog.DiscardHandler), Now: time.Now,
		})
	}()
	t.Cleanup(func() { cancel(); <-done })
	return dir, base
}

const counting = `trap 'rm $ORACLE_BASE/ready; exit 0' TERM
echo >> $ORACLE_BASE/starts
touch $ORACLE_BASE/ready
while :; do sleep 0.02; done`

func await(t *testing.T, c container, is func(runfile.DatabaseState) bool) runfile.DatabaseState {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		s, err := c.State(t.Context())
		if err == nil && is(s) {
			return s
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v, %v", s, err)
		}
	}
}

func ready(generation int32) func(runfile.DatabaseState) bool {
	return func(s runfile.DatabaseState) bool {
		return s.State == runfile.DatabaseReady && s.Generation == generation
	}
}

func TestARestartIsOneStartMore(t *testing.T) {
	t.Parallel()
	dir, base := database(t, counting)
	await(t, container(dir), ready(1))
	for _, generation := range []int32{2, 3} {
		if err := container(dir).Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		await(t, container(dir), ready(generation))
	}
	if raw, _ := os.ReadFile(base + "/starts"); strings.Count(string(raw), "\n") != 3 {
		t.Errorf("%d starts, want 3", strings.Count(string(raw), "\n"))
	}
}

func TestARestartThatFailsSaysWhy(t *testing.T) {
	t.Parallel()
	dir, _ := database(t, "test -f $ORACLE_BASE/starts && { echo ORA-01157; exit 4; }\n"+counting)
	await(t, container(dir), ready(1))
	if err := container(dir).Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	f := await(t, container(dir), func(s runfile.DatabaseState) bool { return s.Failure != nil }).Failure
	if f.Code != runfile.FailureDatabaseEnded || !strings.Contains(f.Message, "ORA-01157") {
		t.Errorf("%+v", f)
	}
}

func TestAContainerThatIsNotThereIsNotReady(t *testing.T) {
	t.Parallel()
	c := container(t.TempDir())
	if _, err := c.State(t.Context()); oracle.CodeOf(err) != runfile.FailureDatabaseNotReady {
		t.Errorf("a state that is not there: %v", err)
	}
	if err := c.Restart(t.Context()); oracle.CodeOf(err) != runfile.FailureDatabaseNotReady {
		t.Errorf("a container that is not there: %v", err)
	}
}

// FuzzState reads the state that the container of the database reports: an image of a
// tenant.
func FuzzState(f *testing.F) {
	f.Add([]byte(`{"state":"Failed","generation":3,"failure":{"code":"a","message":"b"},"library":{"warnings":["a","b"]}}`))
	f.Add([]byte(`{"library":{"oradismOwner":1e99}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		c := container(t.TempDir())
		if err := os.WriteFile(filepath.Join(string(c), runfile.DatabaseFile), in, 0o600); err != nil {
			t.Fatal(err)
		}
		memory.Bound(t, 64*len(in), func() { _, _ = c.State(t.Context()) })
	})
}

func TestAStateThatIsTooLargeIsNotRead(t *testing.T) {
	t.Parallel()
	c := container(t.TempDir())
	if err := os.WriteFile(filepath.Join(string(c), runfile.DatabaseFile), append(make([]byte, 2<<20), "{}"...), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.State(t.Context()); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Error(err)
	}
}
