package judge

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// wakeUps are late by some time at p99, by three times as much at p99.9, and by a tenth of it otherwise.
func wakeUps(p99 int64) *runfile.WakeUps {
	return &runfile.WakeUps{
		Count: 60_000, P50Microseconds: p99 / 10, P90Microseconds: p99 / 10, P95Microseconds: p99 / 10, P99Microseconds: p99,
		P999Microseconds: 3 * p99, MaxMicroseconds: 4 * p99,
	}
}

// noisy lets the first client wake late.
func noisy(p99 int64) func(*runfile.Result) {
	return inRepetitions(func(rep *runfile.Repetition) { rep.WakeUps = wakeUps(p99) })
}

// noiseCases have a p99 of 19 ms.
func noiseCases(t *testing.T) map[string]findingCase {
	t.Helper()
	expecting := func(p99, late int64) func(*runfile.Result) {
		return func(r *runfile.Result) {
			r.Plan.Expect = &bench.Expect{MaxP99LatencyMicroseconds: new(p99)}
			noisy(late)(r)
		}
	}
	none := func(mutate func(*runfile.Result)) findingCase { return findingCase{mutate: mutate, code: ClientNoisy} }
	return map[string]findingCase{
		"HalfOfTheLatency":     {nil, noisy(9600), ClientNoisy, bench.SeverityWarning, bench.ValiditySuspect, `p99 of 9\.60 ms, more than half of the measured p99 \(19\.0 ms\).*requests equal to its limits.*static CPU manager`},
		"LessThanHalfOfIt":     none(noisy(9400)),
		"AFifthOfWhatIsWanted": {nil, expecting(15_000, 3100), ClientNoisy, bench.SeverityWarning, bench.ValiditySuspect, `p99 of 3\.10 ms, more than a fifth of the expected p99 \(15 ms\)`},
		"LessThanAFifthOfIt":   none(expecting(15_000, 2900)),
		"HalfOfAShortLatency": none(func(r *runfile.Result) {
			noisy(999)(r)
			eachRep(r, func(rep *runfile.Repetition) { rep.Read.Histogram = histogram(t, 1000, 500) })
		}),
		"WhatIsWantedIsMet": none(expecting(25_000, 5100)),
		"NotKnown":          none(func(r *runfile.Result) { r.Plan.Expect = &bench.Expect{MaxP99LatencyMicroseconds: new(int64(1))} }),
	}
}

func TestTheClientThatWakesLatestCounts(t *testing.T) {
	t.Parallel()
	r := good(t)
	r.Plan.Clients = 3
	r.Clients = append(r.Clients, client(t, 1), client(t, 2))
	eachRep(&r, func(rep *runfile.Repetition) { rep.WakeUps = wakeUps(100) })
	for i := range r.Clients[1].Load.Repetitions {
		r.Clients[1].Load.Repetitions[i].WakeUps = wakeUps(9600) // the third has an older nfsbench
	}
	j := Judge(r)
	if j.Summary.WakeUps == nil || *j.Summary.WakeUps != *wakeUps(9600) || !hasFinding(j, ClientNoisy, "p99 of 9.60 ms") {
		t.Errorf("%+v, %+v", j.Summary.WakeUps, j.Findings)
	}
}

func TestWakeUpsThatCannotBeAreNotKnown(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*runfile.WakeUps){
		"none":       func(w *runfile.WakeUps) { w.Count = 0 },
		"negative":   func(w *runfile.WakeUps) { w.P50Microseconds = -1 },
		"not sorted": func(w *runfile.WakeUps) { w.P99Microseconds = w.MaxMicroseconds + 1 },
		"for years":  func(w *runfile.WakeUps) { w.MaxMicroseconds = math.MaxInt64 },
	} {
		r := good(t)
		eachRep(&r, func(rep *runfile.Repetition) { rep.WakeUps = wakeUps(9600); change(rep.WakeUps) })
		if j := Judge(r); j.Summary.WakeUps != nil || hasFinding(j, ClientNoisy, "") {
			t.Errorf("%s: %+v, %+v", name, j.Summary.WakeUps, j.Findings)
		}
	}
}

