package judge

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

func TestAGoodRunHasNoFindings(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]runfile.Result{"DirectNFS": good(t), "Kernel": kernelRun(t)} {
		j := Judge(r)
		if len(j.Findings) > 0 || j.Validity != bench.ValidityValid || j.Verdict != bench.VerdictNotEvaluated {
			t.Errorf("%s: %s %s %+v", name, j.Validity, j.Verdict, j.Findings)
		}
		if j.Protocol.Verified == nil || !*j.Protocol.Verified {
			t.Errorf("%s: protocol %+v", name, j.Protocol)
		}
	}
}

func TestTheSummaryIsTheMedianRepetition(t *testing.T) {
	t.Parallel()
	r := good(t)
	for i, pct := range []int64{100, 95, 80} {
		rep := &r.Clients[0].Load.Repetitions[i]
		rep.Read.Bytes = rep.Read.Bytes * pct / 100
	}
	j := Judge(r)
	if j.Summary.Repetition != 2 {
		t.Errorf("repetition %d stands for the run, want 2 (95 %%)", j.Summary.Repetition)
	}
	s := j.Summary
	if want := int64(math.Round(float64(goodBytes*95/100) / 60)); s.Total.BytesPerSecond != want || s.Read.BytesPerSecond != want || s.Write != nil {
		t.Errorf("total %+v read %+v write %+v, want %d bytes/s of reads", s.Total, s.Read, s.Write, want)
	}
	if s.Total.OperationsPerSecond != goodOps/60 || s.Total.Latency.P50Microseconds < 13_900 || s.Total.Latency.P50Microseconds > 14_100 {
		t.Errorf("total %+v", s.Total)
	}
	if *s.ClientCPU.MicrosecondsPerMiB != 3012 || s.ClientCPU.Millicores != 1100 || *s.ClientCPU.BusiestLimitPermille != 275 {
		t.Errorf("client CPU %+v: %d", s.ClientCPU, *s.ClientCPU.MicrosecondsPerMiB)
	}
	if *j.VariationPermille != 113 {
		t.Errorf("variation = %d permille, want 113", *j.VariationPermille)
	}
	if len(j.Series) != 60 {
		t.Errorf("%d points of the series, want 60", len(j.Series))
	}
	want := []measure.PathShare{
		{Local: "10.0.1.5", Path: "10.0.1.61", State: "Up", BytesRead: goodBytes / 2, BytesPerSecond: goodBytes / 120, SharePermille: 500},
		{Local: "10.0.2.5", Path: "10.0.2.61", State: "Up", BytesRead: goodBytes / 2, BytesPerSecond: goodBytes / 120, SharePermille: 500},
	}
	if diff := cmp.Diff(want, s.Paths); diff != "" {
		t.Error(diff)
	}
}

