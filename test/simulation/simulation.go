// Package simulation makes results and records of suites of the size and with the noise of
// real ones, for tests of reports.
package simulation

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/collect"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
)

const (
	paths          = 4
	warmupSeconds  = 60
	pauseSeconds   = 30
	blockBytes     = 8192
	readShare      = 0.8
	meanOperations = 22_000 // a second and client
)

// Start is when the simulated runs begin.
func Start() time.Time { return time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC) }

// Hour is the simulated result of two clients that read and wrote through four paths
// for an hour in three repetitions, of which one path was lost for half a minute, with
// samples of the storage's two nodes. slower is the share by which all takes longer.
func Hour(t testing.TB, name string, seed uint64, slower float64) runfile.Result {
	t.Helper()
	g := &generator{tb: t, random: rand.New(rand.NewPCG(seed, 1)), slower: slower}
	r := runfile.Result{Version: runfile.ResultVersion, Plan: hourPlan(name, seed), Simulated: true}
	for i := range r.Plan.Clients {
		r.Clients = append(r.Clients, g.client(r.Plan, i))
	}
	g.storage(&r)
	return r
}

func hourPlan(name string, seed uint64) runfile.Plan {
	var channels []bench.ResolvedPath
	for i := range paths {
		channels = append(channels, bench.ResolvedPath{Local: fmt.Sprintf("192.168.%d.50", i+4), Path: fmt.Sprintf("192.168.%d.100", i+4)})
	}
	p := runfile.Plan{
		Version: runfile.PlanVersion, Run: runfile.Identity{Namespace: "benchmarks", Name: name, UID: "6e7a"}, Clients: 2, Seed: seed,
		Engine: runfile.Engine{
			Client: bench.ClientDirectNFS, NFSVersion: "NFSv3", Server: "filer", Export: "/vol/oradata",
			Channels: channels,
		},
		Workload: bench.Workload{SLOB: &bench.SLOBWorkload{
			Access: bench.SLOBRandomRead, Users: []int32{64}, Schemas: 8, Scale: *bench.Bytes(16 << 30), WorkUnit: 64, UpdatePercent: 20,
			NativeFiles: bench.NativeFiles{Directory: "nfsbench"},
		}},
		Schedule: runfile.Schedule{BaselineSeconds: pauseSeconds, WarmupSeconds: warmupSeconds, DurationSeconds: 1200, Repetitions: 3},
		Collect:  runfile.Collect{IntervalMilliseconds: 1000, Sources: []runfile.Source{{Kind: runfile.SourceONTAP, Name: "ontap", Volume: "oradata"}}},
		Link:     &bench.Link{BitsPerSecond: *bench.Bits(1_000_000_000), MTU: 9000},
		Expect:   &bench.Expect{MinMegabytesPerSecond: new(int64(300))},
	}
	p.Survey = &runfile.Survey{
		Version: runfile.SurveyVersion, Source: "ontap", Array: "ONTAP stand-in 9.14.1, cluster c1, SVM svm1", Time: Start(),
		Nodes: []runfile.SurveyNode{{Name: "c1-01"}, {Name: "c1-02"}}, Clients: []string{"192.168.4.50"},
		Volume: &runfile.SurveyVolume{Name: "oradata", Export: "/vol/oradata", Aggregate: "aggr1", Node: "c1-01", State: "online"},
	}
	for i := range paths {
		lif := runfile.LIF{Name: fmt.Sprintf("lif%d", i+1), Address: address(i), Prefix: 24, Node: nodeOf(i), HomeNode: nodeOf(i)}
		p.Survey.LIFs = append(p.Survey.LIFs, lif)
	}
	return p
}

func address(path int) string { return fmt.Sprintf("192.168.%d.100", path+4) }

func nodeOf(path int) string { return fmt.Sprintf("c1-0%d", path/2+1) }

type generator struct {
	tb     testing.TB
	random *rand.Rand
	slower float64
	level  float64 // of the load, a slow walk around 1
}

