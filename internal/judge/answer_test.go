package judge

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/kit/golden"
)

// TestTheAnswerOfEachLimitVerdictAndValidity: one line for each combination.
func TestTheAnswerOfEachLimitVerdictAndValidity(t *testing.T) {
	t.Parallel()
	limits := []struct {
		name   string
		change func(*runfile.Result)
	}{
		{"nothing is full", func(*runfile.Result) {}},
		{"full links", func(r *runfile.Result) { r.Plan.Link.BitsPerSecond = *bench.Bits(9.1e9) }},
		{"one full link", func(r *runfile.Result) {
			r.Plan.Link.BitsPerSecond = *bench.Bits(18.2e9)
			r.Plan.Engine.Channels = r.Plan.Engine.Channels[:1]
			eachRep(r, func(rep *runfile.Repetition) {
				rep.Channels = rep.Channels[:1]
				rep.Channels[0].BytesRead = goodBytes
			})
		}},
		{"more than the links carry", func(r *runfile.Result) { r.Plan.Link.BitsPerSecond = *bench.Bits(1e9) }},
		{"busy client", func(r *runfile.Result) {
			eachWindow(r, runfile.SpanMeasure, func(w *runfile.ObservedWindow) { w.NodeCPUPermille = new(int32(970)) })
		}},
		{"busy storage", func(r *runfile.Result) {
			eachWindow(r, runfile.SpanMeasure, func(w *runfile.ObservedWindow) {
				w.Storage[0].Nodes[0].CPUPermille = new(int32(960))
			})
		}},
		{"paced", func(r *runfile.Result) { r.Plan.Workload.Raw.OperationsPerSecond = new(int64(2000)) }},
		{"no number", func(r *runfile.Result) { r.Clients[0].Load.Repetitions = nil }},
	}
	expects := []struct {
		name   string
		expect *bench.Expect
	}{
		{"not asked", nil},
		{"met", &bench.Expect{MinMegabytesPerSecond: new(int64(2000))}},
		{"missed", &bench.Expect{MinMegabytesPerSecond: new(int64(9000)), MinIOPS: new(int64(100))}},
		{"not measured", &bench.Expect{MinCapacity: new(int64(5))}},
	}
	trusts := []struct {
		name   string
		change func(*runfile.Result)
	}{
		{"valid", func(*runfile.Result) {}},
		{"suspect", func(r *runfile.Result) {
			eachWindow(r, runfile.SpanBaseline, func(w *runfile.ObservedWindow) { w.Interfaces[0].ReceivedBytes = 1e9 })
		}},
		{"invalid", func(r *runfile.Result) {
			r.Clients[0].Load.Failure = &runfile.Failure{Code: runfile.FailureVerify, Message: "block 7 is wrong"}
		}},
	}
	var lines bytes.Buffer
	for _, l := range limits {
		for _, e := range expects {
			for _, v := range trusts {
				r := good(t)
				l.change(&r)
				v.change(&r)
				r.Plan.Expect = e.expect
				fmt.Fprintf(&lines, "%s, %s, %s:\n    %s\n", l.name, e.name, v.name, Judge(r).Answer)
			}
		}
	}
	golden.Compare(t, "testdata/answers.golden", lines.Bytes())
}

// TestEachFindingThatCastsDoubtHasWords: otherwise an answer would not say why a number is not to be believed.
func TestEachFindingThatCastsDoubtHasWords(t *testing.T) {
	t.Parallel()
	words := causeWords()
	for _, code := range Codes() {
		worst := ValidityOf([]bench.Finding{{Code: code, Severity: bench.SeverityError}})
		if text := words[code]; (text == "") != (worst == bench.ValidityValid) || strings.HasSuffix(text, ".") {
			t.Errorf("%s makes a run %s, and its words are %q", code, worst, text)
		}
	}
}

func TestTheWordsOfACapacity(t *testing.T) {
	t.Parallel()
	p99 := func(change func(*measure.BoundCapacity)) measure.BoundCapacity {
		b := measure.BoundCapacity{Percentile: "p99", Microseconds: 1000}
		change(&b)
		return b
	}
	found := p99(func(b *measure.BoundCapacity) {
		b.OperationsPerSecond, b.Low, b.High, b.Reached, b.LimitedBy = 41_234, 40_500, 41_900, true, measure.LimitStorageCPU
	})
	for want, q := range map[string]measure.Capacity{
		"41234 IOPS within a p99 of 1 ms (40500 to 41900), at least 64000 IOPS within a p99.9 of 5 ms": {Bounds: []measure.BoundCapacity{
			found, {Percentile: "p999", Microseconds: 5000, OperationsPerSecond: 64_000},
		}},
		"41234 statements/s within a p99 of 1 ms (40500 to 41900)": {Statements: true, Bounds: []measure.BoundCapacity{found}},
		"no rate that was tried keeps a p99 of 1 ms": {Bounds: []measure.BoundCapacity{
			p99(func(b *measure.BoundCapacity) { b.High, b.LimitedBy = 64, measure.LimitQueue }),
		}},
		"too few operations to tell which rate keeps a p99 of 1 ms": {Bounds: []measure.BoundCapacity{p99(func(*measure.BoundCapacity) {})}},
	} {
		if got := searchWords(q); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := capacityLimitWords(found); got != "the CPU of the storage limits this capacity" {
		t.Error(got)
	}
}
