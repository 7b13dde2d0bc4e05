package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/collect"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// TestALoadBesideACollectorStaysUntilTheResultIsPublished: a pod whose loader
// has ended starts no collector again, should that one be killed.
func TestALoadBesideACollectorStaysUntilTheResultIsPublished(t *testing.T) {
	t.Parallel()
	storage, _ := serveLoopback(t)
	work := t.TempDir()
	plan, _ := runLoad(t, cli.ExitOK, append(append([]string{"load", "--print-plan"}, storage...), smallLoad()...)...)
	planFile := filepath.Join(work, "plan.json")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(planFile, plan)
	write(filepath.Join(work, collect.ReadyFile), "")

	ended := make(chan int, 1)
	go func() {
		args := []string{"load", "--plan", planFile, "--run-dir", work, "--progress=none"}
		ended <- run(args, strings.NewReader(""), io.Discard, io.Discard)
	}()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		events, _ := os.ReadFile(filepath.Join(work, runfile.EventsFile))
		if strings.Contains(string(events), `"span":"Done"`) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the load does not end")
		}
	}
	select {
	case <-ended:
		t.Error("the load ended before its result was published")
	case <-time.After(300 * time.Millisecond): // several looks of its
	}
	write(filepath.Join(work, collect.FinalFile), "")
	if code := <-ended; code != cli.ExitOK {
		t.Errorf("exit code %d", code)
	}
}