// The bounds are p99 within 1 ms, and within 5 ms.
func TestANoisyClientLimitsASearchAndNotTheStorage(t *testing.T) {
	t.Parallel()
	search := func(t *testing.T, p99 int64) runfile.Result {
		t.Helper()
		r := searched(t, storageOf{40_000, 200}, 1, inSearch()...)
		noisy(p99)(&r)
		return r
	}
	for name, c := range map[string]struct {
		p99    int64
		change func(*runfile.Result)
		by     []string // of each bound
		text   string   // of the finding
	}{
		"quiet":     {p99: 90, by: []string{measure.LimitStorage, measure.LimitStorage}},
		"not known": {90, inRepetitions(func(rep *runfile.Repetition) { rep.WakeUps = nil }), []string{measure.LimitStorage, measure.LimitStorage}, ""},
		"one bound": {300, nil, []string{measure.LimitClient, measure.LimitStorage}, "At 40693 operations/s a client woke late, with a p99 of 300 µs, more than a fifth of the bound (p99 of 1 ms)"},
		"both":      {1100, nil, []string{measure.LimitClient, measure.LimitClient}, "p99 of 1.10 ms, more than a fifth of the bound (p99 of 1 ms)"},
		"percentile": {90, func(r *runfile.Result) {
			r.Plan.Workload.Raw.Capacity.AlsoAt = nil
			r.Plan.Workload.Raw.Capacity.Percentile = "p999"
		}, []string{measure.LimitClient}, "p99.9 of 270 µs"},
		"median": {300, func(r *runfile.Result) {
			r.Plan.Workload.Raw.Capacity.AlsoAt = nil
			r.Plan.Workload.Raw.Capacity.Percentile = "p50"
		}, []string{measure.LimitStorage}, ""},
		"elsewhere": {300, inRepetitions(func(rep *runfile.Repetition) {
			if rate := rep.Step.OperationsPerSecond; rate != 16_384 {
				rep.WakeUps = nil
			}
		}), []string{measure.LimitStorage, measure.LimitStorage}, ""},
		"busy storage": {300, inWindows(runfile.SpanMeasure, func(w *runfile.ObservedWindow) { w.Storage[0].Nodes[0].CPUPermille = new(int32(950)) }), []string{measure.LimitStorageCPU, measure.LimitStorageCPU}, "(p99 of 1 ms)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := search(t, c.p99)
			if c.change != nil {
				c.change(&r)
			}
			j := Judge(r)
			var by []string
			for _, b := range j.Capacity.Bounds {
				by = append(by, b.LimitedBy)
				if b.LimitedBy == measure.LimitClient && !strings.HasSuffix(b.LimitReason, "it is too noisy for this bound.") {
					t.Errorf("the reason is %q", b.LimitReason)
				}
			}
			if !slices.Equal(by, c.by) || hasFinding(j, ClientNoisy, "") != (c.text != "") || !hasFinding(j, ClientNoisy, c.text) && c.text != "" {
				t.Errorf("limited by %v, want %v; %+v", by, c.by, j.Findings)
			}
			if (j.Validity == bench.ValidityValid) != (c.text == "") {
				t.Errorf("%s", j.Validity)
			}
		})
	}
}

// Noise only makes a latency worse.
func TestABoundThatANoisyClientHoldsIsHeld(t *testing.T) {
	t.Parallel()
	r := searched(t, storageOf{40_000, 200}, 1, 64, 256, 1024, 4096)
	r.Plan.Workload.Raw.Capacity.AlsoAt = nil
	eachRep(&r, func(rep *runfile.Repetition) {
		rep.WakeUps = wakeUps(300)
		rep.Read.Histogram = histogram(t, 100, 700)
	})
	if j := Judge(r); j.Capacity.Bounds[0].LimitedBy != "" || hasFinding(j, ClientNoisy, "") {
		t.Errorf("%+v, %+v", j.Capacity.Bounds, j.Findings)
	}
}
