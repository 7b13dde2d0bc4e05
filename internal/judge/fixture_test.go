package judge

import (
	"strconv"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
)

//go:fix inline

var t0 = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

// histogram has n latencies around us, base64.
func histogram(t testing.TB, n int, us int64) string {
	t.Helper()
	h := stats.NewHistogram()
	for i := range n {
		h.Record(us+int64(i%10)*us/10, 1)
	}
	enc, err := h.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return enc
}

// good is a run without any finding: one client reads over two declared 10GbE
// paths with MTU 9000 for 60 s, three times, at 90 % of the wire.
func good(t testing.TB) runfile.Result {
	t.Helper()
	plan := runfile.Plan{
		Version: runfile.PlanVersion, Run: runfile.Identity{Name: "demo"}, Clients: 1,
		Engine: runfile.Engine{
			Client: bench.ClientDirectNFS, NFSVersion: "NFSv3",
			Server: "array1", Export: "/vol/data", Channels: []bench.ResolvedPath{{Local: "10.0.1.5", Path: "10.0.1.61"}, {Local: "10.0.2.5", Path: "10.0.2.61"}},
		},
		Workload: bench.Workload{Raw: &bench.RawWorkload{
			Pattern: bench.PatternRead, BlockSize: bench.Bytes(1 << 20), FileSize: *bench.Bytes(256 << 30), Jobs: 4, Depth: 8, Directory: "nfsbench",
		}},
		Schedule: runfile.Schedule{BaselineSeconds: 5, WarmupSeconds: 5, DurationSeconds: 60, Repetitions: 3},
		Link:     &bench.Link{BitsPerSecond: *bench.Bits(10e9), MTU: 9000},
	}
	return runfile.Result{Version: runfile.ResultVersion, Plan: plan, Clients: []runfile.ClientResult{client(t, 0)}}
}

func client(t testing.TB, index int32) runfile.ClientResult {
	t.Helper()
	c := runfile.ClientResult{
		Index: index,
		Host:  runfile.Host{Name: "demo", Node: "node" + strconv.Itoa(int(index)), CPUs: 16, CPULimit: new(4.0), MemoryBytes: 64 << 30},
		Load: runfile.Load{
			LoopMode: "closed", SampleSeconds: 1,
			Mount: &runfile.MountFacts{NFSVersion: "NFSv3", ReadSizeBytes: 1 << 20, WriteSizeBytes: 1 << 20, DirectIO: true},
		},
		Observed: &runfile.Observed{IntervalMilliseconds: 1000},
	}
	for rep := int32(1); rep <= 3; rep++ {
		start := t0.Add(time.Duration(rep) * 100 * time.Second)
		c.Load.Repetitions = append(c.Load.Repetitions, goodRepetition(t, rep, start))
		c.Load.Samples = append(c.Load.Samples, samples(rep, start)...)
		c.Observed.Windows = append(c.Observed.Windows, windows(rep, start)...)
	}
	return c
}

const (
	goodOps   = 127_500 // of 1 MiB in 60 s: 2228 MB/s, 90 % of two links of 1237.5
	goodBytes = int64(goodOps) << 20
)

func goodRepetition(t testing.TB, index int32, start time.Time) runfile.Repetition {
	t.Helper()
	half := goodBytes / 2
	return runfile.Repetition{
		Index: index, Start: start, End: start.Add(time.Minute), CPUMicroseconds: 60e6,
		Read: &runfile.Ops{Count: goodOps, Bytes: goodBytes, Histogram: histogram(t, 1000, 10_000)},
		Channels: []runfile.Channel{
			{ID: 0, Local: "10.0.1.5", Path: "10.0.1.61", State: "Up", BytesRead: half},
			{ID: 1, Local: "10.0.2.5", Path: "10.0.2.61", State: "Up", BytesRead: goodBytes - half},
		},
	}
}

func samples(index int32, start time.Time) []runfile.LoadSample {
	var out []runfile.LoadSample
	for s := 1; s <= 60; s++ {
		out = append(out, runfile.LoadSample{
			Time: start.Add(time.Duration(s) * time.Second), Span: runfile.SpanMeasure, Repetition: index,
			Read: &runfile.SampleOps{Count: goodOps / 60, Bytes: goodBytes / 60, MeanMicroseconds: 14_500},
		})
	}
	return out
}