func TestClientsAreAddedAndTheirHistogramsMerged(t *testing.T) {
	t.Parallel()
	r := good(t)
	r.Plan.Clients = 2
	slow := client(t, 1)
	for i := range slow.Load.Repetitions {
		slow.Load.Repetitions[i].Read.Histogram = histogram(t, 1000, 100_000)
	}
	r.Clients = append(r.Clients, slow)
	j := Judge(r)
	if j.Summary.Clients != 2 || j.Summary.Total.Ops != 2*goodOps {
		t.Errorf("summary %+v", j.Summary)
	}
	l := j.Summary.Total.Latency
	if l.P95Microseconds < 180_000 || l.P50Microseconds > 20_000 {
		t.Errorf("latency %+v: the tail is the slow client's, the median between both", l)
	}
	if len(j.Wire.Links) != 4 || *j.Summary.WirePermille < 890 || *j.Summary.WirePermille > 910 {
		t.Errorf("wire %+v, %d permille: two machines have twice the links", j.Wire, *j.Summary.WirePermille)
	}
	if j.Summary.Paths[0].SharePermille != 500 {
		t.Errorf("paths %+v", j.Summary.Paths)
	}
	r.Clients[0].Load.Repetitions[1].Channels[0].State = "Down"
	for _, s := range Judge(r).Repetitions {
		if want := map[bool]string{true: "Down", false: "Up"}[s.Repetition == 2]; s.Paths[0].State != want {
			t.Errorf("repetition %d: path is %s, want %s: one client's broken path is a broken path", s.Repetition, s.Paths[0].State, want)
		}
	}
	slow.Host.Node = "node0"
	r.Clients[1] = slow
	if j := Judge(r); len(j.Wire.Links) != 2 {
		t.Errorf("clients on one machine share its links: %+v", j.Wire.Links)
	}
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		expect bench.Expect
		mutate func(*runfile.Result)
		want   bench.Verdict
		code   Code
		text   string
	}{
		"Pass": {reason: "all thresholds are met", want: bench.VerdictPass, expect: bench.Expect{
			MinWirePercent: new(int32(85)), MinMegabytesPerSecond: new(int64(2228)), MinIOPS: new(int64(2125)),
			MaxMeanLatencyMicroseconds: new(int64(20_000)), MaxP99LatencyMicroseconds: new(int64(20_000)), MaxVariationPercent: new(int32(1)),
		}},
		"Empty":      {reason: "an empty expect asks nothing", want: bench.VerdictNotEvaluated},
		"Wire":       {reason: "90 % is not 95 %", want: bench.VerdictFail, code: ExpectationMissed, text: "at least 95.0 % of the wire limit and got 90.0 %", expect: bench.Expect{MinWirePercent: new(int32(95))}},
		"Throughput": {reason: "megabytes are 10^6", want: bench.VerdictFail, code: ExpectationMissed, text: "2229.0 MB/s throughput and got 2228.2 MB/s", expect: bench.Expect{MinMegabytesPerSecond: new(int64(2229))}},
		"IOPS":       {reason: "one missing is missed", want: bench.VerdictFail, code: ExpectationMissed, text: "2126 IOPS", expect: bench.Expect{MinIOPS: new(int64(2126))}},
		"Mean":       {reason: "a latency above the bound fails", want: bench.VerdictFail, code: ExpectationMissed, text: "mean latency", expect: bench.Expect{MaxMeanLatencyMicroseconds: new(int64(10_000))}},
		"P99":        {reason: "a latency above the bound fails", want: bench.VerdictFail, code: ExpectationMissed, text: "p99 latency", expect: bench.Expect{MaxP99LatencyMicroseconds: new(int64(10_000))}},
		"NoLink": {
			reason: "a share of an unknown limit is unknown", want: bench.VerdictInconclusive, code: ExpectationNotMeasured, text: "not measured",
			expect: bench.Expect{MinWirePercent: new(int32(1))}, mutate: func(r *runfile.Result) { r.Plan.Link = nil },
		},
		"AboveWire": {
			reason: "more than the links carry proves nothing", want: bench.VerdictInconclusive, code: AboveWireLimit,
			expect: bench.Expect{MinWirePercent: new(int32(90))}, mutate: func(r *runfile.Result) { r.Plan.Link.BitsPerSecond = *bench.Bits(1e9) },
		},
		"MissedAboveWire": {
			reason: "a threshold that is missed even so is missed", want: bench.VerdictFail,
			expect: bench.Expect{MinIOPS: new(int64(9999))}, mutate: func(r *runfile.Result) { r.Plan.Link.BitsPerSecond = *bench.Bits(1e9) },
		},
		"OneRepetition": {
			reason: "one value has no variation", want: bench.VerdictInconclusive, code: ExpectationNotMeasured, text: "two repetitions",
			expect: bench.Expect{MaxVariationPercent: new(int32(1))}, mutate: func(r *runfile.Result) {
				r.Plan.Schedule.Repetitions = 1
				r.Clients[0].Load.Repetitions = r.Clients[0].Load.Repetitions[:1]
			},
		},
		"MissedAndUnknown": {
			reason: "what is unknown cannot make it better", want: bench.VerdictFail,
			expect: bench.Expect{MinWirePercent: new(int32(1)), MinIOPS: new(int64(9999))}, mutate: func(r *runfile.Result) { r.Plan.Link = nil },
		},
		"Partial": {
			reason: "half a run decides nothing", want: bench.VerdictInconclusive, expect: bench.Expect{MinIOPS: new(int64(1))},
			mutate: func(r *runfile.Result) { r.Clients[0].Load.Partial = true },
		},
		"Invalid": {
			reason: "a number of another protocol decides nothing", want: bench.VerdictInconclusive, expect: bench.Expect{MinIOPS: new(int64(9999))},
			mutate: func(r *runfile.Result) { r.Clients[0].Load.Mount.NFSVersion = "NFSv4.1" },
		},
		"Suspect": {
			reason: "a suspect number keeps its verdict", want: bench.VerdictPass, expect: bench.Expect{MinIOPS: new(int64(1))},
			mutate: inRepetitions(func(rep *runfile.Repetition) { rep.Channels[0].DownMilliseconds = 5000 }),
		},
		"NothingRan": {
			reason: "no number, no verdict", want: bench.VerdictInconclusive, expect: bench.Expect{MinIOPS: new(int64(1))},
			mutate: func(r *runfile.Result) { r.Clients[0].Load.Repetitions = nil },
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := good(t)
			r.Plan.Expect = &c.expect
			if c.mutate != nil {
				c.mutate(&r)
			}
			j := Judge(r)
			if j.Verdict != c.want {
				t.Errorf("%s: verdict %s, want %s; %+v", c.reason, j.Verdict, c.want, j.Findings)
			}
			if c.code != "" && !hasFinding(j, c.code, c.text) {
				t.Errorf("%s: no %s with %q in %+v", c.reason, c.code, c.text, j.Findings)
			}
		})
	}
}

func hasFinding(j Judgement, code Code, text string) bool {
	for _, f := range j.Findings {
		if f.Code == code && strings.Contains(f.Message, text) {
			return true
		}
	}
	return false
}