func (g *generator) client(p runfile.Plan, index int32) runfile.ClientResult {
	c := runfile.ClientResult{
		Index: index,
		Host: runfile.Host{
			Name: fmt.Sprintf("%s-%d", p.Run.Name, index), Node: fmt.Sprintf("worker-%d", index+1), Kernel: "6.1.0-37-amd64", CPUs: 16, MemoryBytes: 64 << 30, Version: "v0.5.0",
		},
		Load: runfile.Load{LoopMode: "closed", SampleSeconds: 1, Mount: &runfile.MountFacts{NFSVersion: "NFSv3", ReadSizeBytes: 1 << 20, WriteSizeBytes: 1 << 20, DirectIO: true}},
	}
	c.Observed = &runfile.Observed{IntervalMilliseconds: 1000}
	g.level = 1
	at := Start()
	for rep := int32(1); rep <= p.Schedule.Repetitions; rep++ {
		begin := at.Add(pauseSeconds * time.Second)
		warm := begin.Add(warmupSeconds * time.Second)
		end := warm.Add(time.Duration(p.Schedule.DurationSeconds) * time.Second)
		c.Load.Spans = append(c.Load.Spans,
			runfile.Span{Kind: runfile.SpanBaseline, Repetition: rep, Start: at, End: begin},
			runfile.Span{Kind: runfile.SpanWarmup, Repetition: rep, Start: begin, End: warm},
			runfile.Span{Kind: runfile.SpanMeasure, Repetition: rep, Start: warm, End: end})
		g.samples(&c, runfile.SpanWarmup, rep, begin, warm)
		c.Load.Repetitions = append(c.Load.Repetitions, g.repetition(&c, rep, warm, end))
		at = end
	}
	return c
}

func (g *generator) repetition(c *runfile.ClientResult, index int32, begin, end time.Time) runfile.Repetition {
	from := len(c.Load.Samples)
	g.samples(c, runfile.SpanMeasure, index, begin, end)
	r := runfile.Repetition{Index: index, Start: begin, End: end, CPUMicroseconds: end.Sub(begin).Microseconds() * 3}
	r.Step = &runfile.Step{Kind: runfile.StepUsers, Users: 64, Round: index}
	r.Read, r.Write = &runfile.Ops{}, &runfile.Ops{}
	for i := range paths {
		r.Channels = append(r.Channels, runfile.Channel{ID: int32(i), Local: fmt.Sprintf("192.168.%d.50", i+4), Path: address(i), State: "Up"})
	}
	for _, s := range c.Load.Samples[from:] {
		r.Read.Count, r.Read.Bytes = r.Read.Count+s.Read.Count, r.Read.Bytes+s.Read.Bytes
		r.Write.Count, r.Write.Bytes = r.Write.Count+s.Write.Count, r.Write.Bytes+s.Write.Bytes
		for i, p := range s.Channels {
			r.Channels[i].BytesRead += p.BytesRead
			r.Channels[i].BytesWritten += p.BytesWritten
		}
	}
	if index == 2 {
		r.Channels[2].DownMilliseconds, r.Channels[2].Reconnects = 31_000, 1
	}
	r.Read.Histogram, r.Write.Histogram = g.histogram(620), g.histogram(980)
	c.Observed.Windows = append(c.Observed.Windows, runfile.ObservedWindow{Kind: "Measure", Repetition: index, Start: begin, End: end, NodeCPUPermille: new(int32(310))})
	return r
}

// histogram is log-normal with a tail, as those of storage are.
func (g *generator) histogram(median float64) string {
	h := stats.NewHistogram()
	for range 60_000 {
		us := median * (1 + g.slower) * math.Exp(g.random.NormFloat64()*.34)
		if g.random.Float64() < .004 {
			us *= 4 + 20*g.random.Float64()
		}
		h.Record(int64(us), 1)
	}
	text, err := h.Encode()
	if err != nil {
		g.tb.Fatal(err)
	}
	return text
}

func (g *generator) samples(c *runfile.ClientResult, span string, rep int32, begin, end time.Time) {
	for at := begin.Add(time.Second); !at.After(end); at = at.Add(time.Second) {
		g.level += .12*(1-g.level) + .018*g.random.NormFloat64()
		second := at.Sub(begin).Seconds()
		level := g.level
		if span == runfile.SpanWarmup {
			level *= 1 - .45*math.Exp(-second/12)
		}
		lost := span == runfile.SpanMeasure && rep == 2 && second > 400 && second <= 431
		if lost {
			level *= .74
		}
		if g.random.Float64() < .002 {
			level *= .4
		}
		c.Load.Samples = append(c.Load.Samples, g.sample(at, span, rep, level, lost))
	}
}

