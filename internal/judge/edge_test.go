package judge

import (
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

func TestCountersMayMissTheEdgesOfAShortWindowOnly(t *testing.T) {
	cases := map[string]struct {
		milliseconds int64
		want         float64
	}{
		"a look of 5 s": {5_000, 40},
		"a minute":      {60_000, 200.0 / 60},
		"no window":     {0, 100},
		"half a second": {500, 100},
		"a whole hour":  {3_600_000, 200.0 / 3600},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := edgePermille(measure.Summary{DurationMilliseconds: tc.milliseconds}); got < tc.want-0.01 || got > tc.want+0.01 {
				t.Errorf("got %v permille, want %v", got, tc.want)
			}
		})
	}
}

// The samples of the mount lie inside the window, so they cover less time than the load's window.
func TestCountersOfAPartOfTheWindowAreComparedWithThatPartOfTheLoad(t *testing.T) {
	cases := map[string]struct {
		reason   string
		seconds  int
		bytes    int64
		verified bool
		cache    bool
		edge     int64
	}{
		"all of both":           {"as on a quiet machine", 60, goodBytes, true, false, 0},
		"half of both":          {"a late sample is no cache", 30, goodBytes / 2, true, false, 0},
		"all, half of bytes":    {"a cache served the rest", 60, goodBytes / 2, false, true, 0},
		"half, fewer bytes":     {"less than the load can have moved in that time", 30, goodBytes / 10, false, true, 0},
		"half, at another pace": {"the half that was not seen may have been the faster", 30, goodBytes * 2 / 5, true, false, 0},
		"half, all the bytes":   {"more than expected proves as much", 30, goodBytes, true, false, 0},
		"the edges are missed":  {"0.3 % of a minute, beside what a client may cache", 60, goodBytes * 948 / 1000, true, false, 0},
		"read late":             {"a collector that waited 10 s for a processor", 60, goodBytes * 83 / 100, true, false, 10_000},
		"not that late":         {"5 s of 60 explain 8 %", 60, goodBytes * 70 / 100, false, true, 5_000},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := kernelRun(t)
			eachWindow(&r, runfile.SpanMeasure, func(w *runfile.ObservedWindow) {
				w.End = w.Start.Add(time.Duration(tc.seconds) * time.Second)
				w.EdgeMilliseconds = tc.edge
				w.Mount.ServerReadBytes, w.Mount.DirectReadBytes = tc.bytes, tc.bytes
			})
			j := Judge(r)
			if v := j.Protocol.Verified; v == nil || *v != tc.verified || j.Protocol.Mismatch {
				t.Errorf("%s: protocol %+v", tc.reason, j.Protocol)
			}
			if hasFinding(j, CacheSuspected, "") != tc.cache {
				t.Errorf("%s: findings %+v", tc.reason, j.Findings)
			}
		})
	}
}

// A loader that waits for a processor reads its channel counters late. The late reading is no
// fallback to another client, and no proof against one.
func TestChannelsThatWereReadLateAreNoMismatch(t *testing.T) {
	cases := map[string]struct {
		share    int64 // of the load, in permille, on channels
		edge     int64
		mismatch bool
		verified bool
	}{
		"all of it":           {1000, 0, false, true},
		"nothing explains it": {900, 0, true, false},
		"6 s of a minute":     {900, 6_000, false, false},
		"1 s of a minute":     {900, 1_000, true, false},
		"late, and complete":  {1000, 6_000, false, true},
		"an impossible delay": {100, 1 << 40, true, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := good(t)
			eachRep(&r, func(rep *runfile.Repetition) {
				rep.EdgeMilliseconds = tc.edge
				for n := range rep.Channels {
					rep.Channels[n].BytesRead = rep.Channels[n].BytesRead * tc.share / 1000
				}
			})
			e := Judge(r).Protocol
			if e.Mismatch != tc.mismatch || (e.Verified != nil && *e.Verified) != tc.verified {
				t.Errorf("mismatch %v, verified %v, want %v and %v: %s", e.Mismatch, e.Verified, tc.mismatch, tc.verified, e.Message)
			}
		})
	}
}

// TestIOsThatStraddleTheBeginOfAWindowAreNoMismatch: of 23 I/Os of 1 MiB in a window of 2 s, 8 were outstanding at its
// begin, and two had their bytes on the channels by then.
func TestIOsThatStraddleTheBeginOfAWindowAreNoMismatch(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		ops      int64
		mismatch bool
	}{"few in the window": {23, false}, "many in the window": {10_000, true}} {
		r := good(t)
		r.Plan.Workload.Raw.Jobs, r.Plan.Workload.Raw.Depth = 4, 2
		eachRep(&r, func(rep *runfile.Repetition) {
			rep.Read.Count = tc.ops
			for n := range rep.Channels {
				rep.Channels[n].BytesRead = rep.Channels[n].BytesRead * 846 / 1000
			}
		})
		if e := Judge(r).Protocol; e.Mismatch != tc.mismatch || (e.Verified == nil) == tc.mismatch {
			t.Errorf("%s: mismatch %v, verified %v: %s", name, e.Mismatch, e.Verified, e.Message)
		}
	}
}

