package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/collect"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/kit/output"
)

// TestALoadBesideACollectorStaysUntilTheResultIsPublished: a pod whose loader
// has ended starts no collector again, should that one be killed. One that is told to end
// while it waits says so.
func TestALoadBesideACollectorStaysUntilTheResultIsPublished(t *testing.T) {
	t.Parallel()
	for name, published := range map[string]bool{"published": true, "told to end": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loadBesideACollector(t, published)
		})
	}
}

func loadBesideACollector(t *testing.T, published bool) {
	t.Helper()
	storage, _ := serveLoopback(t)
	work := t.TempDir()
	planFile := writtenPlan(t, append(storage, smallLoad()...)...)
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(work, collect.ReadyFile), "")

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var errOut output.Buffer
	ended := make(chan int, 1)
	go func() {
		args := []string{"load", "--plan", planFile, "--run-dir", work, "--progress=none"}
		ended <- cli.Execute(ctx, newRootCommand(), nil, args, strings.NewReader(""), io.Discard, &errOut)
	}()
	for ; ; time.Sleep(10 * time.Millisecond) {
		events, _ := os.ReadFile(filepath.Join(work, runfile.EventsFile))
		if strings.Contains(string(events), `"span":"Done"`) {
			break
		}
		if len(ended) > 0 {
			t.Fatalf("the load ended before it was done: %s", errOut.String())
		}
	}
	if !published {
		cancel()
	} else {
		write(filepath.Join(work, collect.FinalFile), "")
	}
	if code := <-ended; code != cli.ExitOK {
		t.Errorf("exit code %d", code)
	}
	if waited := strings.Contains(errOut.String(), "has not published the result"); waited == published {
		t.Errorf("published %t: %s", published, errOut.String())
	}
}
