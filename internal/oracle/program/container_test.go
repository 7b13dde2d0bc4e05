package program

import (
	"context"
	"encoding/json"
	"errors"
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

func ready(t *testing.T, c *container) runfile.DatabaseState {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		s, err := c.State(t.Context())
		if err == nil && s.State == runfile.DatabaseReady {
			return s
		}
		if time.Now().After(deadline) {
			t.Fatalf("not ready: %+v, %v", s, err)
		}
	}
}

func TestARestartIsDoneWhenItReturns(t *testing.T) {
	t.Parallel()
	dir, base := database(t, counting)
	c := newContainer(dir, runfile.Database{})
	first := ready(t, c)
	for n := range int32(2) {
		if err := c.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		s, err := c.State(t.Context())
		if err != nil || s.State != runfile.DatabaseReady || s.Generation != first.Generation+n+1 {
			t.Errorf("state %+v, %v", s, err)
		}
	}
	if raw, _ := os.ReadFile(base + "/starts"); strings.Count(string(raw), "\n") != 3 {
		t.Errorf("%d starts, want 3", strings.Count(string(raw), "\n"))
	}
}

func TestARestartThatFailsSaysWhy(t *testing.T) {
	t.Parallel()
	dir, _ := database(t, "test -f $ORACLE_BASE/starts && { echo ORA-01157; exit 4; }\n"+counting)
	c := newContainer(dir, runfile.Database{})
	ready(t, c)
	err := c.Restart(t.Context())
	if oracle.CodeOf(err) != runfile.FailureDatabaseEnded || !strings.Contains(err.Error(), "ORA-01157") {
		t.Errorf("error %v with code %s", err, oracle.CodeOf(err))
	}
}

func TestNobodyWaitsForEverForARestart(t *testing.T) {
	t.Parallel()
	c := newContainer(t.TempDir(), runfile.Database{StartupTimeoutSeconds: 60})
	if want := time.Minute + restartMargin; c.patience != want {
		t.Errorf("patience %s, want %s", c.patience, want)
	}
	if _, err := c.State(t.Context()); oracle.CodeOf(err) != runfile.FailureDatabaseNotReady {
		t.Errorf("a state that is not there: %v", err)
	}
	if err := c.Restart(t.Context()); oracle.CodeOf(err) != runfile.FailureDatabaseNotReady {
		t.Errorf("a container that is not there: %v", err)
	}
	raw, err := json.Marshal(runfile.DatabaseState{State: runfile.DatabaseReady, Generation: 4})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(c.dir, runfile.DatabaseFile), raw, 0o600); err != nil {
		t.Fatal(err)
	}
	c.patience = 300 * time.Millisecond
	if err := c.Restart(t.Context()); oracle.CodeOf(err) != runfile.FailureDatabaseNotReady || !strings.Contains(err.Error(), "said Ready last") {
		t.Errorf("error %v", err)
	}
	if wish, _ := os.ReadFile(filepath.Join(c.dir, runfile.DatabaseWishFile)); string(wish) != "5\n" {
		t.Errorf("wish %q", wish)
	}
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	c.patience = time.Hour
	if err := c.Restart(ctx); !errors.Is(err, why) {
		t.Errorf("error %v", err)
	}
}

// FuzzState reads the state that the container of the database reports: an image of a
// tenant.
func FuzzState(f *testing.F) {
	f.Add([]byte(`{"state":"Failed","generation":3,"failure":{"code":"a","message":"b"},"library":{"warnings":["a","b"]}}`))
	f.Add([]byte(`{"library":{"oradismOwner":1e99}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		c := newContainer(t.TempDir(), runfile.Database{})
		if err := os.WriteFile(filepath.Join(c.dir, runfile.DatabaseFile), in, 0o600); err != nil {
			t.Fatal(err)
		}
		memory.Bound(t, 64*len(in), func() { _, _ = c.State(t.Context()) })
	})
}

func TestAStateThatIsTooLargeIsNotRead(t *testing.T) {
	t.Parallel()
	c := newContainer(t.TempDir(), runfile.Database{})
	if err := os.WriteFile(filepath.Join(c.dir, runfile.DatabaseFile), append(make([]byte, 2<<20), "{}"...), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.State(t.Context()); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Error(err)
	}
}
