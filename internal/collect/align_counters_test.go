package collect

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Each counter of a window is the growth of the same counter of the storage.
func TestNoCounterOfAStorageIsTakenForAnother(t *testing.T) {
	start := time.Date(2026, 11, 1, 10, 0, 0, 0, time.UTC)
	reading := func(after time.Duration, factor int64) Reading {
		at := start.Add(after)
		return Reading{At: at, Sample: runfile.StorageSample{
			Source: "array", Time: at,
			ReadOps: new(factor), WriteOps: new(2 * factor), OtherOps: new(3 * factor),
			ReadBytes: new(4 * factor), WriteBytes: new(5 * factor), ReadMicroseconds: new(6 * factor), WriteMicroseconds: new(7 * factor),
		}}
	}
	got := storageWindow("array", []Reading{reading(0, 1000), reading(10*time.Second, 1100)})
	want := runfile.StorageWindow{
		Source: "array", Seconds: 10,
		ReadOps: new(int64(100)), WriteOps: new(int64(200)), OtherOps: new(int64(300)),
		ReadBytes: new(int64(400)), WriteBytes: new(int64(500)), ReadMicroseconds: new(int64(600)), WriteMicroseconds: new(int64(700)),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A call that a signal ends before it is sent makes the difference of two counters smaller, and
// says nothing against the others.
func TestACallThatWasNeverSentTakesNoCounterAway(t *testing.T) {
	start := time.Date(2026, 11, 1, 10, 0, 0, 0, time.UTC)
	for again, want := range map[int64]int64{7: 0, 9: 0, 12: 3, -2: 0} {
		sample := func(after time.Duration, factor, again int64) runfile.HostSample {
			return runfile.HostSample{Time: start.Add(after), Mount: &runfile.MountCounters{
				ReadOps: 10 * factor, ServerReadBytes: 4096 * factor, Retransmits: again,
				Transports: []runfile.Transport{{Protocol: "tcp", Sends: 20 * factor, Receives: 20 * factor}},
			}}
		}
		got := mountDelta([]runfile.HostSample{sample(0, 1, 9), sample(5*time.Second, 2, 8), sample(10*time.Second, 3, again)})
		if got == nil || got.ReadOps != 20 || got.ServerReadBytes != 8192 || len(got.Transports) != 1 || got.Retransmits != want {
			t.Errorf("from 9 to %d: %+v, want %d", again, got, want)
		}
	}
}
