package collect

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// onGrid are readings, one a second, of an array that moves its counters every
// grid seconds, by a clock that is skew seconds ahead. Load runs from 37 to 97.
func onGrid(grid, skew float64) []Reading {
	var readings []Reading
	for at := 0.5; at < 120; at++ {
		held := float64(int(at/grid)) * grid
		loaded := max(0, min(held, 97)-37)
		r := readingAt(at, int64(1_000_000*loaded))
		r.Sample.Time = second(held + skew)
		readings = append(readings, r)
	}
	return readings
}

func TestCountersOnAGridAreThoseOfTheTimeInWhichTheyHeld(t *testing.T) {
	for _, skew := range []float64{0, 40, -40} {
		got := Align([]runfile.Span{span(runfile.SpanMeasure, 1, 37, 97)}, nil, onGrid(15, skew))[0].Storage
		if len(got) != 1 || got[0].ReadBytes == nil {
			t.Fatalf("skew %g: no window: %+v", skew, got)
		}
		// Cut by the time of reading, 14 s of idleness would be in the window.
		if rate := float64(*got[0].ReadBytes) / got[0].Seconds; rate != 1e6 {
			t.Errorf("skew %g: %.0f bytes/s in %g s, want 1000000", skew, rate, got[0].Seconds)
		}
		if w := got[0]; w.Start.Before(second(37)) || w.End.After(second(97)) || w.End.Sub(w.Start).Seconds() != w.Seconds {
			t.Errorf("skew %g: %g s from %v to %v on the clock of the client", skew, w.Seconds, w.Start, w.End)
		}
		if got[0].Seconds < 40 {
			t.Errorf("skew %g: only %g of 60 s are used", skew, got[0].Seconds)
		}
	}
}

func TestAClockThatIsSetDoesNotMoveTheWindows(t *testing.T) {
	readings := onGrid(1, 0)
	for i := range readings[:20] {
		readings[i].Sample.Time = second(3600) // before it was set
	}
	got := Align([]runfile.Span{span(runfile.SpanMeasure, 1, 37, 97)}, nil, readings)[0].Storage
	if len(got) != 1 || got[0].ReadBytes == nil || *got[0].ReadBytes < 58e6 {
		t.Errorf("got %+v", got)
	}
}

func TestWhereTheDataAndThePathsAreIsKeptInTheWindow(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	readings := []Reading{readingAt(0, 0), readingAt(1, 1), readingAt(2, 2)}
	for i := range readings {
		s := &readings[i].Sample
		s.VolumeNode = []string{"a", "b", "b"}[i]
		if i == 1 { // the others did not ask
			s.Clients = []runfile.StorageClient{{Address: "10.0.0.5", Server: "10.0.1.1", Protocol: "nfs3"}}
		}
		s.Paths = []runfile.StoragePath{{Address: "10.0.1.1", Name: "lif1", Node: []string{"a", "a", "b"}[i], ReadBytes: n(int64(i))}}
		s.ReadMicroseconds, s.WriteMicroseconds = n(int64(100*i)), n(int64(10*i))
		s.Nodes = []runfile.StorageNode{{Name: "a", BusyMicroseconds: n(int64(300_000 * i)), BaseMicroseconds: n(int64(1_000_000 * i))}}
	}
	got := Align([]runfile.Span{span(runfile.SpanMeasure, 1, 0, 2)}, nil, readings)[0].Storage
	want := []runfile.StorageWindow{{
		Source: "s", Seconds: 2, Start: second(0), End: second(2), ReadBytes: n(2), ReadMicroseconds: n(200), WriteMicroseconds: n(20),
		Clients:     []runfile.StorageClient{{Address: "10.0.0.5", Server: "10.0.1.1", Protocol: "nfs3"}},
		VolumeNodes: []string{"a", "b"}, Nodes: []runfile.StorageNodeWindow{{Name: "a", CPUPermille: new(int32(300))}},
		Paths: []runfile.StoragePath{{Address: "10.0.1.1", Name: "lif1", Node: "b", ReadBytes: n(2)}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOneClientSamplesAnArray(t *testing.T) {
	plan := runfile.Plan{Collect: runfile.Collect{Sources: []runfile.Source{
		{Kind: runfile.SourceEmbedded, Name: "array", URL: "http://127.0.0.1:1", OneClient: true, IntervalMilliseconds: 5000},
		{Kind: runfile.SourceEmbedded, Name: "server", URL: "http://127.0.0.1:1"},
	}}}
	for client, want := range []int{2, 1} {
		o := Options{Plan: plan, Client: int32(client)}
		if got := planSources(o, func(string, error) {}); len(got) != want {
			t.Errorf("client %d samples %d sources, want %d", client, len(got), want)
		}
		if o.sourceInterval("array").Seconds() != 5 || o.sourceInterval("server").Seconds() != 1 {
			t.Errorf("intervals %v and %v", o.sourceInterval("array"), o.sourceInterval("server"))
		}
	}
}