func (g *generator) sample(at time.Time, span string, rep int32, level float64, lost bool) runfile.LoadSample {
	s := runfile.LoadSample{Time: at, Span: span, Repetition: rep}
	total := meanOperations * level / (1 + g.slower)
	s.Read, s.Write = g.ops(total*readShare, 640/level), g.ops(total*(1-readShare), 1010/level)
	weights, sum := [paths]float64{}, 0.0
	for i := range weights {
		weights[i] = 1 + .05*g.random.NormFloat64()
		if lost && i == 2 {
			weights[i] = 0
		}
		sum += weights[i]
	}
	for i, w := range weights {
		s.Channels = append(s.Channels, runfile.PathBytes{ID: int32(i), BytesRead: int64(float64(s.Read.Bytes) * w / sum), BytesWritten: int64(float64(s.Write.Bytes) * w / sum)})
	}
	return s
}

func (g *generator) ops(count, mean float64) *runfile.SampleOps {
	mean *= (1 + g.slower) * (1 + .02*g.random.NormFloat64())
	p99 := mean * (2.1 + .25*g.random.ExpFloat64())
	return &runfile.SampleOps{
		Count: int64(count), Bytes: int64(count) * blockBytes, MeanMicroseconds: int64(mean), P50Microseconds: int64(mean * .95),
		P99Microseconds: int64(p99), MaxMicroseconds: int64(p99 * (2 + 4*g.random.ExpFloat64())),
	}
}

const storageSeconds = 10

// storage adds what the storage would have counted of the load of all clients:
// the node that owns the volume works, the other passes on.
func (g *generator) storage(r *runfile.Result) {
	type moved struct{ read, write [paths]int64 }
	seconds := map[int64]moved{}
	for _, c := range r.Clients {
		for _, s := range c.Load.Samples {
			m := seconds[s.Time.Unix()]
			for i, p := range s.Channels {
				m.read[i] += p.BytesRead
				m.write[i] += p.BytesWritten
			}
			seconds[s.Time.Unix()] = m
		}
	}
	var read, write [paths]int64
	busy := [2]int64{1e6, 1e6}
	observed := r.Clients[0].Observed
	spans := r.Clients[0].Load.Spans
	var readings []collect.Reading
	for at := Start(); !at.After(spans[len(spans)-1].End); at = at.Add(time.Second) {
		m := seconds[at.Unix()]
		all := int64(0)
		for i := range paths {
			read[i], write[i] = read[i]+m.read[i], write[i]+m.write[i]
			all += m.read[i] + m.write[i]
		}
		for n, cost := range []float64{.0135, .0052} { // microseconds for each byte
			busy[n] += int64(float64(all)*cost*(1+.06*g.random.NormFloat64())) + 300_000 + int64(g.random.Float64()*200_000)
		}
		if at.Unix()%storageSeconds == 0 {
			observed.Storage = append(observed.Storage, storageSample(at, read, write, busy))
			readings = append(readings, collect.Reading{At: at, Sample: observed.Storage[len(observed.Storage)-1]})
		}
	}
	addWindows(observed, collect.Align(spans, nil, readings))
}

// addWindows adds what the storage counted to the windows of the load.
func addWindows(observed *runfile.Observed, storage []runfile.ObservedWindow) {
	for _, w := range storage {
		i := slices.IndexFunc(observed.Windows, func(o runfile.ObservedWindow) bool { return o.Kind == w.Kind && o.Repetition == w.Repetition })
		if i < 0 {
			observed.Windows = append(observed.Windows, w)
			continue
		}
		observed.Windows[i].Storage = w.Storage
	}
}