func TestJudgingIsDeterministic(t *testing.T) {
	t.Parallel()
	r := good(t)
	r.Plan.Workload.Raw.Pattern = bench.PatternCopy
	r.Clients[0].Load.Mount.ReadSizeBytes, r.Clients[0].Load.Mount.WriteSizeBytes = 65536, 65536
	eachRep(&r, func(rep *runfile.Repetition) { rep.Write = rep.Read })
	first := Judge(r)
	for range 20 {
		if diff := cmp.Diff(first, Judge(r), cmp.AllowUnexported(measure.Direction{}), cmpopts.IgnoreFields(Judgement{}, "Facts")); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestAnEmptyResultIsJudged(t *testing.T) {
	t.Parallel()
	j := Judge(runfile.Result{Plan: runfile.Plan{Clients: 1, Expect: &bench.Expect{MinIOPS: new(int64(1))}}})
	if j.Verdict != bench.VerdictInconclusive || j.Validity != bench.ValiditySuspect || j.Summary != nil || j.Wire != nil {
		t.Errorf("%+v", j)
	}
}

func TestAFailureSaysEnoughOfARunThatMeasuredNothing(t *testing.T) {
	failed := func(repetitions int) Judgement {
		r := good(t)
		l := &r.Clients[0].Load
		l.Repetitions = l.Repetitions[:repetitions]
		l.Failure = &runfile.Failure{Code: runfile.FailureUnreachable, Message: "no path answered."}
		return Judge(r)
	}
	if j := failed(0); hasFinding(j, Partial, "repetitions were measured") || !hasFinding(j, Partial, "no path answered") {
		t.Errorf("without a repetition: %+v", j.Findings)
	}
	if j := failed(1); !hasFinding(j, Partial, "1 of 3 repetitions were measured") {
		t.Errorf("after one repetition: %+v", j.Findings)
	}
}

func TestSamplesOutsideTheMeasuredWindowDoNotCount(t *testing.T) {
	t.Parallel()
	r := good(t)
	l := &r.Clients[0].Load
	l.Samples = append([]runfile.LoadSample{{
		Time: t0.Add(99 * time.Second), Span: runfile.SpanWarmup, Repetition: 1, Read: &runfile.SampleOps{Count: 1},
	}}, l.Samples...)
	if j := Judge(r); !j.Repetitions[0].Steadiness.Steady || len(j.Series) != 60 {
		t.Errorf("steadiness %+v, %d points", j.Repetitions[0].Steadiness, len(j.Series))
	}
}

func TestTheCeilingOfSeveralClientsIsTheirSum(t *testing.T) {
	t.Parallel()
	r := good(t)
	r.Clients = append(r.Clients, r.Clients[0])
	r.Clients[0].Load.CeilingPerSecond = new(int64(9000))
	if got := Judge(r).Summary.ClientCPU.CeilingPerSecond; got != nil {
		t.Errorf("ceiling %d of two clients, one of which does not know its own", *got)
	}
	r.Clients[1].Load.CeilingPerSecond = new(int64(500))
	if got := Judge(r).Summary.ClientCPU.CeilingPerSecond; bench.OrZero(got) != 9500 {
		t.Errorf("ceiling %v, want 9500", got)
	}
}

// The kernel's client works in threads of the kernel, and Direct NFS in its process: the machine counts both.
func TestTheCPUOfClientsIsThatOfTheirMachinesAboveIdle(t *testing.T) {
	t.Parallel()
	same, busy, external, none, fine := kernelRun(t), good(t), good(t), good(t), good(t)
	eachRep(&same, func(rep *runfile.Repetition) { rep.CPUMicroseconds = 1 })
	eachWindow(&same, runfile.SpanMeasure, func(w *runfile.ObservedWindow) { w.CgroupCPUMicroseconds = new(int64(1)) })
	eachWindow(&busy, runfile.SpanBaseline, func(w *runfile.ObservedWindow) { w.NodeCPUPermille = new(int32(measure.ForeignCPU)) })
	external.Plan.Database = &runfile.Database{Kind: runfile.DatabaseExternal}
	eachWindow(&none, runfile.SpanBaseline, func(w *runfile.ObservedWindow) { w.NodeCPUPermille = nil })
	eachWindow(&fine, runfile.SpanMeasure, func(w *runfile.ObservedWindow) { *w.NodeBusyMicroseconds += 1_275_000 }) // no permille
	for name, tc := range map[string]struct {
		run   runfile.Result
		time  *int64
		share *int64
	}{
		"same": {same, new(int64(2861)), new(int64(380))}, "busy": {run: busy}, "external": {run: external}, "none": {run: none},
		"a machine with many CPUs": {fine, new(int64(2871)), new(int64(380))},
	} {
		s := newFacts(tc.run).Repetitions[0].Summary
		if diff := cmp.Diff(tc.time, s.ClientCPU.MicrosecondsPerMiB); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		var share *int64
		for _, n := range measure.Numbers(s, nil) {
			if n.Name == bench.MetricClientCPU {
				share = &n.Value
			}
		}
		if diff := cmp.Diff(tc.share, share); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
