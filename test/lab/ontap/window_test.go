package ontap_test

import (
	"log/slog"
	"math"
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
	began atomic.Pointer[time.Time]
}

// reset lets the counters begin at zero, as after a takeover.
func (s *steady) reset() { s.began.Store(new(time.Now())) }

func (s *steady) micros() uint64 { return uint64(time.Since(*s.began.Load()).Microseconds()) } //nolint:gosec // it is not negative

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

// observe samples the array like a collector for some seconds, of which the first
// is not in the window, and lets during happen in the middle.
func (w *world) observe(t *testing.T, during func()) runfile.StorageWindow {
	t.Helper()
	plan := runfile.Plan{Collect: runfile.Collect{IntervalMilliseconds: 200}}
	session := collect.Start(t.Context(), collect.Options{
		Plan: plan, Now: time.Now, Log: slog.New(slog.DiscardHandler), Sources: []storage.Source{w.source(t)},
	})
	start := time.Now().Add(time.Second)
	for _, at := range []time.Duration{3 * time.Second, 6 * time.Second} {
		timer := time.NewTimer(time.Until(start.Add(at)))
		<-timer.C
		if at == 3*time.Second {
			during()
		}
	}
	end := time.Now()
	got := session.Finish(t.Context(), runfile.Load{Spans: []runfile.Span{{Kind: runfile.SpanMeasure, Repetition: 1, Start: start, End: end}}})
	for _, p := range got.Problems {
		if p.Source == w.source(t).Name() {
			t.Errorf("problem: %s", p.Message)
		}
	}
	if len(got.Windows) != 1 || len(got.Windows[0].Storage) != 1 {
		t.Fatalf("windows %+v", got.Windows)
	}
	return got.Windows[0].Storage[0]
}

// live begins a stand-in on the machine's clock under a steady load.
func live(t *testing.T) (*world, *steady) {
	t.Helper()
	truth := &steady{}
	truth.reset()
	w := begin(t, func(o *ontap.Options) { o.Now, o.Grid, o.Truth = nil, 500*time.Millisecond, truth })
	w.clock.now = time.Now()
	return w, truth
}

func TestAWindowHoldsWhatTheArrayDidInIt(t *testing.T) {
	t.Parallel()
	w, _ := live(t)
	got := w.observe(t, func() {})
	if got.Reset || got.ReadOps == nil || got.ReadBytes == nil || got.ReadMicroseconds == nil {
		t.Fatalf("window %+v", got)
	}
	// The window of 6 s loses samples at its ends, more of them on a busy machine.
	if got.Seconds < 1 || got.Seconds > 6 || math.Abs(float64(*got.ReadOps)/got.Seconds-1000) > 100 {
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
	if len(got.Paths) != 2 || *got.Paths[1-i].ReadBytes != 0 || math.Abs(float64(*got.Paths[i].ReadBytes)/float64(*got.Paths[i].WriteBytes)-9) > 0.1 {
		t.Errorf("paths %+v", got.Paths)
	}
	if diff := cmp.Diff([]string{"naclu1-01"}, got.VolumeNodes); diff != "" {
		t.Errorf("owners: %s", diff)
	}
}

func TestAMoveInAWindowIsNoticed(t *testing.T) {
	t.Parallel()
	w, _ := live(t)
	got := w.observe(t, func() { w.beginMove(t) })
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
