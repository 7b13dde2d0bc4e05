package runloop

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/capacity"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/shareddir"
)

func open(t *testing.T, path string) *Dir {
	t.Helper()
	d, err := OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func TestTheRunDirectoryHasEventsAndTheLatestState(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	for _, span := range []string{runfile.SpanConnect, runfile.SpanFill} {
		d.Event(runfile.Event{Span: span})
	}
	for _, n := range []int64{1, 2} {
		if err := d.Load(&runfile.Load{Partial: true, FilledBytes: n}); err != nil {
			t.Fatal(err)
		}
	}
	events, err := os.ReadFile(filepath.Join(dir, runfile.EventsFile))
	if err != nil || bytes.Count(events, []byte("\n")) != 2 {
		t.Errorf("events %q, %v", events, err)
	}
	f, err := os.Open(filepath.Join(dir, runfile.LoadFile))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if l, err := runfile.ReadLoad(f); err != nil || l.FilledBytes != 2 || !l.Partial {
		t.Errorf("load %+v, %v", l, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.part")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestEventsOfAnEarlierProcessStay(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		d := open(t, dir)
		d.Event(runfile.Event{Span: runfile.SpanConnect})
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if events, _ := os.ReadFile(filepath.Join(dir, runfile.EventsFile)); bytes.Count(events, []byte("\n")) != 2 {
		t.Errorf("events %q", events)
	}
}

func TestAFullDiskIsTold(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	_ = d.Close() // as good as full: no event can be written
	d.Event(runfile.Event{})
	if err := d.Load(&runfile.Load{}); err == nil {
		t.Error("nobody hears that an event was lost")
	}
	if _, err := OpenDir(filepath.Join(dir, "missing")); err == nil {
		t.Error("a missing directory was opened")
	}
}

func TestReleaseWaitsForTheFile(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(150*time.Millisecond, func() { cancel(why) })
	if err := d.Release(ctx); !errors.Is(err, why) {
		t.Errorf("released by %v, without the file", err)
	}
	if err := os.WriteFile(filepath.Join(dir, runfile.ReleaseFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestALevelIsOrderedAsThePlanAllows(t *testing.T) {
	p := capacity.Params{
		Bounds: []runfile.LatencyBound{{Percentile: "p99", Microseconds: 1_500_000}}, Clients: 2, Rounds: 1, LongestSeconds: 60,
	}
	for warmup, allowed := range map[int32]bool{0: true, 3: true, 4: false} {
		orders := func(context.Context, int) (runfile.CapacitySearch, error) {
			return runfile.CapacitySearch{Levels: []runfile.CapacityLevel{
				{Index: 1, Round: 1, OperationsPerSecond: 64, Seconds: 2, WarmupSeconds: warmup},
			}}, nil
		}
		plan := &runfile.Plan{Clients: 2, Schedule: runfile.Schedule{Repetitions: 1, DurationSeconds: 60}}
		if _, _, err := SearchScript(plan, p, orders).Next(t.Context(), 0, nil); (err == nil) != allowed {
			t.Errorf("a warm-up of %d s: %v", warmup, err)
		}
	}
}

func TestTheLevelsOfASearchAreWaitedForAndChecked(t *testing.T) {
	const one = `{"levels": [{"index": 1, "round": 1, "operationsPerSecond": 64, "seconds": 2}]}`
	const two = `{"levels": [
		{"index": 1, "round": 1, "operationsPerSecond": 64, "seconds": 2, "outcome": {"due": 128, "done": 128, "bounds": []}},
		{"index": 2, "round": 1, "operationsPerSecond": 256, "seconds": 2}]}`
	dir := t.TempDir()
	d := open(t, dir)
	write := func(text string) {
		if err := shareddir.Replace(dir, runfile.LevelsFile, []byte(text), shareddir.ForAll); err != nil {
			t.Fatal(err)
		}
	}
	got := make(chan runfile.CapacitySearch, 1)
	go func() {
		s, err := d.Levels(t.Context(), 1)
		if err != nil {
			t.Error(err)
		}
		got <- s
	}()
	write(one)
	if s, err := d.Levels(t.Context(), 0); err != nil || len(s.Levels) != 1 {
		t.Errorf("%+v, %v; want the first level at once", s, err)
	}
	select {
	case s := <-got:
		t.Errorf("%+v is no second level", s)
	default:
	}
	write(two)
	if s := <-got; len(s.Levels) != 2 {
		t.Errorf("%+v, want two levels", s)
	}
	for reason, text := range map[string]string{
		"half a file": one[:20], "in no order": `{"levels": [{"index": 2}]}`, "too large": one + string(make([]byte, 2<<20)),
	} {
		write(text)
		if s, err := d.Levels(t.Context(), 0); err == nil {
			t.Errorf("%s: %+v", reason, s)
		}
	}
}