func storageSample(at time.Time, read, write [paths]int64, busy [2]int64) runfile.StorageSample {
	s := runfile.StorageSample{Source: "ontap", Time: at, VolumeNode: "c1-01"}
	reads, writes := int64(0), int64(0)
	for i := range paths {
		s.Paths = append(s.Paths, runfile.StoragePath{Address: address(i), Name: "lif", Node: nodeOf(i), ReadBytes: new(read[i]), WriteBytes: new(write[i])})
		reads, writes = reads+read[i], writes+write[i]
	}
	for n, name := range []string{"c1-01", "c1-02"} {
		s.Nodes = append(s.Nodes, runfile.StorageNode{Name: name, BusyMicroseconds: new(busy[n]), Cores: new(int32(8))})
	}
	s.ReadBytes, s.WriteBytes = &reads, &writes
	s.ReadOps, s.WriteOps = new(reads/blockBytes), new(writes/blockBytes)
	s.ReadMicroseconds, s.WriteMicroseconds = new(reads/blockBytes*470), new(writes/blockBytes*810)
	return s
}

const repetitions = 8

// Suite is the simulated record of a suite that compared two clients and two
// protocol versions, interleaved, on storage that got slower by 3 % meanwhile.
// slower is the share by which everything takes longer.
func Suite(run string, seed uint64, slower float64) runfile.SuiteRun {
	random := rand.New(rand.NewPCG(seed, 2))
	s := runfile.SuiteRun{
		Version: runfile.SuiteRunVersion, Suite: "protocols", Namespace: "benchmarks", Run: run, Started: Start(), Workflow: run, Phase: "Succeeded", Simulated: true,
		Settings: runfile.SuiteSettings{
			Repetitions: repetitions, Order: "Interleaved", Blocks: "Randomized", Seed: int64(seed), //nolint:gosec // a small number
			Compare: &runfile.SuiteCompare{SuiteSignificance: significance(), Baseline: map[string]string{"client": "kernel"}, ImpactOf: "Baseline"},
		},
	}
	gains := map[string]float64{}
	for _, client := range []string{"kernel", "direct"} {
		for _, version := range []string{"nfsv3", "nfsv41"} {
			name := client + "-" + version
			s.Cells = append(s.Cells, runfile.SuiteCell{Name: name, Values: []runfile.SuiteAxis{{Axis: "client", Value: client}, {Axis: "version", Value: version}}})
			gains[name] = map[string]float64{"kernel": 1, "direct": 1.12}[client] * map[string]float64{"nfsv3": 1, "nfsv41": .96}[version]
		}
	}
	gains["direct-nfsv41"] = gains["kernel-nfsv41"] * 1.004
	position := int32(0)
	for rep := int32(1); rep <= repetitions; rep++ {
		for _, i := range random.Perm(len(s.Cells)) {
			position++
			drift := 1 - .03*float64(position)/float64(repetitions*len(s.Cells))
			rate := gains[s.Cells[i].Name] * drift * (1 + .012*random.NormFloat64()) / (1 + slower)
			s.Results = append(s.Results, suiteResult(s.Cells[i].Name, rep, position, rate, random))
		}
	}
	s.Ended = s.Results[len(s.Results)-1].Ended
	return s
}

func significance() runfile.SuiteSignificance {
	return runfile.SuiteSignificance{
		Metrics: []string{bench.MetricThroughput, bench.MetricMeanLatency, bench.MetricP99Latency}, Alpha: .05, MinimumEffect: .02, Correction: "Holm",
	}
}

func suiteResult(cell string, rep, position int32, rate float64, random *rand.Rand) runfile.SuiteResult {
	at := Start().Add(time.Duration(position-1) * 6 * time.Minute)
	mean := 820 / rate * (1 + .01*random.NormFloat64())
	return runfile.SuiteResult{
		Cell: cell, Repetition: rep, Position: position, Benchmark: fmt.Sprintf("protocols-%s-r%d-0", cell, rep), Phase: "Succeeded", Verdict: "NotEvaluated", Validity: "Valid",
		Started: at, Ended: at.Add(5 * time.Minute),
		Points: []runfile.SuitePoint{{Metrics: map[string]float64{
			bench.MetricThroughput: math.Round(412e6 * rate), bench.MetricIOPS: math.Round(50_300 * rate),
			bench.MetricMeanLatency: math.Round(mean), bench.MetricP99Latency: math.Round(mean * (2.3 + .12*random.NormFloat64())),
		}, WirePercent: new(math.Round(420*rate) / 10)}},
	}
}
