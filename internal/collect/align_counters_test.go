package collect

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/collect/procfs"
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
				ReadOps: 10 * factor, ServerReadBytes: 4096 * factor,
				Operations: []runfile.OperationCounters{{Name: "READ", Operations: 10 * factor, Transmissions: 10*factor + again}},
				Transports: []runfile.Transport{{Protocol: "tcp", Sends: 20 * factor, Receives: 20 * factor}},
			}}
		}
		got := mountDelta([]runfile.HostSample{sample(0, 1, 9), sample(5*time.Second, 2, 8), sample(10*time.Second, 3, again)})
		if got == nil || got.ReadOps != 20 || got.ServerReadBytes != 8192 || len(got.Transports) != 1 || got.Retransmits != want {
			t.Errorf("from 9 to %d: %+v, want %d", again, got, want)
		}
	}
}

// Calls of one kind that were never sent hide no call of another kind that was sent again.
func TestEachKindOfOperationCountsItsOwnRetransmissions(t *testing.T) {
	span := []runfile.Span{{Kind: runfile.SpanMeasure, Start: day, End: second(10)}}
	for _, version := range []string{"nfs statvers=1.0", "nfs statvers=1.1", "nfs4 statvers=1.1"} {
		sample := func(at float64, operations string) runfile.HostSample {
			mounts, err := procfs.ParseMountStats(strings.NewReader("device s:/p mounted on /m with fstype " + version +
				"\n\tbytes:\t0 0 0 0 0 0 0 0\n\tper-op statistics\n" + operations))
			if err != nil {
				t.Fatal(err)
			}
			return runfile.HostSample{Time: second(at), Mount: &mounts[0].Counters}
		}
		before := "\tGETATTR: 50 50 0 0 0 0 0 0 0\n\tREAD: 100 107 0 0 0 0 0 0 0\n\tSEQUENCE: 9 9 0 0 0 0 0 0 0\n"
		middle := "\tGETATTR: 60 55 0 0 0 0 0 0 0\n\tREAD: 300 308 0 0 0 0 0 0 0\n\tSEQUENCE: 9 9 0 0 0 0 0 0 0\n"
		after := "\tGETATTR: 70 61 0 0 0 0 0 0 0\n\tREAD: 500 511 0 0 0 0 0 0 0\n\tSEQUENCE: 9 9 0 0 0 0 0 0 0\n\tOPEN: 3 5 0 0 0 0 0 0 0\n"
		samples := []runfile.HostSample{sample(0, before), sample(5, middle), sample(10, after)}
		m := Align(span, samples, nil)[0].Mount
		if m == nil || m.ReadOps != 400 || m.Retransmits != 4+2 {
			t.Errorf("%s: %+v", version, m)
		}
		samples[0].Mount.Operations = nil // of a collector that was killed
		if m := Align(span, samples, nil)[0].Mount; m == nil || m.ReadOps != 400 || m.Retransmits != 3+2 {
			t.Errorf("%s: after a restart of the collector %+v", version, m)
		}
	}
}

// A connection that comes or goes is told, since the window has not all of them.
func TestAChangedNumberOfConnectionsIsTold(t *testing.T) {
	with := func(n int) runfile.HostSample {
		return runfile.HostSample{Mount: &runfile.MountCounters{Transports: make([]runfile.Transport, n)}}
	}
	for _, c := range []struct {
		samples []runfile.HostSample
		want    bool
	}{
		{[]runfile.HostSample{with(1), with(2)}, true},
		{[]runfile.HostSample{with(2), with(1)}, true},
		{[]runfile.HostSample{with(2), with(2)}, false},
		{[]runfile.HostSample{with(2)}, false},
		{[]runfile.HostSample{{}, with(2)}, false},
	} {
		if got := connectionsChanged(c.samples); got != c.want {
			t.Errorf("%d samples: %v, want %v", len(c.samples), got, c.want)
		}
	}
}
