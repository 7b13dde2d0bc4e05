package collect

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

var day = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func second(n float64) time.Time { return day.Add(time.Duration(n * float64(time.Second))) }

func span(kind string, repetition int32, from, to float64) runfile.Span {
	s := runfile.Span{Kind: kind, Repetition: repetition, Start: second(from)}
	if to > from {
		s.End = second(to)
	}
	return s
}

// hostAt is a sample of a machine with two CPUs, of which busy microseconds
// were used.
func hostAt(at float64, busy int64) runfile.HostSample {
	total := int64(2e6 * at)
	return runfile.HostSample{
		Time: second(at), NodeBusyMicroseconds: &busy, NodeTotalMicroseconds: &total,
		Interfaces: []runfile.InterfaceRead{{Name: "eth0", ReceivedBytes: busy * 10, SentBytes: busy}},
	}
}

func readingAt(at float64, readBytes int64) Reading {
	return Reading{At: second(at), Sample: runfile.StorageSample{
		Source: "s", Time: second(at + 100), ReadBytes: &readBytes, // its clock is 100 s ahead
	}}
}

func TestWindowsUseOnlyTheSamplesInsideTheSpan(t *testing.T) {
	// Idle until 10, then one CPU of the two in use; the samples next to the
	// change lie 100 ms after it and 900 ms before.
	var hosts []runfile.HostSample
	var readings []Reading
	for n := range 21 {
		at := float64(n) + 0.1
		busy := int64(math.Round(1e6 * max(0, at-10)))
		hosts = append(hosts, hostAt(at, busy))
		readings = append(readings, readingAt(at, busy*100))
	}
	got := Align([]runfile.Span{
		span(runfile.SpanConnect, 0, 0, 1),
		span(runfile.SpanBaseline, 1, 1, 10),
		span(runfile.SpanMeasure, 1, 10, 20),
		span(runfile.SpanMeasure, 2, 20, 0), // still open
	}, hosts, readings)
	want := []runfile.ObservedWindow{
		{
			Kind: "Baseline", Repetition: 1, Start: second(1.1), End: second(9.1),
			NodeCPUPermille: new(int32(0)), NodeBusyMicroseconds: new(int64(0)), Interfaces: []runfile.InterfaceRead{{Name: "eth0"}},
			Storage: []runfile.StorageWindow{{Source: "s", Seconds: 8, Start: second(1.1), End: second(9.1), ReadBytes: new(int64(0))}},
		},
		{
			Kind: "Measure", Repetition: 1, Start: second(10.1), End: second(19.1),
			NodeCPUPermille: new(int32(500)), NodeBusyMicroseconds: new(int64(9_000_000)),
			Interfaces: []runfile.InterfaceRead{{Name: "eth0", ReceivedBytes: 90_000_000, SentBytes: 9_000_000}},
			Storage:    []runfile.StorageWindow{{Source: "s", Seconds: 9, Start: second(10.1), End: second(19.1), ReadBytes: new(int64(900_000_000))}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The phases of a calibration lie within its window.
func TestPhasesOfACalibrationHaveWindowsOfTheirOwn(t *testing.T) {
	load := runfile.Load{
		Spans: []runfile.Span{span(runfile.SpanMeasure, 2, 0, 20)},
		Repetitions: []runfile.Repetition{{Index: 1}, {Index: 2, Oracle: &runfile.OracleWindow{Phases: []runfile.OraclePhase{
			{Kind: runfile.StepSmallReads, Start: second(0), End: second(9)}, {Kind: runfile.StepLargeReads, Start: second(10), End: second(20)},
		}}}},
	}
	var hosts []runfile.HostSample
	var readings []Reading
	for n := range 21 { // one of two CPUs is busy, and a fifth from 10 on
		busy := int64(min(n, 10))*1e6 + int64(max(n-10, 0))*2e5
		h := hostAt(float64(n), busy)
		h.Cores = []runfile.CoreCounters{{Number: 0}, {Number: 3, BusyMicroseconds: busy}}
		if n > 15 {
			h.Cores = h.Cores[1:] // core 0 is taken away
		}
		hosts, readings = append(hosts, h), append(readings, readingAt(float64(n), busy))
	}
	o := Session{opt: Options{}}
	o.hosts.limit = 100
	for _, h := range hosts {
		o.hosts.add(h, false)
	}
	o.readings = []series[Reading]{{limit: 100}}
	for _, r := range readings {
		o.readings[0].add(r, false)
	}
	w := o.Observe(load).Windows
	type seen struct {
		kind       string
		repetition int32
		cpu        int32
		cores      []runfile.CoreWindow
		read       int64
	}
	var got []seen
	for _, w := range w {
		got = append(got, seen{w.Kind, w.Repetition, *w.NodeCPUPermille, w.Cores, *w.Storage[0].ReadBytes})
	}
	want := []seen{
		{"Measure", 2, 300, []runfile.CoreWindow{{Number: 3, BusyPermille: 600}}, 12e6},
		{"SmallReads", 2, 500, []runfile.CoreWindow{{Number: 0}, {Number: 3, BusyPermille: 1000}}, 9e6},
		{"LargeReads", 2, 100, []runfile.CoreWindow{{Number: 3, BusyPermille: 200}}, 2e6},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(seen{})); diff != "" {
		t.Error(diff)
	}
}

// A counter is read at some moment between the time of its sample and the end of the reading.
func TestAWindowSaysByHowMuchItsReadingsMayBeApart(t *testing.T) {
	hosts := []runfile.HostSample{hostAt(1, 0), hostAt(5, 1), hostAt(9, 2)}
	hosts[0].TookMilliseconds, hosts[1].TookMilliseconds, hosts[2].TookMilliseconds = 700, 5000, 40
	got := Align([]runfile.Span{span(runfile.SpanMeasure, 1, 0, 10)}, hosts, nil)
	if len(got) != 1 || got[0].EdgeMilliseconds != 740 {
		t.Errorf("got %+v, want one window with edges of 740 ms", got)
	}
}

func TestNothingIsSaidOfASpanThatWasHardlySampled(t *testing.T) {
	measure := []runfile.Span{span(runfile.SpanMeasure, 1, 0, 10)}
	cases := map[string]struct {
		reason string
		at     []float64
		want   bool
	}{
		"none":            {"no sample", nil, false},
		"outside":         {"samples around it belong to other spans", []float64{-1, 11}, false},
		"one":             {"one sample has no delta", []float64{-1, 5, 11}, false},
		"less than half":  {"four seconds do not stand for ten", []float64{1, 5}, false},
		"half":            {"half of it does", []float64{5, 10}, true},
		"at the ends":     {"the ends belong to the span", []float64{0, 10}, true},
		"clock went back": {"a negative time is no window", []float64{9, 1}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var hosts []runfile.HostSample
			var readings []Reading
			for _, at := range tc.at {
				hosts, readings = append(hosts, hostAt(at, 1)), append(readings, readingAt(at, 1))
			}
			w := Align(measure, hosts, readings)[0]
			if got := w.NodeCPUPermille != nil; got != tc.want {
				t.Errorf("%s: host window is there: %v, want %v", tc.reason, got, tc.want)
			}
			if got := len(w.Storage) == 1; got != tc.want {
				t.Errorf("%s: storage window is there: %v, want %v", tc.reason, got, tc.want)
			}
			if !tc.want && (!w.Start.Equal(second(0)) || !w.End.Equal(second(10))) {
				t.Errorf("%s: an empty window is from %v to %v, want the span", tc.reason, w.Start, w.End)
			}
		})
	}
}

func TestUnknownAndBackwardHostCountersHaveNoDelta(t *testing.T) {
	mount := func(read int64, sends ...int64) *runfile.MountCounters {
		m := &runfile.MountCounters{ServerReadBytes: read, ReadOps: read}
		for _, s := range sends {
			m.Transports = append(m.Transports, runfile.Transport{Sends: s, Receives: s})
		}
		return m
	}
	cases := map[string]struct {
		reason string
		series []runfile.HostSample // at 0, 1, 2...
		want   runfile.ObservedWindow
	}{
		"missing at an end": {
			reason: "half a delta is none",
			series: []runfile.HostSample{{}, {TCPRetransmittedSegment: new(int64(3))}},
		},
		"missing in the middle": {
			reason: "both ends are known",
			series: []runfile.HostSample{{CgroupThrottledMicros: new(int64(3))}, {}, {CgroupThrottledMicros: new(int64(5))}},
			want:   runfile.ObservedWindow{CgroupThrottledMicros: new(int64(2))},
		},
		"back and beyond": {
			reason: "a counter that was reset in between may look as if it had only grown",
			series: []runfile.HostSample{
				{CgroupCPUMicroseconds: new(int64(3))}, {CgroupCPUMicroseconds: new(int64(0))}, {CgroupCPUMicroseconds: new(int64(5))},
			},
		},
		"segments": {
			reason: "each direction has a counter of its own",
			series: []runfile.HostSample{
				{TCPRetransmittedSegment: new(int64(1)), TCPOutOfOrderSegments: new(int64(10))},
				{TCPRetransmittedSegment: new(int64(3)), TCPOutOfOrderSegments: new(int64(17))},
			},
			want: runfile.ObservedWindow{TCPRetransmittedSegment: new(int64(2)), TCPOutOfOrderSegments: new(int64(7))},
		},
		"segments in another namespace": {
			reason: "a counter that went back is that of another network namespace, and never negative",
			series: []runfile.HostSample{{TCPOutOfOrderSegments: new(int64(10))}, {TCPOutOfOrderSegments: new(int64(7))}},
		},
		"asynchronous I/O": {
			reason: "no counter: the most that there was, between samples that could not be read as well",
			series: []runfile.HostSample{
				{AsyncIO: &runfile.AsyncIO{Requests: 5, Limit: 9}},
				{AsyncIO: &runfile.AsyncIO{Requests: 7, Limit: 9}},
				{},
				{AsyncIO: &runfile.AsyncIO{Requests: 3, Limit: 9}},
			},
			want: runfile.ObservedWindow{AsyncIO: &runfile.AsyncIO{Requests: 7, Limit: 9}},
		},
		"interface made anew": {
			reason: "one interface says nothing, the other does",
			series: []runfile.HostSample{
				{Interfaces: []runfile.InterfaceRead{{Name: "a", SentBytes: 9}, {Name: "b", SentBytes: 1}}},
				{Interfaces: []runfile.InterfaceRead{{Name: "b", SentBytes: 3}, {Name: "a", SentBytes: 2}}},
			},
			want: runfile.ObservedWindow{Interfaces: []runfile.InterfaceRead{{Name: "b", SentBytes: 2}}},
		},
		"mount": {
			reason: "every counter of the mount and of its connections",
			series: []runfile.HostSample{{Mount: mount(10, 1, 2)}, {Mount: mount(40, 5, 9)}},
			want:   runfile.ObservedWindow{Mount: mount(30, 4, 7)},
		},
		"another connection": {
			reason: "it is listed last, and has no delta",
			series: []runfile.HostSample{{Mount: mount(10, 1)}, {Mount: mount(40, 5, 9)}},
			want:   runfile.ObservedWindow{Mount: mount(30, 4)},
		},
		"a connection less": {
			reason: "it may be any of them",
			series: []runfile.HostSample{{Mount: mount(10, 1, 2)}, {Mount: mount(40, 5)}},
			want:   runfile.ObservedWindow{Mount: mount(30)},
		},
		"mounted again": {
			reason: "another mount's counters start from zero",
			series: []runfile.HostSample{{Mount: mount(10)}, {Mount: mount(4)}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for n := range tc.series {
				tc.series[n].Time = second(float64(n))
			}
			end := float64(len(tc.series) - 1)
			tc.want.Kind, tc.want.Repetition, tc.want.Start, tc.want.End = "Measure", 1, second(0), second(end)
			got := Align([]runfile.Span{span(runfile.SpanMeasure, 1, 0, end)}, tc.series, nil)
			if diff := cmp.Diff([]runfile.ObservedWindow{tc.want}, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestStorageWindowsKnowResetsAndNodes(t *testing.T) {
	n, c := func(v int64) *int64 { return &v }, func(v int32) *int32 { return &v }
	sample := func(at float64, bytes, busy *int64, cores *int32, path *int64) Reading {
		return Reading{At: second(at), Sample: runfile.StorageSample{
			Source: "s", Time: second(at), WriteBytes: bytes,
			Nodes: []runfile.StorageNode{{Name: "n1", BusyMicroseconds: busy, Cores: cores}},
			Paths: []runfile.StoragePath{{Address: "10.0.0.1", ReadBytes: path}},
		}}
	}
	node := func(permille *int32) []runfile.StorageNodeWindow {
		return []runfile.StorageNodeWindow{{Name: "n1", CPUPermille: permille}}
	}
	path := func(read *int64) []runfile.StoragePath {
		return []runfile.StoragePath{{Address: "10.0.0.1", ReadBytes: read}}
	}
	cases := map[string]struct {
		reason   string
		readings []Reading
		want     runfile.StorageWindow
	}{
		"all known": {
			reason:   "3 of 4 cores for 2 seconds",
			readings: []Reading{sample(0, n(5), n(0), c(4), n(1)), sample(2, n(9), n(6e6), c(4), n(2))},
			want:     runfile.StorageWindow{Source: "s", Seconds: 2, Start: second(0), End: second(2), WriteBytes: n(4), Nodes: node(c(750)), Paths: path(n(1))},
		},
		"no cores": {
			reason:   "CPU time of an unknown number of cores is no share",
			readings: []Reading{sample(0, n(5), n(0), nil, nil), sample(2, n(9), n(6e6), nil, n(2))},
			want:     runfile.StorageWindow{Source: "s", Seconds: 2, Start: second(0), End: second(2), WriteBytes: n(4), Nodes: node(nil), Paths: path(nil)},
		},
		"reset": {
			reason:   "the server was started again in the window, although the last is larger than the first",
			readings: []Reading{sample(0, n(5), n(1), c(4), n(1)), sample(1, n(0), n(0), c(4), n(0)), sample(2, n(9), n(6e6), c(4), n(2))},
			want:     runfile.StorageWindow{Source: "s", Reset: true},
		},
		"new epoch": {
			reason: "a restart while nothing was counted shows in the epoch alone",
			readings: []Reading{
				{At: second(0), Epoch: "a", Sample: runfile.StorageSample{Source: "s", Time: second(0), WriteBytes: n(1)}},
				{At: second(2), Epoch: "b", Sample: runfile.StorageSample{Source: "s", Time: second(2), WriteBytes: n(2)}},
			},
			want: runfile.StorageWindow{Source: "s", Reset: true},
		},
		"node reset": {
			reason:   "one node was started again, the storage goes on",
			readings: []Reading{sample(0, n(5), n(7), c(4), n(1)), sample(2, n(9), n(6), c(4), n(2))},
			want:     runfile.StorageWindow{Source: "s", Seconds: 2, Start: second(0), End: second(2), WriteBytes: n(4), Nodes: node(nil), Paths: path(n(1))},
		},
		"more than all": {
			reason:   "two clocks that differ a little must not give more than 1000",
			readings: []Reading{sample(0, nil, n(0), c(1), nil), sample(2, nil, n(2.1e6), c(1), nil)},
			want:     runfile.StorageWindow{Source: "s", Seconds: 2, Start: second(0), End: second(2), Nodes: node(c(1000)), Paths: path(nil)},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Align([]runfile.Span{span(runfile.SpanMeasure, 1, 0, 2)}, nil, tc.readings)[0].Storage
			if diff := cmp.Diff([]runfile.StorageWindow{tc.want}, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestNothingIsSaidOfAStorageWhoseClockStandsStill(t *testing.T) {
	readings := []Reading{readingAt(0, 5), readingAt(2, 5)}
	readings[1].Sample.Time = readings[0].Sample.Time
	got := Align([]runfile.Span{span(runfile.SpanMeasure, 1, 0, 2)}, nil, readings)[0].Storage
	if got != nil {
		t.Errorf("got %+v", got)
	}
}

// A rate from any window must be the rate of the load, whenever the samples
// happened to be taken and however the storage's clock differs.
func TestRatesOfWindowsAreThoseOfASteadyLoad(t *testing.T) {
	const perSecond = 1_000_000
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		var hosts []runfile.HostSample
		var readings []Reading
		skew := random.Float64()*100 - 50
		for at := random.Float64(); at < 60; at += 0.5 + random.Float64() {
			// Outside 20..40 others work ten times as hard.
			counted := perSecond * (10*at - 9*max(0, min(at, 40)-20))
			hosts = append(hosts, hostAt(at, int64(counted)))
			r := readingAt(at, int64(counted))
			r.Sample.Time = second(at + skew)
			readings = append(readings, r)
		}
		w := Align([]runfile.Span{span(runfile.SpanMeasure, 1, 20, 40)}, hosts, readings)[0]
		rate := float64(w.Interfaces[0].SentBytes) / w.End.Sub(w.Start).Seconds()
		storage := float64(*w.Storage[0].ReadBytes) / w.Storage[0].Seconds
		for _, got := range []float64{rate, storage} {
			if got < 0.999*perSecond || got > 1.001*perSecond {
				t.Fatalf("seed %d: rate %.0f, want %d", seed, got, perSecond)
			}
		}
	}
}

func TestAlignNeverSaysANegativeNumber(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 2))
		var hosts []runfile.HostSample
		var readings []Reading
		for range 20 {
			hosts = append(hosts, hostAt(random.Float64()*20, random.Int64N(1e6)))
			readings = append(readings, readingAt(random.Float64()*20, random.Int64N(1e6)))
		}
		for _, w := range Align([]runfile.Span{span(runfile.SpanMeasure, 1, 2, 18), span(runfile.SpanBaseline, 1, 0, 9)}, hosts, readings) {
			for _, i := range w.Interfaces {
				if i.ReceivedBytes < 0 || i.SentBytes < 0 {
					t.Fatalf("seed %d: %+v", seed, i)
				}
			}
			for _, s := range w.Storage {
				if s.Seconds < 0 || (s.ReadBytes != nil && (*s.ReadBytes < 0 || s.Reset)) {
					t.Fatalf("seed %d: %+v", seed, s)
				}
			}
			if w.NodeCPUPermille != nil && (*w.NodeCPUPermille < 0 || *w.NodeCPUPermille > 1000) {
				t.Fatalf("seed %d: %d permille", seed, *w.NodeCPUPermille)
			}
		}
	}
}
