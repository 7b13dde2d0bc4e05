package gen

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
)

// bytesPerSecond is what every client of a generated result reads.
const bytesPerSecond = int64(200) << 20

// CapacityWithin asks for the capacity within bounds, of which there is at least one.
func CapacityWithin(arrivals bench.Arrivals, bounds ...runfile.LatencyBound) *bench.Capacity {
	c := &bench.Capacity{Arrivals: arrivals, Percentile: bounds[0].Percentile, Microseconds: &bounds[0].Microseconds}
	for _, b := range bounds[1:] {
		c.AlsoAt = append(c.AlsoAt, bench.LatencyBound{Percentile: b.Percentile, Microseconds: &b.Microseconds})
	}
	return c
}

// Client is the result of one client that carried out the plan: reads over all
// paths of its oranfstab, or over its mount, in equal parts.
func Client(t testing.TB, p runfile.Plan, index int32, start time.Time) runfile.ClientResult {
	t.Helper()
	c := runfile.ClientResult{
		Index: index,
		Host:  runfile.Host{Name: fmt.Sprintf("client-%d", index), Node: fmt.Sprintf("node-%d", index), CPUs: 16, MemoryBytes: 64 << 30},
		Load: runfile.Load{
			LoopMode: "closed", SampleSeconds: 1,
			Mount:        &runfile.MountFacts{NFSVersion: string(p.Engine.NFSVersion), ReadSizeBytes: 1 << 20, WriteSizeBytes: 1 << 20, DirectIO: true},
			Verification: &runfile.Verification{BlocksChecked: 16},
		},
		Observed: &runfile.Observed{IntervalMilliseconds: 1000},
	}
	if p.Engine.Client == bench.ClientKernel {
		c.Load.Mount.FilesystemType = "nfs"
		c.Load.Mount.Options = []string{"rw", "vers=3"}
	}
	for i, step := range stepsOf(p) {
		rep := int32(i + 1) //nolint:gosec // a handful
		begin := start.Add(time.Duration(rep) * time.Hour)
		end := begin.Add(time.Duration(p.Schedule.DurationSeconds) * time.Second)
		c.Load.Repetitions = append(c.Load.Repetitions, repetition(t, p, rep, step, begin, end))
		w := runfile.ObservedWindow{Kind: "Measure", Repetition: rep, Start: begin, End: end, NodeCPUPermille: new(int32(300))}
		if p.Database != nil && p.Database.DirectNFS {
			w.Mount = &runfile.MountCounters{} // it is there, and carries nothing
		}
		if p.Engine.Client == bench.ClientKernel {
			total := bytesOf(p, step)
			w.Mount = &runfile.MountCounters{ServerReadBytes: total, DirectReadBytes: total}
		}
		c.Observed.Windows = append(c.Observed.Windows, w)
		c.Load.Spans = append(c.Load.Spans, runfile.Span{Kind: runfile.SpanMeasure, Repetition: rep, Start: begin, End: end})
	}
	if p.Database != nil {
		c.Load.Oracle, c.Load.Verification = oracleOf(p, start), nil
		if p.Database.DirectNFS {
			c.Load.Mount = nil // Oracle's own client tells
		}
	}
	if p.Workload.Raw == nil || !p.Keep {
		c.Load.Spans = append(c.Load.Spans, runfile.Span{Kind: runfile.SpanClean, Start: start, End: start.Add(time.Second)})
	}
	return c
}

// FailedClient is the result of a client whose load ended with a failure before
// it measured anything.
func FailedClient(index int32, code, message string) runfile.ClientResult {
	return runfile.ClientResult{
		Index: index,
		Host:  runfile.Host{Name: fmt.Sprintf("client-%d", index)},
		Load:  runfile.Load{Partial: true, Failure: &runfile.Failure{Code: code, Message: message}},
	}
}

func repetition(t testing.TB, p runfile.Plan, index int32, step *runfile.Step, begin, end time.Time) runfile.Repetition {
	t.Helper()
	total := bytesOf(p, step)
	h := stats.NewHistogram()
	for i := range 1000 {
		h.Record(meanOf(step)+int64(i), 1)
	}
	enc, err := h.Encode()
	if err != nil {
		t.Fatal(err)
	}
	r := runfile.Repetition{
		Index: index, Start: begin, End: end, CPUMicroseconds: 1e6, Step: step,
		Read: &runfile.Ops{Count: total / blockOf(p, step), Bytes: total, Histogram: enc},
	}
	paths := pathsOf(p)
	for i, path := range paths {
		r.Channels = append(r.Channels, runfile.Channel{
			ID: int32(i), Local: "10.9.9.9", Path: path, State: "Up", BytesRead: total / int64(len(paths)), //nolint:gosec // a handful
		})
	}
	if p.Database != nil {
		ofOracle(&r, p, step)
	} else {
		ofServers(&r, p)
	}
	return r
}

