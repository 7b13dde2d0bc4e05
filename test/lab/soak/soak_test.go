package soak

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/runloop"
	"github.com/nfsbench/nfsbench/test/kit/measure"
)

const (
	depth      = 256
	blockBytes = 8 << 10
	// shortRun is how many operations the test does unless NFSBENCH_SOAK says so.
	shortRun   = 200_000
	leastLooks = 20
	// operationsPerObject is how many operations may leave one object: each second leaves some figures for the
	// result, and an operation leaves nothing.
	operationsPerObject = 10
	// What the memory of a run is wanted to grow by: pages that the collector of garbage gave back late, and the
	// figures of each second.
	growthKibibytes = 8 << 10
	secondKibibytes = 64
	peakMebibytes   = 128
)

var errEnough = errors.New("all operations are done")

// counting is a Sink that ends the run after so many operations and looks.
type counting struct {
	left  atomic.Int64
	looks atomic.Int64 // still to come
	stop  context.CancelCauseFunc
}

func (c *counting) Event(e runfile.Event) {
	if e.Span == runfile.SpanMeasure && c.left.Add(-e.OpsPerSecond) <= 0 && c.looks.Load() <= 0 {
		c.stop(errEnough)
	}
}

func (c *counting) Load(*runfile.Load) error { return nil }

func operations(t *testing.T) int64 {
	t.Helper()
	text := os.Getenv("NFSBENCH_SOAK")
	if text == "" {
		return shortRun
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		t.Fatalf("NFSBENCH_SOAK is %q; write a number of operations", text)
	}
	return n
}

func plan(s served) runfile.Plan {
	return runfile.Plan{
		Version: runfile.PlanVersion, Clients: 1, Seed: 3, Run: runfile.Identity{Name: "soak"},
		Engine: runfile.Engine{
			Client: bench.ClientDirectNFS, MountTimeoutSeconds: 120, CallTimeoutSeconds: 120,
			Server: "soak", Export: "/export", Channels: runfile.ChannelsTo(s.host),
			Ports: runfile.Ports{NFS: s.port, Mount: s.port},
		},
		Workload: bench.Workload{Raw: &bench.RawWorkload{
			Pattern: bench.PatternRandomRead, BlockSize: bench.Bytes(blockBytes), FileSize: *bench.Bytes(64 << 20), Jobs: 1, Depth: depth, Directory: "soak",
		}},
		// The window ends when the operations are done, not with its time.
		Schedule: runfile.Schedule{WarmupSeconds: 2, DurationSeconds: 24 * 3600, Repetitions: 1},
		Collect:  runfile.Collect{IntervalMilliseconds: 1000},
	}
}

// soak runs the load in this process and looks at it ten times a second, while
// it is measured.
func soak(t *testing.T, s served, ops int64) (*runfile.Load, []size) {
	t.Helper()
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	sink := &counting{stop: stop}
	sink.left.Store(ops)
	sink.looks.Store(leastLooks)
	runner, err := loadgen.New(loadgen.Options{
		Plan: plan(s), Now: time.Now, Sink: sink, Usage: runloop.ProcessUsage,
		Open: func(ctx context.Context) (target.Target, error) {
			return loadgen.OpenTarget(ctx, plan(s).Engine, time.Now, nil)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var (
		seen    []size
		looking sync.WaitGroup
	)
	looking.Go(func() {
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		for ; ctx.Err() == nil; <-ticker.C {
			if sink.left.Load() == ops {
				continue // nothing was counted yet
			}
			now, err := look()
			if err != nil {
				t.Error(err)
				return
			}
			seen = append(seen, now)
			sink.looks.Add(-1)
		}
	})
	load, err := runner.Run(ctx)
	stop(errEnough)
	looking.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return load, seen
}

func TestNothingGrowsUnderALongLoad(t *testing.T) {
	s, ops := serve(t), operations(t)
	load, seen := soak(t, s, ops)
	if load.Failure == nil || load.Failure.Code != runfile.FailureCancelled {
		t.Fatalf("the run ended with %+v", load.Failure)
	}
	rep := load.Repetitions[0]
	if rep.Read.Errors != 0 || rep.Read.Count < ops*9/10 {
		t.Fatalf("%d operations, %d errors; want %d and none", rep.Read.Count, rep.Read.Errors, ops)
	}
	took := rep.End.Sub(rep.Start)
	figures := []struct {
		name    string
		of      func(size) int
		allowed int
	}{
		{"objects", func(s size) int { return s.objects }, int(rep.Read.Count) / operationsPerObject},
		{"goroutines", func(s size) int { return s.goroutines }, 0},
		{"descriptors", func(s size) int { return s.descriptors }, 0},
	}
	for _, f := range figures {
		first, last := median(seen, 0, f.of), median(seen, 3, f.of)
		t.Logf("%s: %d in the first quarter, %d in the last, of %d operations in %v", f.name, first, last, rep.Read.Count, took)
		if last-first > f.allowed {
			t.Errorf("%s grew from %d to %d", f.name, first, last)
		}
	}
	kibibytes := func(s size) int { return s.kibibytes }
	measure.Expect(t, "growth of the memory", "KiB", measure.AtMost(growthKibibytes+took.Seconds()*secondKibibytes),
		float64(median(seen, 3, kibibytes)-median(seen, 0, kibibytes)))
}

func TestTheLoaderReportsItsPeakMemoryAtDepth256(t *testing.T) {
	s := serve(t)
	file := filepath.Join(t.TempDir(), "result.json")
	cmd := exec.CommandContext(t.Context(), s.program, "load", "--server", s.address(), "--export", "/export",
		"--pattern", "randread", "--block-size", "8Ki", "--file-size", "64Mi", "--jobs", "1", "--depth", strconv.Itoa(depth),
		"--duration", "5s", "--warmup", "1s", "--baseline", "0s", "--progress", "none", "--output", file)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("nfsbench load: %v\n%s", err, out)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r runfile.Result
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	rep := r.Clients[0].Load.Repetitions[0]
	if rep.PeakMemoryBytes <= 0 {
		t.Errorf("the loader reports %d bytes at its peak", rep.PeakMemoryBytes)
	}
	peak := float64(rep.PeakMemoryBytes) / (1 << 20)
	measure.Expect(t, "peak memory of the loader", "MiB", measure.AtMost(peakMebibytes), peak)
}