// The protocol check comes first: no delay explains another version or a missing layout.
func TestALateReadingExcusesNoOtherProtocol(t *testing.T) {
	t.Parallel()
	for name, declared := range map[string]bench.NFSVersion{"another version": bench.NFSv41, "no layout": bench.PNFS} {
		r := good(t)
		r.Plan.Engine.NFSVersion = declared
		if declared == bench.PNFS {
			r.Clients[0].Load.Mount.NFSVersion = string(bench.NFSv41)
		}
		eachRep(&r, func(rep *runfile.Repetition) {
			rep.EdgeMilliseconds = 6_000
			for n := range rep.Channels {
				rep.Channels[n].BytesRead = rep.Channels[n].BytesRead * 9 / 10
			}
		})
		if e := Judge(r).Protocol; !e.Mismatch {
			t.Errorf("%s: %s", name, e.Message)
		}
	}
}

// Readings that took as long as the window may cover all of the load or none of it.
func TestCountersThatMustNotHaveSeenAnythingSayNothing(t *testing.T) {
	t.Parallel()
	r := kernelRun(t)
	eachWindow(&r, runfile.SpanMeasure, func(w *runfile.ObservedWindow) {
		w.EdgeMilliseconds, w.Mount.ServerReadBytes = 60_000, goodBytes/2
	})
	if j := Judge(r); j.Protocol.Verified != nil || hasFinding(j, CacheSuspected, "page cache") {
		t.Errorf("%+v, %+v", j.Protocol, j.Findings)
	}
}

// With Direct NFS, the bytes of the mount are compared with all of the load that its counters may
// cover. A small load is compared with the usual size of trace files.
func TestTheMountBesideDirectNFSIsNotBlamedForItsEdges(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		load  int64 // bytes per second
		moved int64 // in permille of the load
		edge  int64 // milliseconds
		says  statement
	}{
		"flat":                            {100e6, 42, 0, agrees},
		"flat, and read late":             {100e6, 42, 12_000, agrees},
		"a part":                          {100e6, 60, 0, doubts},
		"a part, and read late":           {100e6, 420, 12_000, doubts},
		"most of it":                      {100e6, 600, 0, denies},
		"trace files beside a small load": {5e5, 60, 0, silent},
		"the most that those are":         {5e5, 2000, 0, silent},
		"more than that":                  {5e5, 2001, 0, denies},
	} {
		rep := runfile.Repetition{Index: 1, Start: t0, End: t0.Add(time.Minute), Read: &runfile.Ops{Bytes: tc.load * 60}}
		w := runfile.ObservedWindow{
			Kind: runfile.SpanMeasure, Repetition: 1, Start: rep.Start, End: rep.End, EdgeMilliseconds: tc.edge,
			Mount: &runfile.MountCounters{ServerReadBytes: tc.load * 60 * tc.moved / 1000},
		}
		r := runfile.Result{Clients: []runfile.ClientResult{{
			Load:     runfile.Load{Repetitions: []runfile.Repetition{rep}},
			Observed: &runfile.Observed{Windows: []runfile.ObservedWindow{w}},
		}}}
		if got := newFacts(r).mountObservation(); got.says != tc.says {
			t.Errorf("%s: %d, want %d: %s", name, got.says, tc.says, got.text)
		}
	}
}

// Two pods of a node share the mount of its kernel: each reads the counters for both.
func TestTheMountOfAMachineCountsOnceForAllItsClients(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		node    string // of the second client
		options []string
		moved   int64 // by the mount that each client sees, in permille of the load of one
		apart   time.Duration
		foreign bool
		cache   bool
	}{
		"shared":                        {"node0", nil, 2000, 0, false, false},
		"shared, and others use it":     {"node0", nil, 2300, 0, true, false},
		"shared, and a cache answers":   {"node0", nil, 1500, 0, false, true},
		"shared, one after the other":   {"node0", nil, 1500, 30 * time.Second, false, false},
		"each with a mount of its own":  {"node0", []string{"nosharecache"}, 1000, 0, false, false},
		"on two machines":               {"node1", nil, 1000, 0, false, false},
		"on two machines, and a cache":  {"node1", nil, 900, 0, false, true},
		"on two machines, and others":   {"node1", nil, 1150, 0, true, false},
		"mounts apart, and others read": {"node0", []string{"nosharecache"}, 1150, 0, true, false},
	} {
		r, second := kernelRun(t), kernelRun(t).Clients[0]
		r.Plan.Clients, r.Plan.Link = 2, nil
		second.Index, second.Host.Node = 1, tc.node
		for i := range second.Load.Repetitions {
			rep := &second.Load.Repetitions[i]
			rep.Start, rep.End = rep.Start.Add(tc.apart), rep.End.Add(tc.apart)
		}
		r.Clients = append(r.Clients, second)
		for _, cl := range r.Clients {
			cl.Load.Mount.Options = append(cl.Load.Mount.Options, tc.options...)
			for i, w := range cl.Observed.Windows {
				if w.Kind == runfile.SpanMeasure {
					moved := goodBytes / 1000 * tc.moved
					cl.Observed.Windows[i].Mount = &runfile.MountCounters{ServerReadBytes: moved, DirectReadBytes: moved}
				}
			}
		}
		j := Judge(r)
		if got := hasFinding(j, ForeignLoad, "same mount"); got != tc.foreign {
			t.Errorf("%s: foreign load %v: %+v", name, got, j.Findings)
		}
		if got := hasFinding(j, CacheSuspected, "page cache"); got != tc.cache {
			t.Errorf("%s: cache %v: %+v", name, got, j.Findings)
		}
	}
}