// ofServers adds what the native engine sees of an NFSv4 server: one, with session trunking
// from NFSv4.1 on, and with pNFS a data server at the address of each path.
func ofServers(r *runfile.Repetition, p runfile.Plan) {
	version := p.Engine.NFSVersion
	if len(r.Channels) == 0 || version == "" || version == bench.NFSv3 {
		return
	}
	s := runfile.NFSServer{ID: 1, Role: bench.PathMetadata, NFSVersion: string(version), Addresses: pathsOf(p), LeaseSeconds: 90}
	if version != bench.NFSv40 {
		s.NFSVersion, s.Owner, s.Scope, s.Slots, s.Sessions = string(bench.NFSv41), "array1", "array1", 1024, 1
		if len(r.Channels) > 1 {
			s.Trunking = bench.TrunkingSession
		}
	}
	r.Servers = []runfile.NFSServer{s}
	declared := len(r.Channels)
	for i, ch := range r.Channels {
		r.Channels[i].Server = 1
		if version != bench.PNFS {
			continue
		}
		r.Channels[i].BytesRead = 0
		ch.Role, ch.ID, ch.Server = bench.PathDataServer, int32(declared+i), int32(i+2) //nolint:gosec // a handful
		r.Channels = append(r.Channels, ch)
		r.Servers = append(r.Servers, runfile.NFSServer{
			ID: ch.Server, Role: bench.PathDataServer, NFSVersion: string(bench.NFSv41), Addresses: []string{ch.Path}, Slots: 1024, Sessions: 1,
		})
	}
	if version == bench.PNFS {
		r.Servers[0].LayoutType, r.Servers[0].LayoutsGranted = runfile.LayoutTypeFiles, 4
	}
}

func pathsOf(p runfile.Plan) []string {
	var out []string
	for _, ch := range p.Engine.Channels {
		out = append(out, ch.Path)
	}
	return out
}

