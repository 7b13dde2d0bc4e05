package course

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

func TestTheRunDirectoryHasEventsAndTheLatestState(t *testing.T) {
	dir := t.TempDir()
	d, err := OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
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
		d, err := OpenDir(dir)
		if err != nil {
			t.Fatal(err)
		}
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
	d, err := OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
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
	d, err := OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
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
