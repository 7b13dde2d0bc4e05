// Package browser opens reports in a real browser, and makes the results that
// they are of: simulated ones, of the size and with the noise of real ones.
package browser

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

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

// Hour is the simulated result of two clients that read and wrote through four
// paths for about an hour in three repetitions, with a path that was lost for
// half a minute, and the storage's two nodes sampled beside it. slower is the
// share by which everything takes longer.
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
	var channels []runfile.PlanChannel
	for i := range paths {
		channels = append(channels, runfile.PlanChannel{Local: fmt.Sprintf("192.168.%d.50", i+4), Path: fmt.Sprintf("192.168.%d.100", i+4)})
	}
	minimum := int64(300)
	p := runfile.Plan{
		Version: runfile.PlanVersion, Run: runfile.Identity{Namespace: "benchmarks", Name: name, UID: "6e7a"}, Clients: 2, Seed: seed,
		Engine: runfile.Engine{
			Client: runfile.ClientDirectNFS, NFSVersion: "NFSv3", Server: "filer", Export: "/vol/oradata",
			Channels: channels,
		},
		Workload: runfile.Workload{SLOB: &runfile.SLOB{
			Access: runfile.AccessRandomRead, Users: []int32{64}, Schemas: 8, ScaleBytes: 16 << 30, WorkUnit: 64, UpdatePercent: 20,
			Files: &runfile.Files{Count: 8, SizeBytes: 16 << 30, BlockSizeBytes: blockBytes, LargeReadBytes: 1 << 20, Directory: "nfsbench"},
		}},
		Schedule: runfile.Schedule{BaselineSeconds: pauseSeconds, WarmupSeconds: warmupSeconds, DurationSeconds: 1200, Repetitions: 3},
		Collect:  runfile.Collect{IntervalMilliseconds: 1000, Sources: []runfile.Source{{Kind: runfile.SourceONTAP, Name: "ontap", Volume: "oradata"}}},
		Link:     &runfile.Link{BitsPerSecond: 1_000_000_000, MTUBytes: 9000},
		Expect:   &runfile.Expect{MinMegabytesPerSecond: &minimum},
	}
	p.Survey = hourSurvey()
	return p
}

func hourSurvey() *runfile.Survey {
	s := &runfile.Survey{
		Version: runfile.SurveyVersion, Source: "ontap", Array: "ONTAP stand-in 9.14.1, cluster c1, SVM svm1", Time: Start(),
		Nodes: []runfile.SurveyNode{{Name: "c1-01"}, {Name: "c1-02"}}, Clients: []string{"192.168.4.50"},
		Volume: &runfile.SurveyVolume{Name: "oradata", Export: "/vol/oradata", Aggregate: "aggr1", Node: "c1-01", State: "online"},
	}
	for i := range paths {
		s.LIFs = append(s.LIFs, runfile.LIF{Name: fmt.Sprintf("lif%d", i+1), Address: address(i), Prefix: 24, Node: nodeOf(i), HomeNode: nodeOf(i)})
	}
	return s
}

func address(path int) string { return fmt.Sprintf("192.168.%d.100", path+4) }

func nodeOf(path int) string { return fmt.Sprintf("c1-0%d", path/2+1) }

// generator draws the noise of one run.
type generator struct {
	tb     testing.TB
	random *rand.Rand
	slower float64
	level  float64 // of the load, a slow walk around 1
}

func (g *generator) client(p runfile.Plan, index int32) runfile.ClientResult {
	cpus := int32(16)
	c := runfile.ClientResult{
		Index: index,
		Host: runfile.Host{
			Name: fmt.Sprintf("%s-%d", p.Run.Name, index), Node: fmt.Sprintf("worker-%d", index+1), Kernel: "6.1.0-37-amd64", CPUs: cpus, MemoryBytes: 64 << 30, Version: "v0.5.0",
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
		h.RecordMicroseconds(int64(us))
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