// Oranfstab is the file that Direct NFS reads for a plan.
func Oranfstab(t testing.TB, p runfile.Plan) string {
	t.Helper()
	text, err := p.Oranfstab()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// stepsOf are the levels of load of a plan in the order in which a client goes
// through them; one without a step where there is one level only.
func stepsOf(p runfile.Plan) []*runfile.Step {
	var out []*runfile.Step
	add := func(kind string, warmup bool, round int32, users ...int32) {
		for _, u := range users {
			out = append(out, &runfile.Step{Kind: kind, Users: u, Round: round, Warmup: warmup})
		}
	}
	round := func(warmup bool, n int32) {
		switch w := p.Workload; {
		case w.SLOB != nil:
			add(runfile.StepUsers, warmup, n, w.SLOB.Ramp()...)
		case w.Calibrate != nil && p.Database != nil:
			add(runfile.StepCalibrate, warmup, n, 0)
		case w.Calibrate != nil:
			add(runfile.StepSmallReads, warmup, n, 1, 2, 4, 8)
			add(runfile.StepLargeReads, warmup, n, 4)
		default:
			out = append(out, nil)
		}
	}
	if w := p.Workload.Calibrate; w != nil {
		for n := range bench.OrZero(w.WarmupRuns) {
			round(true, n+1)
		}
	}
	for n := range p.Schedule.Repetitions {
		round(false, n+1)
	}
	return out
}

func blockOf(p runfile.Plan, step *runfile.Step) int64 {
	switch {
	case p.Workload.Raw != nil:
		return p.Workload.Raw.BlockBytes()
	case step != nil && step.Kind == runfile.StepLargeReads:
		return 1 << 20
	default:
		return 8192
	}
}

// bytesOf is what is read in one window: more users give more, up to eight.
func bytesOf(p runfile.Plan, step *runfile.Step) int64 {
	total := bytesPerSecond * int64(p.Schedule.DurationSeconds)
	if step != nil && step.Users > 0 {
		total = total / 8 * int64(min(step.Users, 8))
	}
	return total
}

// meanOf is the latency of reads at a level of load, in microseconds.
func meanOf(step *runfile.Step) int64 {
	if step == nil {
		return 1000
	}
	return 400 + 100*int64(max(step.Users-8, 0))
}

// ofOracle turns a repetition into the report of a database: it counts by
// itself, in buckets, and knows the protocol.
func ofOracle(r *runfile.Repetition, p runfile.Plan, step *runfile.Step) {
	mean := meanOf(step)
	n := r.Read.Count
	r.Read.Histogram, r.Channels = "", nil
	r.Read.Buckets = []runfile.LatencyBucket{{BelowMicroseconds: 512, Count: n / 2}, {BelowMicroseconds: 2048, Count: n - n/2}}
	r.Read.TotalMicroseconds = n * mean
	method := "OS_LIB"
	w := &runfile.OracleWindow{
		Statistics: map[string]int64{"physical read total bytes": r.Read.Bytes, "physical write total bytes": 0},
		Events: []runfile.OracleEvent{{
			Name: "db file sequential read", Waits: n, Microseconds: n * mean, Buckets: r.Read.Buckets,
		}},
		ServiceTimeUnit: runfile.UnitMicroseconds,
	}
	if p.Database.DirectNFS {
		method = "DNFS_LIB"
		w.DirectNFS = directNFS(p, r.Read.Bytes, n)
	}
	w.Files = []runfile.OracleFile{{
		Number: 4, Instance: 1, Type: "Data File", Name: "/opt/oracle/oradata/users01.dbf", AccessMethod: method, AsynchIO: "ASYNC_ON",
		SmallReads: n, SmallReadTime: float64(n * mean), SmallSyncReads: n, SmallSyncReadTime: float64(n * mean), SmallReadMegabyte: r.Read.Bytes >> 20,
	}}
	if step.Kind == runfile.StepCalibrate {
		w.Calibration = &runfile.Calibration{MaxIOPS: 27_000 + int64(step.Round), MaxMegabytesPerSecond: 1100, ActualLatencyMilliseconds: 1}
	}
	r.Oracle = w
}

// directNFS is what Oracle's client reports about the paths of the plan, all of which
// it uses alike.
func directNFS(p runfile.Plan, bytes, ops int64) runfile.DirectNFS {
	version := map[bench.NFSVersion]string{"NFSv3": "NFSv3.0", "NFSv4.0": "NFSv4.0", "NFSv4.1": "NFSv4.1", "pNFS": "Parallel NFS"}[p.Engine.NFSVersion]
	none := int64(0)
	d := runfile.DirectNFS{
		Servers: []runfile.DNFSServer{{Instance: 1, Server: p.Engine.Server, Export: p.Engine.Export, Version: version}},
		ReadOps: &ops, WriteOps: &none, ReadBytes: &bytes, WriteBytes: &none,
	}
	paths := pathsOf(p)
	for _, path := range paths {
		share := ops / int64(len(paths))
		d.Channels = append(d.Channels, runfile.DNFSChannel{
			Instance: 1, Server: p.Engine.Server, Path: path, Local: "10.9.9.9", Processes: 3, Sends: share, Receives: share,
		})
	}
	return d
}

func oracleOf(p runfile.Plan, start time.Time) *runfile.Oracle {
	o := &runfile.Oracle{
		Banner: "Oracle Database 19c Enterprise Edition Release 19.0.0.0.0", Version: "19.0.0.0.0",
		Instances: []runfile.OracleInstance{{ID: 1, Name: "ORCLCDB", Host: "pod", StartupTime: start}},
	}
	if p.Database.Kind != runfile.DatabaseContainer {
		return o
	}
	o.ReadyMilliseconds = new(int64(754_600))
	o.Library = &runfile.DirectNFSLibrary{Wanted: p.Database.DirectNFS, OradismMode: "-rwsr-x---"}
	if p.Database.DirectNFS {
		o.Library.AlertLine = "Oracle instance running with ODM: Oracle Direct NFS ODM Library Version 6.0"
	}
	for _, name := range slices.Sorted(maps.Keys(p.Database.Parameters)) {
		o.Parameters = append(o.Parameters, runfile.OracleParameter{Name: name, Requested: p.Database.Parameters[name], Value: p.Database.Parameters[name]})
	}
	return o
}

// OfArray adds to the result of a client what the array counted: its reads at the LIFs
// of the plan's paths, and a node without data that is busy when it passes them on.
func OfArray(c *runfile.ClientResult, p runfile.Plan) {
	for i := range c.Observed.Windows {
		w := &c.Observed.Windows[i]
		total := bytesPerSecond * int64(p.Schedule.DurationSeconds)
		ops, none, cost := total/blockOf(p, nil), int64(0), int64(40_000)
		micros := ops * 900
		s := runfile.StorageWindow{
			Source: p.Survey.Source, Seconds: w.End.Sub(w.Start).Seconds(), ReadOps: &ops, WriteOps: &none, ReadBytes: &total, WriteBytes: &none,
			ReadMicroseconds: &micros, VolumeNodes: []string{p.Survey.Volume.Node},
		}
		used := pathsOf(p)
		busy := map[string]int32{p.Survey.Volume.Node: 320}
		for _, l := range p.Survey.LIFs {
			path := runfile.StoragePath{Address: l.Address, Name: l.Name, Node: l.Node, ReadBytes: &none, WriteBytes: &none}
			if slices.Contains(used, l.Address) {
				share := total / int64(len(used))
				path.ReadBytes = &share
				busy[l.Node] = max(busy[l.Node], 350)
			}
			s.Paths = append(s.Paths, path)
		}
		for _, n := range p.Survey.Nodes {
			cpu := busy[n.Name]
			s.Nodes = append(s.Nodes, runfile.StorageNodeWindow{Name: n.Name, CPUPermille: &cpu})
		}
		w.Storage, w.CollectorCPUMicroseconds = []runfile.StorageWindow{s}, &cost
	}
}
