package ontap_test

import (
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/collect"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/test/lab/ontap"
)

// steady is a load that never changes: 1000 reads/s of 8 KiB and 300 us each, by
// the LIF of the second node, which is busy for 10 % while the first is for 30 %.
type steady struct {
	scripted
	now   func() time.Time
	began atomic.Pointer[time.Time]
}

// reset lets the counters begin at zero, as after a takeover.
func (s *steady) reset() { s.began.Store(new(s.now())) }

func (s *steady) micros() uint64 { return uint64(s.now().Sub(*s.began.Load()).Microseconds()) } //nolint:gosec // it is not negative

func (s *steady) Node(name string) ontap.NodeCounters {
	percent := map[string]uint64{"naclu1-01": 30, "naclu1-02": 10}[name]
	base := s.micros()
	return ontap.NodeCounters{BusyMicros: base * percent / 100, BaseMicros: base}
}

func (s *steady) LIF(address string) ontap.LIFCounters {
	if address != "192.0.2.12" {
		return ontap.LIFCounters{}
	}
	return ontap.LIFCounters{SentBytes: s.micros() * 9, ReceivedBytes: s.micros()}
}

func (s *steady) Volume(string) ontap.VolumeCounters {
	ops := s.micros() / 1000
	return ontap.VolumeCounters{Read: ontap.OpCounters{Ops: ops, Bytes: ops * 8192, LatencyMicros: ops * 300}}
}

// observe samples the array like a collector at each step of its grid for two minutes, of
// which the first steps are not in the window, and lets during happen in the middle.
func (w *world) observe(t *testing.T, during func()) runfile.StorageWindow {
	t.Helper()
	plan := runfile.Plan{Collect: runfile.Collect{IntervalMilliseconds: 3_600_000}} // this test says when
	session := collect.Start(t.Context(), collect.Options{
		Plan: plan, Now: w.clock.Now, Log: slog.New(slog.DiscardHandler), Sources: []storage.Source{w.source(t)},
	})
	// sampled waits for a sample after so many. One that failed, because the machine is slow, is taken again.
	sampled := func(before *runfile.Observed) {
		t.Helper()
		failed := failures(before)
		for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) {
			o := session.Observe(runfile.Load{})
			if len(o.Storage) > len(before.Storage) && len(o.Samples) > len(before.Samples) {
				return
			}
			if n := failures(o); n > failed {
				failed = n
				session.Mark()
			}
			if time.Now().After(deadline) {
				t.Fatalf("waited in vain for a sample: %+v", o.Problems)
			}
		}
	}
	sampled(&runfile.Observed{})
	const grid, early, inside = 15 * time.Second, 2, 6
	start := w.clock.Now().Add((early + 1) * grid)
	for n := range early + inside {
		if n == early+inside/2 {
			during()
		}
		before := session.Observe(runfile.Load{})
		w.clock.step(grid)
		session.Mark()
		sampled(before)
	}
	end := w.clock.Now()
	got := session.Finish(t.Context(), runfile.Load{Spans: []runfile.Span{{Kind: runfile.SpanMeasure, Repetition: 1, Start: start, End: end}}})
	if len(got.Windows) != 1 || len(got.Windows[0].Storage) != 1 {
		t.Fatalf("windows %+v", got.Windows)
	}
	return got.Windows[0].Storage[0]
}

func failures(o *runfile.Observed) (n int64) {
	for _, p := range o.Problems {
		n += p.Count
	}
	return n
}

// live begins a stand-in under a steady load.
func live(t *testing.T) (*world, *steady) {
	t.Helper()
	truth := &steady{}
	w := begin(t, func(o *ontap.Options) {
		truth.now, o.Truth = o.Now, truth
		truth.reset()
	})
	return w, truth
}

func TestAWindowHoldsWhatTheArrayDidInIt(t *testing.T) {
	t.Parallel()
	w, _ := live(t)
	got := w.observe(t, func() {})
	if got.Reset || got.ReadOps == nil || got.ReadBytes == nil || got.ReadMicroseconds == nil {
		t.Fatalf("window %+v", got)
	}
	if got.Seconds < 60 || float64(*got.ReadOps) != 1000*got.Seconds {
		t.Errorf("%d reads in %g s, want 1000/s", *got.ReadOps, got.Seconds)
	}
	if *got.ReadBytes != *got.ReadOps*8192 || *got.ReadMicroseconds != *got.ReadOps*300 {
		t.Errorf("%d reads of %d bytes in %d us", *got.ReadOps, *got.ReadBytes, *got.ReadMicroseconds)
	}
	cpu := map[string]int32{}
	for _, n := range got.Nodes {
		cpu[n.Name] = *n.CPUPermille
	}
	if diff := cmp.Diff(map[string]int32{"naclu1-01": 300, "naclu1-02": 100}, cpu); diff != "" {
		t.Errorf("busy permille: %s", diff)
	}
	i := slices.IndexFunc(got.Paths, func(p runfile.StoragePath) bool { return p.Address == "192.0.2.12" })
	if len(got.Paths) != 2 || *got.Paths[1-i].ReadBytes != 0 || *got.Paths[i].ReadBytes != 9**got.Paths[i].WriteBytes {
		t.Errorf("paths %+v", got.Paths)
	}
	if diff := cmp.Diff([]string{"naclu1-01"}, got.VolumeNodes); diff != "" {
		t.Errorf("owners: %s", diff)
	}
}

func TestAMoveInAWindowIsNoticed(t *testing.T) {
	t.Parallel()
	w, _ := live(t)
	got := w.observe(t, func() {
		job := w.beginMove(t)
		w.until(t, func() map[string]any { return w.get(t, job) }, "state", "success")
	})
	if diff := cmp.Diff([]string{"naclu1-01", "naclu1-02"}, got.VolumeNodes); diff != "" || got.Reset {
		t.Errorf("owners of %+v: %s", got, diff)
	}
}

func TestAResetInAWindowLeavesNoFigures(t *testing.T) {
	t.Parallel()
	w, truth := live(t)
	got := w.observe(t, truth.reset)
	if !got.Reset || got.ReadOps != nil || got.ReadBytes != nil {
		t.Errorf("window %+v", got)
	}
}
