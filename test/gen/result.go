package gen

import (
	"fmt"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
)

// bytesPerSecond is what every client of a generated result reads.
const bytesPerSecond = int64(200) << 20

// Client is the result of one client that carried out the plan: reads over all
// paths of its oranfstab, or over its mount, in equal parts.
func Client(t testing.TB, p runfile.Plan, index int32, start time.Time) runfile.ClientResult {
	t.Helper()
	cpus, version := int32(16), p.Engine.NFSVersion
	c := runfile.ClientResult{
		Index: index,
		Host:  runfile.Host{Name: fmt.Sprintf("client-%d", index), Node: fmt.Sprintf("node-%d", index), CPUs: cpus, MemoryBytes: 64 << 30},
		Load: runfile.Load{
			LoopMode: "closed", SampleSeconds: 1,
			Mount:        &runfile.MountFacts{NFSVersion: version, ReadSizeBytes: 1 << 20, WriteSizeBytes: 1 << 20, DirectIO: true},
			Verification: &runfile.Verification{BlocksChecked: 16},
		},
		Observed: &runfile.Observed{IntervalMilliseconds: 1000},
	}
	if p.Engine.Client == runfile.ClientKernel {
		c.Load.Mount.FilesystemType = "nfs"
		c.Load.Mount.Options = []string{"rw", "vers=3"}
	}
	for i, step := range stepsOf(p) {
		rep := int32(i + 1) //nolint:gosec // a handful
		begin := start.Add(time.Duration(rep) * time.Hour)
		end := begin.Add(time.Duration(p.Schedule.DurationSeconds) * time.Second)
		c.Load.Repetitions = append(c.Load.Repetitions, repetition(t, p, rep, step, begin, end))
		c.Observed.Windows = append(c.Observed.Windows, window(p, rep, step, begin, end))
		c.Load.Spans = append(c.Load.Spans, runfile.Span{Kind: runfile.SpanMeasure, Repetition: rep, Start: begin, End: end})
	}
	if p.Database != nil {
		c.Load.Oracle, c.Load.Verification = oracleOf(p, start), nil
		if p.Database.DirectNFS {
			c.Load.Mount = nil // Oracle's own client tells
		}
	}
	if !keepsFiles(p) {
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
		h.RecordMicroseconds(meanOf(step) + int64(i))
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
	}
	return r
}

func window(p runfile.Plan, index int32, step *runfile.Step, begin, end time.Time) runfile.ObservedWindow {
	busy := int32(300)
	w := runfile.ObservedWindow{Kind: "Measure", Repetition: index, Start: begin, End: end, NodeCPUPermille: &busy}
	if p.Database != nil && p.Database.DirectNFS {
		w.Mount = &runfile.MountCounters{} // it is there, and carries nothing
	}
	if p.Engine.Client == runfile.ClientKernel {
		total := bytesOf(p, step)
		w.Mount = &runfile.MountCounters{ServerReadBytes: total, DirectReadBytes: total}
	}
	return w
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
	text, err := p.Engine.Oranfstab()
	if err != nil {
		t.Fatal(err)
	}
	return text
}