func windows(index int32, start time.Time) []runfile.ObservedWindow {
	storage := func(ops, bytes int64) []runfile.StorageWindow {
		return []runfile.StorageWindow{{
			Source: "array", Seconds: 60, ReadOps: new(ops), WriteOps: new(int64(0)), ReadBytes: new(bytes), WriteBytes: new(int64(0)),
			Nodes: []runfile.StorageNodeWindow{{Name: "n1", CPUPermille: new(int32(300))}},
		}}
	}
	return []runfile.ObservedWindow{
		{
			Kind: "Baseline", Repetition: index, Start: start.Add(-10 * time.Second), End: start.Add(-5 * time.Second),
			NodeCPUPermille: new(int32(20)), NodeBusyMicroseconds: new(int64(1_600_000)), Interfaces: []runfile.InterfaceRead{{Name: "eth0", ReceivedBytes: 1000}}, Storage: storage(60, 0),
		},
		{
			Kind: "Measure", Repetition: index, Start: start, End: start.Add(time.Minute), NodeCPUPermille: new(int32(400)), NodeBusyMicroseconds: new(int64(384e6)),
			CgroupCPUMicroseconds: new(int64(66e6)), TCPRetransmittedSegment: new(int64(3)), TCPOutOfOrderSegments: new(int64(9)), Storage: storage(goodOps, goodBytes),
		},
	}
}

// kernelRun is good, through a mount of the kernel.
func kernelRun(t testing.TB) runfile.Result {
	t.Helper()
	r := good(t)
	r.Plan.Engine = runfile.Engine{Client: bench.ClientKernel, NFSVersion: "NFSv4.1", MountPath: "/mnt/v"}
	r.Plan.Link.BitsPerSecond = *bench.Bits(20e9)
	c := &r.Clients[0]
	c.Load.Mount = &runfile.MountFacts{FilesystemType: "nfs4", Source: "10.0.1.61:/vol", Options: []string{"rw", "vers=4.1"}, ReadSizeBytes: 1 << 20, DirectIO: true}
	eachRep(&r, func(rep *runfile.Repetition) { rep.Channels = nil })
	eachWindow(&r, runfile.SpanMeasure, func(w *runfile.ObservedWindow) {
		w.Mount = &runfile.MountCounters{ServerReadBytes: goodBytes, DirectReadBytes: goodBytes}
	})
	return r
}

// eachRep changes all repetitions of the first client.
func eachRep(r *runfile.Result, f func(*runfile.Repetition)) {
	for i := range r.Clients[0].Load.Repetitions {
		f(&r.Clients[0].Load.Repetitions[i])
	}
}

// eachWindow changes all windows of a kind of the first client.
func eachWindow(r *runfile.Result, kind string, f func(*runfile.ObservedWindow)) {
	ws := r.Clients[0].Observed.Windows
	for i := range ws {
		if ws[i].Kind == kind {
			f(&ws[i])
		}
	}
}

// inRepetitions is eachRep as a change.
func inRepetitions(f func(*runfile.Repetition)) func(*runfile.Result) {
	return func(r *runfile.Result) { eachRep(r, f) }
}

// inWindows is eachWindow as a change.
func inWindows(kind string, f func(*runfile.ObservedWindow)) func(*runfile.Result) {
	return func(r *runfile.Result) { eachWindow(r, kind, f) }
}

// slower scales what the first client did by percent.
func slower(r *runfile.Result, pct int64) {
	eachRep(r, func(rep *runfile.Repetition) {
		rep.Read.Count, rep.Read.Bytes = rep.Read.Count*pct/100, rep.Read.Bytes*pct/100
		for i := range rep.Channels {
			rep.Channels[i].BytesRead = rep.Channels[i].BytesRead * pct / 100
		}
	})
	eachWindow(r, "Measure", func(w *runfile.ObservedWindow) {
		*w.Storage[0].ReadBytes = *w.Storage[0].ReadBytes * pct / 100
	})
}
